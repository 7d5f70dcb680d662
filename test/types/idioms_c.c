// SPDX-License-Identifier: Apache-2.0
/*
 * idioms_c: what C programs allocate: typed by the variable, member or parameter that takes the pointer, or by nothing.
 *
 * Runs: a test's target. See idioms.h for how the truth is told.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idioms.h"

struct point { long x, y, z; };
struct colour { long r, g, b; }; /* as large as a point */
struct item { struct item *next; char *name; int number; };
struct flexible { size_t length; int values[]; };
struct trailing_one { size_t length; char text[1]; };
struct trailing_zero { int kind; double values[0]; };
struct shell { struct point only; };
struct table { struct item **buckets; size_t count; struct point *points; struct { struct colour *colour; } inside; };
union number { long integer; double real; struct point point; };
typedef struct { int a, b, c, d, e; } unnamed_t;
enum shade { DARK, LIGHT };

static struct table table;
static struct point *global_point;
static struct item *free_list;

#define DONE(pointer) \
	do { \
		escape(pointer); \
		if (keep) \
			leak(pointer); \
		else \
			free(pointer); \
	} while (0)

/* The common form. */
#define C_ONE(name, type_text, size, declaration, expression) \
	IDIOM(name) \
	{ \
		size_t n = unknown((size_t)7); \
		escape(n); \
		idiom_begin(); \
		declaration = expression; \
		idiom_end(); \
		one(type_text, size); \
		DONE(p); \
	}

C_ONE(c_sizeof_variable, "point", sizeof(struct point), struct point *p, malloc(sizeof *p))
C_ONE(c_sizeof_type_cast, "colour", sizeof(struct colour), struct colour *p, (struct colour *)malloc(sizeof(struct colour)))
C_ONE(c_typedef_unnamed, "unnamed_t", sizeof(unnamed_t), unnamed_t *p, malloc(sizeof *p))
C_ONE(c_union, "number", sizeof(union number), union number *p, malloc(sizeof *p))
C_ONE(c_enum, "shade", 7 * sizeof(enum shade), enum shade *p, malloc(n * sizeof *p))
C_ONE(c_array, "point", 7 * sizeof(struct point), struct point *p, malloc(n * sizeof *p))
C_ONE(c_array_fixed, "colour", 5 * sizeof(struct colour), struct colour *p, malloc(5 * sizeof *p))
C_ONE(c_calloc_one, "point", sizeof(struct point), struct point *p, calloc(1, sizeof *p))
C_ONE(c_calloc_array, "item", 7 * sizeof(struct item), struct item *p, calloc(n, sizeof *p))
C_ONE(c_ints, "int", 7 * sizeof(int), int *p, malloc(n * sizeof *p))
C_ONE(c_doubles, "double", 7 * sizeof(double), double *p, calloc(n, sizeof(double)))
C_ONE(c_pointers, "item*", 7 * sizeof(struct item *), struct item **p, malloc(n * sizeof *p))
C_ONE(c_triple_pointer, "item**", 7 * sizeof(struct item **), struct item ***p, malloc(n * sizeof *p))
C_ONE(c_chars, "char", 7 + 20, char *p, malloc(n + 20))
C_ONE(c_bytes, "unsigned char", 7 * 9, uint8_t *p, malloc(n * 9))
C_ONE(c_two_dimensions, "double[4]|double", 7 * sizeof(double[4]), double (*p)[4], malloc(n * sizeof *p))
C_ONE(c_flexible, "flexible", sizeof(struct flexible) + 7 * sizeof(int), struct flexible *p, malloc(sizeof *p + n * sizeof p->values[0]))
C_ONE(c_flexible_empty, "flexible", sizeof(struct flexible), struct flexible *p, malloc(sizeof *p))
C_ONE(c_trailing_one, "trailing_one", sizeof(struct trailing_one) + 7, struct trailing_one *p, malloc(sizeof *p + n))
C_ONE(c_trailing_offsetof, "trailing_one", offsetof(struct trailing_one, text) + 8, struct trailing_one *p,
      malloc(offsetof(struct trailing_one, text) + n + 1))
