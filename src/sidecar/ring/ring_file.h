/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_file.h: one ring file, mapped and checked.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Whatever made the file is a stranger: it may be truncated, of another version, somebody's text
 * file, or lie in every word. All that the reader relies on (offsets, counts) is loaded once,
 * checked against the size of the file, and kept here; the mapped copies are never looked at again.
 * A file that is cut short while it is mapped reads as zeros from there on (torn.h), and is known
 * by ring_torn.
 */
#ifndef SHINY_RING_FILE_H
#define SHINY_RING_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include <shiny/wire/ring.h>

#include "../../base/err.h"

struct stream;
struct process;

struct ring_file {
	char *path;
	int fd;
	dev_t device;
	ino_t inode;
	size_t bytes;
	struct shiny_header *header; /* control words only */
	struct shiny_notice *notices;
	struct shiny_process *processes;
	struct shiny_thread *threads;
	struct shiny_chunks chunks;
	uint32_t process_count, thread_count; /* slots, with and without space */
	uint32_t processes_ready, threads_ready; /* those with space: what we have told the
	                                          * writers */

	/* the header's facts, copied */
	uint64_t start_ticks, start_realtime, start_boottime, ticks_per_second;
	uint64_t self_at; /* in the processes' memory */
	uint64_t pid_namespace; /* inode of the one that `pid` counts in; 0 unknown */
	uint32_t clock, pid, parent_pid, attach, depth;
	uint8_t boot_id[16];
	char started_as[SHINY_STARTED_AS];
	/* terminated */
	char executable[SHINY_TEXT], command[SHINY_COMMAND], attach_text[SHINY_TEXT],
		notes[SHINY_TEXT];

	/* the reader's state */
	bool ending;              /* nobody maps it for writing any more */
	unsigned quiet, rounds;   /* since then: rounds in a row in which nothing came out of it,
	                           * and all of them */
	uint64_t seen;            /* events of its processes by then */
	uint32_t later;           /* chunks that cannot be read yet, though they are there: at the
	                           * last scan */
	uint64_t later_time;      /* ticks: no record of these is earlier */
	uint32_t later_before;    /* the same in the round before, */
	unsigned later_rounds;    /* and rounds in which they became no fewer */
	bool over;                /* and it was drained after that */
	struct stream **streams;  /* by thread slot: the stream that is being read */
	struct process **slots;   /* by process slot: the process that holds it */
	struct stream **owners;   /* by chunk: the stream that it is attached to */
	uint8_t *whole;           /* by chunk: 1: zero all of it when it is given back */
	uint32_t told_before;     /* chunks that an earlier sidecar took and did not commit: told
	                           * when the ring came, and not yet found missing in a stream */
	uint64_t bad_chunks;      /* chunks that named no possible stream */
	uint64_t counters[SHINY_COUNTERS]; /* of processes that held no slot, as last read */
	uint32_t present[2];      /* small and large chunks that have space */
	uint32_t busy[2];         /* and those that were in use at the last scan */
	uint64_t given, taken;    /* bytes of chunks: given back so far; claimed, when measured */
	uint64_t speed;           /* claimed a millisecond, lately */
	uint64_t measured, first_look; /* wall ns; 0: never, or a process has started since */
	uint64_t turnover;        /* bytes of chunks that the last scan found and the one before had
	                           * not */
	uint64_t flush_at, flush_step; /* when the nurseries are asked for next, wall ns, and how
	                                * long after that again */
	bool newcomer;            /* a process has started since that was last looked at */
	uint64_t notices_read;    /* the number of the notice read last */
	unsigned notice_tries;    /* for the next one, which is being written */
	bool told;                /* a notice told of its program's start */
	uint64_t scans;           /* complete looks at the chunks' states so far */
	bool no_space;            /* the file system refused to let the ring grow */
	bool torn;                /* the file has become shorter than it was */
	bool foreign;             /* made before this boot */
	bool lies;                /* it had a value that no honest program writes */
	bool lie_told;            /* and that is counted */
};

/*
 * Maps the ring. Not finished by its maker yet: no error and *out = NULL, if `patient`; else the
 * error says what is wrong with it.
 */
SHINY_MUST_CHECK struct shiny_err *ring_open(const char *path, bool patient,
					     struct ring_file **out);
bool ring_held(const struct ring_file *ring); /* some process still maps it */
bool ring_torn(const struct ring_file *ring); /* its file is shorter than what is mapped of it */
/*
 * Loads counters that the ring's programs share into `kept`, where they have only grown since, and
 * by one at a time. A count that is less than before, or more than the time since the ring was made
 * has nanoseconds, is a lie, and is not taken.
 */
void ring_take_counters(struct ring_file *ring, const uint64_t shared[SHINY_COUNTERS],
			uint64_t kept[SHINY_COUNTERS]);
void ring_read_counters(struct ring_file *ring);
/* The most that a program can have counted by now. */
uint64_t ring_most_counted(const struct ring_file *ring);
/* One more than the highest slot that was ever claimed, as far as there is space: those above were
 * never touched. */
uint32_t ring_processes_used(const struct ring_file *ring);
uint32_t ring_threads_used(const struct ring_file *ring);
/* Gives back the mapping and the descriptor of a ring that is over; its facts stay. */
void ring_release(struct ring_file *ring);
void ring_close(struct ring_file *ring); /* accepts NULL */

#endif
