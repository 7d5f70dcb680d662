/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h: which blocks were live at given moments, from the events of a session.
 *
 * Runs: CLI. Signals: no. Allocates: what the live blocks of all processes need. Threads: one a store.
 *
 * One pass over the events, up to the last moment. A block is live from its allocation's time (read after the real call) to its
 * free's (read before it). A forked child starts with what its parent held when it forked. Events that the sidecar got later than its
 * reorder window allows (counter `late`) count from where they lie in the file, not from their time.
 */
#ifndef SHINY_REPLAY_H
#define SHINY_REPLAY_H

#include "../collector/registry.h"
#include "../store/store.h"

/* A process at a moment. Its blocks: `birth` is in ns since the session's start, `site` is the stack's id. */
struct replay_process {
	uint32_t id;
	bool running;   /* it had started and not ended; the blocks of one that has ended are those at its end */
	uint64_t bytes; /* of its blocks, as requested */
	struct registry blocks;
};

/* False stops the replay. */
typedef bool replay_at_fn(void *context, uint64_t moment, const struct replay_process *processes, size_t count);

/* Calls `at` for each of the `count` moments (ns since the session's start), which ascend. */
SHINY_MUST_CHECK struct shiny_err *replay(struct store *store, const uint64_t *moments, size_t count, replay_at_fn *at, void *context);

#endif
