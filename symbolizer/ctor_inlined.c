/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_inlined.c: see ctor_inlined.h. One walk over all DIEs; the name of what was inlined is asked for once for each abstract instance.
 * Code that the linker dropped (another unit has the same function) has addresses outside the executable parts of the file.
 */
#include "ctor_inlined.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/base/cleanup.h"
#include "../src/base/hash.h"
#include "../src/base/mem.h"
#include "debugfile.h"

enum { DEPTH_MAX = 512 };
#define BYTES_MAX ((uint64_t)512 << 20) /* of .debug_info: some 10 s */

struct origin {
	const char *die; /* its address in the section; NULL: empty */
	const char *name;
};

struct walk {
	const struct elf_file *file;
	ctor_inlined_fn *each;
	void *context;
	struct origin *origins; /* open addressing; a power of two, or none */
	size_t origin_room, origin_count;
};

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

static struct origin *origin_slot(const struct walk *w, const char *die)
{
	size_t i = hash_mix((uintptr_t)die) & (w->origin_room - 1);

	while (w->origins[i].die && w->origins[i].die != die)
		i = (i + 1) & (w->origin_room - 1);
	return &w->origins[i];
}

static const char *name_of_origin(struct walk *w, Dwarf_Die *inlined)
{
	Dwarf_Attribute attribute;
	struct origin *slot;
	Dwarf_Die origin;

	if (!dwarf_attr(inlined, DW_AT_abstract_origin, &attribute) || !dwarf_formref_die(&attribute, &origin))
		return NULL;
	if ((w->origin_count + 1) * 2 > w->origin_room) {
		struct origin *old = w->origins;
		size_t room = w->origin_room;

		w->origin_room = room ? room * 2 : 1024;
		w->origins = mem_zero(w->origin_room, sizeof *w->origins);
		for (size_t i = 0; i < room; i++)
			if (old[i].die)
				*origin_slot(w, old[i].die) = old[i];
		free(old);
	}
	slot = origin_slot(w, origin.addr);
	if (!slot->die) {
		w->origin_count++;
		slot->die = origin.addr;
		slot->name = linkage_name(&origin);
	}
	return slot->name;
}

/* Whether it has code in the file. */
static bool is_there(const struct walk *w, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (end > start && elf_file_flags(w->file, start) & PF_X)
			return true;
	return false;
}

static void walk_die(struct walk *w, Dwarf_Die *die, const char *into, unsigned depth)
{
	Dwarf_Die child;
	const char *name, *before;

	if (depth == DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		before = child.addr;
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			name = name_of_origin(w, &child);
			if (name && name[0] == '_' && name[1] == 'Z' && is_there(w, &child))
				w->each(w->context, name, into);
			walk_die(w, &child, into, depth + 1);
			break;
		case DW_TAG_subprogram:
			if (dwarf_haschildren(&child))
				walk_die(w, &child, linkage_name(&child), depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			walk_die(w, &child, into, depth + 1);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child) && (const char *)child.addr > before);
}

/* dwz: what files share. */
static Dwarf *open_alternate(const struct elf_file *file, int *fd)
{
	const uint8_t *id;
	AUTO_FREE char *path = NULL;
	size_t bytes;

	if (!debugfile_alternate(file, &id, &bytes))
		return NULL;
	path = debugfile_by_id(id, bytes, NULL);
	*fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return *fd >= 0 ? dwarf_begin(*fd, DWARF_C_READ) : NULL;
}

bool ctor_inlined_each(const struct elf_file *file, const char *path, ctor_inlined_fn *each, void *context)
{
	struct walk w = { .file = file, .each = each, .context = context };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC), alt_fd = -1;
	Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL, *alternate = NULL;
	struct elf_file with_dwarf;
	Dwarf_CU *cu = NULL;
	bool whole = dwarf != NULL;
	Elf64_Shdr section;
	Dwarf_Die die;
	uint8_t type;

	if (whole && elf_file_open(&with_dwarf, path) == ELF_OPEN_OK) {
		whole = elf_file_section_named(&with_dwarf, ".debug_info", &section) && section.sh_size <= BYTES_MAX;
		if (whole && (alternate = open_alternate(&with_dwarf, &alt_fd)))
			dwarf_setalt(dwarf, alternate);
		elf_file_close(&with_dwarf);
	}
	while (whole && !dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type == DW_UT_skeleton)
			whole = false;
		else if (type == DW_UT_compile || type == DW_UT_partial)
			walk_die(&w, &die, NULL, 0);
	}
	free(w.origins);
	if (dwarf)
		dwarf_end(dwarf);
	if (alternate)
		dwarf_end(alternate);
	return whole;
}
