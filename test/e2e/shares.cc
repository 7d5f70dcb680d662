// SPDX-License-Identifier: Apache-2.0
// shares.cc: blocks of several types, of which a known share is used within a time; it works that
// out from what it has done, and prints it. See shares_test.
//
//   Always   each is written all the time
//   Never    filled, and left alone
//   Half     every second one is read all the time
//   Slow     each is written every 400 ms; every 40 ms where it is the only one
//   Skewed   number i is read every 10 ms * 2^(i % 8)
//   Phased   used all the time for 500 ms, then not at all for 500 ms, and so on
//   Grown    as Half; each came out of two reallocs (malloc, so that it has no type: by its site)
//
// Arguments: threads that do it, seconds, a seed for the phases, the only type to make. "truth TYPE
// WINDOW SHARE": of a random moment and block, the share that is used within WINDOW ns of it. "uses
// ADDRESS BEFORE AFTER ...": of each Slow block, on CLOCK_BOOTTIME. It forks once; the child uses
// nothing and ends.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

struct Always { volatile long value; char rest[56]; };
struct Never { volatile long value; char rest[72]; };
struct Half { volatile long value; char rest[24]; };
struct Slow { volatile long value; char rest[40]; };
struct Skewed { volatile long value; char rest[88]; };
struct Phased { volatile long value; char rest[104]; };
struct Grown { volatile long value; char rest[248]; };

enum Kind { ALWAYS, NEVER, HALF, SLOW, SKEWED, PHASED, GROWN, KINDS };
static const char *const names[KINDS] = { "Always", "Never", "Half", "Slow", "Skewed", "Phased",
					  "Grown" };
enum { BLOCKS = 96 };
static const uint64_t ms = 1000000;
static const uint64_t windows[] = { 100 * ms, 1000 * ms };

struct Plan {
	Kind kind;
	volatile long *word; // the block's first
	uint64_t period, phase, next;
	std::vector<uint64_t> uses; // just before
	std::vector<uint64_t> done; // just after, of Slow
};

static bool only; // one type is made
static std::vector<Plan> plans;
static std::atomic<uint64_t> over;

static uint64_t now(clockid_t clock = CLOCK_MONOTONIC)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 * ms + (uint64_t)t.tv_nsec;
}

template <class T> __attribute__((noinline)) static volatile long *make()
{
	T *block = new T();

	return &block->value;
}

__attribute__((noinline)) static volatile long *grow()
{
	void *block = malloc(sizeof(Grown) / 4);

	block = realloc(block, sizeof(Grown) / 2);
	block = realloc(block, sizeof(Grown));
	memset(block, 0, sizeof(Grown));
	return (volatile long *)block;
}

static volatile long *make_of(Kind kind)
{
	return kind == ALWAYS ? make<Always>() : kind == NEVER ? make<Never>()
	       : kind == HALF ? make<Half>() : kind == SLOW ? make<Slow>()
	       : kind == SKEWED ? make<Skewed>() : kind == PHASED ? make<Phased>() : grow();
}

// 0: never
static uint64_t period_of(Kind kind, int i)
{
	return kind == NEVER || ((kind == HALF || kind == GROWN) && i % 2) ? 0
	       : kind == SLOW ? (only ? 40 : 400) * ms : kind == SKEWED ? 10 * ms << i % 8 : 5 * ms;
}

static bool rests(const Plan &p, uint64_t time, uint64_t begun)
{
	return p.kind == PHASED && (time - begun + p.phase) / (500 * ms) % 2;
}

// Every `threads`th plan from `first` on.
static void use(size_t first, size_t threads, uint64_t begun)
{
	long sum = 0;

	while (!over) {
		for (size_t i = first; i < plans.size(); i += threads) {
			Plan &p = plans[i];
			uint64_t time = now();

			if (!p.period || time < p.next || rests(p, time, begun))
				continue;
			if (p.kind == HALF || p.kind == SKEWED)
				sum += *p.word;
			else
				*p.word = 1;
			if (p.kind == SLOW)
				p.done.push_back(now());
			p.uses.push_back(time);
			p.next = std::max(p.next + p.period, time);
		}
		usleep(500);
	}
	if (sum == 42)
		puts("that cannot be");
}

// How long of the moments in [from, to] are at most `window` before the next use.
static double used_for(const Plan &p, uint64_t from, uint64_t to, uint64_t window)
{
	uint64_t last = from;
	double sum = 0;

	for (uint64_t use : p.uses) {
		uint64_t begin = std::max(last, use > window ? use - window : 0);
		uint64_t end = std::min(use, to);

		if (end > begin)
			sum += (double)(end - begin);
		last = std::max(last, use);
	}
	return sum;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1;
	uint64_t length = (argc > 2 ? strtoul(argv[2], nullptr, 10) : 3) * 1000 * ms;
	std::mt19937_64 random(argc > 3 ? strtoul(argv[3], nullptr, 10) : 1);
	std::vector<std::thread> users;
	uint64_t phase = random() % (1000 * ms), begun, ended;

	only = argc > 4;
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < BLOCKS && (!only || !strcmp(argv[4], names[kind])); i++) {
			uint64_t period = period_of((Kind)kind, i);

			plans.push_back({ (Kind)kind, make_of((Kind)kind), period,
					  kind == PHASED ? phase : 0, 0, {}, {} });
		}
	begun = now();
	for (Plan &p : plans) {
		p.next = begun + (p.period ? random() % p.period : 0);
		p.uses.reserve(p.period ? length / p.period + 16 : 0);
		p.done.reserve(p.kind == SLOW ? length / p.period + 16 : 0);
	}
	std::shuffle(plans.begin(), plans.end(), random);
	if (fork() == 0) {
		usleep(100000);
		_exit(0);
	}
	for (size_t i = 0; i < threads; i++)
		users.emplace_back(use, i, threads, begun);
	while (now() < begun + length)
		usleep(1000);
	over = 1;
	for (std::thread &user : users)
		user.join();
	ended = now();
	for (int kind = 0; kind < KINDS; kind++)
		for (uint64_t window : windows) {
			if (only && strcmp(argv[4], names[kind]))
				continue;
			uint64_t to = ended - window;
			double sum = 0;

			for (const Plan &p : plans)
				if (p.kind == kind)
					sum += used_for(p, begun, to, window);
			printf("truth %s %llu %.6f\n", names[kind], (unsigned long long)window,
			       sum / BLOCKS / (double)(to - begun));
		}
	for (const Plan &p : plans) {
		uint64_t to_boottime = now(CLOCK_BOOTTIME) - now();

		if (p.kind == SLOW)
			printf("uses %p", (void *)p.word);
		for (size_t i = 0; i < p.done.size(); i++)
			printf(" %llu %llu", (unsigned long long)(p.uses[i] + to_boottime),
			       (unsigned long long)(p.done[i] + to_boottime));
		if (p.kind == SLOW)
			putchar('\n');
	}
	fflush(stdout);
	_exit(5); // what is live stays so
}
