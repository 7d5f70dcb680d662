/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h: which module lies where in one process's address space, now, and what was there before.
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
	uint64_t loaded, unloaded; /* ticks; unloaded 0: still there */
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
	struct space_hit *frames, *vtables; /* direct-mapped caches, dropped when the map changes */
	uint64_t changes;                   /* of the map: what was looked up before is void */
};

void space_deinit(struct space *space);
void space_clone(struct space *space, const struct space *parent, uint64_t time);
/* A module was mapped; what it overlaps is gone. The same mapping again changes nothing. */
void space_add(struct space *space, const struct mapping *mapping);
void space_remove(struct space *space, uint64_t start, uint64_t end, uint64_t time);
/* NULL: in no module */
const struct mapping *space_find(const struct space *space, uint64_t address);
/* id of the frame there */
uint32_t space_frame(struct space *space, struct ids *ids, uint64_t address);
uint32_t space_vtable(struct space *space, struct ids *ids, uint64_t address); /* 0: in no module */

#endif
