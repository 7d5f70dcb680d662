// SPDX-License-Identifier: Apache-2.0
// pmr.cc: objects in pools of std::pmr, by containers and by hand, each counted by a resource above
// the pool. It prints, of each pool: book NAME objects-made bytes-made objects-that-live
// bytes-that-live. One pool is released while objects are in it, one ends so; what is made and not
// given back of those does not live.
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

struct Counted : std::pmr::memory_resource {
	std::pmr::memory_resource *below;
	uint64_t made = 0, made_bytes = 0, live = 0, live_bytes = 0;

	explicit Counted(std::pmr::memory_resource *pool) : below(pool) {}
	void *do_allocate(size_t bytes, size_t align) override
	{
		made++, live++, made_bytes += bytes, live_bytes += bytes;
		return below->allocate(bytes, align);
	}
	void do_deallocate(void *object, size_t bytes, size_t align) override
	{
		live--, live_bytes -= bytes;
		below->deallocate(object, bytes, align);
	}
	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
	void ended() { live = live_bytes = 0; }
	void print(const char *name) const
	{
		printf("book %s %ju %ju %ju %ju\n", name, (uintmax_t)made, (uintmax_t)made_bytes,
		       (uintmax_t)live, (uintmax_t)live_bytes);
	}
};

static void fill(Counted &pool, unsigned seed, void **objects, size_t *sizes, unsigned count)
{
	for (unsigned i = 0; i < 20 * count; i++) {
		unsigned at = (seed = seed * 1103515245 + 12345) >> 16 & (count - 1);

		if (objects[at])
			pool.deallocate(objects[at], sizes[at], 16);
		sizes[at] = seed % 7 ? seed / 7 % 300 + 1 : 0;
		objects[at] = sizes[at] ? pool.allocate(sizes[at], 16) : nullptr;
	}
}

int main()
{
	enum { OBJECTS = 1024 };
	static void *objects[3][OBJECTS];
	static size_t sizes[3][OBJECTS];
	auto *plain = new std::pmr::unsynchronized_pool_resource;
	auto *shared = new std::pmr::synchronized_pool_resource;
	Counted own(plain), of_threads(shared);
	std::pmr::list<std::pmr::string> list(&own);
	std::pmr::map<int, double> map(&own);

	for (int i = 0; i < 3000; i++) {
		list.emplace_back("a text that does not fit into the string itself");
		map[i * 7 % 2003] = i;
		if (i % 3 == 0)
			list.pop_front();
	}
	fill(of_threads, 1, objects[0], sizes[0], OBJECTS);
	std::thread([&] { fill(of_threads, 2, objects[1], sizes[1], OBJECTS); }).join();
	own.print("unsynchronized");
	of_threads.print("synchronized");

	std::pmr::synchronized_pool_resource released;
	Counted before(&released);
	fill(before, 3, objects[2], sizes[2], OBJECTS);
	released.release();
	before.ended();
	(void)before.allocate(77);
	before.print("released");
	{
		std::pmr::unsynchronized_pool_resource ending;
		Counted ends(&ending);

		for (int i = 0; i < 100; i++)
			(void)ends.allocate(1000 + i);
		ends.ended();
		ends.print("ended");
	}
	fflush(stdout);
	_Exit(0);
}
