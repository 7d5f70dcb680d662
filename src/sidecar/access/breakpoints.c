/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakpoints.c: see breakpoints.h.
 *
 * The rings belong to one event a processor that counts nothing; the breakpoints send their records
 * to it (PERF_EVENT_IOC_SET_OUTPUT). A record carries the id of the opened event, also where an
 * inherited copy wrote it.
 *
 * A write makes two records, one of each register, in an unknown order. The thread disables the
 * events at the first one: that waits until no processor is in their handler, so afterwards the
 * rings hold all records.
 */
#define _GNU_SOURCE
#include "breakpoints.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/worker_thread.h"
#include "../proc/proc.h"
#include "breakpoint_event.h"

enum {
	RING_PAGES = 4,
	PROCESSORS_MAX = 256,
	THREAD_LISTS = 8,   /* lists of a process that keeps starting threads */
	EVENTS_MAX = 16384, /* descriptors of one order */
	PATIENCE_MS = 1000,
	LOOK_MS = 100, /* between two checks for debuggers */
};

struct bp_ring {
	int fd, processor;
	struct perf_event_mmap_page *page; /* and the data behind it */
};

struct bp_event {
	int fd;
	bool writes; /* writes only; else reads and writes */
	uint64_t id;
};

struct bp_threads {
	pid_t *at;
	size_t count, room;
};

struct bp_watch {
	struct breakpoint_order order;
	struct breakpoint_result result;
	VEC(struct bp_event) events;
	struct bp_threads threads; /* those with the events */
	bool taken;         /* this entry is in use */
	bool cancelled;
	uint64_t until; /* CLOCK_MONOTONIC, ns */
	pid_t toucher;  /* the thread of result.pc */
	struct { /* the earliest write; time 0: none */
		uint64_t time, pc;
		pid_t thread;
	} write;
};

struct breakpoints {
	pthread_t thread;
	int wake; /* eventfd: something below has changed */
	VEC(struct bp_ring) rings;
	size_t page;
	bool kernel_too;         /* accesses by the kernel count */
	struct bp_threads fresh; /* new threads of the process being armed */
	uint64_t looked;         /* CLOCK_MONOTONIC, ns: last check for debuggers */
	struct bp_watch watches[BREAKPOINT_ORDERS]; /* used by the thread only */

	pthread_mutex_t lock; /* guards the members below */
	bool stop;
	size_t under_way;
	VEC(struct breakpoint_order) orders;
	VEC(uint32_t) cancelled;
	VEC(struct breakpoint_result) results;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- events ---- */

static void close_events(struct bp_watch *w)
{
	for (size_t i = 0; i < w->events.count; i++)
		close(w->events.at[i].fd);
	w->events.count = w->threads.count = 0;
}

/* Opens one event; returns 0 or an errno. The ids stay known when the event is closed. */
static int arm_on(struct breakpoints *b, struct bp_watch *w, pid_t tid, const struct bp_ring *ring,
		  bool writes)
{
	struct perf_event_attr attr =
		breakpoint_event_attr(w->order.address, w->order.bytes, writes);
	struct bp_event event = { .writes = writes };

	attr.exclude_kernel = !b->kernel_too;
	event.fd = breakpoint_event_open(&attr, tid, ring->processor);
	if (event.fd < 0)
		return errno;
	if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ||
	    ioctl(event.fd, PERF_EVENT_IOC_ID, &event.id) < 0) {
		int why = errno;

		close(event.fd);
		return why;
	}
	*vec_push(&w->events) = event;
	return 0;
}

/* Opens the events of a thread; returns 0 or an errno. A thread that has ended meanwhile is no
 * error. */
static int arm_thread(struct breakpoints *b, struct bp_watch *w, pid_t tid)
{
	for (size_t i = 0; i < b->rings.count; i++)
		for (int writes = 0; writes < 2; writes++) {
			int why = w->events.count < EVENTS_MAX
					  ? arm_on(b, w, tid, &b->rings.at[i], writes)
					  : EMFILE;

			if (why)
				return why == ESRCH ? 0 : why;
		}
	return 0;
}

static bool is_armed(const struct bp_watch *w, pid_t tid)
{
	for (size_t i = 0; i < w->threads.count; i++)
		if (w->threads.at[i] == tid)
			return true;
	return false;
}

