/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_container.c: the allocator and the container that hold the call.
 *
 * A call of operator new in a container is in a chain of inlined functions:
 * std::allocator<T>::allocate in allocator_traits in _Vector_base<T>::_M_allocate in
 * vector<T>::push_back. Each of them names its T as a template parameter, which is read from the
 * DIE. They needn't agree: gcc folds functions with equal code before it inlines them, so the
 * innermost ones may be those of another type of the same size ("vector<string>::_M_realloc_insert"
 * around "__new_allocator<Pod>::allocate", a quarter of all chains in one program with -flto). The
 * outermost ones are right, since they were inlined last:
 *
 *   of consecutive allocator frames the outermost counts;
 *   a container around them wins over them, and an outer one over an inner one, if the sizes agree.
 *   Folded code has equal sizes, so different sizes mean that nothing was folded, and that it is
 *   another allocation (a vector in a vector, a table of pointers beside the nodes).
 *
 * Only frames that stand for the allocation itself count: the chain ends at the first function
 * without a rule, such as the constructor of an element: its allocations are not the container's.
 *
 * Without DIEs the function's name is parsed, but only for functions that only allocate.
 */
#include <ctype.h>
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/glob.h"
#include "../dwarf/die_normalize.h"
#include "../dwarf/die_path.h"
#include "rule.h"

enum { ELEMENT_MAX = 3000 };

/* A function in the chain. */
struct container_link {
	Dwarf_Die *die;   /* NULL: only the name is known */
	const char *path;
	const char *text; /* demangled; NULL: unknown */
	struct rule_path parts; /* of `text`, if there is no DIE or its types tell nothing */
	bool parsed;
};

/* Finds the type that a reference in braces denotes, by the DIE. */
static bool resolve(struct rule_work *work, struct container_link *link, const char *reference,
		    size_t bytes, struct die_type *out)
{
	struct debug_units *units = work->reader->units;
	char part[80];
	size_t used = 0;
	bool first = true;

	while (used < bytes) {
		size_t length = 0;
		bool function = false, number;
		const char *from;
		Dwarf_Die die;

		while (used + length < bytes && reference[used + length] != '.')
			length++;
		from = reference + used;
		used += length + 1;
		if (first && *from == 'f' && (length == 1 || (from[1] >= '0' && from[1] <= '9'))) {
			function = true;
			from++;
			length--;
		}
		if (length >= sizeof(part))
			return false;
		memcpy(part, from, length);
		part[length] = 0;
		number = function || (*part >= '0' && *part <= '9');
		if (first && !strcmp(part, "result")) {
			struct die_type result;

			die = *link->die;
			if (!die_type_of(units, &die, &result) ||
			    !die_type_target(units, &result, out) || out->kind == DIE_VOID)
				return false;
		} else if (first) {
			struct die_type class;

			if (function)
				die = *link->die;
			else if (die_type_class_of(units, link->die, &class))
				die = class.die;
			else
				return false;
			if (number ? !die_type_argument(units, &die, (unsigned)atoi(part), out)
				   : !die_type_typedef(units, &die, part, out))
				return false;
		} else {
			die = out->die;
			if (out->kind != DIE_CLASS ||
			    (number ? !die_type_argument(units, &die, (unsigned)atoi(part), out)
				    : !die_type_typedef(units, &die, part, out)))
				return false;
		}
		first = false;
	}
	return !first;
}

static bool is_rust(const char *path)
{
	return !strncmp(path, "alloc::", 7) || !strncmp(path, "hashbrown::", 11);
}

/* The same by the text. */
static bool resolve_text(struct container_link *link, const char *reference, size_t bytes,
			 char *out, size_t room)
{
	size_t used = 0;
	bool first = true;

	if (!link->parsed)
		return false;
	while (used < bytes) {
		bool function = first && reference[used] == 'f';
		unsigned index = 0;

		used += function;
		if (!function && !(reference[used] >= '0' && reference[used] <= '9'))
			return false;
		while (used < bytes && reference[used] >= '0' && reference[used] <= '9')
			index = (index * 10 + (unsigned)(reference[used++] - '0')) & 0xff;
		if (used < bytes && reference[used++] != '.')
			return false;
		if (!rule_argument(!first     ? out
				   : function ? link->parts.own
					      : link->parts.class,
				   index, out, room))
			return false;
		first = false;
	}
	/* older Rust names have the parameter in place of the argument: Vec<T,A> */
	return !first && !(isupper((unsigned char)*out) && !out[1] && is_rust(link->parts.path));
}

