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
 * that brings the settings. Patches of code are left to shinyctl (remote_patch.h), which undoes
 * them first. Detaching puts references, symbols and tables back, and waits until no thread writes
 * a record; then empty private memory takes the ring's place, for threads that are between two
 * instructions of a hook. The library stays mapped, and all that its hooks do is to call on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/rseq.h>

#include "../chromium/partition_alloc.h"
#include "../core/late.h"
#include "../core/sys.h"
#include "../hook/hooks.h"
#include "../hook/rebind.h"
#include "../patch/inner_allocator.h"
#include "../patch/patcher.h"
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

/* Ends the recording: no reference and no table leads to us any more. */
static void leave(void)
{
	enum { TRIES = 1000, PAUSE = 1000000 }; /* ns */
	unsigned n = 0;

	si_event_exiting();
	__atomic_store_n(&si_self->life, SI_OFF, __ATOMIC_SEQ_CST);
	while (!si_writers_quiet() && n++ < TRIES)
		si_sys_sleep(PAUSE);
	si_attach_end();
}

/* Finds how the program can be reached; `text` says how, or why not. */
static enum shiny_attach look(char text[SHINY_TEXT])
{
	enum shiny_attach how;
	struct si_text t;

	if (!si_is_ours(si_owner("malloc"))) {
		how = si_partition_attach(NULL, text, SHINY_TEXT);
		return how == SHINY_ATTACH_NONE && !si_partition_seen() ? SHINY_ATTACH_ENTRIES
									: how;
	}
	si_text_init(&t, text, SHINY_TEXT);
	si_text_add(&t, "attached while it ran: blocks from before are not known, and of its "
			"allocators malloc's family and operator new alone");
	return SHINY_ATTACH_SYMBOLS;
}

/* Prepares the patches of the executable's own allocator, which shinyctl writes. */
static bool prepare_entries(struct shiny_attaching *said, char text[SHINY_TEXT],
			    struct si_text *why)
{
	struct si_text t;

	si_text_init(&t, text, SHINY_TEXT);
	if (!si_allocator_attach(si_late_environment(), &t)) {
		si_text_add(why, t.used ? text : "the allocator in its executable is not known");
		return false;
	}
	si_text_add(&t, "; attached while it ran: blocks from before are not known");
	said->patches = (uintptr_t)si_allocator_patches.patch;
	said->patch_count = si_allocator_patches.count;
	return true;
}

/* Boots and redirects calls to us; false: nothing is redirected, and `why` says why. */
static bool enter(struct shiny_attaching *said, struct si_text *why)
{
	char text[SHINY_TEXT];
	enum shiny_attach how = look(text);

	if (how == SHINY_ATTACH_NONE) {
		si_text_add(why, text);
		return false;
	}
	si_boot();
	if (!si_alive()) {
		si_text_add(why, *si_boot_notes() ? si_boot_notes()
						 : "set-uid, or behind a filter");
		return false;
	}
	if ((how == SHINY_ATTACH_ENTRIES && !prepare_entries(said, text, why)) ||
	    !si_partition_enter(why)) {
		leave();
		return false;
	}
	/* shinyctl starts the sidecar, which reads this, when we have returned */
	si_ring.header->attach = how;
	__builtin_memcpy(si_ring.header->attach_text, text, sizeof(text));
	si_rebind_all(false);
	return true;
}

int si_hook_attach(struct shiny_attaching *said)
{
	struct si_text why;
	int saved = errno;

	if (!si_boot_is_due() || !si_late_take(said))
		return -1;
	si_next_resolve();
	si_text_init(&why, said->why, sizeof(said->why));
	if (enter(said, &why))
		register_exits();
	errno = saved;
	return 0;
}

int si_hook_detach(struct shiny_attaching *said)
{
	(void)said;
	if (!si_late || !si_own_slot())
		return -1;
	si_partition_leave();
	si_rebind_all(true);
	leave();
	return 0;
}
#else
void si_boot_test_constructor(void);
void si_boot_test_constructor(void)
{
	si_boot();
}
#endif
