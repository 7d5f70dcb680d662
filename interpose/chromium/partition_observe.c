/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_observe.c: records the blocks that PartitionAlloc allocates besides malloc's.
 *
 * Runs:      inside.
 * Signals:   the hooks: as the program's malloc.
 * Allocates: pages near the executable.
 * Threads:   install: one. Hooks: any.
 *
 * The problem. Blink has partitions of its own (buffers of strings and vectors, array buffers) that
 * no dispatch table sees. PartitionAlloc calls observers for them, with the type that the caller
 * names; they are set by PartitionAllocHooks::SetObserverHooks, which only symbols lead to. There
 * is one pair of observers, the program sets its own in main(), and setting a second pair ends the
 * program.
 *
 * The approach. shinyctl finds the function and its form (symbolizer/patch/observer_patch.c) and
 * makes sure that it is not inlined anywhere. We call it once, with our observers, and then patch
 * its entry: later callers reach us, and we store their observers and call them after ours. The
 * override hooks are never touched.
 *
 * Malloc's own partitions may call the observers too (they do not, in Chromium:
 * AllocFlags::kNoHooks). While one of our dispatch hooks runs on this thread, the observers record
 * nothing: the hook does.
 *
 * In a library without symbols, the function and the variables that it sets are found in its code,
 * outside (symbolizer/patch/observer_variables.c). We store our observers in the variables, if they
 * are still 0, and patch the function likewise. Official builds name no types.
 *
 * A block is recorded with the address of its type's name, a string of the executable's. It does
 * not enter the nursery: an observer cannot delay a free, and the block's type is known.
 */
#define _GNU_SOURCE
#include "partition_observe.h"

#include <link.h>

#include <shiny/wire/observers.h>

#include "../unwind/modules.h"
#include "partition_hooks.h"
#include "../core/env.h"
#include "../patch/inner_allocator.h"
#include "../patch/patcher.h"
#include "../patch/probe_head.h"
#include "../core/sys.h"

struct data {
	void *block;
	size_t size;
	const char *type;
};

typedef void allocated_fn(void *, size_t, const char *);
typedef void freed_fn(void *);
typedef void allocated_data_fn(const struct data *);
typedef void freed_data_fn(void *const *);
typedef void set_fn(void *allocated, void *freed);

static struct shiny_observers_file found;
static void *theirs_allocated, *theirs_freed; /* the program's own observers; NULL: none */

static void no_release(void *block)
{
	(void)block; /* not reached: these blocks are never in the nursery */
}

SI_HOT void allocated(const uintptr_t *fp, void *block, size_t size, const char *type)
{
	if (block && SI_UNLIKELY(si_nested(fp)))
		si_inner_block(fp, block);
	else if (block && !si_partition_inside())
		si_event_alloc_named(fp, block, size, SHINY_API_EITHER_ALLOC, type);
}

SI_HOT void freed(const uintptr_t *fp, void *block)
{
	if (block && !si_nested(fp) && !si_partition_inside())
		si_event_free(fp, block, 0, SHINY_API_EITHER_FREE, no_release);
}

static void on_alloc_PLAIN(void *block, size_t size, const char *type)
{
	void *theirs = __atomic_load_n(&theirs_allocated, __ATOMIC_ACQUIRE);

	allocated(SI_FRAME(), block, size, type);
	if (theirs)
		((allocated_fn *)theirs)(block, size, type);
}

static void on_free_PLAIN(void *block)
{
	void *theirs = __atomic_load_n(&theirs_freed, __ATOMIC_ACQUIRE);

	freed(SI_FRAME(), block);
	if (theirs)
		((freed_fn *)theirs)(block);
}

static void on_alloc_DATA(const struct data *data)
{
	void *theirs = __atomic_load_n(&theirs_allocated, __ATOMIC_ACQUIRE);

	allocated(SI_FRAME(), data->block, data->size, data->type);
	if (theirs)
		((allocated_data_fn *)theirs)(data);
}

static void on_free_DATA(void *const *data)
{
	void *theirs = __atomic_load_n(&theirs_freed, __ATOMIC_ACQUIRE);

	freed(SI_FRAME(), *data);
	if (theirs)
		((freed_data_fn *)theirs)(data);
}

