/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_choose.c: see site_choose.h.
 *
 * A candidate that doesn't fit is dropped: an object has its class's size; elements divide it,
 * behind their header; for malloc and new[] a variable's type may be repeated, or end in an array.
 * Among the others:
 *   - an allocator, a library function or the compiler has the last word;
 *   - a constructor's, vtable's or variable's type replaces another one that it begins with,
 *     because that is its base or first member;
 *   - two unrelated constructors contradict each other and give no answer, unless one of them is
 *     certain and the other isn't;
 *   - a constructor and a variable that agree confirm each other; if they don't, the constructor
 *     counts with low confidence, unless it only stands in the same line.
 */
#include "site_choose.h"

#include <inttypes.h>
#include <string.h>

#include "../dwarf/die_normalize.h"
#include "evidence.h"

enum api_family { FAMILY_NEW, FAMILY_ARRAY, FAMILY_C };

/* How a candidate fits. */
enum choose_fit { FIT_NOT, FIT_ONE, FIT_MANY };

struct choice {
	const struct sym_sizes *sizes;
	enum api_family family;
	struct sym_evidence *evidence;
};

static enum api_family family_of(unsigned api, const char *callee)
{
	static const char families[] = {
#define SHINY_API(NAME, SPELLING, FAMILY) SHINY_FAMILY_##FAMILY,
#define SHINY_FAMILY_C FAMILY_C
#define SHINY_FAMILY_SCALAR FAMILY_NEW
#define SHINY_FAMILY_ARRAY FAMILY_ARRAY
#define SHINY_FAMILY_ANY FAMILY_C
#include <shiny/wire/api.def>
#undef SHINY_API
	};

	/* a class's own operator new, over malloc */
	if (callee && strstr(callee, "operator new["))
		return FAMILY_ARRAY;
	if (callee && strstr(callee, "operator new("))
		return FAMILY_NEW;
	return api < sizeof(families) ? (enum api_family)families[api] : FAMILY_C;
}

static bool repeated(const struct sym_sizes *sizes, uint64_t header, uint64_t bytes)
{
	return sizes->min >= header && (sizes->min - header) % bytes == 0 &&
	       sizes->step % bytes == 0;
}

/* All blocks are as large as one object behind its header. */
static bool is_one(const struct sym_sizes *sizes, const struct site_candidate *candidate)
{
	return sizes->min == sizes->max && sizes->min == candidate->header + candidate->bytes;
}

static enum choose_fit fit_of_alloc_type(const struct choice *choice,
					 const struct site_candidate *candidate)
{
	if (!candidate->bytes || is_one(choice->sizes, candidate))
		return FIT_ONE;
	return choice->family != FAMILY_NEW && (repeated(choice->sizes, 0, candidate->bytes) ||
						repeated(choice->sizes, 8, candidate->bytes))
		       ? FIT_MANY
		       : FIT_NOT;
}

static enum choose_fit fit_of_allocator(const struct choice *choice,
					const struct site_candidate *candidate)
{
	bool one = is_one(choice->sizes, candidate);

	if (candidate->flags & SITE_LOOSE)
		return FIT_MANY;
	if (!candidate->bytes)
		return candidate->array ? FIT_MANY : FIT_ONE;
	if (!candidate->array)
		return one ? FIT_ONE : FIT_NOT;
	/* std::make_unique<T[]> is new T[n] */
	if (choice->family == FAMILY_ARRAY && !candidate->container && choice->sizes->min > 8 &&
	    repeated(choice->sizes, 8, candidate->bytes))
		return FIT_MANY;
	if (!repeated(choice->sizes, candidate->header, candidate->bytes))
		return FIT_NOT;
	return one && candidate->form == SYM_FORM_OBJECT ? FIT_ONE : FIT_MANY;
}

/* Of new[]: the constructor may be that of each element. */
static enum choose_fit fit_of_elements(const struct sym_sizes *sizes,
				       const struct site_candidate *candidate)
{
	uint64_t bytes = candidate->bytes;

	if (candidate->flags & SITE_SYMBOL && (!bytes || !candidate->header))
		return FIT_NOT; /* one object at the start of a buffer is as likely */
	if (!bytes)
		return FIT_MANY;
	if (candidate->header)
		return repeated(sizes, candidate->header, bytes) ? FIT_MANY : FIT_NOT;
	/* where an inlined constructor's `this` points isn't known. The cookie is as large as the
	 * alignment, at least 8 */
	for (uint64_t cookie = 8; cookie <= 64; cookie *= 2)
		if ((cookie == 8 || bytes % cookie == 0) && sizes->min > cookie &&
		    repeated(sizes, cookie, bytes))
			return FIT_MANY;
	return repeated(sizes, 0, bytes) ? FIT_MANY : FIT_NOT;
}

