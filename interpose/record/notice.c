/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.c: see notice.h.
 *
 * The problem. The sidecar can notice that a started program is not recorded only if it hears of
 * its start; many programs live for a millisecond, and only their parent learns how they ended. The
 * parent knows both, and a child that is about to call exec knows the start; but such a child often
 * has no slot, or shares its parent's memory, and behind a seccomp filter no system call may be
 * made.
 *
 * The approach. A ring of notices inside the ring, which all of these processes map. A writer takes
 * a number and stores into its entry; it stores the number last ([notice] in wire.h), so a writer
 * that is killed on the way leaves no notice. The sidecar copies an entry and reads its number
 * again. Writers never wait: gaps in the numbers count the notices that were overwritten before
 * they were read.
 */
#include "notice.h"

#include "../core/ring_map.h"
#include "../core/clock.h"
#include "process.h"

static struct shiny_notice *entry_of(uint64_t number)
{
	return &si_ring.notices[(number - 1) % SHINY_NOTICES];
}

/* Returns a new entry, zeroed except for the writer and the time; storing its number publishes it.
 * NULL: this program is not recorded. */
static struct shiny_notice *begin(uint64_t *number)
{
	struct shiny_notice *n;

	if (!si_ring.header || !si_ring.notices)
		return NULL;
	*number = __atomic_add_fetch(&si_ring.header->notices, 1, __ATOMIC_RELAXED);
	n = entry_of(*number);
	__atomic_store_n(&n->number, 0, __ATOMIC_RELEASE); /* [notice] */
	n->time = si_ticks();
	n->slot = si_process.slot >= 0 ? (uint32_t)si_process.slot : UINT32_MAX;
	n->generation = si_process.generation;
	n->state = SHINY_NOTICE_BEGUN;
	n->flags = 0;
	n->status = 0;
	n->pid = 0;
	n->path_bytes = 0;
	return n;
}

static struct si_notice publish(struct shiny_notice *n, uint64_t number)
{
	__atomic_store_n(&n->number, number, __ATOMIC_RELEASE); /* [notice] */
	return (struct si_notice){ number };
}

struct si_notice si_notice_start(enum shiny_notice_kind kind, const char *path, uint32_t pid,
				 uint32_t flags)
{
	size_t bytes = 0, from;
	uint64_t number;
	struct shiny_notice *n = begin(&number);

	if (!n)
		return (struct si_notice){ 0 };
	n->kind = kind;
	n->pid = pid;
	n->flags = flags;
	while (bytes < SHINY_PATH_MAX && path[bytes])
		bytes++;
	from = bytes > SHINY_NOTICE_PATH ? bytes - SHINY_NOTICE_PATH : 0; /* its end says more */
	for (size_t i = from; i < bytes; i++)
		n->path[i - from] = path[i];
	n->path_bytes = (uint32_t)bytes;
	return publish(n, number);
}

/* Returns the notice's entry; NULL: another notice has it by now. */
static struct shiny_notice *find(struct si_notice notice)
{
	struct shiny_notice *n;

	if (!notice.number)
		return NULL;
	n = entry_of(notice.number);
	return __atomic_load_n(&n->number, __ATOMIC_RELAXED) == notice.number ? n : NULL;
}

void si_notice_started(struct si_notice notice, uint32_t pid)
{
	struct shiny_notice *n = find(notice);

	if (!n)
		return;
	__atomic_store_n(&n->pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&n->state, SHINY_NOTICE_DONE, __ATOMIC_RELEASE); /* [notice] */
}

void si_notice_failed(struct si_notice notice)
{
	struct shiny_notice *n = find(notice);

	if (n)
		__atomic_store_n(&n->state, SHINY_NOTICE_FAILED, __ATOMIC_RELEASE); /* [notice] */
}

void si_notice_ended(uint32_t pid, int status)
{
	uint64_t number;
	struct shiny_notice *n = begin(&number);

	if (!n)
		return;
	n->kind = SHINY_NOTICE_ENDED;
	n->pid = pid;
	n->status = status;
	n->state = SHINY_NOTICE_DONE;
	publish(n, number);
}
