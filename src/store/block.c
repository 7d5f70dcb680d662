/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c: packs events into self-contained compressed blocks: their design, their beginning and
 * end; block_pack.c adds events, block_unpack.c reads them.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one a packer.
 *
 * The problem: an event is 50 bytes as a struct, there are hundreds of millions, and every field
 * must be restored exactly, from less than 4 bytes an event and in a time that is small beside the
 * sidecar's other work.
 *
 * The approach: programs repeat themselves. A model (model.h) guesses each event from the earlier
 * ones, and only the difference is stored:
 *   who        the (process, thread) of the last event;
 *   stack      the one that last followed the thread's last two stacks, or its last one; that also
 *              guesses kind, api and size;
 *   address    of an allocation: the addresses that this thread freed last in this size class
 *              (allocators hand out the latest first), or the next one in a row; of a free: the
 *              neighbour in allocation order of the block freed last (lists and trees are torn down
 *              in order), or one of the thread's youngest blocks, or how many allocations ago it
 *              began; of a construction or destruction, the difference to the last one; of a
 *              garbage-collected object, right behind the last one of its space, of which there
 *              are four, by size;
 *   class      of a construction or destruction, and of a garbage-collected object: the last one of
 *              this stack;
 *   size       the last one of this stack; of a free: 0, or the block's;
 *   tag        of an allocation: that of the thread's last one;
 *   time       the difference to the event before: the part that can't be guessed.
 * One control byte an event says which guesses were right; the others go to further columns. Each
 * column holds one kind of number, so that zstd (level 1, checksum on) finds a skewed byte
 * distribution in each.
 *
 * Before zstd a block is: struct header, then the columns one behind the other. The model is reset
 * for every block, so any block can be read without the others.
 *
 * The unpacker trusts nothing: it checks every number before using it as an index, and every column
 * ends where the header says. The checksum detects accidents, the checks detect malice.
 *
 * The cost (`bench/run block`, bench/results/block.txt): recordings of node (1.7 million events)
 * and clang++ (5.2 million) take 0.8 and 2.0 bytes an event, 28 and 45 ns to pack, 18 and 26 ns to
 * unpack, compression included, on one 2.6 GHz core.
 *
 * Not tried: columns of plain differences, where the addresses of frees would be spelt out; naming
 * a freed block by its rank among the live ones, which needs an order-statistics tree.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../base/mem.h"
#include "../base/row_order.h"
#include "block.h"
#include "packer.h"

static void start_block(struct packer *p)
{
	model_reset(&p->model);
	p->stamp += 1u << NODE_BITS;
	if (!p->stamp) {
		memset(p->table, 0, sizeof(p->table));
		p->stamp = 1u << NODE_BITS;
	}
	memset(p->pair_table, 0, sizeof(p->pair_table));
	for (int i = 0; i < COLUMN_COUNT; i++)
		p->at[i] = p->columns[i];
	p->count = 0;
	p->first = UINT64_MAX;
	p->last = 0;
}

size_t packer_count(const struct packer *p)
{
	return p->count;
}

ORDER_BY(by_number, uint32_t, ORDER_VALUES(*a, *b))

static size_t list_processes(struct packer *p)
{
	size_t count = 0;

	for (uint32_t i = 0; i < p->model.pair_count; i++)
		p->processes[i] = p->model.pairs[i].process;
	qsort(p->processes, p->model.pair_count, sizeof(*p->processes), by_number);
	for (uint32_t i = 0; i < p->model.pair_count; i++)
		if (i == 0 || p->processes[i] != p->processes[i - 1])
			p->processes[count++] = p->processes[i];
	return count;
}

struct shiny_err *packer_finish(struct packer *p, struct block *out)
{
	struct header header = { .magic = BLOCK_MAGIC, .count = p->count };
	size_t total = sizeof(header), code = 0;

	packer_note_time(p, p->model.time);
	p->at[COLUMN_CONTROL] = p->columns[COLUMN_CONTROL] + p->count;
	p->at[COLUMN_TIME] = p->columns[COLUMN_TIME] + p->count;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		header.bytes[i] = (uint32_t)(p->at[i] - p->columns[i]);
		total += header.bytes[i];
	}
	/* each flush can add a few bytes */
	size_t room = ZSTD_compressBound(total) + COLUMN_COUNT * 16;
	if (room > p->out_room) {
		void *more = realloc(p->out, room);

		if (!more)
			return shiny_err(SHINY_ERR_OTHER, "out of memory");
		p->out = more;
		p->out_room = room;
	}
	ZSTD_CCtx_reset(p->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(p->zstd, total);
	ZSTD_outBuffer to = { p->out, p->out_room, 0 };
	for (int i = -1; i < COLUMN_COUNT && !ZSTD_isError(code); i++) {
		ZSTD_inBuffer from = { i < 0 ? (void *)&header : p->columns[i],
				       i < 0 ? sizeof(header) : header.bytes[i], 0 };

		/* flush: each column gets its own entropy tables */
		code = ZSTD_compressStream2(p->zstd, &to, &from,
					    i == COLUMN_COUNT - 1 ? ZSTD_e_end : ZSTD_e_flush);
		if (code && !ZSTD_isError(code))
			return shiny_err(
				SHINY_ERR_OTHER,
				"cannot compress a block of events: its buffer is too small");
	}
	if (ZSTD_isError(code))
		return shiny_err(SHINY_ERR_OTHER, "cannot compress a block of events: %s",
				 ZSTD_getErrorName(code));
	*out = (struct block){ .data = p->out,
			       .bytes = to.pos,
			       .count = p->count,
			       .first = p->first,
			       .last = p->last,
			       .processes = p->processes,
			       .process_count = list_processes(p) };
	start_block(p);
	return NULL;
}

struct shiny_err *packer_create(struct packer **out)
{
	struct packer *p = mem_pages(sizeof(*p));
	size_t most = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		most += column_most[i];
	p->zstd = ZSTD_createCCtx();
	p->memory = malloc(most * BLOCK_EVENTS);
	if (!p->zstd || !p->memory) {
		packer_destroy(p);
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
	p->columns[0] = p->memory;
	for (int i = 1; i < COLUMN_COUNT; i++)
		p->columns[i] = p->columns[i - 1] + column_most[i - 1] * BLOCK_EVENTS;
	start_block(p);
	*out = p;
	return NULL;
}

void packer_destroy(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->zstd);
	free(p->memory);
	free(p->out);
	mem_pages_free(p, sizeof(*p));
}
