/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c: see roster.h. */
#include "roster.h"

#include <stdlib.h>

#include "../../base/hash.h"
#include "session_process.h"

static uint64_t slot_hash(const struct ring_file *ring, uint32_t slot, uint32_t generation)
{
	return hash_keys((uintptr_t)ring, (uint64_t)slot << 32 | generation);
}

void roster_deinit(struct roster *roster)
{
	free(roster->list.at);
	hash_table_deinit(&roster->slots);
	hash_table_deinit(&roster->pids);
}

static void add_pid(struct roster *roster, const struct process *p)
{
	if (p->pid)
		hash_table_add(&roster->pids, hash_key(p->pid), p->id - 1);
}

void roster_skip(struct roster *roster, struct process *p)
{
	*vec_push(&roster->list) = p;
}

void roster_add(struct roster *roster, struct process *p)
{
	roster_skip(roster, p);
	hash_table_add(&roster->slots, slot_hash(p->ring, p->slot, p->generation), p->id - 1);
	add_pid(roster, p);
}

void roster_name(struct roster *roster, struct process *p, uint32_t pid)
{
	if (p->pid == pid)
		return;
	if (p->pid)
		hash_table_remove(&roster->pids, hash_key(p->pid), p->id - 1);
	p->pid = pid;
	add_pid(roster, p);
}

static bool holds(const struct process *p, const struct ring_file *ring, uint32_t slot,
		  uint32_t generation)
{
	return p->ring == ring && p->slot == slot && p->generation == generation;
}

struct process *roster_find(const struct roster *roster, const struct ring_file *ring,
			    uint32_t slot, uint32_t generation)
{
	uint32_t at = hash_table_find(&roster->slots, slot_hash(ring, slot, generation), i,
				      holds(roster->list.at[i], ring, slot, generation));

	return at == HASH_NONE ? NULL : roster->list.at[at];
}

/* Keeps the later one in `found`. Returns false, as more of this pid may follow. */
static bool choose_later(struct process *p, uint32_t pid, uint64_t time,
			 const struct process *except, struct process **found)
{
	if (p != except && p->pid == pid && p->start <= time &&
	    (!*found || p->start > (*found)->start))
		*found = p;
	return false;
}

struct process *roster_before(const struct roster *roster, uint32_t pid, uint64_t time,
			      const struct process *except)
{
	struct process *found = NULL;

	if (pid)
		(void)hash_table_find(&roster->pids, hash_key(pid), i,
				      choose_later(roster->list.at[i], pid, time, except, &found));
	return found;
}
