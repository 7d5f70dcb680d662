/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bare_code.c: pages that are taken for bare code (interpose/unwind/bare_code.h) are pages in which
 * no function is described, and are those of the longest runs of such pages.
 *
 * Tables of functions are made here, as a linker writes them, at random; each page is looked up in
 * a table of all. A table that is not sorted, or describes too much, must teach nothing.
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#include <stdlib.h>
#include <string.h>

#include "../../interpose/unwind/bare_code.h"
#include "../lib/random.h"
#include "../unit/check.h"

enum { PAGES = 1024, PAGE = 1 << SI_BARE_PAGE_BITS, FUNCTIONS = 128, TABLES = 2000 };

/* .eh_frame_hdr and .eh_frame; relative to itself, and so are the functions' addresses. */
static struct unwind_table {
	uint8_t version, encodings[3];
	int32_t frames;
	uint32_t count;
	struct { int32_t begin, entry; } pair[FUNCTIONS];
	struct { uint32_t length, id; uint8_t body[16]; } common;
	struct { uint32_t length, common; int32_t begin; uint32_t range, none; } entry[FUNCTIONS];
} table;

static bool described[PAGES]; /* the first page counts as described */
static uintptr_t start;       /* of the code, of which there is none: nobody reads it */

static int32_t from(uintptr_t address, const void *place)
{
	return (int32_t)(address - (uintptr_t)place);
}

static void add_function(uint32_t i, uintptr_t at, uint32_t bytes)
{
	table.pair[i].begin = from(at, &table);
	table.pair[i].entry = from((uintptr_t)&table.entry[i], &table);
	table.entry[i].length = sizeof(table.entry[i]) - 4;
	table.entry[i].common =
		(uint32_t)((uintptr_t)&table.entry[i].common - (uintptr_t)&table.common);
	table.entry[i].begin = from(at, &table.entry[i].begin);
	table.entry[i].range = bytes;
	for (uintptr_t page = (at - start) / PAGE; page <= (at + bytes - 1 - start) / PAGE; page++)
		if (page < PAGES)
			described[page] = true;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

/* `count` functions, some of them over several pages, some in the first and the last one. */
static void make_table(uint32_t count)
{
	static const uint8_t body[16] = { 1,  'z',  'R',  0, 1, 0x78, 16,
					  1, 0x1b, 0x0c, 7, 8, 0x90, 1 };
	uintptr_t at[FUNCTIONS];

	memset(&table, 0, sizeof(table));
	memset(described, 0, sizeof(described));
	described[0] = true;
	table.version = 1;
	memcpy(table.encodings, (const uint8_t[]){ 0x1b, 0x03, 0x3b }, 3);
	table.count = count;
	table.common.length = sizeof(table.common) - 4;
	memcpy(table.common.body, body, sizeof(body));
	for (uint32_t i = 0; i < count; i++)
		at[i] = start + random_below(PAGE) +
			(i % 7 == 3 ? PAGES - 1 : random_below(PAGES)) * PAGE;
	qsort(at, count, sizeof(*at), by_address);
	for (uint32_t i = 0; i < count; i++)
		add_function(i, at[i], 1 + (uint32_t)random_below(i % 5 ? 64 : 5 * PAGE));
}

static void learn(void)
{
	struct si_cfi_view view = { .table = (uintptr_t)&table,
				    .low = (uintptr_t)&table,
				    .high = (uintptr_t)(&table + 1) };

	memset(&si_bare_code, 0, sizeof(si_bare_code));
	si_bare_code_learn(start, start + (uintptr_t)PAGES * PAGE, &view);
}

static bool is_bare(unsigned page)
{
	return si_is_bare_code(start + (uintptr_t)page * PAGE + 1) &&
	       si_is_bare_code(start + (uintptr_t)page * PAGE + PAGE);
}

static int longest_first(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

/* Pages of the longest runs of those that are not described. */
static int longest_runs(void)
{
	int runs[PAGES] = { 0 }, n = 0, sum = 0;

	for (unsigned page = 0; page < PAGES; page++)
		if (described[page])
			n++;
		else
			runs[n]++;
	qsort(runs, PAGES, sizeof(*runs), longest_first);
	for (unsigned i = 0; i < SI_BARE_RUNS; i++)
		sum += runs[i];
	return sum;
}

static void any_table(void)
{
	unsigned lies = 0, others = 0;

	for (unsigned i = 0; i < TABLES; i++) {
		int found = 0;

		make_table((uint32_t)random_below(i % 3 ? 12 : FUNCTIONS));
		learn();
		for (unsigned page = 0; page < PAGES; page++) {
			found += is_bare(page);
			lies += is_bare(page) && described[page];
		}
		others += found != longest_runs();
		lies += si_is_bare_code(start) ||
			si_is_bare_code(start + (uintptr_t)PAGES * PAGE + 1);
	}
	checkf("pages", lies == 0, "%u pages are described, or none of the code's", lies);
	checkf("runs", others == 0, "of %u tables other pages than those of the longest runs",
	       others);
}

static bool teaches(void)
{
	bool any = false;

	learn();
	for (unsigned page = 0; page < PAGES; page++)
		any |= is_bare(page);
	return any;
}

int main(void)
{
	start = ((uintptr_t)&table & ~(uintptr_t)(PAGE - 1)) + (16 << 20);
	any_table();
	make_table(FUNCTIONS);
	check("a table", teaches(), "it teaches nothing");
	table.pair[40] = table.pair[2];
	check("a table that is not sorted", !teaches(), "it was believed");
	make_table(FUNCTIONS);
	table.common.body[0] = 9;
	check("a table that cannot be read", !teaches(), "it was believed");
	make_table(FUNCTIONS);
	memset(&si_bare_code, 0, sizeof(si_bare_code));
	si_bare_code_learn(start, start + (uintptr_t)(2 * FUNCTIONS - 2) * PAGE,
			   &(struct si_cfi_view){ .table = (uintptr_t)&table,
						  .low = (uintptr_t)&table,
						  .high = (uintptr_t)(&table + 1) });
	check("more functions than every other page", si_bare_code.pages == 0, "it was read");
	return failures != 0;
}
