/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_type.c: see site_type.h.
 *
 * The rules, in the order of their trust, measured on programs with types known by other means:
 *     an attribute that the compiler wrote for this purpose      rule_alloc_type()
 *     the type_info that the run time receives with the block    rule_thrown()
 *     the allocator and the container that was inlined here      rule_container()
 *     the constructor, or the vtable, that the block gets        rule_constructor()
 *     the typed variable, member, parameter or result            rule_variable()
 *     the library function that holds the call                   functions_and_wrappers()
 * An answer of the first three ends the search; the next two collect candidates. The sizes of the
 * blocks decide between these (site_choose.c), and the classes at offset 0: the constructor of a
 * base class or of the first member gets the same pointer as that of the whole object.
 *
 * A function that returns the pointer as void * gives no type. Then the rules examine the caller's
 * return address, as if the call of the wrapper were an allocation.
 */
#include "site_type.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"
#include "../dwarf/debug_calls.h"
#include "../dwarf/debug_lines.h"
#include "../dwarf/debug_overlay.h"
#include "../dwarf/debug_unit.h"
#include "../dwarf/die.h"
#include "../dwarf/die_path.h"
#include "../flow/flow_calls.h"
#include "../names/block_wrapper.h"
#include "../names/site_label.h"
#include "rule.h"
#include "site_fold.h"

#define DW_AT_LLVM_alloc_type 0x3e0a /* LLVM 22; DWARF 6's draft has DW_AT_alloc_type */
#define ABBREVIATIONS_MAX 100000 /* limit of one unit; 2,000 are many */
#define ATTRIBUTES_MAX 64

/* Finds the call before the return address, and its callee. */
static void find_callee(struct rule_work *work)
{
	struct flow_callee next;

	work->called = flow_call_before(&work->reader->code, work->low, work->ret, &work->call,
					&work->callee);
	if (!work->called)
		return;
	work->entry = rule_is_entry(work->callee.symbol);
	for (unsigned i = 0; i < 4 && !work->entry && work->callee.vaddr; i++) {
		bool stub;

		if (!flow_jumps_to(&work->reader->code, i ? next.vaddr : work->callee.vaddr, &next))
			break;
		stub = !i && !work->callee.symbol;
		if (stub) /* a PLT stub has no symbol: its callee is the import */
			work->callee = next;
		work->entry = rule_is_entry(next.symbol);
		if (!next.vaddr)
			break;
	}
	work->makes_array = work->callee.symbol && !strncmp(work->callee.symbol, "_Znam", 5);
	if (work->callee.symbol)
		work->out->callee = names_demangled(work->reader->names, work->callee.symbol);
}

/* Advances `through` to the scope that receives the block. */
static void skip_through(struct rule_work *work)
{
	const char *file;

	if (work->reader->units)
		debug_lines_find(work->reader->units, work->ret - 1, &file, &work->line);
	while (work->through + 1 < work->scope_count) {
		struct debug_scope *scope = &work->scopes[work->through];
		const char *path = die_function_path(work->reader->units, &scope->die);
		const char *last = path ? strrchr(path, ':') : NULL;

		last = last ? last + 1 : path;
		if (!scope->inlined || !last || strncmp(last, "operator new", 12))
			break;
		work->line = scope->call_line;
		work->through++;
	}
}

