/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_edge_scan.c: edges of a made-up process with a collected heap, in memory that this test lays
 * out: members are unpacked for each shift, where the program keeps the cage's address, and only
 * there. How a member is packed is cppgc's rule, written here a second time.
 */
#include <unistd.h>

#include "../../src/sidecar/snapshot/edge_scan.h"
#include "check.h"

enum { WORDS = 512, AREAS = 3, OBJECTS = 4, OBJECT_BYTES = 36, EDGES_MOST = 64 };

struct made_process {
	struct edge_scan scan;
	uint64_t words[AREAS][WORDS];
	uint64_t data, heap, table; /* addresses of the areas */
	uint64_t base;
	unsigned shift;
};
struct found_edges {
	struct snapshot_edge at[EDGES_MOST];
	size_t count;
};

static struct shiny_err *take(void *context, const struct snapshot_edge *edges, size_t count)
{
	struct found_edges *found = context;

	for (size_t i = 0; i < count && found->count < EDGES_MOST; i++)
		found->at[found->count++] = edges[i];
	return NULL;
}

static struct found_edges edges_of(struct made_process *p)
{
	struct found_edges found = { 0 };
	char path[] = "/tmp/shiny-edge-scan-XXXXXX";
	struct store *store;

	close(mkstemp(path));
	edge_scan_run(&p->scan);
	must(store_create(path, true, true, &store));
	must(snapshot_put_parts(store, 1, &p->scan.packed));
	must(store_finish(store, NULL));
	must(store_open(path, &store));
	must(snapshot_each_edge(store, 1, take, &found));
	store_close(store);
	unlink(path);
	return found;
}

static void add_area(struct made_process *p, uint64_t start, unsigned area)
{
	uint64_t end = start + sizeof(p->words[area]);

	*vec_push(&p->scan.copy.areas) = (struct copied_area){ .start = start, .end = end };
	*vec_push(&p->scan.copy.runs) = (struct copied_run){ start, end, p->words[area] };
}

static uint64_t object(const struct made_process *p, unsigned i)
{
	return p->heap + 64 * (i + 1);
}

static uint32_t *half(struct made_process *p, unsigned i, unsigned offset)
{
	return (uint32_t *)(void *)p->words[1] + (object(p, i) - p->heap + offset) / 4;
}

static uint32_t pack(const struct made_process *p, uint64_t address)
{
	return (uint32_t)(address >> p->shift);
}

/* The areas are in order: data, heap, table. */
static void make(struct made_process *p, unsigned shift, bool has_base)
{
	*p = (struct made_process){ .shift = shift, .data = 0x10000, .table = UINT64_C(1) << 46 };
	p->heap = (UINT64_C(0x1554) << (31 + shift) | UINT64_C(1) << (31 + shift)) + 0x340000;
	p->base = (p->heap >> (31 + shift) << (31 + shift)) | ((UINT64_C(1) << (31 + shift)) - 1);
	add_area(p, p->data, 0);
	add_area(p, p->heap, 1);
	add_area(p, p->table, 2);
	*vec_push(&p->scan.modules) =
		(struct scan_module){ p->data, p->data + sizeof(p->words[0]), 0, 1, false };
	for (unsigned i = 0; i < OBJECTS; i++)
		*vec_push(&p->scan.blocks) =
			(struct snapshot_block){ object(p, i), OBJECT_BYTES, 1, 0 };
	p->scan.collected_first = object(p, 0);
	p->scan.collected_last = object(p, OBJECTS - 1);
	p->words[0][3] = UINT64_MAX; /* low bits as a base has them, of no heap */
	p->words[0][8] = has_base ? p->base : 0;
}

static bool has(const struct found_edges *found, uint32_t source, uint64_t at, uint32_t target,
		uint64_t into)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->at[i].source == source && found->at[i].at == at &&
		    found->at[i].target == target && found->at[i].into == into)
			return true;
	return false;
}

