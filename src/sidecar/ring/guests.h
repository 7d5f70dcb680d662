/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guests.h: rings for programs of the session that cannot reach its directory.
 *
 * Runs: sidecar; guests_listen in the process that starts it. Signals: no. Allocates: yes. Threads:
 * one of its own; the loop calls the functions.
 */
#ifndef SHINY_GUESTS_H
#define SHINY_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

struct guests;

/* Opens the socket at which guests of this session ask; -1: there are no guests. Call before the
 * first program runs. */
int guests_listen(const char *directory);

/* Starts the thread, which owns the socket. NULL: it cannot be created, or `socket` < 0; guests are
 * then refused. */
struct guests *guests_start(const char *directory, int socket, const uint8_t boot_id[16]);
void guests_stop(struct guests *guests);

/* Admits or refuses guests from now on. Once guests_admit(guests, false) has returned, no more
 * files appear. */
void guests_admit(struct guests *guests, bool admit);

#endif
