/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: UTF-8 text that has to fit into a terminal's columns, and matching of names.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: text_plain, text_shell, text_word. Threads: any.
 */
#ifndef SHINY_TEXT_H
#define SHINY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_INVALID UINT32_C(0xfffd)

/* Decodes the code point at `s` (not empty) and returns its length in bytes; a byte that starts no
 * well-formed sequence is TEXT_INVALID, of length 1. */
size_t text_decode(const char *s, uint32_t *point);

/*
 * text_is_plain: true if `s` can be printed wherever a name may stand: it is well-formed and has no
 * control character and no character that turns a line's direction or ends a line. text_plain
 * returns a copy, which the caller frees, with control characters as their pictures (U+2400 on) and
 * the other offenders as U+FFFD.
 */
uint32_t text_stand_in(uint32_t point); /* its replacement; 0: it can be printed */
size_t text_encode(char *out, uint32_t point); /* writes UTF-8; returns 1 to 4 bytes */
bool text_is_plain(const char *s);
char *text_plain(const char *s);
/* Prints the formatted text, made plain by text_plain, as one line. For each line that holds a name
 * from outside a session. */
__attribute__((format(printf, 2, 3))) void text_line(FILE *out, const char *format, ...);

/*
 * Both return a word as a shell reads it back, on one line, with nothing in it that a terminal
 * obeys: unchanged if it is plain, else 'quoted', or $'with escapes' (bash, zsh, ksh, POSIX 2024).
 * dash 0.5.12 reads the last as a $ and a quoted word: a different name, which is not found, and
 * which has no effect, as its only quote is \047. No form suits all shells: "$(printf ...)" loses
 * line ends at a name's end, and a line that people copy must start nothing but what it says.
 * For every foreign name in a command line that people copy, or alone in a line. text_shell is for
 * files and puts ./ in front of a name that looks like an option; text_word is for the values of
 * options. The caller frees the text.
 */
char *text_shell(const char *file);
char *text_word(const char *word);

/* Columns that a terminal uses for `s`: 2 for wide East Asian characters and emoji, 0 for combining
 * marks. */
size_t text_columns(const char *s);

enum text_cut {
	TEXT_CUT_END,    /* "abcd…" */
	TEXT_CUT_MIDDLE, /* "ab…yz": C++ names, whose ends differ most */
	TEXT_CUT_START,  /* "…wxyz": paths */
};

/*
 * Copies `s` into `out`, cut to `columns` columns with one … for the omitted part, and control
 * characters and malformed bytes shown as '?'. A C++ name first loses template arguments, innermost
 * first, then function arguments: "std::map<…>::insert(…)". Returns the columns used. `room` in
 * bytes, at least 8; 4 * columns + 8 always suffices.
 */
size_t text_fit(char *out, size_t room, const char *s, size_t columns, enum text_cut cut);

/* Matches as glob_matches(), but a pattern without * and ? anywhere in `s`. */
bool text_matches(const char *pattern, const char *s);

/* True if the text is one of the names of an array; NULL is none of them. */
#define TEXT_IS_ONE_OF(text, names) text_is_one_of(text, names, sizeof(names) / sizeof(*(names)))
bool text_is_one_of(const char *text, const char *const *names, size_t count);

/* Returns the part of a path behind the last '/'. */
const char *text_base(const char *path);

/* For a file returns the same; for a directory, which ends in /, the part behind ./ and ../:
 * "net/http/". */
const char *text_place(const char *path);

#endif
