/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_inlined.h: where functions were inlined, from DWARF.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes an inlined function, names of classes, and what libdw
 * does. Threads: one at a time.
 */
#ifndef SHINY_SYM_CTOR_INLINED_H
#define SHINY_SYM_CTOR_INLINED_H

#include "../elf/binary.h"

/* By its mangled name, where the debug information has it. gcc leaves it out of what only one unit
 * can name; then by its class. */
struct ctor_inlined {
	const char *mangled; /* NULL: none */
	const char *class;   /* with its scopes; NULL: `mangled` says it, or it is no constructor or
	                      * destructor of a class outside functions */
	bool destroys;       /* with `class`: a destructor */
};
/* `what` was inlined into the function `into`. */
typedef void ctor_inlined_fn(void *context, const struct ctor_inlined *what,
			     const struct ctor_inlined *into);

/*
 * Every place in the code of `file` where a C++ function was inlined, from the debug information in
 * `path`, which may be its debug file. False: it can't be told, or not of all units (split ones),
 * or there is too much to look through.
 */
bool ctor_inlined_each(const struct binary *file, const char *path, ctor_inlined_fn *each,
		       void *context);

#endif
