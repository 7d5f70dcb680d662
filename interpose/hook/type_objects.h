/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_objects.h: names the type objects that CPython makes while it runs, for class statements and
 * types of its extension modules. Objects keep the address of their type (nursery.h); only these
 * types' names are not in a file.
 *
 * Runs:      inside, in place of CPython's allocator for objects.
 * Signals:   as that: CPython allows none there.
 * Allocates: nothing.
 * Threads:   those that hold the interpreter's lock, which protects what is read; interpreters with
 *            locks of their own wait for each other.
 *
 * A type object has several hundred bytes, and is filled in after its allocation. So blocks of such
 * sizes are looked at before each later call of the allocator, until they are seen to be ready type
 * objects, are freed, or have been looked at often enough. No object of a type can be made before
 * that, so its name is recorded before its first object.
 *
 * Five words of a ready type object of the heap point into itself, to the tables of its methods;
 * flags say that it is one. These words are cleared in a new block, whose contents are undefined: a
 * type that lay there before, of which its next owner has overwritten the name only, would look
 * like one. Nothing is followed but the name's address, which CPython keeps valid as long as the
 * type lives.
 */
#ifndef SI_TYPE_OBJECTS_H
#define SI_TYPE_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

#include "../core/base.h"

/* Says how many bytes a type object has at least, in the constructor. */
void si_type_objects_begin(size_t bytes);

/* Records a new block of the allocator for objects. Its contents are undefined yet: where it may be
 * a type object, some are cleared. */
void si_type_objects_made(const uintptr_t *fp, void *block, size_t size);

SI_INTERNAL uint32_t si_type_objects_young; /* blocks that are looked at */
SI_COLD void si_type_objects_look_slow(const uintptr_t *fp, const void *ending);

/* Looks at the young blocks; called first in each call of that allocator. `ending`: the block that
 * the call frees or moves, or NULL. */
static inline void si_type_objects_look(const uintptr_t *fp, const void *ending)
{
	if (SI_UNLIKELY(__atomic_load_n(&si_type_objects_young, __ATOMIC_RELAXED)))
		si_type_objects_look_slow(fp, ending);
}

#endif
