/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_object.h: reads the name of a type from a file that defines what a run time keeps of it: a
 * type object of CPython's, a class of Objective-C's.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time a context.
 */
#ifndef SHINY_SYM_TYPE_OBJECT_H
#define SHINY_SYM_TYPE_OBJECT_H

#include "../elf/binary.h"
#include "../elf/reloc.h"

/* Returns the name of the type object at `vaddr`, in the file's own bytes; NULL: none is there, or
 * it is filled in at run time. */
const char *type_object_name(const struct binary *file, struct reloc_index *relocs, uint64_t vaddr);

/* Returns the name of the Objective-C class at `vaddr` likewise. */
const char *type_object_class(const struct binary *file, struct reloc_index *relocs,
			      uint64_t vaddr);

#endif
