/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_names.h: the C++ name of a type, out of the machine code of its name callback.
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
	const char *name;              /* STATIC: in the file's bytes */
	uint32_t vptr_at, vtable_slot; /* VIRTUAL */
	const char *hidden;            /* what it answers when names are not to be told; NULL:
	                                * nothing known */
};

/* The callback gets (object, 0: tell the name, 1: only if it was asked for), and returns {text, is
 * it hidden?}. */
struct callback_name callback_name(const struct eval_world *world, uint64_t vaddr);

/*
 * What the virtual function at `slot` of the vtable returns for an object with that vtable, if that
 * is a constant text. Virtual functions that it asks in turn, and constants that the loader puts
 * into the file, are followed. NULL: it isn't.
 */
const char *vtable_name(const struct eval_world *world, struct reloc_index *relocs, uint64_t vtable,
			uint32_t slot);

/* The same of the function at `vaddr`, as if it stood in that vtable. */
const char *vtable_name_by(const struct eval_world *world, struct reloc_index *relocs,
			   uint64_t vtable, uint64_t vaddr);

#endif
