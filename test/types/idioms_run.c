// SPDX-License-Identifier: Apache-2.0
/*
 * idioms_run: runs the idioms, twice each, and prints their truth at the end.
 *
 * Runs: a test's target. Allocates: the marks.
 *
 *   run K NAME keep|drop         the events between the blocks of MARK + 2K and MARK + 2K + 1 bytes are this run's
 *   one K SIZE TYPE              as said by one(), many() and perhaps() (idioms.h)
 *   many K UNIT TYPE
 *   perhaps K UNIT TYPE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idioms.h"

enum { IDIOMS = 400, EXPECTED = 4000, MARK = 1 << 20 };

static struct { const char *name; idiom_fn *run; } idioms[IDIOMS];
static struct { const char *kind, *type; size_t size; int run; } expected[EXPECTED];
static const void *volatile leaked[EXPECTED];
static int idiom_count, expected_count, leaked_count, current;
static const char *only; /* run this one alone */

static void full(void)
{
	fputs("idioms: a table is too small\n", stderr);
	abort();
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	return strcmp(*x, *y);
}

void idiom_add(const char *name, idiom_fn *run)
{
	if (idiom_count == IDIOMS)
		full();
	idioms[idiom_count].name = name;
	idioms[idiom_count++].run = run;
}

NOINLINE static void mark(size_t size)
{
	void *block = malloc(unknown(size));
	escape(block);
	free(block);
}

void idiom_begin(void)
{
	mark(MARK + 2 * (size_t)current);
}

void idiom_end(void)
{
	mark(MARK + 2 * (size_t)current + 1);
}

static void expect(const char *kind, const char *type, size_t size)
{
	if (expected_count == EXPECTED)
		full();
	expected[expected_count].kind = kind;
	expected[expected_count].type = type;
	expected[expected_count].size = size;
	expected[expected_count++].run = current;
}

void one(const char *type, size_t size)
{
	expect("one", type, size);
}

void many(const char *type, size_t unit)
{
	expect("many", type, unit);
}

void perhaps(const char *type, size_t unit)
{
	expect("perhaps", type, unit);
}

void leak(const void *block)
{
	if (leaked_count == EXPECTED)
		full();
	leaked[leaked_count++] = block;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		only = argv[1];
	/* constructors of different files come in any order */
	qsort(idioms, (size_t)idiom_count, sizeof idioms[0], by_name);
	for (int i = 0; i < idiom_count; i++)
		for (int pass = 0; pass < 2; pass++) {
			current = 2 * i + pass;
			if (!only || strcmp(only, idioms[i].name) == 0)
				idioms[i].run(pass == 0);
		}
	for (int i = 0; i < 2 * idiom_count; i++)
		printf("run %d %s %s\n", i, idioms[i / 2].name, i % 2 ? "drop" : "keep");
	for (int i = 0; i < expected_count; i++)
		printf("%s %d %zu %s\n", expected[i].kind, expected[i].run, expected[i].size, expected[i].type);
	return 0;
}
