/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_name.h: reads the mangled names of constructors and destructors.
 *
 * Runs: CLI. Signals: no. Allocates: names. Threads: any.
 */
#ifndef SHINY_SYM_CTOR_NAME_H
#define SHINY_SYM_CTOR_NAME_H

#include <stdbool.h>

enum ctor_variant {
	CTOR_NONE,      /* another function */
	CTOR_COMPLETE,  /* C1: constructs a whole object */
	CTOR_BASE,      /* C2: constructs a base class's part */
	CTOR_ANY,       /* another constructor: C3, C4, C5 */
	DTOR_DELETING,  /* D0 */
	DTOR_COMPLETE,  /* D1 */
	DTOR_BASE,      /* D2 */
	DTOR_ANY,
};

/* Returns the variant that the mangled `name` denotes, ignoring anything after a dot in it. */
enum ctor_variant ctor_variant(const char *name);
static inline bool ctor_destroys(enum ctor_variant variant)
{
	return variant >= DTOR_DELETING;
}

/* Returns the class's demangled name, malloc'ed. NULL: it can't be told. */
char *ctor_class(const char *name);

/* True if both are variants of one constructor, or of one destructor: _ZN1AC1Ei and _ZN1AC2Ei. */
bool ctor_same(const char *a, const char *b);

#endif