/* Lists the threads that have no events yet; returns 0 or an errno. */
static int list_new_threads(const struct bp_watch *w, struct bp_threads *out)
{
	char path[40];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%u/task", w->order.pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? ESRCH : errno;
	out->count = 0;
	while ((entry = readdir(directory))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !is_armed(w, tid))
			*vec_push(out) = tid;
	}
	closedir(directory);
	return 0;
}

/* A debugger may want all registers. The tracer of a snapshot, which is this process, wants
 * none. */
static bool has_debugger(uint32_t pid)
{
	uint32_t tracer = proc_tracer(pid);

	return tracer && tracer != (uint32_t)getpid();
}

/*
 * Lists the threads until there is no new one. A thread of the first list has inherited no event,
 * as no thread had any. A thread of a later list has, if its creator was armed; it gets a second
 * pair of events, and if there is no register for it, it keeps the first.
 */
static int arm(struct breakpoints *b, struct bp_watch *w)
{
	int why = has_debugger(w->order.pid) ? EBUSY : 0;

	for (int list = 0; !why; list++) {
		why = list < THREAD_LISTS ? list_new_threads(w, &b->fresh) : EAGAIN;
		if (!why && !b->fresh.count)
			return w->events.count ? 0 : ESRCH;
		for (size_t i = 0; !why && i < b->fresh.count; i++) {
			why = arm_thread(b, w, b->fresh.at[i]);
			if (why == ENOSPC && list > 0)
				why = 0;
			*vec_push(&w->threads) = b->fresh.at[i];
		}
	}
	return why;
}

/* ---- records ---- */

struct bp_record { /* the sample_type of breakpoint_event_plain, in the kernel's order */
	struct perf_event_header header;
	uint64_t id, pc;
	uint32_t pid, tid;
	uint64_t time;
};

static bool is_ignored(const struct breakpoint_order *order, uint64_t pc)
{
	for (int i = 0; i < BREAKPOINT_IGNORED; i++)
		if (pc > order->ignored[i].start && pc <= order->ignored[i].end)
			return true;
	return false;
}

static const struct bp_event *event_of(const struct bp_watch *w, uint64_t id)
{
	for (size_t i = 0; i < w->events.count; i++)
		if (w->events.at[i].id == id)
			return &w->events.at[i];
	return NULL;
}

static void take_record(struct breakpoints *b, const struct bp_record *r)
{
	for (int i = 0; i < BREAKPOINT_ORDERS; i++) {
		struct bp_watch *w = &b->watches[i];
		const struct bp_event *event = w->taken ? event_of(w, r->id) : NULL;

		if (!event)
			continue;
		w->result.hits++;
		if (r->time < w->result.armed || is_ignored(&w->order, r->pc))
			return;
		if (event->writes) {
			if (!w->write.time || r->time < w->write.time) {
				w->write.time = r->time;
				w->write.pc = r->pc;
				w->write.thread = (pid_t)r->tid;
			}
		} else if (!w->result.used || r->time < w->result.time) {
			w->result.used = true;
			w->result.time = r->time;
			w->result.pc = r->pc;
			w->toucher = (pid_t)r->tid;
		}
		return;
	}
}

