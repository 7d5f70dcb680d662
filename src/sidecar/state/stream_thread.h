/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_thread.h: the thread that writes a stream: its slot in the ring, and its row in the
 * session.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 */
#ifndef SHINY_STREAM_THREAD_H
#define SHINY_STREAM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct stream_thread {
	uint32_t slot, generation;
	uint32_t id; /* in the session */
	uint32_t tid, creator;
	bool nested;
	bool changed; /* its row must be written */
	char name[24];
	unsigned name_looks;
	uint64_t start; /* ticks */
};

#endif
