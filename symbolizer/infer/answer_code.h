/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_code.h: encodes answers and frames as bytes. Texts are positions among the strings of the
 * file that holds them (type_cache.c).
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any.
 *
 * Positions, counts and enumerations are checked as they are read: a malformed answer counts as
 * absent.
 */
#ifndef SHINY_SYM_ANSWER_CODE_H
#define SHINY_SYM_ANSWER_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"
#include "../elf/symbol_names.h"
#include "site_answer.h"

struct answer_reader {
	const uint8_t *data;
	size_t at, end;
	const char *strings; /* its last byte is 0 */
	size_t strings_bytes;
	struct names *names; /* receives copies of them */
	bool bad;
};
/* False: malformed. */
bool answer_decode(struct answer_reader *reader, struct site_answer *out);
/* Returns the number of frames; -1: malformed. */
int frames_decode(struct answer_reader *reader, struct sym_frame out[SYM_FRAMES_MAX]);

struct text_place {
	const char *at;
	uint32_t position;
};
struct answer_writer { /* empty if zeroed */
	VEC(uint8_t) body;
	VEC(char) strings;
	VEC(struct text_place) texts; /* positions of the texts; by pointer, since they are
	                               * interned */
	struct hash_table text_table;
};
void answer_encode(struct answer_writer *writer, const struct site_answer *answer);
void frames_encode(struct answer_writer *writer, const struct sym_frame *frames, size_t count);
/* Returns the text's position, and adds the text if it is new; 0: `text` is NULL. */
uint32_t answer_text(struct answer_writer *writer, const char *text);
void answer_writer_deinit(struct answer_writer *writer);

#endif
