/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_message.h: reads one message of JSON-RPC 2.0, as far as the server needs it.
 *
 * Runs: CLI. Signals: no. Allocates: the message. Threads: any.
 */
#ifndef SHINY_MCP_MESSAGE_H
#define SHINY_MCP_MESSAGE_H

#include "../../base/json.h"
#include "../../base/mem.h"
#include "../../chrome/json_stream.h"

/* The id of a request: a whole number, or a text. */
struct mcp_id {
	enum { MCP_ID_NONE, MCP_ID_NUMBER, MCP_ID_TEXT, MCP_ID_WRONG } kind;
	int64_t number;
	char *text;
};

struct mcp_argument {
	char *name; /* of an element of an array, that of the array */
	enum json_kind kind;
	char *text;
};

struct mcp_message {
	bool is_object; /* else it is a batch, or no message */
	bool is_rpc;    /* it has the version of JSON-RPC that we speak */
	bool is_reply;
	struct mcp_id id;
	char *method;
	char *protocol;	       /* the version of the protocol that it asks for; NULL: none */
	char *tool;	       /* params.name */
	struct mcp_id request; /* params.requestId, of a request that is cancelled */
	VEC(struct mcp_argument) arguments;
	const char *wrong; /* what is wrong with the arguments; NULL: nothing */
};

/* Reads a line; free the message in any case. False: it is no JSON. */
bool mcp_message_read(const char *line, size_t bytes, struct mcp_message *out);
void mcp_message_free(struct mcp_message *message);

bool mcp_message_same_id(const struct mcp_id *a, const struct mcp_id *b);

#endif
