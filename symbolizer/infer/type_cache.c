/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_cache.c: see type_cache.h.
 *
 * The file has a header, an index (struct file_index) sorted by address, answers and frames in
 * sequence, and the strings, which answers and frames refer to by position. It is read whole and
 * its checksum is checked, which takes a millisecond for a few megabytes; an answer is decoded on
 * demand. Numbers are in the machine's byte order: a file of another byte order has another magic
 * number.
 *
 * The checksum finds damage, not malice: a crafted file can pass it. So everything read is checked
 * (answer_code.h), and a malformed answer counts as absent. Only the user can write the directory,
 * so other users should not be able to craft one.
 */
#include "type_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/lower_bound.h"
#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"
#include "../elf/binary.h"
#include "../elf/cache_file.h"
#include "answer_code.h"

#define MAGIC UINT64_C(0x315459546e696853) /* "ShinTYT1" */
/* VERSION goes up when the format or the meaning of answers changes. A rule that gives other
 * answers needs no new version: stack_types.c's key separates the findings of different builds. */
enum { VERSION = 13, ENTRIES_MAX = 1 << 20, FILE_MAX = 64 << 20, KEYS_MAX = 4 };

struct file_header {
	uint64_t magic, checksum; /* XXH3 of all that follows the checksum */
	uint32_t version, build_id_bytes;
	uint8_t build_id[BINARY_BUILD_ID_MAX];
	uint64_t rules_hash;
	uint32_t entries, strings; /* `entries` of the index; `strings`: bytes at the end of the
	                            * file */
};
struct file_index {
	uint64_t ret;
	uint32_t at;          /* of its answer, bytes from the file's start; 0: none */
	uint32_t passes : 5;  /* flags of enum sym_passes, + 1; 0: unknown */
	uint32_t source : 27; /* the path's position, + 1; 1: no path; 0: unknown */
	uint32_t frames;      /* position of its frames, like `at` */
	uint32_t function;    /* distance from the function's start to ret, + 1; 1: in no function;
	                       * 0: unknown */
};
_Static_assert(SYM_PASSES_ALL + 1 < 32 && FILE_MAX < 1 << 27, "they fit");

struct cache_cell {
	uint64_t ret;
	struct site_answer *answer; /* allocated up to its last candidate; NULL: unknown */
	const char *source;         /* NULL: none */
	struct sym_frame *frames;   /* NULL: unknown, or none */
	uint32_t frame_count;
	uint32_t passes, function;  /* as in struct file_index */
	bool source_known, frames_known, frames_kept, passes_kept;
};

/* The part that const functions change: answers are decoded from the file when requested. */
struct cache_table {
	VEC(struct cache_cell) cells;
	struct hash_table by_ret;
};

struct type_cache {
	char *path; /* NULL: memory only */
	struct names *names;
	uint64_t rules_hash;
	uint8_t build_id[BINARY_BUILD_ID_MAX];
	size_t build_id_bytes;
	uint8_t *data; /* the file's content, or NULL */
	size_t bytes;
	const struct file_index *index;
	const char *strings;
	struct file_header header;
	uint64_t added;
	bool changed; /* the file lacks findings */
	struct cache_table *table;
};

/* ---- in memory ---- */

/* NULL: there is no cell yet. */
static struct cache_cell *table_get(const struct cache_table *table, uint64_t ret)
{
	uint32_t at =
		hash_table_find(&table->by_ret, hash_key(ret), i, table->cells.at[i].ret == ret);

	return at == HASH_NONE ? NULL : &table->cells.at[at];
}

static struct cache_cell *table_make(struct cache_table *table, uint64_t ret)
{
	struct cache_cell *cell = table_get(table, ret);

	if (cell)
		return cell;
	hash_table_add(&table->by_ret, hash_key(ret), (uint32_t)table->cells.count);
	cell = vec_push(&table->cells);
	*cell = (struct cache_cell){ .ret = ret };
	return cell;
}

static const struct site_answer *table_put(struct cache_table *table, uint64_t ret,
					   const struct site_answer *answer)
{
	struct cache_cell *cell = table_make(table, ret);
	size_t bytes = offsetof(struct site_answer, candidates) +
		       answer->count * sizeof(*answer->candidates);

	cell->answer = mem_resize(cell->answer, bytes, 1);
	memcpy(cell->answer, answer, bytes);
	return cell->answer;
}