C_ONE(c_trailing_zero, "trailing_zero", sizeof(struct trailing_zero) + 7 * 8, struct trailing_zero *p, malloc(sizeof *p + n * 8))
C_ONE(c_reallocarray, "point", 7 * sizeof(struct point), struct point *p, reallocarray(NULL, n, sizeof *p))
C_ONE(c_aligned_alloc, "point", 8 * 24, struct point *p, aligned_alloc(64, 8 * sizeof *p))
C_ONE(c_first_member, "shell|point", sizeof(struct shell), struct shell *p, malloc(sizeof *p))
C_ONE(c_function_pointers, "~\\(.*\\)|\\*$|-", 7 * sizeof(void (*)(void)), void (**p)(void), malloc(n * sizeof *p))
C_ONE(c_untyped_void, "-", 7 * 5, void *p, malloc(n * 5))
C_ONE(c_strdup, "char", 21, char *p, strdup("a text of some length"+ unknown(1)))
C_ONE(c_strndup, "char", 8, char *p, strndup("a text of some length", n))

// ---- the pointer goes elsewhere ----
IDIOM(c_member_store)
{
	struct table *to = unknown(&table);
	idiom_begin();
	to->points = malloc(sizeof *to->points);
	to->inside.colour = malloc(3 * sizeof *to->inside.colour);
	idiom_end();
	one("point", sizeof(struct point));
	one("colour", 3 * sizeof(struct colour));
	DONE(to->points);
	DONE(to->inside.colour);
}
IDIOM(c_member_pointer_array)
{
	struct table *to = unknown(&table);
	to->count = unknown((size_t)11);
	idiom_begin();
	to->buckets = calloc(to->count, sizeof *to->buckets);
	idiom_end();
	one("item*", 11 * sizeof(struct item *));
	DONE(to->buckets);
}
IDIOM(c_global_store)
{
	idiom_begin();
	global_point = malloc(sizeof *global_point);
	idiom_end();
	one("point", sizeof(struct point));
	DONE(global_point);
}
IDIOM(c_link_next)
{
	struct item *item = malloc(sizeof *item);
	if (!item)
		return;
	escape(item);
	idiom_begin();
	item->next = malloc(sizeof *item->next);
	idiom_end();
	one("item", sizeof(struct item));
	escape(item);
	DONE(item->next);
	DONE(item);
}
IDIOM(c_linked_list)
{
	struct item *first = NULL;
	idiom_begin();
	for (int i = 0; i < 4; i++) {
		struct item *item = malloc(sizeof *item);
		if (!item)
			abort();
		item->number = i;
		item->next = first;
		first = item;
	}
	idiom_end();
	many("item", sizeof(struct item));
	escape(first);
	while (first) {
		struct item *next = first->next;
		DONE(first);
		first = next;
	}
}
IDIOM(c_hash_table)
{
	struct item *buckets[4] = { NULL };
	escape(buckets);
	idiom_begin();
	for (int i = 0; i < 8; i++) {
		struct item **at = &buckets[unknown(i) % 4];
		while (*at)
			at = &(*at)->next;
		*at = calloc(1, sizeof **at);
		(*at)->name = strdup("name");
	}
	idiom_end();
	many("item", sizeof(struct item));
	many("char", 5);
	escape(buckets);
	for (int i = 0; i < 4; i++)
		for (struct item *item = buckets[i], *next; item; item = next) {
			next = item->next;
			DONE(item->name);
			DONE(item);
		}
}
IDIOM(c_two_dimensional_rows)
{
	size_t n = unknown((size_t)5);
	idiom_begin();
	double **rows = malloc(n * sizeof *rows);
	if (!rows)
		abort();
	for (size_t i = 0; i < n; i++)
		rows[i] = malloc(9 * sizeof *rows[i]);
	idiom_end();
	one("double*", 5 * sizeof(double *));
	many("double", 9 * sizeof(double));
	escape(rows);
	for (size_t i = 0; i < n; i++)
		DONE(rows[i]);
	DONE(rows);
}
IDIOM(c_void_then_typed)
{
	idiom_begin();
	void *block = malloc(sizeof(struct point));
	struct point *p = block;
	if (!p)
		abort();
	p->x = 3;
	idiom_end();
	one("point", sizeof(struct point));
	DONE(p);
}
static NOINLINE void use_point(struct point *p)
{
	p->x = 1;
	escape(p);
}
IDIOM(c_assign_in_argument)
{
	struct point *p;
	idiom_begin();
	use_point(p = malloc(sizeof *p));
	idiom_end();
	one("point", sizeof(struct point));
	DONE(p);
}
static void *volatile passed;
static NOINLINE void use_any(void *block)
{
	passed = block;
}
IDIOM(c_cast_argument)
{
	idiom_begin();
	use_any((struct point *)malloc(sizeof(struct point))); /* only the source text knows */
	idiom_end();
	one("point|-", sizeof(struct point));
	DONE(passed);
}
typedef void visit_fn(void *context, void *block);
static NOINLINE void callback(void *context, void *block)
{
	struct colour **to = context;
	*to = block;
}
IDIOM(c_callback)
{
	struct colour *got = NULL;
	visit_fn *visit = unknown(&callback);
	idiom_begin();
	visit(&got, malloc(sizeof *got));
	idiom_end();
	one("colour|-", sizeof(struct colour));
	DONE(got);
}