static void say_frames(struct rule_work *work)
{
	const char *file = NULL;
	uint32_t line = 0;

	evidence_say(work->evidence, 0, "return address 0x%llx%s%s%s",
		     (unsigned long long)work->ret, work->symbol ? " in " : "",
		     work->symbol ? names_demangled(work->reader->names, work->symbol) : "",
		     work->reader->units ? "" : ", no debug information");
	if (work->reader->units)
		debug_lines_find(work->reader->units, work->ret - 1, &file, &line);
	for (size_t i = 0; i < work->scope_count; i++) {
		struct debug_scope *scope = &work->scopes[i];
		const char *base = file ? strrchr(file, '/') : NULL;

		evidence_say(work->evidence, 1, "frame %zu: %s at %s:%u, DIE 0x%llx%s", i,
			     scope->name ? scope->name : "?",
			     base   ? base + 1
			     : file ? file
				    : "?",
			     line, (unsigned long long)dwarf_dieoffset(&scope->die),
			     scope->inlined ? ", inlined" : "");
		file = scope->inlined ? debug_scopes_call_file(work->reader->units, scope) : NULL;
		line = scope->call_line;
	}
	if (work->called)
		evidence_say(work->evidence, 1, "call at 0x%llx of %s%s",
			     (unsigned long long)work->call,
			     work->out->callee ? work->out->callee : "a pointer",
			     work->entry ? rule_is_entry(work->callee.symbol)
						   ? ", which allocates"
						   : ", which jumps to an allocation function"
					 : "");
	else
		evidence_say(work->evidence, 1, "no call instruction in front of it");
}

static void say_flow(struct rule_work *work)
{
	static const char *const registers[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
						 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
						 "r12", "r13", "r14", "r15" };

	if (!work->evidence)
		return;
	evidence_say(work->evidence, 1, "the pointer is followed through %zu instructions",
		     work->flow.state_count);
	for (size_t i = 0; i < work->flow.fact_count; i++) {
		const struct flow_fact *fact = &work->flow.facts[i];
		const char *name = fact->callee.symbol ? names_demangled(work->reader->names,
									 fact->callee.symbol)
						       : NULL;
		const char *certain = fact->certain ? "" : ", on some paths";
		unsigned long long at = fact->vaddr;
		long long offset = fact->offset;

		switch (fact->kind) {
		case FLOW_CALL:
		case FLOW_JUMP:
			evidence_say(work->evidence, 2,
				     "0x%llx: %s %s with pointer%+lld as argument %u%s", at,
				     fact->kind == FLOW_CALL ? "call" : "jump", name ? name : "?",
				     offset, fact->argument, certain);
			break;
		case FLOW_VTABLE:
			evidence_say(work->evidence, 2,
				     "0x%llx: 0x%llx%s%s stored at pointer%+lld%s", at,
				     (unsigned long long)fact->value, name ? " " : "",
				     name ? name : "", offset, certain);
			break;
		case FLOW_STORE:
			if (fact->base < FLOW_REGISTERS)
				evidence_say(work->evidence, 2,
					     "0x%llx: pointer%+lld stored at %s%+lld%s", at, offset,
					     registers[fact->base], (long long)fact->displacement,
					     certain);
			else
				evidence_say(work->evidence, 2,
					     "0x%llx: pointer%+lld stored at 0x%llx %s%s", at,
					     offset, (unsigned long long)fact->value,
					     name ? name : "", certain);
			break;
		case FLOW_RETURN:
			evidence_say(work->evidence, 2, "0x%llx: pointer%+lld returned%s", at,
				     offset, certain);
			break;
		case FLOW_WRITE: /* never emitted */
			break;
		case FLOW_LOST:
			evidence_say(work->evidence, 2, "0x%llx: not followed further", at);
			break;
		}
	}
}

/* True if any kind of DIE in the unit has the attribute, or the abbreviations are too many to be
 * honest: then the DIEs are examined. */
static bool read_alloc_types(Dwarf_Die *unit)
{
	Dwarf_Off offset = 0;
	size_t bytes;

	for (unsigned i = 0; i < ABBREVIATIONS_MAX; i++, offset += bytes) {
		Dwarf_Abbrev *abbreviation = dwarf_getabbrev(unit, offset, &bytes);
		size_t count = 0;

		if (!abbreviation || abbreviation == DWARF_END_ABBREV)
			return false;
		if (dwarf_getattrcnt(abbreviation, &count) || count > ATTRIBUTES_MAX)
			return true;
		while (count--) {
			unsigned name, form;
			Dwarf_Off at;

			if (!dwarf_getabbrevattr(abbreviation, count, &name, &form, &at) &&
			    name == DW_AT_LLVM_alloc_type)
				return true;
		}
	}
	return true;
}

