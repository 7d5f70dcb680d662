/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h: writes down what a made-up program did, as the sidecar would have.
 *
 * Runs: CLI, in tests. Allocates: what the store's writer does. Threads: one. An error ends the
 * process with status 4.
 */
#ifndef TEST_MADE_SESSION_H
#define TEST_MADE_SESSION_H

#include "../../../src/store/store.h"

/* The file, with the program's names in it. */
void session_begin(const char *path);
void session_put_event(const struct event *event);
/* The numbers of books.h; the file is complete. */
void session_end(void);

#endif
