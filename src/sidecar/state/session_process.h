/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_process.h: one process of a session: who it is, what it holds, what was counted of it.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * process/ changes who it is and when it ended, intake/ what it holds, vm/ its mapped memory.
 */
#ifndef SHINY_SESSION_PROCESS_H
#define SHINY_SESSION_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "deaths.h"
#include "indices.h"
#include "objects.h"
#include "registry.h"
#include "space.h"
#include "stats.h"

struct memory;
struct ring_file;

/* What the sidecar itself noticed, per process. */
struct noticed {
#define SHINY_NOTICED(name, field, weight, unit, text, advice) uint64_t field;
#include "../../store/noticed.def"
#undef SHINY_NOTICED
	uint64_t double_steps; /* looked through for double_frees */
};

struct process {
	uint32_t id, parent_id;
	struct ring_file *ring;
	uint32_t slot, generation, namespace_pid;
	uint32_t pid;                             /* 0 unknown; changed by roster_name */
	int pidfd;                                /* -1 none */
	int status;    /* as wait() says it; -1 unknown */
	int said;      /* the same, as its library announced it; -1 it did not */
	int told;      /* the same, as its parent was told; -1 it was not */
	bool forked;   /* its parent shares the ring */
	bool pending;  /* forked, its parent's blocks are not taken over yet */
	bool gone;     /* it cannot run any more */
	bool replaced; /* by exec: another image runs under its pid */
	bool closed;   /* drained after that; its slot is given back after the next commit */
	bool settled;  /* its live blocks are counted; registry and space are empty */
	bool ends;     /* session->total knows when */
	bool wanderer; /* its pid was looked for and could not be told */
	bool inquired; /* what /proc says of it is on its way */
	uint32_t parent_slot, parent_generation;
	uint64_t start, fork_at, end; /* ticks; end 0: still running */
	uint64_t said_end;            /* ticks, 0 not announced */
	uint64_t closed_wall;         /* ns, wall */
	uint64_t looked_wall;         /* when /proc was last read */
	unsigned looks;
	char *name, *role, *purpose, *executable, *command;

	struct registry registry;
	struct objects objects;
	struct indices classes, tags;
	struct space space;
	struct stats stats;
	struct deaths deaths;

	uint64_t events;
	uint64_t last; /* ticks of the latest record applied */
	uint64_t counters[SHINY_COUNTERS];
	struct noticed noticed;
	uint64_t counted; /* output/counter_rows.c: the sum of both that the session file has */
	struct memory *memory;
};

/*
 * It ended before the session's end, as far as is known: what it held is gone, not live (total.h).
 */
bool process_early(const struct process *process);
void process_load_counters(struct process *process); /* what its library counts */
/* The same, and whether it has announced its end. */
void process_read_counters(struct process *process);
/* How it ended, if that can be known. */
void process_read_status(struct process *process);
/* "" where it cannot be told. */
void process_thread_name(const struct process *process, uint32_t tid, char *out, size_t room);
bool process_thread_alive(const struct process *process, uint32_t tid); /* true when in doubt */

#endif
