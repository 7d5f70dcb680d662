/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_callers.c: see source_callers.h.
 *
 * The sweep compares bytes and decodes nothing: one e8 in twenty that is no call seems to lead
 * somewhere into the code of a file as large as Chromium, 50,000 in all, beside 10 million calls.
 * Hardly any seems to lead to the start of a function, and the others are never looked up. Jumps
 * count as calls if they lead to a multiple of 16: a function's last call is often a jump, and
 * other jumps lead into the middle of functions.
 *
 * Three components make a function shared: a function of net that two others use belongs to net. A
 * program with fewer than three has directories in their place.
 */
#include "source_callers.h"

#include <stdlib.h>

#include "../../src/base/hash.h"
#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"
#include "../names/function_start.h"
#include "../probe/probe_sweep.h"

enum { MANY = 3, ALIGNMENT = 16, CALL = 0xe8, INT3 = 0xcc, REACH = 1 << 16 };
enum { CALLEES_MAX = 1 << 22 };

/* Origins of the calls of one function, as far as known. */
struct source_calls {
	uint64_t start;
	uint32_t common;      /* the nearest common node of the known callers; 0: unknown, or the
	                       * root */
	uint32_t units[MANY]; /* components, or directories */
	uint8_t unit_count;
	bool known;
};
struct source_worker {
	VEC(struct source_calls) calls;
	struct hash_table by_start;
	size_t span; /* span of the last caller */
};
struct source_count {
	const struct binary *file;
	const struct source_order *order;
	bool by_component;
	struct source_worker workers[SWEEP_WORKERS];
};

/* Returns the node's component, or its directory. */
static uint32_t unit_of(const struct source_count *count, uint32_t node)
{
	const struct source_node *n = &count->order->tree.nodes.at[node];

	return count->by_component ? n->component : n->is_file ? n->parent : node;
}

static void add_unit(struct source_calls *calls, uint32_t unit)
{
	for (unsigned i = 0; i < calls->unit_count; i++)
		if (calls->units[i] == unit)
			return;
	if (calls->unit_count < MANY)
		calls->units[calls->unit_count++] = unit;
}

static void add_common(const struct source_tree *tree, struct source_calls *calls, uint32_t node)
{
	calls->common = calls->known ? source_tree_common(tree, calls->common, node) : node;
	calls->known = true;
}

static struct source_calls *calls_of(struct source_worker *worker, uint64_t start)
{
	uint64_t hash = hash_mix(start);
	uint32_t at = hash_table_find(&worker->by_start, hash, i,
				      worker->calls.at[i].start == start);

	if (at == HASH_NONE) {
		at = (uint32_t)worker->calls.count;
		*vec_push(&worker->calls) = (struct source_calls){ .start = start };
		hash_table_add(&worker->by_start, hash, at);
	}
	return &worker->calls.at[at];
}

/* Returns the node of the code at `vaddr`; fast if callers come in the order of addresses. */
static uint32_t node_at(const struct source_order *order, struct source_worker *worker,
			uint64_t vaddr)
{
	const struct source_span *at = &order->spans.at[worker->span];

	if (vaddr < at->from || (worker->span + 1 < order->spans.count && at[1].from <= vaddr)) {
		size_t span;

		if (!source_order_at(order, vaddr, &span))
			return 0;
		worker->span = span;
	}
	return order->spans.at[worker->span].node;
}

static bool take(void *context, unsigned number, uint64_t vaddr, uint64_t address)
{
	struct source_count *count = context;
	struct source_worker *worker = &count->workers[number];
	struct source_calls *calls;
	const uint8_t *opcode;
	uint32_t node;

	if (address % ALIGNMENT) {
		opcode = binary_at(count->file, vaddr, 1);
		if (!opcode || *opcode != CALL)
			return true;
	}
	calls = calls_of(worker, address);
	node = node_at(count->order, worker, vaddr);
	if (node) {
		add_common(&count->order->tree, calls, node);
		add_unit(calls, unit_of(count, node));
	}
	return worker->calls.count < CALLEES_MAX;
}

