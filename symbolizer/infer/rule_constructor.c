/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_constructor.c: the constructor that gets the pointer, or the vtable that is stored in the
 * block.
 *
 * `new T(…)` is a call of operator new and then, with the pointer in rdi, one of T::T; or T::T was
 * inlined, and has a DIE in the scope of the call. Both can belong to something else than the
 * block:
 * - the constructor of a base class or of the first member, called from T's inlined one or because
 *   T has none, gets the same pointer. So of the inlined constructors around a call the outermost
 *   counts, and site_choose() prefers a class to what it begins with;
 * - an inlined constructor in the same scope may construct a temporary. It counts if it was called
 *   in the same line as the allocation, or if its `this` is seen to hold the pointer;
 * - `c ? new A : new B` may be one call and two constructors. Those aren't certain, and two that
 *   can't both happen make the site ambiguous.
 * The block's size must be the class's, which site_choose() checks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class_size.h"
#include "../dwarf/debug_calls.h"
#include "../dwarf/debug_twins.h"
#include "rule.h"
#include "site_fold.h"
#include "vtable.h"

/* True if every way to an end of the function passes [low, high). Searches breadth first over the
 * states outside of the range. */
static bool always_passes(const struct flow *flow, uint64_t start, uint64_t low, uint64_t high)
{
	const struct flow_state *queue[FLOW_STEPS + 2];
	bool seen[FLOW_STEPS + 2] = { false };
	size_t head = 0, tail = 0;

	const struct flow_state *first = flow_at(flow, start);

	if (!first || !flow->state_count || flow->state_count > FLOW_STEPS)
		return false;
	queue[tail++] = first;
	seen[first - flow->states] = true;
	while (head < tail) {
		const struct flow_state *state = queue[head++];
		bool any = false;

		if (state->vaddr >= low && state->vaddr < high)
			continue;
		for (unsigned i = 0; i < 2; i++) {
			const struct flow_state *next =
				state->successors[i] ? flow_at(flow, state->successors[i]) : NULL;

			if (!next) {
				any |= state->successors[i] != 0; /* not walked: it may end there */
				continue;
			}
			if (!seen[next - flow->states]) {
				seen[next - flow->states] = true;
				queue[tail++] = next;
			}
		}
		if (any)
			return false;
		for (size_t i = 0; i < flow->fact_count; i++)
			if (flow->facts[i].vaddr == state->vaddr &&
			    (flow->facts[i].kind == FLOW_RETURN ||
			     flow->facts[i].kind == FLOW_JUMP))
				return false;
	}
	return true;
}

/* True if the `this` of the inlined function is the pointer, at one of its first four states. */
static bool this_is_pointer(struct rule_work *work, const struct debug_scope *inlined)
{
	struct debug_variable variables[RULE_VARIABLES];
	unsigned looked = 0;

	for (size_t i = 0; i < work->flow.state_count && looked < 4; i++) {
		const struct flow_state *state = &work->flow.states[i];

		if (state->vaddr < inlined->low || state->vaddr >= inlined->high)
			continue;
		looked++;

		size_t count = debug_variables_at(work->reader->units, state->vaddr, variables,
						  RULE_VARIABLES);
		struct debug_scope scopes[RULE_SCOPES];
		size_t depth = debug_scopes_at(work->reader->units, state->vaddr, scopes,
					       RULE_SCOPES),
		       own = 0;

		while (own < depth && scopes[own].id != inlined->id)
			own++;
		for (size_t v = 0; own < depth && v < count; v++)
			if (variables[v].depth == own && variables[v].parameter &&
			    variables[v].name && !strcmp(variables[v].name, "this") &&
			    rule_holds(state, &variables[v]))
				return true;
	}
	return false;
}

static void add_class(struct rule_work *work, const struct die_type *class, int64_t offset,
		      unsigned flags)
{
	struct site_candidate candidate = { .rule = SYM_RULE_CONSTRUCTOR,
					    .header = (uint64_t)offset,
					    .array = work->makes_array,
					    .flags = flags };

	rule_describe(work, class, &candidate);
	if (offset)
		candidate.array = true;
	rule_add(work, &candidate);
}

/* Finds the outermost inlined constructor around the call at `vaddr`, inside the scopes that hold
 * the allocation. False: there is none. */
static bool enclosing_constructor(struct rule_work *work, uint64_t vaddr, struct die_type *class,
				  struct debug_scope *scope)
{
	struct debug_scope scopes[RULE_SCOPES];
	size_t count = work->reader->units
			       ? debug_scopes_at(work->reader->units, vaddr, scopes, RULE_SCOPES)
			       : 0,
	       end = 0;
	bool found = false;