/* Cached results of read_alloc_types() by the unit's index, until the DWARF is closed. */
struct alloc_types {
	enum { NOT_ASKED, NO_ALLOC_TYPES, HAS_ALLOC_TYPES } * units;
	size_t room;
};

static void alloc_types_free(void *kept)
{
	struct alloc_types *alloc_types = kept;

	free(alloc_types->units);
	free(alloc_types);
}

/* True if the unit may have the attribute, which most compilers don't write. Finding that out DIE
 * by DIE was 40 % of the work on a call site. */
static bool has_alloc_types(struct debug_units *units, Dwarf_Die *die)
{
	static const struct debug_slot slot = { .free = alloc_types_free };
	struct alloc_types **kept = (struct alloc_types **)debug_units_slot(units, &slot);
	struct debug_unit *unit = debug_units_of(units, die);

	if (!unit)
		return false;
	if (!*kept)
		*kept = mem_zero(1, sizeof(**kept));
	(*kept)->units =
		mem_reach((*kept)->units, &(*kept)->room, unit->index, sizeof(*(*kept)->units), 64);
	if (!(*kept)->units[unit->index])
		(*kept)->units[unit->index] =
			read_alloc_types(&unit->die) ? HAS_ALLOC_TYPES : NO_ALLOC_TYPES;
	return (*kept)->units[unit->index] == HAS_ALLOC_TYPES;
}

static void rule_alloc_type(struct rule_work *work)
{
	struct site_candidate candidate = { .rule = SYM_RULE_ALLOC_TYPE, .flags = SITE_CERTAIN };
	struct die_type type;
	Dwarf_Attribute attribute;
	Dwarf_Die site, die;

	if (!work->scope_count ||
	    !has_alloc_types(work->reader->units, &work->scopes[work->scope_count - 1].die) ||
	    !debug_calls_at(&work->scopes[work->scope_count - 1], work->ret, &site) ||
	    debug_overlay_die(work->reader->units, &site) == DEBUG_OVERLAY_MISSING ||
	    !dwarf_attr(&site, DW_AT_LLVM_alloc_type, &attribute) ||
	    !dwarf_formref_die(&attribute, &die) || !die_type(work->reader->units, &die, &type))
		return;
	if (type.kind == DIE_ARRAY && !die_type_target(work->reader->units, &type, &type))
		return;
	rule_describe(work, &type, &candidate);
	candidate.array = true; /* new T[n] has it too */
	evidence_say(work->evidence, 1, "the call site's DIE 0x%llx says that it allocates %s",
		     (unsigned long long)dwarf_dieoffset(&site),
		     candidate.type ? candidate.type : "?");
	rule_add(work, &candidate);
}

/* Labels the blocks for the case that nothing fits: with the class of the member function that
 * allocates. A plain function's name would say no more than the call site does. */
static void label(struct rule_work *work)
{
	char text[700];

	for (size_t i = work->through; i < work->scope_count; i++) {
		struct die_type class;

		if (!die_type_class_of(work->reader->units, &work->scopes[i].die, &class) ||
		    !class.name || !*class.name)
			continue;
		snprintf(text, sizeof(text), "storage of %.600s", class.name);
		work->out->label = names_text(work->reader->names, text);
		return;
	}
}

/* The same without debug information: labels by the code around the call. */
static void label_from_code(struct rule_work *work)
{
	struct site_label found;
	char text[SITE_LABEL_TEXT];
	bool known;

	if (!work->called)
		return;
	known = work->entry ||
		block_wrapper_size(&work->reader->code, work->callee.vaddr) != FLOW_NONE;
	work->out->unasked = !known && !work->reader->innermost;
	if (work->out->unasked)
		return;
	found = site_label_find(&work->reader->code, work->call, work->ret, &work->callee, known);
	if (found.kind == SITE_LABEL_NONE)
		return;
	work->out->label_inner = !known;
	work->out->label_once = found.kind == SITE_LABEL_OBJECT;
	site_label_text(&found, text);
	evidence_say(work->evidence, 1, "label: %s, by its code: %s", text, found.why);
	work->out->label = names_text(work->reader->names, text);
	work->out->label_unit = (uint32_t)site_label_multiple(&found);
}

