/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_functions.h: the functions of engines' own heaps, by name: those of allocator.def, and
 * those of the file that SHINY_ALLOCATOR=file:PATH names.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 *
 * A line of that file is a function: its name, in which # stands for a number, a kind, and numbers
 * of arguments from 0:
 *
 *     my_alloc    make  size=0
 *     my_calloc   make  size=1 count=0
 *     my_alloc_#  make
 *     my_realloc  move  block=0 size=1
 *     my_free     end   block=0
 *     my_reset    drop-all
 *
 * The kinds are allocator.def's in small letters: make, make-out, make-at, make-text, make-sized,
 * end, move, move-out, move-at, resize, usable, drop-all. plus=N or plus=one adds to the size.
 * type=N is the argument that is the name of a new block's type; `named` returns an object in a
 * block that another allocator made:
 *
 *     my_typed_alloc make   size=0 type=1
 *     my_object_new  named  type=0
 *
 * Objects in pools, which lie in blocks of another allocator, are told by pool=: the number of the
 * argument that is the pool, or none. The functions of pools are pool-make, pool-make-out,
 * pool-change, pool-empty, pool-children, pool-reset, pool-end, with pool=, parent= and name=:
 *
 *     my_pool        pool-make   parent=0 name=1
 *     my_take        make        pool=0 size=1
 *     my_give_back   end         block=1 pool=0
 *     my_pool_clear  pool-reset  pool=0
 *     my_pool_free   pool-end    pool=0
 *
 * Blank lines and those that begin with # are comments.
 */
#ifndef SHINY_SYM_ENGINE_FUNCTIONS_H
#define SHINY_SYM_ENGINE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <shiny/wire/allocator.h>

#include "../../src/base/err.h"
#include "../../src/base/mem.h"

struct engine_function {
	char name[SHINY_ALLOCATOR_NAME]; /* may contain one # */
	struct shiny_allocator_call call;
};
struct engine_functions {
	VEC(struct engine_function) rows; /* functions of an api are adjacent, its main one first;
	                                   * the user's have SHINY_API_OWN and SHINY_API_POOL */
	uint64_t time; /* of the user's file's last change, in ns; 0: there is none */
};

/* Makes the list. Errors: the user's file cannot be read, or a line of it is wrong. */
SHINY_MUST_CHECK struct shiny_err *engine_functions_load(const char *setting,
							 struct engine_functions *out);
void engine_functions_free(struct engine_functions *functions);

/* Returns the function of this name, or NULL. *bytes gets the number in its place of #, else 0. */
const struct engine_function *engine_functions_find(const struct engine_functions *functions,
						    const char *name, uint16_t *bytes);

/* True if a file with this function has the engine's heap: its main one, or any of the user's. */
bool engine_functions_shows(const struct engine_functions *functions,
			    const struct engine_function *function);

/* True if the variable of this name points to the current pool of the api. */
bool engine_functions_has_variable(const char *name, unsigned api);

/* True if `setting` names a file. */
bool engine_functions_from_file(const char *setting);

#endif
