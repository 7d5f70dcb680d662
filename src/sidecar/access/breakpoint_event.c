/* SPDX-License-Identifier: Apache-2.0 */
/* breakpoint_event.c: see breakpoint_event.h. */
#define _GNU_SOURCE
#include "breakpoint_event.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct perf_event_attr breakpoint_event_plain(uint32_t type)
{
	return (struct perf_event_attr){ .size = sizeof(struct perf_event_attr),
					 .type = type,
					 .sample_period = 1,
					 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
							PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					 .wakeup_events = 1,
					 .exclude_kernel = 1,
					 .exclude_hv = 1,
					 .use_clockid = 1,
					 .clockid = CLOCK_MONOTONIC };
}

int breakpoint_event_open(struct perf_event_attr *attr, pid_t tid, int processor)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

struct perf_event_attr breakpoint_event_attr(uint64_t address, unsigned bytes, bool writes)
{
	struct perf_event_attr attr = breakpoint_event_plain(PERF_TYPE_BREAKPOINT);

	attr.bp_type = writes ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
	attr.bp_addr = address;
	attr.bp_len = bytes; /* HW_BREAKPOINT_LEN_n is n */
	attr.inherit = 1;
	attr.inherit_thread = 1;
	attr.remove_on_exec = 1;
	return attr;
}

int breakpoint_event_try(bool kernel_too)
{
	static volatile uint64_t word;
	struct perf_event_attr attr = breakpoint_event_attr((uintptr_t)&word, 8, false);
	uint64_t told = 0;
	int fd;

	attr.exclude_kernel = !kernel_too;
	fd = breakpoint_event_open(&attr, 0, -1);
	if (fd < 0)
		return errno;
	word = 1;
	if (read(fd, &told, sizeof(told)) != sizeof(told))
		told = 0;
	close(fd);
	return told ? 0 : ENODEV;
}

int breakpoint_event_probe(void)
{
	return breakpoint_event_try(false);
}

const char *breakpoint_event_reason(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "the kernel refuses perf_event_open (kernel.perf_event_paranoid above 2, "
		       "another user's process, or in a sandbox)";
	case ENODEV:
		return "this machine's debug registers tell of no access, as in some virtual "
		       "machines";
	case EBUSY:
		return "a debugger is attached, which has the debug registers";
	case ENOSPC:
		return "all debug registers of the processor are taken";
	case EMFILE:
		return "it has too many threads for the descriptors that may be open";
	case EAGAIN:
		return "it starts threads faster than they can be watched";
	case EINVAL:
	case E2BIG:
		return "this kernel has no breakpoints that new threads inherit (before 5.13)";
	default:
		return strerror(error);
	}
}
