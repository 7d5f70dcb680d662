// SPDX-License-Identifier: Apache-2.0
//
// growing.cxx: a service that grows between two snapshots; prints what each of its holders gained,
// waits for a byte on standard input before it grows and one after.
//
//   gained NAME BLOCKS BYTES   negative: lost
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

enum { ENTRIES = 40, TEXT = 300, LINES = 25, LINE = 120, DROPPED = 10, SESSION = 64 };

static char text[4096];

struct Entry {
	char *text;
	long key;
};
struct Link {
	Link *next;
	char *payload;
};
class Service {
public:
	std::map<int, Entry *> cache_;
	std::vector<char *> lines_;
	std::vector<char *> sessions_;
	std::vector<char *> steady_;
};
Service *g_service;
Link *g_links;

static NOINLINE void start(Service *s)
{
	s->lines_.reserve(100);
	s->sessions_.reserve(100);
	s->steady_.reserve(100);
	for (int i = 0; i < 2 * DROPPED; i++)
		s->sessions_.push_back((char *)calloc(1, SESSION));
	for (int i = 0; i < 7; i++)
		s->steady_.push_back((char *)calloc(1, 33));
}

static NOINLINE void grow(Service *s)
{
	for (int i = 0; i < ENTRIES; i++) {
		Entry *e = new Entry{ (char *)calloc(1, TEXT), i };

		s->cache_[i] = e;
	}
	for (int i = 0; i < LINES; i++)
		s->lines_.push_back((char *)calloc(1, LINE));
	for (int i = 0; i < DROPPED; i++) {
		free(s->sessions_.back());
		s->sessions_.back() = nullptr;
		s->sessions_.pop_back();
	}
	for (int i = 0; i < 5; i++)
		g_links = new Link{ g_links, (char *)calloc(1, 77) };
	// a node has the tree's five words of head and balance, then the pair
	printf("gained Service::cache_ %d %d\n", 2 * ENTRIES,
	       ENTRIES * (int)(32 + sizeof(std::pair<const int, Entry *>) + sizeof(Entry)));
	printf("gained Entry::text %d %d\n", ENTRIES, ENTRIES * TEXT);
	printf("gained Service::lines_ %d %d\n", LINES, LINES * LINE);
	printf("gained Service::sessions_ %d %d\n", -DROPPED, -DROPPED * SESSION);
	printf("gained g_links 5 %d\n", 5 * (int)sizeof(Link));
	printf("gained Link::payload 5 %d\n", 5 * 77);
}

static NOINLINE void wipe()
{
	volatile char below[1 << 14];

	for (unsigned i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

static NOINLINE bool wait_for_byte(const char *word)
{
	char byte;

	fflush(stdout);
	wipe();
	printf("%s %d\n", word, (int)getpid());
	fflush(stdout);
	return read(0, &byte, 1) == 1;
}

int main()
{
	setvbuf(stdout, text, _IOFBF, sizeof(text));
	g_service = new Service;
	start(g_service);
	if (!wait_for_byte("ready"))
		return 1;
	grow(g_service);
	return wait_for_byte("grown") ? 0 : 1;
}
