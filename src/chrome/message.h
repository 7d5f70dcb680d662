/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h: one message of the DevTools protocol, read as a stream: the fields that the client
 * needs, and the strings that carry other documents.
 *
 * Runs: CLI. Signals: no. Allocates: the parser's state, the targets. Threads: one.
 */
#ifndef SHINY_MESSAGE_H
#define SHINY_MESSAGE_H

#include "../base/mem.h"
#include "json_stream.h"

enum { MESSAGE_TARGETS = 256 };

struct message_target {
	char id[64], type[32], url[128];
};
struct message {
	struct json_stream json;
	uint64_t id;               /* the call that this answers; 0: this is an event */
	char method[64];           /* an event's */
	char session[64];          /* result.sessionId */
	char stream[64];           /* params.stream */
	char text[64];             /* result.result.value, where that is a text */
	char error[160];           /* error.message */
	bool failed;               /* an error, or success: false */
	bool eof, encoded;         /* IO.read's flags */
	VEC(struct message_target) targets;
	struct message_target target;
	/* Called with each piece of a document; false ends the message as unreadable. */
	void *context;
	bool (*data)(void *context, bool snapshot, const char *text, size_t length);
};

void message_init(struct message *message, void *context,
		  bool (*data)(void *context, bool snapshot, const char *text, size_t length));
void message_deinit(struct message *message);

#endif