	for (end = 0; end < count; end++) {
		bool shared = false;

		for (size_t i = work->through; i < work->scope_count && !shared; i++)
			shared = work->scopes[i].id == scopes[end].id;
		if (shared)
			break;
	}
	if (end == count)
		return false;
	for (size_t i = 0; i < end; i++) {
		struct die_type type;

		if (die_is_constructor(work->reader->units, &scopes[i].die, &type)) {
			*class = type;
			*scope = scopes[i];
			found = true;
		}
	}
	return found;
}

/* Copies the class whose constructor the symbol is: "A::B<int>::B(int)" gives A::B<int>. False: it
 * is no constructor. */
static bool constructor_class(const char *mangled, const char *demangled, char *out, size_t room)
{
	struct rule_path parts;
	const char *class, *function;
	size_t length;

	/* a constructor's last name repeats its class's */
	if (strncmp(mangled, "_ZN", 3) || !rule_path_of(demangled, &parts) || !*parts.class ||
	    strlen(parts.class) >= room)
		return false;
	function = strrchr(parts.path, ':');
	if (!function || function - parts.path < 2)
		return false;
	function++;
	length = strlen(function);
	class = function - 2 - length;
	if (class < parts.path || strncmp(class, function, length) ||
	    (class > parts.path && class[-1] != ':'))
		return false;
	snprintf(out, room, "%s", parts.class);
	return true;
}

/* Returns the size of a constructor's class from the class's vtable: its deleting destructor passes
 * the size to operator delete. 0: unknown. */
static uint64_t symbol_bytes(struct rule_work *work, const char *constructor)
{
	const struct symbols *objects = &work->reader->code.symbols->objects;
	const char *from = constructor + 3, *c = from, *last = NULL;
	char vtable[600];
	bool nested;

	/* _ZN, names with their lengths, C1: the class is all but the last. Templates and
	 * substitutions need debug information */
	while (*c >= '1' && *c <= '9') {
		size_t length = strtoul(c, (char **)&c, 10);

		if (strlen(c) < length)
			return 0;
		c += length;
		last = c;
	}
	if (!last || *c != 'C' || last - from > 500)
		return 0;
	nested = strtoul(from, NULL, 10) + strspn(from, "0123456789") != (size_t)(last - from);
	snprintf(vtable, sizeof(vtable), nested ? "_ZTVN%.*sE" : "_ZTV%.*s", (int)(last - from),
		 from);
	for (size_t i = 0; i < objects->count; i++)
		if (!strcmp(objects->at[i].name, vtable))
			return class_size(work->reader->code.file, work->reader->code.relocs,
					  work->reader->code.symbols, objects->at[i].value + 16);
	return 0;
}

/* Adds the classes whose constructors share the code of `function`, the one found by the address:
 * all, or the one that the debug information says is called here. False: the code is not shared. */
static bool folded_constructors(struct rule_work *work, const struct flow_fact *fact,
				Dwarf_Die *function)
{
	struct debug_units *units = work->reader->units;
	unsigned flags = fact->certain ? SITE_CERTAIN : 0;
	struct debug_twin all[1 + SITE_FOLDS] = { { .die = *function } };
	const char *origin = NULL;
	bool told = false, constructors = true;
	size_t count;

	if (!debug_twins_at(units, &work->reader->code.symbols->functions, fact->callee.vaddr,
			    all + 1, SITE_FOLDS, &count) ||
	    !count)
		return false;
	count = 1 + (count < SITE_FOLDS ? count : SITE_FOLDS);
	if (work->scope_count)
		origin = debug_calls_origin(units, &work->scopes[work->scope_count - 1],
					    fact->next);
	for (size_t i = 0; i < count; i++) {
		struct die_type class;

		all[i].name = debug_scopes_function_name(units, &all[i].die);
		told |= origin && all[i].name == origin;
		/* another function may get a block of any class */
		constructors &= die_is_constructor(units, &all[i].die, &class);
	}
	if (!told && !constructors)
		flags = 0;
	for (size_t i = 0; i < count; i++) {
		struct die_type class;

		if ((!told || all[i].name == origin) &&
		    die_is_constructor(units, &all[i].die, &class))
			add_class(work, &class, fact->offset, flags | (told ? 0 : SITE_FOLDED));
	}
	return true;
}

