// SPDX-License-Identifier: Apache-2.0
// analyses.cc: lives that are designed: how long blocks live, how they grow, how they are freed. It
// prints what it did, a line each.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#define APART __attribute__((noinline, noclone, noipa))

static void *volatile sink;

/* The compiler must not pair an allocation with its free and drop both. */
template <class T> APART static T *escape(T *pointer)
{
	sink = (void *)pointer;
	return (T *)sink;
}

struct Base { int x = 1; };
struct Derived : Base { int more[10]; };

// ---- frees that do not fit ----

APART static void array_then_free() { free(escape(new int[10])); }
APART static void malloc_then_delete() { ::operator delete(escape(malloc(20))); }
APART static void new_then_array_delete() { delete[] escape(new char); }
APART static void wrong_size() { Base *p = escape((Base *)new Derived); delete p; }
APART static void realloc_of_new() { free(escape(realloc(escape(::operator new(8)), 80))); }
APART static void all_fit()
{
	delete escape(new int);
	delete[] escape(new int[4]);
	delete escape(new Derived);
	free(escape(malloc(3)));
	free(escape(realloc(malloc(3), 10)));
	free(escape(calloc(3, 3)));
	::operator delete(escape(::operator new(64, std::align_val_t(64))), std::align_val_t(64));
}

// ---- lives ----

APART static void temporaries() { free(escape(malloc(100))); }
APART static void stays() { escape(malloc(200)); }
APART static void *handed_over() { return escape(malloc(300)); }

// ---- what stays ----

APART static void leaks_a_little() { escape(malloc(24)); }
APART static void kept_table() { escape(calloc(500, 16)); }
APART static void passes_through(void **place)
{
	free(*place);
	*place = escape(malloc(48));
}

// ---- growth ----

APART static void grow_by_bytes(size_t to)
{
	char *p = nullptr;

	for (size_t n = 1; n <= to; n++)
		p = escape((char *)realloc(p, n));
	free(p);
}

APART static void fill_vector(size_t to)
{
	std::vector<long> v;

	for (size_t i = 0; i < to; i++)
		v.push_back((long)i);
	escape(v.data());
}

APART static void fill_reserved(size_t to)
{
	std::vector<long> v;

	v.reserve(to);
	for (size_t i = 0; i < to; i++)
		v.push_back((long)i);
	escape(v.data());
}

int main()
{
	for (int i = 0; i < 3; i++)
		array_then_free();
	malloc_then_delete();
	malloc_then_delete();
	new_then_array_delete();
	wrong_size();
	realloc_of_new();
	for (int i = 0; i < 50; i++)
		all_fit();
	printf("family array_then_free 3\nfamily malloc_then_delete 2\nfamily "
	       "new_then_array_delete 1\nfamily realloc_of_new 1\nsize wrong_size 1\n");

	for (int i = 0; i < 1000; i++)
		temporaries();
	for (int i = 0; i < 70; i++)
		stays();
	for (int i = 0; i < 40; i++) {
		void *p = handed_over();

		std::thread([p] { free(p); }).join();
	}
	printf("temporary temporaries 1000\npersistent stays 70\nelsewhere handed_over 40\n");

	grow_by_bytes(2000);
	for (int i = 0; i < 5; i++)
		fill_vector(1000);
	fill_reserved(1000);
	printf("constant grow_by_bytes 1999 1 %d\n", 2000 * 2001 / 2);
	printf("geometric fill_vector 50 2 %d\n", 5 * 8 * 2047);

	/* one after the other; beside it what was made at once, and what comes and goes */
	static void *places[100];

	for (int i = 0; i < 300; i++)
		kept_table();
	for (int i = 0; i < 2000; i++) {
		leaks_a_little();
		passes_through(&places[i % 100]);
	}
	printf("stays leaks_a_little 2000 48000\nstays kept_table 300 2400000\nstays "
	       "passes_through 100 4800\n");
	return 0;
}