ORDER_BY(by_start, struct source_callee, ORDER_UP(start))

static uint32_t flags_of(const struct source_order *order, const struct source_calls *calls)
{
	uint32_t flags = calls->unit_count == MANY ? SOURCE_SHARED : 0;
	size_t span;

	if (calls->known && source_order_at(order, calls->start, &span) &&
	    !source_tree_within(&order->tree, calls->common, order->spans.at[span].node))
		flags |= SOURCE_OUTSIDE;
	return flags;
}

/* Merges the workers' finds into the first one's. */
static void merge(struct source_count *count)
{
	struct source_worker *first = &count->workers[0];

	for (size_t w = 1; w < SWEEP_WORKERS; w++)
		for (size_t i = 0; i < count->workers[w].calls.count; i++) {
			const struct source_calls *from = &count->workers[w].calls.at[i];
			struct source_calls *to = calls_of(first, from->start);

			if (from->known)
				add_common(&count->order->tree, to, from->common);
			for (unsigned k = 0; k < from->unit_count; k++)
				add_unit(to, from->units[k]);
		}
}

static bool has_components(const struct source_tree *tree)
{
	unsigned found = 0;

	for (uint32_t i = 1; i < tree->nodes.count && found < MANY; i++)
		found += tree->nodes.at[i].component == i;
	return found == MANY;
}

static bool bounds_of_code(const struct binary *file, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t end = segment->p_vaddr + binary_room(file, segment->p_vaddr);

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		*low = segment->p_vaddr < *low ? segment->p_vaddr : *low;
		*high = end > *high ? end : *high;
	}
	return *low < *high;
}

bool source_callees_find(const struct binary *file, const struct source_order *order,
			 struct source_callees *out)
{
	struct source_count count = { .file = file, .order = order };
	struct probe_sweep sweep = {
		.file = file, .form = SWEEP_CALL, .place = take, .context = &count
	};
	bool whole = true;

	*out = (struct source_callees){ .all = { 0 } };
	count.by_component = has_components(&order->tree);
	if (order->spans.count && bounds_of_code(file, &sweep.low, &sweep.high))
		whole = sweep_code(&sweep);
	if (whole)
		merge(&count);
	for (size_t i = 0; whole && i < count.workers[0].calls.count; i++) {
		const struct source_calls *calls = &count.workers[0].calls.at[i];

		*vec_push(&out->all) =
			(struct source_callee){ calls->start, flags_of(order, calls) };
	}
	if (out->all.count)
		qsort(out->all.at, out->all.count, sizeof(*out->all.at), by_start);
	for (size_t w = 0; w < SWEEP_WORKERS; w++) {
		free(count.workers[w].calls.at);
		hash_table_deinit(&count.workers[w].by_start);
	}
	return whole;
}

void source_callees_deinit(struct source_callees *callees)
{
	free(callees->all.at);
}

/* Finds the nearest called function, at `vaddr` or not far before it. */
static bool nearest(const struct source_callees *callees, uint64_t vaddr,
		    const struct source_callee **out)
{
	size_t i = lower_bound(callees->all.count, k, callees->all.at[k].start <= vaddr);

	*out = i ? &callees->all.at[i - 1] : NULL;
	return i && vaddr - (*out)->start < REACH;
}

bool source_callees_flags(const struct source_callees *callees, const struct flow_code *code,
			  uint64_t vaddr, uint32_t *flags)
{
	const struct source_callee *callee;
	const uint8_t *before;
	uint64_t start;
	bool padded = function_start(code, vaddr + 1, &start);

	*flags = 0;
	if (!nearest(callees, vaddr, &callee))
		return padded;
	if (!padded || callee->start >= start) { /* the nearer one is the start */
		*flags = callee->flags;
		return true;
	}
	/* code not preceded by int3 may be a function's second part */
	before = binary_at(code->file, start - 1, 1);
	if (!before || *before != INT3)
		*flags = callee->flags;
	return true;
}
