/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h: slots in the ring file, by which the sidecar knows processes and streams.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing; sleeps where no slot is free (wait.h), and makes no other system call after
 *            boot.
 * Threads:   any.
 */
#ifndef SI_SLOT_H
#define SI_SLOT_H

#include "../core/ring_map.h"
#include "../core/base.h"

/*
 * Claims a free one of `count` slots, searching from `*hint` on; `states` is the first one's state,
 * and each next one's lies `stride` bytes further. UINT32_MAX: none is free.
 */
uint32_t si_slot_claim(uint32_t *states, size_t stride, uint32_t count, uint32_t *hint);

/* Makes the attempt; while it fails, repeats it whenever the sidecar has freed something. */
bool si_slot_wait_for(bool (*attempt)(void *context), void *context);

/* The origin of a process, for its slot. */
struct si_descent {
	int32_t parent; /* parent's slot; -1: this image was started by exec */
	uint32_t parent_generation;
	uint64_t fork_at;
	uint32_t pid, parent_pid; /* 0: unknown. After boot the kernel is not asked (calls.def) */
};

/* Claims this process's own slot, into si_process. `waits`: waits until the sidecar frees one. */
bool si_process_claim(const struct si_descent *descent, bool waits);

#endif
