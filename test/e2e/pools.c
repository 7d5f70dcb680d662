/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of pools whose objects lie in blocks of malloc, for pools_test, and a program that uses
 * it at random and keeps a book: pools.c OPERATIONS [SEED]. Pools are a forest; they are emptied,
 * reset, destroyed, given another parent; a child process goes on with what it inherited. At the
 * end each process prints its book, a line for each pool's name: objects and bytes that live, and
 * blocks of malloc that the pools have.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POOL_CALL __attribute__((noinline, visibility("default")))
enum { POOLS = 40, NAMES = 8, BLOCK = 4096, OBJECTS = 64 };

/* ---- the library ---- */

struct pool_block {
	struct pool_block *next;
	size_t used, room;
};
struct test_pool {
	struct test_pool *parent, *child, *next;
	struct pool_block *blocks;
	const char *name;
	struct book_object *objects; /* of the book, not of the library */
	int index;
};

static void *room_in(struct test_pool *pool, size_t bytes)
{
	struct pool_block *b = pool->blocks;
	size_t need = (bytes + 15) & -16UL;
	char *at;

	if (!b || b->room - b->used < need) {
		size_t room = need > BLOCK ? need : BLOCK;

		b = malloc(sizeof(*b) + 8 + room);
		*b = (struct pool_block){ pool->blocks, 0, room };
		pool->blocks = b;
	}
	at = (char *)(b + 1) + 8 + b->used;
	b->used += need;
	return at;
}

static void drop_blocks(struct test_pool *pool)
{
	while (pool->blocks) {
		struct pool_block *b = pool->blocks;

		pool->blocks = b->next;
		free(b);
	}
}

static void take_out(struct test_pool *pool)
{
	struct test_pool **at = pool->parent ? &pool->parent->child : NULL;

	for (; at && *at; at = &(*at)->next)
		if (*at == pool) {
			*at = pool->next;
			break;
		}
	pool->parent = pool->next = NULL;
}

static void put_in(struct test_pool *pool, struct test_pool *parent)
{
	pool->parent = parent;
	if (!parent)
		return;
	pool->next = parent->child;
	parent->child = pool;
}

static void forget_pool(struct test_pool *pool); /* the program's cleanup */

static void end_children(struct test_pool *pool);
static void end_pool(struct test_pool *pool) /* the library's own calls do not pass the entry */
{
	end_children(pool);
	take_out(pool);
	forget_pool(pool);
	drop_blocks(pool);
	free(pool);
}
static void end_children(struct test_pool *pool)
{
	while (pool->child)
		end_pool(pool->child);
}

POOL_CALL struct test_pool *pool_new(struct test_pool *parent, const char *name)
{
	struct test_pool *pool = calloc(1, sizeof(*pool));

	pool->name = name;
	put_in(pool, parent);
	return pool;
}
POOL_CALL void *pool_take(struct test_pool *pool, size_t bytes) { return room_in(pool, bytes); }
POOL_CALL void *pool_zero(struct test_pool *pool, size_t count, size_t bytes)
{
	return memset(pool_take(pool, count * bytes), 0, count * bytes); /* one object */
}
POOL_CALL void *pool_grow(struct test_pool *pool, void *object, size_t old, size_t bytes)
{
	return memcpy(room_in(pool, bytes), object, old < bytes ? old : bytes);
}
POOL_CALL void pool_give(struct test_pool *pool, void *object)
{
	if (pool->blocks)
		memset(object, 0xdd, 1);
}
POOL_CALL void pool_move(struct test_pool *pool, struct test_pool *parent)
{
	take_out(pool);
	put_in(pool, parent);
}
POOL_CALL void pool_empty(struct test_pool *pool) { drop_blocks(pool); }
POOL_CALL void pool_clear(struct test_pool *pool)
{
	end_children(pool);
	drop_blocks(pool);
}
POOL_CALL void pool_end(struct test_pool *pool)
{
	pool_take(pool, 40); /* a cleanup takes room in the pool that ends */
	end_pool(pool);
}

