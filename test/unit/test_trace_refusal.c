/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_refusal.c: each reason for which a process may not be stopped has a line of its own
 * that says what to do; kernels without Yama cannot show most of them.
 */
#include <errno.h>
#include <unistd.h>

#include "../../src/sidecar/snapshot/trace_refusal.h"
#include "check.h"

static void says(const char *name, struct trace_facts facts, const char *why, const char *advice)
{
	struct shiny_err *err;

	facts.pid = 42;
	err = trace_refusal(&facts);
	checkf(name,
	       strstr(err->message, "process 42 ") && strstr(err->message, why) &&
		       !strchr(err->message, '\n') &&
		       (advice ? err->advice && strstr(err->advice, advice) : !err->advice),
	       "'%s', '%s'", err->message, err->advice ? err->advice : "");
	shiny_err_free(err);
}

int main(void)
{
	struct trace_facts now;

	says("ended", (struct trace_facts){ .error = ESRCH, .scope = 1 }, "has ended", NULL);
	says("debugger", (struct trace_facts){ .error = EPERM, .tracer = 7, .scope = 1 },
	     "held by process 7", NULL);
	says("foreign", (struct trace_facts){ .error = EPERM, .foreign = true, .scope = 1 },
	     "not dumpable", "as root");
	says("ancestors", (struct trace_facts){ .error = EPERM, .scope = TRACE_ANCESTORS },
	     "ptrace_scope is 1, only its ancestors may", "ptrace_scope=0");
	says("admin", (struct trace_facts){ .error = EPERM, .scope = TRACE_ADMIN },
	     "ptrace_scope is 2, only root may", "as root");
	says("nobody", (struct trace_facts){ .error = EPERM, .scope = TRACE_NOBODY },
	     "ptrace_scope is 3, nobody may", "boot");
	says("no Yama", (struct trace_facts){ .error = EPERM, .scope = TRACE_NO_YAMA },
	     "Operation not permitted", "ptrace(2)");
	says("open Yama", (struct trace_facts){ .error = EACCES, .scope = 0 }, "Permission denied",
	     "ptrace(2)");

	trace_facts_read((uint32_t)getpid(), EPERM, &now);
	check_that("this process is its own", !now.foreign && !now.tracer);
	check_that("the scope is one that there is",
		   now.scope >= TRACE_NO_YAMA && now.scope <= TRACE_NOBODY);
	check_that("Yama is there where its file is",
		   (access("/proc/sys/kernel/yama/ptrace_scope", R_OK) == 0) ==
			   (now.scope != TRACE_NO_YAMA));
	if (geteuid() != 0) {
		trace_facts_read(1, EPERM, &now);
		check_that("the first process is another user's", now.foreign);
	}
	return failures != 0;
}
