/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h: finds or creates the session directory, and creates this image's ring.
 *
 * Runs: inside, in boot only. Signals: – Allocates: the ring, by mmap. Threads: one.
 */
#ifndef SI_ATTACH_H
#define SI_ATTACH_H

#include "../core/ring_map.h"
#include "../core/base.h"
#include "../core/settings.h"

/* The arguments and environment at the top of the main thread's stack, where the kernel put them;
 * valid before libc has started. */
struct si_start {
	int argc;
	char **argv;
	char **environment;
	uintptr_t stack_high, stack_low; /* the main thread's stack: bounds for walking it */
};

/*
 * Finds or creates the session directory and creates the ring in it, with space for its first part;
 * fills the header except `attach`, `notes` and `ready`. `directory` gets the session directory's
 * path. False: nothing was left behind, and `notes` says why.
 */
bool si_attach(const struct si_start *start, const char *executable, struct si_text *notes,
	       char directory[SI_DIRECTORY]);

/* Restarts the ring's time, after boot had to wait for something. */
void si_attach_begins(void);

/* Closes the ring's descriptor. `served`: a sidecar will allocate more of the ring as it fills;
 * else all of it is allocated now. */
void si_attach_finish(bool served, struct si_text *notes);

/* Puts empty private memory in the ring's place, which this process thereby gives up (wire.h). */
void si_attach_end(void);

#endif
