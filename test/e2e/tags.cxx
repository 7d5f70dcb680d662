/* SPDX-License-Identifier: Apache-2.0 */
/* tags.cxx: shiny::tag: scopes, exceptions, threads of the C++ library. It prints what each tag
 * must have, as tags.c does. */
#include <shiny/shiny.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct book {
	unsigned long allocs, bytes, frees;
};
static std::map<std::string, book> books;
static std::mutex lock;

__attribute__((noinline)) void *take(const char *tag, unsigned bytes)
{
	void *made = ::operator new(bytes);
	std::lock_guard<std::mutex> guard(lock);

	books[tag].allocs++;
	books[tag].bytes += bytes;
	return made;
}

static void give(const char *tag, void *made)
{
	::operator delete(made);
	std::lock_guard<std::mutex> guard(lock);
	books[tag].frees++;
}

static void throws()
{
	shiny::tag tag("thrown out of");

	take("thrown out of", 100);
	throw std::runtime_error("out");
}

int main()
{
	take("(no tag)", 10);
	{
		shiny::tag tag("scope");
		auto *first = take("scope", 20);

		for (int i = 0; i < 3; i++) {
			shiny::tag each("each");

			take("each", 30);
			if (i == 1)
				continue;
			if (first)
				give("scope", first);
			first = nullptr;
			if (i == 2)
				break;
		}
		take("scope", 40);
		try {
			throws();
		} catch (const std::exception &) {
			take("scope", 50);
		}
		std::vector<std::thread> threads;
		for (int i = 0; i < 3; i++)
			threads.emplace_back([] {
				take("scope", 60);
				shiny::tag own("thread's own");
				take("thread's own", 70);
			});
		for (auto &thread : threads)
			thread.join();
		shiny_mark("in scope");
	}
	take("(no tag)", 80);
	for (const auto &entry : books)
		std::printf("book parent\t%s\t%lu\t%lu\t%lu\t0\n", entry.first.c_str(),
			    entry.second.allocs, entry.second.bytes, entry.second.frees);
	return 0;
}
