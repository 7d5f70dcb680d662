/* SPDX-License-Identifier: Apache-2.0 */
/* client.c: see client.h. */
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "dump.h"

static const uint64_t second = 1000000000;

struct devtools {
	struct connection browser;
	int child_reads, child_writes; /* the program's ends; -1 in the launcher once the program
	                                * runs */
	uint64_t period;               /* ns between dumps; 0: only on request */
	pthread_t thread;
	bool running;
	struct counts counts;
	size_t dumps, snapshots;
};

static void dump(struct devtools *d)
{
	d->dumps += dump_memory(&d->browser, &d->counts);
	d->snapshots += dump_pages(&d->browser, &d->counts);
	if (d->browser.gone && !d->browser.stopped)
		connection_complain(&d->browser,
				    "the browser ended during a dump; the rest of it is missing",
				    NULL);
}

/* Lets the first dump wait for a page. True: a page is loaded, or a dump was requested. */
static bool first_page(struct connection *c)
{
	if (c->asked || c->number)
		return true;
	c->asked = dump_page_ready(c);
	if (!c->asked)
		connection_receive(c, CONNECTION_POLL_MS);
	return c->asked;
}

/* Returns the ms until `deadline`, at most 1000; -1: there is no deadline. */
static int wait_ms(uint64_t deadline)
{
	uint64_t now = connection_time(CLOCK_MONOTONIC), left;

	if (deadline == UINT64_MAX)
		return -1;
	left = deadline > now ? (deadline - now) / 1000000 + 1 : 0;
	return left < 1000 ? (int)left : 1000;
}

static void *work(void *context)
{
	struct devtools *d = context;
	struct connection *c = &d->browser;
	uint64_t start = connection_time(CLOCK_MONOTONIC), next;
	bool first = false;

	if (c->port)
		connection_dial(c, c->pidfd < 0 ? start + DEVTOOLS_KNOCK * second : UINT64_MAX);
	next = d->period ? connection_time(CLOCK_MONOTONIC) + d->period : UINT64_MAX;
	__atomic_store_n(&c->hello,
			 (!c->port || c->socket) &&
				 connection_call(c, NULL, "Browser.getVersion", "{}"),
			 __ATOMIC_RELAXED);
	while (!c->stopped) {
		if (!c->hello || c->gone || c->given_up) {
			if (c->pidfd < 0)
				break;
			connection_pass_on(c);
			connection_receive(c, -1);
			continue;
		}
		if (!first && !first_page(c))
			continue;
		first = true;
		if (c->asked || c->number || connection_time(CLOCK_MONOTONIC) >= next) {
			/* our program's end that is asked for during a dump has one of its own */
			bool ends = c->number || c->pidfd < 0;

			c->asked = false;
			dump(d);
			if (d->period)
				next = connection_time(CLOCK_MONOTONIC) + d->period;
			if (ends)
				connection_pass_on(c);
		} else {
			connection_receive(c, wait_ms(next));
		}
	}
	connection_pass_on(c);
	return NULL;
}

/* ---- the launcher's side ---- */

/* Moves `fd` above the descriptors of Chromium's pipe; exec closes the new one. */
static int high(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, DEVTOOLS_WRITES + 1);

	close(fd);
	return moved;
}

struct shiny_err *devtools_create(uint64_t period, uint16_t port, struct devtools **out)
{
	struct devtools *d = mem_zero(1, sizeof(*d));
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };

	d->browser = (struct connection){
		.to = -1, .from = -1, .port = port, .ask = { -1, -1 }, .pidfd = -1
	};
	d->child_reads = d->child_writes = -1;
	d->period = period;
	if ((!port && (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)) ||
	    pipe2(d->browser.ask, O_CLOEXEC | O_NONBLOCK) != 0) {
		struct shiny_err *err = shiny_err_os(errno, "cannot make a pipe");

		devtools_destroy(d);
		return err;
	}
	if (!port) {
		d->child_reads = high(to[0]);
		d->browser.to = high(to[1]);
		d->browser.from = high(from[0]);
		d->child_writes = high(from[1]);
		fcntl(d->browser.to, F_SETFL, O_NONBLOCK);
	}
	*out = d;
	return NULL;
}

void devtools_child(struct devtools *d, int *keep)
{
	if (d->browser.port)
		return;
	if (*keep == DEVTOOLS_READS || *keep == DEVTOOLS_WRITES)
		*keep = high(*keep);
	dup2(d->child_reads, DEVTOOLS_READS);
	dup2(d->child_writes, DEVTOOLS_WRITES);
}

struct shiny_err *devtools_start(struct devtools *d, pid_t pid)
{
	sigset_t all, old;
	int code;

	if (!d->browser.port) {
		close(d->child_reads);
		close(d->child_writes);
	}
	d->child_reads = d->child_writes = -1;
	connection_begin(&d->browser);
	if (pid)
		d->browser.pidfd = pidfd_open(pid, 0);
	if (pid && d->browser.pidfd < 0)
		return shiny_err_os(errno, "cannot watch the program");
	sigfillset(&all); /* SIGPIPE too: writing to a browser that has ended shall fail */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	code = pthread_create(&d->thread, NULL, work, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (code)
		return shiny_err_os(code, "cannot start a thread");
	d->running = true;
	return NULL;
}

bool devtools_ask(struct devtools *d, int number)
{
	unsigned char asked = (unsigned char)number;

	return d->running && write(d->browser.ask[1], &asked, 1) == 1;
}

void devtools_stop(struct devtools *d)
{
	devtools_ask(d, CONNECTION_STOP);
	devtools_wait(d);
}

bool devtools_answered(const struct devtools *d)
{
	return __atomic_load_n(&d->browser.hello, __ATOMIC_RELAXED);
}

void devtools_leave(struct devtools *d, int number)
{
	devtools_ask(d, number);
}

void devtools_wait(struct devtools *d)
{
	if (!d->running)
		return;
	pthread_join(d->thread, NULL);
	d->running = false;
	if (!d->browser.hello && d->browser.port)
		connection_complain(&d->browser, "no browser answered on the port", NULL);
	else if (!d->browser.hello)
		connection_complain(&d->browser,
			 "it did not answer: is it a Chromium, and has it a --user-data-dir of its "
			 "own, without which it does not listen?",
			 NULL);
	else if (!d->counts.dumps.count)
		connection_complain(&d->browser,
			 "nothing was taken: no page had been loaded when the browser ended; "
			 "--devtools-every takes dumps before that",
			 NULL);
}

const char *devtools_trouble(const struct devtools *d)
{
	return *d->browser.trouble ? d->browser.trouble : NULL;
}

struct shiny_err *devtools_store(const struct devtools *d, const char *path, size_t *dumps,
				 size_t *snapshots)
{
	struct shiny_err *err = d->counts.dumps.count ? counts_store(&d->counts, path) : NULL;

	if (err)
		return err;
	*dumps = d->dumps;
	*snapshots = d->snapshots;
	return NULL;
}

void devtools_destroy(struct devtools *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < 7; i++) {
		int fd = (const int[]){ d->browser.to,	 d->browser.from,   d->child_reads,
					d->child_writes, d->browser.ask[0], d->browser.ask[1],
					d->browser.pidfd }[i];

		if (fd >= 0)
			close(fd);
	}
	connection_end(&d->browser);
	counts_deinit(&d->counts);
	free(d);
}
