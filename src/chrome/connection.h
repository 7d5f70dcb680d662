/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h: calls of the DevTools protocol and their answers, over a pipe or a socket.
 *
 * Runs: CLI, on the thread of client.c. Signals: no. Allocates: one message, the buffers.
 * Threads: one; others write single bytes into `ask`, as client.h says.
 *
 * The browser's output is always read to its end, so that it never waits for us. A call without an
 * answer within DEVTOOLS_PATIENCE sets given_up; a signal to be passed on waits no longer than
 * DEVTOOLS_LAST.
 */
#ifndef SHINY_CONNECTION_H
#define SHINY_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "message.h"
#include "snapshot.h"
#include "socket.h"
#include "trace.h"

/* Bytes of `ask`: CONNECTION_DUMP asks for a dump, CONNECTION_STOP ends everything, any other is
 * the number of a signal that is passed on after a dump. */
enum { CONNECTION_DUMP = 0, CONNECTION_STOP = 0xff };
enum { DEVTOOLS_PATIENCE = 120, DEVTOOLS_LAST = 60, DEVTOOLS_SILENCE = 5 }; /* seconds */
enum { CONNECTION_POLL_MS = 250 };

struct connection {
	int to, from;                   /* the browser's pipe; -1 with a socket */
	uint16_t port;                  /* 0: a pipe */
	struct devtools_socket *socket; /* NULL: not connected */
	int ask[2];
	int pidfd;                      /* of the program; -1: the browser ran before us */

	bool stopped, gone, given_up;
	bool hello;                     /* the browser has answered its first call */
	bool asked;                     /* for a dump */
	int number;                     /* of the signal to be passed on; 0 none */
	uint64_t number_since, heard;   /* ns: that signal came; the browser was last heard */

	char *buffer;                   /* connection_begin allocates, connection_end frees it */
	struct message message;         /* being received */
	bool in_message;
	uint64_t last_id;
	struct message answer;          /* to the call of last_id, when it has come */
	bool answered;
	char stream[64];                /* of the trace that has been completed */
	bool detached;                  /* a target that we were attached to has gone */
	struct trace *trace;            /* documents go there; NULL: nobody wants them */
	struct snapshot *snapshot;
	char trouble[384];              /* the first that went wrong */
};

void connection_begin(struct connection *c);
void connection_end(struct connection *c);

/* ns of one of the kernel's clocks. */
uint64_t connection_time(clockid_t clock);

/* Keeps the first trouble, "WHAT: WHY" (`why` NULL: WHAT alone). Returns false. */
bool connection_complain(struct connection *c, const char *what, const char *why);

/* Connects to the port, until `deadline` (ns, CLOCK_MONOTONIC). */
void connection_dial(struct connection *c, uint64_t deadline);

/* Sends the signal that waits. Where the browser ran before us, ends the work instead. */
void connection_pass_on(struct connection *c);

/* Waits up to `ms` (-1: for ever) for input, and reads it. */
void connection_receive(struct connection *c, int ms);

/* Whether an answer may still come. */
bool connection_patience(struct connection *c);

/* Whether an id of the browser's may stand in JSON as it is. */
bool connection_plain_id(const char *id);

/* One call; true: c->answer holds the answer. `parameters`: a JSON object. `session` NULL: the
 * browser's own. */
bool connection_call(struct connection *c, const char *session, const char *method,
		     const char *parameters);

#endif
