// SPDX-License-Identifier: Apache-2.0
// access.cc: blocks that are used by design; it says which. See access_test.
//
//   Cached      filled once, never used again (argument "cache": the most bytes)
//   Shape       a graph that a registry keeps: used while it is built, never afterwards
//               (argument "graph": the most bytes)
//   Busy        each of them written by a thread of its own, all the time
//   Table       every second one is read all the time, by one short-lived thread after the other
//   Churn       made, written, and freed
// It says "ready PID" and its blocks, and goes on until its input ends. "hidden" as a second
// argument: it lets no ordinary user look into it.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <poll.h>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

struct Cached { char text[4096]; };
struct Shape {
	virtual ~Shape() = default;
	std::vector<Shape *> near;
	double area[16] = {};
};
struct Round : Shape { double radius = 1; };
struct Busy { volatile long count; char rest[56]; };
struct Table { volatile long value; };
struct Churn { volatile long value; char rest[24]; };

enum { BUSY = 100, TABLES = 400 };

static std::atomic<bool> over;
static std::vector<Cached *> cache;
static std::map<int, std::unique_ptr<Shape>> registry;
static std::vector<Busy *> busy;
static std::vector<Table *> tables;

__attribute__((noinline)) static Cached *make_cached(int i)
{
	Cached *c = new Cached;

	memset(c, i, sizeof(*c));
	printf("never %p\n", (void *)c);
	return c;
}

__attribute__((noinline)) static void make_shape(int i)
{
	std::unique_ptr<Shape> shape(i % 2 ? new Shape : new Round);

	shape->area[0] = i;
	for (int k = 1; k <= 3 && k <= i; k++)
		shape->near.push_back(registry[i - k].get());
	printf("never %p\n", (void *)shape.get());
	registry[i] = std::move(shape);
}

__attribute__((noinline)) static Busy *make_busy()
{
	return new Busy();
}

__attribute__((noinline)) static Table *make_table(int i)
{
	Table *t = new Table{ i };

	printf("%s %p\n", i % 2 ? "never" : "read", (void *)t);
	return t;
}

__attribute__((noinline)) static void use_busy()
{
	while (!over) {
		for (Busy *b : busy)
			b->count = 1;
		usleep(1000);
	}
}

__attribute__((noinline)) static void use_tables()
{
	long sum = 0;

	for (int round = 0; round < 50 && !over; round++) {
		for (size_t i = 0; i < tables.size(); i += 2)
			sum += tables[i]->value;
		usleep(1000);
	}
	if (sum == 42)
		puts("that cannot be");
}

__attribute__((noinline)) static void churn()
{
	std::unique_ptr<Churn> c(new Churn());

	usleep(3000);
	c->value = 1;
}

static void read_tables()
{
	while (!over)
		std::thread(use_tables).join();
}

int main(int argc, char **argv)
{
	bool graph = argc > 1 && !strcmp(argv[1], "graph");
	struct pollfd input = { 0, POLLIN, 0 };
	char end;

	if (argc > 2 && !strcmp(argv[2], "hidden"))
		prctl(PR_SET_DUMPABLE, 0);
	for (int i = 0; i < (graph ? 10 : 500); i++)
		cache.push_back(make_cached(i));
	for (int i = 0; i < (graph ? 4000 : 100); i++)
		make_shape(i);
	for (int i = 0; i < BUSY; i++)
		busy.push_back(make_busy());
	for (int i = 0; i < TABLES; i++)
		tables.push_back(make_table(i));
	printf("ready %d\n", (int)getpid());
	fflush(stdout);

	std::thread writer(use_busy), reader(read_tables);

	while (poll(&input, 1, 0) == 0)
		churn();
	if (read(0, &end, 1) != 0)
		return 1;
	over = true;
	writer.join();
	reader.join();
	_exit(7); // what is live stays so
}
