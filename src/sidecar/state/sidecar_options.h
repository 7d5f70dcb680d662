/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar_options.h: the options of a sidecar, and its summary.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_SIDECAR_OPTIONS_H
#define SHINY_SIDECAR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../store/loss.h"

enum { SIDECAR_MERGE_NS = 200 * 1000 * 1000 };

/* Descriptors: -1 is none, for each. 0 is a descriptor as good as others. */
struct sidecar_options {
	const char *directory; /* the session directory */
	/* name pattern of the session file: %e %p %t %h; NULL: variables.def's default */
	const char *out;
	bool force;       /* overwrite */
	bool numbered;    /* an existing name gets a number, as one with a % does */
	bool with_events; /* write the event blocks, not only the aggregates */
	bool leftover;    /* no more programs are expected: drain the rings, then end */
	/*
	 * Read end of a pipe that the launcher holds open until the program has ended; -1: none.
	 * Before the launcher closes it, it may write a struct sidecar_ended.
	 */
	int launcher_fd;
	int lock_fd; /* from sidecar_lock; -1: sidecar_run takes the lock itself */
	/* from guests_listen; -1: programs that cannot reach the directory are not recorded */
	int guests_fd;
	const char *const *debug_dirs;
	bool no_site_types;     /* types from vptrs only, not from call sites */
	const char *type_rules; /* a file of container rules in front of the built-in ones */
	const char *type_cache; /* directory for site types, NULL: the user's; as in sym.h */
	bool no_type_cache;
	uint64_t memory_period; /* ms between two samples of a process's memory; 0: none */
	int64_t budget; /* of a sample: parts per million of processor time; negative: blocks a
	                 * second; 0: none (sample_budget.h) */
	const char *snapshot;   /* SHINY_SNAPSHOT; NULL: "" */
	uint64_t keep;          /* ns of events that the session keeps; 0: all (SHINY_KEEP) */
	bool growing;           /* a recovery's: the recording goes on */
	bool watch_accesses;    /* record which live blocks are used (access/watches.h) */
	bool page_accesses;     /* record which pages are touched (access/page_uses.h) */
	uint64_t merge_ns;      /* ns after which a merge is cut; SIDECAR_MERGE_NS */
	uint64_t spill;         /* most bytes of copied chunks (ring/spill.h) */
	bool keep_rings;        /* do not delete the rings and the directory at the end */
	bool progress;          /* show progress on stderr for work over a second */
};

/* The program's end, which only the launcher, its parent, knows. */
struct sidecar_ended {
	int32_t pid, status;
};

struct sidecar_summary {
	char path[4096]; /* the session file */
	uint64_t processes, threads, events, allocs, frees, live, live_bytes, types, sites;
	uint64_t abandoned, abandoned_bytes; /* blocks of processes that ended before the session */
	struct loss_sum lost;
	uint64_t duration; /* ns */
	bool log_left;     /* the file's log belongs to it: the disk was full */
	bool unprobed;     /* a garbage-collected heap was not recorded; the next session has it */
	bool late;         /* programs started while the session was being finished:
	                    * sidecar_run_late */
};

#endif
