/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_variable.c: the typed variable, member, global, parameter or result that receives the
 * pointer.
 *
 * `T *p = malloc(n)` leaves the pointer where DWARF says that p lives; `this->items = …` stores it
 * at an offset of a typed object. The variable's type is the program's view of the block, which is
 * weaker than its constructor: it may be a base class's pointer, or a byte pointer into something
 * else. Without guards a quarter of the answers was wrong. The guards are:
 * - only variables of the scope that holds the call and of those around it, not of functions
 *   inlined into it;
 * - no void *, nor pointers to characters or bytes for `new` (site_choose());
 * - of a union's pointers the one with a type that fits the size, if no other one fits
 *   (site_choose());
 * - parameters of called functions: not for arrays, because a pointer to the middle may be passed
 *   (site_choose());
 * - the size must fit, and a polymorphic class means "that or a derived one".
 */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "../dwarf/debug_definitions.h"
#include "../dwarf/die.h"
#include "../dwarf/die_layout.h"
#include "../dwarf/die_members.h"
#include "../dwarf/die_path.h"
#include "rule.h"

enum { LOOK_MAX = 80, FOUND_MAX = 3, UNION_MAX = 4 };

static bool last_member(void *context, const struct die_member *member)
{
	if (member->what == DIE_MEMBER && !member->depth)
		*(uint64_t *)context = member->offset;
	return true;
}

/* Adds a type that the block begins with; `elements`: any number of them. False: it tells
 * nothing. */
static bool add_object(struct rule_work *work, const struct die_type *type, bool elements,
		       unsigned flags)
{
	struct site_candidate candidate = { .rule = SYM_RULE_VARIABLE,
					    .form = elements ? SYM_FORM_ARRAY : SYM_FORM_OBJECT,
					    .array = true,
					    .flags = flags };
	struct die_type target = *type;

	/* a pointer to an array, T (*p)[3], counts as one to T */
	for (unsigned i = 0; target.kind == DIE_ARRAY && i < 8; i++)
		if (!die_type_target(work->reader->units, &target, &target))
			return false;
	if (target.kind == DIE_VOID || target.kind == DIE_FUNCTION ||
	    (!target.bytes && !(flags & SITE_LEAST)))
		return false;
	rule_describe(work, &target, &candidate);
	candidate.or_derived = target.polymorphic || flags & SITE_LEAST;
	if (candidate.trailing) /* a block ends somewhere in the array */
		die_type_layout(work->reader->units, &target, last_member, &candidate.header);
	rule_add(work, &candidate);
	return candidate.type != NULL;
}

/* Adds the target of a type that points at the block. False: it tells nothing. */
static bool add_pointer(struct rule_work *work, const struct die_type *pointer, unsigned flags)
{
	struct die_type target, type = *pointer;
	bool elements = die_descriptor(&type.die);

	/* a descriptor is no block */
	return pointer->kind == DIE_POINTER && !pointer->by_address &&
	       die_type_target(work->reader->units, pointer, &target) &&
	       add_object(work, &target, elements, elements ? flags | SITE_DESCRIPTOR : flags);
}

/* Adds the pointer of a polymorphic variable of Fortran's: the type that it then holds, if the code
 * tells it, and the declared type as the least. */
static bool add_class_data(struct rule_work *work, const struct die_type *pointer, unsigned flags)
{
	struct die_type declared, actual, type = *pointer;
	bool elements = die_descriptor(&type.die), known;

	if (!die_type_target(work->reader->units, pointer, &declared))
		return false;
	known = rule_class_actual(work, &declared, &actual) &&
		add_object(work, &actual, elements, flags);
	return add_object(work, &declared, elements, flags | SITE_LEAST) || known;
}

/* Adds an access to an Ada array of any bounds. It is two words: P_ARRAY, and P_BOUNDS, which here
 * is the pointer; the bounds come first in the block. */
