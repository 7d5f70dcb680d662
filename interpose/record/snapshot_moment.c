/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_moment.c: see snapshot_moment.h.
 *
 * The variable's value is copied: programs that write their title write over their environment.
 */
#include "snapshot_moment.h"

#include <shiny/wire/wire.h>

#include "../core/env.h"
#include "../core/ring_map.h"
#include "process.h"
#include "wait.h"

static char moments[256];

void si_snapshot_moments(const char *value)
{
	struct si_text text;

	si_text_init(&text, moments, sizeof(moments));
	si_text_add(&text, value);
}

static bool is_taken(void *context)
{
	const uint32_t *wanted = context;
	const struct shiny_process *p = &si_ring.processes[si_process.slot];

	/* [ctl] */
	return (int32_t)(__atomic_load_n(&p->snapshots_taken, __ATOMIC_ACQUIRE) - *wanted) >= 0;
}

static void wait_for_snapshot(void)
{
	struct shiny_process *p = si_own_slot();
	uint32_t wanted;
	bool waited;

	if (!p)
		return;
	wanted = __atomic_add_fetch(&p->snapshots_wanted, 1, __ATOMIC_RELEASE); /* [ctl] */
	si_wait_for(is_taken, &wanted, &waited);
}

void si_snapshot_at_exit(void)
{
	if (moments[0] && si_env_matches(moments, "exit"))
		wait_for_snapshot();
}

void si_snapshot_at_mark(const char *name)
{
	char words[SHINY_TAG_NAME_MAX + 8];
	struct si_text text;

	if (!moments[0])
		return;
	si_text_init(&text, words, sizeof(words));
	si_text_add(&text, "mark:");
	si_text_add(&text, name);
	if (si_env_matches(moments, words))
		wait_for_snapshot();
}
