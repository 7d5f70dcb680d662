/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c: a child notices that it is one.
 *
 * pthread_atfork and fork() itself cannot be relied on: Chromium makes its namespaced children with raw clone. So the one word that
 * every hook tests first stands in a private page that the kernel wipes in every copy of our memory. A zero there is a child's first
 * event: it takes a process slot and starts with no stream of its own. All that needs no file and no permission, so it works inside
 * a sandbox.
 *
 * What a child inherits and must undo: writers of threads that do not exist here (their shared chunks belong to the parent), nursery
 * entries that one of those threads was reading, the module table's lock, the late stream. What it keeps: the nursery's settled
 * entries, which are its blocks too, the module tables, its stack's bounds.
 *
 * A child forked by a signal handler that interrupted a record goes on with that record when the handler returns, with the parent's
 * chunk in its registers. It then stores the very words that the parent stores. Its private writer is never reused, see
 * si_writers_forget.
 *
 * fork_at: the parent's blocks that we own a copy of are those whose records the inherited writers had already taken.
 */
#include "fork.h"

#include <sys/mman.h>

#include "attach.h"
#include "boot.h"
#include "clock.h"
#include "module.h"
#include "nursery.h"
#include "sys.h"
#include "thread.h"
#include "wait.h"
#include "tid.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static struct si_self before_boot = { .life = SI_UNBOOTED };
struct si_self *si_self = &before_boot;
struct si_process si_process = { .slot = -1 };
static bool wiped; /* by the kernel, in every child */

/* Of a process that found no slot: what it needs for another try. */
static struct {
	struct si_process parent; /* the nearest one that had a slot */
	uint64_t fork_at;
	uint32_t events; /* since */
} refused;
enum { RETRY = 1024 }; /* events between two tries */

