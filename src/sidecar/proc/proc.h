/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h: reads /proc about processes of the session. All of it is best effort: a process can have
 * ended, or be hidden from us.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_PROC_H
#define SHINY_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file of /proc/`pid` and terminates it; returns the number of bytes, or -1 if it cannot be
 * read. */
ssize_t proc_read(uint32_t pid, const char *name, char *out, size_t room);

enum proc_answer { PROC_NO, PROC_YES, PROC_UNKNOWN };
/* Tells whether the process maps this file. */
enum proc_answer proc_maps_file(uint32_t pid, dev_t device, ino_t inode, const char *path);

/*
 * Copies the path of the file that is mapped at an address; leaves `path` unchanged if there is
 * none, or it is unknown.
 */
void proc_mapped_path(uint32_t pid, uint64_t address, char *path, size_t room);

bool proc_is_zombie(uint32_t pid);
uint32_t proc_parent(uint32_t pid);        /* 0 unknown */
/* True if the number is that of a thread of some process, beside its first: /proc opens it, too. */
bool proc_is_thread(uint32_t pid);
uint32_t proc_tracer(uint32_t pid);        /* a debugger's thread; 0: none, or unknown */
uint64_t proc_started(uint32_t pid);       /* ns, CLOCK_BOOTTIME, to the clock tick (10 ms); 0
                                            * unknown */

/* Copies bytes of its memory; false: not permitted, or not mapped. The process is neither stopped
 * nor traced. */
bool proc_memory(uint32_t pid, uint64_t address, void *out, size_t bytes);

uint32_t proc_namespace_pid(uint32_t pid); /* in its innermost namespace; 0 unknown */
/*
 * True if no thread of the process has a seccomp filter beyond those that this process started
 * with, so that it may make the same calls.
 */
bool proc_filtered_as_we(uint32_t pid);
/* True if the process runs a file of that base name, in any directory, or if that is hidden. */
bool proc_runs(uint32_t pid, const char *executable);

/*
 * Calls `each` for every process whose innermost pid is `namespace_pid` (0: for every process),
 * until it returns false. False: /proc cannot be read.
 */
bool proc_each_named(uint32_t namespace_pid, bool (*each)(void *, uint32_t), void *context);

/*
 * True if another visible, running process was started with libshiny.so in LD_PRELOAD and with this
 * SHINY_SESSION, or is so early in an exec that it has no environment yet: it may be about to
 * create a ring. `since`: looks only at this and later pids, as long as few pids were used since;
 * 0: at all.
 */
bool proc_any_preloaded(const char *session, uint32_t since);

/* Returns the thread of `pid` whose innermost id is `tid`, as we see it; 0: there is none, or it is
 * unknown. `listed`: the list of threads was readable. */
uint32_t proc_thread(uint32_t pid, uint32_t tid, bool same_namespace, bool *listed);
void proc_thread_name(uint32_t pid, uint32_t thread, char *out, size_t room); /* "" unknown */

/*
 * Returns the status of an ended process as wait() has it: from the pidfd, if the kernel stores it
 * (Linux 6.15), or from the zombie. Negative: unknown, as the kernel tells only the parent.
 */
int proc_exit_status(uint32_t pid, int pidfd);

/* A process's description of itself; "" where there is none. */
struct proc_about {
	char command[4096]; /* the command line as one line, cut to fit */
	char role[96];      /* Chromium's: browser, renderer, utility:network, ... */
	char purpose[96];   /* more detail: extension, network.mojom.NetworkService, ... */
};
/* `chromium`: without another role it is the browser. */
void proc_describe(uint32_t pid, const char *name, bool chromium, struct proc_about *out);

#endif
