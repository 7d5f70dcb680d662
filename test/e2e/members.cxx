// SPDX-License-Identifier: Apache-2.0
//
// members.cxx: an object whose members hold blocks, each in another way; prints which, then waits
// for a byte on standard input.
//
//   member NAME BLOCK SURE   the member keeps the block; 1: it is a pointer by its type
//   nothing BLOCK            only a narrow number or padding has its address
//   owns NAME BLOCKS         how many blocks only the member keeps
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

static char text[4096];

struct Entry {
	char *text;
	Entry() : text((char *)calloc(1, 700)) {}
};
struct Point {
	int x, y;
	Entry *label;
};
class Base {
public:
	virtual ~Base() {}
	char *base_buffer_ = nullptr;
};
class Service : public Base {
public:
	std::map<int, Entry *> cache_;
	std::vector<Entry *> list_;
	std::unique_ptr<Entry> one_;
	Point at_;
	char *names_[3];
	unsigned long number_;
	union {
		long count;
		char *chars;
	} either_;
	int low_, high_;
	char last_;
};
Service *g_service;
Point *g_points;

static NOINLINE void member(const char *name, const void *block, int sure)
{
	printf("member %s %lx %d\n", name, (long)block, sure);
}

static NOINLINE void fill(Service *s)
{
	void *hidden = calloc(1, 800);

	for (int i = 0; i < 3; i++)
		s->cache_[i] = new Entry;
	puts("owns Service::cache_ 9");
	s->list_.reserve(4);
	for (int i = 0; i < 4; i++)
		s->list_.push_back(new Entry);
	puts("owns Service::list_ 9");
	member("Service::list_", s->list_.data(), 1);
	s->one_.reset(new Entry);
	puts("owns Service::one_ 2");
	member("Service::one_", s->one_.get(), 1);
	s->base_buffer_ = (char *)calloc(1, 810);
	member("Service::base_buffer_", s->base_buffer_, 1);
	s->at_.label = new Entry;
	member("Service::at_.label", s->at_.label, 1);
	for (int i = 0; i < 3; i++) {
		s->names_[i] = (char *)calloc(1, 820);
		member("Service::names_", s->names_[i], 1);
	}
	puts("owns Service::names_ 3");
	s->number_ = (unsigned long)calloc(1, 830);
	member("Service::number_", (void *)s->number_, 0);
	s->either_.chars = (char *)calloc(1, 840);
	member("Service::either_.chars", s->either_.chars, 0);
	memcpy(&s->low_, &hidden, sizeof(hidden)); // low_ and high_
	printf("nothing %lx\n", (long)hidden);
	g_points = new Point[5];
	for (int i = 0; i < 5; i++)
		g_points[i] = { 1, 2, i == 3 ? new Entry : nullptr };
	member("Point::label", g_points[3].label, 1);
}

static NOINLINE void wipe()
{
	volatile char below[1 << 14];

	for (unsigned i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

int main()
{
	char byte;

	setvbuf(stdout, text, _IOFBF, sizeof(text));
	g_service = new Service;
	fill(g_service);
	fflush(stdout);
	memset(text, 0, sizeof(text));
	wipe();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	return read(0, &byte, 1) == 1 ? 0 : 1;
}