static void table_put_source(struct cache_table *table, uint64_t ret, const char *path)
{
	struct cache_cell *cell = table_make(table, ret);

	cell->source = path;
	cell->source_known = true;
}

static void table_put_passes(struct cache_table *table, uint64_t ret, enum sym_passes passes,
			     bool keep)
{
	struct cache_cell *cell = table_make(table, ret);

	cell->passes = passes + 1;
	cell->passes_kept = keep;
}

static void table_put_function(struct cache_table *table, uint64_t ret, uint64_t low)
{
	uint64_t before = low && ret - low < UINT32_MAX ? ret - low : 0;

	table_make(table, ret)->function = (uint32_t)before + 1;
}

static void table_put_frames(struct cache_table *table, uint64_t ret,
			     const struct sym_frame *frames, size_t count, bool keep)
{
	struct cache_cell *cell = table_make(table, ret);

	if (count)
		cell->frames = mem_resize(cell->frames, count, sizeof(*frames));
	for (size_t i = 0; i < count; i++)
		cell->frames[i] = frames[i];
	cell->frame_count = (uint32_t)count;
	cell->frames_known = true;
	cell->frames_kept = keep;
}

/* ---- from the file ---- */

static struct answer_reader read_at(const struct type_cache *cache, uint32_t at)
{
	return (struct answer_reader){ .data = cache->data,
				       .at = at,
				       .end = cache->bytes - cache->header.strings,
				       .strings = cache->strings,
				       .strings_bytes = cache->header.strings,
				       .names = cache->names };
}

static const struct file_index *find(const struct type_cache *cache, uint64_t ret)
{
	size_t low = lower_bound(cache->header.entries, i, cache->index[i].ret < ret);

	return low < cache->header.entries && cache->index[low].ret == ret ? &cache->index[low]
									   : NULL;
}

/* True if the content is a cache file for this module and these rules. */
static bool judge(struct type_cache *cache)
{
	const size_t checked = offsetof(struct file_header, version);
	struct file_header *h = &cache->header;
	size_t index_bytes;

	memcpy(h, cache->data, sizeof(*h));
	if (h->magic != MAGIC || h->version != VERSION || h->rules_hash != cache->rules_hash ||
	    h->entries > ENTRIES_MAX || h->build_id_bytes != cache->build_id_bytes ||
	    memcmp(h->build_id, cache->build_id, cache->build_id_bytes))
		return false;
	index_bytes = h->entries * sizeof(*cache->index);
	if (h->strings == 0 || h->strings > cache->bytes ||
	    cache->bytes - h->strings < sizeof(*h) + index_bytes ||
	    cache->data[cache->bytes - 1] != 0 ||
	    h->checksum != XXH3_64bits(cache->data + checked, cache->bytes - checked))
		return false;
	cache->index = (const struct file_index *)(const void *)(cache->data + sizeof(*h));
	cache->strings = (const char *)cache->data + cache->bytes - h->strings;
	return true;
}

static void load(struct type_cache *cache)
{
	cache->data =
		cache_file_read(cache->path, sizeof(struct file_header), FILE_MAX, &cache->bytes);
	if (cache->data && judge(cache))
		return;
	free(cache->data);
	cache->data = NULL;
	cache->header = (struct file_header){ 0 };
}

/* ---- to the file ---- */

ORDER_BY(by_ret, struct cache_cell, ORDER_UP(ret))

/* Decodes the whole file into the table, and sorts the table by address. No look-ups may follow. */
static void sort_cells(struct type_cache *cache)
{
	for (uint32_t i = 0; i < cache->header.entries; i++) {
		struct sym_frame frames[SYM_FRAMES_MAX];
		uint64_t ret = cache->index[i].ret, low;
		enum sym_passes passes;
		const char *path;
		size_t count;

		type_cache_get(cache, ret);
		if (cache->index[i].passes && type_cache_passes(cache, ret, &passes))
			table_put_passes(cache->table, ret, passes, true);
		if (type_cache_function(cache, ret, &low))
			table_put_function(cache->table, ret, low);
		if (type_cache_source(cache, ret, &path))
			table_put_source(cache->table, ret, path);
		if (cache->index[i].frames &&
		    type_cache_frames(cache, ret, frames, SYM_FRAMES_MAX, &count))
			table_put_frames(cache->table, ret, frames, count, true);
	}
	if (cache->table->cells.count)
		qsort(cache->table->cells.at, cache->table->cells.count,
		      sizeof(*cache->table->cells.at), by_ret);
	/* its indexes are invalid now */
	hash_table_deinit(&cache->table->by_ret);
}

