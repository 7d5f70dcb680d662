/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gobject.c: makes GObjects of types of its own, and prints its own books: "truth TYPE MADE ENDED
 * BYTES", bytes of one; "slices MADE ENDED". GLib's headers are not needed: the declarations that
 * it uses are here, as they have been since GLib 2.0.
 *
 * The types: Plain, without private data; Rich, with 1,600 bytes of it before the instance; Derived
 * of Rich, whose init makes two Plains and frees one; Root, a fundamental type. Threads make and
 * end some, and leave their caches of slices; a forked child makes and ends more.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef size_t GType;
struct type_info {
	unsigned short class_size;
	void *base_init, *base_finalize, *class_init, *class_finalize;
	const void *class_data;
	unsigned short instance_size, preallocs;
	void (*instance_init)(void *, void *);
	const void *value_table;
};
struct fundamental_info { int flags; };
struct type_query { GType type; const char *name; unsigned class_size, instance_size; };
struct g_object { void *class; unsigned references; void *data; };

GType g_type_register_static(GType, const char *, const struct type_info *, int);
GType g_type_register_static_simple(GType, const char *, unsigned, void *, unsigned, void *, int);
GType g_type_register_fundamental(GType, const char *, const struct type_info *,
				  const struct fundamental_info *, int);
GType g_type_fundamental_next(void);
int g_type_add_instance_private(GType, size_t);
void g_type_class_adjust_private_offset(void *, int *);
void g_type_query(GType, struct type_query *);
void *g_type_create_instance(GType);
void g_type_free_instance(void *);
void *g_object_new(GType, const char *, ...);
void g_object_unref(void *);
void *g_slice_alloc(size_t), *g_slice_alloc0(size_t), *g_slice_copy(size_t, const void *);
void g_slice_free1(size_t, void *), g_slice_free_chain_with_offset(size_t, void *, size_t);

enum { PARENT = 20 << 2, PRIVATE = 1600, CHAIN = 50, THREADS = 4 };
struct g_plain { struct g_object parent; int number; };
struct rich { struct g_object parent; };
struct g_derived { struct rich parent; void *kept; };
struct root { void *class; long words[6]; };

static GType plain, rich, derived, root;
static unsigned class_bytes;
static struct { unsigned made, ended; } plains, riches, deriveds, roots, slices;
#define COUNT(of, what, n) __atomic_fetch_add(&(of).what, (n), __ATOMIC_RELAXED)

static void *new_plain(void)
{
	COUNT(plains, made, 1);
	return g_object_new(plain, NULL);
}

static void end_plain(void *object)
{
	COUNT(plains, ended, 1);
	g_object_unref(object);
}

static int private_offset;
static void rich_class(void *class, void *data)
{
	(void)data;
	g_type_class_adjust_private_offset(class, &private_offset);
}

static void derived_init(void *instance, void *class)
{
	void *other = new_plain();

	(void)class;
	free(malloc(123));
	((struct g_derived *)instance)->kept = new_plain();
	end_plain(other);
}

static void *new_derived(void)
{
	COUNT(deriveds, made, 1);
	return g_object_new(derived, NULL);
}

static void end_derived(void *object)
{
	end_plain(((struct g_derived *)object)->kept);
	COUNT(deriveds, ended, 1);
	g_object_unref(object);
}

static void types(void)
{
	static const struct fundamental_info fundamental = { 7 }; /* derivable, with instances */
	struct type_query query;
	struct type_info info = { 0 };

	g_type_query(PARENT, &query); /* GObject itself */
	class_bytes = query.class_size;
	plain = g_type_register_static_simple(PARENT, "TestPlain", class_bytes, NULL,
					      sizeof(struct g_plain), NULL, 0);
	info.class_size = (unsigned short)class_bytes;
	info.class_init = (void *)rich_class;
	info.instance_size = sizeof(struct rich);
	rich = g_type_register_static(PARENT, "TestRich", &info, 0);
	private_offset = g_type_add_instance_private(rich, PRIVATE);
	info.class_init = NULL;
	info.instance_size = sizeof(struct g_derived);
	info.instance_init = derived_init;
	derived = g_type_register_static(rich, "TestDerived", &info, 0);
	info.class_size = 64;
	info.instance_init = NULL;
	info.instance_size = sizeof(struct root);
	root = g_type_register_fundamental(g_type_fundamental_next(), "TestRoot", &info,
					   &fundamental, 0);
}

/* Slices of a size that nothing else has: a single one, a copy and a chain of them. */
static void slice_work(void)
{
	enum { BYTES = 328, LINK = 16 };
	char *one = g_slice_alloc0(BYTES), *copy = g_slice_copy(BYTES, one), *first = NULL;

	for (unsigned i = 0; i < CHAIN; i++) {
		char *next = g_slice_alloc(BYTES);

		memcpy(next + LINK, &first, sizeof(first));
		first = next;
	}
	g_slice_free_chain_with_offset(BYTES, first, LINK);
	g_slice_free1(BYTES, copy);
	g_slice_free1(3000, g_slice_alloc(3000)); /* malloc's, handed on */
	COUNT(slices, made, CHAIN + 2);
	COUNT(slices, ended, CHAIN + 1);
}

static void *work(void *argument)
{
	unsigned n = *(unsigned *)argument;
	void *list[1000];

	for (unsigned i = 0; i < n; i++)
		list[i] = i % 3 ? new_plain() : new_derived();
	for (unsigned i = 0; i < n; i += 2)
		i % 3 ? end_plain(list[i]) : end_derived(list[i]);
	for (unsigned i = 0; i < 5; i++)
		COUNT(riches, made, 1), g_object_new(rich, NULL);
	slice_work();
	return NULL;
}

static void truth(const char *name, unsigned made, unsigned ended, size_t bytes)
{
	printf("truth %s %u %u %zu\n", name, made, ended, bytes);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 300;
	pthread_t threads[THREADS];
	int status;

	types();
	if (argc > 2) { /* a measurement */
		for (unsigned i = 0; i < n; i++)
			g_object_unref(g_object_new(plain, NULL));
		return 0;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, work, &n);
		pthread_join(threads[i], NULL);
	}
	for (unsigned i = 0; i < 40; i++) {
		void *instance = g_type_create_instance(root);

		roots.made++;
		if (i % 4) {
			g_type_free_instance(instance);
			roots.ended++;
		}
	}
	fflush(stdout);
	if (fork() == 0) {
		n = 30;
		work(&n);
		_exit(0);
	}
	wait(&status);
	truth("TestPlain", plains.made, plains.ended, sizeof(struct g_plain));
	truth("TestRich", riches.made, riches.ended, sizeof(struct rich) + PRIVATE);
	truth("TestDerived", deriveds.made, deriveds.ended, sizeof(struct g_derived) + PRIVATE);
	truth("TestRoot", roots.made, roots.ended, sizeof(struct root));
	printf("slices %u %u\n", slices.made, slices.ended);
	return WEXITSTATUS(status);
}
