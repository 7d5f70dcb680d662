/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h: the present and past modules of one process's address space.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_SPACE_H
#define SHINY_SPACE_H

#include <stdint.h>

#include "../../base/mem.h"
#include "ids.h"

struct mapping {
	uint64_t start, end, bias;
	uint64_t loaded, unloaded; /* ticks; unloaded 0: still mapped */
	uint32_t module;
};

enum { SPACE_CACHE = 1024 };
struct space_hit {
	uint64_t address;
	uint32_t id;
};

struct space { /* zeroed: empty */
	VEC(struct mapping) live; /* sorted by start, disjoint */
	VEC(struct mapping) past;
	struct space_hit *frames, *vtables; /* direct-mapped caches, freed when the map changes */
	uint64_t changes;                   /* number of changes, each of which makes earlier
	                                     * look-ups invalid */
};

void space_deinit(struct space *space);
void space_clone(struct space *space, const struct space *parent, uint64_t time);
/* Adds the mapping of a module and removes those that it overlaps. The same mapping again changes
 * nothing. */
void space_add(struct space *space, const struct mapping *mapping);
void space_remove(struct space *space, uint64_t start, uint64_t end, uint64_t time);
/* Returns the mapping at an address; NULL: it is in no module. */
const struct mapping *space_find(const struct space *space, uint64_t address);
/* Returns the id of the frame with this return address. */
uint32_t space_frame(struct space *space, struct ids *ids, uint64_t address);
uint32_t space_vtable(struct space *space, struct ids *ids, uint64_t address); /* 0: in no module */

#endif
