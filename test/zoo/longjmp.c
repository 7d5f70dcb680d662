/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that allocate and leave by siglongjmp, out of whatever mapping call they interrupted;
 * the program goes on allocating. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "zoo/zoo.h"

enum { JUMPS = 300 };
static sigjmp_buf back;
static volatile int jumps, armed;

static void on_alarm(int signal)
{
	(void)signal;
	if (!armed)
		return;
	armed = 0;
	jumps++;
	zoo_free(shiny_zoo_alloc(64));
	siglongjmp(back, 1);
}

int main(void)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGUSR1, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (jumps < JUMPS) {
		if (sigsetjmp(back, 1)) { /* just landed: not armed, so malloc is safe here */
			void *block = shiny_zoo_alloc(72);
			if (jumps % 10)
				zoo_free(block);
			continue;
		}
		armed = 1;
		for (;;) {
			void *page =
				mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			munmap(page, 4096);
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	armed = 0;
	for (int i = 0; i < 100; i++) {
		if (!sigsetjmp(back, 1)) {
			armed = 1;
			raise(SIGUSR1);
		}
	}
	truth(NULL);
	return 0;
}
