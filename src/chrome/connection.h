/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h: calls of the DevTools protocol and their answers, over a pipe or a socket.
 *
 * Runs: CLI, on the thread of client.c. Signals: no. Allocates: one message, the buffers.
 * Threads: one; others write single bytes into `ask`, as client.h says.
 *
 * The module always reads the browser's output to its end, so that the browser never waits for us.
 * A call sets given_up if the browser is silent for DEVTOOLS_PATIENCE; a signal is passed on after
 * at most DEVTOOLS_LAST.
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

/* Bytes of `ask`: CONNECTION_DUMP requests a dump, CONNECTION_STOP ends everything; any other byte
 * is a signal's number, which is passed on after a dump. */
enum { CONNECTION_DUMP = 0, CONNECTION_STOP = 0xff };
enum { DEVTOOLS_PATIENCE = 120, DEVTOOLS_LAST = 60, DEVTOOLS_SILENCE = 5 }; /* seconds */
enum { CONNECTION_POLL_MS = 250 };

struct connection {
	int to, from;                   /* the browser's pipe; -1 with a socket */
	uint16_t port;                  /* 0: a pipe */
	struct devtools_socket *socket; /* NULL: not connected */
	int ask[2];
	int pidfd;                      /* the program's; -1: the browser ran before us */

	bool stopped, gone, given_up;
	bool hello;                     /* the browser has answered its first call */
	bool asked;                     /* a dump is requested */
	int number;                     /* signal to be passed on; 0 none */
	uint64_t number_since, heard;   /* ns: arrival of that signal; of the browser's last byte */

	char *buffer;                   /* connection_begin allocates, connection_end frees it */
	struct message message;         /* being received */
	bool in_message;
	uint64_t last_id;
	struct message answer;          /* to the call of last_id, if `answered` */
	bool answered;
	char stream[64];                /* handle of the completed trace */
	bool detached;                  /* an attached target has ended */
	struct trace *trace;            /* receives documents; NULL: they are dropped */
	struct snapshot *snapshot;
	char trouble[384];              /* the first trouble; "" none */
};

void connection_begin(struct connection *c);
void connection_end(struct connection *c);

/* Reads one of the kernel's clocks, in ns. */
uint64_t connection_time(clockid_t clock);

/* Keeps the first trouble, "WHAT: WHY" (`why` NULL: WHAT alone). Returns false. */
bool connection_complain(struct connection *c, const char *what, const char *why);

/* Tries to connect to the port until `deadline` (ns, CLOCK_MONOTONIC). */
void connection_dial(struct connection *c, uint64_t deadline);

/* Sends the pending signal to the program. If the browser ran before us, ends the work instead. */
void connection_pass_on(struct connection *c);

/* Waits up to `ms` (-1: for ever) for input, and reads it. */
void connection_receive(struct connection *c, int ms);

/* True if an answer may still come. */
bool connection_patience(struct connection *c);

/* True if an id of the browser's may stand in JSON unescaped. */
bool connection_plain_id(const char *id);

/* Calls `method` and waits; true: c->answer holds the answer. `parameters`: a JSON object.
 * `session` NULL: the browser's own. */
bool connection_call(struct connection *c, const char *session, const char *method,
		     const char *parameters);

#endif