static bool add_bounds(struct rule_work *work, const struct die_type *access, uint64_t offset,
		       const struct die_type *bounds, unsigned flags)
{
	struct site_candidate candidate = { .rule = SYM_RULE_VARIABLE,
					    .form = SYM_FORM_ARRAY,
					    .array = true,
					    .flags = flags | SITE_DESCRIPTOR };
	struct debug_units *units = work->reader->units;
	struct die_type header, type;
	const char *name;

	if (offset < 8 || !die_members_at(units, access, offset - 8, &type, &name) ||
	    strcmp(name, "P_ARRAY") != 0 || !die_type_target(units, bounds, &header) ||
	    !die_type_target(units, &type, &type))
		return false;
	for (unsigned i = 0; type.kind == DIE_ARRAY && i < 8; i++)
		if (!die_type_target(units, &type, &type))
			return false;
	if (!header.bytes || !type.bytes)
		return false;
	rule_describe(work, &type, &candidate);
	candidate.header = header.bytes;
	rule_add(work, &candidate);
	return candidate.type != NULL;
}

/* Adds all pointers that a union has at `offset`, or none: one that can't be judged by its size may
 * be the right one. */
static bool add_union(struct rule_work *work, const struct die_type *type, uint64_t offset,
		      unsigned flags)
{
	struct die_type pointers[UNION_MAX];
	size_t count = die_members_of_union(work->reader->units, type, offset, pointers, UNION_MAX),
	       before = work->out->count;

	if (before + count > SITE_CANDIDATES)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!add_pointer(work, &pointers[i], flags | SITE_UNION)) {
			work->out->count = before;
			return false;
		}
	return count > 0;
}

/* Adds the pointer that a variable is, or holds at `offset` (an owner such as std::unique_ptr). */
static bool add_variable(struct rule_work *work, struct debug_variable *variable, uint64_t offset,
			 unsigned flags)
{
	struct die_type type, member;
	const char *name;

	if (!die_type(work->reader->units, &variable->type, &type))
		return false;
	if (type.kind == DIE_POINTER)
		return !offset && add_pointer(work, &type, flags);
	if (type.kind != DIE_CLASS && type.kind != DIE_ARRAY)
		return false;
	if (type.kind == DIE_ARRAY) {
		struct die_type element;

		if (!die_type_target(work->reader->units, &type, &element))
			return false;
		if (element.kind == DIE_POINTER)
			return !(offset % 8) && add_pointer(work, &element, flags);
		if (!element.bytes || element.kind != DIE_CLASS)
			return false;
		type = element;
		offset %= element.bytes;
	}
	if (die_members_at(work->reader->units, &type, offset, &member, &name)) {
		if (rule_class_data(&type.die, name))
			return add_class_data(work, &member, flags);
		return !strcmp(name, "P_BOUNDS") && die_is_ada(&type.die)
			       ? add_bounds(work, &type, offset, &member, flags)
			       : add_pointer(work, &member, flags);
	}
	return add_union(work, &type, offset, flags);
}

/* True if the variable lies in the block itself, at its start. */
static bool is_block(const struct flow_state *state, const struct debug_variable *variable)
{
	struct debug_variable address = *variable;

	if (variable->place == DEBUG_PLACE_MEMORY)
		address.place = DEBUG_PLACE_VALUE; /* the address is a register's value */
	else if (variable->place == DEBUG_PLACE_INDIRECT)
		address.place = DEBUG_PLACE_MEMORY;
	else
		return false;
	return rule_holds(state, &address);
}

/* Adds an automatic array or string of Fortran's: the block is its elements. */
static bool add_automatic(struct rule_work *work, struct debug_variable *variable)
{
	struct die_type type;

	return die_type(work->reader->units, &variable->type, &type) &&
	       (type.kind == DIE_ARRAY || dwarf_tag(&type.die) == DW_TAG_string_type) &&
	       add_object(work, &type, true, 0);
}

/* Returns the index in work->scopes of the variable's scope; RULE_SCOPES: it is in none of them. */
static size_t scope_of(struct rule_work *work, const struct debug_scope *scopes, size_t count,
		       const struct debug_variable *variable)
{
	if (variable->depth >= count)
		return RULE_SCOPES;
	for (size_t i = work->through; i < work->scope_count; i++)
		if (work->scopes[i].id == scopes[variable->depth].id)
			return i;
	return RULE_SCOPES;
}

