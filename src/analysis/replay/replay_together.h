/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_together.h: several analyses of one session in as few passes over its events as they need.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a task, and one of them runs at a time, so
 * that tasks may use one store; and one a session that passes are made over.
 *
 * An analysis is written as if it were alone: it calls replay_run() when it wants a pass. Where all
 * tasks that are not done wait there, one pass tells the observers of all. So analyses that need a
 * pass each cost one, and one that needs two shares its first. A task may have tasks of its own:
 * they share passes with all others. Passes over different sessions are made at the same time, so
 * an observer uses no store but its own.
 */
#ifndef SHINY_REPLAY_TOGETHER_H
#define SHINY_REPLAY_TOGETHER_H

#include "replay.h"

struct replay_task {
	struct shiny_err *(*run)(void *context);
	void *context;
};

enum { REPLAY_TASKS_MAX = 24 };

/* Runs all tasks to their ends. The first one's error. More than REPLAY_TASKS_MAX, those of tasks
 * counted, share no passes. */
SHINY_MUST_CHECK struct shiny_err *replay_together(const struct replay_task *tasks, size_t count);

/*
 * Waits until *done is true, which a task in front of this one in the same array says, at its end
 * whatever happens to it. Passes are made meanwhile.
 */
void replay_await(const bool *done);

#endif
