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

/* An event whose records say when, where and by which thread. */
struct perf_event_attr breakpoint_event_plain(uint32_t type);
/* Accesses, or writes alone, to 1, 2, 4 or 8 aligned bytes; of later threads, too. */
struct perf_event_attr breakpoint_event_attr(uint64_t address, unsigned bytes, bool writes);
/* A descriptor; -1: errno says why not. `processor`: -1 any. */
int breakpoint_event_open(struct perf_event_attr *attr, pid_t tid, int processor);

/* Can a word of this thread be watched here, `kernel_too`: also for accesses by the kernel? 0, or
 * the errno that says why not; ENODEV: yes, but an access to it is not told. */
int breakpoint_event_try(bool kernel_too);
int breakpoint_event_probe(void); /* by the program alone */
/* An errno of these events in words: why accesses are not known. */
const char *breakpoint_event_reason(int error);

#endif
