/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oilpan.c: records the objects of Blink's garbage-collected heap when they are created and
 * finalized.
 *
 * Runs: inside. Signals: no: collected objects are not created in handlers. Allocates: see
 * oilpan.h. Threads: attach: the constructor's. Hooks: any.
 *
 * The facts (measured, and found again in each file by the probe): one of a few functions creates
 * every object, and gets the size and the index of the object's kind; a kind is described by a
 * GCInfo, in an array of the file (Chromium 156) or in a table that is filled as kinds register
 * themselves (150); a GCInfo has the kind's finalizer, the destructor; the index stands in the
 * header in front of each object.
 *
 * Creation is seen by entry patches (patcher.c). Finalization is seen by replacing the finalizers:
 * the GCInfo's pointer leads to one function of ours that finds the index in the object's header,
 * records the object's end, and calls the original finalizer. Where kinds register themselves, the
 * registration is patched, and gets that function instead of the kind's finalizer. A kind without a
 * finalizer gets none, as Oilpan treats those differently. Their end is seen when the sweeper puts
 * their memory on a free list, by functions that are patched too.
 *
 * Storage of vectors and hash tables has more fates. A collection may compact its spaces: the
 * compactor copies an object with its header by one of two calls, of memcpy and memmove, which are
 * patched as calls. The program may resize it in place, if the memory behind is free, or free it at
 * once: by two functions that get the object, whose header then says whether it was done. The
 * header's size is in the 16 bits in front of the object, shifted left by 2; the lowest bit is the
 * collector's mark.
 *
 * A build with control-flow integrity checks the functions that it calls through pointers,
 * finalizers too: one that is not its own ends the process. There the finalizers stay; patched
 * functions are called directly, or by their own address, which is checked before our jump is
 * reached. An object with a destructor then ends when it is swept. (A public build of 107 with our
 * function among its finalizers lost its renderer; without, it runs.)
 *
 * Nothing is guessed: without a probe's result for this very build nothing is done, and if one
 * entry does not fit, none is patched.
 */
#define _GNU_SOURCE
#include "oilpan.h"

#include <sys/mman.h>

#include "../patch/checked.h"
#include "../core/env.h"
#include "../hook/record_event.h"
#include "../hook/hooks.h"
#include "../unwind/main_image.h"
#include "../patch/patcher.h"
#include "../patch/probe_head.h"
#include "../core/sys.h"

enum { KINDS = 1 << SHINY_OBJECT_INDEX_BITS, ARGUMENTS = 6, INFO_WORDS = 8, HEADER_BYTES = 8 };

typedef uintptr_t entry_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
/* The type of FREE's function, which returns two words. */
typedef unsigned __int128 pair_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
typedef void finalizer_fn(void *object);

/* Written before the patches are. */
static struct hooked {
	union { /* the original function */
		entry_fn *function;
		pair_fn *pair;
	};
	uint8_t size, index, slot, finalizer, info; /* numbers of arguments */
} hooked[SHINY_PROBE_ENTRIES];
static finalizer_fn **finalizers; /* the original finalizers by index; NULL: not replaced */
static uint16_t header_index_at, header_index_shift, header_index_mask;
static uint16_t info_bytes, info_finalizer; /* of a GCInfo; the finalizer's index in it, in words */

/* ---- hooks ---- */

static void finalized(void *object)
{
	uint16_t word = *(const uint16_t *)((const char *)object - header_index_at);
	finalizer_fn *finalizer =
		__atomic_load_n(&finalizers[word >> header_index_shift & header_index_mask],
				__ATOMIC_RELAXED);

	si_event_finalized(SI_FRAME(), object);
	if (SI_LIKELY(finalizer != NULL))
		finalizer(object);
}

static inline __attribute__((always_inline)) uintptr_t made(const uintptr_t *fp,
							    const struct hooked *h,
							    const uintptr_t *argument)
{
	uintptr_t object = h->function(argument[0], argument[1], argument[2], argument[3],
				       argument[4], argument[5]);

	if (SI_LIKELY(object != 0))
		si_event_object(fp, (void *)object, argument[h->size],
				(uint16_t)argument[h->index]);
	return object;
}

/* Runs when a kind registers itself. Several threads may do so at once: each gets the same
 * index. */
