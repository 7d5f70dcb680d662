/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h: the places and kinds of one process's garbage-collected objects.
 *
 * Runs: sidecar. Signals: no. Allocates: yes: 4 KiB for each 128 KiB page of a heap that holds
 * objects. Threads: one.
 *
 * The problem. The program never frees such an object. Some have a destructor, which is recorded;
 * most end silently, and the first sign is a later object on top (the paper's state R). One object
 * may replace many smaller ones, or a part of a large one, so each new object asks not "what begins
 * at this address" but "what lies in this range".
 *
 * The approach. Two bits for each 8 bytes of a page: an object begins here; an object's last byte
 * is here. A range is free if it has no beginning, and the nearest bit in front of it is not a
 * beginning without an end. Oilpan allocates objects one behind the other, so the nearest bit is
 * the neighbour's: one or two words are read. Objects of half a page or more have pages of their
 * own; they are few and in a sorted list, as are others that have grown as large. The registry has
 * each object's data, by its address, beside malloc's blocks, which never lie in these heaps.
 *
 * Oilpan fills free memory from its beginning on. So an object that begins in the middle of a small
 * live one does not end it: the live one has been cut (a vector's storage that shrank), and its
 * rest was reused.
 *
 * Rejected: a tree of intervals (4 cache misses an object instead of 1), a look-up in the registry
 * for each possible beginning.
 */
#ifndef SHINY_OBJECTS_H
#define SHINY_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"

struct object_page;
struct object_range {
	uint64_t start, end;
};

struct objects { /* zeroed: empty */
	struct object_page **pages; /* open addressing by number; a power of two, or none */
	size_t page_room, page_count;
	struct object_page *latest;
	VEC(struct object_range) large;          /* sorted by start, disjoint */
	VEC(struct shiny_object_kinds) kinds;    /* sorted by first */
	uint32_t *vtables;                       /* index → session-wide id of the kind's
	                                          * description; 0: unknown yet */
};

void objects_deinit(struct objects *objects);
/* Copies a parent's kinds, but no objects, to a forked child. */
void objects_clone_kinds(struct objects *objects, const struct objects *parent);

/* Adds the object [start, start + bytes), which must not overlap another. start is a multiple of 8,
 * bytes not 0. */
void objects_add(struct objects *objects, uint64_t start, uint64_t bytes);
/* Removes the object that begins at `start`. */
void objects_remove(struct objects *objects, uint64_t start);
/* Lets the object end at `end`. False: it has its own page, and cannot be cut. */
bool objects_cut(struct objects *objects, uint64_t start, uint64_t end);
/* Returns the start of an object that has a byte in [start, end); 0: none has. */
uint64_t objects_find(struct objects *objects, uint64_t start, uint64_t end);

/* Lists the starts of objects in [start, end), in order, within the page of `start`; without those
 * that have pages of their own. Returns how many, at most `most`. */
size_t objects_list(struct objects *objects, uint64_t start, uint64_t end, uint64_t *out,
		    size_t most);

/* Adds a range of kinds; false: it is invalid. */
bool objects_set_kinds(struct objects *objects, const struct shiny_object_kinds *kinds);
/* Returns the address that identifies the kind; 0: unknown. */
uint64_t objects_place(const struct objects *objects, uint32_t index);

#endif