// ---- functions that make ----
static NOINLINE struct point *make_point(long x)
{
	struct point *p = malloc(sizeof *p);
	if (!p)
		abort();
	p->x = p->y = p->z = x;
	return p;
}
static NOINLINE struct colour *make_colour(void)
{
	return malloc(sizeof(struct colour));
}
static NOINLINE int make_out(struct item **out)
{
	*out = malloc(sizeof **out);
	return *out ? 0 : -1;
}
static NOINLINE int make_out_array(struct point **out, size_t n)
{
	struct point *made = calloc(n, sizeof *made);
	if (!made)
		return -1;
	made[0].x = 1;
	*out = made;
	return 0;
}
static NOINLINE struct trailing_one *make_text(const char *text)
{
	size_t length = strlen(text);
	struct trailing_one *made = malloc(offsetof(struct trailing_one, text) + length + 1);
	if (!made)
		abort();
	made->length = length;
	memcpy(made->text, text, length + 1);
	return made;
}
C_ONE(c_return_filled, "point", sizeof(struct point), struct point *p, make_point(unknown(3L)))
C_ONE(c_return_malloc, "colour", sizeof(struct colour), struct colour *p, make_colour())
C_ONE(c_return_text, "trailing_one", offsetof(struct trailing_one, text) + 6, struct trailing_one *p, make_text("12345"))
IDIOM(c_out_parameter)
{
	struct item *item = NULL;
	struct point *points = NULL;
	idiom_begin();
	int bad = make_out(&item) | make_out_array(&points, unknown((size_t)6));
	idiom_end();
	one("item", sizeof(struct item));
	one("point", 6 * sizeof(struct point));
	if (bad)
		abort();
	DONE(item);
	DONE(points);
}

// ---- wrappers ----
static NOINLINE void *xmalloc(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}
static NOINLINE void *xcalloc(size_t n, size_t size)
{
	void *block = calloc(n, size);
	if (!block)
		abort();
	return block;
}
static NOINLINE void *xrealloc(void *old, size_t size)
{
	void *block = realloc(old, size);
	if (!block)
		abort();
	return block;
}
static NOINLINE void *xmalloc_zeroed(size_t size)
{
	return memset(xmalloc(size), 0, size);
}
static NOINLINE void *xnmalloc(size_t n, size_t size)
{
	if (size && n > (size_t)-1 / size)
		abort();
	return xmalloc(n * size);
}
static NOINLINE char *xstrdup(const char *text)
{
	size_t size = strlen(text) + 1;
	return memcpy(xmalloc(size), text, size);
}
struct hooks { void *(*take)(size_t size); void (*give)(void *block); };
static const struct hooks hooks = { xmalloc, free };
#define g_new(type, n) ((type *)xnmalloc((n), sizeof(type)))
#define NEW(pointer) ((pointer) = xmalloc(sizeof *(pointer)))

