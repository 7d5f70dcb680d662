/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakpoint_event.h: the perf events that watch a word, and whether this machine has them.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_BREAKPOINT_EVENT_H
#define SHINY_BREAKPOINT_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the attributes of an event whose records say when, where and by which thread. */
struct perf_event_attr breakpoint_event_plain(uint32_t type);
/* Returns the attributes of an event for accesses, or writes alone, to 1, 2, 4 or 8 aligned bytes;
 * threads that start later inherit it. */
struct perf_event_attr breakpoint_event_attr(uint64_t address, unsigned bytes, bool writes);
/* Opens an event; returns its descriptor, or -1 and errno. `processor` -1: any. */
int breakpoint_event_open(struct perf_event_attr *attr, pid_t tid, int processor);

/* Tries to watch a word of this thread; `kernel_too`: also for accesses by the kernel. Returns 0,
 * or the errno of the failure; ENODEV: it can be watched, but an access is not reported. */
int breakpoint_event_try(bool kernel_too);
int breakpoint_event_probe(void); /* the same, for accesses by the program alone */
/* Returns an errno of these events in words: why accesses are not known. */
const char *breakpoint_event_reason(int error);

#endif
