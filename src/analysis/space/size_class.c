/* SPDX-License-Identifier: Apache-2.0 */
/* size_class.c: see size_class.h. */
#include "size_class.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"

const char *const size_allocator_names[SIZE_ALLOCATORS] = {
	[SIZE_UNKNOWN] = "of its own",
	[SIZE_GLIBC] = "glibc",
	[SIZE_PARTITION] = "PartitionAlloc",
	[SIZE_PARTITION_CHILD] = "PartitionAlloc, child",
	[SIZE_PARTITION_DENSE] = "PartitionAlloc, browser",
	[SIZE_JEMALLOC] = "jemalloc",
	[SIZE_TCMALLOC] = "tcmalloc",
	[SIZE_MIMALLOC] = "mimalloc",
	[SIZE_OILPAN] = "Oilpan",
	[SIZE_ZEND] = "zend",
};

/* Slots up to `up_to` bytes are multiples of `step`; or, where it is QUARTERS or EIGHTHS, of that
 * part of the next lower power of two. */
struct size_step {
	uint64_t up_to, step;
};
enum { QUARTERS = 2, EIGHTHS = 3 }; /* parts; no step is as small */
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static const struct size_step glibc_steps[] = { { UINT64_MAX, 16 } };
enum { GLIBC_THRESHOLD = 128 * 1024, GLIBC_PAGE = 4096, GLIBC_HEADER = 8 };

/* malloc.c: smallbin_index, largebin_index_64 */
static const struct size_step glibc_bins[] = {
	{ 1024, 16 },	   { 3072, 64 },       { 10752, 512 },	     { 45056, 4096 },
	{ 163840, 32768 }, { 786432, 262144 }, { UINT64_MAX, 4096 },
};

/* kMaxBucketed; slots above keep their request's size */
enum { PARTITION_LARGEST = 983040, PARTITION_EXACT = 32768 };
static const struct size_step partition_steps[] = {
	{ 256, 16 }, { 917504, QUARTERS }, { PARTITION_LARGEST, 65536 }, { UINT64_MAX, 4096 }
};
static const struct size_step partition_dense_steps[] = { { 256, 16 },
							  { PARTITION_LARGEST, EIGHTHS },
							  { UINT64_MAX, 4096 } };

static const struct size_step jemalloc_steps[] = { { 16, 8 },
						   { 128, 16 },
						   { UINT64_MAX, QUARTERS } };

/* 16 to 256 by 16, eighths of 256 to 768, then the sizes that fill a span of whole pages with the
 * least waste */
static const struct size_step tcmalloc_steps[] = {
	{ 16, 8 },	 { 256, 16 },	   { 512, 32 },	     { 768, 64 },	   { 1536, 128 },
	{ 3328, 256 },	 { 4096, 4096 },   { 5120, 512 },    { 6144, 6144 },	   { 6656, 6656 },
	{ 8192, 8192 },	 { 10240, 1024 },  { 12288, 12288 }, { 13312, 13312 },	   { 16384, 16384 },
	{ 24576, 4096 }, { 26624, 26624 }, { 32768, 32768 }, { UINT64_MAX, 8192 },
};

static const struct size_step mimalloc_steps[] = {
	{ 16, 8 },
	{ 128, 16 },
	{ 128 * KIB, QUARTERS },
	{ 512 * KIB, 64 * KIB },
	{ 8 * MIB, 512 * KIB },
	{ 32 * MIB, MIB },
	{ UINT64_MAX, 4 * MIB },
};

static const struct size_step zend_steps[] = { { 64, 8 },
					       { 3072, QUARTERS },
					       { UINT64_MAX, 4096 } };

static const struct size_step oilpan_steps[] = { { 64 * KIB, 8 }, { UINT64_MAX, 4096 } };

static const struct {
	const struct size_step *steps;
	unsigned extra; /* bytes of a slot for the allocator itself */
	unsigned least; /* least slot */
} rules[SIZE_ALLOCATORS] = {
	[SIZE_GLIBC] = { glibc_steps, GLIBC_HEADER, 32 },
	[SIZE_PARTITION] = { partition_steps, 0, 16 },
	[SIZE_PARTITION_CHILD] = { partition_steps, 4, 16 },
	[SIZE_PARTITION_DENSE] = { partition_dense_steps, 4, 16 },
	[SIZE_JEMALLOC] = { jemalloc_steps, 0, 8 },
	[SIZE_TCMALLOC] = { tcmalloc_steps, 0, 8 },
	[SIZE_MIMALLOC] = { mimalloc_steps, 0, 8 },
	[SIZE_OILPAN] = { oilpan_steps, 8, 16 },
	[SIZE_ZEND] = { zend_steps, 0, 8 },
};

static uint64_t round_up(uint64_t n, uint64_t step)
{
	return (n + step - 1) / step * step;
}

static uint64_t step_up(const struct size_step *s, uint64_t n)
{
	uint64_t step;

	while (n > s->up_to)
		s++;
	step = s->step;
	if (step == QUARTERS || step == EIGHTHS)
		step = (UINT64_C(1) << (63 - __builtin_clzll(n - 1))) >> step;
	return round_up(n, step);
}