static const struct {
	void *on_alloc, *on_free;
} hooks[SHINY_OBSERVERS_STORED] = {
#define SHINY_OBSERVERS(name, symbol, variable, form, evidence) \
	[SHINY_OBSERVERS_##name] = { (void *)on_alloc_##form, (void *)on_free_##form },
#include <shiny/wire/observers.def>
#undef SHINY_OBSERVERS
};

/* Replaces SetObserverHooks. */
static void set_theirs(void *on_alloc, void *on_free)
{
	__atomic_store_n(&theirs_allocated, on_alloc, __ATOMIC_RELEASE);
	__atomic_store_n(&theirs_freed, on_free, __ATOMIC_RELEASE);
}

struct observe_identity {
	uint8_t build_id[SHINY_BUILD_ID_MAX];
	uint16_t bytes;
};

static int identify(struct dl_phdr_info *info, size_t size, void *out)
{
	struct observe_identity *id = out;

	(void)size;
	id->bytes = si_build_id(info, id->build_id);
	return 1; /* the executable comes first */
}

/* Reads the file of a module into `found`. False: there is none. */
static bool read_found(char *const *environment, const uint8_t *build_id, uint16_t bytes)
{
	char words[256];
	struct si_text why;
	long n;
	int fd;

	si_text_init(&why, words, sizeof(words));
	fd = si_probe_open(environment, build_id, bytes, SHINY_OBSERVERS_SUFFIX, &why);
	if (fd < 0)
		return false;
	n = si_sys(SYS_read, fd, &found, sizeof(found));
	si_sys_close(fd);
	return n == sizeof(found) && found.magic == SHINY_OBSERVERS_MAGIC &&
	       found.version == SHINY_OBSERVERS_VERSION && found.build_id_bytes == bytes &&
	       si_same((const char *)found.build_id, (const char *)build_id, bytes);
}

bool si_observers_find(char *const *environment, const struct si_image *image)
{
	const struct si_segment *s;
	struct observe_identity id = { .bytes = 0 };

	dl_iterate_phdr(identify, &id);
	if (!read_found(environment, id.build_id, id.bytes) ||
	    found.form == SHINY_OBSERVERS_NONE || found.form >= SHINY_OBSERVERS_STORED)
		return false;
	s = si_segment_of(image, image->bias + found.set, found.set_bytes);
	return s && s->executable && found.set_bytes >= SHINY_OBSERVERS_CODE &&
	       si_same((const char *)(image->bias + found.set), (const char *)found.code,
		       SHINY_OBSERVERS_CODE);
}

/* True if the `bytes` at `vaddr` lie in the part of the module that stays writable, and are 0. */
static bool is_unset(const struct si_main_image *image, uint64_t vaddr, unsigned bytes)
{
	uintptr_t at = image->bias + vaddr;

	if (at < image->written_start || at > image->written_end - bytes || at % bytes)
		return false;
	return bytes == 1 ? !*(const uint8_t *)at : !*(const uintptr_t *)at;
}

static bool has_code(const struct si_main_image *image, uint64_t vaddr, const uint8_t *code)
{
	uintptr_t at = image->bias + vaddr;

	return at >= image->start && at <= image->end - SHINY_OBSERVERS_CODE &&
	       si_same((const char *)at, (const char *)code, SHINY_OBSERVERS_CODE);
}

/* Replaces SetObserverHooks, from the addresses `low` to `high` on. The trampoline is never called:
 * our hook does not call the original function. */
static bool replace_set(struct si_patches *patches, uint64_t set, const uint8_t *code,
			uintptr_t bias, uintptr_t low, uintptr_t high, struct si_text *text)
{
	struct shiny_patch_recipe recipe = { .vaddr = set,
					     .displaced = SHINY_PATCH_JUMP,
					     .expected_bytes = SHINY_OBSERVERS_CODE,
					     .code_bytes = 2,
					     .code = { 0x0f, 0x0b } };

	_Static_assert((int)SHINY_OBSERVERS_CODE <= (int)SHINY_PATCH_EXPECTED,
		       "the bytes that were compared");
	__builtin_memcpy(recipe.expected, code, SHINY_OBSERVERS_CODE);
	if (!si_patch_begin(patches, bias, low, high, 1, text))
		return false;
	if (si_patch_add(patches, &recipe, (void *)set_theirs, text))
		return true;
	si_patch_abandon(patches);
	return false;
}

static bool store(const struct si_main_image *image, const struct shiny_observers_stored *s,
		  struct si_text *text)
{
	static struct si_patches patches;
	static bool replaced; /* theirs are one pair */

	if (!s->function || !has_code(image, s->function, s->code) ||
	    !is_unset(image, s->allocated, sizeof(void *)) ||
	    !is_unset(image, s->freed, sizeof(void *)) || !is_unset(image, s->enabled, 1))
		return false;
	if (s->set && (replaced || !has_code(image, s->set, s->set_code) ||
		       !replace_set(&patches, s->set, s->set_code, image->bias, image->start,
				    image->end, text) ||
		       !si_patch_commit(&patches, text)))
		return false;
	replaced |= s->set != 0;
	__atomic_store_n((void **)(image->bias + s->allocated), (void *)on_alloc_PLAIN,
			 __ATOMIC_RELAXED);
	__atomic_store_n((void **)(image->bias + s->freed), (void *)on_free_PLAIN,
			 __ATOMIC_RELAXED);
	__atomic_store_n((uint8_t *)(image->bias + s->enabled), 1, __ATOMIC_RELEASE);
	return true;
}

void si_partition_observe_libraries(char *const *environment, struct si_text *text)
{
	const struct si_allocator_module *list;
	unsigned count;

	if (si_same(si_env.allocator, "off", 4))
		return;
	count = si_allocator_modules(&list);
	for (unsigned i = 1; i < count; i++) {
		const struct si_main_image *image = &list[i].image;
		unsigned stored = 0;

		if (!read_found(environment, image->build_id, image->build_id_bytes) ||
		    found.form != SHINY_OBSERVERS_STORED)
			continue;
		for (unsigned n = 0; n < SHINY_OBSERVERS_STORES; n++)
			stored += store(image, &found.stored[n], text);
		if (!stored)
			continue;
		si_text_add(text, "; observer hooks of ");
		si_text_add(text, si_base_name(list[i].path));
		si_text_add(text, "'s PartitionAlloc are set");
	}
}

void si_observers_install(const struct si_image *image, struct si_text *text)
{
	static struct si_patches patches;
	uintptr_t low = UINTPTR_MAX, high = 0;
	set_fn *set = (set_fn *)(image->bias + found.set);

	for (unsigned i = 0; i < image->segments; i++) {
		low = image->segment[i].start < low ? image->segment[i].start : low;
		high = image->segment[i].end > high ? image->segment[i].end : high;
	}
	si_text_add(text, "; observer hooks: ");
	if (!replace_set(&patches, found.set, found.code, image->bias, low, high, text))
		return;
	set(hooks[found.form].on_alloc, hooks[found.form].on_free);
	if (!si_patch_commit(&patches, text)) {
		set(NULL, NULL);
		return;
	}
	si_text_add(text, "set, the program's own behind ours");
}
