/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_guard.h: makes everything that shinyctl prints harmless to a terminal.
 *
 * Runs: CLI. Signals: no. Allocates: a buffer a stream. Threads: one a stream.
 *
 * Other people make the names of programs, threads, types and files; a name may hold a sequence
 * that a terminal obeys. Names from a session are harmless as they are read (query_text). Names
 * also come from running processes, ELF files and the command line. So standard output and standard
 * error let out only text, line ends, tabs and the sequences that shinyctl itself sends
 * (terminal.h). Any other control character is replaced by its stand-in (text_stand_in), as is text
 * that is not UTF-8. No guard can tell a line end in a name from ours: a name that is not from a
 * session gets out by text_line, text_plain or text_shell.
 *
 * A document is of use as a whole only, and whoever reads it may not ask for our status. What is
 * printed behind output_guard_hold waits in an unlinked file, or in memory where there is no room
 * for one, until the verb has succeeded. A verb that fails prints nothing of it.
 */
#ifndef SHINY_OUTPUT_GUARD_H
#define SHINY_OUTPUT_GUARD_H

#include <stdbool.h>
#include <stdio.h>

void output_guard_open(void);	/* from here on stdout and stderr are guarded streams */
/* `binary`: no text; no terminal gets it. The last call decides. False: there is no place to keep
 * it; errno says why. */
bool output_guard_hold(bool binary);
/* Prints what was held, or drops it. False: it could not be written; errno says why. */
bool output_guard_release(bool whole);
int output_guard_fd(FILE *out); /* the descriptor of a stream, guarded or not */

#endif
