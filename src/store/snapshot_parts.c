/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_parts.c: see snapshot_parts.h.
 *
 * A part is up to 65,536 rows, column by column, as LEB128 numbers, compressed by zstd. Sorted
 * columns hold differences to the row before, other ids zigzag differences, as neighbours in memory
 * point to neighbours. `at` and `into` are stored as they are.
 */
#include "snapshot_parts.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "db.h"

enum { LEVEL = 3, NUMBER_BYTES = 10 };
enum { PART_BYTES = SNAPSHOT_PART_ROWS * SNAPSHOT_COLUMNS * NUMBER_BYTES };

static uint64_t zigzag(uint64_t value, uint64_t last)
{
	int64_t difference = (int64_t)(value - last);

	return (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
}

static uint64_t unzigzag(uint64_t value, uint64_t last)
{
	return last + (value >> 1 ^ (~(value & 1) + 1));
}

/* ---- packing ---- */

static uint8_t *put_number(uint8_t *to, uint64_t value)
{
	for (; value > 127; value >>= 7)
		*to++ = (uint8_t)(value | 128);
	*to++ = (uint8_t)value;
	return to;
}

static void pack_part(struct snapshot_packer *p)
{
	uint8_t *raw = mem_alloc((size_t)p->rows * SNAPSHOT_COLUMNS * NUMBER_BYTES), *end = raw;
	struct packed_part *part;
	size_t room, bytes;

	for (unsigned c = 0; c < SNAPSHOT_COLUMNS; c++)
		for (uint32_t i = 0; i < p->rows; i++)
			end = put_number(end, p->columns[c][i]);
	room = ZSTD_compressBound((size_t)(end - raw));
	part = vec_push(&p->parts);
	*part = (struct packed_part){ p->kind, p->rows, 0, mem_alloc(room) };
	bytes = ZSTD_compress(part->data, room, raw, (size_t)(end - raw), LEVEL);
	free(raw);
	if (ZSTD_isError(bytes)) {
		p->failed++;
		free(part->data);
		p->parts.count--;
	} else {
		part->bytes = bytes;
		part->data = mem_resize(part->data, bytes, 1);
	}
	p->rows = 0;
	memset(p->last, 0, sizeof(p->last));
}

static void push_row(struct snapshot_packer *p, enum part_kind kind,
		     const uint64_t row[SNAPSHOT_COLUMNS])
{
	for (unsigned c = 0; c < SNAPSHOT_COLUMNS; c++) {
		if (!p->columns[c])
			p->columns[c] = mem_zero(SNAPSHOT_PART_ROWS, sizeof(**p->columns));
		p->columns[c][p->rows] = row[c];
	}
	p->kind = kind;
	if (++p->rows == SNAPSHOT_PART_ROWS)
		pack_part(p);
}

void snapshot_pack_block(struct snapshot_packer *p, const struct snapshot_block *b)
{
	uint64_t row[SNAPSHOT_COLUMNS] = { b->address - p->last[0], b->size,
					   zigzag(b->stack, p->last[1]), b->vtable };

	p->last[0] = b->address;
	p->last[1] = b->stack;
	p->blocks++;
	push_row(p, SNAPSHOT_BLOCKS, row);
}

void snapshot_pack_edge(struct snapshot_packer *p, const struct snapshot_edge *e)
{
	uint64_t row[SNAPSHOT_COLUMNS];

	if (p->rows && p->kind != SNAPSHOT_EDGES)
		pack_part(p);
	row[0] = e->source - p->last[0];
	row[1] = e->at;
	row[2] = zigzag(e->target, p->last[1]);
	row[3] = e->into;
	p->last[0] = e->source;
	p->last[1] = e->target;
	p->edges++;
	push_row(p, SNAPSHOT_EDGES, row);
}

void snapshot_pack_end(struct snapshot_packer *p)
{
	if (p->rows)
		pack_part(p);
}

void snapshot_packer_deinit(struct snapshot_packer *p)
{
	for (size_t i = 0; i < p->parts.count; i++)
		free(p->parts.at[i].data);
	free(p->parts.at);
	for (unsigned c = 0; c < SNAPSHOT_COLUMNS; c++)
		free(p->columns[c]);
	*p = (struct snapshot_packer){ 0 };
}

struct shiny_err *snapshot_put_parts(struct store *store, uint32_t snapshot,
				     const struct snapshot_packer *packer)
{
	for (size_t i = 0; i < packer->parts.count; i++) {
		const struct packed_part *part = &packer->parts.at[i];

		SHINY_TRY(store_put_snapshot_part(store, snapshot, (uint32_t)i + 1, part->kind,
						  part->rows, part->data, part->bytes));
	}
	return NULL;
}

/* ---- unpacking ---- */

struct part_reader {
	uint8_t *raw;
	uint64_t *columns[SNAPSHOT_COLUMNS];
	struct store *store;
	uint32_t snapshot;
};

static void reader_deinit(struct part_reader *r)
{
	free(r->raw);
	for (unsigned c = 0; c < SNAPSHOT_COLUMNS; c++)
		free(r->columns[c]);
}

/* Reads a number; false: the bytes end within it, or it has more than 64 bits. */
static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		*out |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
	}
	return false;
}