C_ONE(c_xmalloc, "point", sizeof(struct point), struct point *p, xmalloc(sizeof *p))
C_ONE(c_xmalloc_other, "colour", sizeof(struct colour), struct colour *p, xmalloc(sizeof *p))
C_ONE(c_xcalloc, "item", 7 * sizeof(struct item), struct item *p, xcalloc(n, sizeof *p))
C_ONE(c_xrealloc, "int", 7 * sizeof(int), int *p, xrealloc(NULL, n * sizeof *p))
C_ONE(c_two_deep, "point", sizeof(struct point), struct point *p, xmalloc_zeroed(sizeof *p))
C_ONE(c_g_new, "colour", 7 * sizeof(struct colour), struct colour *p, g_new(struct colour, n))
C_ONE(c_xstrdup, "char", 6, char *p, xstrdup("12345"))
C_ONE(c_hook_table, "point", sizeof(struct point), struct point *p, unknown(&hooks)->take(sizeof *p))
C_ONE(c_wrapper_void, "-", 7 * 3, void *p, xmalloc(n * 3))
IDIOM(c_new_macro)
{
	struct point *p;
	idiom_begin();
	NEW(p);
	idiom_end();
	one("point", sizeof(struct point));
	DONE(p);
}
IDIOM(c_xmalloc_member)
{
	struct table *to = unknown(&table);
	idiom_begin();
	to->points = xmalloc(4 * sizeof *to->points);
	idiom_end();
	one("point", 4 * sizeof(struct point));
	DONE(to->points);
}

// ---- growth ----
IDIOM(c_realloc_chain)
{
	struct point *points = NULL;
	idiom_begin();
	for (size_t n = 4; n < 40; n *= 2) {
		struct point *more = realloc(points, unknown(n) * sizeof *points);
		if (!more)
			abort();
		points = more;
	}
	idiom_end();
	many("point", sizeof(struct point));
	DONE(points);
}
IDIOM(c_realloc_member)
{
	struct { int *values; size_t count, room; } list = { NULL, 0, 0 };
	escape(&list);
	idiom_begin();
	for (int i = 0; i < 40; i++) {
		if (list.count == list.room) {
			list.room = list.room ? 2 * list.room : 4;
			list.values = realloc(list.values, list.room * sizeof *list.values);
		}
		list.values[list.count++] = i;
		escape(&list);
	}
	idiom_end();
	many("int", sizeof(int));
	DONE(list.values);
}
IDIOM(c_realloc_out)
{
	char *line = NULL;
	char **at = unknown(&line);
	idiom_begin();
	for (size_t n = 10; n < 100; n += 30)
		*at = realloc(*at, unknown(n));
	idiom_end();
	many("char", 1);
	escape(&line);
	DONE(line);
}

// ---- the C library's ----
IDIOM(c_posix_memalign)
{
	void *block = NULL;
	struct point *p;
	idiom_begin();
	int bad = posix_memalign(&block, 64, 4 * sizeof *p);
	p = block;
	idiom_end();
	one("point|-", 4 * sizeof(struct point));
	if (bad)
		abort();
	DONE(p);
}
IDIOM(c_asprintf)
{
	char *text = NULL;
	idiom_begin();
	int length = asprintf(&text, "%d bottles", unknown(99));
	idiom_end();
	perhaps("char|-", 0);
	if (length < 0)
		abort();
	DONE(text);
}
IDIOM(c_getline)
{
	static char text[] = "one line\nanother\n";
	FILE *file = fmemopen(text, sizeof text - 1, "r");
	char *line = NULL;
	size_t room = 0;
	if (!file)
		abort();
	idiom_begin();
	ssize_t length = getline(&line, &room, file);
	idiom_end();
	many("char|-", 0); /* and the stream's own buffer */
	if (length < 0)
		abort();
	fclose(file);
	DONE(line);
}
static int compare_points(const void *a, const void *b)
{
	const struct point *p = a, *q = b;
	return p->x < q->x ? -1 : p->x > q->x;
}
IDIOM(c_sorted_copy)
{
	static const struct point three[3] = { { 3, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 } };
	idiom_begin();
	struct point *copy = malloc(sizeof three);
	if (!copy)
		abort();
	memcpy(copy, three, sizeof three);
	qsort(copy, 3, sizeof *copy, compare_points);
	idiom_end();
	one("point", sizeof three);
	perhaps("-", 0);
	DONE(copy);
}

