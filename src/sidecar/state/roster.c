/* SPDX-License-Identifier: Apache-2.0 */
/* roster.c: see roster.h. Chains through the processes themselves; a table is doubled when it has
 * as many processes as heads. */
#include "roster.h"

#include <stdlib.h>

#include "../../base/hash.h"
#include "session_process.h"

enum { ROSTER_FIRST_ROOM = 64 };

static uint64_t slot_hash(const struct ring_file *ring, uint32_t slot, uint32_t generation)
{
	return hash_pair((uintptr_t)ring, (uint64_t)slot << 32 | generation);
}

static uint64_t hash_of(const struct process *p, enum roster_key key)
{
	return key == ROSTER_SLOT ? slot_hash(p->ring, p->slot, p->generation) : hash_mix(p->pid);
}

static struct process **head(const struct roster_table *table, uint64_t hash)
{
	return &table->at[hash & (table->room - 1)];
}

static void hang(struct roster_table *table, enum roster_key key, struct process *p)
{
	struct process **at = head(table, hash_of(p, key));

	p->roster_next[key] = *at;
	*at = p;
}

static void put(struct roster_table *table, enum roster_key key, struct process *p)
{
	if (table->count++ == table->room) {
		struct roster_table larger = { .room = table->room ? 2 * table->room
								   : ROSTER_FIRST_ROOM,
					       .count = table->count };

		larger.at = mem_zero(larger.room, sizeof(struct process *));
		for (size_t i = 0; i < table->room; i++)
			for (struct process *q = table->at[i], *next; q; q = next) {
				next = q->roster_next[key];
				hang(&larger, key, q);
			}
		free(table->at);
		*table = larger;
	}
	hang(table, key, p);
}

void roster_deinit(struct roster *roster)
{
	free(roster->slots.at);
	free(roster->pids.at);
}

void roster_add(struct roster *roster, struct process *p)
{
	put(&roster->slots, ROSTER_SLOT, p);
}

void roster_name(struct roster *roster, struct process *p, uint32_t pid)
{
	if (p->pid == pid)
		return;
	if (p->pid) {
		struct process **at = head(&roster->pids, hash_of(p, ROSTER_PID));

		while (*at != p)
			at = &(*at)->roster_next[ROSTER_PID];
		*at = p->roster_next[ROSTER_PID];
		roster->pids.count--;
	}
	p->pid = pid;
	if (pid)
		put(&roster->pids, ROSTER_PID, p);
}

struct process *roster_find(const struct roster *roster, const struct ring_file *ring,
			    uint32_t slot, uint32_t generation)
{
	struct process *p;

	if (!roster->slots.room)
		return NULL;
	p = *head(&roster->slots, slot_hash(ring, slot, generation));
	while (p && (p->ring != ring || p->slot != slot || p->generation != generation))
		p = p->roster_next[ROSTER_SLOT];
	return p;
}

struct process *roster_before(const struct roster *roster, uint32_t pid, uint64_t time,
			      const struct process *except)
{
	struct process *found = NULL;

	if (!pid || !roster->pids.room)
		return NULL;
	for (struct process *p = *head(&roster->pids, hash_mix(pid)); p;
	     p = p->roster_next[ROSTER_PID])
		if (p != except && p->pid == pid && p->start <= time &&
		    (!found || p->start > found->start))
			found = p;
	return found;
}
