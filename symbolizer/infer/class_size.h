/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_size.h: reads sizeof(T) from the code of T's deleting destructor.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 */
#ifndef SHINY_SYM_CLASS_SIZE_H
#define SHINY_SYM_CLASS_SIZE_H

#include <stdint.h>

#include "../elf/binary.h"
#include "../elf/reloc.h"
#include "../elf/symtab.h"

/* Returns the size that the deleting destructor in the vtable at `address_point` passes to sized
 * operator delete; 0: uncertain. */
uint64_t class_size(const struct binary *file, struct reloc_index *relocs,
		    const struct symtab *symbols, uint64_t address_point);

#endif
