/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program on libtalloc, for typed_test. It makes chunks in each way that takes a type's name,
 * frees subtrees of them, moves some, and puts some into a pool of talloc's. At the end talloc
 * itself walks what is left: a line for each chunk, "chunk SIZE NAME".
 */
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>

/* talloc.h's, of 2.0 to 2.4 */
void *talloc_named_const(const void *parent, size_t size, const char *name);
void *_talloc_zero(const void *parent, size_t size, const char *name);
void *_talloc_array(const void *parent, size_t each, unsigned count, const char *name);
void *_talloc_zero_array(const void *parent, size_t each, unsigned count, const char *name);
void *_talloc_realloc_array(const void *parent, void *old, size_t each, unsigned count,
			    const char *name);
void *_talloc_realloc(const void *parent, void *old, size_t size, const char *name);
void *_talloc_memdup(const void *parent, const void *from, size_t size, const char *name);
void *_talloc_steal_loc(const void *parent, const void *chunk, const char *place);
void *_talloc_pooled_object(const void *parent, size_t size, const char *name, unsigned objects,
			    size_t bytes);
void *talloc_pool(const void *parent, size_t size);
char *talloc_strdup(const void *parent, const char *text);
int _talloc_free(void *chunk, const char *place);
const char *talloc_get_name(const void *chunk);
size_t talloc_get_size(const void *chunk);
void talloc_report_depth_cb(const void *chunk, int depth, int most,
			    void (*each)(const void *, int, int, int, void *), void *own);
#define ONE(parent, type) ((type *)talloc_named_const(parent, sizeof(type), #type))
#define ZERO(parent, type) ((type *)_talloc_zero(parent, sizeof(type), #type))
#define ARRAY(parent, type, n) ((type *)_talloc_array(parent, sizeof(type), n, #type))
#define ZEROS(parent, type, n) ((type *)_talloc_zero_array(parent, sizeof(type), n, #type))
#define MORE(parent, old, type, n) \
	((type *)_talloc_realloc_array(parent, old, sizeof(type), n, #type))

struct talloc_peer {
	int number;
	char peer[40];
};
struct request {
	struct talloc_peer *of;
	long times[5];
};
struct talloc_line {
	const char *key, *value;
};
struct talloc_pooled {
	long words[3];
};
struct arena {
	long words[4];
};
typedef struct {
	double re, im;
} sample_t;

static void print(const void *chunk, int depth, int most, int is_ref, void *own)
{
	(void)depth, (void)most, (void)own;
	if (!is_ref)
		printf("chunk %zu %s\n", talloc_get_size(chunk), talloc_get_name(chunk));
}

static struct request *request(struct talloc_peer *of)
{
	struct request *r = ZERO(of, struct request);

	r->of = of;
	for (int i = 0; i < 3; i++)
		ONE(r, struct talloc_line)->key = talloc_strdup(r, "key");
	return r;
}

static void pool(const void *parent)
{
	void *room = talloc_pool(parent, 4096);
	struct arena *arena = _talloc_pooled_object(parent, sizeof(*arena), "struct arena", 20,
						    2000);

	for (int i = 0; i < 20; i++) {
		ONE(room, struct talloc_pooled)->words[0] = i;
		ONE(arena, struct talloc_pooled)->words[0] = i;
	}
}

int main(int argc, char **argv)
{
	void *root = talloc_named_const(NULL, 0, "root");
	struct talloc_peer *kept = ONE(root, struct talloc_peer), *c;
	sample_t *samples = NULL;

	(void)argv;
	for (int i = 0; i < 100; i++) {
		c = ONE(root, struct talloc_peer);
		c->number = i;
		for (int n = 0; n < 10; n++)
			request(c);
		if (i % 4 == 0) /* outlives its connection */
			_talloc_steal_loc(kept, request(c), "talloc.c:1");
		if (i % 2)
			_talloc_free(c, "talloc.c:2");
	}
	for (unsigned n = 1; n <= 64; n *= 2)
		samples = MORE(root, samples, sample_t, n);
	for (int i = 0; i < 7; i++) {
		ARRAY(root, struct talloc_line, 10 + i)->key = NULL;
		ZEROS(root, unsigned long, 5)[0] = (unsigned long)argc;
		_talloc_memdup(root, kept, sizeof(*kept), "struct talloc_peer");
		_talloc_realloc(root, NULL, 24, "struct pair *");
		talloc_named_const(root, 100, "../lib/buffer.c:123");
	}
	pool(root);
	talloc_report_depth_cb(root, 0, 1000, print, NULL);
	fflush(stdout);
	_Exit(0);
}