static void read_ring(struct breakpoints *b, const struct bp_ring *ring)
{
	const char *data = (const char *)ring->page + b->page;
	uint64_t size = (uint64_t)RING_PAGES * b->page, tail = ring->page->data_tail;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	while (tail < head) {
		union {
			struct bp_record record;
			char bytes[sizeof(struct bp_record)];
		} copy;
		struct perf_event_header header;

		for (size_t i = 0; i < sizeof(copy); i++)
			copy.bytes[i] = data[(tail + i) % size];
		header = copy.record.header;
		if (header.type == PERF_RECORD_SAMPLE && header.size == sizeof(copy))
			take_record(b, &copy.record);
		tail += header.size ? header.size : head - tail;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static void read_rings(struct breakpoints *b)
{
	for (size_t i = 0; i < b->rings.count; i++)
		read_ring(b, &b->rings.at[i]);
}

/* ---- orders ---- */

static void put_result(struct breakpoints *b, struct bp_watch *w)
{
	pthread_mutex_lock(&b->lock);
	*vec_push(&b->results) = w->result;
	pthread_mutex_unlock(&b->lock);
	w->taken = false;
}

static void begin_watch(struct breakpoints *b, const struct breakpoint_order *order)
{
	uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct bp_watch *w = b->watches;

	while (w->taken)
		w++; /* one is free: breakpoints_order counts */
	w->taken = true;
	w->cancelled = false;
	w->order = *order;
	w->write.time = 0;
	w->result = (struct breakpoint_result){ .number = order->number, .armed = UINT64_MAX };
	w->result.error = arm(b, w);
	w->result.armed = w->result.time = clock_ns(CLOCK_MONOTONIC);
	w->result.arming = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	w->until = w->result.armed + order->window;
	if (w->result.error) {
		close_events(w);
		put_result(b, w);
	}
}

/*
 * Disabled events write no more records. Their ids stay known until the rings are read, as records
 * name them.
 */
static void end_watch(struct breakpoints *b, struct bp_watch *w)
{
	for (size_t i = 0; i < w->events.count; i++)
		ioctl(w->events.at[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!w->result.used)
		w->result.time = clock_ns(CLOCK_MONOTONIC);
	read_rings(b);
	w->result.written = w->result.used && w->write.time && w->write.thread == w->toucher &&
			    w->write.pc == w->result.pc;
	close_events(w);
	put_result(b, w);
}

static bool take_orders(struct breakpoints *b)
{
	struct breakpoint_order orders[BREAKPOINT_ORDERS];
	size_t count = 0;
	bool stop;

	pthread_mutex_lock(&b->lock);
	while (b->orders.count)
		orders[count++] = b->orders.at[--b->orders.count];
	while (b->cancelled.count) {
		uint32_t number = b->cancelled.at[--b->cancelled.count];

		for (int i = 0; i < BREAKPOINT_ORDERS; i++)
			if (b->watches[i].taken && b->watches[i].order.number == number)
				b->watches[i].cancelled = true;
		for (size_t i = 0; i < count; i++)
			if (orders[i].number == number)
				orders[i].window = 0;
	}
	stop = b->stop;
	pthread_mutex_unlock(&b->lock);
	while (count)
		begin_watch(b, &orders[--count]);
	return !stop;
}

/* Returns the ms until the next work is due. */
static int next_due(const struct breakpoints *b)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), due = now + PATIENCE_MS * UINT64_C(1000000);
	uint64_t look = b->looked + LOOK_MS * UINT64_C(1000000);

	for (int i = 0; i < BREAKPOINT_ORDERS; i++) {
		if (!b->watches[i].taken)
			continue;
		due = b->watches[i].until < due ? b->watches[i].until : due;
		due = look < due ? look : due;
	}
	return due > now ? (int)((due - now + 999999) / 1000000) : 0;
}

/* Cancels the watches of processes that a debugger has attached to: it gets the registers. */
static void look_for_debuggers(struct breakpoints *b)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - b->looked < LOOK_MS * UINT64_C(1000000))
		return;
	b->looked = now;
	for (int i = 0; i < BREAKPOINT_ORDERS; i++)
		if (b->watches[i].taken && has_debugger(b->watches[i].order.pid))
			b->watches[i].cancelled = true;
}

static void *serve(void *context)
{
	struct breakpoints *b = context;
	struct pollfd *fds = mem_zero(b->rings.count + 1, sizeof(*fds));
	uint64_t drop;

	for (size_t i = 0; i < b->rings.count; i++)
		fds[i] = (struct pollfd){ .fd = b->rings.at[i].fd, .events = POLLIN };
	fds[b->rings.count] = (struct pollfd){ .fd = b->wake, .events = POLLIN };
	while (take_orders(b)) {
		poll(fds, b->rings.count + 1, next_due(b));
		if (fds[b->rings.count].revents && read(b->wake, &drop, sizeof(drop)) < 0)
			continue; /* nothing to read: poll again */
		read_rings(b);
		look_for_debuggers(b);
		for (int i = 0; i < BREAKPOINT_ORDERS; i++) {
			struct bp_watch *w = &b->watches[i];

			if (w->taken && (w->result.used || w->cancelled ||
					 clock_ns(CLOCK_MONOTONIC) >= w->until))
				end_watch(b, w);
		}
	}
	for (int i = 0; i < BREAKPOINT_ORDERS; i++)
		if (b->watches[i].taken)
			end_watch(b, &b->watches[i]);
	free(fds);
	return NULL;
}