static uint64_t slot_of(enum size_allocator allocator, uint64_t size)
{
	uint64_t n = size + rules[allocator].extra;

	return n < rules[allocator].least ? rules[allocator].least
					  : step_up(rules[allocator].steps, n);
}

uint64_t size_bin(enum size_allocator allocator, uint64_t slot)
{
	return allocator == SIZE_GLIBC || allocator == SIZE_UNKNOWN
		       ? step_up(glibc_bins, slot ? slot : 1)
		       : slot;
}

struct size_room size_room(enum size_allocator allocator, uint64_t size, uint64_t address)
{
	struct size_room room = { size, size, false };

	if (allocator == SIZE_UNKNOWN || size > UINT64_MAX / 4)
		return room;
	room.slot = slot_of(allocator, size);
	room.usable = room.slot - rules[allocator].extra;
	switch (allocator) {
	case SIZE_GLIBC:
		if (room.slot >= GLIBC_THRESHOLD &&
		    (!address || address % GLIBC_PAGE == 2 * GLIBC_HEADER)) {
			room.slot = round_up(room.slot + GLIBC_HEADER, GLIBC_PAGE);
			room.usable = room.slot - 2 * GLIBC_HEADER;
			room.mapped = true;
		}
		break;
	case SIZE_PARTITION:
	case SIZE_PARTITION_CHILD:
	case SIZE_PARTITION_DENSE:
		if (room.slot > PARTITION_EXACT)
			room.usable = size;
		room.mapped = room.slot > PARTITION_LARGEST;
		break;
	case SIZE_MIMALLOC:
		room.mapped = room.slot > 16 * MIB;
		break;
	case SIZE_OILPAN:
		room.mapped = room.slot > 64 * KIB;
		break;
	default:
		break;
	}
	return room;
}

/* ---- which malloc ---- */

/* Malloc of a library, by its file name, or of an allocator inside the program, by the names of its
 * patched functions. */
static const struct {
	const char *pattern;
	enum size_allocator allocator;
} libraries[] = {
	{ "libjemalloc*", SIZE_JEMALLOC }, { "libtcmalloc*", SIZE_TCMALLOC },
	{ "libmimalloc*", SIZE_MIMALLOC },
}, functions[] = {
	{ "*dallocx*", SIZE_JEMALLOC },
	{ "* je_malloc*", SIZE_JEMALLOC },
	{ "* tc_*", SIZE_TCMALLOC },
	{ "* mi_*", SIZE_MIMALLOC },
};

static enum size_allocator by_text(const char *text)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (text_matches(functions[i].pattern, text))
			return functions[i].allocator;
	return SIZE_UNKNOWN;
}

/* A zygote's child that ended before its role was seen is some renderer or utility. */
static enum size_allocator by_role(const char *role, const char *parent)
{
	if (strcmp(role, "browser") == 0)
		return SIZE_PARTITION_DENSE;
	if (!*role)
		return strcmp(parent, "zygote") == 0 ? SIZE_PARTITION_CHILD : SIZE_PARTITION;
	return strcmp(role, "zygote") == 0 || strcmp(role, "crashpad-handler") == 0
		       ? SIZE_PARTITION
		       : SIZE_PARTITION_CHILD;
}

static struct shiny_err *load_processes(struct store *store, struct size_classes *classes)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store,
					    "SELECT p.id, p.attach, p.attach_text, p.role, q.role "
					    "FROM process p LEFT JOIN process q ON q.id = p.parent "
					    "WHERE p.id > 0",
					    &q);

	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, classes->count + 1);
		const char *attach = query_text(q, 1);

		if (!id)
			continue;
		classes->allocators[id - 1] = strcmp(attach, "partition_alloc") == 0
						      ? by_role(query_text(q, 3), query_text(q, 4))
					      : strcmp(attach, "entries") == 0
						      ? by_text(query_text(q, 2))
						      : SIZE_GLIBC;
	}
	return err;
}

/* Finds libraries that bring another malloc than libc's. */
static struct shiny_err *load_libraries(struct store *store, struct size_classes *classes)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT g.process, m.path FROM mapping g JOIN module m ON m.id = g.module",
		&q);

	QUERY_EACH (q, err) {
		size_t i = (size_t)query_number(q, 0) - 1;

		for (size_t k = 0; i < classes->count && k < sizeof(libraries) / sizeof(*libraries);
		     k++)
			if (classes->allocators[i] == SIZE_GLIBC &&
			    text_matches(libraries[k].pattern, text_base(query_text(q, 1))))
				classes->allocators[i] = (uint8_t)libraries[k].allocator;
	}
	return err;
}

struct shiny_err *size_classes_load(struct store *store, struct size_classes *out)
{
	SHINY_CLEANUP(size_classes_deinit) struct size_classes classes = { 0 };
	struct shiny_err *err;

	classes.count = store_ids(store, "process") - 1;
	classes.allocators = mem_zero(classes.count + 1, sizeof(*classes.allocators));
	err = load_processes(store, &classes);
	if (!err)
		err = load_libraries(store, &classes);
	if (err)
		return err;
	*out = shiny_steal(classes);
	return NULL;
}

void size_classes_deinit(struct size_classes *classes)
{
	free(classes->allocators);
	*classes = (struct size_classes){ 0 };
}
