/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: a made-up program at work: which thread does what, and which block ends when.
 *
 * Runs: CLI, in tests. Allocates: 48 bytes a block, of as many as were live at once, and 3 MB.
 * Threads: one.
 *
 * Ten threads of four processes, one of which is forked by another in the middle, take turns. A
 * site's blocks live for a few events of their thread, for thousands, for a fortieth of all events
 * on the average, or for ever, so that about a hundredth as many blocks are live as there are
 * events. Some are buffers that grow by realloc; a tenth are freed by another thread. The allocator
 * hands out the address that was freed last in a size class. As what happens next is drawn, it is
 * harder to predict, and so to pack and to read, than what programs do.
 *
 * Every event goes to session.h, every block to books.h.
 */
#ifndef TEST_MADE_PROGRAM_H
#define TEST_MADE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESSES = 4, THREADS = 10, CLASSES = 160 };

struct block {
	uint64_t address, birth, number;
	uint32_t size, stack, next; /* next: in a list */
	uint8_t process, thread, steps;
	bool vptr, inherited, live;
};
struct process {
	struct { uint64_t *at; size_t count, room; } freed[CLASSES];
	uint64_t fresh, births, forked;
};
struct program {
	struct process processes[PROCESSES + 1]; /* ids from 1 */
	uint64_t clock_ns, events, wanted;
	uint64_t frees, reallocs, inherited, strays, wrong_family, vptrs;
};

extern struct program program;
extern const uint8_t thread_process[THREADS + 1];

/* So many events; every block that is live then is told to books_stayed(). */
void program_run(uint64_t wanted);

#endif