/* Joins the pieces of the file. */
static uint8_t *join(struct file_header *header, const struct file_index *index,
		     const struct answer_writer *w, size_t bytes)
{
	size_t first = sizeof(*header) + header->entries * sizeof(*index);
	uint8_t *file = mem_alloc(bytes);

	memcpy(file, header, sizeof(*header));
	memcpy(file + sizeof(*header), index, header->entries * sizeof(*index));
	if (w->body.count)
		memcpy(file + first, w->body.at, w->body.count);
	memcpy(file + first + w->body.count, w->strings.at, w->strings.count);
	header->checksum = XXH3_64bits(file + offsetof(struct file_header, version),
				       bytes - offsetof(struct file_header, version));
	memcpy(file + offsetof(struct file_header, checksum), &header->checksum,
	       sizeof(header->checksum));
	return file;
}

/* Returns the content of the new file; NULL: it would be too large. */
static uint8_t *make_file(struct type_cache *cache, size_t *bytes)
{
	struct file_header header = { .magic = MAGIC,
				      .version = VERSION,
				      .build_id_bytes = (uint32_t)cache->build_id_bytes,
				      .rules_hash = cache->rules_hash };
	struct answer_writer w = { 0 };
	struct file_index *index;
	uint8_t *file = NULL;
	size_t count, first;

	sort_cells(cache);
	count = cache->table->cells.count < ENTRIES_MAX ? cache->table->cells.count : ENTRIES_MAX;
	index = mem_zero(count + 1, sizeof(*index));
	first = sizeof(header) + count * sizeof(*index);
	*vec_push(&w.strings) = 0; /* position 0: no text */
	*bytes = 0;
	for (size_t i = 0; i < count && *bytes <= FILE_MAX; i++) {
		const struct cache_cell *cell = &cache->table->cells.at[i];

		index[i] = (struct file_index){ .ret = cell->ret,
						.passes = (cell->passes_kept ? cell->passes
									     : 0) & 31,
						.function = cell->function };
		if (cell->source_known)
			index[i].source = answer_text(&w, cell->source) + 1;
		if (cell->answer) {
			index[i].at = (uint32_t)(first + w.body.count);
			answer_encode(&w, cell->answer);
		}
		if (cell->frames_kept) {
			index[i].frames = (uint32_t)(first + w.body.count);
			frames_encode(&w, cell->frames, cell->frame_count);
		}
		*bytes = first + w.body.count + w.strings.count;
	}
	*bytes = first + w.body.count + w.strings.count;
	if (*bytes <= FILE_MAX) {
		memcpy(header.build_id, cache->build_id, cache->build_id_bytes);
		header.entries = (uint32_t)count;
		header.strings = (uint32_t)w.strings.count;
		file = join(&header, index, &w, *bytes);
	}
	free(index);
	answer_writer_deinit(&w);
	return file;
}

static void save(struct type_cache *cache)
{
	size_t bytes = 0;
	AUTO_FREE uint8_t *file = make_file(cache, &bytes);

	if (file && cache_file_write(cache->path, file, bytes) && !cache->data)
		cache_file_prune(cache->path, KEYS_MAX);
}

/* ---- the interface ---- */

struct type_cache *type_cache_open(const char *directory, const uint8_t *build_id,
				   size_t build_id_bytes, uint64_t rules_hash, struct names *names)
{
	struct type_cache *cache = mem_zero(1, sizeof(*cache));
	char key[24];

	snprintf(key, sizeof(key), "-%016" PRIx64, rules_hash);
	cache->table = mem_zero(1, sizeof(*cache->table));
	cache->names = names;
	cache->rules_hash = rules_hash;
	cache->build_id_bytes = build_id_bytes <= BINARY_BUILD_ID_MAX ? build_id_bytes : 0;
	if (cache->build_id_bytes)
		memcpy(cache->build_id, build_id, cache->build_id_bytes);
	cache->path =
		cache_file_path(directory, "types", cache->build_id, cache->build_id_bytes, key);
	if (cache->path)
		load(cache);
	return cache;
}