static bool unpack_part(struct part_reader *r, const void *data, size_t bytes, size_t rows)
{
	size_t raw = rows <= SNAPSHOT_PART_ROWS ? ZSTD_decompress(r->raw, PART_BYTES, data, bytes)
						: 0;
	const uint8_t *at = r->raw, *end = r->raw + raw;

	if (!rows || rows > SNAPSHOT_PART_ROWS || ZSTD_isError(raw))
		return false;
	for (unsigned c = 0; c < SNAPSHOT_COLUMNS; c++)
		for (size_t i = 0; i < rows; i++)
			if (!take_number(&at, end, &r->columns[c][i]))
				return false;
	return at == end;
}

static struct shiny_err *give_blocks(const struct part_reader *r, size_t rows,
				     snapshot_blocks_fn *each, void *context)
{
	AUTO_FREE struct snapshot_block *blocks = mem_zero(rows, sizeof(*blocks));
	uint64_t address = 0, stack = 0;

	for (size_t i = 0; i < rows; i++) {
		address += r->columns[0][i];
		stack = unzigzag(r->columns[2][i], stack);
		blocks[i] = (struct snapshot_block){ address, r->columns[1][i], (uint32_t)stack,
						     (uint32_t)r->columns[3][i] };
	}
	return each(context, blocks, rows);
}

static struct shiny_err *give_edges(const struct part_reader *r, size_t rows,
				    snapshot_edges_fn *each, void *context)
{
	AUTO_FREE struct snapshot_edge *edges = mem_zero(rows, sizeof(*edges));
	uint64_t source = 0, target = 0;

	for (size_t i = 0; i < rows; i++) {
		source += r->columns[0][i];
		target = unzigzag(r->columns[2][i], target);
		edges[i] = (struct snapshot_edge){ (uint32_t)source, (uint32_t)target,
						   r->columns[1][i], r->columns[3][i] };
	}
	return each(context, edges, rows);
}

static struct shiny_err *read_parts(struct part_reader *r, enum part_kind kind,
				    snapshot_blocks_fn *blocks, snapshot_edges_fn *edges,
				    void *context)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = NULL;

	r->raw = mem_alloc(PART_BYTES);
	for (unsigned c = 0; c < SNAPSHOT_COLUMNS; c++)
		r->columns[c] = mem_zero(SNAPSHOT_PART_ROWS, sizeof(**r->columns));
	SHINY_TRY(store_query(r->store,
			      "SELECT rows, data FROM snapshot_part WHERE snapshot = ? AND "
			      "kind = ? ORDER BY part",
			      &q));
	query_bind_number(q, 1, r->snapshot);
	query_bind_number(q, 2, kind);
	QUERY_EACH (q, err) {
		size_t bytes = 0, rows = (size_t)query_number(q, 0);
		const void *data = query_blob(q, 1, &bytes);

		if (!unpack_part(r, data, bytes, rows))
			err = shiny_err(SHINY_ERR_OTHER,
					"cannot read snapshot %u: a part of it is damaged",
					r->snapshot);
		else
			err = kind == SNAPSHOT_BLOCKS ? give_blocks(r, rows, blocks, context)
						      : give_edges(r, rows, edges, context);
		if (err)
			break;
	}
	return err;
}

static struct shiny_err *each_part(struct part_reader *r, enum part_kind kind,
				   snapshot_blocks_fn *blocks, snapshot_edges_fn *edges,
				   void *context)
{
	struct shiny_err *err = db_exec(r->store, STORE_KEEP_NO_PAGES, "read"), *after;

	if (!err)
		err = read_parts(r, kind, blocks, edges, context);
	after = db_exec(r->store, STORE_KEEP_PAGES, "read");
	if (!err)
		return after;
	shiny_err_free(after);
	return err;
}

struct shiny_err *snapshot_each_block(struct store *store, uint32_t snapshot,
				      snapshot_blocks_fn *each, void *context)
{
	SHINY_CLEANUP(reader_deinit)
	struct part_reader r = { .store = store, .snapshot = snapshot };

	return each_part(&r, SNAPSHOT_BLOCKS, each, NULL, context);
}

struct shiny_err *snapshot_each_edge(struct store *store, uint32_t snapshot,
				     snapshot_edges_fn *each, void *context)
{
	SHINY_CLEANUP(reader_deinit)
	struct part_reader r = { .store = store, .snapshot = snapshot };

	return each_part(&r, SNAPSHOT_EDGES, NULL, each, context);
}
