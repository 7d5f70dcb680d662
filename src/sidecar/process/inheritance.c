/* SPDX-License-Identifier: Apache-2.0 */
/* inheritance.c: see inheritance.h. */
#include "inheritance.h"

#include "../state/session_stream.h"
#include "../vm/mappings.h"
#include "lifecycle.h"

enum { GENERATIONS = 64 };

struct heir {
	struct session *session;
	struct process *child;
};

static void inherit(void *context, const struct entry *entry)
{
	struct heir *heir = context;
	struct process *child = heir->child;
	struct entry copy = *entry;

	if (entry->birth > child->fork_at || registry_find(&child->registry, entry->address))
		return;
	copy.flags |= ENTRY_INHERITED;
	if (!registry_add(&child->registry, &copy)) {
		child->noticed.refused++;
		return;
	}
	if ((copy.flags & ENTRY_API) == SHINY_API_COLLECTED)
		objects_add(&child->objects, copy.address, copy.size ? copy.size : 1);
}

/* Returns the child's parent, also one whose slot no scan has reached yet; NULL: unknown. */
static struct process *parent_of(struct session *session, const struct process *child)
{
	struct process *parent = roster_find(&session->people.roster, child->ring,
					     child->parent_slot, child->parent_generation);

	if (!parent && child->ring->header && child->parent_slot < child->ring->processes_ready)
		parent = process_of(session, child->ring, child->parent_slot,
				    child->parent_generation);
	return parent;
}

/* Inherits a block that ended after the fork; deaths of several threads are not quite in order. */
static bool inherit_undone(void *context, const struct death *death)
{
	const struct heir *heir = context;

	if (death->time > heir->child->fork_at)
		inherit(context, &death->entry);
	return true;
}

/* Copies the parent's blocks, or its objects of the second level. */
static void take_blocks(struct session *session, struct process *child, struct process *parent)
{
	struct heir heir = { session, child };

	stats_clone_sites(&child->stats, &parent->stats);
	registry_each(&parent->registry, inherit, &heir);
	deaths_each(&parent->deaths, inherit_undone, &heir);
	if (parent->deaths.lost > child->fork_at)
		child->noticed.fork_horizon++;
}

static void take_heaps(struct session *session, struct process *child, struct process *parent)
{
	for (struct process *from = parent->above; from; from = from->above) {
		struct process *to = process_heap(session, child, from->heap);

		to->forked = true;
		to->fork_at = child->fork_at;
		to->parent_id = from->id;
		output_put_process(&session->output, to);
		pools_deinit(&to->pools);
		pools_clone(&to->pools, &from->pools);
		take_blocks(session, to, from);
	}
}

static void take_over(struct session *session, struct process *child)
{
	struct process *parent = parent_of(session, child);
	struct heir heir = { session, child };

	child->pending = false;
	if (!parent || parent == child) {
		child->noticed.fork_horizon++;
		return;
	}
	if (parent->settled) /* its blocks are not known any more; modules, classes and tags are */
		child->noticed.fork_horizon++;
	child->parent_id = parent->id;
	/* the file then has the parent, if the sidecar is killed (recover.c) */
	output_put_process(&session->output, child);
	space_clone(&child->space, &parent->space, child->fork_at);
	mappings_fork(child, parent);
	objects_clone_kinds(&child->objects, &parent->objects);
	indices_clone(&child->classes, &parent->classes);
	indices_clone(&child->tags, &parent->tags);
	key_ids_clone(&child->type_names, &parent->type_names);
	key_ids_clone(&child->engine_memory, &parent->engine_memory);
	take_blocks(session, child, parent);
	take_heaps(session, child, parent);
	for (size_t i = 0; i < session->rings.streams.count; i++)
		if (session->rings.streams.at[i]->process == parent &&
		    session->rings.streams.at[i]->realloc.block.address)
			inherit(&heir, &session->rings.streams.at[i]->realloc.block);
}

/* Returns the ancestor that must inherit first: a parent may still be pending, as both may have
 * been forked after the same record. */
static struct process *first_in_line(struct session *session, struct process *child)
{
	for (unsigned n = 0; n < GENERATIONS; n++) {
		struct process *parent = parent_of(session, child);

		if (!parent || !parent->pending || parent->fork_at > child->fork_at)
			break;
		child = parent;
	}
	return child;
}

void process_take_over(struct session *session, uint64_t until)
{
	struct people *people = &session->people;

	for (;;) {
		struct process *first = NULL;

		people->next_fork = UINT64_MAX;
		for (size_t i = 0; i < people->running.count; i++) {
			struct process *p = people->running.at[i];

			if (!p->pending)
				continue;
			if (p->fork_at < people->next_fork)
				people->next_fork = p->fork_at;
			if (!first || p->fork_at < first->fork_at)
				first = p;
		}
		if (!first || first->fork_at >= until)
			return;
		take_over(session, first_in_line(session, first));
	}
}
