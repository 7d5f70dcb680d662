/* SPDX-License-Identifier: Apache-2.0 */
/* client.c: see client.h. */
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "snapshot.h"
#include "socket.h"
#include "trace.h"

enum {
	READ_BYTES = 65536,
	HELD_BYTES = 1 << 18,
	POLL_MS = 250,
	STOP = 0xff,
	DUMP = 0,
	COLLECTIONS = 3
};
static const uint64_t second = 1000000000;

struct devtools {
	int to, from;                     /* ours; -1 with a socket */
	uint16_t port;                    /* 0: a pipe */
	struct devtools_socket *socket;   /* NULL: not connected */
	int child_reads, child_writes;    /* the program's; -1 in the launcher once it runs */
	int ask[2];
	int pidfd;                        /* of the program; -1: of a browser that ran before us */
	uint64_t period;                  /* ns, 0 none */
	pthread_t thread;
	bool running;

	/* the thread's */
	bool stopped, gone, given_up, hello;
	bool asked;
	int number;                       /* of the signal that is to be passed on; 0 none */
	uint64_t heard, number_since;     /* ns: when the browser last said something; when the
	                                   * signal came */
	char *buffer, *held;
	size_t held_count;
	struct message message;           /* being received */
	bool in_message;
	uint64_t last_id;
	struct message answer;            /* to the call of last_id, when it is answered */
	bool answered;
	char stream[64];                  /* of the trace that has been completed */
	bool detached;                    /* a target that we were attached to has gone */
	struct trace *trace;              /* where documents go */
	struct snapshot *snapshot;

