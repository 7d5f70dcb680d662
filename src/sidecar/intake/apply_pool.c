/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_pool.c: see apply_pool.h.
 *
 * The objects of one kind of pools are blocks of a process of their own (session_process.h): their
 * addresses are those of blocks of the first level, and their sums must not be added to these. So
 * the stream changes its process for the time of the record, and the functions for blocks do the
 * rest. An object's tag is its pool's name. Pools without a name have none.
 *
 * A block of the first level that the stream has allocated just before, and that a pool, or its
 * first object in it, lies in, is the pool's storage: it gets a label with the pool's name.
 */
#include "apply_pool.h"

#include <stdlib.h>
#include <string.h>

#include "../../store/event_names.h"
#include "../process/lifecycle.h"
#include "apply_block.h"
#include "apply_object.h"

static uint32_t tag_of(struct process *heap, uint64_t pool)
{
	return pool ? pools_get(&heap->pools, pool)->tag : 0;
}

/* Files the object at the head, which was just made or moved, in its pool. */
static void file_object(struct stream *s, uint64_t pool)
{
	struct process *heap = s->process;

	if (pool && registry_find(&heap->registry, s->head.address))
		pools_add(&heap->pools, pool, s->head.address);
	else
		pools_remove(&heap->pools, s->head.address);
}

/* Labels the stream's last block of the first level if `made`, a pool or an object in one with this
 * tag, lies in it. */
static void label_storage(struct output *output, struct stream *s, const struct process *heap,
			  uint64_t made, uint32_t tag)
{
	struct entry *entry = registry_find(&s->process->registry, s->fresh);
	char *label;

	s->fresh = 0;
	if (!entry || made - entry->address >= entry->size || entry->vtable || !tag)
		return;
	label = mem_format("storage of %s (%s)", output->tags.at[tag - 1], api_name(heap->heap));
	apply_said(output, s, entry, ids_given(&output->ids, SYM_VTABLE_POOL, label));
	free(label);
}

/* Returns the address of a pool, or of an object, that the record at the head has made, and its
 * tag; 0: it has made none. */
static uint64_t made_at(struct stream *s, struct process *heap, uint32_t *tag)
{
	const struct entry *object;
	struct shiny_pool pool;

	if (s->head.kind == SHINY_REC_POOL_NAME) {
		decode_payload(&s->head, &pool, sizeof(pool));
		if (!pool.pool || !(pool.changes & SHINY_POOL_NEW))
			return 0;
		*tag = tag_of(heap, pool.pool);
		return pool.pool;
	}
	if (s->head.kind != SHINY_REC_ALLOC && s->head.kind != SHINY_REC_REALLOC_DONE)
		return 0;
	object = registry_find(&heap->registry, s->head.address);
	*tag = object ? heap->stats.sites.at[object->site].tag : 0;
	return object ? s->head.address : 0;
}

static void end_pool(struct output *output, struct stream *s, uint64_t pool, unsigned what)
{
	pool_addresses ended = { 0 };

	pools_end(&s->process->pools, pool, what, &ended);
	for (size_t i = 0; i < ended.count; i++)
		apply_end_uncalled(output, s, ended.at[i], END_RELEASED, EVENT_END_RELEASED);
	free(ended.at);
}

static void name_pool(struct output *output, struct stream *s)
{
	struct {
		struct shiny_pool pool;
		char name[SHINY_TAG_NAME_MAX];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in));
	struct pools *pools = &s->process->pools;
	char name[SHINY_TAG_NAME_MAX + 1];

	if (!in.pool.pool || in.pool.name_bytes > bytes - sizeof(in.pool) ||
	    memchr(in.name, 0, in.pool.name_bytes)) {
		s->process->noticed.bad_records++;
		return;
	}
	if (in.pool.changes & SHINY_POOL_NEW) /* its end was not seen, or it allocated since */
		end_pool(output, s, in.pool.pool, SHINY_POOL_ENDS_MAX);
	if (in.pool.changes & SHINY_POOL_PARENT)
		pools_set_parent(pools, in.pool.pool, in.pool.parent);
	if (!in.pool.name_bytes)
		return;
	memcpy(name, in.name, in.pool.name_bytes);
	name[in.pool.name_bytes] = '\0';
	pools_get(pools, in.pool.pool)->tag = output_tag(output, name);
}

static void apply_object_record(struct output *output, struct stream *s)
{
	struct process *heap = s->process;
	uint64_t pool;

	switch (s->head.kind) {
	case SHINY_REC_ALLOC:
		s->tag = tag_of(heap, s->pool);
		apply_blocks(output, s, 0, 1);
		file_object(s, s->pool);
		break;
	case SHINY_REC_FREE:
		pools_remove(&heap->pools, s->head.address);
		apply_blocks(output, s, 0, 1);
		break;
	case SHINY_REC_REALLOC_BEGIN:
		apply_realloc_begin(output, s);
		break;
	case SHINY_REC_REALLOC_DONE:
		pool = pools_remove(&heap->pools, s->realloc.address);
		s->tag = tag_of(heap, pool);
		apply_realloc_done(output, s);
		file_object(s, pool);
		break;
	case SHINY_REC_REALLOC_FAILED:
		apply_realloc_failed(s);
		break;
	case SHINY_REC_POOL_NAME:
		name_pool(output, s);
		break;
	case SHINY_REC_POOL_ENDS:
		end_pool(output, s, s->head.address, (unsigned)s->head.size);
		break;
	default:
		break;
	}
}

static void change_level(struct stream *s, struct process *process, uint32_t tag)
{
	struct begun_realloc other = s->move;

	s->move = s->realloc;
	s->realloc = other;
	s->process = process;
	s->tag = tag;
}

void apply_pool(struct session *session, struct stream *s)
{
	struct output *output = &session->output;
	uint64_t allocs = output->allocs, frees = output->frees, fresh = s->fresh, made;
	struct process *within = s->process, *heap;
	uint32_t tag = s->tag, born = s->born;

	if (s->head.kind == SHINY_REC_POOL) {
		s->pool = s->head.address;
		return;
	}
	if (!(SHINY_POOL_APIS >> s->head.api & 1)) {
		within->noticed.bad_records++;
		return;
	}
	heap = process_heap(session, within, s->head.api);
	total_until(&output->second, s->head.time);
	if (heap->stats.live.left)
		total_returns(&output->second, &heap->stats.live, s->head.time, within->replaced);
	if (s->head.time > heap->last)
		heap->last = s->head.time;
	change_level(s, heap, 0);
	apply_object_record(output, s);
	change_level(s, within, tag);
	s->born = born;
	s->fresh = fresh;
	made = fresh ? made_at(s, heap, &tag) : 0;
	if (made)
		label_storage(output, s, heap, made, tag);
	output->allocs = allocs; /* those of the first level */
	output->frees = frees;
}
