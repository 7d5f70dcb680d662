/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.c: see split.h.
 *
 * libdw looks for a .dwo beside the file with the skeleton and in the directory where it was
 * compiled. This module also finds NAME.dwp beside the module, its debug file or in the user's
 * directories, and a .dwo beside the module or in the user's directories, by its whole path, its
 * relative path or its name alone. A unit's id decides, never the name. It also reads a .dwo with
 * several .debug_info.dwo sections, as gcc writes them with -fdebug-types-section: libdw sees only
 * the last one.
 */
#define _GNU_SOURCE /* asprintf */

#include "split.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/base/mem.h"
#include "dwp.h"
#include "split_image.h"
#include "../elf/unpack.h"

/* A split unit, opened or searched in vain. */
struct made {
	uint64_t id;
	struct dwp dwo; /* closed if the .dwp has its pieces */
	struct split_image image;
	Dwarf_Die die;
};

struct split {
	char *dwarf_path, *path;
	const char *const *debug_dirs;
	struct dwp dwp;
	bool dwp_tried;
	struct made **made;
	size_t made_count, made_room;
};

struct split *split_create(const char *dwarf_path, const char *path, const char *const *debug_dirs)
{
	struct split *split = mem_zero(1, sizeof(*split));

	split->dwarf_path = mem_text(dwarf_path);
	split->path = mem_text(path ? path : dwarf_path);
	split->debug_dirs = debug_dirs;
	split->dwp.fd = -1;
	return split;
}

void split_destroy(struct split *split)
{
	if (!split)
		return;
	for (size_t i = 0; i < split->made_count; i++) {
		split_image_destroy(&split->made[i]->image);
		dwp_close(&split->made[i]->dwo);
		free(split->made[i]);
	}
	free(split->made);
	dwp_close(&split->dwp);
	free(split->dwarf_path);
	free(split->path);
	free(split);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- the .dwp ---- */

/* Returns the `n`th possible path of the .dwp; NULL: there are no more. */
static char *dwp_place(const struct split *split, size_t n)
{
	const char *name = base_name(split->path), *dir;
	size_t length = strlen(split->dwarf_path), dirs = 0;
	struct stat st;

	switch (n) {
	case 0:
		return mem_format("%s.dwp", split->path);
	case 1:
		return mem_format("%s.dwp", split->dwarf_path);
	case 2: /* NAME.debug has NAME.dwp */
		if (length > 6 && !strcmp(split->dwarf_path + length - 6, ".debug"))
			length -= 6;
		return mem_format("%.*s.dwp", (int)length, split->dwarf_path);
	}
	while (split->debug_dirs && split->debug_dirs[dirs])
		dirs++;
	if (n - 3 >= dirs)
		return NULL;
	dir = split->debug_dirs[n - 3];
	if (!stat(dir, &st) && S_ISREG(st.st_mode))
		return mem_text(dir);
	return mem_format("%s/%s.dwp", dir, name);
}

/* Opens the first valid .dwp. `where` and `trouble` may both be NULL. */
static bool open_dwp(struct split *split, char where[256], const char **trouble)
{
	char *place;

	split->dwp_tried = true;
	for (size_t n = 0; (place = dwp_place(split, n)); n++) {
		const char *why = dwp_open(&split->dwp, place);

		/* a single file from the user may be anything */
		if (!why && !split->dwp.units.row_count) {
			dwp_close(&split->dwp);
			why = n < 3 ? "without an index of units" : DWP_MISSING;
		}
		if (where && !*where && (!why || (strcmp(why, DWP_MISSING) && n < 3))) {
			snprintf(where, 256, "%s", place);
			*trouble = why;
		}
		free(place);
		if (!why)
			return true;
	}
	return false;
}

/* ---- a .dwo ---- */

static const char *text_of(Dwarf_Die *die, unsigned name, unsigned gnu_name)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr(die, name, &attribute) ||
	    (gnu_name && dwarf_attr(die, gnu_name, &attribute)))
		return dwarf_formstring(&attribute);
	return NULL;
}

