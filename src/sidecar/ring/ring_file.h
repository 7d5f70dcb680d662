/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_file.h: one ring file, mapped and checked.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * The file is foreign: it may be truncated, of another version, any text file, or lie in every
 * word. The reader loads all that it relies on (offsets, counts) once, checks it against the size
 * of the file, and stores it here; it never reads the mapped copies again. A file that is truncated
 * while it is mapped reads as zeros behind its new end (torn.h); ring_torn detects that.
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
	uint32_t processes_ready, threads_ready; /* those with space, which the writers may use */

	/* the header's facts, copied */
	uint64_t start_ticks, start_realtime, start_boottime, ticks_per_second;
	uint64_t self_at; /* address in the processes' memory */
	uint64_t pid_namespace; /* inode of the namespace of `pid`; 0 unknown */
	uint64_t sample; /* mean of its sample, bytes; 0: every block is recorded */
	uint32_t clock, pid, parent_pid, attach, depth;
	uint8_t boot_id[16];
	char started_as[SHINY_STARTED_AS];
	/* terminated */
	char executable[SHINY_TEXT], command[SHINY_COMMAND], attach_text[SHINY_TEXT],
		notes[SHINY_TEXT];

	/* the reader's state */
	bool ending;              /* no process maps it any more */
	unsigned quiet, rounds;   /* since `ending`: latest rounds without records; all rounds */
	uint64_t seen;            /* events of its processes at that time */
	uint32_t later;           /* chunks that the last scan found, but that cannot be read yet */
	uint64_t later_time;      /* ticks; no record of these chunks is earlier */
	uint32_t later_before;    /* `later` of the round before */
	unsigned later_rounds;    /* rounds in which `later` did not sink */
	bool over;                /* `ending`, and drained since */
	struct stream **streams;  /* by thread slot: its stream */
	struct process **slots;   /* by process slot: the process that holds it */
	struct stream **owners;   /* by chunk: the stream that it is attached to */
	uint8_t *whole;           /* by chunk: 1: zero all of it when it is released */
	uint32_t told_before;     /* chunks that an earlier sidecar took and did not commit, less
	                           * those found missing in a stream */
	uint64_t bad_chunks;      /* chunks of no possible stream */
	uint64_t counters[SHINY_COUNTERS]; /* of processes without a slot, as last read */
	uint32_t present[2];      /* small and large chunks that have space */
	uint32_t busy[2];         /* those of them in use at the last scan */
	uint64_t given, taken;    /* bytes of chunks: released so far; claimed when last measured */
	uint64_t speed;           /* bytes recently claimed per ms */
	uint64_t measured, first_look; /* wall ns of the last and first look; 0: none since the last
	                                * start of a process */
	uint64_t turnover;        /* bytes of chunks that the last scan found and the one before did
	                           * not */
	uint64_t flush_at, flush_step; /* wall ns of the next flush of nurseries; ns to the one
	                                * after it */
	bool newcomer;            /* a process has started since the last ask_for_flush */
	uint64_t notices_read;    /* number of the last notice read */
	unsigned notice_tries;    /* tries to read the next one, which is being written */
	bool told;                /* a notice announced its program's start */
	uint64_t scans;           /* complete scans of the chunks' states so far */
	bool no_space;            /* the file system refused to let the ring grow */
	bool torn;                /* the file has become shorter */
	bool foreign;             /* created before this boot */
	bool lies;                /* it had a value that no honest program writes */
	bool lie_told;            /* `lies` is counted */
};

/*
 * Maps the ring. If its program has not finished it yet and `patient`: no error and *out = NULL;
 * else the error says what is wrong with it.
 */
SHINY_MUST_CHECK struct shiny_err *ring_open(const char *path, bool patient,
					     struct ring_file **out);
bool ring_held(const struct ring_file *ring); /* some process still maps it */
bool ring_torn(const struct ring_file *ring); /* its file is shorter than its mapping */
/*
 * Loads the programs' shared counters into `kept`. Counters only grow, and by one at a time: a
 * count that is less than before, or more than the nanoseconds since the ring was created, is a
 * lie, and is not taken.
 */
void ring_take_counters(struct ring_file *ring, const uint64_t shared[SHINY_COUNTERS],
			uint64_t kept[SHINY_COUNTERS]);
void ring_read_counters(struct ring_file *ring);
/* Returns the most that a program can have counted by now: the nanoseconds since the ring was
 * created. */
uint64_t ring_most_counted(const struct ring_file *ring);
/* Return one more than the highest slot ever claimed, among those with space: higher ones were
 * never touched. */
uint32_t ring_processes_used(const struct ring_file *ring);
uint32_t ring_threads_used(const struct ring_file *ring);
/* Frees the mapping and the descriptor of a ring that is over; its facts stay. */
void ring_release(struct ring_file *ring);
void ring_close(struct ring_file *ring); /* accepts NULL */

#endif
