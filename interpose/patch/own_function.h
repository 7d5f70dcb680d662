/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_function.h: a function of an allocator that is hooked by what allocator.def says of it.
 *
 * Runs: inside. Signals: as the function. Allocates: nothing itself. Threads: any.
 */
#ifndef SI_OWN_FUNCTION_H
#define SI_OWN_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/allocator.h>

/* Returns two words: rdx carries the second one of a function that returns two, and is passed
 * on. */
typedef unsigned __int128 si_own_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
				    uintptr_t);

/* A family's functions for moving or freeing a block by hand. */
struct si_own_family {
	si_own_fn *make, *end, *usable; /* malloc, free, usable size; `usable` NULL: blocks of the
	                                 * family are never read */
	uintptr_t inner, inner_bytes; /* nested calls from this range are the allocator's own; 0 and
	                               * UINTPTR_MAX: from anywhere */
	bool is_unread; /* its blocks are never read, though there is `usable`: the library may be
	                 * closed, and its heap unmapped */
};

struct si_own {
	si_own_fn *function; /* the original function */
	const struct si_own_family *family;
	struct shiny_allocator_call call;
	const uintptr_t *variable; /* points to the pool; NULL: none does */
};

/* Returns the size that the call asks for, in bytes. */
static inline size_t si_own_size(const struct si_own *o, const uintptr_t *argument)
{
	const struct shiny_allocator_call *c = &o->call;
	size_t size;

	if (c->size == SHINY_CALL_NO)
		return c->bytes;
	size = argument[c->size] * (c->count == SHINY_CALL_NO ? 1 : argument[c->count]);
	return size + (c->plus == SHINY_CALL_NO	   ? 0
		       : c->plus == SHINY_CALL_ONE ? 1
						   : argument[c->plus]);
}

/* Calls the original function. */
static inline unsigned __int128 si_own_real(const struct si_own *o, const uintptr_t *argument)
{
	return o->function(argument[0], argument[1], argument[2], argument[3], argument[4],
			   argument[5]);
}

#endif