/* Adds the variables that hold the pointer, the nearest scope's first. */
static void variables(struct rule_work *work)
{
	struct debug_variable found[RULE_VARIABLES];
	struct debug_scope scopes[RULE_SCOPES];
	size_t best = RULE_SCOPES, first = work->out->count;
	unsigned looked = 0;

	for (size_t i = 0; i < work->flow.state_count && looked < LOOK_MAX; i++) {
		const struct flow_state *state = &work->flow.states[i];
		size_t count, depth;

		if (!state->registers && !state->slot_count)
			continue;
		looked++;
		depth = debug_scopes_at(work->reader->units, state->vaddr, scopes, RULE_SCOPES);
		count = debug_variables_at(work->reader->units, state->vaddr, found,
					   RULE_VARIABLES);
		for (size_t v = 0; v < count; v++) {
			size_t scope = scope_of(work, scopes, depth, &found[v]),
			       before = work->out->count;
			struct die_type type;
			uint64_t offset = found[v].into;
			bool whole = is_block(state, &found[v]);

			if (scope >= RULE_SCOPES || scope > best)
				continue;
			if (whole) {
				/* the pointer's place does not matter: it is the variable's
				 * address */
			} else if (found[v].place == DEBUG_PLACE_REGISTER ||
			    found[v].place == DEBUG_PLACE_VALUE) {
				if (!rule_holds(state, &found[v]))
					continue;
			} else if (!die_type(work->reader->units, &found[v].type, &type) ||
				   !rule_slot_in(state, &found[v], type.bytes ? type.bytes : 8,
						 &offset)) {
				continue;
			}
			/* the scope's own variable replaces those of scopes around it */
			if (scope < best && best < RULE_SCOPES) {
				work->out->count = first;
				before = first;
			}
			if (whole ? !add_automatic(work, &found[v])
				  : !add_variable(work, &found[v], offset, 0))
				continue;
			best = scope;
			if (work->out->count > before)
				evidence_say(
					work->evidence, 1,
					"0x%llx: the %s %s, DIE 0x%llx, holds the pointer%s: %s "
					"(%llu bytes)",
					(unsigned long long)state->vaddr,
					found[v].parameter ? "parameter" : "variable",
					found[v].name ? found[v].name : "?",
					(unsigned long long)dwarf_dieoffset(&found[v].die),
					offset ? " inside" : "",
					work->out->candidates[work->out->count - 1].type,
					(unsigned long long)work->out
						->candidates[work->out->count - 1]
						.bytes);
			if (work->out->count >= first + FOUND_MAX)
				return;
		}
	}
}

/* Handles `base->member = pointer` and `global = pointer`. */
static void stores(struct rule_work *work, const struct flow_fact *fact)
{
	size_t before = work->out->count;
	struct rule_base base;
	struct die_type target;

	if (fact->offset || fact->callee.symbol)
		return;
	if (fact->base >= FLOW_REGISTERS) {
		struct debug_variable global;

		if (fact->value &&
		    debug_definitions_global(work->reader->units, fact->value, &global) &&
		    add_variable(work, &global, fact->value - (uint64_t)global.displacement, 0) &&
		    work->out->count > before)
			evidence_say(work->evidence, 1, "0x%llx: stored in the global %s: %s",
				     (unsigned long long)fact->vaddr,
				     global.name ? global.name : "?",
				     work->out->candidates[before].type);
		return;
	}
	if ((fact->base == FLOW_RSP || fact->base == FLOW_RBP) &&
	    rule_base_of_frame(work, fact->vaddr, fact->base, fact->displacement, &base)) {
		if (!fact->scale || base.object.kind != DIE_ARRAY)
			return; /* a slot: variables() handles those */
	} else if (fact->base == FLOW_RSP || !rule_base_of(work, fact->vaddr, fact->base, &base)) {
		return;
	} else {
		base.displacement += fact->displacement;
	}
	base.indexed |= fact->scale != 0;
	target = base.object;
	for (unsigned i = 0; target.kind == DIE_ARRAY && i < 8; i++) {
		int64_t into;

		/* an index may start above 0 */
		if (!die_type_target(work->reader->units, &target, &target) || !target.bytes ||
		    (base.displacement < 0 && !base.indexed))
			return;
		into = base.displacement % (int64_t)target.bytes;
		base.displacement = into < 0 ? into + (int64_t)target.bytes : into;
		base.indexed = false;
	}
	if (target.kind == DIE_POINTER) {
		/* an array of pointers, or one of them */
		if (base.displacement % 8 || !add_pointer(work, &target, 0))
			return;
	} else {
		struct debug_variable object = { .type = target.die };

		if (base.indexed || base.displacement < 0 || target.kind != DIE_CLASS ||
		    (target.bytes && !target.trailing_array &&
		     (uint64_t)base.displacement >= target.bytes) ||
		    !add_variable(work, &object, (uint64_t)base.displacement, 0))
			return;
	}
	if (work->out->count > before)
		evidence_say(work->evidence, 1, "0x%llx: stored at %lld of %s: %s",
			     (unsigned long long)fact->vaddr, (long long)base.displacement,
			     target.name ? target.name : "?", work->out->candidates[before].type);
}

