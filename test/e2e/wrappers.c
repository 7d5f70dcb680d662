/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers.c: allocates through functions that are wrappers, and through functions that look like
 * ones and are not. Says of each block, by the function that should be its call site:
 *
 *   site FUNCTION BLOCKS BYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))

static struct {
	const char *function;
	long blocks, bytes;
} sites[64];
static int site_count;
static volatile long used;
static void *volatile kept;
static char letters_of[513];
static char *volatile letters = letters_of;
static volatile size_t none;

static void note(const char *function, size_t bytes)
{
	int i = 0;

	while (i < site_count && strcmp(sites[i].function, function) != 0)
		i++;
	sites[i].function = function;
	site_count += i == site_count;
	sites[i].blocks++;
	sites[i].bytes += (long)bytes;
}

/* ---- wrappers ---- */

NOINLINE static void *wrap(size_t bytes)
{
	void *block = malloc(bytes);

	if (!block)
		abort();
	used += (long)bytes;
	return block;
}

NOINLINE static void *wrap_clear(size_t bytes)
{
	void *block = wrap(bytes);

	memset(block, 0, bytes);
	used++;
	return block;
}

/* Its blocks begin with their size. */
NOINLINE static void *wrap_header(size_t bytes)
{
	size_t *block = malloc(bytes + 16);

	if (!block)
		abort();
	block[0] = bytes;
	used += (long)bytes;
	return block + 2;
}

/* Is given its block in a word of its frame. */
NOINLINE static void *wrap_aligned(size_t bytes)
{
	void *block;

	if (posix_memalign(&block, 64, bytes))
		block = NULL;
	used++;
	return block;
}

/* Tells the kernel of large blocks. */
NOINLINE static void *wrap_advise(size_t bytes)
{
	void *block = malloc(bytes);

	if (bytes > 1 << 20)
		madvise(block, bytes, MADV_NORMAL);
	used++;
	return block;
}

/* What only a wrapper calls, whatever it is called by. */
NOINLINE static void *wrap_inner(size_t bytes)
{
	void *block = malloc(bytes);

	used++;
	return block;
}
NOINLINE static void *wrap_outer(size_t bytes)
{
	void *block = wrap_inner(bytes + 1);

	used++;
	return block;
}

/* Copies what it is given, and does nothing else. */
NOINLINE static char *wrap_copy(const char *text)
{
	return strcpy(malloc(strlen(text) + 1), text);
}
NOINLINE static void *wrap_part(const void *bytes, size_t count)
{
	void *block = wrap(count);

	return memcpy(block, bytes, count);
}
NOINLINE static char *wrap_strdup(const char *text)
{
	char *block = strdup(text);

	if (!block)
		abort();
	return block;
}

/* ---- no wrappers ---- */

struct buffer {
	size_t room, count;
	char bytes[];
};

/* Makes an object, of any size. */
NOINLINE static struct buffer *buffer_new(size_t room)
{
	struct buffer *buffer = malloc(sizeof(*buffer) + room);

	buffer->room = room;
	buffer->count = 0;
	return buffer;
}

/* Makes a text. */
NOINLINE static char *text_of(const char *text, size_t times)
{
	size_t bytes = strlen(text) * times + 1;
	char *out = malloc(bytes);

	for (size_t i = 0; i < bytes - 1; i++)
		out[i] = text[i % strlen(text)];
	out[bytes - 1] = '\0';
	return out;
}

/* Keeps what it returns. */
NOINLINE static char *pool_more(char **pool, size_t bytes)
{
	char *block = malloc(bytes);

	*pool = block;
	return block;
}

/* Knows how large its objects are; what it is told is something else. */
NOINLINE static void *node_new(size_t kind)
{
	size_t *node = wrap(48);

	node[5] = kind;
	return node;
}

/* Copies all it is told into a block that it knows the size of. */
NOINLINE static void *node_copy(const void *other)
{
	return memcpy(malloc(48), other, 48);
}

/* Puts a text together of two. */
NOINLINE static char *joined(const char *one, const char *other)
{
	size_t bytes = strlen(one);
	char *out = malloc(bytes + strlen(other) + 1);

	memcpy(out, one, bytes);
	strcpy(out + bytes, other);
	return out;
}

