// SPDX-License-Identifier: Apache-2.0
// Four functions that hand on a name and a file, and allocate: three say the truth, one lies about
// both, eight times. What they are is in the debug information.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define OUT_OF_LINE __attribute__((noinline))

static void *volatile last;
static volatile bool never;
static std::vector<long> longs;

OUT_OF_LINE static void report(const char *function, const char *file, int line)
{
	if (never)
		printf("%s %s:%d\n", function, file, line);
}
OUT_OF_LINE static void first()
{
	report("first", __FILE__, __LINE__);
	last = malloc(100);
}
OUT_OF_LINE static void second()
{
	report("second", __FILE__, __LINE__);
	last = malloc(200);
}
OUT_OF_LINE static void third()
{
	report("third", __FILE__, __LINE__);
	last = malloc(300);
}
OUT_OF_LINE static void liar()
{
	report("honest", "./other/place.cc", __LINE__);
	last = malloc(400);
}

int main()
{
	first();
	second();
	third();
	for (int i = 0; i < 8; i++)
		liar();
	for (long i = 0; i < 100; i++)
		longs.push_back(i);
}