/* Finds the parameter of `function` that argument register `index` brings. False: it can't be
 * told. */
static bool parameter_at(struct rule_work *work, Dwarf_Die *function, unsigned index,
			 struct die_type *out)
{
	struct die_type type;
	Dwarf_Die child;
	unsigned at = 0;

	/* a class may be returned in memory, whose address is the first argument then */
	if (!die_type_of(work->reader->units, function, &type) || type.kind == DIE_CLASS ||
	    type.kind == DIE_UNION || dwarf_child(function, &child))
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		if (!die_type_of(work->reader->units, &child, &type) || type.kind == DIE_CLASS ||
		    type.kind == DIE_UNION)
			return false;
		if (type.kind == DIE_BASE && type.name &&
		    (strstr(type.name, "float") || strstr(type.name, "double")))
			continue;
		if (type.kind == DIE_BASE && type.bytes > 8)
			return false;
		if (at++ == index) {
			*out = type;
			return true;
		}
	} while (die_next(&child));
	return false;
}

/* Adds the element of a library function that gets the pointer, if a rule knows it. */
static void taken(struct rule_work *work, const struct flow_fact *fact)
{
	const struct container_rule *rule =
		container_rules_find_taker(work->reader->rules, fact->callee.symbol);
	struct site_candidate candidate = { .rule = SYM_RULE_VARIABLE,
					    .form = SYM_FORM_ARRAY,
					    .array = true };

	if (fact->offset || !rule)
		return;
	rule_describe_name(work, rule->element, &candidate);
	evidence_say(work->evidence, 1, "0x%llx: %s() takes %s[]", (unsigned long long)fact->vaddr,
		     fact->callee.symbol, candidate.type);
	rule_add(work, &candidate);
}

/* Adds the parameter's type of a function that gets the pointer. */
static void parameters(struct rule_work *work, const struct flow_fact *fact)
{
	Dwarf_Die function;
	struct die_type type, class;
	size_t before = work->out->count;
	const char *path;

	if (fact->offset || !fact->callee.vaddr ||
	    !debug_scopes_function_at(work->reader->units, fact->callee.vaddr, &function) ||
	    die_is_constructor(work->reader->units, &function, &class) ||
	    !parameter_at(work, &function, fact->argument, &type) ||
	    !add_pointer(work, &type, SITE_PARAMETER))
		return;
	path = die_function_path(work->reader->units, &function);
	if (work->out->count > before)
		evidence_say(work->evidence, 1, "0x%llx: argument %u of %s() takes it: %s",
			     (unsigned long long)fact->vaddr, fact->argument, path ? path : "?",
			     work->out->candidates[before].type);
}

void rule_variable(struct rule_work *work)
{
	bool returned = false;

	if (!work->reader->units || !work->scope_count)
		return;
	variables(work);
	for (size_t i = 0; i < work->flow.fact_count; i++) {
		const struct flow_fact *fact = &work->flow.facts[i];

		if (fact->kind == FLOW_STORE)
			stores(work, fact);
		returned |= fact->kind == FLOW_RETURN && !fact->offset;
	}
	if (returned) {
		Dwarf_Die function = work->scopes[work->scope_count - 1].die;
		struct die_type type;
		size_t before = work->out->count;

		if (die_type_of(work->reader->units, &function, &type) &&
		    add_pointer(work, &type, 0) && work->out->count > before)
			evidence_say(work->evidence, 1, "the function returns it as %s: %s",
				     type.name, work->out->candidates[before].type);
	}
	for (size_t i = 0; i < work->flow.fact_count; i++)
		if (work->flow.facts[i].kind == FLOW_CALL ||
		    work->flow.facts[i].kind == FLOW_JUMP) {
			parameters(work, &work->flow.facts[i]);
			taken(work, &work->flow.facts[i]);
		}
}
