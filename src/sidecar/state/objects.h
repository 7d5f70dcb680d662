/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h: where the garbage-collected objects of one process lie, and what their kinds are.
 *
 * Runs: sidecar. Signals: no. Allocates: yes: 4 KiB for each 128 KiB page of a heap that holds
 * objects. Threads: one.
 *
 * The problem. Nobody frees such an object. Some have a destructor, which is seen; most end
 * silently, and the first that is heard of it is that a later object lies on top (the paper's state
 * R). One object may bury many smaller ones, or a part of a large one, so the question is not "what
 * begins at this address" but "what lies in this range", for every object that is made.
 *
 * The approach. Two bits for each 8 bytes of a page: an object begins here; an object's last byte
 * is here. A range is free if no beginning lies in it, and the nearest bit in front of it is no
 * beginning without an end. Objects are handed out in a row from free memory, so the nearest bit is
 * that of the neighbour: one or two words are read. Objects of half a page or more get pages of
 * their own from Oilpan; they are few and stand in a sorted list, as do others that have grown as
 * large. What an object is, the registry knows: same address, same table as malloc's blocks, which
 * never lie in these heaps.
 *
 * Oilpan fills free memory from its beginning on. So what begins in the middle of a small object
 * that nobody has ended does not bury it: the object has been cut (a vector's storage that shrank),
 * and its rest was given away.
 *
 * Rejected: a tree of intervals (4 cache misses an object instead of 1), asking the registry for
 * each possible beginning.
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
	uint32_t *vtables;                       /* index → session-wide id of what describes the
	                                          * kind, 0 not asked yet */
};

void objects_deinit(struct objects *objects);
/* A forked child: the same kinds, no object yet. */
void objects_clone_kinds(struct objects *objects, const struct objects *parent);

/* An object takes [start, start + bytes). Nothing overlaps it any more. start is a multiple of 8,
 * bytes not 0. */
void objects_add(struct objects *objects, uint64_t start, uint64_t bytes);
/* The object that begins there is gone. */
void objects_remove(struct objects *objects, uint64_t start);
/* It ends at `end` now. False: it has a page of its own, and can't be cut. */
bool objects_cut(struct objects *objects, uint64_t start, uint64_t end);
/* Where an object begins that has a byte in [start, end); 0: none has. */
uint64_t objects_find(struct objects *objects, uint64_t start, uint64_t end);

/* Where objects begin in [start, end), in order, as far as the page of `start` goes; those with
 * pages of their own are left out. How many, at most `most`. */
size_t objects_list(struct objects *objects, uint64_t start, uint64_t end, uint64_t *out,
		    size_t most);

/* False: `kinds` makes no sense. */
bool objects_set_kinds(struct objects *objects, const struct shiny_object_kinds *kinds);
/* Address that stands for the kind; 0: nothing was said of it. */
uint64_t objects_place(const struct objects *objects, uint32_t index);

#endif
