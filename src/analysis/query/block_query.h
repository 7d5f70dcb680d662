/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_query.h: finds blocks by an address that they covered.
 *
 * Runs: CLI. Signals: no. Allocates: by processes. Threads: one a store.
 */
#ifndef SHINY_BLOCK_QUERY_H
#define SHINY_BLOCK_QUERY_H

#include "filter.h"

/* The last block of a process that covered an address. */
struct block_found {
	uint32_t process, stack, thread, vtable, end_thread;
	uint64_t address, size, born, ended; /* ended: 0: live at the end */
	uint8_t api;
};
struct blocks_found {
	struct block_found *rows; /* live ones first, then the latest */
	size_t count, room;
};
/* Finds the blocks in a pass over the events of the filter. */
SHINY_MUST_CHECK struct shiny_err *blocks_find(struct store *store, const struct filter *filter,
					       uint64_t address, struct blocks_found *out);
void blocks_deinit(struct blocks_found *blocks);

/* The process and thread that allocated a block. */
struct block_maker {
	char *process, *thread; /* role, else program; the thread's name, "": none */
	int64_t pid, tid;
};
/* Loads them; `process` NULL: the session has no such process. */
SHINY_MUST_CHECK struct shiny_err *block_maker_load(struct store *store,
						    const struct block_found *block,
						    struct block_maker *out);
void block_maker_deinit(struct block_maker *maker);

#endif
