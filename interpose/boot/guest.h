/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h: gets a ring from the sidecar, for a program that cannot reach its session's directory.
 *
 * Runs: inside, in boot only. Signals: – Allocates: nothing. Threads: one.
 */
#ifndef SI_GUEST_H
#define SI_GUEST_H

#include "../core/base.h"

/*
 * Returns the descriptor of a new, empty ring file in the session directory `session`, with the
 * shared lock held on it; or -errno if there is no sidecar, or it does not answer within seconds.
 * `boot_id` gets the kernel's, for a root without /proc.
 */
SI_COLD int si_guest_ring(const char *session, uint8_t boot_id[16]);

#endif