// ---- traps ----
IDIOM(c_trap_branch)
{
	idiom_begin();
	void *block = malloc(sizeof(struct point));
	if (unknown(keep)) {
		struct point *point = block;
		point->x = 1;
		escape(point);
	} else {
		struct colour *colour = block;
		colour->r = 1;
		escape(colour);
	}
	idiom_end();
	one(keep ? "point|-" : "colour|-", sizeof(struct point));
	DONE(block);
}
static NOINLINE void start_point(struct point *point)
{
	point->x = 4;
	escape(point);
}
IDIOM(c_trap_callee_takes_first_member)
{
	idiom_begin();
	struct shell *shell = malloc(sizeof *shell);
	start_point(&shell->only);
	idiom_end();
	one("shell|point", sizeof(struct shell)); /* the same bytes: a shell is a point */
	DONE(shell);
}
IDIOM(c_trap_header_in_front)
{
	/* the caller gets a pointer behind the header */
	size_t n = unknown((size_t)64);
	idiom_begin();
	size_t *header = malloc(sizeof *header + n);
	if (!header)
		abort();
	*header = n;
	char *payload = (char *)(header + 1);
	escape(payload);
	idiom_end();
	one("char|unsigned long|-", 64 + sizeof(size_t));
	DONE(header);
}
IDIOM(c_trap_base_struct)
{
	/* inheritance by hand: twice the base's size looks like an array of two */
	struct base { long kind, count; };
	struct derived { struct base base; long more[2]; };
	idiom_begin();
	struct base *base = malloc(sizeof(struct derived));
	if (!base)
		abort();
	base->kind = 3;
	idiom_end();
	one("derived|-", sizeof(struct derived));
	DONE(base);
}
IDIOM(c_trap_chars_as_struct)
{
	idiom_begin();
	char *bytes = malloc(sizeof(struct point));
	struct point *point = (struct point *)bytes;
	point->x = 3;
	idiom_end();
	one("char|point", sizeof(struct point));
	escape(point);
	DONE(bytes);
}
IDIOM(c_trap_union_store)
{
	union { struct point *point; struct colour *colour; } either;
	escape(&either);
	idiom_begin();
	either.colour = malloc(sizeof *either.colour);
	idiom_end();
	one("colour|-", sizeof(struct colour));
	escape(&either);
	DONE(either.colour);
}
IDIOM(c_trap_free_list)
{
	/* blocks of one list serve two structures of one size */
	idiom_begin();
	void *block = malloc(sizeof(struct item));
	idiom_end();
	one("item|point|-", sizeof(struct item));
	struct item *item = block;
	item->next = free_list;
	free_list = item;
	struct item *back = free_list;
	free_list = back->next;
	struct point *point = (struct point *)(void *)back;
	point->x = 3;
	escape(point);
	DONE(block);
}

// ---- a bump allocator ----
struct chunk { struct chunk *before; size_t used, size; char data[]; };
static struct chunk *chunks;
static NOINLINE void *bump(size_t size)
{
	if (!chunks || chunks->size - chunks->used < size) {
		struct chunk *chunk = malloc(sizeof *chunk + 1000);
		if (!chunk)
			abort();
		chunk->before = chunks;
		chunk->used = 0;
		chunk->size = 1000;
		chunks = chunk;
	}
	void *result = chunks->data + chunks->used;
	chunks->used += size;
	return result;
}
IDIOM(c_arena)
{
	idiom_begin();
	for (int i = 0; i < 60; i++) {
		struct point *p = bump(sizeof *p);
		use_point(p);
	}
	idiom_end();
	many("chunk", sizeof(struct chunk) + 1000);
	while (chunks) {
		struct chunk *before = chunks->before;
		DONE(chunks);
		chunks = before;
	}
}
