/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.c: the page that the kernel wipes in every child (fork.c says why), and the fields of the
 * process's slot about its end.
 */
#include "process.h"

#include <sys/mman.h>

#include "../core/ring_map.h"
#include "../core/clock.h"
#include "../core/sys.h"
#include "tid.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static struct si_self before_boot = { .life = SI_UNBOOTED };
struct si_self *si_self = &before_boot;
struct si_process si_process = { .slot = -1 };
static bool wiped; /* the kernel wipes the page in every child */

bool si_self_make(void)
{
	struct si_self *page =
		si_sys_map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (!page)
		return false;
	page->life = SI_UNBOOTED;
	/* refused (Linux before 4.14): fork() is still noticed by its hook, raw clone is not */
	wiped = si_sys(SYS_madvise, page, 4096, MADV_WIPEONFORK) == 0;
	__atomic_store_n(&si_self, page, __ATOMIC_RELEASE);
	return true;
}

void si_fork_told(void)
{
	uint32_t life = __atomic_load_n(&si_self->life, __ATOMIC_RELAXED);

	if (!wiped && (life == SI_ALIVE || life == SI_REFUSED))
		__atomic_store_n(&si_self->life, SI_FORKED, __ATOMIC_RELAXED);
}

void si_count(enum shiny_counter which)
{
	if (si_process.slot >= 0)
		__atomic_fetch_add(&si_ring.processes[si_process.slot].counters[which], 1,
				   __ATOMIC_RELAXED);
	else if (si_ring.header)
		__atomic_fetch_add(&si_ring.header->counters[which], 1, __ATOMIC_RELAXED);
}

struct shiny_process *si_own_slot(void)
{
	if (__atomic_load_n(&si_self->life, __ATOMIC_RELAXED) != SI_ALIVE || si_process.slot < 0 ||
	    si_tid_is_guest())
		return NULL;
	return &si_ring.processes[si_process.slot];
}

uint32_t si_process_number(void)
{
	if (si_tid_is_guest())
		return 0;
	return __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_FORKED ? si_tid_unseen()
									      : si_process.pid;
}

bool si_exec_begin(void)
{
	struct shiny_process *p = si_own_slot();

	if (p)
		__atomic_store_n(&p->exec, 1, __ATOMIC_RELAXED);
	return p;
}

void si_process_exits(int status)
{
	struct shiny_process *p = si_own_slot();

	if (!p)
		return;
	p->exit_status = (uint32_t)status & 0xff;
	__atomic_store_n(&p->exit_at, si_ticks(), __ATOMIC_RELEASE); /* [slot] */
}

void si_exec_failed(void)
{
	__atomic_store_n(&si_ring.processes[si_process.slot].exec, 0, __ATOMIC_RELAXED);
}
