/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c: see flow.h.
 *
 * The walk takes the function's instructions from the return address on, the nearest first, until
 * nothing holds the pointer. flow_step.c knows the effect of an instruction; this file decides
 * about the order, about second visits, and about what is true on every path.
 *
 * First pass: facts, one path at a time. At a place visited before, a path continues only if it
 * brings something new: the pointer in another place, or another constant. So `p = fast() ? new A :
 * cached; use(p)` has its use, although on one arm p is something else. Each instruction has 128
 * bits that hash the values seen there. Bits are only ever set, so the walk ends; two values that
 * share a bit cost a fact at most. A loop over an array's elements brings another constant each
 * time round; VISITS ends that.
 *
 * Second pass: states, over the same edges. At each instruction, the values that all paths to it
 * agree on, to a fixed point. A path that lost the pointer has no more facts, but can reach a place
 * where another path still holds it; so this pass follows such paths, too.
 *
 * Third pass: a fact is certain if every way to an end of the function passes its instruction, and
 * the second pass's state gives it too. The arm on which the pointer is null is never walked, and
 * calls that don't return are no ends, so neither hides anything. Losing the pointer is an end, and
 * so is a return to the start.
 */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"
#include "flow_step.h"

enum {
	NODES = FLOW_STEPS,
	WALKS = 8 * FLOW_STEPS,
	TABLE = 1024,
	PENDING = 512,
	ROUNDS = 64 * FLOW_STEPS,
	VISITS = 4,
	STRAYS = 32,
	STRAY_STEPS = 256
};
_Static_assert(TABLE >= 2 * NODES, "the table must not fill up");

struct flow_node {
	uint64_t vaddr;
	uint64_t seen[2]; /* hash bits of the values seen here */
	int successors[2]; /* indices; -1 none */
	bool ends;         /* the function may end here */
	bool queued, reached;
	uint8_t visits;
	uint16_t possible; /* registers that held the pointer on some path; `offsets` are theirs */
	int32_t offsets[FLOW_REGISTERS];
	struct flow_machine must; /* state before the instruction that holds on every path */
};

/* A path still to be walked, from `vaddr` on. */
struct pending {
	uint64_t vaddr;
	unsigned depth, arm;
	int from, way; /* its incoming edge: successors[way] of node `from`; -1: the start */
	struct flow_machine machine;
};

struct flow_walk {
	const struct flow_code *code;
	struct flow_bounds bounds;
	struct flow_machine start; /* state behind the call */
	struct flow *out;
	struct flow_node *nodes;
	int node_count;
	int16_t table[TABLE]; /* node index + 1 by vaddr */
	struct pending *pending;
	unsigned pending_count, arm_count, arm, stray_count;
	struct pending *strays; /* paths that lost the pointer, at that point */
	bool lost_facts;
	bool certain[FLOW_FACTS]; /* third pass: the must-state gives this fact */
};

static int find(const struct flow_walk *walk, uint64_t vaddr)
{
	for (unsigned i = (unsigned)((vaddr * 0x9e3779b97f4a7c15u) >> 54);; i = (i + 1) % TABLE)
		if (!walk->table[i] || walk->nodes[walk->table[i] - 1].vaddr == vaddr)
			return walk->table[i] - 1;
}

/* Adds a node and returns its index; -1: there are FLOW_STEPS already. */
static int add(struct flow_walk *walk, uint64_t vaddr)
{
	unsigned i = (unsigned)((vaddr * 0x9e3779b97f4a7c15u) >> 54);
	struct flow_node *node;

	if (walk->node_count == NODES)
		return -1;
	while (walk->table[i])
		i = (i + 1) % TABLE;
	node = &walk->nodes[walk->node_count];
	memset(node, 0, sizeof(*node));
	node->vaddr = vaddr;
	node->successors[0] = node->successors[1] = -1;
	walk->table[i] = (int16_t)++walk->node_count;
	return walk->node_count - 1;
}

/* ---- facts ---- */

