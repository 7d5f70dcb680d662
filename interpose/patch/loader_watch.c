/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_watch.c: see loader_watch.h.
 *
 * r_brk is an empty function, which the loader calls whenever its list begins or ends to change,
 * so that a debugger can put a breakpoint there. Its entry is patched (patcher.c) if it is a return
 * with padding behind it: the bytes that the jump needs beyond the return are never run. Behind the
 * last change of a dlopen the new modules are mapped and not bound yet.
 *
 * From glibc 2.35 on, the first namespace's r_debug leads to those of dlmopen. dl_iterate_phdr does
 * not report their modules; so modules.c gets them from here.
 */
#define _GNU_SOURCE
#include "loader_watch.h"

#include <elf.h>

#include "../hook/record_event.h"
#include "../unwind/modules.h"
#include "patcher.h"

enum { RETURN = 0xc3, ENDBR = 4, EXTENDED = 2, SEEN = 4096, SEEN_MAX = 3000 };

static const struct r_debug *first; /* of the first namespace */
static si_loader_meet_fn *meet;

/* The modules of the last look: those with its number. A module at the place of one that was
 * unloaded is recognised as new, because each change is a look. */
static struct {
	const void *dynamic;
	uint64_t look;
} seen[SEEN];
static uint64_t look;
static unsigned seen_count;

static const struct r_debug *next_of(const struct r_debug *r)
{
	return first->r_version >= EXTENDED
		       ? (const struct r_debug *)((const struct r_debug_extended *)r)->r_next
		       : NULL;
}

static bool is_consistent(void)
{
	for (const struct r_debug *r = first; r; r = next_of(r))
		if (r->r_state != RT_CONSISTENT)
			return false;
	return true;
}

static unsigned place_of(const void *dynamic)
{
	unsigned at = ((uintptr_t)dynamic >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52;

	while (seen[at].dynamic && seen[at].dynamic != dynamic)
		at = (at + 1) % SEEN;
	return at;
}

bool si_loader_has(const void *dynamic)
{
	return seen[place_of(dynamic)].look + 1 >= look;
}

/* True if the module was not there at the last look; marks it as seen. */
static bool is_new(const void *dynamic)
{
	unsigned at = place_of(dynamic);
	bool known;

	if (!seen[at].dynamic && seen_count++ >= SEEN_MAX)
		return false;
	known = seen[at].look && seen[at].look + 1 >= look;
	seen[at].dynamic = dynamic;
	seen[at].look = look;
	return !known;
}

static void look_at_modules(bool starts)
{
	look++;
	for (const struct r_debug *r = first; r; r = next_of(r))
		for (const struct link_map *map = r->r_map; map; map = map->l_next)
			if (is_new(map->l_ld) && !starts)
				meet(map, r != first);
}

/* Called in place of r_brk. */
static void changed(void)
{
	if (!is_consistent())
		return;
	look_at_modules(false);
	for (const struct r_debug *r = next_of(first); r; r = next_of(r))
		for (const struct link_map *map = r->r_map; map; map = map->l_next)
			si_modules_elsewhere(map);
	if (si_modules_elsewhere_end())
		si_event_modules_changed();
}

static int find_debug(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size, (void)context;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			for (const ElfW(Dyn) *entry =
				     (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
			     entry->d_tag != DT_NULL; entry++)
				if (entry->d_tag == DT_DEBUG)
					first = (const struct r_debug *)entry->d_un.d_ptr;
	return 1; /* the executable comes first */
}

/* True if the bytes behind a return are assemblers' padding, not code. */
static bool is_padding(const uint8_t *at)
{
	static const char *const fillings[] = {
		"\x66\x66\x2e\x0f", "\x66\x2e\x0f\x1f", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00",
		"\x0f\x1f\x80\x00", "\x0f\x1f\x84\x00", "\xcc\xcc\xcc\xcc", "\x90\x90\x90\x90",
	};

	for (unsigned i = 0; i < sizeof(fillings) / sizeof(*fillings); i++)
		if (si_same((const char *)at, fillings[i], 4))
			return true;
	return false;
}

bool si_loader_watch(si_loader_meet_fn *on_meet)
{
	static const uint8_t endbr64[ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct shiny_patch_recipe recipe = { .displaced = SHINY_PATCH_JUMP,
					     .code = { RETURN },
					     .code_bytes = 1 };
	static struct si_patches patches;
	const uint8_t *entry;
	struct si_text why;
	char words[SHINY_TEXT];

	dl_iterate_phdr(find_debug, NULL);
	if (!first || !first->r_brk)
		return false;
	entry = (const uint8_t *)first->r_brk;
	recipe.vaddr = first->r_brk;
	if (si_same((const char *)entry, (const char *)endbr64, ENDBR))
		recipe.skip = ENDBR;
	recipe.expected_bytes = recipe.skip + SHINY_PATCH_JUMP;
	__builtin_memcpy(recipe.expected, entry, recipe.expected_bytes);
	if (entry[recipe.skip] != RETURN || !is_padding(entry + recipe.skip + 1))
		return false;
	meet = on_meet;
	look_at_modules(true);
	si_text_init(&why, words, sizeof(words));
	if (!si_patch_begin(&patches, 0, first->r_brk, first->r_brk + SHINY_PATCH_EXPECTED, 1,
			    &why))
		return false;
	if (si_patch_add(&patches, &recipe, (void *)changed, &why))
		return si_patch_commit(&patches, &why);
	si_patch_abandon(&patches);
	return false;
}
