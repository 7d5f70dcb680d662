/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_choose.c: see site_choose.h.
 *
 * A candidate that doesn't fit is dropped: an object has its class's size; elements divide it,
 * after their header; for malloc and new[] a variable's type may be repeated, or end in an array.
 * Among the others:
 * - an allocator, a library function or the compiler has the last word;
 * - the type of a constructor, vtable or variable replaces another one that it begins with, because
 *   that is its base or first member;
 * - two unrelated constructors contradict each other, unless one of them is certain and the other
 *   isn't: on different arms of a branch, or with equal code, the block is of either type; in one
 *   line there is no answer;
 * - a constructor and a variable that agree confirm each other; if they don't, the constructor
 *   counts with low confidence, unless it is only in the same line.
 */
#include "site_choose.h"

#include <inttypes.h>
#include <string.h>

#include "../dwarf/die_normalize.h"
#include "evidence.h"
#include "site_fit.h"
#include "site_fold.h"

struct choice {
	const struct sym_sizes *sizes;
	enum api_family family;
	struct names *names;
	struct sym_evidence *evidence;
};

/* True if `whole` begins with `part`. */
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

/* True if another fitting candidate says more than this one. */
static bool replaced(const struct site_answer *answer, const enum choose_fit *fits, size_t index)
{
	const struct site_candidate *one = &answer->candidates[index];

	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *other = &answer->candidates[i];

		if (i == index || !fits[i] || !other->type || other->type == one->type)
			continue;
		/* `one` is the vtable of the class that `other` constructs, under its symbol's name
		 * for a lambda */
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

/* True if another of a union's pointers fits as well. */
static bool union_is_open(const struct site_answer *answer, const enum choose_fit *fits,
			  size_t index)
{
	for (size_t i = 0; answer->candidates[index].flags & SITE_UNION && i < answer->count; i++)
		if (fits[i] && answer->candidates[i].flags & SITE_UNION &&
		    answer->candidates[i].type != answer->candidates[index].type)
			return true;
	return false;
}

/* Returns the index of the constructor or vtable to believe; -1: none; -2: they contradict each
 * other. */
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

/* True if it is no number or pointer, which may be elements of anything. */
static bool is_layout(const struct site_candidate *candidate)
{
	return candidate->rule == SYM_RULE_VARIABLE && candidate->bytes > 8 &&
	       !(candidate->flags & SITE_PARAMETER);
}

/* True if the pointer is also that of something larger. Then several types begin with this one, and
 * the block is no array of it: an interpreter's object, which one function allocates for all of
 * them. */
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

/* Returns the index of the variable to believe; -1: none. */
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
		/* a buffer's bytes yield to a better type */
		if (best < 0 || (answer->candidates[best].bytes == 1 && candidate->bytes > 1))
			best = (int)i;
	}
	return best;
}

/* Returns the constructor that a variable confirms, of several that contradict each other in one
 * line, `shared_ptr<T>(new T)` for instance, or share their code; -1: none. No constructor is
 * confirmed on different arms of a branch. */
