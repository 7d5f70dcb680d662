/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_guard.h: makes everything that shinyctl prints harmless to a terminal.
 *
 * Runs: CLI. Signals: no. Allocates: a buffer a stream. Threads: one a stream.
 *
 * Other people make the names of programs, threads, types and files; a name may hold a sequence
 * that a terminal obeys. Names from a session are harmless as they are read (query_text). Names
 * also come from running processes, ELF files and the command line. So standard output and standard
 * error let out only text, line ends, tabs and the sequences that shinyctl itself uses (tint,
 * progress). Any other control character is replaced by its stand-in (text_stand_in), as is text
 * that is not UTF-8.
 */
#ifndef SHINY_OUTPUT_GUARD_H
#define SHINY_OUTPUT_GUARD_H

#include <stdio.h>

void output_guard_open(void);	/* from here on stdout and stderr are guarded streams */
int output_guard_fd(FILE *out); /* the descriptor of a stream, guarded or not */

#endif
