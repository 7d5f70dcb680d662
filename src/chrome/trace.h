/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h: a trace in Chromium's JSON format as a stream: its memory-infra dumps, and which process
 * a page lives in.
 *
 * Runs: CLI. Signals: no. Allocates: the allocators of one event, up to TRACE_ROWS, and what
 * counts.h keeps. Threads: one a trace.
 *
 * Events of one dump of all processes: "v" has a process's allocators, with the dump's time; "X" of
 * the name MemoryDumpManager::InvokeOnMemoryDump says when each provider counted
 * (trace_event_format and memory-infra in Chromium's docs). What a process's look is dated with is
 * the end of its malloc's count. Allocators whose names have more than four parts are the heaps'
 * single pages, buckets and tiles: they are left out, as are names that are hashes (two underscores
 * and hexadecimal digits) of others, and single ranges of shared memory.
 */
#ifndef SHINY_TRACE_H
#define SHINY_TRACE_H

#include "counts.h"
#include "json_stream.h"

enum { TRACE_ROWS = 100000, TRACE_PROCESSES = 1024 };

struct trace_process {
	uint32_t pid;
	char name[64];
	uint64_t malloc_ns;        /* CLOCK_MONOTONIC; 0: not told */
	struct counts_look *look;  /* NULL: no allocators came */
};
struct trace {
	struct json_stream json;
	struct counts *counts;
	const char *frame;         /* the page that is looked for, by its frame's id; NULL none */
	uint32_t frame_pid;
	VEC(struct trace_process) processes;
	/* the event that is being read */
	struct {
		char phase, name[96], provider[64], label[64];
		uint32_t pid;
		uint64_t time, duration; /* us */
		VEC(struct count_row) rows;
		char row_name[COUNTS_NAME];
		struct count_row row;
	} event;
	bool frame_here;
	uint32_t frame_process;
};

void trace_init(struct trace *trace, struct counts *counts, const char *frame);
bool trace_feed(struct trace *trace, const char *text, size_t length);
/* `offset`: add it to CLOCK_MONOTONIC in ns. An error takes back what was read of it. */
SHINY_MUST_CHECK struct shiny_err *trace_end(struct trace *trace, uint64_t offset);
void trace_deinit(struct trace *trace);

#endif
