/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_object.h: reads the name of one of CPython's types from a file that defines it.
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

#endif