/* ---- the program, and its book ---- */

struct book_object {
	struct book_object *next;
	char *at;
	size_t bytes;
};
static const char *const names[NAMES] = { "request", "connection", "cache",  "parser",
					  "session", "plan",	   "result", "index" };
static struct test_pool *pools[POOLS];
static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static void forget_objects(struct test_pool *pool)
{
	while (pool->objects) {
		struct book_object *o = pool->objects;

		pool->objects = o->next;
		free(o);
	}
}
static void forget_pool(struct test_pool *pool)
{
	forget_objects(pool);
	pools[pool->index] = NULL;
}

static int is_below(const struct test_pool *pool, const struct test_pool *above)
{
	for (; pool; pool = pool->parent)
		if (pool == above)
			return 1;
	return 0;
}

__attribute__((noinline)) static void *shiny_object(struct test_pool *pool, size_t bytes)
{
	return pool_take(pool, bytes);
}
__attribute__((noinline)) static void *shiny_array(struct test_pool *pool, size_t count,
						   size_t bytes)
{
	return pool_zero(pool, count, bytes);
}

static void note(struct test_pool *pool, char *at, size_t bytes)
{
	struct book_object *o = malloc(sizeof(*o));

	*o = (struct book_object){ pool->objects, at, bytes };
	pool->objects = o;
}

static void step(void)
{
	int index = (int)draw(POOLS);
	struct test_pool *pool = pools[index], *other = pools[draw(POOLS)];
	struct book_object *o, **at;
	uint32_t what = draw(1000);
	size_t bytes = 1 + draw(draw(50) ? 200 : 9000);

	if (!pool) {
		pool = pools[index] = pool_new(other, names[draw(NAMES)]);
		pool->index = index;
	}
	at = &pool->objects;
	for (uint32_t n = draw(4); *at && n; n--)
		at = &(*at)->next;
	o = *at;
	if (what < 550) {
		note(pool, shiny_object(pool, bytes), bytes);
	} else if (what < 700) {
		note(pool, shiny_array(pool, 3, bytes), 3 * bytes);
	} else if (what < 800 && o) {
		o->at = pool_grow(pool, o->at, o->bytes, bytes);
		o->bytes = bytes;
	} else if (what < 970 && o) {
		pool_give(pool, o->at);
		*at = o->next;
		free(o);
	} else if (what < 976) {
		forget_objects(pool);
		pool_empty(pool);
	} else if (what < 982) {
		forget_objects(pool);
		pool_clear(pool);
	} else if (what < 988) {
		pool_end(pool);
	} else if (what < 994 && !is_below(other, pool)) {
		pool_move(pool, other);
	}
}

static void print_book(const char *who)
{
	for (int n = 0; n < NAMES; n++) {
		size_t objects = 0, bytes = 0, blocks = 0;

		for (int i = 0; i < POOLS; i++) {
			const struct test_pool *pool = pools[i];

			if (!pool || pool->name != names[n])
				continue;
			blocks++;
			for (const struct pool_block *b = pool->blocks; b; b = b->next)
				blocks++;
		}
		for (int i = 0; i < POOLS; i++)
			for (struct book_object *o = pools[i] && pools[i]->name == names[n]
							? pools[i]->objects
							: NULL;
			     o; o = o->next) {
				objects++;
				bytes += o->bytes;
			}
		printf("book %s %s %zu %zu\n", who, names[n], objects, bytes);
		printf("storage %s %s %zu\n", who, names[n], blocks);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long operations = argc > 1 ? atol(argv[1]) : 1000;
	pid_t child;

	state = argc > 2 ? (uint64_t)atol(argv[2]) : 1;
	for (long i = 0; i < operations; i++)
		step();
	child = fork();
	state += !child;
	for (long i = 0; i < operations / 4; i++)
		step();
	if (!child) {
		print_book("child");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	print_book("parent");
	return 0;
}
