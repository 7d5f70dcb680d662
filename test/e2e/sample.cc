/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.cc: blocks of skewed sizes, of threads, by realloc and in a forked child, for sample_test.
 * It prints what there was: a line for each class with its size, its blocks and those that live.
 */
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

template <int N> struct Pad {
	char bytes[N];
};
struct Tiny : Pad<8> {};
struct Node : Pad<48> {};
struct Table : Pad<4000> {};
struct Image : Pad<60000> {};
struct Huge : Pad<3000000> {};
struct OfThread : Pad<200> {};
struct OfChild : Pad<320> {};

static const unsigned YOUNG = 32;

template <class T>
__attribute__((noinline)) static void some(const char *name, unsigned count, unsigned keep)
{
	T *young[YOUNG] = {};
	unsigned live = 0;

	for (unsigned i = 0; i < count; i++) {
		T *block = new T;

		block->bytes[0] = (char)i;
		if (i % keep == 0) {
			live++;
			continue;
		}
		delete young[i % YOUNG];
		young[i % YOUNG] = block;
	}
	for (T *block : young)
		delete block;
	printf("%s %zu %u %u\n", name, sizeof(T), count, live);
}

/* Each step of a buffer is an end and a birth. */
static void grow(unsigned times)
{
	size_t steps = 0;
	void *volatile kept = nullptr;

	for (unsigned i = 0; i < times; i++) {
		void *buffer = nullptr;

		for (unsigned k = 0; k < 20; k++, steps++)
			buffer = realloc(buffer, 1000);
		free(kept);
		kept = buffer;
	}
	printf("realloc 1000 %zu 1\n", steps);
}

int main()
{
	std::vector<std::thread> threads;

	some<Tiny>("Tiny", 400000, 20);
	some<Node>("Node", 100000, 3);
	some<Table>("Table", 4000, 4);
	some<Image>("Image", 200, 5);
	some<Huge>("Huge", 12, 4);
	grow(500);
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back([] {
			OfThread *last = nullptr;

			for (unsigned n = 0; n < 10000; n++) {
				delete last;
				last = new OfThread;
			}
			delete last;
		});
	for (auto &thread : threads)
		thread.join();
	printf("OfThread %zu 40000 0\n", sizeof(OfThread));
	fflush(stdout);
	if (fork() == 0) {
		some<OfChild>("OfChild", 20000, 5);
		fflush(stdout);
		_exit(0);
	}
	wait(nullptr);
}