/* ---- the loop's side ---- */

static void wake(struct breakpoints *b)
{
	uint64_t one = 1;

	if (write(b->wake, &one, sizeof(one)) < 0)
		return; /* the count is full: the thread will wake up */
}

/* Opens a ring for each online processor; returns 0 or an errno. */
static int open_rings(struct breakpoints *b)
{
	for (int cpu = 0; cpu < PROCESSORS_MAX; cpu++) {
		struct perf_event_attr attr = breakpoint_event_plain(PERF_TYPE_SOFTWARE);
		struct bp_ring ring = { .processor = cpu };
		void *pages;

		attr.config = PERF_COUNT_SW_DUMMY;
		ring.fd = breakpoint_event_open(&attr, 0, cpu);
		if (ring.fd < 0) {
			if (cpu == 0 || (errno != ENODEV && errno != EINVAL))
				return errno;
			continue; /* there is no such processor */
		}
		pages = mmap(NULL, (1 + RING_PAGES) * b->page, PROT_READ | PROT_WRITE, MAP_SHARED,
			     ring.fd, 0);
		if (pages == MAP_FAILED) {
			int why = errno;

			close(ring.fd);
			return why;
		}
		ring.page = pages;
		*vec_push(&b->rings) = ring;
	}
	return 0;
}

void breakpoints_destroy(struct breakpoints *b)
{
	for (size_t i = 0; i < b->rings.count; i++) {
		munmap(b->rings.at[i].page, (1 + RING_PAGES) * b->page);
		close(b->rings.at[i].fd);
	}
	for (int i = 0; i < BREAKPOINT_ORDERS; i++) {
		free(b->watches[i].events.at);
		free(b->watches[i].threads.at);
	}
	if (b->wake >= 0)
		close(b->wake);
	pthread_mutex_destroy(&b->lock);
	free(b->fresh.at);
	free(b->rings.at);
	free(b->orders.at);
	free(b->cancelled.at);
	free(b->results.at);
	free(b);
}

struct breakpoints *breakpoints_start(void)
{
	struct breakpoints *b = mem_zero(1, sizeof(*b));
	int why;

	pthread_mutex_init(&b->lock, NULL);
	b->page = (size_t)sysconf(_SC_PAGESIZE);
	b->kernel_too = breakpoint_event_try(true) == 0;
	b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	why = b->wake < 0 ? errno : breakpoint_event_probe() == ENODEV ? ENODEV : open_rings(b);
	if (!why && !thread_start(&b->thread, serve, b))
		why = EAGAIN;
	if (!why)
		return b;
	breakpoints_destroy(b);
	errno = why;
	return NULL;
}

void breakpoints_stop(struct breakpoints *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_mutex_unlock(&b->lock);
	wake(b);
	pthread_join(b->thread, NULL);
}

bool breakpoints_order(struct breakpoints *b, const struct breakpoint_order *order)
{
	bool room;

	pthread_mutex_lock(&b->lock);
	room = b->under_way < BREAKPOINT_ORDERS;
	if (room) {
		b->under_way++;
		*vec_push(&b->orders) = *order;
	}
	pthread_mutex_unlock(&b->lock);
	if (room)
		wake(b);
	return room;
}

void breakpoints_cancel(struct breakpoints *b, uint32_t number)
{
	pthread_mutex_lock(&b->lock);
	*vec_push(&b->cancelled) = number;
	pthread_mutex_unlock(&b->lock);
	wake(b);
}

bool breakpoints_take(struct breakpoints *b, struct breakpoint_result *out)
{
	bool any;

	pthread_mutex_lock(&b->lock);
	any = b->results.count > 0;
	if (any) {
		*out = b->results.at[--b->results.count];
		b->under_way--;
	}
	pthread_mutex_unlock(&b->lock);
	return any;
}
