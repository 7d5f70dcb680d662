/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tid.h: returns the numbers of this thread and process without asking the kernel.
 *
 * Runs: inside. Signals: safe. Allocates: nothing, and makes no system call after boot. Threads:
 * any.
 */
#ifndef SI_TID_H
#define SI_TID_H

#include "../core/base.h"

/* Finds out where the kernel writes a thread's number. Called in boot. */
void si_tid_find(void);

/* Returns gettid() of this thread, in its own namespace; 0: unknown. */
uint32_t si_tid(void);

/* The same, in a forked child before si_tid_forked. */
uint32_t si_tid_unseen(void);

/*
 * Called in the parent before a fork for which the kernel writes the child's number: notes the
 * parent's own.
 */
void si_tid_forking(void);

/* Called once in a forked child: a number that is still the parent's becomes void. */
void si_tid_forked(void);

/*
 * True if this thread runs in another thread's memory and ends, or calls exec, alone: the child of
 * a vfork, or of a clone that shares memory and has thread storage of its own that libc does not
 * know. Touch nothing of the thread's own before this is known.
 */
bool si_tid_is_guest(void);

/*
 * Number of nested vforks that this thread is the child of: the child increments it, the parent,
 * which sleeps meanwhile, restores it (hooks_thread.c).
 */
extern __thread uint32_t si_vforked
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
bool si_tid_is_vforked(void);

/*
 * The number of the notice (notice.h) of the program that a vfork's child becomes; 0: none. The
 * parent adds the child's pid, which the child would need a system call for.
 */
extern __thread uint64_t si_vfork_notice
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