static inline __attribute__((always_inline)) uintptr_t registered(const uintptr_t *fp,
								  const struct hooked *h,
								  uintptr_t *argument)
{
	uintptr_t info[INFO_WORDS], *place = NULL;
	finalizer_fn *finalizer = NULL;
	uint16_t index;

	if (h->finalizer < ARGUMENTS) {
		place = &argument[h->finalizer];
	} else if (h->info < ARGUMENTS && argument[h->info]) {
		/* a GCInfo of the caller's, which is copied */
		__builtin_memcpy(info, (const void *)argument[h->info], info_bytes);
		argument[h->info] = (uintptr_t)info;
		place = &info[info_finalizer];
	}
	if (finalizers && place && *place && *place != (uintptr_t)finalized) {
		finalizer = (finalizer_fn *)*place;
		*place = (uintptr_t)finalized;
	}
	index = (uint16_t)h->function(argument[0], argument[1], argument[2], argument[3],
				      argument[4], argument[5]);
	if (finalizer && index < KINDS)
		__atomic_store_n(
			&finalizers[index], finalizer,
			__ATOMIC_RELAXED); /* no object of the kind exists before we return */
	si_event_object_kinds(fp, &(struct shiny_object_kinds){
					  .place = argument[h->slot], .first = index, .count = 1 });
	return index;
}

static size_t size_of(const void *object) /* bytes with the header; 0: the object has pages of its
                                           * own */
{
	return (size_t)(((const uint16_t *)object)[-1] >> 1) * 8;
}

static inline __attribute__((always_inline)) uintptr_t resized(const uintptr_t *fp,
							       const struct hooked *h,
							       uintptr_t object, uintptr_t bytes)
{
	uintptr_t done = h->function(object, bytes, 0, 0, 0, 0);

	/* Oilpan answers true, but resizes nothing, if the remainder can't be a free block */
	if ((done & 0xff) && size_of((const void *)object) == (bytes + HEADER_BYTES + 7) / 8 * 8)
		si_event_resized(fp, (void *)object, bytes);
	return done;
}

/* Does nothing while a collection runs. Freed memory goes to a free list, which we record, or back
 * to the allocator, which removes its header. */
static inline __attribute__((always_inline)) void released(const uintptr_t *fp,
							   const struct hooked *h, uintptr_t heap,
							   uintptr_t object)
{
	size_t bytes = object ? size_of((const void *)object) : 0;

	h->function(heap, object, 0, 0, 0, 0);
	if (bytes > HEADER_BYTES && !size_of((const void *)object))
		si_event_swept(fp, (void *)(object - HEADER_BYTES), bytes);
}

#define HOOKS(n)                                                                                   \
	static uintptr_t made_##n(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, \
				  uintptr_t f)                                                     \
	{                                                                                          \
		return made(SI_FRAME(), &hooked[n],                                                \
			    (const uintptr_t[ARGUMENTS]){ a, b, c, d, e, f });                     \
	}                                                                                          \
	static uintptr_t registered_##n(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,        \
					uintptr_t e, uintptr_t f)                                  \
	{                                                                                          \
		return registered(SI_FRAME(), &hooked[n],                                          \
				  (uintptr_t[ARGUMENTS]){ a, b, c, d, e, f });                     \
	}                                                                                          \
	static unsigned __int128 swept_##n(uintptr_t list, uintptr_t address, uintptr_t bytes,     \
					   uintptr_t d, uintptr_t e, uintptr_t f)                  \
	{                                                                                          \
		si_event_swept(SI_FRAME(), (void *)address, bytes);                                \
		return hooked[n].pair(list, address, bytes, d, e, f);                              \
	}                                                                                          \
	static uintptr_t moved_##n(uintptr_t to, uintptr_t from, uintptr_t bytes)                  \
	{                                                                                          \
		si_event_moved(SI_FRAME(), (void *)(from + HEADER_BYTES),                          \
			       (void *)(to + HEADER_BYTES));                                       \
		return hooked[n].function(to, from, bytes, 0, 0, 0);                               \
	}                                                                                          \
	static uintptr_t resized_##n(uintptr_t object, uintptr_t bytes)                            \
	{                                                                                          \
		return resized(SI_FRAME(), &hooked[n], object, bytes);                             \
	}                                                                                          \
	static void released_##n(uintptr_t heap, uintptr_t object)                                 \
	{                                                                                          \
		released(SI_FRAME(), &hooked[n], heap, object);                                    \
	}
