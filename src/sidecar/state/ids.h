/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids.h: session-wide ids for modules, frames, stacks and vtables: each distinct object has one,
 * counted from 1 in the order of appearance.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Addresses become relative to their module when they are read, by the process's map of that
 * moment, so the same code has the same id in every process and after a dlclose. An address in no
 * known module has module 0 and stays absolute.
 */
#ifndef SHINY_IDS_H
#define SHINY_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"

struct id_module {
	char *path;
	uint8_t build_id[SHINY_BUILD_ID_MAX];
	uint32_t build_id_bytes;
	int file; /* descriptor, opened when first met, as the path may later lead elsewhere; -1
	           * none */
	bool unreached; /* in some process it lacked SHINY_MODULE_REACHED: no allocator function in
	                 * it leads to the library */
	bool ours; /* the preloaded library */
	bool late; /* in some such process it was opened when the program ran */
	bool barred; /* and its code could not be changed then */
};
/* a frame (return address), a vtable's address point, the description of a garbage collector's
 * kind, or a name that a run time gave */
struct id_place {
	uint32_t module;
	bool kind;  /* it describes a kind */
	bool given; /* `vaddr` is an index in `given`, and no module has it */
	uint64_t vaddr;
};
struct id_given {
	char *name;
	uint32_t vtable;
	uint8_t source; /* enum sym_vtable_source: who gave it */
};
struct id_stack {
	uint32_t first, count; /* in stack_frames */
};
struct ids { /* element i of a vector has id i + 1 */
	VEC(struct id_module) modules;
	VEC(struct id_place) frames;
	VEC(struct id_place) vtables;
	VEC(struct id_stack) stacks;
	VEC(uint32_t) stack_frames;
	VEC(struct id_given) given;
	struct hash_table frame_table, vtable_table, stack_table, given_table;
};

void ids_deinit(struct ids *ids);
/* Returns the path by which to open the module: its own while that leads to the right file, else
 * that of its descriptor, in `out`. */
enum { ID_MODULE_PATH = 4096 };
const char *id_module_path(const struct id_module *module, char out[ID_MODULE_PATH]);
uint32_t ids_module(struct ids *ids, const char *path, const uint8_t *build_id,
		    uint32_t build_id_bytes);
uint32_t ids_frame(struct ids *ids, uint32_t module, uint64_t vaddr);
/* `kind`: the place is not a vtable, but describes a kind of garbage-collected objects, and tells
 * their type as a vtable does. */
uint32_t ids_vtable(struct ids *ids, uint32_t module, uint64_t vaddr, bool kind);
/* Returns the id among the vtables of a type that the program's run time calls `name`, or of what a
 * pool takes its room from. `source`: enum sym_vtable_source. */
uint32_t ids_given(struct ids *ids, unsigned source, const char *name);
uint32_t ids_stack(struct ids *ids, const uint32_t *frames, uint32_t count);

#endif
