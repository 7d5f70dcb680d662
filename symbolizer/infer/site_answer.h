/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_answer.h: the rules' findings about the blocks of one return address.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 *
 * An answer doesn't depend on any block, so type_cache.h can cache it by build-id and offset. It
 * lists the findings, best first, and tells whether the pointer was returned to the caller as a
 * void pointer (a wrapper): then the caller's return address matters, too. site_choose.h compares a
 * stack's answers with the sizes of its blocks.
 */
#ifndef SHINY_SYM_SITE_ANSWER_H
#define SHINY_SYM_SITE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../sym.h"

enum { SITE_CANDIDATES = 8, SITE_LEADING = 8 };
enum { SITE_FOLDS = 15 }; /* most functions examined besides the one found by the address */

enum site_flag {
	/* all paths after the call treat the block as this type */
	SITE_CERTAIN = 1,
	SITE_POLYMORPHIC = 2, /* the type has a vptr */
	SITE_LOOSE = 4, /* the block's size says nothing about the type */
	/* type of a called function's parameter: no evidence for arrays */
	SITE_PARAMETER = 8,
	SITE_LINE = 16, /* a constructor that is only in the same line and scope */
	SITE_SYMBOL = 32, /* known by a symbol alone: the block may only begin with such an
	                   * object */
	/* one of a union's pointers: counts only if no other one's type fits */
	SITE_UNION = 64,
	/* an array's descriptor holds it: Fortran requests one byte for no elements, Ada rounds up
	 * the part after the bounds */
	SITE_DESCRIPTOR = 128,
	SITE_LEAST = 256, /* the type may be any larger type that extends this one */
	/* one of several classes whose constructors, or vtables, were folded into one */
	SITE_FOLDED = 512,
};

/* One rule's finding. Strings are interned. */
struct site_candidate {
	const char *type; /* type of the object, or of one element */
	const char *container; /* container that owns the storage: "std::vector<int, …>"; NULL:
	                        * none */
	uint64_t bytes; /* sizeof(type); 0: unknown */
	uint64_t header; /* bytes before the elements (an array cookie, a buffer's header) */
	enum sym_rule rule;
	enum sym_form form;
	bool array; /* any number of elements */
	bool trailing; /* the type ends in an array: the block may be longer than `bytes` */
	bool or_derived; /* the rule knows only a base class */
	unsigned flags; /* enum site_flag */
	const char *leading[SITE_LEADING]; /* classes at its offset 0; NULL-terminated unless
	                                    * full */
};
struct site_answer {
	bool ambiguous; /* constructors of two classes on two paths: the site creates several
	                 * types */
	bool climbs; /* the pointer is returned as void *, or by an allocation function: examine the
	              * caller, too */
	bool opaque; /* this code is unknown (then it climbs): further up, only a library function,
	              * or the type of a thrown object, counts */
	bool guessed; /* it climbs only because a register holds the pointer at the return; the
	               * function may return nothing */
	bool returned; /* the pointer is returned as a class's: the caller may know better */
	uint32_t label_unit; /* the label fits sizes that are multiples of this; 0: all sizes */
	bool label_once; /* the label fits only `label_unit` itself */
	bool label_inner; /* the callee isn't known to allocate: the label counts only in the
	                   * innermost frame */
	bool unasked; /* the callee isn't known to allocate, and this was no innermost frame: no
	               * label was searched */
	const char *label; /* "storage of X", for when no candidate fits; or NULL */
	const char *callee; /* demangled name of the called allocation function; NULL: unknown */
	/* Names for code shared by functions (site_fold.h): the function that this answer is about,
	 * and the one that is called here. Demangled; NULL: not shared, or unknown. */
	const char *function, *origin;
	uint32_t folds; /* number of functions other than the one found by the address */
	size_t count;
	/* The last member: type_cache.h stores only the used ones. There is nearly always at most
	 * one, and a browser has a hundred thousand answers. */
	struct site_candidate candidates[SITE_CANDIDATES];
};

#endif
