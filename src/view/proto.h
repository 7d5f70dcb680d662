/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h: writes protocol buffers (https://protobuf.dev/programming-guides/encoding/) in memory:
 * fields of numbers and bytes; an inner message is a field of bytes.
 *
 * Runs: CLI. Signals: no. Allocates: the message (mem.h). Threads: one a message.
 */
#ifndef SHINY_PROTO_H
#define SHINY_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct proto { /* zeroed: empty; free `at` after use */
	uint8_t *at;
	size_t count, room;
};

void proto_number(struct proto *to, unsigned field, uint64_t value); /* 0 is left out */
void proto_fixed(struct proto *to, unsigned field, uint64_t value); /* fixed64; 0 likewise */
void proto_bytes(struct proto *to, unsigned field, const void *bytes, size_t count);
void proto_text(struct proto *to, unsigned field, const char *text);
void proto_message(struct proto *to, unsigned field, const struct proto *inner);
/* Adds a number of a packed field; proto_message writes its bytes. */
void proto_packed(struct proto *to, uint64_t value);
/* Writes the message to `out`, and empties it. */
void proto_flush(struct proto *from, FILE *out);

#endif
