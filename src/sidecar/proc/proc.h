/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc.h: what /proc says about a process of the session. All of it is best effort: it can be gone,
 * or be hidden from us.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: any.
 */
#ifndef SHINY_PROC_H
#define SHINY_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a file of /proc/`pid`; terminated; the number of bytes, -1 where it cannot be read. */
ssize_t proc_read(uint32_t pid, const char *name, char *out, size_t room);

enum proc_answer { PROC_NO, PROC_YES, PROC_UNKNOWN };
/* Does the process map this file? */
enum proc_answer proc_maps_file(uint32_t pid, dev_t device, ino_t inode, const char *path);

/*
 * The file that is mapped at an address; `path` stays as it is where none is, or it cannot be told.
 */
void proc_mapped_path(uint32_t pid, uint64_t address, char *path, size_t room);

bool proc_is_zombie(uint32_t pid);
uint32_t proc_parent(uint32_t pid);        /* 0 unknown */
uint32_t proc_tracer(uint32_t pid);        /* a debugger's thread; 0: none, or unknown */
uint64_t proc_started(uint32_t pid);       /* ns, CLOCK_BOOTTIME, to the clock tick (10 ms); 0
                                            * unknown */

/* Copies bytes of its memory; false where we may not, or there is nothing. It is neither stopped
 * nor traced for that. */
bool proc_memory(uint32_t pid, uint64_t address, void *out, size_t bytes);

uint32_t proc_namespace_pid(uint32_t pid); /* in its innermost namespace; 0 unknown */
/*
 * No thread of it has a seccomp filter beyond those that this process began with: what we might do
 * then, it may.
 */
bool proc_filtered_as_we(uint32_t pid);
/* Does it run a file of that name, wherever it has it? Also true where that is hidden. */
bool proc_runs(uint32_t pid, const char *executable);

/*
 * Every process whose innermost pid is `namespace_pid` (0: every process), until `each` returns
 * false. False: /proc cannot be read.
 */
bool proc_each_named(uint32_t namespace_pid, bool (*each)(void *, uint32_t), void *context);

/*
 * Another process that we can see was started with libshiny.so in LD_PRELOAD and with this
 * SHINY_SESSION, or is so early in an exec that it has no environment yet, and has not ended: it
 * may be about to make a ring. `since`: only those with this pid or later ones are asked for, while
 * pids that were given out since then are few; 0: all.
 */
bool proc_any_preloaded(const char *session, uint32_t since);

/* The thread of `pid` whose innermost id is `tid`, as we see it; 0: there is none or we cannot
 * tell. `listed`: the list was read. */
uint32_t proc_thread(uint32_t pid, uint32_t tid, bool same_namespace, bool *listed);
void proc_thread_name(uint32_t pid, uint32_t thread, char *out, size_t room); /* "" unknown */

/*
 * How a process that has ended did so, as wait() would say it: from the pidfd where the kernel
 * keeps it (Linux 6.15), or from the zombie. Negative: not to be known, since nobody but the parent
 * is told.
 */
int proc_exit_status(uint32_t pid, int pidfd);

/* What a process says of itself; "" where it says nothing. */
struct proc_about {
	char command[4096]; /* the command line as one line, cut to fit */
	char role[96];      /* Chromium's: browser, renderer, utility:network, ... */
	char purpose[96];   /* what it says beyond that: extension, network.mojom.NetworkService,
	                     * ... */
};
/* chromium: without another role it is the browser. */
void proc_describe(uint32_t pid, const char *name, bool chromium, struct proc_about *out);

#endif
