/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checked.c: sees the blocks that Chromium's classes with memory safety checks allocate: they go
 * around the dispatch chain.
 *
 * Runs:      inside.
 * Signals:   the hooks: as the program's malloc.
 * Allocates: see checked.h.
 * Threads:   attach: the constructor's. Hooks: any.
 *
 * symbolizer/probe/probe_checked.c describes these functions and how the probe finds them. They are
 * called like operator new and operator delete, have no other entry, and the one frees blocks of
 * the other alone; so the chain's hooks do not see a block that is seen here.
 */
#include "checked.h"

#include "../hook/record_event.h"
#include "../hook/hooks.h"
#include "patcher.h"

typedef void *allocate_fn(size_t size);
typedef void release_fn(void *block);

/* The original functions; written before the patches are. */
static allocate_fn *allocate;
static release_fn *release;

static void *hook_allocate(size_t size)
{
	void *block = allocate(size);

	if (block)
		si_event_alloc(SI_FRAME(), block, size, SHINY_API_NEW);
	return block;
}

static void hook_release(void *block)
{
	if (!block || si_event_free(SI_FRAME(), block, 0, SHINY_API_DELETE, release))
		release(block);
}

static const struct shiny_patch_recipe *recipe_of(const struct shiny_probe_file *file,
						  uint32_t kind)
{
	const struct shiny_probe_entry *found = NULL;

	for (unsigned i = 0; i < file->entry_count; i++)
		if (file->entries[i].kind == kind &&
		    file->entries[i].confidence >= SHINY_PROBE_HIGH) {
			if (found)
				return NULL; /* the release must not get blocks of another
				              * function */
			found = &file->entries[i];
		}
	return found ? si_probe_recipe(file, found) : NULL;
}

void si_checked_attach(const struct shiny_probe_file *file, uintptr_t bias, uintptr_t start,
		       uintptr_t end, struct si_text *text)
{
	static struct si_patches patches;
	const struct shiny_patch_recipe *first = recipe_of(file, SHINY_PROBE_NEW),
					*second = recipe_of(file, SHINY_PROBE_DELETE);
	struct si_text why;
	char words[128];

	if (!first || !second)
		return;
	si_text_init(&why, words, sizeof(words));
	if (si_patch_begin(&patches, bias, start, end, 2, &why)) {
		allocate = si_patch_add(&patches, first, hook_allocate, &why);
		release = allocate ? si_patch_add(&patches, second, hook_release, &why) : NULL;
		if (release && si_patch_commit(&patches, &why)) {
			si_text_add(text, "; checked classes: 2 functions patched");
			return;
		}
		si_patch_abandon(&patches);
	}
	si_text_add(text, "; checked classes: not recorded: ");
	si_text_add(text, words);
}
