// SPDX-License-Identifier: Apache-2.0
// keep.cc: a program with a book (ledger.h), led by lines of standard input:
//   round   makes, resizes and frees blocks of each site; some stay, some of those go much later
//   fork    a child that frees and keeps some of what it brought along, and stays until the end
//   book    prints the book; until the next line nothing happens
//   last    makes one block of keep_last() and ends by SIGSEGV
// The end of the input ends it.
#include <csignal>
#include <sys/wait.h>

#include "ledger.h"

enum { BLOCKS = 300, LATE = 5 /* rounds */ };
static void *made[1 << 16];
static int count, rounds;
static int to_child[2], from_child[2];

struct kept_bird {
	virtual ~kept_bird() {}
	long feathers[3];
};

extern "C" {
#define SITE __attribute__((noinline, noclone, noipa))
#define MAKER(name)                           \
	SITE void *name(size_t n)             \
	{                                     \
		void *p = malloc(n);          \
		ledger::alloced(#name, p, n); \
		return p;                     \
	}
MAKER(keep_staying)
MAKER(keep_late)
MAKER(keep_brief)
SITE void *keep_grown(void *old, size_t n)
{
	void *p = realloc(old, n);
	ledger::locked guard;
	if (old)
		ledger::end((uintptr_t)old);
	ledger::begin("keep_grown", p, n, nullptr, false, old != nullptr);
	return p;
}
SITE kept_bird *keep_bird()
{
	kept_bird *b = new kept_bird;
	ledger::alloced("keep_bird", b, sizeof(kept_bird), "kept_bird");
	return b;
}
MAKER(keep_child)
MAKER(keep_last)
}

static void give(void *p)
{
	ledger::freeing(p);
	free(p);
}

static void round()
{
	static void *grown[BLOCKS];
	static kept_bird *birds[4096];
	static int bird_count;

	for (int i = 0; i < BLOCKS; i++) {
		give(keep_brief(16 + i % 200));
		if (i % 10 == 0)
			keep_staying(40 + rounds);
		made[count++] = keep_late(100 + i);
		if (i % 3 == 0)
			grown[i] = keep_grown(grown[i], 64 + (i * 7 + rounds * 13) % 500);
		if (i % 30 == 0)
			birds[bird_count++] = keep_bird();
	}
	if (++rounds > LATE)
		for (int i = 0; i < BLOCKS; i++)
			give(made[(rounds - LATE - 1) * BLOCKS + i]);
	for (; bird_count > 20; bird_count--) {
		ledger::freeing(birds[bird_count - 1]);
		delete birds[bird_count - 1];
	}
}

static void child(const int *from, const int *to)
{
	char c;

	ledger::forked();
	for (int i = count - BLOCKS; i < count; i += 2)
		give(made[i]);
	for (int i = 0; i < 50; i++)
		keep_child(77);
	(void)!write(to[1], "x", 1);
	while (read(from[0], &c, 1) == 1) {
		give(keep_child(33));
		keep_child(55);
		if (c == 'b')
			ledger::print("child");
		(void)!write(to[1], "x", 1);
	}
	_exit(0);
}

static pid_t start_child()
{
	pid_t pid;
	char c;

	if (pipe(to_child) || pipe(from_child))
		ledger::fail("pipe");
	pid = fork();
	if (pid == 0) {
		close(to_child[1]);
		child(to_child, from_child);
	}
	close(to_child[0]);
	(void)!read(from_child[0], &c, 1);
	return pid;
}

static void tell_child(pid_t pid, char word)
{
	char c;

	if (pid && (write(to_child[1], &word, 1) != 1 || read(from_child[0], &c, 1) != 1))
		ledger::fail("the child is gone");
}

// Without stdio, whose buffers are blocks, too.
static bool next_line(char *text, size_t room)
{
	size_t at = 0;

	while (at + 1 < room && read(0, text + at, 1) == 1 && text[at] != '\n')
		at++;
	text[at] = 0;
	return at > 0;
}

int main()
{
	char text[16];
	pid_t pid = 0;

	while (next_line(text, sizeof text)) {
		if (!strcmp(text, "fork"))
			pid = start_child();
		if (!strcmp(text, "round")) {
			round();
			tell_child(pid, 'r');
		}
		if (!strcmp(text, "book")) {
			ledger::print("main");
			tell_child(pid, 'b');
		}
		if (!strcmp(text, "last")) {
			keep_last(4321);
			raise(SIGSEGV);
		}
		ledger::line("{\"kind\":\"done\"}\n");
	}
	close(to_child[1]);
	if (pid)
		waitpid(pid, NULL, 0);
	_exit(0);
}
