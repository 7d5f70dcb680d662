/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments.h: the address space of one process as a table of segments over time.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A segment is the range of one mapping call, as long as its bounds stay the same: when a part of
 * it is unmapped, it ends, and the remaining parts become new segments of the same origin. Changes
 * of protection do not end it: `committed` follows them. So a reservation of 16 GiB in which an
 * allocator opens single pages is one segment, and the table stays short. For the same reason
 * anonymous memory that is mapped over a part of a larger anonymous segment only changes that one
 * (allocators release pages that way).
 *
 *   pieces    [a,b) s1 rw | [b,c) s1 none | [c,d) s2 r | …
 *             sorted, disjoint; neighbours differ in segment or protection
 *   invariant a segment's pieces are neighbours and cover [start, end); committed = sum of those
 *   that are accessible
 *
 * There are two sources: calls that passed the hooks, in the order of their records; and the
 * kernel's list (segments_observe), which wins: the loader, glibc's own malloc and threads, and raw
 * system calls pass no hook. A segment that is known only from the list is SEGMENT_SEEN.
 *
 * Threads of the program race: A unmaps a range, B gets it at once, and B's record may be first. So
 * a call that removes memory has the time when it began (`begun`), and spares memory that was
 * mapped later. UINT64_MAX spares nothing.
 *
 * Not covered: if raw system calls unmap memory and map it again in the same place and manner
 * between two samples, it counts as the same segment.
 *
 * A segment that no sample has seen (`sampled`) has no history, and is trimmed in place: allocators
 * map more than they need and unmap the unaligned ends at once.
 */
#ifndef SHINY_SEGMENTS_H
#define SHINY_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"
#include "smaps.h"

enum segment_source {
	SEGMENT_MMAP, SEGMENT_MREMAP, SEGMENT_BRK, /* calls */
	SEGMENT_SEEN,                              /* found in the kernel's list */
	SEGMENT_INHERITED,                         /* inherited by a fork */
};

/* The portions of a segment. Some parts of PartitionAlloc's pools are malloc's, others not: each
 * kind has its own portion. */
enum { PORTION_OTHER, PORTION_MALLOC, PORTIONS };
struct portion {
	uint64_t committed, rss, pss, private, swap; /* bytes */
	uint64_t live_blocks, live_bytes;            /* malloc's blocks, or the other portion's
	                                              * objects and blocks of other heaps */
};

struct vm_segment {
	uint32_t id, origin;  /* rows of the session file; origin: the first segment of the same
	                       * call */
	uint64_t start, end;
	uint64_t mapped;      /* ticks of the program's mapping; 0 unknown */
	uint64_t born, ended; /* ticks; ended 0: still mapped */
	uint64_t offset;      /* in the file */
	uint64_t inode, device; /* of the file, once known */
	uint32_t stack;       /* session-wide id of the mapping call's stack, 0 unknown */
	uint32_t file, name;  /* ids of texts, 0 none */
	uint32_t flags;       /* the call's MAP_* */
	uint8_t prot;         /* when mapped, or first seen */
	uint8_t source;       /* enum segment_source */
	bool shared, anonymous;
	bool sampled; /* some sample saw it: its bounds are history */
	uint64_t committed;
	/* results of samples, and conclusions from them (mappings.c) */
	bool blocks;        /* it had blocks of malloc */
	uint8_t heap;       /* enum shiny_api of a heap beside malloc with blocks in it, 0 none */
	bool own;           /* the library's */
	uint32_t process;   /* id */
	bool tls;           /* it has a thread's variables, and is no stack */
	uint32_t thread;    /* id of the name of the thread whose stack it is, 0 none */
	uint32_t module;    /* id of the module that it is a part of, 0 none */
	uint32_t detail;    /* id of a text */
	uint16_t owner;     /* row of owners.def + 1, 0 not judged yet */
	struct portion last[PORTIONS];
	bool changed;       /* its row must be written */
};

struct piece {
	uint64_t start, end;
	struct vm_segment *segment;
	uint8_t prot;
};

struct segments {
	VEC(struct piece) pieces;
	VEC(struct vm_segment *) past; /* ended segments, for the caller to take */
	uint32_t *ids;              /* the last id of a segment, shared by the session */
	uint32_t process;           /* id of the process */
	uint64_t corrected;         /* changes in the kernel's list, of memory from calls, that no
	                             * call reported */
};

/* `ids`: counter of ids, shared by all processes of a session. */
void segments_init(struct segments *segments, uint32_t *ids);
void segments_deinit(struct segments *segments);
/* Copies a parent's segments to a forked child, as of `time`. */
void segments_clone(struct segments *segments, const struct segments *parent, uint64_t time);

/* Applies a mapping call at `time`. Reads start, end, stack, flags, prot, source, shared,
 * anonymous, offset and name of `what`. Bounds are whole pages. */
void segments_map(struct segments *segments, const struct vm_segment *what, uint64_t time);
void segments_unmap(struct segments *segments, uint64_t start, uint64_t end, uint64_t begun,
		    uint64_t time);
void segments_protect(struct segments *segments, uint64_t start, uint64_t end, unsigned prot,
		      uint64_t begun);
/* Applies an mremap; `flags`: MREMAP_*. */
void segments_move(struct segments *segments, uint64_t old, uint64_t old_bytes, uint64_t at,
		   uint64_t bytes, unsigned flags, uint32_t stack, uint64_t begun, uint64_t time);
/* Moves the program break from `from` to `to`; `name`: id of the text "[heap]". */
void segments_break(struct segments *segments, uint64_t from, uint64_t to, uint32_t stack,
		    uint32_t name, uint64_t time);
void segments_name(struct segments *segments, uint64_t start, uint64_t end, uint32_t name,
		   uint64_t time);
/* Splits [start, end) off its segment and returns it. NULL: it is not in one segment. */
struct vm_segment *segments_split(struct segments *segments, uint64_t start, uint64_t end,
				  uint64_t time);

/* A range that calls changed while the list was being read: the list may be old or new there. */
struct flux {
	uint64_t start, end;
};
/* Applies the kernel's sorted list as of `time`: afterwards the pieces cover exactly its areas,
 * except in `flux`. */
void segments_observe(struct segments *segments, const struct smaps_area *areas, size_t count,
		      const struct flux *flux, size_t flux_count, uint64_t time);

/* Returns the index of the first piece that ends behind `address`. */
size_t segments_find(const struct segments *segments, uint64_t address);

#endif