HOOKS(0)
HOOKS(1) HOOKS(2) HOOKS(3) HOOKS(4) HOOKS(5) HOOKS(6) HOOKS(7) HOOKS(8) HOOKS(9) HOOKS(10) HOOKS(11)
	HOOKS(12) HOOKS(13) HOOKS(14) HOOKS(15)
#define EACH(n)                                                                                 \
	{                                                                                       \
		[SHINY_PROBE_ALLOCATE] = (void *)made_##n,                                      \
		[SHINY_PROBE_REGISTER] = (void *)registered_##n,                                \
		[SHINY_PROBE_FREE] = (void *)swept_##n, [SHINY_PROBE_MOVE] = (void *)moved_##n, \
		[SHINY_PROBE_RESIZE] = (void *)resized_##n,                                     \
		[SHINY_PROBE_RELEASE] = (void *)released_##n                                    \
	}
		static void *const hook_of[SHINY_PROBE_ENTRIES][SHINY_PROBE_KINDS] = {
			EACH(0),  EACH(1),  EACH(2),  EACH(3),	EACH(4),  EACH(5),
			EACH(6),  EACH(7),  EACH(8),  EACH(9),	EACH(10), EACH(11),
			EACH(12), EACH(13), EACH(14), EACH(15),
		};

/* ---- attaching ---- */

static bool is_oilpan(const struct shiny_probe_entry *e)
{
	return e->kind < SHINY_PROBE_KINDS && hook_of[0][e->kind] != NULL;
}

static bool usable(const struct shiny_probe_file *f, const struct shiny_probe_entry *e,
		   const struct shiny_patch_recipe *recipe)
{
	if (e->confidence < SHINY_PROBE_HIGH || (recipe->call && e->kind != SHINY_PROBE_MOVE))
		return false;
	if (e->kind == SHINY_PROBE_ALLOCATE)
		return e->size < ARGUMENTS && e->index < ARGUMENTS;
	if (e->kind == SHINY_PROBE_FREE)
		return e->size == 2;
	if (e->kind == SHINY_PROBE_MOVE)
		return recipe->call;
	if (e->kind == SHINY_PROBE_RESIZE || e->kind == SHINY_PROBE_RELEASE)
		return true;
	if (e->kind == SHINY_PROBE_REGISTER && e->info < ARGUMENTS && !info_bytes)
		return false; /* the GCInfo couldn't be copied */
	return e->kind == SHINY_PROBE_REGISTER && f->shape == SHINY_PROBE_REGISTERED &&
	       e->slot < ARGUMENTS;
}

/* Prepares a patch for each entry; all of them, or none. */
static bool prepare(struct si_patches *patches, const struct si_main_image *image,
		    const struct shiny_probe_file *f, struct si_text *why)
{
	bool any = false;

	for (unsigned i = 0; i < f->entry_count; i++)
		any |= is_oilpan(&f->entries[i]);
	if (!any) {
		si_text_add(why, "the probe found no functions that make objects");
		return false;
	}
	if (!si_patch_begin(patches, image->bias, image->start, image->end, f->entry_count, why))
		return false;
	for (unsigned i = 0; i < f->entry_count; i++) {
		const struct shiny_probe_entry *e = &f->entries[i];
		const struct shiny_patch_recipe *recipe = si_probe_recipe(f, e);

		if (!is_oilpan(e))
			continue;
		if (!recipe || !usable(f, e, recipe) || recipe->vaddr != e->vaddr) {
			si_text_add(why, "one of the functions that make objects can't be patched");
			return false;
		}
		hooked[i] = (struct hooked){ .size = e->size,
					     .index = e->index,
					     .slot = e->slot,
					     .finalizer = e->finalizer,
					     .info = e->info };
		hooked[i].function = si_patch_add(patches, recipe, hook_of[i][e->kind], why);
		if (!hooked[i].function)
			return false;
	}
	return true;
}

