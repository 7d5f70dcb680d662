/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h: reads a trace in Chromium's JSON format as a stream: memory-infra dumps, and the process
 * of a page.
 *
 * Runs: CLI. Signals: no. Allocates: the allocators of one event, up to TRACE_ROWS, and the counts
 * (counts.h). Threads: one a trace.
 *
 * Events of one dump of all processes: "v" has a process's allocators, with the dump's time; "X" of
 * the name MemoryDumpManager::InvokeOnMemoryDump says when each provider counted
 * (trace_event_format and memory-infra in Chromium's docs). The time of a process's dump is the end
 * of its malloc count. Allocators with more than four parts in their names are single pages,
 * buckets and tiles of heaps: they are left out, and so are names that are hashes of others (two
 * underscores and hexadecimal digits), and single ranges of shared memory.
 */
#ifndef SHINY_TRACE_H
#define SHINY_TRACE_H

#include "counts.h"
#include "json_stream.h"

enum { TRACE_ROWS = 100000, TRACE_PROCESSES = 1024 };

struct trace_process {
	uint32_t pid;
	char name[64];
	uint64_t malloc_ns;        /* CLOCK_MONOTONIC; 0: unknown */
	struct counts_dump *dump;  /* NULL: no allocators yet */
};
struct trace {
	struct json_stream json;
	struct counts *counts;
	const char *frame;         /* frame id of the wanted page; NULL none */
	uint32_t frame_pid;
	VEC(struct trace_process) processes;
	/* the event being read */
	struct {
		char phase, name[96], provider[64], label[64];
		uint32_t pid;
		uint64_t time, duration; /* us */
		VEC(struct count_row) rows;
		struct count_row row;
	} event;
	bool frame_here;
	uint32_t frame_process;
};

void trace_init(struct trace *trace, struct counts *counts, const char *frame);
bool trace_feed(struct trace *trace, const char *text, size_t length);
/* Finishes the dumps. `offset`, in ns, turns CLOCK_MONOTONIC into the session's clock. After an
 * error the caller drops the dumps (counts_drop). */
SHINY_MUST_CHECK struct shiny_err *trace_end(struct trace *trace, uint64_t offset);
void trace_deinit(struct trace *trace);

#endif