/* Has a copy made of a text that it puts together. */
NOINLINE static char *named(size_t bytes)
{
	char text[600], *out;

	snprintf(text, sizeof(text), "%*d", (int)bytes, 1);
	out = wrap_copy(text);
	used++;
	return out;
}

/* Declared as wrappers are, but it fills the block, by a function that is told where. */
struct reader {
	char *at, *end;
};
NOINLINE static void read_on(struct reader *reader)
{
	while (reader->at < reader->end)
		*reader->at++ = 'r';
	used++;
}
NOINLINE static void *unpacked(size_t bytes)
{
	struct reader reader;
	char *block = wrap(bytes);

	reader.at = block;
	reader.end = block + bytes;
	read_on(&reader);
	return block;
}

/* Hands on one empty block as it got it; its others are texts of many sizes that it makes. */
NOINLINE static char *value_of(const char *text, size_t times)
{
	char *out;

	if (!times) {
		out = wrap(1);
		*out = '\0';
		return out;
	}
	out = wrap(times + 1);
	for (size_t i = 0; i < times; i++)
		out[i] = text[i % 2];
	out[times] = '\0';
	return out;
}

/* Hands its block to an initializer. */
NOINLINE static void init(void *object, size_t bytes)
{
	memset(object, 1, bytes);
	used++;
}
NOINLINE static char *made(size_t bytes)
{
	char *block = malloc(bytes);

	init(block, bytes);
	return block;
}

/* Returns no block. */
NOINLINE static long measure(size_t bytes)
{
	char *block = malloc(bytes);

	kept = block;
	used++;
	return used;
}

/* ---- callers ---- */

#define CALLER(name, n)                                                                            \
	NOINLINE static void name(void)                                                            \
	{                                                                                          \
		char *pool;                                                                        \
                                                                                                   \
		kept = wrap(n);                                                                    \
		note(#name, n);                                                                    \
		kept = wrap_clear(n + 1);                                                          \
		note(#name, n + 1);                                                                \
		kept = wrap_header(n + 2);                                                         \
		note(#name, n + 18);                                                               \
		kept = wrap_outer(n + 3);                                                          \
		note(#name, n + 4);                                                                \
		kept = wrap_copy(letters + 512 - (n));                                             \
		note(#name, (n) + 1);                                                              \
		kept = wrap_part(letters, none + (n));                                             \
		note(#name, n);                                                                    \
		kept = wrap_strdup(letters + 512 - (n));                                           \
		note(#name, (n) + 1);                                                              \
		kept = wrap_aligned(n);                                                            \
		note(#name, n);                                                                    \
		kept = wrap_advise(n);                                                             \
		note(#name, n);                                                                    \
		kept = node_new(n);                                                                \
		note("node_new", 48);                                                              \
		kept = node_copy(letters);                                                         \
		note("node_copy", 48);                                                             \
		kept = joined(letters + 512 - (n), "end");                                         \
		note("joined", (n) + 4);                                                           \
		kept = named(n);                                                                   \
		note("named", (n) + 1);                                                            \
		kept = unpacked(100 + none);                                                       \
		note("unpacked", 100);                                                             \
		kept = value_of("ab", none);                                                       \
		note("value_of", 1);                                                               \
		kept = value_of("ab", n);                                                          \
		note("value_of", (n) + 1);                                                         \
		kept = buffer_new(n);                                                              \
		note("buffer_new", sizeof(struct buffer) + n);                                     \
		kept = text_of("ab", n);                                                           \
		note("text_of", 2 * n + 1);                                                        \
		kept = pool_more(&pool, n);                                                        \
		note("pool_more", n);                                                              \
		kept = made(n);                                                                    \
		note("made", n);                                                                   \
		measure(n);                                                                        \
		note("measure", n);                                                                \
	}

CALLER(caller_a, 100)
CALLER(caller_b, 230)
CALLER(caller_c, 360)
CALLER(caller_d, 490)

int main(void)
{
	static char buffer[1 << 16];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	memset(letters_of, 'x', sizeof(letters_of) - 1);
	for (int i = 0; i < 5; i++) {
		caller_a();
		caller_b();
		caller_c();
		caller_d();
	}
	for (int i = 0; i < site_count; i++)
		printf("site %s %ld %ld\n", sites[i].function, sites[i].blocks, sites[i].bytes);
	return 0;
}