static bool same_fact(const struct flow_fact *a, const struct flow_fact *b)
{
	return a->vaddr == b->vaddr && a->kind == b->kind && a->argument == b->argument &&
	       a->offset == b->offset && a->value == b->value && a->base == b->base &&
	       a->displacement == b->displacement && a->callee.vaddr == b->callee.vaddr &&
	       a->callee.symbol == b->callee.symbol && a->import == b->import;
}

static void emit_first(void *context, const struct flow_fact *fact)
{
	struct flow_walk *walk = context;
	struct flow *out = walk->out;

	if (fact->kind == FLOW_WRITE) { /* the highest offset of many stands for all */
		if (fact->offset > out->written)
			out->written = fact->offset;
		return;
	}
	for (size_t i = 0; i < out->fact_count; i++)
		if (same_fact(&out->facts[i], fact))
			return;
	/* the last place tells that there were more */
	if (out->fact_count == FLOW_FACTS - 1 && !walk->lost_facts) {
		walk->lost_facts = true;
		out->facts[out->fact_count++] = (struct flow_fact){ .kind = FLOW_LOST,
								    .vaddr = fact->vaddr,
								    .next = fact->next,
								    .base = FLOW_NONE,
								    .arm = walk->arm };
	}
	if (out->fact_count == FLOW_FACTS)
		return;
	out->facts[out->fact_count] = *fact;
	out->facts[out->fact_count++].arm = walk->arm;
}

static void emit_last(void *context, const struct flow_fact *fact)
{
	struct flow_walk *walk = context;

	for (size_t i = 0; i < walk->out->fact_count; i++)
		if (same_fact(&walk->out->facts[i], fact))
			walk->certain[i] = true;
}

static void emit_nothing(void *context, const struct flow_fact *fact)
{
}

static void emit_lost(struct flow_walk *walk, uint64_t vaddr)
{
	const struct flow_fact fact = {
		.kind = FLOW_LOST, .vaddr = vaddr, .next = vaddr, .base = FLOW_NONE
	};

	emit_first(walk, &fact);
}

/* ---- first pass ---- */

static void mark(uint64_t bits[2], unsigned place, const struct flow_value *value)
{
	uint64_t hash;

	if (value->kind != VALUE_POINTER && value->kind != VALUE_CONSTANT &&
	    value->kind != VALUE_IMPORT)
		return;
	hash = ((uint64_t)value->number * 31 + (uint64_t)(uintptr_t)value->symbol + value->kind) *
	       0x9e3779b97f4a7c15u;
	hash = (hash ^ (hash >> 29) ^ place) * 0xbf58476d1ce4e5b9u;
	bits[(hash >> 63) & 1] |= (uint64_t)1 << ((hash >> 57) & 63);
}

/* True if the path brings a value that no path had here. */
static bool brings(struct flow_node *node, const struct flow_machine *machine)
{
	uint64_t bits[2] = { 0 };
	bool new;

	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		mark(bits, i, &machine->registers[i]);
	for (unsigned i = 0; i < FLOW_VECTORS * 2; i++)
		mark(bits, 16 + i, &machine->vectors[i / 2][i % 2]);
	for (unsigned i = 0; i < machine->place_count; i++)
		mark(bits,
		     64 + (unsigned)machine->places[i].displacement * 2 + machine->places[i].base,
		     &machine->places[i].value);
	new = (bits[0] & ~node->seen[0]) || (bits[1] & ~node->seen[1]);
	node->seen[0] |= bits[0];
	node->seen[1] |= bits[1];
	return new;
}

static bool held(const struct flow_value *value)
{
	return value->kind == VALUE_POINTER && value->number >= INT32_MIN &&
	       value->number <= INT32_MAX;
}

static void note_registers(struct flow_node *node, const struct flow_machine *machine)
{
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (held(&machine->registers[i]) && !(node->possible >> i & 1)) {
			node->possible |= (uint16_t)(1u << i);
			node->offsets[i] = (int32_t)machine->registers[i].number;
		}
}

/* Orders paths: the nearer first; at equal distance the fall-through arm. */
static bool goes_first(const struct pending *path, unsigned depth, unsigned arm)
{
	return path->depth < depth || (path->depth == depth && path->arm < arm);
}

