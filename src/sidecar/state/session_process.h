/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_process.h: one process of a session: its identity, its blocks, its counts.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * process/ changes its identity and its end, intake/ its blocks, vm/ its mapped memory.
 */
#ifndef SHINY_SESSION_PROCESS_H
#define SHINY_SESSION_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "deaths.h"
#include "indices.h"
#include "key_ids.h"
#include "objects.h"
#include "pools.h"
#include "registry.h"
#include "space.h"
#include "stats.h"

struct mappings;
struct ring_file;

/* Counts of the sidecar's own, per process. */
struct noticed {
#define SHINY_NOTICED(name, field, weight, unit, text, advice) uint64_t field;
#include "../../store/noticed.def"
#undef SHINY_NOTICED
	uint64_t double_steps; /* deaths compared for double_frees */
};

struct process {
	uint32_t id, parent_id;
	struct ring_file *ring;
	uint32_t slot, generation, namespace_pid;
	uint32_t pid;  /* 0 unknown; changed by roster_name */
	int pidfd;     /* -1 none */
	int status;    /* as from wait(); -1 unknown */
	int said;      /* the same, announced by its library; -1 not announced */
	int told;      /* the same, as its parent received it; -1 unknown */
	bool forked;   /* its parent shares the ring */
	bool pending;  /* forked, and its parent's blocks are not copied yet */
	bool gone;     /* it cannot run any more */
	bool replaced; /* by exec: its pid runs another image */
	bool closed;   /* drained after its end; its slot is freed after the next commit */
	bool settled;  /* its live blocks are counted; registry and space are empty */
	bool ends;     /* output.total has its end */
	bool wanderer; /* its pid was searched and is not certain */
	bool inquired; /* an answer from /proc is pending */
	uint32_t parent_slot, parent_generation;
	uint64_t start, fork_at, end; /* ticks; end 0: still running */
	uint64_t said_end;	      /* ticks; 0: not announced */
	uint64_t closed_wall;	      /* wall ns */
	uint64_t looked_wall;	      /* wall ns of the last question to /proc */
	unsigned looks;
	char *name, *role, *purpose, *executable, *command;

	/*
	 * The second level: objects in pools, which lie in blocks of this process (pools.h), have a
	 * process of their own for each kind of pools. `within` is the one with the blocks, whose
	 * identity and end it has; `above` the next of the same blocks. It is in no list but `all`.
	 */
	struct process *within, *above; /* NULL: it is a process; there is no other */
	uint8_t heap;			/* enum shiny_api of its objects, with `within` */
	struct pools pools;

	struct registry registry;
	struct objects objects;
	struct indices classes, tags;
	struct key_ids type_names;    /* keys of TYPE_NAME: ids of vtables */
	struct key_ids engine_memory; /* addresses of ENGINE_MEMORY that malloc may get back: 1 */
	struct space space;
	struct stats stats;
	struct deaths deaths;

	uint64_t events;
	uint64_t last; /* ticks of the latest record applied */
	uint64_t counters[SHINY_COUNTERS];
	struct noticed noticed;
	uint64_t counted; /* sum of `counters` and `noticed` in the session file
			   * (output/counter_rows.c) */
	struct mappings *memory;
};

/*
 * True if it ended before the session's end, as far as is known: its blocks are abandoned, not live
 * (total.h).
 */
bool process_early(const struct process *process);
void process_load_counters(struct process *process); /* reads its library's counters */
/* Does the same, and reads whether it has announced its end. */
void process_read_counters(struct process *process);
/* Reads its exit status, if that is available. */
void process_read_status(struct process *process);
/* Reads a thread's name; "" if unknown. */
void process_thread_name(const struct process *process, uint32_t tid, char *out, size_t room);
bool process_thread_alive(const struct process *process, uint32_t tid); /* true when in doubt */

#endif
