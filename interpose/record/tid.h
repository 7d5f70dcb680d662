/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tid.h: which thread and which process this is, without asking the kernel.
 *
 * Runs:      inside.
 * Signals:   safe.
 * Allocates: nothing, and makes no system call after boot.
 * Threads:   any.
 */
#ifndef SI_TID_H
#define SI_TID_H

#include "../core/base.h"

/* Boot: finds out where the kernel writes a thread's number. */
void si_tid_find(void);

/* gettid() of this thread, in its own namespace; 0: not known. */
uint32_t si_tid(void);

/* The same, of a forked child that has not been told so yet (si_tid_forked). */
uint32_t si_tid_unseen(void);

/*
 * In the parent, before a fork that writes the child's number: what is there now is the parent's.
 */
void si_tid_forking(void);

/* In a forked child, once: a number that nobody has written since is the parent's, and void. */
void si_tid_forked(void);

/*
 * This thread runs in somebody else's memory and ends, or calls exec, alone: the child of a vfork,
 * or of a clone that shares memory and has brought thread storage of its own that libc knows
 * nothing of. Nothing of the thread's own is touched before that is known.
 */
bool si_tid_is_guest(void);

/*
 * Depth of vforks that this thread is the child of: set by the child, taken back by the parent, who
 * sleeps meanwhile (hooks_thread.c).
 */
extern __thread uint32_t si_vforked
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
bool si_tid_is_vforked(void);

/*
 * The notice (notice.h) of the program that a vfork's child becomes; 0: of none. The parent adds
 * the child's pid, which the child would have to ask for.
 */
extern __thread uint64_t si_vfork_notice
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
