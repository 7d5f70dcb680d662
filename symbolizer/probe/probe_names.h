/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_names.h: reads the C++ name of a type from the machine code of its name callback.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_PROBE_NAMES_H
#define SHINY_SYM_PROBE_NAMES_H

#include <stdint.h>

#include <shiny/wire/probe.h>

#include "probe_eval.h"
#include "../elf/reloc.h"

enum { PROBE_NAME_MAX = 4096 };

struct callback_name {
	enum shiny_probe_naming naming;
	const char *name;              /* of STATIC: in the file's bytes */
	uint32_t vptr_at, vtable_slot; /* of VIRTUAL */
	const char *hidden;            /* the callback's text when names are hidden; NULL:
	                                * unknown */
};

/* Runs the callback. It gets (object, 0: tell the name, 1: only if requested), and returns {text,
 * is it hidden?}. */
struct callback_name callback_name(const struct eval_world *world, uint64_t vaddr);

/*
 * Returns the constant text that the virtual function at `slot` of the vtable returns for an object
 * with that vtable. Follows virtual functions that it calls in turn, and constants that the loader
 * writes into the file's words. NULL: it returns no constant.
 */
const char *vtable_name(const struct eval_world *world, struct reloc_index *relocs, uint64_t vtable,
			uint32_t slot);

/* The same for the function at `vaddr`, as if it were in that vtable. */
const char *vtable_name_by(const struct eval_world *world, struct reloc_index *relocs,
			   uint64_t vtable, uint64_t vaddr);

#endif
