/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged.c: objects of an interpreter: one function allocates them all, with a tag and a size, and
 * gives back a pointer to what they begin with. Each class has a size of its own, and all sizes are
 * multiples of the common beginning's. Prints "made SIZE BLOCKS CLASS", "-" where a block has no
 * class.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BEGINNING struct object *next; long tag

struct object {
	BEGINNING;
};
struct table {
	BEGINNING;
	void *slots, *meta;
	long count, room;
};
struct string {
	BEGINNING;
	long length, hash;
	char text[];
};
struct closure {
	BEGINNING;
	void (*code)(void);
	void *upvalues[5];
};
struct thread {
	BEGINNING;
	long stack[12];
};
struct pair { /* no object: an array of them is one */
	long key, value;
};

static struct object *objects;
static volatile long used;

/* As the machine asks its host: it may be called for anything. */
NOINLINE static void *host_alloc(void *block, size_t bytes)
{
	used += (long)bytes;
	return realloc(block, bytes);
}

NOINLINE static struct object *new_object(long tag, size_t bytes)
{
	struct object *o = host_alloc(NULL, bytes);

	o->tag = tag;
	o->next = objects;
	objects = o;
	return o;
}

NOINLINE static struct table *new_table(long room)
{
	struct table *t = (struct table *)new_object(1, sizeof(*t));

	t->slots = NULL;
	t->room = room;
	return t;
}

NOINLINE static struct string *new_string(const char *text, size_t bytes)
{
	struct string *s = (struct string *)new_object(2, sizeof(*s) + bytes);

	memcpy(s->text, text, strlen(text) + 1);
	s->length = (long)bytes;
	return s;
}

NOINLINE static struct closure *new_closure(void (*code)(void))
{
	struct object *o = new_object(3, sizeof(struct closure));
	struct closure *c = (struct closure *)o;

	c->code = code;
	return c;
}

/* The tag decides what becomes of it, in one function. */
NOINLINE static struct object *new_either(int thread)
{
	struct object *o = host_alloc(NULL, thread ? sizeof(struct thread) : 176);

	o->tag = thread;
	if (thread) {
		struct thread *t = (struct thread *)o;

		t->stack[0] = used;
	}
	return o;
}

NOINLINE static struct pair *new_pairs(size_t count)
{
	struct pair *pairs = host_alloc(NULL, count * sizeof(*pairs));

	pairs[0].key = used;
	return pairs;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		struct pair *pairs = new_pairs(20);

		new_table(i);
		new_string("a text", 48);
		new_closure(NULL);
		new_either(1);
		new_either(0);
		pairs[1].value = used;
	}
	printf("made %zu 20 table\n", sizeof(struct table));
	printf("made %zu 20 string\n", sizeof(struct string) + 48);
	printf("made %zu 20 closure\n", sizeof(struct closure));
	printf("made %zu 20 thread\n", sizeof(struct thread));
	printf("made 176 20 -\n");
	printf("made %zu 20 pair\n", 20 * sizeof(struct pair));
	return (int)(used & 0);
}
