/* SPDX-License-Identifier: Apache-2.0 */
#include "call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../base/text.h"

#define NO_STACK  "(no stack)"
#define ITSELF	  "<itself>"	/* top-down: allocated by the function itself, not by a callee */
#define OUTERMOST "<no caller>" /* bottom-up: the stack ends here */

/* Bounds the ways by the session's bytes: a way of a Chromium session takes 20 bytes of its
 * file. */
enum { WAYS_AT_LEAST = 4 << 20, WAYS_A_BYTE = 2 };

/* A way from the root to a function. */
struct call_way {
	uint32_t parent, name;
	uint64_t value, blocks;
};
struct call_tree {
	struct call_stacks *stacks;
	const struct call_tree_query *query;
	VEC(struct call_way) ways; /* parents come before children; [0] is the root */
	struct hash_table table;   /* of `ways` without the root, by parent and name */
	uint32_t no_stack, cut;
	uint64_t most; /* most ways; a session with more is refused */
	bool too_much;
};

/* ---- ways ---- */

static uint32_t step(struct call_tree *t, uint32_t parent, uint32_t name,
		     const struct call_stack *stack)
{
	uint64_t hash = hash_keys(parent, name);
	uint32_t way =
		hash_table_find(&t->table, hash, i,
				t->ways.at[i].parent == parent && t->ways.at[i].name == name);

	if (way == HASH_NONE) {
		way = (uint32_t)t->ways.count;
		*vec_push(&t->ways) = (struct call_way){ .parent = parent, .name = name };
		hash_table_add(&t->table, hash, way);
	}
	t->ways.at[way].value += stack->value;
	t->ways.at[way].blocks += stack->blocks;
	return way;
}

/* Returns the index of the first function shown: the call site's, or the innermost. */
static size_t innermost(const struct call_tree *t, const struct call_stack *stack)
{
	return t->query->wrappers ? 0 : stack->site;
}

static bool matches(const struct call_tree *t, const struct call_stack *stack)
{
	if (!t->query->match)
		return true;
	for (size_t i = 0; i < stack->count; i++)
		if (text_matches(t->query->match, call_stacks_name(t->stacks, stack->names[i])))
			return true;
	return false;
}

static void add_to_tree(struct call_tree *t, const struct call_stack *stack)
{
	size_t first = innermost(t, stack);
	uint32_t at = 0;

	t->ways.at[0].value += stack->value;
	t->ways.at[0].blocks += stack->blocks;
	if (!stack->count) {
		step(t, 0, t->no_stack, stack);
	} else if (t->query->direction == CALLS_CALLERS) {
		for (size_t i = first; i < stack->count; i++)
			at = step(t, at, stack->names[i], stack);
		if (stack->cut)
			step(t, at, t->cut, stack);
	} else {
		if (stack->cut)
			at = step(t, at, t->cut, stack);
		for (size_t i = stack->count; i > first; i--)
			at = step(t, at, stack->names[i - 1], stack);
	}
}

static void add_stack(void *context, const struct call_stack *stack)
{
	struct call_tree *t = context;

	t->too_much |= t->ways.count > t->most;
	if (!t->too_much && matches(t, stack))
		add_to_tree(t, stack);
}

/* ---- nodes ---- */

/* Makes the tree's nodes of the ways: `first[w]` is w's first child, `next[w]` its next sibling. */
static void make_node(const struct call_tree *t, const uint32_t *first, const uint32_t *next,
		      uint32_t at, struct tree_node *out)
{
	const struct call_way *way = &t->ways.at[at];
	uint64_t value = way->value, blocks = way->blocks;
	size_t count = 0;

	out->value = way->value;
	out->blocks = way->blocks;
	for (uint32_t c = first[at]; c; c = next[c])
		count++;
	if (!count)
		return;
	out->children = mem_zero(count + 1, sizeof(*out->children));
	out->room = count + 1;
	for (uint32_t c = first[at]; c; c = next[c]) {
		struct tree_node *child = &out->children[out->count++];

		child->name = mem_text(call_stacks_name(t->stacks, t->ways.at[c].name));
		make_node(t, first, next, c, child);
		value -= child->value;
		blocks -= child->blocks;
	}
	if (value || blocks)
		out->children[out->count++] = (struct tree_node){
			.name = mem_text(t->query->direction == CALLS_CALLERS ? OUTERMOST : ITSELF),
			.value = value,
			.blocks = blocks,
		};
}

static void make_nodes(const struct call_tree *t, struct tree_node *root)
{
	uint32_t *first = mem_zero(t->ways.count, sizeof(*first)),
		 *next = mem_zero(t->ways.count, sizeof(*next));
	struct tree_node made = { .name = mem_text("all") };

	for (uint32_t i = (uint32_t)t->ways.count; i-- > 1;) {
		next[i] = first[t->ways.at[i].parent];
		first[t->ways.at[i].parent] = i;
	}
	make_node(t, first, next, 0, &made);
	free(first);
	free(next);
	tree_arrange(&made, t->query->threshold);
	*root = made;
}

static struct shiny_err *walk(struct call_tree *t, struct store *store, const struct filter *filter)
{
	struct shiny_err *err =
		call_stacks_open(store, t->query->label, t->query->full, &t->stacks);
	char *text;

	if (err)
		return err;
	*vec_push(&t->ways) = (struct call_way){ 0 };
	t->no_stack = call_stacks_number(t->stacks, NO_STACK);
	text = call_stacks_cut_name(t->stacks);
	t->cut = call_stacks_number(t->stacks, text);
	free(text);
	t->most = store_bound(store, WAYS_AT_LEAST, WAYS_A_BYTE);
	err = call_stacks_each(t->stacks, filter, t->query->order, add_stack, t);
	return err || !t->too_much ? err : store_too_much(store);
}

static void call_tree_deinit(struct call_tree *t)
{
	call_stacks_close(t->stacks);
	free(t->ways.at);
	hash_table_deinit(&t->table);
}

struct shiny_err *call_tree_load(struct store *store, const struct filter *filter,
				 const struct call_tree_query *query, struct tree_node *root)
{
	SHINY_CLEANUP(call_tree_deinit) struct call_tree t = { .query = query };

	SHINY_TRY(walk(&t, store, filter));
	make_nodes(&t, root);
	return NULL;
}
