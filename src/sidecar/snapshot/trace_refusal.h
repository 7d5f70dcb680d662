/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_refusal.h: says in one line why a process may not be stopped and read for a snapshot, and
 * what to do about it.
 *
 * Runs: sidecar. Signals: no. Allocates: the line. Threads: any.
 *
 * Where Yama lets only ancestors trace (ptrace_scope 1), a process could name the sidecar by
 * PR_SET_PTRACER before its sandbox closes. It does not: that would add a right to every recorded
 * process for a snapshot that may never be requested, against SECURITY.md, and a process has only
 * one such tracer, which may be its own crash handler.
 */
#ifndef SHINY_TRACE_REFUSAL_H
#define SHINY_TRACE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/err.h"

enum { TRACE_NO_YAMA = -1, TRACE_ANCESTORS = 1, TRACE_ADMIN = 2, TRACE_NOBODY = 3 };

struct trace_facts {
	uint32_t pid;
	int error;     /* errno of ptrace, or of opening a file in /proc */
	uint32_t tracer; /* 0: none, or unknown */
	int scope;     /* /proc/sys/kernel/yama/ptrace_scope, TRACE_NO_YAMA: there is none */
	bool foreign;  /* its files in /proc are not ours */
};

/* Reads the facts from /proc. `error`: errno of the failed call. */
void trace_facts_read(uint32_t pid, int error, struct trace_facts *out);
SHINY_MUST_CHECK struct shiny_err *trace_refusal(const struct trace_facts *facts);

#endif