	struct counts counts;
	size_t dumps, snapshots;
	char trouble[384];
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

static bool complain(struct devtools *d, const char *what, const char *why)
{
	if (!*d->trouble)
		snprintf(d->trouble, sizeof(d->trouble), "%s%s%s", what, why && *why ? ": " : "",
			 why ? why : "");
	return false;
}

/* ---- messages ---- */

static bool take_data(void *context, bool snapshot, const char *text, size_t length)
{
	struct devtools *d = context;

	/* a document that is no good is judged at its end; the message around it is fine */
	if (snapshot && d->snapshot)
		snapshot_feed(d->snapshot, text, length);
	else if (!snapshot && d->trace)
		trace_feed(d->trace, text, length);
	return true;
}

static bool end_message(struct devtools *d)
{
	struct message *m = &d->message;
	struct shiny_err *err = json_stream_end(&m->json, "what the browser says");

	d->in_message = false;
	if (err) {
		complain(d, err->message, NULL);
		shiny_err_free(err);
		message_deinit(m);
		return false;
	}
	if (m->id && m->id == d->last_id && !d->answered) {
		message_deinit(&d->answer);
		d->answer = *m;
		d->answer.json.parser = NULL;
		d->answered = true;
		json_stream_deinit(&m->json);
		return true;
	}
	if (strcmp(m->method, "Tracing.tracingComplete") == 0)
		memcpy(d->stream, m->stream, sizeof(d->stream));
	else if (strcmp(m->method, "Target.detachedFromTarget") == 0 ||
		 strcmp(m->method, "Inspector.targetCrashed") == 0)
		d->detached = true;
	message_deinit(m);
	return true;
}

/* yajl looks at a text that spans pieces from its beginning again with each of them: they had
 * better be large. */
static void feed_held(struct devtools *d)
{
	if (!d->in_message) {
		message_init(&d->message, d, take_data);
		d->in_message = true;
	}
	json_stream_feed(&d->message.json, d->held, d->held_count);
	d->held_count = 0;
}

static void take_bytes(struct devtools *d, const char *at, size_t left)
{
	while (left && !d->given_up) {
		const char *end = memchr(at, 0, left);
		size_t n = end ? (size_t)(end - at) : left, room = HELD_BYTES - d->held_count;

		if (n > room) {
			n = room;
			end = NULL;
		}
		memcpy(d->held + d->held_count, at, n);
		d->held_count += n;
		at += n + (end != NULL);
		left -= n + (end != NULL);
		if (end || d->held_count == HELD_BYTES)
			feed_held(d);
		if ((end && !end_message(d)) || (!end && d->in_message && d->message.json.why)) {
			complain(d, "what the browser says cannot be read", NULL);
			d->given_up = true;
		}
	}
}

static void take_from_socket(void *context, const char *text, size_t length)
{
	struct devtools *d = context;

	d->heard = now(CLOCK_MONOTONIC);
	take_bytes(d, text, length);
}

static void pass_on(struct devtools *d)
{
	if (!d->number)
		return;
	if (d->pidfd < 0) { /* nobody's: we leave, unless it has not been asked anything yet */
		d->stopped |= d->hello;
		return;
	}
	pidfd_send_signal(d->pidfd, d->number, NULL, 0);
	d->number = 0;
}

static void take_asked(struct devtools *d)
{
	unsigned char asked[64];
	ssize_t n = read(d->ask[0], asked, sizeof(asked));

	for (ssize_t i = 0; i < n; i++) {
		if (asked[i] == STOP) {
			d->stopped = true;
		} else if (asked[i] == DUMP) {
			d->asked = true;
		} else {
			pass_on(d); /* whoever asks twice does not want to wait */
			d->number = asked[i];
			d->number_since = now(CLOCK_MONOTONIC);
		}
	}
}

/* Waits up to `ms` (-1: for ever) for something to happen, and takes it in. */
static void receive(struct devtools *d, int ms)
{
	int from = d->socket ? socket_fd(d->socket) : d->from;
	struct pollfd fds[2] = { { .fd = d->ask[0], .events = POLLIN },
				 { .fd = d->gone ? -1 : from, .events = POLLIN } };
	ssize_t n;

	if (poll(fds, 2, ms) <= 0)
		return;
	if (fds[0].revents)
		take_asked(d);
	if (!fds[1].revents)
		return;
	if (d->socket) {
		d->gone = !socket_read(d->socket);
		return;
	}
	n = read(d->from, d->buffer, READ_BYTES);
	if (n > 0) {
		d->heard = now(CLOCK_MONOTONIC);
		take_bytes(d, d->buffer, (size_t)n);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		d->gone = true;
	}
}

/* True: go on waiting. */
static bool patience(struct devtools *d)
{
	uint64_t time = now(CLOCK_MONOTONIC);

	if (d->stopped || d->gone || d->given_up)
		return false;
	if (!d->hello) {
		pass_on(d); /* nothing is there to be dumped */
		return true;
	}
	if (time - d->heard > DEVTOOLS_PATIENCE * second ||
	    (d->number && time - d->number_since > DEVTOOLS_LAST * second)) {
		complain(d, "the browser does not answer", NULL);
		d->given_up = true;
	}
	return !d->given_up;
}

/* Ids come from the browser and go into JSON again. */
static bool plain(const char *id)
{
	return *id &&
	       !id[strspn(id,
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/")];
}

/* A call and its answer, in d->answer; false: none, or it failed. `parameters`: an object.
 * `session` NULL: the browser's own. */
static bool call(struct devtools *d, const char *session, const char *method,
		 const char *parameters)
{
	char text[1024];
	int length =
		snprintf(text, sizeof(text),
			 "{\"id\":%" PRIu64 ",\"method\":\"%s\",\"params\":%s%s%s%s}",
			 d->last_id + 1, method, parameters, session ? ",\"sessionId\":\"" : "",
			 session ? session : "", session ? "\"" : "");

	if (length < 0 || (size_t)length >= sizeof(text) || !patience(d))
		return false;
	d->last_id++;
	d->answered = false;
	d->detached = false;
	d->heard = now(CLOCK_MONOTONIC);
	/* with its NUL. A pipe takes as little at once, or it is full of what the browser has not
	 * read */
	if (d->socket ? !socket_send(d->socket, text, (size_t)length)
		      : write(d->to, text, (size_t)length + 1) != length + 1) {
		if (errno == EPIPE || d->socket)
			d->gone = true;
		else
			d->given_up = true;
		return false;
	}
	while (!d->answered && patience(d) && !(session && d->detached))
		receive(d, POLL_MS);
	if (!d->answered)
		return false;
	if (d->answer.failed) {
		char what[128];

		snprintf(what, sizeof(what), "the browser refuses %s", method);
		return complain(d, what, d->answer.error);
	}
	return true;
}

/* ---- what is asked ---- */

/* Ends a trace and reads it into d->trace. */
static bool read_trace(struct devtools *d, const char *session, struct trace *trace)
{
	char stream[64], parameters[160];
	bool read = false;

	*d->stream = 0;
	if (!call(d, session, "Tracing.end", "{}"))
		return false;
	while (!*d->stream && patience(d) && !(session && d->detached))
		receive(d, POLL_MS);
	memcpy(stream, d->stream, sizeof(stream));
	if (!plain(stream))
		return false;
	snprintf(parameters, sizeof(parameters), "{\"handle\":\"%s\",\"size\":262144}", stream);
	d->trace = trace;
	while (call(d, session, "IO.read", parameters)) {
		if (d->answer.encoded) {
			complain(d, "the browser's traces come in an unknown encoding", NULL);
			break;
		}
		read = d->answer.eof;
		if (read)
			break;
	}
	d->trace = NULL;
	snprintf(parameters, sizeof(parameters), "{\"handle\":\"%s\"}", stream);
	return call(d, session, "IO.close", parameters) && read;
}

static void take_dump(struct devtools *d)
{
	static const char config[] =
		"{\"transferMode\":\"ReturnAsStream\",\"traceConfig\":{\"includedCategories\":"
		"[\"disabled-by-default-memory-infra\"],\"excludedCategories\":[\"*\"],"
		"\"memoryDumpConfig\":{\"triggers\":[]}}}";
	struct trace *trace;
	struct shiny_err *err = NULL;
	size_t before = d->counts.looks.count;
	uint64_t offset = now(CLOCK_BOOTTIME) - now(CLOCK_MONOTONIC);
	bool dumped;

	if (!call(d, NULL, "Tracing.start", config))
		return;
	trace = mem_zero(1, sizeof(*trace));
	trace_init(trace, &d->counts, NULL);
	dumped = call(d, NULL, "Tracing.requestMemoryDump",
		      "{\"deterministic\":true,\"levelOfDetail\":\"detailed\"}");
	if (read_trace(d, NULL, trace) && dumped)
		err = trace_end(trace, offset);
	else
		dumped = false;
	if (err)
		complain(d, err->message, NULL);
	if (!dumped || err)
		counts_drop(&d->counts, before);
	d->dumps += d->counts.looks.count > before;
	shiny_err_free(err);
	trace_deinit(trace);
	free(trace);
}

/* The process that a page lives in, as a trace that is started on the page says at its beginning; 0
 * unknown. */
static uint32_t pid_of(struct devtools *d, const char *session, const char *target)
{
	static const char config[] =
		"{\"transferMode\":\"ReturnAsStream\",\"traceConfig\":{\"includedCategories\":"
		"[\"disabled-by-default-devtools.timeline\"],\"excludedCategories\":[\"*\"]}}";
	struct trace *trace;
	uint32_t pid = 0;
	size_t before = d->counts.looks.count;

	if (!call(d, session, "Tracing.start", config))
		return 0;
	trace = mem_zero(1, sizeof(*trace));
	trace_init(trace, &d->counts, target);
	if (read_trace(d, session, trace))
		pid = trace->frame_pid;
	counts_drop(&d->counts, before);
	trace_deinit(trace);
	free(trace);
	return pid;
}

static bool take_snapshot_of(struct devtools *d, const char *session, uint32_t pid, const char *url)
{
	struct snapshot *snapshot;
	struct shiny_err *err = NULL;
	size_t before = d->counts.looks.count;
	bool taken = call(d, session, "HeapProfiler.enable", "{}");

	/* what one collection finalizes, the next one frees; and they finish sweeping, so that what
	 * is dead is known to be */
	for (int i = 0; i < COLLECTIONS && taken; i++)
		taken = call(d, session, "HeapProfiler.collectGarbage", "{}");
	if (!taken)
		return false;
	snapshot = mem_zero(1, sizeof(*snapshot));
	snapshot_init(snapshot, &d->counts);
	d->snapshot = snapshot;
	taken = call(d, session, "HeapProfiler.takeHeapSnapshot",
		     "{\"reportProgress\":false,\"exposeInternals\":true}");
	d->snapshot = NULL;
	snapshot->look->time = now(CLOCK_BOOTTIME);
	snapshot->look->pid = pid;
	json_stream_copy(snapshot->look->title, sizeof(snapshot->look->title), url, strlen(url));
	if (taken)
		err = snapshot_end(snapshot);
	if (err)
		taken = complain(d, err->message, NULL);
	if (!taken)
		counts_drop(&d->counts, before);
	shiny_err_free(err);
	snapshot_deinit(snapshot);
	free(snapshot);
	return taken && call(d, session, "HeapProfiler.disable", "{}");
}

/* Calls `each` for every page, attached to it; false ends that. */
static void each_page(struct devtools *d, bool (*each)(struct devtools *d, const char *session,
						       const struct message_target *target))
{
	struct message_target *targets;
	size_t count;
	bool more = true;

	if (!call(d, NULL, "Target.getTargets", "{}"))
		return;
	targets = d->answer.targets.at;
	count = d->answer.targets.count;
	memset(&d->answer.targets, 0, sizeof(d->answer.targets));
	for (size_t i = 0; i < count && more; i++) {
		char session[64], parameters[160];

		if (strcmp(targets[i].type, "page") != 0 || !plain(targets[i].id))
			continue;
		snprintf(parameters, sizeof(parameters), "{\"targetId\":\"%s\",\"flatten\":true}",
			 targets[i].id);
		if (!call(d, NULL, "Target.attachToTarget", parameters))
			continue;
		memcpy(session, d->answer.session, sizeof(session));
		if (!plain(session))
			continue;
		more = each(d, session, &targets[i]);
		snprintf(parameters, sizeof(parameters), "{\"sessionId\":\"%s\"}", session);
		if (!d->detached && !call(d, NULL, "Target.detachFromTarget", parameters))
			break;
	}
	free(targets);
}

static bool snapshot_page(struct devtools *d, const char *session,
			  const struct message_target *target)
{
	uint32_t pid = pid_of(d, session, target->id);

	d->snapshots += take_snapshot_of(d, session, pid, target->url);
	return true;
}

static bool page_ready; /* each_page's answer for the one below; one thread */

static bool is_ready(struct devtools *d, const char *session, const struct message_target *target)
{
	static const char ask[] = "{\"expression\":\"document.readyState + (location.href == "
				  "'about:blank' ? ' blank' : '')\",\"returnByValue\":true}";

	page_ready = call(d, session, "Runtime.evaluate", ask) &&
		     strcmp(d->answer.text, "complete") == 0;
	return !page_ready;
}

static void look(struct devtools *d)
{
	take_dump(d);
	each_page(d, snapshot_page);
	if (d->gone && !d->stopped)
		complain(
			d,
			"the browser ended while it was asked, what it had not said yet is missing",
			NULL);
}

/* A browser that listens on a port does so some time after its start, or that of the program which
 * starts it. */
static void connect_port(struct devtools *d)
{
	struct socket_sink sink = { .context = d, .take = take_from_socket };
	uint64_t until = d->pidfd < 0 ? now(CLOCK_MONOTONIC) + DEVTOOLS_KNOCK * second : UINT64_MAX;

	while (!d->socket && !d->stopped && now(CLOCK_MONOTONIC) < until) {
		d->socket = socket_open(d->port, &sink);
		pass_on(d);
		if (!d->socket)
			receive(d, POLL_MS);
	}
}

static void *work(void *context)
{
	struct devtools *d = context;
	uint64_t next;
	bool first = false;

	if (d->port)
		connect_port(d);
	next = d->period ? now(CLOCK_MONOTONIC) + d->period : UINT64_MAX;
	d->hello = (!d->port || d->socket) && call(d, NULL, "Browser.getVersion", "{}");
	while (!d->stopped) {
		if (!d->hello || d->gone || d->given_up) {
			if (d->pidfd < 0)
				break;
			pass_on(d);
			receive(d, -1);
			continue;
		}
		if (!first && !d->asked && !d->number) {
			page_ready = false;
			each_page(d, is_ready);
			first = page_ready;
			if (!first) {
				receive(d, POLL_MS);
				continue;
			}
			d->asked = true;
		}
		if (d->asked || d->number || now(CLOCK_MONOTONIC) >= next) {
			first = true;
			d->asked = false;
			look(d);
			if (d->period)
				next = now(CLOCK_MONOTONIC) + d->period;
			pass_on(d);
		} else {
			uint64_t left = d->period ? (next - now(CLOCK_MONOTONIC)) / 1000000 + 1 : 0;

			receive(d, !d->period ? -1 : left < 1000 ? (int)left : 1000);
		}
	}
	pass_on(d);
	return NULL;
}

/* ---- around the program ---- */

/* A descriptor above those that Chromium looks at, closed by exec. */
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

	d->to = d->from = d->child_reads = d->child_writes = d->ask[0] = d->ask[1] = d->pidfd = -1;
	d->period = period;
	d->port = port;
	if ((!port && (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)) ||
	    pipe2(d->ask, O_CLOEXEC | O_NONBLOCK) != 0) {
		struct shiny_err *err = shiny_err_os(errno, "cannot make a pipe");

		devtools_destroy(d);
		return err;
	}
	if (!port) {
		d->child_reads = high(to[0]);
		d->to = high(to[1]);
		d->from = high(from[0]);
		d->child_writes = high(from[1]);
		fcntl(d->to, F_SETFL, O_NONBLOCK);
	}
	*out = d;
	return NULL;
}

void devtools_child(struct devtools *d, int *keep)
{
	if (d->port)
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

	if (!d->port) {
		close(d->child_reads);
		close(d->child_writes);
	}
	d->child_reads = d->child_writes = -1;
	d->buffer = mem_alloc(READ_BYTES);
	d->held = mem_alloc(HELD_BYTES);
	if (pid)
		d->pidfd = pidfd_open(pid, 0);
	if (pid && d->pidfd < 0)
		return shiny_err_os(errno, "cannot watch the program");
	sigfillset(&all); /* SIGPIPE too: what is written to a browser that has gone fails */
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

	return d->running && write(d->ask[1], &asked, 1) == 1;
}

void devtools_stop(struct devtools *d)
{
	devtools_ask(d, STOP);
	devtools_wait(d);
}

void devtools_leave(struct devtools *d)
{
	devtools_ask(d, SIGTERM);
}

void devtools_wait(struct devtools *d)
{
	if (!d->running)
		return;
	pthread_join(d->thread, NULL);
	d->running = false;
	if (!d->hello && d->port)
		complain(d, "no browser answered on the port", NULL);
	else if (!d->hello)
		complain(d,
			 "it did not answer: is it a Chromium, and has it a --user-data-dir of its "
			 "own, without which it does not listen?",
			 NULL);
	else if (!d->counts.looks.count)
		complain(d,
			 "nothing was taken: no page had been loaded when the browser ended; "
			 "--devtools-every takes dumps before that",
			 NULL);
}

const char *devtools_trouble(const struct devtools *d)
{
	return *d->trouble ? d->trouble : NULL;
}

struct shiny_err *devtools_store(const struct devtools *d, const char *path, size_t *dumps,
				 size_t *snapshots)
{
	struct shiny_err *err = d->counts.looks.count ? counts_store(&d->counts, path) : NULL;

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
		int fd = (const int[]){ d->to,	   d->from,   d->child_reads, d->child_writes,
					d->ask[0], d->ask[1], d->pidfd }[i];

		if (fd >= 0)
			close(fd);
	}
	socket_close(d->socket);
	if (d->in_message)
		message_deinit(&d->message);
	message_deinit(&d->answer);
	counts_deinit(&d->counts);
	free(d->buffer);
	free(d->held);
	free(d);
}