static enum choose_fit fit_of_constructor(const struct choice *choice,
					  const struct site_candidate *candidate)
{
	const struct sym_sizes *sizes = choice->sizes;

	if (choice->family == FAMILY_ARRAY)
		return fit_of_elements(sizes, candidate);
	if (candidate->header)
		return FIT_NOT; /* a member's */
	return sizes->min == sizes->max && (!candidate->bytes || sizes->min == candidate->bytes)
		       ? FIT_ONE
		       : FIT_NOT;
}

/* A variable's header is in front of its trailing array. */
static enum choose_fit fit_of_variable(const struct choice *choice,
				       const struct site_candidate *candidate)
{
	const struct sym_sizes *sizes = choice->sizes;
	uint64_t bytes = candidate->bytes;
	bool constant = sizes->min == sizes->max, equal = constant && sizes->min == bytes;

	if (candidate->flags & SITE_LEAST)
		return sizes->min >= bytes ? FIT_ONE : FIT_NOT;
	if (!bytes)
		return FIT_NOT;
	if (candidate->flags & SITE_DESCRIPTOR &&
	    (candidate->header ? sizes->min >= candidate->header : sizes->min == 1))
		return FIT_MANY;
	if (choice->family == FAMILY_NEW) {
		if (constant)
			return equal ? FIT_ONE : FIT_NOT;
		/* operator new of any size, called as a function */
		return bytes > 1 && !(candidate->flags & (SITE_POLYMORPHIC | SITE_PARAMETER)) &&
				       repeated(sizes, 0, bytes)
			       ? FIT_MANY
			       : FIT_NOT;
	}
	if (candidate->flags & SITE_PARAMETER)
		return choice->family == FAMILY_C && equal ? FIT_ONE : FIT_NOT;
	if (choice->family == FAMILY_ARRAY)
		return repeated(sizes, 0, bytes) ||
				       (sizes->min > 8 && bytes > 1 && repeated(sizes, 8, bytes))
			       ? FIT_MANY
			       : FIT_NOT;
	if ((equal && bytes > 1) || (candidate->trailing && sizes->min > candidate->header))
		return FIT_ONE;
	return repeated(sizes, 0, bytes) && !(candidate->flags & SITE_POLYMORPHIC) && sizes->min
		       ? FIT_MANY
		       : FIT_NOT;
}

/* The whole may be rounded up to 16. */
static enum choose_fit fit_of_thrown(const struct sym_sizes *sizes,
				     const struct site_candidate *candidate)
{
	uint64_t whole = candidate->header + candidate->bytes, most = (whole + 15) & ~(uint64_t)15;

	if (sizes->min != sizes->max || sizes->min < whole)
		return FIT_NOT;
	return !candidate->bytes || sizes->min <= most ? FIT_ONE : FIT_NOT;
}

static enum choose_fit fit_of(const struct choice *choice, const struct site_candidate *candidate)
{
	switch (candidate->rule) {
	case SYM_RULE_ALLOC_TYPE: return fit_of_alloc_type(choice, candidate);
	case SYM_RULE_FUNCTION: return FIT_MANY;
	case SYM_RULE_ALLOCATOR: return fit_of_allocator(choice, candidate);
	case SYM_RULE_CONSTRUCTOR:
	case SYM_RULE_STORE: return fit_of_constructor(choice, candidate);
	case SYM_RULE_VARIABLE: return fit_of_variable(choice, candidate);
	case SYM_RULE_THROWN: return fit_of_thrown(choice->sizes, candidate);
	default: return FIT_NOT;
	}
}

/* Does `whole` begin with `part`? */
static bool begins_with(const struct site_candidate *whole, const struct site_candidate *part)
{
	for (size_t i = 0; i < SITE_LEADING && whole->leading[i]; i++)
		if (!strcmp(whole->leading[i], part->type))
			return true;
	return false;
}

static bool made(const struct site_candidate *candidate)
{
	return candidate->rule == SYM_RULE_CONSTRUCTOR || candidate->rule == SYM_RULE_STORE;
}

