// SPDX-License-Identifier: Apache-2.0
/*
 * building.cxx: objects whose base class's constructor makes so many allocations that they are
 * looked at while it runs, and objects of which that is not so. Prints the size of each kind's
 * blocks, its class, and the classes that it is while it is being built ("-": it is not looked at
 * then).
 */
#include <cstdio>
#include <cstdlib>
#include <new>

static void churn()
{
	static void *kept[8192];

	for (int i = 0; i < 50000; i++) {
		void **at = &kept[i * 7 % 8192];
		free(*at);
		*at = malloc(17 + i % 61);
	}
}

// the same size as what is derived of it: nothing but the vptr tells
template <int SIZE> struct Base {
	char bytes[SIZE - sizeof(void *)];
	__attribute__((noinline)) Base() { churn(); }
	virtual ~Base() {}
	virtual int what() { return 1; }
};
struct First : Base<2008> {
	__attribute__((noinline)) First() {}
	int what() override { return 2; }
};
struct Middle : Base<2016> {
	__attribute__((noinline)) Middle() {}
	int what() override { return 3; }
};
struct Last : Middle {
	__attribute__((noinline)) Last() {}
	int what() override { return 4; }
};
struct Placed : Base<2024> {
	__attribute__((noinline)) Placed() {}
	int what() override { return 5; }
};
// nothing is derived of it, and its blocks are looked at when they are complete
struct Plain {
	char bytes[2032 - sizeof(void *)];
	__attribute__((noinline)) Plain() {}
	virtual ~Plain() {}
	virtual int what() { return 6; }
};

static void *volatile sink;
__attribute__((noinline)) static void *wrapper(size_t size)
{
	void *block = malloc(size);

	sink = block;
	return block;
}
__attribute__((noinline)) static Base<2008> *make_first() { return new First; }
__attribute__((noinline)) static Plain *make_plain() { return new Plain; }

int main()
{
	int sum = 0;
	Plain *plain[100];

	sum += make_first()->what();
	sum += (new Last)->what();
	sum += (new (wrapper(sizeof(Placed))) Placed)->what();
	for (int i = 0; i < 100; i++) {
		plain[i] = make_plain();
		if (i % 10 == 9)
			churn();
	}
	for (int i = 0; i < 100; i++)
		sum += plain[i]->what();
	printf("%zu First Base<2008>\n%zu Last Base<2016>,Middle\n%zu Placed Base<2024>\n"
	       "%zu Plain -\n",
	       sizeof(First), sizeof(Last), sizeof(Placed), sizeof(Plain));
	return sum != 2 + 4 + 5 + 600;
}
