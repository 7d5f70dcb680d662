/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_guard.h: makes everything that shinyctl prints harmless to a terminal.
 *
 * Runs: CLI. Signals: no. Allocates: a buffer a stream. Threads: one a stream.
 *
 * Names of programs, threads, types and files come from others, and may hold sequences that a
 * terminal obeys. Reading makes names from a session harmless (query_text). Names also come from
 * running processes, ELF files and the command line. So standard output and standard error print
 * only text, line ends, tabs and the sequences that shinyctl itself sends (terminal.h). Any other
 * control character is replaced by its stand-in (text_stand_in), as is text that is not UTF-8. A
 * line end in a name looks like ours: a name that is not from a session must be printed by
 * text_line, text_plain or text_shell.
 *
 * A document is only useful as a whole, and its reader may not check our status. After
 * output_guard_hold() output waits in an unlinked file, or in memory if there is no room for one,
 * until the verb has succeeded. A verb that fails prints nothing of it.
 */
#ifndef SHINY_OUTPUT_GUARD_H
#define SHINY_OUTPUT_GUARD_H

#include <stdbool.h>
#include <stdio.h>

void output_guard_open(void);	/* guards stdout and stderr from here on */
/* Holds output back. `binary`: not text, refused on a terminal. The last call decides. False: no
 * place to hold it; errno says why. */
bool output_guard_hold(bool binary);
/* Prints the held output, or drops it. False: it could not be written; errno says why. */
bool output_guard_release(bool whole);
int output_guard_fd(FILE *out); /* descriptor of a stream, guarded or not */

#endif