static bool take(struct flow_walk *walk, struct pending *out)
{
	unsigned best = 0;

	if (!walk->pending_count)
		return false;
	for (unsigned i = 1; i < walk->pending_count; i++)
		if (goes_first(&walk->pending[i], walk->pending[best].depth,
			       walk->pending[best].arm))
			best = i;
	*out = walk->pending[best];
	memmove(&walk->pending[best], &walk->pending[best + 1],
		(--walk->pending_count - best) * sizeof(*walk->pending));
	return true;
}

static void walk_path(struct flow_walk *walk, struct pending *path, unsigned *walks)
{
	for (;; path->depth++) {
		struct flow_instruction instruction;
		int index = find(walk, path->vaddr);
		bool first = index < 0;

		/* back at the start, around a loop, the call returns another block */
		if (!flow_machine_holds(&path->machine) || (path->from >= 0 && index == 0)) {
			if (path->from >= 0)
				walk->nodes[path->from].ends = true;
			if (index && walk->stray_count < STRAYS)
				walk->strays[walk->stray_count++] = *path;
			return;
		}
		walk->arm = path->arm;
		if (first)
			index = add(walk, path->vaddr);
		if (index >= 0 && path->from >= 0)
			walk->nodes[path->from].successors[path->way] = index;
		if (index < 0 || (*walks)++ >= WALKS ||
		    !flow_decode(walk->code, path->vaddr, &instruction)) {
			emit_lost(walk, path->vaddr);
			if (index >= 0)
				walk->nodes[index].ends = true;
			else if (path->from >= 0)
				walk->nodes[path->from].ends = true;
			return;
		}
		if ((!brings(&walk->nodes[index], &path->machine) && !first) ||
		    walk->nodes[index].visits++ >= VISITS)
			return;

		note_registers(&walk->nodes[index], &path->machine);

		struct flow_next next = flow_step(walk->code, &walk->bounds, &path->machine,
						  &instruction, emit_first, walk);

		walk->nodes[index].ends |= next.ends;
		if (!next.count)
			return;
		if (next.ends && first) /* a conditional tail jump */
			path->arm = ++walk->arm_count;
		if (next.count == 2) {
			struct pending *other = walk->pending_count < PENDING
							? &walk->pending[walk->pending_count++]
							: NULL;

			path->arm = first ? ++walk->arm_count : path->arm;
			if (other) {
				*other = *path;
				other->vaddr = next.to[1];
				other->depth++;
				other->arm = first ? ++walk->arm_count : path->arm;
				other->from = index;
				other->way = 1;
			} else {
				walk->nodes[index].ends = true;
			}
		}
		path->vaddr = next.to[0];
		path->from = index;
		path->way = 0;
		/* another path is nearer now: this one waits */
		for (unsigned i = 0; i < walk->pending_count; i++)
			if (goes_first(&walk->pending[i], path->depth + 1, path->arm) &&
			    walk->pending_count < PENDING) {
				walk->pending[walk->pending_count] = *path;
				walk->pending[walk->pending_count++].depth++;
				return;
			}
	}
}

/* ---- second and third pass ---- */

/* Ring of the nodes whose states have changed. */
struct queue {
	int at[NODES + 1], head, count;
};

/* Merges `machine` into the state before node `index`. */
static void arrive(struct flow_walk *walk, struct queue *queue, int index,
		   const struct flow_machine *machine)
{
	struct flow_node *node = &walk->nodes[index];

	if (!node->reached)
		node->must = *machine;
	else if (!flow_machine_meet(&node->must, machine))
		return;
	node->reached = true;
	if (!node->queued)
		queue->at[(queue->head + queue->count++) % (NODES + 1)] = index;
	node->queued = true;
}

