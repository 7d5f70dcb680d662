/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h: the sidecar's one entry point: drains the rings of a session directory into one
 * session file.
 *
 * Runs: sidecar (a process of its own, forked by `shinyctl run`, or exec'd as `shinyctl collect`).
 * Allocates: yes. Threads: one.
 */
#ifndef SHINY_SIDECAR_H
#define SHINY_SIDECAR_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/err.h"
#include "../store/loss.h"

struct sidecar_options {
	const char *directory; /* the session directory */
	const char *out;       /* name pattern of the session file: %e %p %t %h; NULL:
	                        * variables.def's default */
	bool force;            /* overwrite */
	bool numbered;         /* a name that is taken gets a number, as one with a % does */
	bool with_events;      /* keep the event blocks, not only the aggregates */
	bool leftover;         /* nobody is expected to come: drain what is there, then end */
	int launcher_fd; /* read end of a pipe that the launcher holds open until the program has
			  * ended; -1: none. Before it closes it, it may write a struct
			  * sidecar_ended */
	int lock_fd;           /* from sidecar_lock; 0: sidecar_run takes the lock itself */
	int guests_fd;         /* from guests_listen; 0 or less: who cannot reach the directory is
	                        * not recorded */
	const char *const *debug_dirs;
	bool no_site_types;    /* types from vptrs only: call sites are not looked at */
	const char *type_rules; /* a file of container rules in front of the built-in ones; NULL
	                         * none */
	const char *type_cache; /* directory for site types, NULL the user's; as in sym.h */
	bool no_type_cache;
	uint64_t memory_period; /* ms between two looks at what is resident of a process; 0: none */
	bool keep_rings;      /* do not delete the rings and the directory at the end */
	bool progress;         /* show progress on stderr for work over a second */
};

/* How the program ended, as the launcher was told: nobody else is. */
struct sidecar_ended {
	int32_t pid, status;
};

struct sidecar_summary {
	char path[4096]; /* the session file */
	uint64_t processes, threads, events, allocs, frees, live, live_bytes, types, sites;
	uint64_t gone, gone_bytes; /* blocks of processes that had ended by then */
	struct loss_sum lost;
	uint64_t duration; /* ns */
	bool unprobed; /* a garbage-collected heap was not seen; it will be, the next time */
	bool late;     /* programs came to the directory while the session was being finished:
	                * sidecar_run_late */
};

/*
 * Takes the directory's SHINY_SIDECAR_LOCK, for a launcher that wants it held before the program
 * starts. The descriptor belongs to the caller; a forked sidecar's copy holds the lock as well.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_lock(const char *directory, int *out);

/* Runs until nobody maps a ring of the directory any more (see wire.h) and the launcher is gone. */
SHINY_MUST_CHECK struct shiny_err *sidecar_run(const struct sidecar_options *options,
					       struct sidecar_summary *out);

/*
 * While summary->late: another session, for those who came late; its file's name is the options'
 * with a number. Where another sidecar serves them by now, there is nothing to do, and the summary
 * is empty.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_run_late(const struct sidecar_options *options,
						    struct sidecar_summary *summary);

/*
 * Finishes what a sidecar that died left of a session file, into a new one: options->out, or
 * NAME.recovered.shiny. The old one is kept. Of the options, those of names and types count.
 */
SHINY_MUST_CHECK struct shiny_err *sidecar_recover(const struct sidecar_options *options,
						   const char *file, struct sidecar_summary *out);

#endif
