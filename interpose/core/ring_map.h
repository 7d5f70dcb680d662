/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_map.h: the mapping of this process's ring file.
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

/* Private copies of the header's values: the header is shared, and a peer may change it later. */
struct si_ring {
	struct shiny_header *header; /* NULL: not attached */
	struct shiny_notice *notices;
	struct shiny_process *processes;
	struct shiny_thread *threads;
	uint32_t process_count, thread_count; /* slots, most of them without space at first */
	struct shiny_chunks chunks;
	bool served; /* a sidecar was there, or being started, when the ring was created */
	bool guest;  /* the sidecar created the file, as this program cannot reach the directory */
};
SI_INTERNAL struct si_ring si_ring;

#endif
