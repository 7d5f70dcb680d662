/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_answer.h: what the rules found out about the blocks of one return address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 *
 * An answer doesn't depend on any block, so type_cache.h can keep it by build-id and offset. It
 * lists the findings, best first, and says whether the pointer went on to the caller as a void
 * pointer (a wrapper): then the caller's return address is asked too. site_choose.h holds a stack's
 * answers against the sizes of its blocks.
 */
#ifndef SHINY_SYM_SITE_ANSWER_H
#define SHINY_SYM_SITE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../sym.h"

enum { SITE_CANDIDATES = 8, SITE_LEADING = 8 };
enum { SITE_FOLDS = 15 }; /* so many functions are asked besides the one of the address */

enum site_flag {
	/* whatever happens behind the call, it happens to a block of this type */
	SITE_CERTAIN = 1,
	SITE_POLYMORPHIC = 2, /* the type has a vptr */
	SITE_LOOSE = 4, /* the block's size says nothing about the type */
	/* what a function that is called takes it for: no evidence for arrays */
	SITE_PARAMETER = 8,
	SITE_LINE = 16, /* a constructor that only stands in the same line and scope */
	SITE_SYMBOL = 32, /* known by a symbol alone: the block may begin with such an object */
	/* one of the pointers that a union may be: only if no other one's type fits */
	SITE_UNION = 64,
	/* an array's descriptor holds it: Fortran asks for one byte where it has no elements, Ada
	 * rounds up what follows the bounds */
	SITE_DESCRIPTOR = 128,
	SITE_LEAST = 256, /* it may be any larger type that extends this one */
	/* one of several classes whose constructors, or vtables, were folded into one */
	SITE_FOLDED = 512,
};

/* One rule's finding. Strings are interned. */
struct site_candidate {
	const char *type; /* of the object, or of one element */
	const char *container; /* "std::vector<int, …>" whose storage it is; NULL none */
	uint64_t bytes; /* sizeof(type); 0 unknown */
	uint64_t header; /* bytes in front of the elements (an array cookie, a buffer's
	                        * header) */
	enum sym_rule rule;
	enum sym_form form;
	bool array; /* any number of elements */
	bool trailing; /* the block may be longer than `bytes`: it ends in an array */
	bool or_derived; /* the rule knows a base class only */
	unsigned flags; /* enum site_flag */
	const char *leading[SITE_LEADING]; /* classes at offset 0 of it; NULL-terminated unless
	                                    * full */
};
struct site_answer {
	bool ambiguous; /* two constructors on two arms: the site makes more than one type */
	bool climbs; /* the pointer is returned as void * or by an allocation function: ask
	                    * the caller too */
	bool opaque; /* nothing is known of this code (then it climbs): only a library
	                    * function further up may say what it makes */
	bool guessed; /* it climbs because a register has the pointer where the function returns,
	               * of which nobody knows whether it returns anything */
	bool returned; /* the pointer is returned as that of a class: the caller may know better */
	uint32_t label_unit; /* the label is for blocks of multiples of this size; 0: for all */
	bool label_once; /* and of no multiple above one */
	bool label_inner; /* the callee is not known to allocate: the label holds where it did */
	bool unasked; /* likewise, and so no label was looked for */
	const char *label; /* "storage of X": what to say when nothing fits; NULL */
	const char *callee; /* the allocation function that the site calls, demangled; NULL
	                     * unknown */
	/* Where functions share code (site_fold.h): the one that this answer is about, and the one
	 * that is called here. Demangled; NULL: it is one alone, or not known. */
	const char *function, *origin;
	uint32_t folds; /* functions other than the one that is found by the address */
	size_t count;
	/* Last: type_cache.h keeps those that there are. There is one at most nearly always, and
	 * a browser has a hundred thousand answers. */
	struct site_candidate candidates[SITE_CANDIDATES];
};

#endif
