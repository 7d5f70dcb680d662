/* SPDX-License-Identifier: Apache-2.0 */
/* owners.c: see owners.h. */
#define _GNU_SOURCE
#include "owners.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/glob.h"
#include "../../base/text.h"
#include "../../store/event_names.h"

enum fact {
	FACT_OWN,
	FACT_NAME,
	FACT_FILE,
	FACT_THREAD,
	FACT_TLS,
	FACT_BLOCKS,
	FACT_HEAP,
	FACT_CALLER,
	FACT_FUNCTION,
	FACT_MODULE,
	FACT_ALIGNED,
	FACT_CALL,
	FACT_ANY
};

static const struct {
	const char *owner, *detail, *pattern;
	enum fact fact;
	uint64_t least, most;
} rules[] = {
#define SHINY_OWNER(owner, detail, fact, pattern, least, most) \
	{ #owner, detail, pattern, FACT_##fact, least, most },
#include "owners.def"
#undef SHINY_OWNER
};
/* An owner's number is its row here; behind the rows, the number of a heap beside malloc. */
enum { RULES = sizeof(rules) / sizeof(*rules) };

/* Matches names of anonymous memory as the kernel shows them, "[anon:NAME]", and as the program set
 * them. */
static bool name_matches(const char *pattern, const char *name)
{
	char inner[128];
	size_t length = strlen(name);

	if (glob_matches(pattern, name))
		return true;
	if (strncmp(name, "[anon:", 6) || length < 8 || length - 7 >= sizeof(inner))
		return false;
	memcpy(inner, name + 6, length - 7);
	inner[length - 7] = '\0';
	return glob_matches(pattern, inner);
}

/* Returns the name of the mapping call's first module that is not the C library's. */
static const char *caller(const struct owner_facts *f)
{
	for (unsigned i = 0; i < OWNER_FRAMES; i++)
		if (f->callers[i] && strncmp(text_base(f->callers[i]), "libc.so", 7) &&
		    strncmp(text_base(f->callers[i]), "ld-linux", 8))
			return text_base(f->callers[i]);
	return f->callers[0] ? text_base(f->callers[0]) : "";
}

static bool any_matches(const char *pattern, const char *const *texts)
{
	for (unsigned i = 0; i < OWNER_FRAMES; i++)
		if (texts[i] && glob_matches(pattern, texts[i]))
			return true;
	return false;
}

static bool fits(unsigned row, const struct owner_facts *f, const char **says)
{
	const char *pattern = rules[row].pattern;

	*says = "";
	if (rules[row].most && (f->bytes < rules[row].least || f->bytes > rules[row].most))
		return false;
	switch (rules[row].fact) {
	case FACT_OWN:
		return f->own;
	case FACT_NAME:
		*says = f->name;
		return f->name && name_matches(pattern, f->name);
	case FACT_FILE:
		*says = f->file ? text_base(f->file) : "";
		return f->file && glob_matches(pattern, f->file);
	case FACT_THREAD:
		*says = f->thread;
		return f->thread;
	case FACT_TLS:
		return f->tls;
	case FACT_BLOCKS:
		*says = f->call ? caller(f) : "glibc";
		return f->blocks;
	case FACT_HEAP:
		*says = f->call ? caller(f) : "";
		return f->heap;
	case FACT_CALLER:
		return f->callers[0] && glob_matches(pattern, text_base(f->callers[0]));
	case FACT_FUNCTION:
		*says = caller(f);
		return any_matches(pattern, f->functions);
	case FACT_MODULE:
		*says = f->module ? text_base(f->module) : "";
		return f->module && glob_matches(pattern, says[0]);
	case FACT_ALIGNED:
		return f->seen && !f->file && !f->name &&
		       f->start % (strtoull(pattern, NULL, 10) << 20) == 0;
	case FACT_CALL:
		*says = caller(f);
		return f->call && !f->file;
	case FACT_ANY:
		return true;
	}
	return false;
}

unsigned owners_find(const struct owner_facts *facts, const char **detail)
{
	const char *says;

	for (unsigned row = 0; row < RULES; row++) {
		if (!fits(row, facts, &says))
			continue;
		*detail = *rules[row].detail ? rules[row].detail : says;
		return rules[row].fact == FACT_HEAP ? RULES + facts->heap : row;
	}
	return RULES - 1; /* ANY */
}

const char *owners_name(unsigned owner)
{
	return owner < RULES ? rules[owner].owner : api_name(owner - RULES);
}