static void test_members(unsigned shift)
{
	struct made_process p;
	struct found_edges found;

	make(&p, shift, true);
	*half(&p, 0, 0) = pack(&p, object(&p, 1));
	*half(&p, 0, 4) = pack(&p, object(&p, 2));
	*half(&p, 0, 8) = 2 >> 1; /* cppgc's sentinel */
	*half(&p, 0, 12) = pack(&p, object(&p, 3) + 16);
	*half(&p, 0, 16) = 7;
	*half(&p, 0, 20) = pack(&p, object(&p, 1));
	*half(&p, 0, 32) = pack(&p, object(&p, 3)); /* the last half a word */
	*half(&p, 1, 0) = (uint32_t)object(&p, 2);  /* a whole pointer */
	*half(&p, 1, 4) = (uint32_t)(object(&p, 2) >> 32);
	*half(&p, 1, 8) = pack(&p, p.heap + 0x800); /* no object lies there */
	*half(&p, 2, 0) = pack(&p, p.heap + sizeof(p.words[1]));
	found = edges_of(&p);
	printf("# shift %u\n", shift);
	number("the base is found", p.scan.cage.base, p.base);
	number("the shift is found", p.scan.cage.shift, shift);
	number("no other edges", found.count, 6);
	check_that("both halves of a word", has(&found, 1, 0, 2, 0) && has(&found, 1, 4, 3, 0));
	check_that("beside a sentinel, into an object", has(&found, 1, 12, 4, 16));
	check_that("beside a number", has(&found, 1, 20, 2, 0));
	check_that("half a word at the end", has(&found, 1, 32, 4, 0));
	check_that("a whole pointer is one edge", has(&found, 2, 0, 3, 0));
	edge_scan_deinit(&p.scan);
}

/* Nothing says where the cage is: a member stays a number. */
static void test_no_base(void)
{
	struct made_process p;
	struct found_edges found;

	make(&p, 3, false);
	*half(&p, 0, 0) = pack(&p, object(&p, 1));
	p.words[0][8] = p.base ^ UINT64_C(1) << 40; /* another cage's */
	found = edges_of(&p);
	number("no base, no members", p.scan.cage.shift, 0);
	number("no base, no edges", found.count, 0);
	edge_scan_deinit(&p.scan);
}

/* Numbers that look like members, in memory that is no object's, and in a word that is an address
 * of the process. */
static void test_no_members(void)
{
	struct made_process p;
	struct found_edges found;

	make(&p, 3, true);
	*half(&p, 0, 0) = pack(&p, object(&p, 1));
	p.words[0][5] = pack(&p, object(&p, 1));
	p.words[2][5] = pack(&p, object(&p, 1));
	*half(&p, 1, 8) = pack(&p, object(&p, 2));
	*half(&p, 1, 12) = (uint32_t)(object(&p, 2) >> 32);
	*vec_push(&p.scan.modules) = (struct scan_module){
		.start = (object(&p, 2) >> 32) << 32,
		.end = ((object(&p, 2) >> 32) + 1) << 32,
		.module = 2,
	};
	found = edges_of(&p);
	number("members are in objects only", found.count, 1);
	check_that("which is this", has(&found, 1, 0, 2, 0));
	edge_scan_deinit(&p.scan);
}

static void test_wrappers(void)
{
	struct made_process p;
	struct found_edges found;

	make(&p, 1, true);
	*half(&p, 0, 0) = pack(&p, object(&p, 1));
	p.words[2][4] = object(&p, 2) << 16 | 0x4a3;
	p.words[2][9] = object(&p, 3) << 16;
	p.words[0][9] = object(&p, 3) << 16; /* a variable is no table */
	found = edges_of(&p);
	number("members and wrappers", found.count, 3);
	number("one root", p.scan.roots.count, 1);
	check("of its kind", p.scan.roots.at[0].kind == ROOT_WRAPPER,
	      root_kind_name(p.scan.roots.at[0].kind));
	check_that("tagged", has(&found, OBJECTS + 1, p.table + 32, 3, 0));
	check_that("untagged", has(&found, OBJECTS + 1, p.table + 72, 4, 0));
	edge_scan_deinit(&p.scan);
}

int main(void)
{
	for (unsigned shift = 1; shift <= MEMBER_SHIFTS; shift++)
		test_members(shift);
	test_no_base();
	test_no_members();
	test_wrappers();
	return failures != 0;
}
