// SPDX-License-Identifier: Apache-2.0
// diff.cc: a program that diff_test and check_test build again and again: with something planted,
// with its lines shifted, with its functions in another order, stripped. It makes the same blocks
// each time, but for what is planted, and prints that. An argument is the seed of a noise of up to
// three per cent on everything that is not planted.
//
// PLANT_EXTRA    an allocation more in a loop, between two that were there
// PLANT_RESERVE  a vector that is filled without reserve
// PLANT_LEAK     every fourth session is forgotten
// PLANT_GROWN    a type has 16 bytes more
// PLANT_LONGER   jobs are kept until the end instead of being deleted at once
// SHIFT          all lines behind the includes are others
// build: -std=c++17
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#ifdef SHIFT
#line 2000
#endif

#define APART __attribute__((noinline))

namespace shop {
struct Item {
	virtual ~Item() {}
	virtual int id() const { return number; }
	int number = 0;
};
struct Order : Item {
	long lines[6] = {};
#ifdef PLANT_GROWN
	long more[2] = {};
#endif
};
struct Session : Item {
	char data[40] = {};
};
struct Job : Item {
	long steps[3] = {};
};
struct Token : Item {
	char text[20] = {};
};
struct Mark : Item {
	char text[100] = {};
};
template <int N> struct Part : Item {
	char pad[N] = {};
};
} // namespace shop

static unsigned long noise;

/* n, or up to three per cent more or less of it */
static int about(int n)
{
	if (!noise)
		return n;
	noise = noise * 6364136223846793005ul + 1442695040888963407ul;
	return n + int(long(n) * (long(noise >> 33) % 61 - 30) / 1000);
}

static std::vector<std::unique_ptr<shop::Item>> shelf; // until the end
static volatile int sink;

/* Not in each of stock_parts(): to compile it there takes longer than all else. */
struct Parts {
	std::vector<std::unique_ptr<shop::Item>> all;

	APART Parts() { all.reserve(20000); }
	APART ~Parts()
	{
		for (auto &part : all)
			sink = sink + part->id();
	}
	APART void add(shop::Item *part) { all.emplace_back(part); }
};
APART static void keep(shop::Item *part)
{
	shelf.emplace_back(part);
}

template <int N> APART void stock_parts()
{
	Parts parts;

	for (int i = about(40 + 37 * (N % 41)); i > 0; i--)
		parts.add(new shop::Part<N>);
	if (N % 3 == 0)
		for (int i = about(60); i > 0; i--)
			keep(new shop::Part<N>);
}

template <int First, int... More> APART void stock()
{
	stock_parts<First>();
	if constexpr (sizeof...(More) > 0)
		stock<More...>();
}

/* Two call sites that differ only in their lines, and what is planted between them. */
APART void parse(int count)
{
	for (int i = 0; i < count; i++) {
		shop::Token *first = new shop::Token;
#ifdef PLANT_EXTRA
		shop::Token *extra = new shop::Token;
		sink = sink + extra->id();
		delete extra;
#endif
		shop::Token *second = new shop::Token;

		sink = sink + first->id() + second->id();
		delete first;
		delete second;
	}
}

APART double fill_prices(int rounds, int count)
{
	double sum = 0;

	for (int r = 0; r < rounds; r++) {
		std::vector<double> prices;

#ifndef PLANT_RESERVE
		prices.reserve(count);
#endif
		for (int i = 0; i < count; i++)
			prices.push_back(i);
		sum += prices[prices.size() / 2];
	}
	return sum;
}

APART int serve(int count)
{
	int forgotten = 0;

	for (int i = 0; i < count; i++) {
		shop::Session *session = new shop::Session;

		sink = sink + session->id();
#ifdef PLANT_LEAK
		if (i % 4 == 0) {
			forgotten++;
			continue;
		}
#endif
		delete session;
	}
	return forgotten;
}

APART void take_orders(int count)
{
	std::vector<std::unique_ptr<shop::Order>> orders;

	orders.reserve(count);
	for (int i = 0; i < count; i++)
		orders.emplace_back(new shop::Order);
	for (auto &order : orders)
		sink = sink + order->id();
}

APART void run_jobs(int count)
{
#ifdef PLANT_LONGER
	std::unique_ptr<shop::Job> last[64];
#endif
	for (int i = 0; i < count; i++) {
		std::unique_ptr<shop::Job> job(new shop::Job);
		std::unique_ptr<shop::Mark> mark(new shop::Mark);

		sink = sink + job->id() + mark->id();
#ifdef PLANT_LONGER
		last[i % 64] = std::move(job);
#endif
	}
}

/* Forked: the same program, another role. */
APART void work(int count)
{
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < count; i++) {
			shop::Mark *mark = new shop::Mark;

			sink = sink + mark->id();
			delete mark;
		}
		exit(0);
	}
	waitpid(child, nullptr, 0);
}

int main(int argc, char **argv)
{
	enum {
		PARSED = 1500,
		ROUNDS = 40,
		PRICES = 3000,
		SERVED = 2000,
		ORDERS = 1200,
		JOBS = 1000,
		WORK = 300
	};
	int forgotten;

	noise = argc > 1 ? strtoul(argv[1], nullptr, 10) : 0;
	shelf.reserve(10000);
	stock<8, 12, 17, 21, 25, 30, 33, 38, 41, 45, 52, 55, 61, 64, 72, 77, 80, 85, 91, 96, 99,
	      104, 111, 120, 123, 128, 135, 144, 150, 161, 170, 180, 189>();
	parse(PARSED);
	fill_prices(ROUNDS, PRICES);
	forgotten = serve(SERVED);
	take_orders(ORDERS);
	run_jobs(JOBS);
	work(WORK);
	shelf.clear();
	shelf.shrink_to_fit();
	printf("parsed %d\nrounds %d\nprices %d\nserved %d\nforgotten %d\norders %d\norder "
	       "%zu\njobs %d\nwork %d\nsession %zu\ntoken %zu\nmark %zu\n",
	       PARSED, ROUNDS, PRICES, SERVED, forgotten, ORDERS, sizeof(shop::Order), JOBS, WORK,
	       sizeof(shop::Session), sizeof(shop::Token), sizeof(shop::Mark));
	return 0;
}
