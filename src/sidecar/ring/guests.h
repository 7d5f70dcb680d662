/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guests.h: rings for programs of the session that cannot reach its directory.
 *
 * Runs: sidecar; guests_listen in who starts it. Signals: no. Allocates: yes. Threads: one of its
 * own; the functions are the loop's.
 */
#ifndef SHINY_GUESTS_H
#define SHINY_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct guests;

/* The socket at which guests of this session ask; -1: there can be none. To be made before the
 * first program runs. */
int guests_listen(const char *directory);

/* Starts the thread; the socket is its own. NULL: it cannot be had (`socket` < 0 likewise), and who
 * asks is refused. */
struct guests *guests_start(const char *directory, int socket, const uint8_t boot_id[16]);
void guests_stop(struct guests *guests);

/* False: who asks from now on is refused; once this has returned, no more files appear. */
void guests_admit(struct guests *guests, bool admit);

#endif
