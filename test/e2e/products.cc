// SPDX-License-Identifier: Apache-2.0
// Blocks whose size is a count of elements, and others that only look like it. Prints for each
// expected label: the label (- for none), how many blocks it has, their bytes.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OUT_OF_LINE __attribute__((noinline))

struct made_blocks {
	long blocks, bytes;
};
static made_blocks counts[8];
enum { PRODUCTS, NEW_24, NEW_48, CALLOC_12, CALLOC_ONE, PAGES, HEADERS, KINDS };
static const char *const labels[KINDS] = { "storage",
					   "array of 24-byte elements",
					   "array of 48-byte elements",
					   "array of 12-byte elements",
					   "176-byte object",
					   "storage of pages",
					   "-" };
static void *volatile kept;

static void count(int kind, size_t bytes)
{
	counts[kind].blocks++;
	counts[kind].bytes += (long)bytes;
}

struct three_longs {
	long a, b, c;
};
struct with_destructor {
	long a[6];
	OUT_OF_LINE ~with_destructor() { a[0] = 0; }
};

// C, as ICU's lists of integers are
OUT_OF_LINE static void ints(int n)
{
	kept = malloc((size_t)n * sizeof(int));
	count(PRODUCTS, (size_t)n * sizeof(int));
}

OUT_OF_LINE static void points(size_t n)
{
	kept = malloc(n * 552);
	count(PRODUCTS, n * 552);
}

OUT_OF_LINE static void pixels(int width, int height)
{
	kept = malloc((size_t)(width * height));
	count(PRODUCTS, (size_t)(width * height));
}

OUT_OF_LINE static three_longs *plains(size_t n)
{
	three_longs *made = new three_longs[n];

	count(NEW_24, n * sizeof(three_longs));
	return made;
}

OUT_OF_LINE static with_destructor *destroyed(size_t n)
{
	with_destructor *made = new with_destructor[n];

	count(NEW_48, n * sizeof(with_destructor) + sizeof(size_t));
	return made;
}

OUT_OF_LINE static void zeroed(size_t n)
{
	kept = calloc(n, 12);
	count(CALLOC_12, n * 12);
}

OUT_OF_LINE static void one()
{
	kept = calloc(1, 176);
	count(CALLOC_ONE, 176);
}

OUT_OF_LINE static void page()
{
	kept = malloc(1 << 16);
	count(PAGES, 1 << 16);
}

// a header in front of the elements; a size that the caller knows; one of a power of two
OUT_OF_LINE static void header(size_t n)
{
	kept = malloc(16 + n * 8);
	count(HEADERS, 16 + n * 8);
}

OUT_OF_LINE static void bytes(size_t n)
{
	kept = malloc(n);
	count(HEADERS, n);
}

OUT_OF_LINE static void small()
{
	kept = calloc(1, 64);
	count(HEADERS, 64);
}

int main(int argc, char **)
{
	for (int i = 1; i <= 50; i++) {
		ints(i * argc);
		points((size_t)(i * argc));
		pixels(i, 40 * argc);
		kept = plains((size_t)(i * argc));
		kept = destroyed((size_t)(i * argc));
		zeroed((size_t)(i * argc));
		one();
		page();
		header((size_t)(i * argc));
		bytes((size_t)(i * argc));
		small();
	}
	for (int i = 0; i < KINDS; i++)
		printf("%ld %ld %s\n", counts[i].blocks, counts[i].bytes, labels[i]);
	return 0;
}
