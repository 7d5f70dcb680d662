/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.cc: a program that knows what it allocates, for export_test: it keeps, recurses, churns,
 * grows a buffer, and forks a child that gives back what it made. It prints "truth allocs=N …" of
 * the blocks that are made in keep() and churn(), over both processes.
 * A type of it is called box<script>, a thread <img src=x>: names that a page could take for
 * markup; the thread's would clear a terminal, too.
 */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

struct script {
	int x;
};
template <typename T> struct box {
	virtual ~box() { }
	char bytes[112];
	T inside;
};

static box<script> *volatile kept;
static void *volatile sink;

__attribute__((noinline)) static void keep(int depth)
{
	if (depth) {
		keep(depth - 1);
		__asm__ volatile("");
		return;
	}
	kept = new box<script>();
	__asm__ volatile("");
}

__attribute__((noinline)) static void churn(size_t bytes)
{
	void *block = malloc(bytes);

	sink = block;
	free(block);
	__asm__ volatile("");
}

/* A buffer that grows by a constant step. It is none of the truth's blocks. */
__attribute__((noinline)) static void grow()
{
	enum { STEP = 512, STEPS = 40 };
	void *buffer = malloc(STEP);

	for (size_t i = 2; i <= STEPS; i++) {
		buffer = realloc(buffer, i * STEP);
		sink = buffer;
	}
	free(buffer);
}

static void *churn_named(void *bytes)
{
	pthread_setname_np(pthread_self(), "<img src=x>\x1b[2J");
	churn(*(size_t *)bytes);
	return nullptr;
}

int main()
{
	enum { KEPT = 300, CHURNED = 1000, CHILD = 70, DEPTH = 5, BYTES = 4000 };

	for (int i = 0; i < KEPT; i++)
		keep(i % DEPTH);
	for (int i = 0; i < CHURNED - 1; i++)
		churn(BYTES);
	size_t bytes = BYTES;
	pthread_t named;
	pthread_create(&named, nullptr, churn_named, &bytes);
	pthread_join(named, nullptr);
	grow();
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < CHILD; i++) {
			keep(i % DEPTH);
			delete kept;
		}
		_exit(0);
	}
	waitpid(child, nullptr, 0);
	printf("truth allocs=%d bytes=%zu live=%d live_bytes=%zu\n", KEPT + CHURNED + CHILD,
	       (KEPT + CHILD) * sizeof(box<script>) + (size_t)CHURNED * BYTES, KEPT,
	       KEPT * sizeof(box<script>));
	return 0;
}