/* Is it one that another fitting candidate says more about? */
static bool replaced(const struct site_answer *answer, const enum choose_fit *fits, size_t index)
{
	const struct site_candidate *one = &answer->candidates[index];

	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *other = &answer->candidates[i];

		if (i == index || !fits[i] || !other->type || other->type == one->type)
			continue;
		/* the vtable of the class whose constructor this is, under the name that the symbol
		 * gives its lambda */
		if (one->rule == SYM_RULE_STORE && other->rule == SYM_RULE_CONSTRUCTOR &&
		    !(other->flags & SITE_SYMBOL) && (!one->bytes || one->bytes == other->bytes) &&
		    die_normalize_alike(one->type, other->type))
			return true;
		if ((made(other) || other->rule == SYM_RULE_VARIABLE) && begins_with(other, one) &&
		    !begins_with(one, other) &&
		    (!one->bytes || !other->bytes || other->bytes >= one->bytes))
			return true;
	}
	return false;
}

/* Does another of a union's pointers fit as well? */
static bool union_is_open(const struct site_answer *answer, const enum choose_fit *fits,
			  size_t index)
{
	for (size_t i = 0; answer->candidates[index].flags & SITE_UNION && i < answer->count; i++)
		if (fits[i] && answer->candidates[i].flags & SITE_UNION &&
		    answer->candidates[i].type != answer->candidates[index].type)
			return true;
	return false;
}

/* The index of the constructor or vtable to believe; -1: none; -2: they contradict each other. */
static int choose_made(const struct site_answer *answer, const enum choose_fit *fits)
{
	int best = -1;
	bool contradiction = false;

	/* in the order of trust: certain and not by the line alone, certain, the others */
	for (unsigned round = 0; round < 3 && best < 0; round++)
		for (size_t i = 0; i < answer->count; i++) {
			const struct site_candidate *candidate = &answer->candidates[i];
			bool certain = candidate->flags & SITE_CERTAIN,
			     line = candidate->flags & SITE_LINE;

			if (!fits[i] || !made(candidate) || replaced(answer, fits, i))
				continue;
			if (round == 0 ? !certain || line : round == 1 ? !certain : false)
				continue;
			if (best < 0)
				best = (int)i;
			else if (answer->candidates[best].type != candidate->type)
				contradiction = true;
		}
	return contradiction ? -2 : best;
}

/* Not a number or a pointer, which may be elements of anything. */
static bool is_layout(const struct site_candidate *candidate)
{
	return candidate->rule == SYM_RULE_VARIABLE && candidate->bytes > 8 &&
	       !(candidate->flags & SITE_PARAMETER);
}

/* Is the pointer also that of something larger? Then this is what several types begin with, and the
 * block is no array of it: an interpreter's object, made by one function for all of them. */
static bool is_beginning(const struct site_answer *answer, const enum choose_fit *fits,
			 size_t index)
{
	const struct site_candidate *one = &answer->candidates[index];

	if (fits[index] != FIT_MANY || !is_layout(one))
		return false;
	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *other = &answer->candidates[i];

		if (is_layout(other) && other->type != one->type && other->bytes > one->bytes)
			return true;
	}
	return false;
}

/* The variable to believe; -1 none. */
static int choose_variable(const struct site_answer *answer, const enum choose_fit *fits,
			   bool parameters)
{
	int best = -1;

	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *candidate = &answer->candidates[i];

		if (!fits[i] || candidate->rule != SYM_RULE_VARIABLE || replaced(answer, fits, i) ||
		    union_is_open(answer, fits, i) || is_beginning(answer, fits, i) ||
		    (!parameters && candidate->flags & SITE_PARAMETER))
			continue;
		/* bytes are what a buffer is taken for on the way to something better */
		if (best < 0 || (answer->candidates[best].bytes == 1 && candidate->bytes > 1))
			best = (int)i;
	}
	return best;
}

/* Of constructors in one line that contradict each other, `shared_ptr<T>(new T)` for instance, the
 * one that a variable confirms; -1 none. On different arms of a branch none is. */
static int choose_confirmed(const struct site_answer *answer, const enum choose_fit *fits,
			    int variable)
{
	int best = -1;

	for (size_t i = 0; variable >= 0 && i < answer->count; i++) {
		const struct site_candidate *candidate = &answer->candidates[i];

		if (!fits[i] || !made(candidate) || replaced(answer, fits, i))
			continue;
		if (candidate->type != answer->candidates[variable].type) {
			if (!(candidate->flags & SITE_LINE))
				return -1;
		} else if (best < 0 && candidate->rule == SYM_RULE_CONSTRUCTOR &&
			   candidate->flags & SITE_CERTAIN) {
			best = (int)i;
		}
	}
	return best;
}

