// SPDX-License-Identifier: Apache-2.0
// Compiled once as main.cc (PART 0) and as twelve files in four directories (PART 1 to 12). Each
// of these has two functions that name their file, and between them one that does not, and one
// that the file before calls, too; all call a function of a header, of which the program has one.
// PART 13 is a file that is named nowhere, with functions that name themselves; PART 14 is a file
// of the same directory that is.
// Prints for each block its size, the file that made it, and which kind of function that was.
#include <cstdio>
#include <cstdlib>

#ifdef __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noipa))
#endif
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)

extern void *volatile last;
extern volatile int argument;
extern const char *volatile here;
extern char **paths; // by part
void said(const char *file, int line);

#define CHECK(good)                               \
	do {                                      \
		if (!(good))                      \
			said(__FILE__, __LINE__); \
	} while (0)

// A template of a header: each file that uses it has one, and the linker keeps the first.
template <class T> OUT_OF_LINE void shared(size_t count)
{
	last = malloc(count * sizeof(T));
	printf("%zu %s shared\n", count * sizeof(T), here);
}

#if PART == 0
void *volatile last;
volatile int argument = 1;
const char *volatile here;
char **paths;

OUT_OF_LINE void said(const char *file, int line)
{
	printf("%s:%d\n", file, line);
	abort();
}

void omega_one();
void omega_two();

#define PARTS(each) each(1) each(2) each(3) each(4) each(5) each(6) \
	each(7) each(8) each(9) each(10) each(11) each(12)
#define DECLARE(part) void part_##part();
#define CALL(part) here = paths[part], part_##part();
PARTS(DECLARE)

int main(int, char **argv)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	paths = argv;
	PARTS(CALL)
	here = paths[13];
	omega_one();
	here = paths[14];
	omega_two();
}
#elif PART == 13
static const char *volatile name;

static OUT_OF_LINE void omega_first() { name = "omega::First::Make"; }
static OUT_OF_LINE void omega_plain()
{
	last = malloc(15001);
	printf("15001 %s anchored\n", here);
}
static OUT_OF_LINE void omega_other()
{
	name = "alpha::misleading::Text"; // one of alpha's, in code of another directory
	name = "omega::Other::Make";
}
static OUT_OF_LINE void omega_last()
{
	last = malloc(15002);
	printf("15002 %s anchored\n", here);
}
void omega_one()
{
	omega_first();
	omega_plain();
	omega_other();
	omega_last();
}
#elif PART == 14
OUT_OF_LINE void omega_two()
{
	CHECK(argument);
	last = malloc(15003);
	printf("15003 %s names\n", here);
}
#else
#define SIZE(number) (10000 + PART * 100 + (number))
void NAME(outside_, NEXT)();
void NAME(inlined_, NEXT)();

OUT_OF_LINE void NAME(first_, PART)()
{
	CHECK(argument);
	last = malloc(SIZE(1));
	printf("%d %s names\n", SIZE(1), here);
}

static OUT_OF_LINE void NAME(plain_, PART)()
{
	last = malloc(SIZE(2));
	printf("%d %s plain\n", SIZE(2), here);
}

OUT_OF_LINE void NAME(outside_, PART)()
{
	last = malloc(SIZE(3));
	printf("%d %s outside\n", SIZE(3), here);
}

void NAME(part_, PART)()
{
	const char *file = here;

	CHECK(argument);
	NAME(first_, PART)();
	NAME(plain_, PART)();
	NAME(outside_, PART)();
	shared<char>(SIZE(4));
	here = paths[NEXT];
	NAME(outside_, NEXT)();
	here = file;
	NAME(inlined_, NEXT)();
}

// Link-time optimization inlines it into another file's function.
void NAME(inlined_, PART)()
{
	CHECK(argument < 7);
}
#endif