/* Walks the paths that lost the pointer to nodes where others still hold it. */
static void walk_strays(struct flow_walk *walk, struct queue *queue)
{
	uint64_t seen[STRAY_STEPS];
	unsigned steps = 0;

	while (walk->stray_count) {
		struct pending *path = &walk->strays[--walk->stray_count];
		struct flow_machine machine = path->machine;
		uint64_t at = path->vaddr;
		struct flow_instruction instruction;
		struct flow_next next;

		for (;; at = next.to[0]) {
			int index = find(walk, at);
			unsigned i = 0;

			if (index > 0)
				arrive(walk, queue, index, &machine);
			while (i < steps && seen[i] != at)
				i++;
			if (at >= walk->bounds.low && at < walk->nodes[0].vaddr)
				break; /* around a loop, before the call: the next block's */
			if (index >= 0 || i < steps || steps == STRAY_STEPS ||
			    !flow_decode(walk->code, at, &instruction))
				break;
			seen[steps++] = at;
			next = flow_step(walk->code, &walk->bounds, &machine, &instruction,
					 emit_nothing, NULL);
			if (!next.count)
				break;
			if (next.count == 2 && walk->stray_count < STRAYS) {
				walk->strays[walk->stray_count].machine = machine;
				walk->strays[walk->stray_count++].vaddr = next.to[1];
			}
		}
	}
}

static void settle(struct flow_walk *walk)
{
	struct queue queue = { .count = 0 };

	if (!walk->node_count)
		return;
	arrive(walk, &queue, 0, &walk->start);
	walk_strays(walk, &queue);
	for (unsigned rounds = 0; queue.count && rounds < ROUNDS; rounds++) {
		struct flow_node *node = &walk->nodes[queue.at[queue.head]];
		struct flow_instruction instruction;
		struct flow_machine machine = node->must;

		queue.head = (queue.head + 1) % (NODES + 1);
		queue.count--;
		node->queued = false;
		if (!flow_decode(walk->code, node->vaddr, &instruction))
			continue;
		flow_step(walk->code, &walk->bounds, &machine, &instruction, emit_nothing, NULL);
		for (int i = 0; i < 2; i++)
			if (node->successors[i] >= 0)
				arrive(walk, &queue, node->successors[i], &machine);
	}
	/* no fixed point: drop all states */
	for (int i = 0; queue.count && i < walk->node_count; i++)
		memset(&walk->nodes[i].must, 0, sizeof(walk->nodes[i].must));
}

/* True if an end of the function can be reached from node `from` without passing `avoid` (-1:
 * none). */
static bool reaches_end(const struct flow_walk *walk, int from, int avoid)
{
	int stack[NODES], count = 0;
	bool seen[NODES] = { false };

	if (from == avoid)
		return false;
	stack[count++] = from;
	seen[from] = true;
	while (count) {
		const struct flow_node *node = &walk->nodes[stack[--count]];

		if (node->ends)
			return true;
		for (int i = 0; i < 2; i++) {
			int next = node->successors[i];

			if (next >= 0 && next != avoid && !seen[next]) {
				seen[next] = true;
				stack[count++] = next;
			}
		}
	}
	return false;
}

/* True if `index` is before the first branch. */
static bool straight_to(const struct flow_walk *walk, int index)
{
	for (int at = 0, steps = 0; at >= 0 && steps < NODES; steps++) {
		if (at == index)
			return true;
		if (walk->nodes[at].ends ||
		    (walk->nodes[at].successors[0] >= 0 && walk->nodes[at].successors[1] >= 0))
			return false;
		at = walk->nodes[at].successors[0] >= 0 ? walk->nodes[at].successors[0]
							: walk->nodes[at].successors[1];
	}
	return false;
}

static void judge(struct flow_walk *walk)
{
	for (int i = 0; i < walk->node_count; i++) {
		struct flow_machine machine = walk->nodes[i].must;
		struct flow_instruction instruction;

		if (flow_decode(walk->code, walk->nodes[i].vaddr, &instruction))
			flow_step(walk->code, &walk->bounds, &machine, &instruction, emit_last,
				  walk);
	}
	for (size_t i = 0; i < walk->out->fact_count; i++) {
		struct flow_fact *fact = &walk->out->facts[i];
		int index = find(walk, fact->vaddr);

		if (index < 0 ||
		    (fact->kind == FLOW_JUMP && (walk->nodes[index].successors[0] >= 0 ||
						 walk->nodes[index].successors[1] >= 0)))
			continue; /* a conditional jump */
		/* before the first branch there is only one path, even if a loop returns with
		 * another value */
		fact->certain = !fact->arm ||
				(walk->certain[i] &&
				 (straight_to(walk, index) ||
				  (reaches_end(walk, index, -1) && !reaches_end(walk, 0, index))));
		if (fact->certain)
			fact->arm = 0;
	}
}

