// SPDX-License-Identifier: Apache-2.0
// calls.cc: a program whose ways to its allocations are designed, and which prints them: functions
// that recurse, directly and in turn, that are inlined, that threads call, that a forked child
// calls, and that stand deeper than a stack is kept.
//
//   way OUTER;…;INNER BLOCKS BYTES LIVE-BYTES     functions of this program; a child prints its own
//   deep BLOCKS BYTES LIVE-BYTES                  those whose outermost callers cannot be known
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <string_view>

#define NOINLINE __attribute__((noinline, noclone))
#define INLINE   inline __attribute__((always_inline))

enum { LEVELS = 3, DEEP = 40, THREADS = 3 };

namespace {

struct Way {
	const char *functions;
	long blocks, bytes, live;
};
// Nothing is allocated for the books themselves.
Way ways[64];
int way_count;
volatile int sink;

void note(const char *functions, long blocks, long bytes, long live)
{
	for (int i = 0; i < way_count; i++)
		if (std::string_view(ways[i].functions) == functions) {
			ways[i].blocks += blocks;
			ways[i].bytes += bytes;
			ways[i].live += live;
			return;
		}
	ways[way_count++] = {functions, blocks, bytes, live};
}

} // namespace

extern "C" {

// Not a tail call: its frame has to be there.
NOINLINE void *leaf(size_t bytes)
{
	void *block = malloc(bytes);

	sink++;
	return block;
}

INLINE void *inlined(size_t bytes)
{
	void *block = malloc(bytes);

	sink++;
	return block;
}

NOINLINE void recurse(int level)
{
	free(leaf(100));
	leaf(10);
	if (level > 1)
		recurse(level - 1);
	sink++;
}

NOINLINE void pong(int level);
NOINLINE void ping(int level)
{
	leaf(32);
	if (level)
		pong(level - 1);
	sink++;
}
NOINLINE void pong(int level)
{
	if (level)
		ping(level - 1);
	sink++;
}

NOINLINE void inliner()
{
	inlined(48);
	free(inlined(56));
	sink++;
}

NOINLINE void *worker(void *)
{
	for (int i = 0; i < 10; i++)
		leaf(20);
	inliner();
	return nullptr;
}

NOINLINE void deep(int level)
{
	if (level)
		deep(level - 1);
	else
		leaf(1000);
	sink++;
}

NOINLINE void child()
{
	free(leaf(500));
	free(leaf(700));
	sink++;
}
}

int main()
{
	pthread_t threads[THREADS];

	recurse(LEVELS);
	note("main;recurse;leaf", 2, 110, 10);
	note("main;recurse;recurse;leaf", 2, 110, 10);
	note("main;recurse;recurse;recurse;leaf", 2, 110, 10);
	ping(3);
	note("main;ping;leaf", 1, 32, 32);
	note("main;ping;pong;ping;leaf", 1, 32, 32);
	inliner();
	note("main;inliner;inlined", 2, 104, 48);
	deep(DEEP);
	for (pthread_t &thread : threads)
		pthread_create(&thread, nullptr, worker, nullptr);
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	note("worker;leaf", 10 * THREADS, 200 * THREADS, 200 * THREADS);
	note("worker;inliner;inlined", 2 * THREADS, 104 * THREADS, 48 * THREADS);
	fflush(stdout);
	if (fork() == 0) {
		child();
		printf("way main;child;leaf 2 1200 0\n");
		fflush(stdout);
		_exit(0);
	}
	wait(nullptr);
	for (int i = 0; i < way_count; i++)
		printf("way %s %ld %ld %ld\n", ways[i].functions, ways[i].blocks, ways[i].bytes,
		       ways[i].live);
	printf("deep 1 1000 1000\n");
	return 0;
}
