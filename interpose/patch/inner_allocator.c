/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.c: hooks a jemalloc, tcmalloc, mimalloc or any malloc that is linked into the
 * executable.
 *
 * Runs:      inside.
 * Signals:   as the program's malloc.
 * Allocates: see inner_allocator.h.
 * Threads:   attach: the constructor's. Hooks: any.
 *
 * The problem. The executable comes first in symbol lookup, so libraries find its malloc, and its
 * own calls were bound when it was linked; a name with a prefix (je_malloc) is never looked up. So
 * the functions' entries are patched (patcher.c), by recipes computed outside.
 *
 * own_calls.c has the hooks. Two names of one function are one patch; where one is an operator and
 * the other is not, the api of its blocks is EITHER.
 */
#define _GNU_SOURCE
#include "inner_allocator.h"

#include <errno.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <shiny/wire/allocator.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "../core/env.h"
#include "../hook/hooks.h"
#include "../unwind/main_image.h"
#include "own_calls.h"
#include "patcher.h"
#include "probe_head.h"
#include "../core/settings.h"
#include "../core/sys.h"

/* ---- attaching ---- */

static bool same_setting(const char *setting)
{
	for (unsigned i = 0; i < SHINY_ALLOCATOR_SETTING; i++) {
		if (setting[i] != si_env.allocator[i])
			return false;
		if (!setting[i])
			return true;
	}
	return false;
}

#define CHECKED offsetof(struct shiny_allocator_file, version)

static const char *fault_of(const struct shiny_allocator_file *f, long bytes,
			    const struct si_main_image *image)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);

	if (bytes < (long)sizeof(*f) || f->magic != SHINY_ALLOCATOR_MAGIC ||
	    f->bytes != (uint64_t)bytes)
		return "it is damaged";
	if (f->version != SHINY_ALLOCATOR_VERSION)
		return "it was made by another version";
	if (XXH3_64bits((const char *)f + CHECKED, (size_t)bytes - CHECKED) != f->checksum ||
	    f->count > SHINY_ALLOCATOR_ENTRIES || f->bytes != sizeof(*f) + f->count * sizeof(*e))
		return "it is damaged";
	if (f->build_id_bytes != image->build_id_bytes ||
	    !si_same((const char *)f->build_id, (const char *)image->build_id,
		     image->build_id_bytes))
		return "it is of another build";
	if (!same_setting(f->setting))
		return "it was made with another SHINY_ALLOCATOR";
	for (uint32_t i = 0; i < f->count; i++)
		if (e[i].function >= SHINY_ALLOCATOR_FUNCTIONS ||
		    e[i].family >= SHINY_ALLOCATOR_FAMILIES ||
		    e[i].home >= SHINY_ALLOCATOR_FAMILIES ||
		    e[i].recipe.vaddr < image->start - image->bias ||
		    e[i].recipe.vaddr >= image->end - image->bias - SHINY_PATCH_EXPECTED ||
		    e[i].recipe.expected_bytes > SHINY_PATCH_EXPECTED)
			return "it makes no sense";
	return NULL;
}

static size_t length_of(const char *text, size_t room)
{
	size_t n = 0;

	while (n < room && text[n])
		n++;
	return n;
}

/* Appends the name of an entry's function. */
static void blame(const struct shiny_allocator_file *f, const struct shiny_allocator_entry *e,
		  struct si_text *why)
{
	if (si_own_functions[e->function].name[0] != '_') /* operators have no prefix */
		si_text_bytes(why, f->families[e->family],
			      length_of(f->families[e->family], SHINY_ALLOCATOR_PREFIX));
	si_text_add(why, si_own_functions[e->function].name);
}

