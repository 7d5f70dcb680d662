/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h: numbers as people write and read them: 64k, 1.5g, 10s; 1,234,567; 12.3 MiB; 45.6 ms.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * Parsers take the whole text or fail, and never round silently past the range of uint64_t. Writers
 * fill `out` and return it.
 */
#ifndef SHINY_UNITS_H
#define SHINY_UNITS_H

#include <stdbool.h>
#include <stdint.h>

enum { UNITS_TEXT = 40 };
/* A buffer that lives to the end of the enclosing block: units_bytes(UNITS_BUF, n). */
#define UNITS_BUF ((char[UNITS_TEXT]){ 0 })
enum { UNITS_NOUN = 80 };
#define UNITS_NOUN_BUF ((char[UNITS_NOUN]){ 0 }) /* the same for units_noun */

/* Parses a size: a number, perhaps with a fraction, then b, k, m, g or t (powers of 1024; K, KB and
 * KiB mean the same). */
bool units_parse_bytes(const char *text, uint64_t *bytes);
/* Parses a duration into ns: a number, then ns, us, ms, s, min or h; without a unit, seconds. */
bool units_parse_time(const char *text, uint64_t *ns);
/* Parses a whole number, perhaps with k, m or g for thousands, millions, billions, or thousands
 * separators. */
bool units_parse_count(const char *text, uint64_t *count);
/* Parses a share, "5%" or "0.05", into a fraction of 0..1. */
bool units_parse_share(const char *text, double *share);

char *units_count(char out[UNITS_TEXT], uint64_t n);             /* 1,234,567 */
/* 1 page, 1,234 pages; `noun` in the singular */
char *units_noun(char out[UNITS_NOUN], uint64_t n, const char *noun);
char *units_bytes(char out[UNITS_TEXT], uint64_t bytes);         /* 832 B, 64.0 KiB, 1.21 GiB */
/* 950 ns, 45.6 ms, 3.21 s, 2 min 05 s, 3 h 07 min */
char *units_time(char out[UNITS_TEXT], uint64_t ns);
/* 12.3 %; empty where `all` is 0 */
char *units_share(char out[UNITS_TEXT], double part, double all);
char *units_short(char out[UNITS_TEXT], double n);               /* 950, 12.3 k, 4.56 M */

/* The word that agrees with a number: "is" for one, "are" for more and for none. */
static inline const char *units_form(uint64_t n, const char *one, const char *more)
{
	return n == 1 ? one : more;
}

#endif
