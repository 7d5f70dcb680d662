/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_type.h: what type does the block have that a call returned? From the code and the debug
 * information around the return address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 *
 * An answer belongs to one return address and doesn't depend on any block: it lists what the rules
 * found, best first, and whether the pointer went on to the caller as a void pointer (a wrapper),
 * so that the caller's own return address has to be asked. That makes it cacheable by build-id and
 * offset (type_cache.h). site_type_choose() then holds a stack's answers against the sizes that its
 * blocks had.
 */
#ifndef SHINY_SYM_SITE_TYPE_H
#define SHINY_SYM_SITE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../dwarf/debug_units.h"
#include "../flow/flow.h"
#include "../sym.h"

enum { SITE_CANDIDATES = 8, SITE_LEADING = 8 };

enum site_flag {
	/* whatever happens behind the call, it happens to a block of this type */
	SITE_CERTAIN = 1,
	SITE_POLYMORPHIC = 2, /* the type has a vptr */
	SITE_LOOSE = 4,       /* the block's size says nothing about the type */
	/* what a function that is called takes it for: no evidence for arrays */
	SITE_PARAMETER = 8,
	SITE_LINE = 16,       /* a constructor that only stands in the same line and scope */
	SITE_SYMBOL = 32,     /* known by a symbol alone: the block may begin with such an object */
	/* one of the pointers that a union may be: only if no other one's type fits */
	SITE_UNION = 64,
};

/* One rule's finding. Strings are interned. */
struct site_candidate {
	const char *type;      /* of the object, or of one element */
	const char *container; /* "std::vector<int, …>" whose storage it is; NULL none */
	uint64_t bytes;        /* sizeof(type); 0 unknown */
	uint64_t header;       /* bytes in front of the elements (an array cookie, a buffer's
	                        * header) */
	enum sym_rule rule;
	enum sym_form form;
	bool array;            /* any number of elements */
	bool trailing;         /* the block may be longer than `bytes`: it ends in an array */
	bool or_derived;       /* the rule knows a base class only */
	unsigned flags;        /* enum site_flag */
	const char *leading[SITE_LEADING]; /* classes at offset 0 of it; NULL-terminated unless
	                                    * full */
};
struct site_answer {
	struct site_candidate candidates[SITE_CANDIDATES];
	size_t count;
	bool ambiguous;    /* two constructors on two arms: the site makes more than one type */
	bool climbs;       /* the pointer is returned as void * or by an allocation function: ask
	                    * the caller too */
	bool opaque;       /* nothing is known of this code (then it climbs): only a library
	                    * function further up may say what it makes */
	const char *label; /* "storage of X": what to say when nothing fits; NULL */
	const char *callee; /* the allocation function that the site calls, demangled; NULL
	                     * unknown */
};

struct site_reader {
	struct flow_code code;
	struct debug_units *units; /* NULL: symbols only */
	struct names *names;
	const struct container_rules *rules; /* containers.h */
};

/* What the rules say about the return address `ret`. `evidence` may be NULL; it takes one line a
 * step (sym_explain). */
void site_type_read(const struct site_reader *reader, uint64_t ret, struct site_answer *out,
		    struct sym_evidence *evidence);

/* Which candidate fits blocks of these sizes from `api` (enum shiny_api)? answers[0] is the
 * innermost frame's. */
void site_type_choose(const struct site_answer *const *answers, size_t count, unsigned api,
		      const struct sym_sizes *sizes, struct sym_type *out,
		      struct sym_evidence *evidence);

#endif
