/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h: the kinds of values of options and environment variables, and their checks. Both share
 * one set, so that `--ring 64m` and SHINY_RING=64m mean the same.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_VALUE_H
#define SHINY_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind {
	VALUE_FLAG,   /* no value */
	VALUE_TEXT,   /* anything; `allowed` says of it: "a file of rules" */
	VALUE_CHOICE, /* one of `allowed`: words separated by '|'; its number is the word's
	               * position */
	VALUE_COUNT,  /* a whole number in `allowed`: lo..hi; any if empty */
	VALUE_BYTES,  /* a size such as 64m, in `allowed` as above */
	VALUE_SHARE,  /* 5% or 0.05; its number is in parts per million */
	VALUE_BUDGET, /* the same, or 500/s, whose number is the negative of that; "": 0 */
	VALUE_TIME,   /* 10m; its number is in ns, and above 0; "": 0 */
};

/* Parses `text`; false: `why` gets what would be right, in a few words ("a number from 1 to
 * 64"). */
bool value_parse(enum value_kind kind, const char *allowed, const char *text, uint64_t *number,
		 char *why, size_t room);

/* Describes the values of this kind in words. */
void value_describe(enum value_kind kind, const char *allowed, char *out, size_t room);

#endif
