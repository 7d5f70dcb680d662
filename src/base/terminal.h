/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h: the sequences that shinyctl itself sends to a terminal.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: nothing. Threads: any.
 *
 * The name of a program, a type or a file may hold the bytes of such a sequence. So each of ours
 * has a key behind its ESC, which differs from run to run and which no name can hold; ctl's
 * output_guard.h removes the key, and blocks every sequence that lacks it. The key is empty where
 * nothing guards the output.
 */
#ifndef SHINY_TERMINAL_H
#define SHINY_TERMINAL_H

enum { TERMINAL_KEY = 17, TERMINAL_SEQUENCE = 16 + TERMINAL_KEY };

void terminal_guarded(void); /* draws the key; later sequences have it */
const char *terminal_key(void);
/* Writes `sequence`, "\033[…" of one letter, with the key into `out`; returns `out`. */
const char *terminal_sequence(char out[TERMINAL_SEQUENCE], const char *sequence);

#endif