/* Replaces the finalizers in the file's own array; returns how many. */
static unsigned replace_finalizers(const struct si_main_image *image,
				   const struct shiny_probe_file *f)
{
	uintptr_t infos = image->bias + f->info_vaddr,
		  bytes = (uintptr_t)f->info_count * f->info_bytes;
	unsigned count = 0;

	if (f->shape != SHINY_PROBE_SECTION || f->info_bytes < 8 ||
	    f->finalizer_at > f->info_bytes - 8 || infos % 8 || f->finalizer_at % 8 ||
	    f->info_count >= KINDS || infos < image->written_start || infos >= image->written_end ||
	    bytes > image->written_end - infos)
		return 0;
	for (uint32_t i = 0; i < f->info_count; i++) {
		finalizer_fn **finalizer =
			(finalizer_fn **)(infos + (uintptr_t)i * f->info_bytes + f->finalizer_at);

		if (!*finalizer)
			continue;
		finalizers[i + 1] = *finalizer;
		*finalizer = finalized;
		count++;
	}
	return count;
}

static bool prepare_finalizers(const struct shiny_probe_file *f, bool checked)
{
	if (f->info_bytes % 8 || f->info_bytes > INFO_WORDS * 8 || f->finalizer_at % 8 ||
	    f->finalizer_at >= f->info_bytes)
		return false;
	info_bytes = (uint16_t)f->info_bytes;
	info_finalizer = f->finalizer_at / 8;
	if (checked || f->header_confidence < SHINY_PROBE_MEDIUM || !f->header_index_at)
		return false;
	header_index_at = f->header_index_at;
	header_index_shift = f->header_index_shift;
	header_index_mask = (uint16_t)(f->index_limit - 1);
	finalizers = si_sys_map(KINDS * sizeof(*finalizers), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return finalizers != NULL;
}

static bool attach(const struct si_main_image *image, const struct shiny_probe_file *f,
		   bool checked, struct si_text *text)
{
	static struct si_patches patches;
	bool finalizing = prepare_finalizers(f, checked);
	unsigned count;

	if (!prepare(&patches, image, f, text) || !si_patch_commit(&patches, text)) {
		si_patch_abandon(&patches);
		if (finalizers)
			si_sys_unmap(finalizers, KINDS * sizeof(*finalizers));
		finalizers = NULL;
		return false;
	}
	if (f->shape == SHINY_PROBE_SECTION)
		si_event_object_kinds(SI_FRAME(), &(struct shiny_object_kinds){
							  .place = image->bias + f->info_vaddr,
							  .first = 1,
							  .count = f->info_count,
							  .step = f->info_bytes });
	count = finalizing ? replace_finalizers(image, f) : 0;
	si_text_number(text, patches.count);
	si_text_add(text, " functions patched");
	if (count) {
		si_text_add(text, ", ");
		si_text_number(text, count);
		si_text_add(text, " finalizers stood in for");
	}
	if (checked)
		si_text_add(text, "; calls are checked, so the destructors are left alone: objects "
				  "end when they are swept");
	return true;
}

void si_oilpan_attach(char *const *environment, bool checked, struct si_text *text)
{
	bool wanted = si_env.oilpan == 0; /* 0 is "on" */
	struct si_main_image image;
	struct si_text why;
	char words[256];
	struct shiny_probe_file *head;

	si_main_image(&image);
	si_text_init(&why, words, sizeof(words));
	switch (si_probe_read(environment, image.build_id, image.build_id_bytes, &head, &why)) {
	case SI_PROBE_GOOD:
		si_checked_attach(head, image.bias, image.start, image.end,
				  text); /* entries of malloc's partition are patched whatever
				          * SHINY_OILPAN says */
		if (head->shape != SHINY_PROBE_NONE && wanted) {
			si_text_add(text, "; Oilpan: ");
			si_text_init(&why, words, sizeof(words));
			if (!attach(&image, head, checked, &why))
				si_text_add(text, "not recorded: ");
			si_text_add(text, words);
		}
		si_sys_unmap(head, SHINY_PROBE_HEAD_MAX);
		break;
	case SI_PROBE_BAD:
		si_text_add(text, wanted ? "; Oilpan and checked classes: not recorded: "
					 : "; checked classes: not recorded: ");
		si_text_add(text, words);
		break;
	case SI_PROBE_NONE:
		break;
	}
}
