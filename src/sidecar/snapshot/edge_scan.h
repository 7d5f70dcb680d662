/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_scan.h: finds the words of a copied process that point into its live blocks.
 *
 * Runs: sidecar. Signals: no. Allocates: 24 bytes a block and 16 a page of blocks, beside the copy
 * and the packed result. Threads: one; it needs nothing of the session, and runs beside the loop.
 *
 * An edge is an aligned word that holds an address in a live block, or the address behind one's end
 * where no other block begins. Its source is
 *   - the live block that it lies in;
 *   - or a root: a word of a module's writable data; a thread's stack, from 128 bytes below its
 *     stack pointer (the red zone) to the end of its mapping, where glibc keeps thread-local
 *     variables, too; those of the main thread, in a mapping of their own; a thread's general
 *     registers; another private mapping in which no live block lies.
 * In an object of a collected heap, half a word is one, too, where it unpacks to an address in such
 * an object (member_cage.h) at a multiple of 8, unless the whole word is an address of the process.
 * JavaScript's objects point to collected objects through a table of V8's, in a mapping of its own:
 * a word there has the address in its upper 48 bits. All such words are one root.
 * A word of the C library's data that points into the last word of a block, or behind it, is no
 * edge: malloc's lists point to the headers of free memory, which begin there.
 * No roots: what is free or the allocator's own in a mapping with live blocks; the part of a stack
 * that is not in use; the library's own memory; shared mappings. So a pointer that only shared
 * memory or a vector register holds is not seen.
 */
#ifndef SHINY_EDGE_SCAN_H
#define SHINY_EDGE_SCAN_H

#include <stdint.h>

#include "../../base/mem.h"
#include "../../store/snapshot_parts.h"
#include "member_cage.h"
#include "memory_copy.h"
#include "tracee.h"

enum root_kind { ROOT_NONE, ROOT_VARIABLE, ROOT_STACK, ROOT_REGISTER, ROOT_THREAD_LOCAL,
		 ROOT_MAPPING, ROOT_WRAPPER };

struct scan_module {
	uint64_t start, end, bias;
	uint32_t module; /* session-wide id */
	bool allocator;  /* the C library: its lists of free memory are among its variables */
};
struct scan_own {
	uint64_t start, end;
};
struct scan_root {
	enum root_kind kind;
	uint32_t module, tid;
	bool allocator; /* copied from its scan_module */
	uint64_t vaddr; /* lowest address of a stack or mapping; 0 for registers */
};
struct block_page;

struct edge_scan { /* zeroed: empty */
	/* in */
	struct memory_copy copy;
	struct tracee_thread *threads;
	size_t thread_count;
	VEC(struct snapshot_block) blocks; /* in any order */
	VEC(struct scan_module) modules;   /* sorted, disjoint */
	VEC(struct scan_own) own;          /* the library's memory */
	uint64_t collected_first, collected_last; /* least and greatest address of objects; 0:
	                                           * none */
	/* out */
	uint64_t bytes; /* sum of the blocks' sizes */
	VEC(struct scan_root) roots;
	struct snapshot_packer packed;
	/* while it runs */
	struct member_cage cage;
	struct block_page *pages;
	size_t page_mask;
	VEC(uint32_t) spanning; /* blocks that end on a later page than they begin */
	VEC(struct snapshot_edge) root_edges; /* source: number of the root, not counting blocks */
	bool *has_blocks;                     /* by area */
};

void edge_scan_run(struct edge_scan *scan);
void edge_scan_deinit(struct edge_scan *scan);
const char *root_kind_name(enum root_kind kind);

#endif