static void give(const struct site_candidate *candidate, enum choose_fit fit,
		 enum sym_confidence confidence, size_t climbed, struct sym_type *out)
{
	*out = (struct sym_type){ .type = candidate->type,
				  .container = candidate->container,
				  .bytes = candidate->bytes,
				  .rule = candidate->rule,
				  .form = candidate->form,
				  .confidence = confidence,
				  .or_derived = candidate->or_derived,
				  .climbed = (unsigned)climbed,
				  .leading = candidate->leading };
	while (out->leading_count < SITE_LEADING && candidate->leading[out->leading_count])
		out->leading_count++;
	if (fit == FIT_MANY && out->form == SYM_FORM_OBJECT)
		out->form = SYM_FORM_ARRAY;
}

static enum sym_confidence trust(const struct site_candidate *candidate, enum choose_fit fit,
				 bool agreed, bool contradicted)
{
	bool certain = candidate->flags & SITE_CERTAIN;

	if (candidate->flags & SITE_SYMBOL)
		return SYM_MEDIUM;
	switch (candidate->rule) {
	case SYM_RULE_ALLOC_TYPE: return SYM_EXACT;
	case SYM_RULE_ALLOCATOR:
		return !certain						      ? SYM_MEDIUM
		       : candidate->bytes && !(candidate->flags & SITE_LOOSE) ? SYM_EXACT
									      : SYM_HIGH;
	case SYM_RULE_CONSTRUCTOR:
		if (contradicted || !candidate->bytes)
			return SYM_MEDIUM;
		if (agreed)
			return certain ? SYM_EXACT : SYM_HIGH;
		if (!certain)
			return fit == FIT_MANY && candidate->header
				       ? SYM_HIGH
				       : SYM_MEDIUM; /* the loop over an array may run no times */
		/* without a cookie it may be one object at the start of a buffer of bytes */
		if (fit == FIT_MANY)
			return candidate->header ? SYM_HIGH : SYM_MEDIUM;
		return candidate->flags & SITE_LINE ? SYM_HIGH : SYM_EXACT;
	case SYM_RULE_STORE:
		if (fit == FIT_MANY && !candidate->header && !agreed)
			return SYM_MEDIUM;
		return !contradicted && candidate->bytes && (certain || agreed) ? SYM_HIGH
										: SYM_MEDIUM;
	case SYM_RULE_THROWN: return certain && candidate->bytes ? SYM_EXACT : SYM_HIGH;
	case SYM_RULE_FUNCTION: return SYM_HIGH;
	default:
		return candidate->or_derived || candidate->flags & SITE_UNION ? SYM_LOW
									      : SYM_MEDIUM;
	}
}

/* False: nothing in this answer fits. */
static bool choose_one(const struct choice *choice, const struct site_answer *answer,
		       size_t climbed, bool functions_only, struct sym_type *out)
{
	enum choose_fit fits[SITE_CANDIDATES];
	int best = -1, variable;
	bool agreed = false, contradicted = false;

	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *candidate = &answer->candidates[i];

		fits[i] =
			candidate->type &&
					(!functions_only || candidate->rule == SYM_RULE_FUNCTION ||
					 candidate->rule == SYM_RULE_THROWN)
				? fit_of(choice, candidate)
				: FIT_NOT;
		evidence_say(choice->evidence, 1, "candidate %s by %s, %" PRIu64 " bytes%s: %s",
			     candidate->type ? candidate->type : "?",
			     sym_rule_name(candidate->rule), candidate->bytes,
			     candidate->header && !candidate->trailing ? " behind a header" : "",
			     fits[i] ? fits[i] == FIT_ONE ? "fits" : "fits, repeated"
				     : "doesn't fit");
		if (fits[i] && best < 0 && !made(candidate) && candidate->rule != SYM_RULE_VARIABLE)
			best = (int)i;
	}
	if (best < 0) {
		best = choose_made(answer, fits);
		variable = choose_variable(answer, fits, best < 0);
		if (best == -2) {
			int confirmed = choose_confirmed(answer, fits,
							 choose_variable(answer, fits, false));

			if (confirmed >= 0) {
				evidence_say(choice->evidence, 1,
					     "several classes are made here, and a variable is of "
					     "this one");
				give(&answer->candidates[confirmed], fits[confirmed], SYM_HIGH,
				     climbed, out);
				return true;
			}
			evidence_say(choice->evidence, 1,
				     "several classes are made here: none is believed");
			if (variable < 0 || !answer->candidates[variable].or_derived)
				return false;
			best = variable; /* the base class of them all */
		} else if (best < 0) {
			best = variable;
		} else if (variable >= 0) {
			const struct site_candidate *one = &answer->candidates[best],
						    *other = &answer->candidates[variable];

			agreed = one->type == other->type || begins_with(one, other);
			contradicted = !agreed && other->bytes > 1 && one->bytes == other->bytes;
			if (!agreed && other->bytes == 1 && fits[best] == FIT_MANY && !one->header)
				best = variable; /* an object at the start of a buffer of bytes */
			if (contradicted && one->flags & SITE_LINE) {
				evidence_say(choice->evidence, 1,
					     "the constructor in the line is of something else: a "
					     "variable of this size takes the pointer");
				best = variable;
				contradicted = false;
			}
		}
	}
	if (best < 0)
		return false;
	give(&answer->candidates[best], fits[best],
	     trust(&answer->candidates[best], fits[best], agreed, contradicted), climbed, out);
	if (agreed)
		evidence_say(choice->evidence, 1, "a variable of this type confirms it");
	if (contradicted)
		evidence_say(choice->evidence, 1,
			     "a variable of another type of this size says otherwise");
	return true;
}

