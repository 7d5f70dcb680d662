/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are told a type, for typed_test: an allocator with memory of its own, whose
 * function is told a category, and one that lays an object behind a header into a block of malloc.
 * The program keeps a book: "truth OBJECTS BYTES NAME" of what it leaves, for each name.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_CALL __attribute__((noinline, visibility("default")))
enum { UNIT = 64, UNITS = 1 << 16 };

/* ---- the allocator: free lists by units ---- */

struct unit_run {
	size_t units;
	struct unit_run *next;
};
static _Alignas(64) char memory[UNIT * UNITS];
static size_t used;
static struct unit_run *spare[64];

TOLD_CALL void *mem_new(size_t bytes, const char *category)
{
	size_t units = (bytes + sizeof(struct unit_run) + UNIT - 1) / UNIT;
	struct unit_run *c = spare[units];

	(void)category;
	if (c) {
		spare[units] = c->next;
	} else {
		c = (struct unit_run *)(memory + UNIT * used);
		used += units;
		c->units = units;
	}
	return c + 1;
}
TOLD_CALL void mem_end(void *block)
{
	struct unit_run *c = (struct unit_run *)block - 1;

	c->next = spare[c->units];
	spare[c->units] = c;
}
TOLD_CALL void *mem_resize(void *block, size_t bytes, const char *category)
{
	void *moved = mem_new(bytes, category);
	struct unit_run *c = block;
	size_t old = c ? c[-1].units * UNIT - sizeof(*c) : 0;

	if (block) {
		memcpy(moved, block, old < bytes ? old : bytes);
		mem_end(block);
	}
	return moved;
}

/* ---- objects in blocks of malloc ---- */

TOLD_CALL void *object_new(const char *name, size_t bytes)
{
	const char **block = malloc(bytes + 2 * sizeof(*block));

	block[0] = name;
	return block + 2;
}
TOLD_CALL void object_end(void *object) { free((const char **)object - 2); }

/* ---- the program ---- */

static const char *const names[] = { "Mesh vertices", "struct node", "node *",
				     "Image buffer", "std::pair<int, long unsigned int>" };
enum { NAMES = sizeof(names) / sizeof(*names), KEPT = 512 };
static struct {
	void *at;
	size_t bytes;
	int name, is_object;
} kept[KEPT];
static size_t objects[2][NAMES], bytes[2][NAMES];
static uint32_t state = 1;

static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

static void end(int i)
{
	if (kept[i].at && kept[i].is_object)
		object_end(kept[i].at);
	else if (kept[i].at)
		mem_end(kept[i].at);
	kept[i].at = NULL;
}

static void step(void)
{
	int i = (int)draw(KEPT), grows = draw(4) == 0;
	size_t size = 1 + draw(2000);

	if (kept[i].at && !kept[i].is_object && grows) { /* keeps its type, whatever it is told */
		kept[i].at = mem_resize(kept[i].at, size, "Resized");
		kept[i].bytes = size;
		return;
	}
	end(i);
	kept[i].name = (int)draw(NAMES);
	kept[i].is_object = (int)draw(2);
	kept[i].bytes = size;
	if (kept[i].is_object)
		kept[i].at = object_new(names[kept[i].name], size);
	else
		kept[i].at = grows ? mem_resize(NULL, size, names[kept[i].name])
				   : mem_new(size, names[kept[i].name]);
}

int main(void)
{
	char made[] = "made at run time";

	for (int i = 0; i < 20000; i++)
		step();
	for (int i = 0; i < KEPT; i++)
		if (kept[i].at) {
			objects[kept[i].is_object][kept[i].name]++;
			bytes[kept[i].is_object][kept[i].name] += kept[i].bytes;
		}
	for (int i = 0; i < 3; i++)
		object_new(strdup(made), 24);
	for (int n = 0; n < NAMES; n++)
		for (int is_object = 0; is_object < 2; is_object++)
			printf("truth %s %zu %zu %s\n", is_object ? "malloc" : "own",
			       objects[is_object][n],
			       bytes[is_object][n] + (is_object ? 16 * objects[1][n] : 0),
			       names[n]);
	return 0;
}
