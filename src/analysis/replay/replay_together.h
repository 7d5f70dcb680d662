/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_together.h: runs several analyses of one session in as few passes over its events as they
 * need.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a task, and one of them runs at a time, so
 * that tasks may use one store; and one a session that passes are made over.
 *
 * An analysis is written as if it were alone: it calls replay_run() when it needs a pass. When all
 * unfinished tasks wait there, one pass serves the observers of all. So analyses that need a pass
 * each cost one, and one that needs two shares its first. A task may have tasks of its own: they
 * share passes with all others. Passes over different sessions are made at the same time, so an
 * observer uses no store but its own.
 */
#ifndef SHINY_REPLAY_TOGETHER_H
#define SHINY_REPLAY_TOGETHER_H

#include "replay.h"

struct replay_task {
	struct shiny_err *(*run)(void *context);
	void *context;
};

enum { REPLAY_TASKS_MAX = 24 };

/* Runs all tasks to their ends; returns the error of the first that failed. Tasks beyond
 * REPLAY_TASKS_MAX, including those of tasks, share no passes. */
SHINY_MUST_CHECK struct shiny_err *replay_together(const struct replay_task *tasks, size_t count);

/* Waits until *done is true. An earlier task of the same array must set it at its end, in any case.
 * Passes go on meanwhile. */
void replay_await(const bool *done);

#endif
