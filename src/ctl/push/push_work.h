/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_work.h: makes the bodies of requests, in a process of its own that is confined and has no
 * network: it reads the session, its parent speaks with the receiver.
 *
 * Runs: CLI. Signals: no. Allocates: one body, in a file in memory; the process and its children
 * have what live_sample.h says. Threads: one.
 */
#ifndef SHINY_PUSH_WORK_H
#define SHINY_PUSH_WORK_H

#include <sys/types.h>

#include "../../view/labelled.h"
#include "../options.h"
#include "push_receiver.h"

enum { PUSH_SERVICE = 128 };

struct push_wish {
	const struct options *options;
	const char *file; /* the session */
	enum push_receiver receiver;
	struct label_choice labels;
	const char *service; /* NULL: the program's name */
};

/* The answer of the process. */
struct push_made {
	bool made, ended;  /* ended: the session is complete, this is the last body */
	uint64_t bytes;	   /* of the body; 0: there is nothing to say yet */
	uint64_t from, to; /* what it is of, seconds since 1970 */
	char service[PUSH_SERVICE];
	char why[1024]; /* the reason, if not made */
};

struct push_work { /* zeroed: none */
	pid_t child;
	int line; /* to the child; readable: the answer is there, or it died */
	int fd;	  /* of the body */
};

SHINY_MUST_CHECK struct shiny_err *push_work_start(const struct push_wish *wish,
						   struct push_work *out);
/* Asks for a body. `delivered`: the receiver has the one before. */
void push_work_ask(const struct push_work *work, bool delivered);
struct push_made push_work_take(const struct push_work *work); /* waits for it */
void push_work_stop(struct push_work *work);

#endif
