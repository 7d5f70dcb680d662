// SPDX-License-Identifier: Apache-2.0
// Compiled three times, as alpha/one.cc, alpha/beta/two.cc and gamma.cc (PART 1 to 3): functions
// that allocate and name their file, as assertions and log lines do, and functions that name none
// or two. Prints for each block its size and the file that its function names, or "-".
#include <cstdio>
#include <cstdlib>

#define OUT_OF_LINE __attribute__((noinline))

extern void *volatile last;
extern volatile int argument;
void said(const char *file, int line);

#define CHECK(good)                             \
	do {                                    \
		if (!(good))                    \
			said(__FILE__, __LINE__); \
	} while (0)

OUT_OF_LINE static void names_file(size_t bytes)
{
	CHECK(argument);
	last = malloc(bytes);
	printf("%zu %s\n", bytes, __FILE__);
}

OUT_OF_LINE static void names_none(size_t bytes)
{
	last = malloc(bytes + (size_t)argument - 1);
	printf("%zu -\n", bytes);
}

#if PART == 1
#include "alpha/inlined.cc"

void *volatile last;
volatile int argument = 1;

OUT_OF_LINE void said(const char *file, int line)
{
	printf("%s:%d\n", file, line);
	abort();
}

OUT_OF_LINE static void names_two(size_t bytes)
{
	CHECK(argument);
	inlined();
	last = malloc(bytes);
	printf("%zu -\n", bytes);
}

void two();
void three();

int main()
{
	names_file(10001);
	names_none(10002);
	names_two(10003);
	two();
	three();
}
#elif PART == 2
void two()
{
	names_file(20001);
	names_none(20002);
}
#else
void three()
{
	names_file(30001);
	names_none(30002);
}
#endif
