// SPDX-License-Identifier: Apache-2.0
// The program of debuginfo_test, which compiles it in many ways: PART 1 and 2 are two units of it.
// It prints where it allocates.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HERE(text) std::printf("{\"function\":\"%s\",\"line\":%d}\n", text, __LINE__)
#define OUTLINE __attribute__((noinline))

struct item {
	int number;
	long weight;
	explicit item(int n) : number(n), weight(n * 2L) {}
};
struct keeper {
	std::vector<item *> items;
	OUTLINE void *keep(int n);
};
void *part_two(int n);
extern void *volatile last; // what is stored there is no tail call

#if PART == 1
void *volatile last;

// no single statement of these may be moved to another line: they are what is looked for.
// The typed pointers keep them from being allocation wrappers, whose callers would be shown.
OUTLINE item *make_item(int n) { HERE("make_item(int)"); item *p = new item(n); last = p; return p; }

OUTLINE void *keeper::keep(int n) { HERE("keeper::keep(int)"); void *p = std::malloc((size_t)n * 24); last = p; items.push_back(nullptr); return p; }

// another section: the unit has more than one range
__attribute__((noinline, section(".text.apart"))) long *apart(int n) { HERE("apart(int)"); long *p = (long *)std::calloc((size_t)n, 8); last = p; return p; }

int main()
{
	std::setvbuf(stdout, nullptr, _IONBF, 0);
	keeper all;
	void *volatile kept[] = {make_item(3), all.keep(4), apart(5), part_two(6)};
	return kept[0] && kept[1] && kept[2] && kept[3] ? 0 : 1;
}
#else
OUTLINE static long *inner(int n) { HERE("inner(int)"); long *p = (long *)std::malloc((size_t)n * 100); last = p; return p; }

void *part_two(int n)
{
	std::vector<item> found;
	found.emplace_back(n);
	return found.size() ? inner(n) : nullptr;
}
#endif