static void called_constructor(struct rule_work *work, const struct flow_fact *fact)
{
	struct die_type class;
	struct debug_scope scope;
	Dwarf_Die function;
	bool folded = false, is = false;
	const char *symbol = fact->callee.vaddr ? rule_symbol(work, fact->callee.vaddr, &folded)
						: fact->callee.symbol;
	char name[2048];

	if (!symbol)
		symbol = fact->callee.symbol;
	if (fact->argument || fact->offset < 0 || fact->offset > 64)
		return;
	if (work->reader->units && fact->callee.vaddr &&
	    debug_scopes_function_at(work->reader->units, fact->callee.vaddr, &function)) {
		is = die_is_constructor(work->reader->units, &function, &class);
		if (!is)
			return;
	}
	if (!is &&
	    (!symbol || !constructor_class(symbol, names_demangled(work->reader->names, symbol),
					   name, sizeof(name))))
		return;
	if (!fact->offset || work->makes_array) {
		struct die_type outer;

		if (enclosing_constructor(work, fact->vaddr, &outer, &scope)) {
			evidence_say(work->evidence, 1,
				     "0x%llx: a constructor gets the pointer+%lld, called from the "
				     "inlined one of %s, DIE 0x%llx",
				     (unsigned long long)fact->vaddr, (long long)fact->offset,
				     outer.name, (unsigned long long)dwarf_dieoffset(&scope.die));
			add_class(work, &outer, fact->offset, fact->certain ? SITE_CERTAIN : 0);
			if (!is || strcmp(outer.name, class.name))
				return;
		}
	}
	if ((is && folded_constructors(work, fact, &function)) || folded) {
		evidence_say(
			work->evidence, 1,
			"0x%llx: a constructor whose code serves several classes gets the pointer",
			(unsigned long long)fact->vaddr);
		return;
	}
	if (is) {
		evidence_say(work->evidence, 1,
			     "0x%llx: the constructor of %s (%llu bytes) gets the pointer+%lld%s",
			     (unsigned long long)fact->vaddr, class.name,
			     (unsigned long long)class.bytes, (long long)fact->offset,
			     fact->certain ? "" : ", on some paths");
		add_class(work, &class, fact->offset, fact->certain ? SITE_CERTAIN : 0);
		return;
	}

	struct site_candidate candidate = { .rule = SYM_RULE_CONSTRUCTOR,
					    .header = (uint64_t)fact->offset,
					    .array = fact->offset || work->makes_array };

	rule_describe_name(work, name, &candidate);
	if (fact->certain)
		candidate.flags |= SITE_CERTAIN;
	if (!work->scope_count || !candidate.bytes) {
		candidate.flags |= SITE_SYMBOL;
		candidate.or_derived = true;
		if (!candidate.bytes)
			candidate.bytes = symbol_bytes(work, symbol);
	}
	evidence_say(work->evidence, 1, "0x%llx: the constructor of %s gets the pointer+%lld%s",
		     (unsigned long long)fact->vaddr, candidate.type, (long long)fact->offset,
		     fact->certain ? "" : ", on some paths");
	rule_add(work, &candidate);
}

/* Adds the inlined constructors in the scope that holds the call. */
static void inlined_constructors(struct rule_work *work)
{
	struct debug_scope inlined[RULE_INLINED];
	size_t count;

	if (work->through >= work->scope_count)
		return;
	count = debug_scopes_behind(work->reader->units, work->ret, &work->scopes[work->through],
				    inlined, RULE_INLINED);
	for (size_t i = 0; i < count; i++) {
		struct die_type class;
		bool same_line, same_this = false, certain;

		if (inlined[i].earlier ||
		    !die_is_constructor(work->reader->units, &inlined[i].die, &class))
			continue;
		same_line = work->line && inlined[i].call_line == work->line;
		same_this = this_is_pointer(work, &inlined[i]);
		if (!same_line && !same_this) {
			evidence_say(work->evidence, 1,
				     "the inlined constructor of %s, line %u, DIE 0x%llx: another "
				     "line, and its `this` isn't seen to be the pointer",
				     class.name, inlined[i].call_line,
				     (unsigned long long)dwarf_dieoffset(&inlined[i].die));
			continue;
		}
		certain = always_passes(&work->flow, work->ret, inlined[i].low, inlined[i].high);
		evidence_say(
			work->evidence, 1,
			"the inlined constructor of %s (%llu bytes), line %u, DIE 0x%llx: %s%s%s",
			class.name, (unsigned long long)class.bytes, inlined[i].call_line,
			(unsigned long long)dwarf_dieoffset(&inlined[i].die),
			same_line ? "the line of the call" : "",
			same_this ? same_line ? ", its `this` is the pointer"
					      : "its `this` is the pointer"
				  : "",
			certain ? "" : ", on some paths");
		add_class(work, &class, 0,
			  (certain || (same_line && same_this) ? SITE_CERTAIN : 0) |
				  (same_this ? 0 : SITE_LINE));
	}
}

