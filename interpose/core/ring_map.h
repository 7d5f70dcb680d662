/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_map.h: where this process's ring file is mapped.
 *
 * Runs:      inside. Filled by attach.c, read by every hook afterwards.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 */
#ifndef SI_RING_MAP_H
#define SI_RING_MAP_H

#include <shiny/wire/ring.h>

#include "base.h"

/* Private copies of what the header says: the header is shared, and a peer may lie later. */
struct si_ring {
	struct shiny_header *header; /* NULL: not attached */
	struct shiny_notice *notices;
	struct shiny_process *processes;
	struct shiny_thread *threads;
	uint32_t process_count, thread_count; /* slots, most of them without space yet */
	struct shiny_chunks chunks;
	bool served; /* a sidecar was there, or on its way, when the ring was made */
	bool guest;  /* the sidecar made its file: the directory is out of our reach */
};
SI_INTERNAL struct si_ring si_ring;

#endif