/* Returns the function's own name, for the rules of C functions, without the suffix of pieces and
 * copies; NULL: unknown. */
static const char *own_name(struct rule_work *work, char *room, size_t bytes)
{
	const char *path = work->scope_count
				   ? die_function_path(work->reader->units,
						       &work->scopes[work->scope_count - 1].die)
				   : NULL;

	if (path)
		return path;
	if (!work->symbol || !strncmp(work->symbol, "_Z", 2))
		return NULL;
	snprintf(room, bytes, "%.*s", (int)strcspn(work->symbol, ".@"), work->symbol);
	return room;
}

/* Returns the rule for the function; NULL: none. Searches by symbol if the DIE's path has no rule:
 * Rust's DIEs lack the scopes around a function in another one, and Rust's shipped library has no
 * DIEs. A rule for all members of a class does not apply to code of which only the name is
 * known. */
static const struct container_rule *rule_of(struct rule_work *work, const char *name)
{
	const struct debug_scope *function =
		work->scope_count ? &work->scopes[work->scope_count - 1] : NULL;
	const struct container_rule *rule = container_rules_find(work->reader->rules, name);
	const char *text = function	  ? (function->bare ? NULL : function->name)
			   : work->symbol ? names_demangled(work->reader->names, work->symbol)
					  : NULL;
	struct rule_path parts;

	if (rule || !rule_path_of(text, &parts))
		return rule;
	rule = container_rules_find(work->reader->rules, parts.path);
	return rule && (function || !rule_names_any(rule->path)) ? rule : NULL;
}

/* Handles functions of the C library that return strings, and functions that return the pointer:
 * their caller knows more about its type. */
static void functions_and_wrappers(struct rule_work *work)
{
	char room[256];
	const char *name = own_name(work, room, sizeof(room));
	const struct container_rule *rule = rule_of(work, name);
	bool returned = false, certain = false;

	if (rule && rule->what == CONTAINER_FUNCTION) {
		struct site_candidate candidate = { .rule = SYM_RULE_FUNCTION,
						    .array = true,
						    .flags = SITE_CERTAIN };

		rule_describe_name(work, rule->element, &candidate);
		evidence_say(work->evidence, 1, "%s() makes %s[]", name,
			     candidate.type ? candidate.type : "?");
		work->out->count = 0; /* its own variables don't count */
		rule_add(work, &candidate);
		return;
	}
	for (size_t i = 0; i < work->flow.fact_count; i++)
		if (work->flow.facts[i].kind == FLOW_RETURN && !work->flow.facts[i].offset) {
			returned = true;
			certain |= work->flow.facts[i].certain;
		}
	if (rule && rule->what == CONTAINER_WRAPPER) {
		evidence_say(work->evidence, 1,
			     "%s() allocates for its caller: its return address is asked",
			     work->scope_count
				     ? name
				     : names_demangled(work->reader->names, work->symbol));
		work->out->climbs = true;
		work->out->count = 0;
		return;
	}
	if (!returned)
		return;
	if (work->out->count && work->out->candidates[0].rule == SYM_RULE_ALLOCATOR) {
		/* the type is known; a caller may be the container's function, if nothing was
		 * inlined */
		work->out->climbs = true;
		return;
	}
	if (!work->scope_count) {
		work->out->climbs = work->out->guessed = true;
		evidence_say(work->evidence, 1,
			     "the pointer is returned, as what isn't known: the caller is asked");
		return;
	}

	struct die_type type, target;
	const char *last = name ? strrchr(name, ':') : NULL;

	last = last ? last + 1 : name;
	if (last && !strncmp(last, "operator new", 12)) {
		work->out->climbs = true;
	} else {
		Dwarf_Die function = work->scopes[work->scope_count - 1].die;

		if (!die_type_of(work->reader->units, &function, &type) ||
		    type.kind != DIE_POINTER ||
		    !die_type_target(work->reader->units, &type, &target))
			return;
		work->out->returned = target.kind == DIE_CLASS;
		if (target.kind != DIE_VOID)
			return;
		work->out->climbs = true;
	}
	evidence_say(work->evidence, 1,
		     "the pointer is returned as void * (%s): the caller is asked",
		     certain ? "always" : "sometimes");
}

