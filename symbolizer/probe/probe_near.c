/* SPDX-License-Identifier: Apache-2.0 */
/* probe_near.c: see probe_near.h. */
#define _GNU_SOURCE /* memmem */
#include "probe_near.h"

#include <inttypes.h>
#include <string.h>

#include "../flow/patch_recipe.h"
#include "probe_sweep.h"

enum { ALIGNMENT = 16, PAGE = 4096 };

struct near_code near_code_of(const struct binary *file, const struct probe_draft *draft)
{
	struct near_code near = { .file = file };
	uint64_t middle = 0, room;

	for (uint32_t i = 0; i < draft->head.entry_count && !middle; i++)
		if (draft->head.entries[i].kind == SHINY_PROBE_ALLOCATE)
			middle = draft->head.entries[i].vaddr;
	if (!middle)
		return near;
	near.low = middle > PROBE_NEAR ? middle - PROBE_NEAR : 0;
	while (near.low < middle && !(binary_flags(file, near.low) & PF_X))
		near.low += PAGE;
	near.low = (near.low + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	room = binary_room(file, near.low);
	near.bytes = room > 2 * (uint64_t)PROBE_NEAR ? 2 * (uint64_t)PROBE_NEAR : room;
	near.code = near.bytes > PROBE_NEAR_FRONT ? binary_at(file, near.low, near.bytes) : NULL;
	return near;
}

const uint8_t *near_find(const struct near_code *near, const uint8_t *from, const void *bytes,
			 unsigned count)
{
	if (!near->code)
		return NULL;
	if (!from)
		from = near->code + PROBE_NEAR_FRONT;
	return memmem(from, (size_t)(near->code + near->bytes - from), bytes, count);
}

bool near_is_start(const struct near_code *near, uint64_t vaddr)
{
	const uint8_t *byte;

	if (vaddr % ALIGNMENT || vaddr <= near->low || vaddr - near->low >= near->bytes)
		return false;
	byte = near->code + (vaddr - near->low);
	/* padding, ret, nop, or ud2 */
	return byte[-1] == 0xcc || byte[-1] == 0xc3 || byte[-1] == 0x90 || byte[-1] == 0x00 ||
	       byte[-1] == 0x0b;
}

/* Stops at a call. A jump is no proof: it may be a loop's. */
static bool no_call(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	const struct binary *file = context;
	const uint8_t *opcode = binary_at(file, vaddr, 1);

	(void)worker;
	(void)address;
	return !opcode || *opcode != 0xe8;
}

static bool is_called(const struct binary *file, uint64_t vaddr)
{
	return !sweep_code(&(struct probe_sweep){ .file = file,
						  .form = SWEEP_CALL,
						  .low = vaddr,
						  .high = vaddr + 1,
						  .place = no_call,
						  .context = (void *)(uintptr_t)file });
}

static bool is_named(const struct binary *file, uint64_t vaddr)
{
	static const uint32_t tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	Elf64_Shdr section;

	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
		struct binary_bytes bytes = { NULL, 0 };
		Elf64_Sym symbol;

		if (binary_section_typed(file, tables[t], &section))
			bytes = binary_section_bytes(file, &section);
		for (size_t at = 0; bytes.data && bytes.bytes - at >= sizeof(symbol);
		     at += sizeof(symbol)) {
			memcpy(&symbol, bytes.data + at, sizeof(symbol));
			if (symbol.st_value == vaddr && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
				return true;
		}
	}
	return false;
}

uint64_t near_function(const struct near_code *near, const uint8_t *at, unsigned before,
		       near_is_fn *is, void *context)
{
	uint64_t vaddr = near_vaddr(near, at);

	for (uint64_t start = vaddr & ~(uint64_t)(ALIGNMENT - 1);
	     start + before > vaddr && start > near->low; start -= ALIGNMENT)
		if (near_is_start(near, start) && is(near->file, start, context) &&
		    (is_called(near->file, start) || is_named(near->file, start)))
			return start;
	return 0;
}

bool near_add_entry(const struct binary *file, struct probe_draft *draft, const char *about,
		    const struct shiny_probe_entry *entry, bool call)
{
	struct shiny_probe_entry *added = &draft->head.entries[draft->head.entry_count];
	const uint8_t *code = binary_at(file, entry->vaddr, SHINY_PROBE_CODE);
	struct shiny_patch_recipe recipe;
	const char *why;

	if (draft->head.entry_count == SHINY_PROBE_ENTRIES)
		why = "there are too many others";
	else if (!code)
		why = "its code isn't in the file";
	else
		why = call ? patch_recipe_make_call(file, entry->vaddr, &recipe)
			   : patch_recipe_make(file, entry->vaddr, 0, &recipe);
	if (why) {
		probe_draft_note(draft, about, SHINY_PROBE_UNKNOWN,
				 "the %s at 0x%" PRIx64 " can't be patched: %s",
				 call ? "call" : "function", entry->vaddr, why);
		return false;
	}
	*added = *entry;
	added->confidence = SHINY_PROBE_HIGH;
	added->handle = added->alignment = added->index = added->space = SHINY_PROBE_NO_ARGUMENT;
	added->slot = added->trace = added->finalizer = added->name = added->info =
		SHINY_PROBE_NO_ARGUMENT;
	added->code_bytes = SHINY_PROBE_CODE;
	memcpy(added->code, code, SHINY_PROBE_CODE);
	draft->head.entry_count++;
	probe_draft_recipe(draft, &recipe);
	return true;
}
