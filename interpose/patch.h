/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.h: entry patches, by recipe. Everything or nothing: si_patch_begin, si_patch_add for each entry, si_patch_commit.
 *
 * Runs:      inside, in the constructor, while there is one thread.
 * Signals:   no.
 * Allocates: a few pages near the code, by mmap.
 * Threads:   one.
 */
#ifndef SI_PATCH_H
#define SI_PATCH_H

#include <shiny/patch.h>

#include "base.h"

enum { SI_PATCHES = 64 };

struct si_patch {
	uint8_t *entry;    /* where the jump goes */
	uint8_t jump[SHINY_PATCH_JUMP], before[SHINY_PATCH_JUMP];
};

struct si_patches {
	uintptr_t bias;
	uint8_t *page, *next, *end; /* of stubs and trampolines; writable until the commit, executable from then on */
	unsigned count;
	struct si_patch patch[SI_PATCHES];
};

/* Room for `count` patches of functions in [start, end), reachable from all of it by near jumps. False: why is in `why`. */
bool si_patch_begin(struct si_patches *patches, uintptr_t bias, uintptr_t start, uintptr_t end, unsigned count, struct si_text *why);

/*
 * Prepares one: checks the recipe and the bytes in memory. Returns the trampoline: the function as it was, callable after the commit. NULL:
 * why is in `why`.
 */
void *si_patch_add(struct si_patches *patches, const struct shiny_patch_recipe *recipe, void *hook, struct si_text *why);

/* Writes the jumps. False: none is written, the pages are given back, and why is in `why`. */
bool si_patch_commit(struct si_patches *patches, struct si_text *why);

/* Gives up what was begun and not committed. */
void si_patch_abandon(struct si_patches *patches);

#endif
