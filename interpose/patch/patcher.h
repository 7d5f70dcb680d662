/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patcher.h: patches entries by recipes, all of them or none: si_patch_begin, si_patch_add for each
 * entry, si_patch_commit.
 *
 * Runs:      inside, in the constructor, while there is one thread; for a library that was mapped
 *            just now, in the thread that opens it; in a program that runs already, in the thread
 *            that attaches.
 * Signals:   no.
 * Allocates: pages near the code, by mmap: 128 bytes a patch; meanwhile 24 more a patch elsewhere,
 *            if there are several.
 * Threads:   one at a time.
 */
#ifndef SI_PATCHER_H
#define SI_PATCHER_H

#include <shiny/wire/patch.h>

#include "../core/base.h"

struct si_patches {
	uintptr_t bias;
	uint8_t *page, *next, *end; /* the memory of stubs and trampolines; writable until the
	                             * commit, executable from then on */
	uint8_t *gate;    /* the code that numbered stubs jump to; NULL: none yet */
	uint8_t *highest; /* the highest entry so far */
	unsigned count, room;
	struct shiny_patch *patch; /* the list, valid until the commit or si_patch_abandon */
	struct shiny_patch only;   /* the list of a single patch */
};

/* Allocates room for `count` patches of functions in [start, end), reachable from all of it by near
 * jumps. False: `why` says why. */
bool si_patch_begin(struct si_patches *patches, uintptr_t bias, uintptr_t start, uintptr_t end,
		    unsigned count, struct si_text *why);

/* Does the same for functions that no thread can be inside: they are of a library that the loader
 * has mapped and not bound yet, or si_patch_leave will be called. */
bool si_patch_begin_unbound(struct si_patches *patches, uintptr_t bias, uintptr_t start,
			    uintptr_t end, unsigned count, struct si_text *why);

/*
 * Prepares a patch: checks the recipe and the bytes in memory. Returns the trampoline, which runs
 * the original function (or, for a call, the function that was called), and is callable after the
 * commit. NULL: `why` says why.
 */
void *si_patch_add(struct si_patches *patches, const struct shiny_patch_recipe *recipe, void *hook,
		   struct si_text *why);

/*
 * Prepares a patch of functions that share a hook, which learns from the stack which one was
 * entered: the stub pushes rbp and `number`, and jumps to `hook`, with every register unchanged.
 * Call si_patch_gate before the first of them: it takes the room of one patch.
 */
bool si_patch_gate(struct si_patches *patches, void *hook, struct si_text *why);
void *si_patch_add_numbered(struct si_patches *patches, const struct shiny_patch_recipe *recipe,
			    uint32_t number, struct si_text *why);

/* Writes the jumps. False: none is written, the pages are freed, and `why` says why. */
bool si_patch_commit(struct si_patches *patches, struct si_text *why);

/* Does all of a commit but to write the jumps: whoever attached us does that, from the list, while
 * all threads stand (late.h). The list stays. */
bool si_patch_leave(struct si_patches *patches, struct si_text *why);

/* Frees patches that were not committed. */
void si_patch_abandon(struct si_patches *patches);

/* Frees the pages of patches that were committed and whose code is unmapped. */
void si_patch_gone(const struct si_patches *patches);

#endif
