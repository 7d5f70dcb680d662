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

/* The code point at `s` (not empty) and its length in bytes; TEXT_INVALID and 1 for a byte that
 * starts no well-formed sequence. */
size_t text_decode(const char *s, uint32_t *point);

/*
 * Whether `s` can be printed wherever a name may stand: it has no control character, no character
 * that turns a line's direction or ends one, and is well-formed. text_plain, of what has: control
 * characters as their pictures (U+2400 on), all else as U+FFFD; the caller's to free.
 */
uint32_t text_stand_in(uint32_t point); /* what stands for the character; 0: it can be printed */
size_t text_encode(char *out, uint32_t point); /* in UTF-8, up to 4 bytes; how many */
bool text_is_plain(const char *s);
char *text_plain(const char *s);
/* Prints one line: what the format gives, as text_plain has it, and a line end. For each line in
 * which a name stands that is not from a session. */
__attribute__((format(printf, 2, 3))) void text_line(FILE *out, const char *format, ...);

/*
 * A word as a shell reads it back, on one line, with nothing in it that a terminal obeys: as it is
 * where it is plain, else 'quoted', or $'with escapes' (bash, zsh, ksh, POSIX 2024). dash 0.5.12
 * reads the last as a $ and a quoted word: another name, which is not found, and obeys nothing, as
 * no quote is in it but \047. No form is read by all: "$(printf ...)" loses line ends at a name's
 * end, and a line that people copy is to start nothing but what it says. For every name that comes
 * from outside and stands in a command line that people copy, or alone in a line.
 * text_shell: of a file; one that begins as an option does gets ./ in front. text_word: of what
 * follows an option. The caller's to free.
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
 * Copies `s` into `out`, cut to `columns` columns with one … where something was left out, and
 * control characters and malformed bytes shown as '?'. A C++ name first loses template arguments,
 * innermost first, then function arguments: "std::map<…>::insert(…)". Returns the columns used.
 * `room` in bytes, at least 8; 4 * columns + 8 always suffices.
 */
size_t text_fit(char *out, size_t room, const char *s, size_t columns, enum text_cut cut);

/* '*' matches any run of characters, '?' one; a pattern with neither matches anywhere in `s`. Case
 * matters. */
bool text_matches(const char *pattern, const char *s);

/* The part of a path behind the last '/'. */
const char *text_base(const char *path);

/* The same of a file; of a directory, which ends in /, what is behind ./ and ../: "net/http/". */
const char *text_place(const char *path);

#endif