/* Evaluates one alternative of an element. False: it denotes no type. */
static bool evaluate_one(struct rule_work *work, struct container_link *link, const char *element,
			 size_t bytes, struct site_candidate *out)
{
	char text[ELEMENT_MAX], part[ELEMENT_MAX];
	size_t used = 0;

	if (bytes == 1 && *element == '-')
		return false;
	for (size_t i = 0; i < bytes; i++) {
		const char *name = NULL;
		size_t length = 0;

		if (element[i] != '{') {
			name = element + i;
			length = 1;
		} else {
			const char *from = element + i + 1;
			struct die_type type;

			while (i + 1 < bytes && element[++i] != '}')
				length++;
			if (link->die && resolve(work, link, from, length, &type)) {
				if (i + 1 == bytes && from == element + 1) { /* the reference is the
				                                              * whole element */
					if (type.kind == DIE_ARRAY &&
					    !die_type_target(work->reader->units, &type, &type))
						return false;
					rule_describe(work, &type, out);
					return out->type != NULL;
				}
				name = type.name;
			} else if (resolve_text(link, from, length, part, sizeof(part))) {
				name = part;
			}
			if (!name || !*name)
				return false;
			length = strlen(name);
		}
		if (used + length + 1 > sizeof(text))
			return false;
		memcpy(text + used, name, length);
		used += length;
	}
	/* a slice of Rust counts as its elements, too */
	if (used > 2 && *text == '[' && text[used - 1] == ']' && !memchr(text, ';', used)) {
		memmove(text, text + 1, used - 2);
		used -= 2;
	}
	/* an array counts as its elements, as above */
	while (used > 2 &&
	       (text[used - 1] == ' ' || (text[used - 2] == '[' && text[used - 1] == ']')))
		used -= text[used - 1] == ' ' ? 1 : 2;
	text[used] = 0;
	rule_describe_name(work, text, out);
	return out->type != NULL;
}

/* True if the condition "{3}=*_Select1st*" holds: the type in braces has such a name. `bytes`
 * excludes the "?". */
static bool holds(struct rule_work *work, struct container_link *link, const char *condition,
		  size_t bytes)
{
	const char *equal = memchr(condition, '=', bytes);
	struct site_candidate part = { 0 };
	char pattern[120];

	if (!equal || bytes - (size_t)(equal - condition) - 1 >= sizeof(pattern) ||
	    !evaluate_one(work, link, condition, (size_t)(equal - condition), &part))
		return false;
	snprintf(pattern, sizeof(pattern), "%.*s", (int)(bytes - (size_t)(equal - condition) - 1),
		 equal + 1);
	return glob_matches(pattern, part.type);
}

static bool evaluate(struct rule_work *work, struct container_link *link,
		     const struct container_rule *rule, struct site_candidate *out)
{
	const char *at = rule->element;

	while (at) {
		size_t length = strcspn(at, "|");
		const char *next = at[length] ? at + length + 1 : NULL, *behind;
		bool taken = true;

		while ((behind = memchr(at, '?', length)) != NULL) {
			taken = taken && holds(work, link, at, (size_t)(behind - at));
			length -= (size_t)(behind + 1 - at);
			at = behind + 1;
		}
		memset(out, 0, sizeof(*out));
		if (taken && evaluate_one(work, link, at, length, out))
			return true;
		at = next;
	}
	memset(out, 0, sizeof(*out));
	return false;
}

/* Fills a link from a scope, or from a symbol alone (`die` NULL). False: it has no name to look
 * up. */
static bool link_of(struct rule_work *work, Dwarf_Die *die, const char *demangled,
		    struct container_link *out)
{
	out->die = die;
	out->text = demangled;
	out->parsed = demangled && rule_path_of(demangled, &out->parts);
	out->path = die		  ? die_function_path(work->reader->units, die)
		    : out->parsed ? out->parts.path
				  : NULL;
	return out->path != NULL;
}