static int choose_confirmed(const struct site_answer *answer, const enum choose_fit *fits,
			    int variable)
{
	int best = -1;

	for (size_t i = 0; variable >= 0 && i < answer->count; i++) {
		const struct site_candidate *candidate = &answer->candidates[i];

		if (!fits[i] || !made(candidate) || replaced(answer, fits, i))
			continue;
		if (candidate->type != answer->candidates[variable].type) {
			if (!(candidate->flags & (SITE_LINE | SITE_FOLDED)))
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

/* Sets `out` to all classes whose constructors contradict each other, if each may be the block's:
 * they are on different arms of a branch, or share their code. */
static bool give_made(const struct choice *choice, const struct site_answer *answer,
		      const enum choose_fit *fits, size_t climbed, struct sym_type *out)
{
	const struct site_candidate *made_here[SITE_CANDIDATES];
	const char *types[SITE_CANDIDATES];
	bool certain = false;
	size_t count = 0;

	for (size_t i = 0; i < answer->count; i++)
		certain |= fits[i] && made(&answer->candidates[i]) &&
			   answer->candidates[i].flags & SITE_CERTAIN;
	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *candidate = &answer->candidates[i];

		if (!fits[i] || !made(candidate) || replaced(answer, fits, i) ||
		    (certain && !(candidate->flags & SITE_CERTAIN)))
			continue;
		if (candidate->flags & SITE_LINE ||
		    (candidate->flags & (SITE_CERTAIN | SITE_FOLDED)) == SITE_CERTAIN)
			return false;
		made_here[count] = candidate;
		types[count++] = candidate->type;
		if (count == 1)
			give(candidate, fits[i], SYM_MEDIUM, climbed, out);
	}
	for (size_t i = 0; i < count; i++) {
		if (made_here[i]->bytes != out->bytes)
			out->bytes = 0;
		out->or_derived |= made_here[i]->or_derived;
	}
	if (count < 2)
		return false;
	out->type = site_fold_text(choice->names, types, count, 0);
	out->one_of = true;
	out->leading_count = 0;
	return true;
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
				       : SYM_MEDIUM; /* the loop over an array may run zero times */
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

static enum choose_fit fit_one(const struct choice *choice, const struct site_candidate *candidate,
			       bool functions_only)
{
	bool asked = candidate->type && (!functions_only || candidate->rule == SYM_RULE_FUNCTION ||
					 candidate->rule == SYM_RULE_THROWN);
	enum choose_fit fit = asked ? site_fit(choice->sizes, choice->family, candidate) : FIT_NOT;

	evidence_say(choice->evidence, 1, "candidate %s by %s, %" PRIu64 " bytes%s: %s",
		     candidate->type ? candidate->type : "?", sym_rule_name(candidate->rule),
		     candidate->bytes,
		     candidate->header && !candidate->trailing ? " behind a header" : "",
		     fit ? fit == FIT_ONE ? "fits" : "fits, repeated" : "doesn't fit");
	return fit;
}

/* False: no candidate of this answer fits. */
static bool choose_one(const struct choice *choice, const struct site_answer *answer,
		       size_t climbed, bool functions_only, struct sym_type *out)
{
	enum choose_fit fits[SITE_CANDIDATES];
	int best = -1, variable;
	bool agreed = false, contradicted = false;

	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *candidate = &answer->candidates[i];

		fits[i] = fit_one(choice, candidate, functions_only);
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
			if (give_made(choice, answer, fits, climbed, out)) {
				evidence_say(choice->evidence, 1,
					     "several classes are made here: it is one of them");
				return true;
			}
			evidence_say(choice->evidence, 1,
				     "several classes are made here: none is believed");
			*out = (struct sym_type){ .rule = SYM_RULE_NONE };
			if (variable < 0 || !answer->candidates[variable].or_derived)
				return false;
			best = variable; /* the base class of all */
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

/* Finds the container in the functions that call the allocator, if they weren't inlined. */
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

/* Lets the caller decide about a function that returns a class's pointer to blocks of another size.
 * If the caller uses that class, they are an array of it; if it uses another class, one object of
 * that. Else several types may begin so: no type is given. */
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

/* True if the answer has a label, and all sizes agree with it. */
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
		 const struct sym_sizes *sizes, struct names *names, struct sym_type *out,
		 struct sym_evidence *evidence)
{
	struct choice choice = { .sizes = sizes, .names = names, .evidence = evidence };
	bool functions_only = false, guessed = false;

	*out = (struct sym_type){ .rule = SYM_RULE_NONE };
	if (sizes->step)
		evidence_say(evidence, 1, "sizes %" PRIu64 " to %" PRIu64 ", %" PRIu64 " apart",
			     sizes->min, sizes->max, sizes->step);
	else
		evidence_say(evidence, 1, "size %" PRIu64, sizes->min);
	for (size_t i = 0; i < count; i++) {
		choice.family = site_fit_family(api, answers[i]->callee);
		choose_one(&choice, answers[i], i, functions_only, out);
		if (answers[i]->returned && i + 1 < count)
			ask_caller(&choice, answers[i + 1], i + 1, out);
		/* what makes a node also calls its object's constructor, which may allocate */
		if (guessed && out->type && out->rule == SYM_RULE_ALLOCATOR && !out->bytes &&
		    out->confidence > SYM_MEDIUM)
			out->confidence = SYM_MEDIUM;
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
		guessed |= answers[i]->guessed;
	}
	for (size_t i = 0; i < count && !out->type; i++)
		if (label_fits(answers[i], i, sizes)) {
			*out = (struct sym_type){ .type = answers[i]->label,
						  .confidence = SYM_LABEL };
			evidence_say(evidence, 1, "no type fits: %s", out->type);
		}
}
