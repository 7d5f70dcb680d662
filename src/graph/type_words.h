/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_words.h: what a word of a block is by its type's layout, and what its member is called.
 *
 * Runs: CLI. Signals: no. Allocates: 32 bytes a row of table member, 16 a type. Threads: one a
 * table.
 *
 * A table or vector of Blink's collected heap says in its type's name whether its members are weak
 * or untraced: neither keeps anything.
 * Where weak keys have values, a value is a pointer, though it goes when its key does.
 *
 * Only a type that is exact or of high confidence says what a word is; a guess names members.
 */
#ifndef SHINY_TYPE_WORDS_H
#define SHINY_TYPE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "../store/store.h"

enum word_use {
	WORD_MAYBE,   /* it may hold a pointer: no layout, or an integer as wide as one */
	WORD_NOTHING, /* it holds none: a vptr, narrow numbers, padding */
	WORD_WEAK,    /* it holds one that keeps nothing */
	WORD_POINTER,
};
#define WORD_UNNAMED UINT32_MAX

struct type_word { /* words in a row with the same answers */
	uint32_t at, end;
	enum word_use use;
	char *name; /* "Service::cache_ (std::map)"; NULL none */
};
struct typed {
	uint32_t first, count; /* rows of its layout */
	uint32_t bytes;        /* of the type or of an element; 0 unknown */
	bool sure, many;       /* many: an array or buffer */
	enum word_use element; /* of an element that is no class */
	uint8_t weak;          /* of each 8 bytes: bit 0 the first member, bit 1 the second one */
};
struct type_words { /* zeroed: empty */
	struct typed *types; /* by id */
	size_t type_count;
	struct type_word *words;
	size_t word_count;
};

SHINY_MUST_CHECK struct shiny_err *type_words_load(struct store *store, bool full_names,
						   struct type_words *out);
void type_words_deinit(struct type_words *words);

/*
 * The word at `at` of a block of this type (0: unknown) and size; *name: words->words[*name].name,
 * or WORD_UNNAMED.
 */
enum word_use type_words_find(const struct type_words *words, uint32_t type, uint64_t size,
			      uint64_t at, uint32_t *name);

#endif
