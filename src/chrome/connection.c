/* SPDX-License-Identifier: Apache-2.0 */
/* connection.c: see connection.h. */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };
static const uint64_t second = 1000000000;

uint64_t connection_time(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

bool connection_complain(struct connection *c, const char *what, const char *why)
{
	if (!*c->trouble)
		snprintf(c->trouble, sizeof(c->trouble), "%s%s%s", what, why && *why ? ": " : "",
			 why ? why : "");
	return false;
}

void connection_begin(struct connection *c)
{
	c->buffer = mem_alloc(READ_BYTES);
}

void connection_end(struct connection *c)
{
	socket_close(c->socket);
	if (c->in_message)
		message_deinit(&c->message);
	message_deinit(&c->answer);
	free(c->buffer);
}

static bool take_data(void *context, bool snapshot, const char *text, size_t length)
{
	struct connection *c = context;

	/* snapshot_end and trace_end report a broken document; the message around it is fine */
	if (snapshot && c->snapshot)
		snapshot_feed(c->snapshot, text, length);
	else if (!snapshot && c->trace)
		trace_feed(c->trace, text, length);
	return true;
}

static bool end_message(struct connection *c)
{
	struct message *m = &c->message;
	struct shiny_err *err = json_stream_end(&m->json, "what the browser says");

	c->in_message = false;
	if (err) {
		connection_complain(c, err->message, NULL);
		shiny_err_free(err);
		message_deinit(m);
		return false;
	}
	if (m->id && m->id == c->last_id && !c->answered) {
		message_deinit(&c->answer);
		json_stream_deinit(&m->json);
		c->answer = *m;
		c->answered = true;
		return true;
	}
	if (strcmp(m->method, "Tracing.tracingComplete") == 0)
		memcpy(c->stream, m->stream, sizeof(c->stream));
	else if (strcmp(m->method, "Target.detachedFromTarget") == 0 ||
		 strcmp(m->method, "Inspector.targetCrashed") == 0)
		c->detached = true;
	message_deinit(m);
	return true;
}

static void take_bytes(struct connection *c, const char *at, size_t left)
{
	while (left && !c->given_up) {
		const char *end = memchr(at, 0, left);
		size_t n = end ? (size_t)(end - at) : left;

		if (!c->in_message) {
			message_init(&c->message, c, take_data);
			c->in_message = true;
		}
		json_stream_feed(&c->message.json, at, n);
		at += n + (end != NULL);
		left -= n + (end != NULL);
		if (end ? !end_message(c) : c->message.json.why != NULL) {
			connection_complain(c, "what the browser says cannot be read", NULL);
			c->given_up = true;
		}
	}
}

static void take_from_socket(void *context, const char *text, size_t length)
{
	struct connection *c = context;

	c->heard = connection_time(CLOCK_MONOTONIC);
	take_bytes(c, text, length);
}

void connection_pass_on(struct connection *c)
{
	if (!c->number)
		return;
	if (c->pidfd < 0) { /* not our child: end the work, unless the browser has not answered
	                     * yet */
		c->stopped |= c->hello;
		return;
	}
	pidfd_send_signal(c->pidfd, c->number, NULL, 0);
	c->number = 0;
}

static void take_asked(struct connection *c)
{
	unsigned char asked[64];
	ssize_t n = read(c->ask[0], asked, sizeof(asked));

	for (ssize_t i = 0; i < n; i++) {
		if (asked[i] == CONNECTION_STOP) {
			c->stopped = true;
		} else if (asked[i] == CONNECTION_DUMP) {
			c->asked = true;
		} else {
			/* a second request ends the waiting of the first */
			connection_pass_on(c);
			c->number = asked[i];
			c->number_since = connection_time(CLOCK_MONOTONIC);
		}
	}
}

void connection_receive(struct connection *c, int ms)
{
	int from = c->socket ? socket_fd(c->socket) : c->from;
	struct pollfd fds[2] = { { .fd = c->ask[0], .events = POLLIN },
				 { .fd = c->gone ? -1 : from, .events = POLLIN } };
	ssize_t n;

	if (poll(fds, 2, ms) <= 0)
		return;
	if (fds[0].revents)
		take_asked(c);
	if (!fds[1].revents)
		return;
	if (c->socket) {
		c->gone = !socket_read(c->socket);
		return;
	}
	n = read(c->from, c->buffer, READ_BYTES);
	if (n > 0) {
		c->heard = connection_time(CLOCK_MONOTONIC);
		take_bytes(c, c->buffer, (size_t)n);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		c->gone = true;
	}
}

/* True if the browser has been silent for too long since the user's SIGINT. */
static bool keeps_waiting(const struct connection *c, uint64_t time)
{
	uint64_t since = c->heard > c->number_since ? c->heard : c->number_since;

	return c->pidfd < 0 && c->number == SIGINT && time - since > DEVTOOLS_SILENCE * second;
}

bool connection_patience(struct connection *c)
{
	uint64_t time = connection_time(CLOCK_MONOTONIC);

	if (c->stopped || c->gone || c->given_up)
		return false;
	if (!c->hello) {
		connection_pass_on(c); /* there is nothing to dump yet */
		return true;
	}
	if (time - c->heard > DEVTOOLS_PATIENCE * second ||
	    (c->number && time - c->number_since > DEVTOOLS_LAST * second) ||
	    keeps_waiting(c, time)) {
		connection_complain(c, "the browser does not answer", NULL);
		c->given_up = true;
	}
	return !c->given_up;
}

bool connection_plain_id(const char *id)
{
	return *id &&
	       !id[strspn(id,
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/")];
}

bool connection_call(struct connection *c, const char *session, const char *method,
		 const char *parameters)
{
	char text[1024];
	int length =
		snprintf(text, sizeof(text),
			 "{\"id\":%" PRIu64 ",\"method\":\"%s\",\"params\":%s%s%s%s}",
			 c->last_id + 1, method, parameters, session ? ",\"sessionId\":\"" : "",
			 session ? session : "", session ? "\"" : "");

	if (length < 0 || (size_t)length >= sizeof(text) || !connection_patience(c))
		return false;
	c->last_id++;
	c->answered = false;
	c->detached = false;
	c->heard = connection_time(CLOCK_MONOTONIC);
	/* With its NUL. A pipe accepts so few bytes at once, unless it is full. */
	if (c->socket ? !socket_send(c->socket, text, (size_t)length)
		      : write(c->to, text, (size_t)length + 1) != length + 1) {
		if (errno == EPIPE || c->socket)
			c->gone = true;
		else
			c->given_up = true;
		return false;
	}
	while (!c->answered && connection_patience(c) && !(session && c->detached))
		connection_receive(c, CONNECTION_POLL_MS);
	if (!c->answered)
		return false;
	if (c->answer.failed) {
		char what[128];

		snprintf(what, sizeof(what), "the browser refuses %s", method);
		return connection_complain(c, what, c->answer.error);
	}
	return true;
}

/* Tries again and again: a browser opens its port some time after its start. */
void connection_dial(struct connection *c, uint64_t deadline)
{
	struct socket_sink sink = { .context = c, .take = take_from_socket };

	while (!c->socket && !c->stopped && connection_time(CLOCK_MONOTONIC) < deadline) {
		c->socket = socket_open(c->port, &sink);
		connection_pass_on(c);
		if (!c->socket)
			connection_receive(c, CONNECTION_POLL_MS);
	}
}