/* Returns the `n`th possible path of the .dwo; NULL: there are no more. libdw knows the first
 * two. */
static char *dwo_place(const struct split *split, const char *name, const char *comp_dir, size_t n)
{
	const char *file = n == 1 ? split->path : split->dwarf_path,
		   *inside = *name == '/' ? ""
			     : comp_dir	  ? comp_dir
					  : "",
		   *dir;
	int directory = (int)(base_name(file) - file);
	size_t dirs = 0;

	if (n < 2) /* beside the file with the skeletons, and beside the module */
		return *name == '/' ? mem_text(name) : mem_format("%.*s%s", directory, file, name);
	if (n == 2)
		return mem_format("%s%s%s", inside, *inside ? "/" : "", name);
	while (split->debug_dirs && split->debug_dirs[dirs])
		dirs++;
	if ((n - 3) / 3 >= dirs)
		return NULL;
	dir = split->debug_dirs[(n - 3) / 3];
	switch ((n - 3) % 3) {
	case 0:
		return mem_format("%s/%s", dir, name);
	case 1:
		return mem_format("%s/%s", dir, base_name(name));
	default:
		return mem_format("%s%s/%s", dir, inside, *name == '/' ? name + 1 : name);
	}
}

/* ---- what the file with the skeleton has ---- */

static struct binary_bytes section_of(Dwarf_Die *skeleton, const char *wanted)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(skeleton->cu));
	Elf_Scn *section = NULL;
	size_t strings;

	if (!elf || elf_getshdrstrndx(elf, &strings))
		return (struct binary_bytes){ 0 };
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, strings, header.sh_name)
					   : NULL;
		Elf_Data *data;

		if (!name || strcmp(name, wanted))
			continue;
		/* libdw unpacked it, if it was compressed */
		data = elf_getdata(section, NULL);
		if (data && data->d_buf && header.sh_type != SHT_NOBITS)
			return (struct binary_bytes){ data->d_buf, data->d_size };
	}
	return (struct binary_bytes){ 0 };
}

static struct binary_bytes from_base(struct binary_bytes section, Dwarf_Die *skeleton,
				     unsigned name, unsigned gnu_name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word base;

	if ((!dwarf_attr(skeleton, name, &attribute) &&
	     (!gnu_name || !dwarf_attr(skeleton, gnu_name, &attribute))) ||
	    dwarf_formudata(&attribute, &base))
		return section;
	if (!section.data || base > section.bytes)
		return (struct binary_bytes){ 0 };
	return (struct binary_bytes){ section.data + base, section.bytes - base };
}