/* Returns the name of the container that a function belongs to: its class, or the name that a rule
 * gives it. An implementation's class leaves `inner` as it is. */
static const char *container_name(struct rule_work *work, struct container_link *link,
				  const char *inner)
{
	const struct container_rule *rule =
		container_rules_find_name(work->reader->rules, link->path);
	struct site_candidate named;
	struct die_type class;

	if (rule && evaluate(work, link, rule, &named))
		return named.type;
	if (rule && inner)
		return inner;
	if (link->die && die_type_class_of(work->reader->units, link->die, &class) && class.name &&
	    *class.name)
		return class.name;
	return link->parsed && *link->parts.class ? die_normalize(work->reader->names,
								  link->parts.class)
						  : inner;
}

/* State of the walk outwards through the chain. */
struct container_found {
	struct site_candidate allocator, container, maker;
	const struct container_rule *allocator_rule, *container_rule, *maker_rule;
	const char *name; /* of the container's class */
	bool shell;       /* a container without a known element was seen */
};

/* Adds one function. False: the chain ends before it. */
static bool take(struct rule_work *work, struct container_link *link, struct container_found *found)
{
	const struct container_rule *rule = container_rules_find(work->reader->rules, link->path);
	struct site_candidate candidate;
	bool typed;

	if (!rule || rule->what == CONTAINER_FUNCTION || (!link->die && rule_names_any(rule->path)))
		return false;
	if (rule->what == CONTAINER_THROUGH || rule->what == CONTAINER_WRAPPER)
		return !found->container_rule && !found->shell;
	typed = evaluate(work, link, rule, &candidate);
	evidence_say(work->evidence, 1, "%s is %s%s%s", link->path,
		     rule->what == CONTAINER_ALLOCATOR ? "an allocator"
		     : rule->what == CONTAINER_MAKER   ? "a maker"
						       : "a container",
		     typed ? " of " : "", typed ? candidate.type : "");
	switch (rule->what) {
	case CONTAINER_ALLOCATOR:
		if (found->container_rule || found->shell)
			return false;
		if (typed) {
			found->allocator = candidate;
			found->allocator_rule = rule;
		}
		return true;
	case CONTAINER_MAKER:
		if (!found->container_rule && !found->shell && !found->allocator_rule && typed) {
			found->maker = candidate;
			found->maker_rule = rule;
		}
		return false;
	default:
		break;
	}

	const char *name = container_name(work, link, found->name);

	if (!typed) {
		found->shell = true;
		found->name = name;
		return true;
	}

	const struct site_candidate *inner = found->container_rule   ? &found->container
					     : found->allocator_rule ? &found->allocator
								     : NULL;

	if (inner && inner->bytes && candidate.bytes && inner->bytes != candidate.bytes &&
	    rule->shape != CONTAINER_LOOSE) {
		if (found->container_rule || found->shell) {
			evidence_say(work->evidence, 2, "another size than %s: not its storage",
				     inner->type);
			return false; /* a container in another's code */
		}
		evidence_say(work->evidence, 2,
			     "%s has another size: something else of the container's", inner->type);
		found->shell = true;
		found->name = name;
		return true;
	}
	if (inner && inner->type != candidate.type)
		evidence_say(work->evidence, 2,
			     "it wins over %s: equal code of different types was folded",
			     inner->type);
	if (!candidate.bytes && inner)
		candidate.bytes = inner->bytes;
	found->container = candidate;
	found->container_rule = rule;
	found->name = name;
	return true;
}

/*
 * True if rustc may have merged the function with others. rustc merges functions with equal code,
 * and keeps one of them: the types of a generic function, and of all that was inlined into it, may
 * be those of another one of the same layout. Code inlined into a function that is not generic has
 * its own types.
 */