void type_cache_close(struct type_cache *cache)
{
	if (!cache)
		return;
	if (cache->path && cache->changed)
		save(cache);
	for (size_t i = 0; i < cache->table->cells.count; i++) {
		free(cache->table->cells.at[i].answer);
		free(cache->table->cells.at[i].frames);
	}
	free(cache->table->cells.at);
	hash_table_deinit(&cache->table->by_ret);
	free(cache->table);
	free(cache->data);
	free(cache->path);
	free(cache);
}

const struct site_answer *type_cache_get(const struct type_cache *cache, uint64_t ret)
{
	const struct cache_cell *cell = table_get(cache->table, ret);
	const struct file_index *index;
	struct answer_reader reader;
	struct site_answer stored;

	if (cell && cell->answer)
		return cell->answer;
	index = find(cache, ret);
	if (!index || !index->at)
		return NULL;
	reader = read_at(cache, index->at);
	if (!answer_decode(&reader, &stored))
		return NULL;
	return table_put(cache->table, ret, &stored);
}

const struct site_answer *type_cache_put(struct type_cache *cache, uint64_t ret,
					 const struct site_answer *answer)
{
	cache->added++;
	cache->changed = true;
	return table_put(cache->table, ret, answer);
}

bool type_cache_passes(const struct type_cache *cache, uint64_t ret, enum sym_passes *out)
{
	const struct cache_cell *cell = table_get(cache->table, ret);
	const struct file_index *index = cell && cell->passes ? NULL : find(cache, ret);
	uint32_t passes = index ? index->passes : cell ? cell->passes : 0;

	if (passes < 1 || passes > SYM_PASSES_ALL + 1)
		return false;
	*out = (enum sym_passes)(passes - 1);
	return true;
}

void type_cache_put_passes(struct type_cache *cache, uint64_t ret, enum sym_passes passes,
			   bool keep)
{
	cache->changed |= keep;
	table_put_passes(cache->table, ret, passes, keep);
}

bool type_cache_source(const struct type_cache *cache, uint64_t ret, const char **path)
{
	const struct cache_cell *cell = table_get(cache->table, ret);
	const struct file_index *index;

	if (cell && cell->source_known) {
		*path = cell->source;
		return true;
	}
	index = find(cache, ret);
	if (!index || !index->source || index->source - 1u >= cache->header.strings)
		return false;
	*path = index->source == 1
			? NULL
			: names_text(cache->names, cache->strings + index->source - 1);
	return true;
}

void type_cache_put_source(struct type_cache *cache, uint64_t ret, const char *path)
{
	cache->changed = true;
	table_put_source(cache->table, ret, path);
}

bool type_cache_frames(const struct type_cache *cache, uint64_t ret, struct sym_frame *out,
		       size_t room, size_t *count)
{
	const struct cache_cell *cell = table_get(cache->table, ret);
	struct sym_frame stored[SYM_FRAMES_MAX];
	const struct sym_frame *frames = stored;
	const struct file_index *index;
	struct answer_reader reader;
	int known;

	if (cell && cell->frames_known) {
		frames = cell->frames;
		known = (int)cell->frame_count;
	} else {
		index = find(cache, ret);
		reader = read_at(cache, index ? index->frames : 0);
		known = index && index->frames ? frames_decode(&reader, stored) : -1;
	}
	if (known < 0)
		return false;
	*count = (size_t)known;
	for (size_t i = 0; i < *count && i < room; i++)
		out[i] = frames[i];
	return true;
}

void type_cache_put_frames(struct type_cache *cache, uint64_t ret, const struct sym_frame *frames,
			   size_t count, bool keep)
{
	cache->changed |= keep;
	table_put_frames(cache->table, ret, frames, count, keep);
}

bool type_cache_function(const struct type_cache *cache, uint64_t ret, uint64_t *low)
{
	const struct cache_cell *cell = table_get(cache->table, ret);
	const struct file_index *index = cell && cell->function ? NULL : find(cache, ret);
	uint32_t function = index ? index->function : cell ? cell->function : 0;

	if (!function || function - 1 > ret)
		return false;
	*low = function == 1 ? 0 : ret - (function - 1);
	return true;
}

void type_cache_put_function(struct type_cache *cache, uint64_t ret, uint64_t low)
{
	cache->changed = true;
	table_put_function(cache->table, ret, low);
}

void type_cache_info(const struct type_cache *cache, struct type_cache_info *out)
{
	*out = (struct type_cache_info){ .path = cache->path, .added = cache->added };
	for (uint32_t i = 0; i < cache->header.entries; i++)
		out->stored += cache->index[i].at != 0;
}
