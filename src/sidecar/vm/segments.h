/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments.h: the address space of one process as a table of segments over time.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * A segment is a range that one mapping call made, for as long as its bounds stay the same: when a
 * part of it is unmapped, it ends, and the rest becomes new segments of the same origin.
 * Changes of protection do not end it: `committed` follows them. So a reservation of 16 GiB in
 * which an allocator opens a page here and there is one segment, and the table stays as short as
 * the story is. For the same reason anonymous memory that is mapped over a part of a larger
 * anonymous segment is a change of that one (allocators give pages back so).
 *
 *   pieces    [a,b) s1 rw | [b,c) s1 none | [c,d) s2 r | …
 *             sorted, disjoint; neighbours differ in segment or protection
 *   invariant a segment's pieces are neighbours and cover [start, end); committed = sum of those
 *   that are accessible
 *
 * Two sources: calls that passed the hooks, in the order of their records; and what the kernel
 * listed (segments_observe), which wins: the loader, glibc's own malloc and threads, and raw system
 * calls pass no hook. A segment that is known from the list only is SEGMENT_SEEN.
 *
 * Threads of the program race: A unmaps a range, B is given it at once, and B's record may come
 * first. A call that takes memory away says when it began (`begun`), and spares what was mapped
 * later than that. UINT64_MAX spares nothing.
 *
 * Not covered: memory that a raw system call unmaps and another maps again in the same place and
 * manner between two samples is taken for the same.
 *
 * A segment that no sample has seen (`sampled`) has no history that anybody could ask for: it is
 * trimmed in place. Allocators map more than they need and cut off what is not aligned, at once.
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
	SEGMENT_INHERITED,                         /* came along in a fork */
};

/* What is in memory of a segment. Of PartitionAlloc's pools some parts are malloc's, others not:
 * each kind has a portion of its own. */
enum { PORTION_OTHER, PORTION_MALLOC, PORTIONS };
struct portion {
	uint64_t committed, rss, pss, private, swap; /* bytes */
	uint64_t live_blocks, live_bytes;            /* malloc's in the one, garbage-collected
	                                              * objects in the other */
};

struct vm_segment {
	uint32_t id, origin;  /* rows of the session file; origin: the first of those that one call
	                       * made */
	uint64_t start, end;
	uint64_t mapped;      /* ticks: when the program was given the memory; 0 unknown */
	uint64_t born, ended; /* ticks; ended 0: there */
	uint64_t offset;      /* in the file */
	uint64_t inode, device; /* of the file, once known */
	uint32_t stack;       /* session-wide id of the mapping call's, 0 unknown */
	uint32_t file, name;  /* ids of texts, 0 none */
	uint32_t flags;       /* the call's MAP_* */
	uint8_t prot;         /* as it was mapped, or first seen */
	uint8_t source;       /* enum segment_source */
	bool shared, anonymous;
	bool sampled; /* some sample saw it: its bounds are history */
	uint64_t committed;
	/* what samples have shown, and what follows from it (mappings.c) */
	bool blocks;        /* blocks of malloc lay in it */
	bool own;           /* the library's */
	uint32_t process;   /* id */
	bool tls;           /* a thread's variables lie in it, and it is no stack */
	uint32_t thread;    /* id of the text of the thread's name whose stack it is, 0 none */
	uint32_t module;    /* id of the module that it is a part of, 0 none */
	uint32_t detail;    /* id of a text */
	uint16_t owner;     /* row of owners.def + 1, 0 not told yet */
	struct portion last[PORTIONS];
	bool changed;       /* its row is to be written */
};

struct piece {
	uint64_t start, end;
	struct vm_segment *segment;
	uint8_t prot;
};

struct segments {
	VEC(struct piece) pieces;
	VEC(struct vm_segment *) past; /* those that ended, for the caller to take */
	uint32_t *ids;              /* the last id that was given to a segment */
	uint32_t process;           /* id, for the caller */
	uint64_t corrected;         /* changes that only the kernel's list told, of ranges that
	                             * calls had told of */
};

/* `ids` is shared by all processes of a session. */
void segments_init(struct segments *segments, uint32_t *ids);
void segments_deinit(struct segments *segments);
/* A forked child's, as of `time`. */
void segments_clone(struct segments *segments, const struct segments *parent, uint64_t time);

/* A mapping call at `time`; of `what` start, end, stack, flags, prot, source, shared, anonymous,
 * offset, name are read. Bounds are whole pages. */
void segments_map(struct segments *segments, const struct vm_segment *what, uint64_t time);
void segments_unmap(struct segments *segments, uint64_t start, uint64_t end, uint64_t begun,
		    uint64_t time);
void segments_protect(struct segments *segments, uint64_t start, uint64_t end, unsigned prot,
		      uint64_t begun);
/* mremap; `flags` its MREMAP_*. */
void segments_move(struct segments *segments, uint64_t old, uint64_t old_bytes, uint64_t at,
		   uint64_t bytes, unsigned flags, uint32_t stack, uint64_t begun, uint64_t time);
/* The break went from `from` to `to`; `name` is the text of "[heap]". */
void segments_break(struct segments *segments, uint64_t from, uint64_t to, uint32_t stack,
		    uint32_t name, uint64_t time);
void segments_name(struct segments *segments, uint64_t start, uint64_t end, uint32_t name,
		   uint64_t time);
/* [start, end) of one segment becomes one of its own. NULL: it is not in one. */
struct vm_segment *segments_split(struct segments *segments, uint64_t start, uint64_t end,
				  uint64_t time);

/* Ranges that calls touched while the list was being read: what it says of them is neither old nor
 * new. */
struct flux {
	uint64_t start, end;
};
/* The kernel's list as of `time`, sorted: afterwards the pieces cover exactly what it covers, but
 * for `flux`. */
void segments_observe(struct segments *segments, const struct smaps_area *areas, size_t count,
		      const struct flux *flux, size_t flux_count, uint64_t time);

/* Index of the first piece that ends behind `address`. */
size_t segments_find(const struct segments *segments, uint64_t address);

#endif
