/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_inlined.h: finds where functions were inlined, from DWARF.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes an inlined function, names of classes, and libdw's
 * memory. Threads: one at a time.
 */
#ifndef SHINY_SYM_CTOR_INLINED_H
#define SHINY_SYM_CTOR_INLINED_H

#include "../elf/binary.h"

/* A function, identified by its mangled name if the debug information has it. gcc omits that of
 * functions that only one unit can name; then the class identifies it. */
struct ctor_inlined {
	const char *mangled; /* NULL: none */
	const char *class;   /* class with its scopes; NULL: `mangled` tells it, or the function is
	                      * no constructor or destructor of a class outside functions */
	bool destroys;       /* if `class` is set: it is a destructor */
};
/* `what` was inlined into the function `into`. */
typedef void ctor_inlined_fn(void *context, const struct ctor_inlined *what,
			     const struct ctor_inlined *into);

/*
 * Calls `each` for every place in the code of `file` where a C++ function was inlined, from the
 * debug information in `path`, which may be its debug file. False: the debug information can't be
 * read, lacks units (split ones), or is too large.
 */
bool ctor_inlined_each(const struct binary *file, const char *path, ctor_inlined_fn *each,
		       void *context);

#endif
