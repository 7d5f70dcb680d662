/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries.c: the constructor and the destructor, and the calls by which `shinyctl attach` begins
 * and ends the recording of a program that ran already.
 *
 * Runs:      inside: the calls in a thread that shinyctl has chosen (attach_target.h).
 * Signals:   blocked meanwhile.
 * Allocates: as boot.
 * Threads:   one; of those of a program that ran already, the others run on.
 *
 * dlopen alone changes nothing: the constructor finds that it runs late, and waits for the call
 * that brings the settings. Detaching puts references and symbols back, and waits until no thread
 * writes a record; then empty private memory takes the ring's place, for threads that are between
 * two instructions of a hook. The library stays mapped, and all that its hooks do is to call on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/rseq.h>

#include "../core/late.h"
#include "../core/sys.h"
#include "../hook/hooks.h"
#include "../hook/rebind.h"
#include "../record/process.h"
#include "../record/snapshot_moment.h"
#include "../record/writer.h"
#include "../unwind/symbols.h"
#include "attach.h"
#include "boot.h"

#ifndef SHINY_TEST
static void exits(int status, void *unused)
{
	(void)unused;
	si_process_exits(status);
	si_snapshot_at_exit();
}

static void register_exits(void)
{
	int (*on_exit_first)(void (*)(int, void *), void *) = NULL;

	/* a program may define a function of that name */
	*(void **)&on_exit_first = si_next_of("on_exit");
	if (on_exit_first)
		on_exit_first(exits, NULL);
}

/* True if the loader has mapped us behind itself: all that it maps at a program's start, but for
 * what only a library needs, comes before it. */
static bool is_opened_later(void)
{
	const struct link_map *loader = si_module_of(&__rseq_offset);
	const struct link_map *m = si_module_of(si_bump);

	while (m && m != loader)
		m = m->l_prev;
	return m;
}

/* Boots, and registers `exits` first, so that exit() calls it last, after all of the program's
 * handlers and destructors. */
__attribute__((constructor(101))) static void start(void)
{
	if (is_opened_later())
		return;
	si_boot();
	register_exits();
}

__attribute__((destructor)) static void end(void)
{
	si_event_exiting();
}

int si_hook_attach(struct shiny_attaching *said)
{
	struct si_text why;
	int saved = errno;

	if (!si_boot_is_due() || !si_late_take(said))
		return -1;
	si_next_resolve();
	si_boot();
	if (si_alive()) {
		si_rebind_all(false);
		register_exits();
	} else {
		si_text_init(&why, said->why, sizeof(said->why));
		si_text_add(&why, *si_boot_notes() ? si_boot_notes()
						 : "set-uid, or behind a filter");
	}
	errno = saved;
	return 0;
}

int si_hook_detach(struct shiny_attaching *said)
{
	enum { TRIES = 1000, PAUSE = 1000000 }; /* ns */
	unsigned n = 0;

	(void)said;
	if (!si_late || !si_own_slot())
		return -1;
	si_rebind_all(true);
	si_event_exiting();
	__atomic_store_n(&si_self->life, SI_OFF, __ATOMIC_SEQ_CST);
	while (!si_writers_quiet() && n++ < TRIES)
		si_sys_sleep(PAUSE);
	si_attach_end();
	return 0;
}
#else
void si_boot_test_constructor(void);
void si_boot_test_constructor(void)
{
	si_boot();
}
#endif
