/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attaching.h: what `shinyctl attach` gives to the library that it has loaded into a running
 * program, on the stack of the thread that makes the call.
 *
 * Runs: both. Signals: – Allocates: nothing. Threads: one.
 *
 * A preloaded library reads its settings in the program's environment, and learns of each thread
 * when it starts. Here the program runs already: the settings follow the struct, and the bounds of
 * the stacks of the threads that exist are in it, as only /proc knows them.
 */
#ifndef SHINY_WIRE_ATTACHING_H
#define SHINY_WIRE_ATTACHING_H

#include <stdint.h>

#define SHINY_ATTACHING_MAGIC UINT64_C(0x32686361747461) /* "attach2" */

enum {
	SHINY_ATTACHING_SETTINGS = 8192, /* bytes: NAME=VALUE, each with its NUL */
	SHINY_ATTACHING_STACKS = 512,
	SHINY_ATTACHING_WHY = 512,
};

struct shiny_attaching_stack {
	uint64_t tls;       /* what fs:0 holds in that thread */
	uint64_t low, high; /* may be read from a frame up to `high` */
};

struct shiny_attaching {
	uint64_t magic;
	uint32_t settings, stacks; /* bytes and entries that are used */
	struct shiny_attaching_stack stack[SHINY_ATTACHING_STACKS];
	char setting[SHINY_ATTACHING_SETTINGS];
	/* the answer: empty, or why nothing is recorded; and patches that the attacher is to write
	 * while all threads stand, an array of struct shiny_patch there */
	char why[SHINY_ATTACHING_WHY];
	uint64_t patches, patch_count;
};
_Static_assert(sizeof(struct shiny_attaching) == 21024, "both sides have one layout");

#endif
