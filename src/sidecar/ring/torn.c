/* SPDX-License-Identifier: Apache-2.0 */
/* torn.c: see torn.h. */
#define _GNU_SOURCE
#include "torn.h"

#include <stddef.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static uint64_t pages;

/* Maps a page of zeros at the fault. Another thread may map the same page at the same time: both
 * are zeros. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));

	(void)context;
	if (info->si_code == BUS_ADRERR &&
	    mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED)
		__atomic_add_fetch(&pages, 1, __ATOMIC_RELAXED);
	else
		signal(number, SIG_DFL); /* the fault repeats, and ends the process */
}

void torn_begin(struct sigaction *was)
{
	struct sigaction action = { .sa_sigaction = on_bus_error,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGBUS, &action, was);
}

void torn_end(const struct sigaction *was)
{
	sigaction(SIGBUS, was, NULL);
}

uint64_t torn_pages(void)
{
	return __atomic_load_n(&pages, __ATOMIC_RELAXED);
}
