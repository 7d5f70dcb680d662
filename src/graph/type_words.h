/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_words.h: says by its type's layout what a word of a block holds, and names its member.
 *
 * Runs: CLI. Signals: no. Allocates: 32 bytes a row of table member, 16 a type. Threads: one a
 * table.
 *
 * A table or vector of Blink's collected heap says in its type's name whether its members are weak
 * or untraced: neither keeps anything. Values of weak keys count as pointers, though a value dies
 * with its key.
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

struct type_word { /* consecutive words with the same answers */
	uint32_t at, end;
	enum word_use use;
	char *name; /* "Service::cache_ (std::map)"; NULL: none */
};
struct typed {
	uint32_t first, count; /* its rows of the layout */
	uint32_t bytes;        /* size of the type or of an element; 0: unknown */
	bool sure, many;       /* many: it is an array or buffer */
	enum word_use element; /* use of an element that is no class */
	uint8_t weak;          /* weak members of each 8 bytes; bit 0: first, bit 1: second */
};
struct type_words { /* zeroed: empty */
	struct typed *types; /* indexed by type id */
	size_t type_count;
	struct type_word *words;
	size_t word_count;
};

SHINY_MUST_CHECK struct shiny_err *type_words_load(struct store *store, bool full_names,
						   struct type_words *out);
void type_words_deinit(struct type_words *words);

/* Says what the word at `at` of a block of this type (0: unknown) and size holds. *name: an index
 * of words->words, or WORD_UNNAMED. */
enum word_use type_words_find(const struct type_words *words, uint32_t type, uint64_t size,
			      uint64_t at, uint32_t *name);

#endif