bool si_self_make(void)
{
	struct si_self *page = si_sys_map(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (!page)
		return false;
	page->life = SI_UNBOOTED;
	/* refused (Linux before 4.14): fork() is still noticed by its hook, raw clone is not */
	wiped = si_sys(SYS_madvise, page, 4096, MADV_WIPEONFORK) == 0;
	__atomic_store_n(&si_self, page, __ATOMIC_RELEASE);
	return true;
}

struct slot_claim {
	int32_t parent;
	uint32_t parent_generation;
	uint64_t fork_at;
};

static bool try_slot(void *context)
{
	const struct slot_claim *claim = context;
	struct shiny_header *h = si_arena.header;
	uint32_t ready = __atomic_load_n(&h->processes_ready, __ATOMIC_ACQUIRE); /* [grow] */
	uint32_t count = ready < si_arena.process_count ? ready : si_arena.process_count, from = shiny_slot_start(&h->process_hint, count);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = from + n < count ? from + n : from + n - count, state = SHINY_SLOT_FREE;
		struct shiny_process *p = &si_arena.processes[i];

		if (__atomic_load_n(&p->state, __ATOMIC_RELAXED) != SHINY_SLOT_FREE ||
		    !__atomic_compare_exchange_n(&p->state, &state, SHINY_SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* [slot] */
			continue;
		si_process.slot = (int32_t)i;
		si_process.generation = ++p->generation;
		if (claim->parent < 0)
			si_process.pid = si_sys_getpid();
		p->pid = si_process.pid; /* 0: the sidecar finds out */
		p->parent_slot = claim->parent;
		p->parent_generation = claim->parent_generation;
		p->start = si_ticks();
		p->fork_at = claim->fork_at;
		p->exec = 0;
		p->exit_at = 0;
		p->waits = p->may_sleep = 0;
		p->parent_pid = claim->parent < 0 ? (uint32_t)si_sys(SYS_getppid, 0, 0, 0) : 0; /* where there may be a sandbox, it is not asked */
		for (unsigned c = 0; c < SHINY_COUNTERS; c++)
			p->counters[c] = 0;
		si_self->slot = (struct shiny_self){ .generation = si_process.generation, .slot = i };
		shiny_slot_claimed(&h->process_hint, &h->processes_used, i);
		__atomic_store_n(&p->state, SHINY_SLOT_LIVE, __ATOMIC_RELEASE); /* [slot] */
		return true;
	}
	return false;
}

bool si_process_claim(int32_t parent, uint32_t parent_generation, uint64_t fork_at)
{
	struct slot_claim claim = { parent, parent_generation, fork_at };
	bool waited, had = try_slot(&claim);

	if (had)
		return true;
	had = si_wait_for(try_slot, &claim, &waited);
	if (waited)
		si_count(SHINY_COUNT_WAITED_SLOT);
	return had;
}

void si_count(enum shiny_counter which)
{
	if (si_process.slot >= 0)
		__atomic_fetch_add(&si_arena.processes[si_process.slot].counters[which], 1, __ATOMIC_RELAXED);
	else if (si_arena.header)
		__atomic_fetch_add(&si_arena.header->counters[which], 1, __ATOMIC_RELAXED);
}

/* A forked child's first event. True: this process records. */
static bool revive_child(void)
{
	uint32_t life = SI_FORKED;
	bool claimed;

	if (!__atomic_compare_exchange_n(&si_self->life, &life, SI_REVIVING, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return life == SI_ALIVE;
	si_tid_forked();
	si_self->flush = __atomic_load_n(&si_arena.header->flush, __ATOMIC_RELAXED); /* [ctl] what was asked before is the parent's */
	if (si_process.slot >= 0)
		refused.parent = si_process;
	refused.fork_at = si_writers_forget();
	refused.events = 0;
	si_nursery_forget();
	si_modules_forget();
	si_process.slot = -1;
	si_process.pid = si_tid();
	claimed = si_process_claim(refused.parent.slot, refused.parent.generation, refused.fork_at);
	if (!claimed)
		si_count(SHINY_COUNT_PROCESSES_REFUSED);
	__atomic_store_n(&si_self->life, claimed ? SI_ALIVE : SI_REFUSED, __ATOMIC_RELEASE);
	return claimed;
}

void si_fork_told(void)
{
	uint32_t life = __atomic_load_n(&si_self->life, __ATOMIC_RELAXED);

	if (!wiped && (life == SI_ALIVE || life == SI_REFUSED))
		__atomic_store_n(&si_self->life, SI_FORKED, __ATOMIC_RELAXED);
}

/* NULL: it has none, or the memory is that of a vfork child's parent. */
static struct shiny_process *own_slot(void)
{
	if (__atomic_load_n(&si_self->life, __ATOMIC_RELAXED) != SI_ALIVE || si_process.slot < 0 || si_tid_is_guest())
		return NULL;
	return &si_arena.processes[si_process.slot];
}

uint32_t si_process_number(void)
{
	if (si_tid_is_guest())
		return 0;
	return __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_FORKED ? si_tid_unseen() : si_process.pid;
}

bool si_exec_begin(void)
{
	struct shiny_process *p = own_slot();

	if (p)
		__atomic_store_n(&p->exec, 1, __ATOMIC_RELAXED);
	return p;
}

void si_process_exits(int status)
{
	struct shiny_process *p = own_slot();

	if (!p)
		return;
	p->exit_status = (uint32_t)status & 0xff;
	__atomic_store_n(&p->exit_at, si_ticks(), __ATOMIC_RELEASE); /* [slot] */
}

void si_exec_failed(void)
{
	__atomic_store_n(&si_arena.processes[si_process.slot].exec, 0, __ATOMIC_RELAXED);
}

/* One that found no slot when it began may find one later. */
static bool revive_refused(void)
{
	struct slot_claim claim = { refused.parent.slot, refused.parent.generation, refused.fork_at };
	uint32_t life = SI_REFUSED;
	bool claimed;

	if (__atomic_add_fetch(&refused.events, 1, __ATOMIC_RELAXED) % RETRY != 0 ||
	    !__atomic_compare_exchange_n(&si_self->life, &life, SI_REVIVING, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	claimed = try_slot(&claim);
	__atomic_store_n(&si_self->life, claimed ? SI_ALIVE : SI_REFUSED, __ATOMIC_RELEASE);
	return claimed;
}

bool si_revive(void)
{
	switch (__atomic_load_n(&si_self->life, __ATOMIC_RELAXED)) {
	case SI_ALIVE:
		return true;
	case SI_FORKED:
		return revive_child();
	case SI_REFUSED:
		return revive_refused();
	case SI_UNBOOTED:
		si_boot();
		return __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_ALIVE;
	default:
		return false;
	}
}

bool si_revive_for_event(void)
{
	uint32_t life;

	if (si_revive())
		return true;
	life = __atomic_load_n(&si_self->life, __ATOMIC_RELAXED);
	if ((life == SI_REFUSED || life == SI_REVIVING) && __atomic_load_n(&si_arena.header->recording, __ATOMIC_RELAXED)) /* [ctl] */
		si_count(SHINY_COUNT_DROPPED_NO_PROCESS);
	return false;
}
