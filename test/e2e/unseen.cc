// SPDX-License-Identifier: Apache-2.0
// build: -std=gnu++17
/*
 * unseen: objects of which some lose their vptr before they are freed, so that nobody can have read
 * it, as happens to one in a hundred thousand by chance. Each call site has a class of its own.
 *
 * Prints for each: class, blocks, and how many of them kept their vptr.
 */
#include <cstdio>
#include <cstring>
#include <new>

struct shape {
	virtual ~shape() {}
	virtual double area() const { return 0; }
};
template <int N> struct cells : shape {
	double a[N] = {};
	double area() const override { return a[0] * a[0]; }
};

template <int N> __attribute__((noinline)) static shape *fresh()
{
	return new cells<N>;
}
template <int N> static void made(int kept, int lost)
{
	for (int i = 0; i < kept + lost; i++) {
		shape *s = fresh<N>();

		if (i < kept) {
			delete s;
		} else {
			memset(static_cast<void *>(s), 0, sizeof(void *));
			asm volatile("" : : "r"(s) : "memory");
			operator delete(s);
		}
	}
	printf("cells<%d> %d %d\n", N, kept + lost, kept);
}

int main()
{
	made<4>(60, 40);
	made<5>(1000, 1);
	made<6>(2, 1);
	made<7>(40, 60);
	return 0;
}
