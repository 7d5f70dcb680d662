/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h: the patterns of options, rule files and tables: '*' matches any run of characters, '?'
 * one, and with `sets` "[a-cx]" one of these; anything else matches itself, and case matters.
 * Nothing escapes a character.
 *
 * Each star matches as little as the rest allows. Only the last star backtracks, so time is at most
 * the product of the lengths.
 *
 * Runs: both. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_GLOB_H
#define SHINY_GLOB_H

#include <stdbool.h>
#include <stddef.h>

struct glob {
	const char *pattern;
	bool sets;	  /* each '[' has a ']' behind at least one character */
	const char *ends; /* the text may go on behind one of these, which is not matched */
};
struct glob_star { /* the text that a star matches */
	const char *text;
	size_t length;
};

/* True if the pattern matches the whole text. */
bool glob_matches(const char *pattern, const char *text);

/* The same for a text of `length` bytes; sets the first `room` stars. */
bool glob_match(const struct glob *glob, const char *text, size_t length, struct glob_star *stars,
		size_t room);

#endif