static bool prepare_one(struct si_patches *patches, const struct shiny_allocator_entry *e,
			unsigned n, struct si_text *why)
{
	const struct si_own_function *function = &si_own_functions[e->function];
	struct si_own_family *family = &si_own_families[e->home];
	si_own_fn *real;

	if (function->kind == SI_OWN_USABLE) {
		if (!e->recipe.expected_bytes ||
		    !si_same((const char *)patches->bias + e->recipe.vaddr,
			     (const char *)e->recipe.expected, e->recipe.expected_bytes)) {
			si_text_add(why, "its code in memory is not that of the file");
			return false;
		}
		family->usable = (si_own_fn *)(patches->bias + e->recipe.vaddr);
		return true;
	}
	real = si_patch_add(patches, &e->recipe, si_own_stub(n), why);
	si_own_fill(n, e->function, real, family);
	if (e->either)
		si_own[n].api = function->kind == SI_OWN_END ? SHINY_API_EITHER_FREE
							     : SHINY_API_EITHER_ALLOC;
	if (e->function == SHINY_ALLOCATOR_MALLOC && e->home == e->family)
		family->make = real;
	if (e->function == SHINY_ALLOCATOR_FREE && e->home == e->family)
		family->end = real;
	return real != NULL;
}

static bool prepare(struct si_patches *patches, const struct shiny_allocator_file *f,
		    struct si_text *why)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	struct si_text reason;
	char words[128];

	for (uint32_t i = 0; i < f->count; i++) {
		si_text_init(&reason, words, sizeof(words));
		if (prepare_one(patches, &e[i], i, &reason))
			continue;
		blame(f, &e[i], why);
		si_text_add(why, ": ");
		si_text_add(why, words);
		return false;
	}
	/* blocks are never moved by hand where a function for that is missing */
	for (uint32_t i = 0; i < SHINY_ALLOCATOR_FAMILIES; i++)
		if (!si_own_families[i].make || !si_own_families[i].end)
			si_own_families[i].usable = NULL;
	return true;
}

static bool attach(const struct si_main_image *image, const struct shiny_allocator_file *f,
		   struct si_text *text)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	static struct si_patches patches;

	if (!si_patch_begin(&patches, image->bias, image->start, image->end, f->count, text))
		return false;
	if (!prepare(&patches, f, text)) {
		si_patch_abandon(&patches);
		return false;
	}
	for (unsigned i = 0; i < SHINY_ALLOCATOR_FAMILIES; i++) {
		si_own_families[i].inner = image->start;
		si_own_families[i].inner_bytes = image->end - image->start;
	}
	if (!si_patch_commit(&patches, text))
		return false;
	si_text_number(text, patches.count);
	si_text_add(text, " functions of the program's own allocator patched:");
	for (uint32_t i = 0; i < f->count; i++) {
		if (si_own_functions[e[i].function].kind == SI_OWN_USABLE)
			continue;
		si_text_add(text, " ");
		blame(f, &e[i], text);
	}
	return true;
}

bool si_allocator_attach(char *const *environment, struct si_text *text)
{
	struct si_main_image image;
	struct shiny_allocator_file *f;
	char words[SHINY_TEXT];
	struct si_text why;
	const char *fault;
	bool done = false;
	long n;
	int fd;

	if (si_same(si_env.allocator, "off", 4))
		return false;
	si_main_image(&image);
	si_text_init(&why, words, sizeof(words));
	fd = si_probe_open(environment, image.build_id, image.build_id_bytes,
			   SHINY_ALLOCATOR_SUFFIX, &why);
	if (fd == -ENOENT)
		return false;
	f = fd >= 0 ? si_sys_map(SHINY_ALLOCATOR_FILE_MAX + 1, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1)
		    : NULL;
	if (f) {
		n = si_sys(SYS_read, fd, f, SHINY_ALLOCATOR_FILE_MAX + 1);
		fault = fault_of(f, n, &image);
		if (fault) {
			si_text_add(&why, fault);
		} else {
			si_text_init(&why, words, sizeof(words));
			if (f->count)
				done = attach(&image, f, &why);
			else
				si_text_bytes(&why, f->why, length_of(f->why, sizeof(f->why)));
		}
		si_sys_unmap(f, SHINY_ALLOCATOR_FILE_MAX + 1);
	}
	if (fd >= 0)
		si_sys_close(fd);
	if (!done && why.used)
		si_text_add(text, "; the program's own allocator is not patched: ");
	else if (done)
		si_text_add(text, text->used ? "; " : "");
	si_text_add(text, words);
	return done;
}
