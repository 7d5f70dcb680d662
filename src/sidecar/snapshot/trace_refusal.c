/* SPDX-License-Identifier: Apache-2.0 */
/* trace_refusal.c: see trace_refusal.h. */
#define _GNU_SOURCE
#include "trace_refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../proc/proc.h"

#define SCOPE_FILE "/proc/sys/kernel/yama/ptrace_scope"

static int read_scope(void)
{
	int fd = open(SCOPE_FILE, O_RDONLY | O_CLOEXEC);
	char text[16] = "";
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	return got > 0 ? atoi(text) : TRACE_NO_YAMA;
}

/* True if its files are not this user's: root owns those of a process that is not dumpable. */
static bool is_foreign(uint32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

void trace_facts_read(uint32_t pid, int error, struct trace_facts *out)
{
	*out = (struct trace_facts){ .pid = pid,
				     .error = error,
				     .tracer = proc_tracer(pid),
				     .scope = read_scope(),
				     .foreign = is_foreign(pid) };
}

struct shiny_err *trace_refusal(const struct trace_facts *f)
{
	bool denied = f->error == EPERM || f->error == EACCES;

	if (f->error == ESRCH)
		return shiny_err(SHINY_ERR_OTHER, "process %" PRIu32 " has ended", f->pid);
	if (f->tracer)
		return shiny_err(SHINY_ERR_OTHER,
				 "process %" PRIu32 " is held by process %" PRIu32 ", a debugger",
				 f->pid, f->tracer);
	if (denied && f->foreign)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "process %" PRIu32 " may not be traced: it is another user's, or "
				  "not dumpable",
				  f->pid),
			"record it as root to take snapshots of it");
	if (denied && f->scope == TRACE_NOBODY)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "process %" PRIu32 " may not be traced: "
				  "kernel.yama.ptrace_scope is 3, nobody may",
				  f->pid),
			"only a boot with another value changes that");
	if (denied && f->scope >= TRACE_ANCESTORS)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "process %" PRIu32 " may not be traced: "
				  "kernel.yama.ptrace_scope is %d, %s",
				  f->pid, f->scope,
				  f->scope == TRACE_ANCESTORS ? "only its ancestors may"
							      : "only root may"),
			"`sysctl kernel.yama.ptrace_scope=0` as root, or record it as root");
	return shiny_err_advise(
		shiny_err_os(f->error, "process %" PRIu32 " may not be traced", f->pid),
		"a snapshot needs what a debugger needs: see ptrace(2)");
}
