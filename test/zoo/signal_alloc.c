/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers that allocate. malloc itself is not async-signal-safe, so the timer's handler interrupts
 * a loop of mapping calls, which are, and never itself, which a machine that is slow for a tick
 * would have it do; a second signal is raised where the program stands still, and nests once.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "zoo/zoo.h"

enum { TICKS = 500, RAISED = 2000 };
static volatile int ticks, raised, depth;

static void on_alarm(int signal)
{
	(void)signal;
	if (ticks < TICKS) {
		ticks++;
		zoo_free(shiny_zoo_alloc(40));
		if (ticks % 50 == 0)
			shiny_zoo_alloc(48);
	}
}

static void on_user(int signal)
{
	void *block = shiny_zoo_alloc(56);

	(void)signal;
	raised++;
	if (depth++ == 0)
		raise(SIGUSR1);
	depth--;
	zoo_free(block);
}

int main(void)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &act, NULL);
	act.sa_handler = on_user;
	act.sa_flags |= SA_NODEFER;
	sigaction(SIGUSR1, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (ticks < TICKS) {
		void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(page, 4096);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	while (raised < RAISED)
		raise(SIGUSR1);
	truth(NULL);
	return 0;
}
