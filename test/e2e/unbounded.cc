// SPDX-License-Identifier: Apache-2.0
// unbounded.cc: a cache that is keyed by request and never evicts, beside ordinary churn. An entry
// is two blocks, from two call sites. The arguments are the number of requests, which it prints,
// and how many more there are that are not remembered.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define APART __attribute__((noinline, noclone, noipa))

struct Answer {
	char *body;
	Answer *next;
	long more[6];
};
static Answer *buckets[4096];
static void *volatile sink;

APART static char *render(unsigned key)
{
	char *body = (char *)malloc(120 + key % 64);

	sprintf(body, "answer %u", key);
	return body;
}

APART static void remember(unsigned key, char *body)
{
	Answer *answer = new Answer;

	answer->body = body;
	answer->next = buckets[key % 4096];
	buckets[key % 4096] = answer;
}

APART static void parse(unsigned key)
{
	std::vector<std::string> words;

	for (unsigned i = 0; i < 6; i++)
		words.push_back(std::string(40 + key % 30, 'x'));
	sink = words.data();
}

int main(int argc, char **argv)
{
	unsigned requests = argc > 1 ? (unsigned)atoi(argv[1]) : 20000;
	static void *buffers[200];

	for (void *&buffer : buffers)
		buffer = malloc(1000);
	for (unsigned i = 0; i < requests; i++) {
		parse(i);
		remember(i, render(i));
	}
	for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
		parse((unsigned)i);
	for (void *buffer : buffers)
		free(buffer);
	printf("%u\n", requests);
	return 0;
}
