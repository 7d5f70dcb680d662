// SPDX-License-Identifier: Apache-2.0
// activity.cc: a heap whose course is designed: it rises, stays, has a spike, rises again and
// falls, in bursts with rests between them, which last as many seconds at least as the argument
// says. It prints what each burst did. With "fork": a child that holds what it was given and more,
// and ends before its parent.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

struct Loaded { char bytes[1000]; };
struct Scratch { char bytes[750]; };
struct Extra { char bytes[500]; };

enum { LOADED = 4000, SCRATCH = 8000, LARGE = 5, LARGE_BYTES = 1000000, EXTRA = 4000 };

static Loaded *loaded[LOADED];
static Scratch *scratch[SCRATCH];
static char *large[LARGE];
static Extra *extra[EXTRA];

namespace blink {
APART void load()
{
	for (auto &p : loaded)
		p = new Loaded;
}
}

namespace net {
APART void make_scratch()
{
	for (auto &p : scratch)
		p = new Scratch;
	for (auto &p : scratch)
		delete p;
}
}

APART static void take_large()
{
	for (auto &p : large)
		p = (char *)malloc(LARGE_BYTES);
}

APART static void unload()
{
	for (auto &p : loaded)
		delete p;
}

APART static void take_extra()
{
	for (auto &p : extra)
		p = new Extra;
}

// ---- time ----

static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double started, longest, shortest = 1e9, least_rest = 0.1;

// A burst is an instant beside the rests: a rest is many times as long as the longest one was so
// far, however slow the machine.
static void rest(double bursts)
{
	double from = now(), least = longest * bursts > least_rest ? longest * bursts : least_rest;

	while (now() - from < least)
		usleep(1000);
	if (now() - from < shortest)
		shortest = now() - from;
}

template <class F> static void burst(F function)
{
	double from = now();

	function();
	if (now() - from > longest)
		longest = now() - from;
}

static void one_process()
{
	size_t pages = 0, lines = 0;

	rest(0);
	burst(blink::load);
	rest(10);
	burst(net::make_scratch);
	rest(10);
	burst(take_large);
	rest(10);
	burst(unload);
	rest(10);
	rest(50); // a spike is short beside the whole

	for (char *p : large) {
		uintptr_t first = (uintptr_t)p, last = first + LARGE_BYTES - 1;

		pages += last / 4096 - first / 4096 + 1;
		lines += last / 64 - first / 64 + 1;
	}
	printf("steady - - 0 0\n");
	printf("rise blink::load Loaded %d %d\n", LOADED, LOADED * 1000);
	printf("steady - - 0 0\n");
	printf("spike net::make_scratch Scratch %d %d\n", SCRATCH, SCRATCH * 750);
	printf("steady - - 0 0\n");
	printf("rise take_large - %d %d\n", LARGE, LARGE * LARGE_BYTES);
	printf("steady - - 0 0\n");
	printf("fall blink::load Loaded %d %d\n", LOADED, LOADED * 1000);
	printf("steady - - 0 0\n");
	printf("large %zu %zu\n", pages, lines);
	printf("longest %ld %ld\n", (long)(longest * 1e9), (long)(shortest * 1e9));
}

// The parent's blocks live twice while the child runs, and the child's own ones beside them.
static void two_processes()
{
	burst(blink::load);
	rest(10);

	pid_t child = fork();

	if (child == 0) {
		burst(take_extra);
		rest(10);
		_exit(0);
	}
	waitpid(child, nullptr, 0);
	burst(unload);
	rest(10);
	printf("child %d\nparent %d\n", (int)child, (int)getpid());
	/* the child's copies stand apart */
	printf("both blink::load %d %d\n", LOADED, LOADED * 1000);
	printf("both take_extra %d %d\n", EXTRA, EXTRA * 500);
	printf("child take_extra %d %d\n", EXTRA, EXTRA * 500);
	printf("parent blink::load %d %d\n", LOADED, LOADED * 1000);
}

int main(int argc, char **argv)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	started = now();
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		two_processes();
	} else {
		least_rest = argc > 1 ? atof(argv[1]) : least_rest;
		one_process();
	}
	return 0;
}