static bool is_merged(struct rule_work *work)
{
	struct die_type type;
	Dwarf_Die *function, unit;

	if (!work->scope_count)
		return false;
	function = &work->scopes[work->scope_count - 1].die;
	if (!dwarf_diecu(function, &unit, NULL, NULL) || dwarf_srclang(&unit) != DW_LANG_Rust)
		return false;
	return die_type_argument(work->reader->units, function, 0, &type) ||
	       (die_type_class_of(work->reader->units, function, &type) &&
		die_type_argument(work->reader->units, &type.die, 0, &type));
}

/* True if a rule for this very function tells its elements. */
static bool is_for_allocation(struct rule_work *work, struct container_link *link)
{
	const struct container_rule *rule = container_rules_find(work->reader->rules, link->path);

	return rule && rule->element && !rule_names_any(rule->path) &&
	       (rule->what == CONTAINER_ALLOCATOR || rule->what == CONTAINER_CONTAINER);
}

/* True if the allocator's type is a node by its name. */
static bool names_node(const char *type)
{
	const char *bracket = strchr(type, '<'), *node = strstr(type, "_node");

	return node && (!bracket || node < bracket) && type[strlen(type) - 1] != '*';
}

bool rule_container(struct rule_work *work)
{
	struct container_found found = { 0 };
	struct container_link link;
	bool folded = false, open = true;
	Dwarf_Die callee;

	/*
	 * A callee that jumps to the allocation function is the innermost function, although it has
	 * no frame. One that calls it, and was examined before, tells what it returns, so that the
	 * container's other functions are reached from it.
	 */
	if (work->callee.vaddr && !rule_is_entry(work->callee.symbol)) {
		const char *symbol = rule_symbol(work, work->callee.vaddr, &folded);
		bool known =
			work->reader->units &&
			debug_scopes_function_at(work->reader->units, work->callee.vaddr, &callee);

		if ((work->entry || known) &&
		    link_of(work, known ? &callee : NULL,
			    names_demangled(work->reader->names, symbol), &link) &&
		    (work->entry || is_for_allocation(work, &link)))
			open = take(work, &link, &found);
	} else if (work->callee.symbol && !work->callee.vaddr &&
		   !rule_is_entry(work->callee.symbol) &&
		   link_of(work, NULL, names_demangled(work->reader->names, work->callee.symbol),
			   &link)) {
		open = take(work, &link, &found); /* imported: std::string::_M_create */
	}
	for (size_t i = 0; open && i < work->scope_count; i++) {
		if (!link_of(work, &work->scopes[i].die,
			     work->scopes[i].bare ? NULL : work->scopes[i].name, &link))
			break;
		open = take(work, &link, &found);
	}
	if (open && work->symbol) {
		bool twins;

		rule_symbol(work, work->ret - 1, &twins);
		/* each known function is examined by itself */
		folded |= twins && !work->reader->fold && !work->out->folds;
		if (!work->scope_count &&
		    link_of(work, NULL, names_demangled(work->reader->names, work->symbol), &link))
			take(work, &link, &found);
	}

	struct site_candidate *best = found.container_rule   ? &found.container
				      : found.allocator_rule ? &found.allocator
							     : &found.maker;
	const struct container_rule *rule = found.container_rule   ? found.container_rule
					    : found.allocator_rule ? found.allocator_rule
								   : found.maker_rule;

	if (!rule)
		return false;
	folded |= is_merged(work);
	best->rule = SYM_RULE_ALLOCATOR;
	best->header = rule->header;
	best->container = found.container_rule || found.shell ? found.name : NULL;
	best->array = rule->shape == CONTAINER_MANY || rule->shape == CONTAINER_LOOSE ||
		      (rule == found.maker_rule && work->makes_array);
	best->form = rule->shape == CONTAINER_NODE ? SYM_FORM_NODE
		     : best->container		   ? SYM_FORM_BUFFER
						   : SYM_FORM_OBJECT;
	best->flags |=
		(folded ? 0 : SITE_CERTAIN) | (rule->shape == CONTAINER_LOOSE ? SITE_LOOSE : 0);
	if (folded)
		evidence_say(
			work->evidence, 1,
			"the function's code serves several types: any of theirs may be meant");
	if (found.shell && rule == found.allocator_rule && names_node(best->type))
		best->form = SYM_FORM_NODE;
	rule_add(work, best);
	return work->out->count != 0;
}