ORDER_BY(compare_states, struct flow_state, ORDER_UP(vaddr))

static void write_state(const struct flow_walk *walk, const struct flow_node *node,
			struct flow_state *state)
{
	const struct flow_machine *machine = &node->must;

	memset(state, 0, sizeof(*state));
	state->vaddr = node->vaddr;
	state->rsp = machine->registers[FLOW_RSP].kind == VALUE_RSP
			     ? machine->registers[FLOW_RSP].number
			     : FLOW_RSP_UNKNOWN;
	state->possible = node->possible;
	memcpy(state->offsets, node->offsets, sizeof(state->offsets));
	for (unsigned i = 0; i < FLOW_REGISTERS; i++)
		if (held(&machine->registers[i]) &&
		    machine->registers[i].number == node->offsets[i])
			state->registers |= (uint16_t)(node->possible & 1u << i);
	for (unsigned i = 0; i < machine->place_count && state->slot_count < FLOW_SLOTS; i++) {
		const struct flow_place *place = &machine->places[i];

		if (place->value.kind == VALUE_POINTER)
			state->slots[state->slot_count++] =
				(struct flow_slot){ place->base == VALUE_RSP ? FLOW_RSP : FLOW_RBP,
						    place->displacement, place->value.number };
	}
	for (int i = 0; i < 2; i++)
		state->successors[i] =
			node->successors[i] < 0 ? 0 : walk->nodes[node->successors[i]].vaddr;
}

bool flow_follow(const struct flow_code *code, uint64_t start, uint64_t low, uint64_t high,
		 uint64_t cold_low, uint64_t cold_high, struct flow *out)
{
	const struct symbol *symbol =
		code->symbols && start ? symbols_find(&code->symbols->functions, start - 1) : NULL;
	struct flow_walk *walk = calloc(1, sizeof(*walk));
	struct pending *path = malloc(sizeof(*path));
	unsigned walks = 0;
	bool done = false;

	memset(out, 0, sizeof(*out));
	out->written = INT64_MIN;
	if (walk && path) {
		walk->code = code;
		walk->out = out;
		walk->bounds = (struct flow_bounds){ low, high, cold_low, cold_high,
						     symbol ? symbol->name : NULL };
		if (!high && symbol) {
			walk->bounds.low = symbol->value;
			walk->bounds.high = symbol->value + symbol->size;
		}
		walk->nodes = malloc(NODES * sizeof(*walk->nodes));
		walk->pending = malloc(PENDING * sizeof(*walk->pending));
		walk->strays = malloc(STRAYS * sizeof(*walk->strays));
	}
	if (walk && path && walk->nodes && walk->pending && walk->strays) {
		flow_begin(code, &walk->bounds, start, &walk->start);
		walk->pending[0] =
			(struct pending){ .vaddr = start, .from = -1, .machine = walk->start };
		walk->pending_count = 1;
		while (take(walk, path))
			walk_path(walk, path, &walks);
		settle(walk);
		judge(walk);
		out->states = calloc((size_t)walk->node_count + 1, sizeof(*out->states));
		done = out->states != NULL;
		for (int i = 0; done && i < walk->node_count; i++)
			write_state(walk, &walk->nodes[i], &out->states[i]);
		out->state_count = done ? (size_t)walk->node_count : 0;
		if (done)
			qsort(out->states, out->state_count, sizeof(*out->states), compare_states);
	}
	if (walk) {
		free(walk->nodes);
		free(walk->pending);
		free(walk->strays);
	}
	free(walk);
	free(path);
	return done;
}

void flow_deinit(struct flow *flow)
{
	free(flow->states);
	memset(flow, 0, sizeof(*flow));
}

const struct flow_state *flow_at(const struct flow *flow, uint64_t vaddr)
{
	size_t at = lower_bound(flow->state_count, i, flow->states[i].vaddr < vaddr);

	return at < flow->state_count && flow->states[at].vaddr == vaddr ? &flow->states[at] : NULL;
}
