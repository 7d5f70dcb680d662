/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.h: the session directory and this image's arena.
 *
 * Runs:      inside, in boot only; `si_arena` is read by every hook afterwards.
 * Signals:   –    Allocates: the arena, by mmap.    Threads: one.
 */
#ifndef SI_ATTACH_H
#define SI_ATTACH_H

#include <shiny/ring.h>

#include "base.h"

/* Private copies of what the header says: the header is shared, and a peer may lie later. */
struct si_arena {
	struct shiny_header *header; /* NULL: not attached */
	struct shiny_notice *notices;
	struct shiny_process *processes;
	struct shiny_thread *threads;
	uint32_t process_count, thread_count; /* slots, most of them without space yet */
	struct shiny_chunks chunks;
	bool served; /* a sidecar was there, or on its way, when the arena was made */
	bool guest;  /* the sidecar made its file: the directory is out of our reach */
};
SI_INTERNAL struct si_arena si_arena;

/* What the kernel laid out at the top of the main thread's stack; valid before libc has started. */
struct si_start {
	int argc;
	char **argv;
	char **environment;
	uintptr_t stack_high, stack_low; /* the main thread's stack: bounds for walking it */
};

enum { SI_DIRECTORY = 256 };

/*
 * Finds or makes the session directory and makes the arena in it, with space for its first part; fills the header but for `attach`,
 * `notes` and `ready`. False: nothing was left behind, and `notes` says why. `directory` gets the session directory's path.
 */
bool si_attach(const struct si_start *start, const char *executable, struct si_text *notes, char directory[SI_DIRECTORY]);

/* The arena's time begins now: boot had to wait for something. */
void si_attach_begins(void);

/* Closes the arena's descriptor. `served`: a sidecar will give the arena more space as it fills; else all of it is allocated now. */
void si_attach_finish(bool served, struct si_text *notes);

#endif
