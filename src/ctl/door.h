/* SPDX-License-Identifier: Apache-2.0 */
/*
 * door.h: the one way to a terminal, a pipe or a file for what shinyctl says.
 *
 * Runs: CLI. Signals: no. Allocates: a buffer a stream. Threads: one a stream.
 *
 * Names of programs, threads, types and files are made by others, and may hold sequences that a
 * terminal obeys. Those of sessions are harmless as they come (query_text); but names also come
 * from processes that run, from ELF files and from the command line. So nothing leaves by standard
 * output or standard error but text, line ends, tabs and the sequences that we use ourselves (tint,
 * progress): of any other control character goes out its stand-in (text_stand_in), and what is no
 * UTF-8 is replaced.
 */
#ifndef SHINY_DOOR_H
#define SHINY_DOOR_H

#include <stdio.h>

void door_open(void); /* stdout and stderr are new streams from here on */
int door_fd(FILE *out); /* the descriptor behind a stream, be it behind the door */

#endif