/* Returns the name of the called function, if several share its code; an import has only its name.
 * NULL: unknown. */
static const char *origin_of(struct rule_work *work)
{
	const struct symbols *functions = &work->reader->code.symbols->functions;

	if (!work->called || work->entry)
		return NULL;
	if (!work->callee.vaddr)
		return work->out->callee;
	return work->scope_count && site_fold_may_be(functions, work->callee.vaddr)
		       ? debug_calls_origin(work->reader->units,
					    &work->scopes[work->scope_count - 1], work->ret)
		       : NULL;
}

static void about_folds(struct rule_work *work)
{
	work->out->origin = origin_of(work);
	if (!work->out->folds && !work->reader->fold)
		return;
	work->out->function = work->scope_count ? work->scopes[work->scope_count - 1].name
			      : work->symbol	? names_demangled(work->reader->names, work->symbol)
						: NULL;
}

void site_type_read(const struct site_reader *reader, uint64_t ret, struct site_answer *out,
		    struct sym_evidence *evidence)
{
	static const struct flow no_flow;
	struct rule_work work = { .reader = reader, .ret = ret, .out = out, .evidence = evidence };
	const struct symbol *symbol;
	bool followed = false;

	memset(out, 0, sizeof(*out));
	if (ret < 2)
		return;
	if (reader->units) {
		debug_units_hold(reader->units, true);
		if (reader->fold && reader->fold->die.addr)
			debug_twins_use(reader->units, ret - 1, reader->fold);
		work.scope_count =
			debug_scopes_at(reader->units, ret - 1, work.scopes, RULE_SCOPES);
	}
	symbol = symbols_find(&reader->code.symbols->functions, ret - 1);
	if (work.scope_count) {
		work.low = work.scopes[work.scope_count - 1].low;
		work.high = work.scopes[work.scope_count - 1].high;
	} else if (symbol) {
		work.low = symbol->value;
		work.high = symbol->value + symbol->size;
	}
	work.symbol = reader->fold ? reader->fold->symbol : symbol ? symbol->name : NULL;
	if (!reader->fold)
		out->folds = (uint32_t)site_folds(reader, ret - 1, NULL, 0);
	find_callee(&work);
	skip_through(&work);
	say_frames(&work);
	if (work.called && work.high > ret) {
		uint64_t other_low = 0, other_high = 0;

		followed = true;
		if (work.scope_count)
			debug_scopes_other_part(&work.scopes[work.scope_count - 1], &other_low,
						&other_high);
		if (!flow_follow(&reader->code, ret, work.low, work.high, other_low, other_high,
				 &work.flow)) {
			flow_deinit(&work.flow);
			work.flow = no_flow;
			followed = false;
		}
		say_flow(&work);
	}
	if (work.called) {
		rule_alloc_type(&work);
		if (!out->count && !rule_thrown(&work) && !rule_container(&work)) {
			rule_constructor(&work);
			rule_variable(&work);
		}
		functions_and_wrappers(&work);
	}
	if (work.scope_count)
		label(&work);
	else
		label_from_code(&work);
	if (!symbol && !work.scope_count) {
		/* in unknown code only a type_info is evidence */
		if (!out->count || out->candidates[0].rule != SYM_RULE_THROWN) {
			out->count = 0;
			out->climbs = out->opaque = true;
		}
	}
	about_folds(&work);
	if (followed)
		flow_deinit(&work.flow);
	if (reader->units) {
		debug_twins_use(reader->units, 0, NULL);
		debug_units_hold(reader->units, false);
	}
}