/* Where nothing is inlined, the functions that call the allocator say what container it is for. */
static void find_container(const struct site_answer *const *answers, size_t count, size_t from,
			   struct sym_type *out)
{
	for (size_t i = from; i < count && answers[i - 1]->climbs; i++) {
		const struct site_candidate *candidate = &answers[i]->candidates[0];

		if (!answers[i]->count || candidate->rule != SYM_RULE_ALLOCATOR ||
		    candidate->type != out->type)
			return;
		if (candidate->container) {
			out->container = candidate->container;
			if (candidate->form != SYM_FORM_OBJECT)
				out->form = candidate->form;
		}
	}
}

/* A function that returns a class's pointer, to blocks that are no such object. Its caller decides:
 * they are an array of it where the caller takes them for that class, and where the caller takes
 * them for another one, one of these. Else several types may begin so. */
static void ask_caller(const struct choice *choice, const struct site_answer *caller,
		       size_t climbed, struct sym_type *out)
{
	struct sym_type other = { .type = NULL };

	if (out->type && (out->rule != SYM_RULE_VARIABLE || out->form != SYM_FORM_ARRAY ||
			  out->bytes <= 8))
		return;
	if (choose_one(choice, caller, climbed, false, &other) &&
	    other.form == SYM_FORM_OBJECT && other.bytes > 8) {
		*out = other;
		return;
	}
	for (size_t i = 0; i < caller->count; i++)
		if (caller->candidates[i].type == out->type)
			return;
	if (out->type) {
		*out = (struct sym_type){ .rule = SYM_RULE_NONE };
		evidence_say(choice->evidence, 1, "the caller does not take it for an array of it");
	}
}

/* Does it have a label, and do all sizes agree with it? */
static bool label_fits(const struct site_answer *answer, size_t climbed,
		       const struct sym_sizes *sizes)
{
	uint64_t unit = answer->label_unit ? answer->label_unit : 1;

	if (!answer->label || (answer->label_inner && climbed))
		return false;
	return answer->label_once ? sizes->min == unit && sizes->max == unit
				  : sizes->min % unit == 0 && sizes->step % unit == 0;
}

void site_choose(const struct site_answer *const *answers, size_t count, unsigned api,
		 const struct sym_sizes *sizes, struct sym_type *out, struct sym_evidence *evidence)
{
	struct choice choice = { .sizes = sizes, .evidence = evidence };
	bool functions_only = false;

	*out = (struct sym_type){ .rule = SYM_RULE_NONE };
	if (sizes->step)
		evidence_say(evidence, 1, "sizes %" PRIu64 " to %" PRIu64 ", %" PRIu64 " apart",
			     sizes->min, sizes->max, sizes->step);
	else
		evidence_say(evidence, 1, "size %" PRIu64, sizes->min);
	for (size_t i = 0; i < count; i++) {
		choice.family = family_of(api, answers[i]->callee);
		choose_one(&choice, answers[i], i, functions_only, out);
		if (answers[i]->returned && i + 1 < count)
			ask_caller(&choice, answers[i + 1], i + 1, out);
		if (out->type) {
			if (out->rule == SYM_RULE_ALLOCATOR)
				find_container(answers, count, i + 1, out);
			evidence_say(evidence, 1, "answer: %s%s%s, %s, by %s", out->type,
				     out->container ? " of " : "",
				     out->container ? out->container : "",
				     sym_confidence_name(out->confidence),
				     sym_rule_name(out->rule));
			return;
		}
		if (!answers[i]->climbs)
			break;
		functions_only |= answers[i]->opaque;
	}
	for (size_t i = 0; i < count && !out->type; i++)
		if (label_fits(answers[i], i, sizes)) {
			*out = (struct sym_type){ .type = answers[i]->label,
						  .confidence = SYM_LABEL };
			evidence_say(evidence, 1, "no type fits: %s", out->type);
		}
}