/* Adds `type`, the class whose vtable is stored at the block's start. */
static void stored_vtable(struct rule_work *work, const struct flow_fact *fact, const char *type,
			  uint64_t bytes, unsigned flags)
{
	struct site_candidate candidate = { .rule = SYM_RULE_STORE };

	rule_describe_name(work, type, &candidate);
	if (rule_in_destructor(work, fact->vaddr)) {
		evidence_say(work->evidence, 1, "0x%llx: a destructor stores the vtable of %s",
			     (unsigned long long)fact->vaddr, candidate.type);
		return;
	}
	if (!candidate.bytes || !work->scope_count) {
		candidate.flags |= SITE_SYMBOL;
		candidate.or_derived = true;
	}
	if (!candidate.bytes)
		candidate.bytes = bytes;
	candidate.flags |= SITE_POLYMORPHIC | (fact->certain ? SITE_CERTAIN : 0) | flags;
	evidence_say(work->evidence, 1,
		     "0x%llx: the vtable of %s (%llu bytes) is stored at the block's start%s",
		     (unsigned long long)fact->vaddr, candidate.type,
		     (unsigned long long)candidate.bytes, fact->certain ? "" : ", on some paths");
	rule_add(work, &candidate);
}

/* Adds, of several classes that share the vtable, the one whose constructor was seen, else all. */
static void stored_one_of(struct rule_work *work, const struct flow_fact *fact, const char *types,
			  uint64_t bytes)
{
	char *type = mem_alloc(strlen(types) + 1);
	unsigned flags;

	for (size_t i = 0; i < work->out->count; i++)
		if (work->out->candidates[i].rule == SYM_RULE_CONSTRUCTOR &&
		    site_fold_has(types, work->out->candidates[i].type))
			types = work->out->candidates[i].type;
	flags = site_fold_is(types) ? SITE_FOLDED : 0;
	while (site_fold_next(&types, type))
		stored_vtable(work, fact, type, bytes, flags);
	free(type);
}

/* Adds the classes whose vtable's address is stored at the block's start. */
static void stored_vtables(struct rule_work *work)
{
	/* the last one is the most derived class's */
	for (size_t i = work->flow.fact_count; i-- > 0;) {
		const struct flow_fact *fact = &work->flow.facts[i];

		if (fact->kind != FLOW_VTABLE || fact->offset)
			continue;
		if (fact->value) {
			struct vtable_reader reader = { .file = work->reader->code.file,
							.relocs = work->reader->code.relocs,
							.symbols = work->reader->code.symbols,
							.names = work->reader->names,
							.label = "" };
			struct sym_vtable vtable;

			memset(&vtable, 0, sizeof(vtable));
			vtable_read(&reader, fact->value, &vtable);
			if ((vtable.source != SYM_VTABLE_SYMBOL &&
			     vtable.source != SYM_VTABLE_RTTI) ||
			    vtable.offset_to_top || !vtable.type)
				continue;
			stored_one_of(work, fact, vtable.type,
				      class_size(work->reader->code.file, work->reader->code.relocs,
						 work->reader->code.symbols, vtable.address_point));
		} else if (fact->callee.symbol && !strncmp(fact->callee.symbol, "_ZTV", 4) &&
			   fact->displacement >= 16) {
			const char *name =
				names_demangled(work->reader->names, fact->callee.symbol);

			if (!strncmp(name, "vtable for ", 11))
				stored_vtable(work, fact, name + 11, 0, 0);
		}
	}
}

/* Moves a class that begins with another one before that one. */
static void order(struct site_answer *out)
{
	for (size_t round = 0; round < out->count; round++)
		for (size_t i = 1; i < out->count; i++) {
			const struct site_candidate *a = &out->candidates[i - 1],
						    *b = &out->candidates[i];

			for (size_t l = 0; l < SITE_LEADING && b->leading[l]; l++)
				if (!strcmp(b->leading[l], a->type)) {
					struct site_candidate swap = *a;

					out->candidates[i - 1] = *b;
					out->candidates[i] = swap;
					break;
				}
		}
}

void rule_constructor(struct rule_work *work)
{
	if (work->reader->units)
		inlined_constructors(work);
	for (size_t i = 0; i < work->flow.fact_count; i++)
		if (work->flow.facts[i].kind == FLOW_CALL || work->flow.facts[i].kind == FLOW_JUMP)
			called_constructor(work, &work->flow.facts[i]);
	stored_vtables(work);
	order(work->out);
	/* two that aren't both certain, and the first doesn't begin with the second */
	for (size_t i = 0; i < work->out->count; i++)
		for (size_t k = i + 1; k < work->out->count; k++) {
			const struct site_candidate *a = &work->out->candidates[i],
						    *b = &work->out->candidates[k];
			bool part = a->type == b->type;

			for (size_t l = 0; l < SITE_LEADING && a->leading[l]; l++)
				part |= !strcmp(a->leading[l], b->type);
			if (!part && !(a->flags & b->flags & SITE_CERTAIN) &&
			    a->bytes == b->bytes && a->header == b->header)
				work->out->ambiguous = true;
		}
	if (work->out->ambiguous)
		evidence_say(
			work->evidence, 1,
			"constructors of several classes on different paths: the site makes more "
			"than one type");
}
