/* SPDX-License-Identifier: Apache-2.0 */
/* site_fit.c: see site_fit.h. */
#include "site_fit.h"

#include <string.h>

struct fit_question {
	const struct sym_sizes *sizes;
	enum api_family family;
};

enum api_family site_fit_family(unsigned api, const char *callee)
{
	static const char families[] = {
#define SHINY_API(NAME, SPELLING, FAMILY) SHINY_FAMILY_##FAMILY,
#define SHINY_FAMILY_C FAMILY_C
#define SHINY_FAMILY_SCALAR FAMILY_NEW
#define SHINY_FAMILY_ARRAY FAMILY_ARRAY
#define SHINY_FAMILY_ANY FAMILY_C
#define SHINY_FAMILY_POOL FAMILY_C
#include <shiny/wire/api.def>
#undef SHINY_API
	};

	/* a class's own operator new that calls malloc */
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

/* True if all blocks have the size of one object with its header. */
static bool is_one(const struct sym_sizes *sizes, const struct site_candidate *candidate)
{
	return sizes->min == sizes->max && sizes->min == candidate->header + candidate->bytes;
}

static enum choose_fit fit_of_alloc_type(const struct fit_question *choice,
					 const struct site_candidate *candidate)
{
	if (!candidate->bytes || is_one(choice->sizes, candidate))
		return FIT_ONE;
	return choice->family != FAMILY_NEW && (repeated(choice->sizes, 0, candidate->bytes) ||
						repeated(choice->sizes, 8, candidate->bytes))
		       ? FIT_MANY
		       : FIT_NOT;
}

static enum choose_fit fit_of_allocator(const struct fit_question *choice,
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

/* Fits elements of new[]: the constructor may be each element's. */
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
	/* an inlined constructor's `this` is unknown. The cookie is as large as the alignment, at
	 * least 8 */
	for (uint64_t cookie = 8; cookie <= 64; cookie *= 2)
		if ((cookie == 8 || bytes % cookie == 0) && sizes->min > cookie &&
		    repeated(sizes, cookie, bytes))
			return FIT_MANY;
	return repeated(sizes, 0, bytes) ? FIT_MANY : FIT_NOT;
}

static enum choose_fit fit_of_constructor(const struct fit_question *choice,
					  const struct site_candidate *candidate)
{
	const struct sym_sizes *sizes = choice->sizes;

	if (choice->family == FAMILY_ARRAY)
		return fit_of_elements(sizes, candidate);
	if (candidate->header)
		return FIT_NOT; /* a member's constructor */
	return sizes->min == sizes->max && (!candidate->bytes || sizes->min == candidate->bytes)
		       ? FIT_ONE
		       : FIT_NOT;
}

/* Fits a variable. Its header is the part before its trailing array. */
static enum choose_fit fit_of_variable(const struct fit_question *choice,
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
		/* a call of operator new as a function, with any size */
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

/* Fits a thrown object; header and object may be rounded up to 16. */
static enum choose_fit fit_of_thrown(const struct sym_sizes *sizes,
				     const struct site_candidate *candidate)
{
	uint64_t whole = candidate->header + candidate->bytes, most = (whole + 15) & ~(uint64_t)15;

	if (sizes->min != sizes->max || sizes->min < whole)
		return FIT_NOT;
	return !candidate->bytes || sizes->min <= most ? FIT_ONE : FIT_NOT;
}

enum choose_fit site_fit(const struct sym_sizes *sizes, enum api_family family,
			 const struct site_candidate *candidate)
{
	const struct fit_question question = { sizes, family }, *choice = &question;

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
