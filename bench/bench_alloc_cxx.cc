// SPDX-License-Identifier: Apache-2.0
// bench_alloc_cxx.cc: the same for polymorphic C++ objects, so that vptrs are read.
//
//   bench_alloc_cxx [events, default 2000000]
//
// Keeps 1,000 objects of 8 classes and replaces a random one each step: one delete and one new.
// Prints CPU ns and wall ns an event.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

template <int n> struct polygon : shape {
	double sides[n * 2 + 1] = {};
	double area() const override { return sides[n]; }
};

static shape *live[1000];
static uint64_t seed = 88172645463325252;

static uint64_t next()
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

__attribute__((noinline)) static shape *make(uint64_t r)
{
	switch (r % 8) {
	case 0: return new polygon<1>;
	case 1: return new polygon<2>;
	case 2: return new polygon<3>;
	case 3: return new polygon<4>;
	case 4: return new polygon<5>;
	case 5: return new polygon<6>;
	case 6: return new polygon<7>;
	default: return new polygon<8>;
	}
}

__attribute__((noinline)) static void step(uint64_t r, int depth)
{
	if (depth) {
		step(r, depth - 1);
	} else {
		shape *&slot = live[(r >> 32) % 1000];
		delete slot;
		slot = make(r);
	}
	__asm__ volatile("" ::: "memory");
}

static double now(clockid_t clock)
{
	timespec t;

	clock_gettime(clock, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

int main(int argc, char **argv)
{
	long events = argc > 1 ? std::atol(argv[1]) : 2000000;
	double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);

	for (long i = 0; i < events / 2; i++)
		step(next(), 5);
	std::printf("%.2f %.2f\n",
		    (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / static_cast<double>(events),
		    (now(CLOCK_MONOTONIC) - wall) / static_cast<double>(events));
	return 0;
}
