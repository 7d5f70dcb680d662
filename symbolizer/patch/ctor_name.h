/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_name.h: what the mangled name of a constructor or destructor says.
 *
 * Runs: CLI. Signals: no. Allocates: names. Threads: any.
 */
#ifndef SHINY_SYM_CTOR_NAME_H
#define SHINY_SYM_CTOR_NAME_H

#include <stdbool.h>

enum ctor_variant {
	CTOR_NONE,      /* another function */
	CTOR_COMPLETE,  /* C1: of a whole object */
	CTOR_BASE,      /* C2: of a base class's part */
	CTOR_ANY,       /* another one of a constructor: C3, C4, C5 */
	DTOR_DELETING,  /* D0 */
	DTOR_COMPLETE,  /* D1 */
	DTOR_BASE,      /* D2 */
	DTOR_ANY,
};

/* Of `name`, whatever stands behind a dot in it. */
enum ctor_variant ctor_variant(const char *name);
static inline bool ctor_destroys(enum ctor_variant variant)
{
	return variant >= DTOR_DELETING;
}

/* The class's name, demangled, malloc'ed. NULL: it has none that can be told. */
char *ctor_class(const char *name);

/* Are they two variants of one constructor, or of one destructor: _ZN1AC1Ei and _ZN1AC2Ei? */
bool ctor_same(const char *a, const char *b);

#endif