static bool base_of(Dwarf_Die *skeleton, struct split_base *out)
{
	Dwarf_Half version;
	uint8_t type;
	uint64_t id, length;
	Dwarf_Addr low;
	uint32_t bytes;

	if (dwarf_cu_info(skeleton->cu, &version, &type, NULL, NULL, &id, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return false;
	*out = (struct split_base){ .id = id, .version = version };
	if (!dwarf_lowpc(skeleton, &low))
		out->low_pc = low;

	struct binary_bytes section = section_of(skeleton, ".debug_addr");

	out->addr = from_base(section, skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base);
	/* DWARF 5: the header before the base gives the length of the unit's addresses */
	if (version >= 5 && section.data && out->addr.data >= section.data + 8) {
		memcpy(&bytes, out->addr.data - 8, 4);
		length = bytes < 4 ? 0 : bytes - 4;
		if (length && length < out->addr.bytes)
			out->addr.bytes = length;
	}
	if (version < 5)
		out->ranges = from_base(section_of(skeleton, ".debug_ranges"), skeleton,
					DW_AT_GNU_ranges_base, 0);
	return true;
}

/* ---- units ---- */

static struct made *add_made(struct split *split, uint64_t id)
{
	struct made *made = mem_zero(1, sizeof(*made));

	split->made = mem_reach(split->made, &split->made_room, split->made_count,
				sizeof(struct made *), 16);
	made->id = id;
	made->dwo.fd = -1;
	return split->made[split->made_count++] = made;
}

/* Opens the unit from `dwp`, the .dwp or a .dwo. */
static bool make(struct made *made, const struct dwp *dwp, const struct split_base *base)
{
	struct dwp_parts parts;

	return dwp_find(dwp, base->id, &parts) &&
	       split_image_create(dwp, &parts, base, &made->image, &made->die);
}

bool split_unit(struct split *split, Dwarf_Die *skeleton, Dwarf_Die *out)
{
	const char *name = text_of(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name),
		   *comp_dir = text_of(skeleton, DW_AT_comp_dir, 0);
	struct split_base base;
	struct made *made;
	bool good = false;
	char *place;

	if (!base_of(skeleton, &base))
		return false;
	for (size_t i = 0; i < split->made_count; i++)
		if (split->made[i]->id == base.id) {
			*out = split->made[i]->die;
			return split->made[i]->image.elf.dwarf;
		}
	made = add_made(split, base.id);
	if (!split->dwp_tried)
		open_dwp(split, NULL, NULL);
	if (split->dwp.elf)
		good = make(made, &split->dwp, &base);
	for (size_t n = 0; !good && name && (place = dwo_place(split, name, comp_dir, n)); n++) {
		if (!dwp_open(&made->dwo, place)) {
			good = !made->dwo.units.row_count && make(made, &made->dwo, &base);
			if (!good)
				dwp_close(&made->dwo);
		}
		free(place);
	}
	if (good)
		*out = made->die;
	return good;
}

bool split_in_pieces(Dwarf_Die *unit)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
	Elf_Scn *section = NULL;
	size_t strings, count = 0;

	if (!elf || elf_getshdrstrndx(elf, &strings))
		return false;
	while (count < 2 && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, strings, header.sh_name)
					   : NULL;

		count += name && !strcmp(name, ".debug_info.dwo");
	}
	return count > 1;
}

/* ---- what is missing ---- */

static bool is_there(struct split *split, Dwarf_Die *skeleton, uint64_t id, const char *name)
{
	const char *comp_dir = text_of(skeleton, DW_AT_comp_dir, 0);
	struct dwp_parts parts;
	bool found = false;
	char *place;

	if (split->dwp.elf && dwp_find(&split->dwp, id, &parts))
		return true;
	for (size_t n = 0; !found && (place = dwo_place(split, name, comp_dir, n)); n++) {
		found = !access(place, R_OK);
		free(place);
	}
	return found;
}

void split_check(const char *dwarf_path, const char *path, const char *const *debug_dirs,
		 struct split_report *out)
{
	struct split *split = split_create(dwarf_path, path, debug_dirs);
	int fd = open(dwarf_path, O_RDONLY | O_CLOEXEC);
	struct unpacked *unpacked = NULL;
	Dwarf *dwarf = fd >= 0 ? unpacked_begin(fd, &unpacked) : NULL;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	*out = (struct split_report){ .trouble = NULL };
	while (split && dwarf && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		const char *name;
		uint8_t type;
		uint64_t id;

		if (dwarf_cu_info(cu, NULL, &type, NULL, NULL, &id, NULL, NULL) ||
		    type != DW_UT_skeleton)
			continue;
		if (!split->dwp_tried)
			open_dwp(split, out->dwp, &out->trouble);
		name = text_of(&die, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
		out->units++;
		if (name && is_there(split, &die, id, name))
			continue;
		out->missing++;
		if (!*out->example && name)
			snprintf(out->example, sizeof(out->example), "%s", name);
	}
	unpacked_end(dwarf, unpacked);
	if (fd >= 0)
		close(fd);
	split_destroy(split);
}
