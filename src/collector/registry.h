/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h: the live blocks of one process: address → what is known about the block.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Extendible hashing: a directory of segments, each a small open-addressing table with linear probing and backward-shift
 * deletion. A segment that is three quarters full splits in two, so growth copies one segment at a time: there is no moment at which an
 * old and a new table of everything stand side by side. 32 bytes a block at a load between 3/8 and 3/4 is 43 to 86 bytes a live
 * block at any time, the directory included (budget: 100). Segments are not merged when blocks go: the peak was paid already.
 * Rejected: one table that doubles (128 bytes a block while it copies), a tree (4 cache misses instead of 1 or 2).
 */
#ifndef SHINY_REGISTRY_H
#define SHINY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ENTRY_API = 15,              /* enum shiny_api */
	ENTRY_READING_SHIFT = 4,     /* 2 bits: enum shiny_vptr_api of `vtable` */
	ENTRY_READING = 3 << ENTRY_READING_SHIFT,
	ENTRY_REALLOC = 1 << 6,      /* it began by a realloc */
	ENTRY_INHERITED = 1 << 7,    /* it came along in a fork */
	ENTRY_SECOND_WORD = 1 << 8,  /* `vtable` was in the second word */
};

struct entry {
	uint64_t address; /* 0: the cell is empty */
	uint64_t birth;   /* ticks */
	uint64_t size : 48;
	uint64_t flags : 16;
	uint32_t site;   /* index in the process's sites */
	uint32_t vtable; /* session-wide id, 0 none */
};
_Static_assert(sizeof(struct entry) == 32, "the budget counts on it");

struct segment;
struct registry {
	struct segment **directory; /* 1 << depth pointers; a segment of local depth d stands in 2^(depth - d) of them */
	unsigned depth;
	size_t count, segments;
};

void registry_init(struct registry *registry);
void registry_deinit(struct registry *registry);
struct entry *registry_find(const struct registry *registry, uint64_t address); /* NULL: not there. Valid until the next change */
/* Adds a block that is not there (address not 0). */
struct entry *registry_add(struct registry *registry, const struct entry *entry);
bool registry_remove(struct registry *registry, uint64_t address, struct entry *out);
/* Brings the cell's cache line; call for the next event while this one is handled. */
void registry_prefetch(const struct registry *registry, uint64_t address);
size_t registry_bytes(const struct registry *registry);

typedef void registry_each_fn(void *context, const struct entry *entry);
void registry_each(const struct registry *registry, registry_each_fn *each, void *context); /* no changes meanwhile */

#endif
