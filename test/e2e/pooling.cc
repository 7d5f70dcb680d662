// SPDX-License-Identifier: Apache-2.0
// pooling.cc: blocks of which it is known what pools would make of them. It prints, of each of its
// types:
//   type NAME blocks freed most-at-once bytes-of-one pages-at-the-end
// pages: 4 KiB ones on which live ones lie. Temporaries and survivors take turns, and the
// temporaries go; then it waits until what that took is less than a hundredth of all, so that one
// are short and the other ones are not. "slow" instead of "done" last: the machine was too slow for
// that.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define APART __attribute__((noinline, noclone, noipa))

enum { CHURN = 10000, PAIRS = 600, NODES = 3000 };

struct Churn { char c[200]; };
struct Survivor { char c[1100]; };
struct Temporary { char c[1100]; };
struct Node { void *next; char c[32]; };

static void *volatile sink;
static Survivor *survivors[PAIRS];
static Temporary *temporaries[PAIRS];
static Node *nodes[NODES];
static char buffer[4096]; /* standard output's: not from malloc */

APART static void churn()
{
	for (int i = 0; i < CHURN; i++) {
		Churn *c = new Churn;

		sink = c;
		delete (Churn *)sink;
	}
}

APART static void interleave()
{
	for (int i = 0; i < PAIRS; i++) {
		survivors[i] = new Survivor;
		temporaries[i] = new Temporary;
	}
	for (Temporary *&t : temporaries)
		delete t;
}

APART static void link_nodes()
{
	for (Node *&n : nodes)
		n = new Node;
}

template <class T, size_t N>
static void print(const char *name, T *(&all)[N], unsigned long blocks, unsigned long freed,
		  unsigned long most)
{
	static uintptr_t pages[2 * (PAIRS + NODES)]; /* no set: it would allocate */
	unsigned long count = 0;

	for (T *one : all)
		for (uintptr_t page = (uintptr_t)one / 4096;
		     blocks > freed && page <= ((uintptr_t)(one + 1) - 1) / 4096; page++) {
			bool known = false;

			for (unsigned long i = 0; i < count; i++)
				known |= pages[i] == page;
			if (!known)
				pages[count++] = page;
		}
	printf("type %s %lu %lu %lu %zu %lu\n", name, blocks, freed, most, sizeof(T), count);
}

int main()
{
	using clock = std::chrono::steady_clock;
	Churn *none[1] = {};

	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	churn();

	clock::time_point begin = clock::now();
	interleave();
	clock::duration took = clock::now() - begin, wait = took * 200;

	link_nodes();
	print("Churn", none, CHURN, CHURN, 1);
	print("Survivor", survivors, PAIRS, 0, PAIRS);
	print("Temporary", temporaries, PAIRS, PAIRS, PAIRS);
	print("Node", nodes, NODES, 0, NODES);
	if (wait < std::chrono::milliseconds(500))
		wait = std::chrono::milliseconds(500);
	if (wait < std::chrono::seconds(20))
		std::this_thread::sleep_for(wait);
	puts(wait < std::chrono::seconds(20) ? "done" : "slow");
	return 0;
}
