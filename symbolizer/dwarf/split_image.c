/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_image.c: see split_image.h.
 *
 * The problem. elfutils 0.188 can't read a .dwp, and it looks for a .dwo in two places only. The
 * link between a split unit and its skeleton (the place of its addresses, and their base) is
 * private to libdw, so that a unit found by other means has names and no addresses.
 *
 * The approach. Build a file that libdw can read: an ELF file in memory with the unit's pieces as
 * .debug_*.dwo sections. It contains all that libdw needs:
 *   addresses   libdw reads a .debug_addr.dwo as well; it gets the skeleton's .debug_addr from
 *               DW_AT_addr_base on, because a unit without that attribute starts at 0. The same
 *               holds for DWARF 4's .debug_ranges and DW_AT_GNU_ranges_base
 *   the others  .debug_str_offsets, .debug_loclists and .debug_rnglists need no base in a split
 *               unit: libdw reads from the first header on, and each piece has its own
 *   low_pc      the base of range and location lists, in the skeleton. If it isn't 0 it must get
 *               into the unit's DIE, without moving anything, because references are offsets in
 *               the unit:
 *                 DWARF 5  the header of a split unit is 8 bytes longer than that of an ordinary
 *                          unit (its id). So the header becomes an ordinary one, and the 8 bytes
 *                          begin the unit's DIE: its abbreviation code, DW_AT_low_pc as an index
 *                          into .debug_addr, DW_AT_stmt_list, and the old code, which becomes the
 *                          value of an unknown attribute.
 *                 DWARF 4  the 8 bytes of DW_AT_GNU_dwo_id become DW_AT_low_pc; the id moves into
 *                          the abbreviation.
 *               The new abbreviation precedes the others; the first one with a code counts.
 * The sections aren't copied (section_image.h): the strings of a .dwp are hundreds of megabytes.
 *
 * Not covered: type units of DWARF 4 (.debug_types.dwo), and type units that another .dwo
 * contributed to the .dwp.
 */
#include "split_image.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADER_V5 = 20,
	HEADER_ORDINARY = 12,
	TYPE_AT = 6,
	ABBREV_AT = 8,
	ID_AT = 12,
	ABBREV_AT_V4 = 6,
	SPARE_ATTRIBUTE = 0x3fff
};

struct abbreviation_reader {
	const uint8_t *at, *end;
	bool good;
};

static uint64_t uleb(struct abbreviation_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
		uint8_t byte = *r->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->good = false;
	return 0;
}

static uint8_t *put_uleb(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

static uint8_t *put_sleb(uint8_t *to, int64_t value)
{
	while (value >= 64 || value < -64) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)(value & 0x7f);
	return to;
}

static uint8_t *put_attribute(uint8_t *to, unsigned name, unsigned form)
{
	return put_uleb(put_uleb(to, name), form);
}

static uint32_t u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Returns the offset in `info` of the unit with the id (DWARF 4: of the first); SIZE_MAX: none. */
static size_t find_unit(struct binary_bytes info, const struct split_base *base)
{
	for (size_t at = 0; info.bytes - at >= HEADER_V5;) {
		const uint8_t *unit = info.data + at;
		uint64_t bytes = (uint64_t)u32(unit) + 4;
		unsigned version = unit[4] | unit[5] << 8;

		if (bytes < HEADER_V5 || bytes > info.bytes - at || version != base->version)
			return SIZE_MAX;
		if (version < 5)
			return at;
		if (unit[TYPE_AT] == DW_UT_split_compile && !memcmp(unit + ID_AT, &base->id, 8))
			return at;
		at += bytes;
	}
	return SIZE_MAX;
}

/* Finds abbreviation `code` in `table`, which starts at `*start`; `out` reads from its tag to the
 * end of its attributes. */
static bool find_abbreviation(struct binary_bytes table, uint64_t offset, uint64_t code,
			      const uint8_t **start, struct abbreviation_reader *out)
{
	struct abbreviation_reader r = { table.data + offset, table.data + table.bytes, true };

	if (offset > table.bytes)
		return false;
	while (r.good) {
		const uint8_t *first = r.at, *tag;
		uint64_t here = uleb(&r);

		tag = r.at;
		if (!here)
			return false;
		uleb(&r);
		if (r.at++ >= r.end)
			return false;
		for (uint64_t name = 1, form = 1; r.good && (name || form);) {
			name = uleb(&r);
			form = uleb(&r);
			if (form == DW_FORM_implicit_const)
				uleb(&r);
		}
		if (r.good && here == code) {
			*start = first;
			*out = (struct abbreviation_reader){ tag, r.at, true };
			return true;
		}
	}
	return false;
}

/*
 * Gives the unit at info + `at` abbreviations of its own with a low_pc, after a copy of `table`,
 * which they replace. `dwo_id` is the content of DWARF 4's attribute in the info, NULL in DWARF 5.
 */
static bool set_low_pc(struct split_image *image, size_t at, size_t bytes,
		       struct binary_bytes *table, const struct split_base *base, uint8_t *dwo_id,
		       uint64_t index)
{
	bool v5 = base->version >= 5;
	uint8_t *unit = image->info + at, *to;
	uint8_t *offset_at = unit + (v5 ? ABBREV_AT : ABBREV_AT_V4),
		*die = unit + (v5 ? HEADER_V5 : 11);
	struct abbreviation_reader code_reader = { die, unit + bytes, true }, old;
	uint64_t code = uleb(&code_reader), offset = u32(offset_at);
	uint32_t new_offset = (uint32_t)table->bytes;
	const uint8_t *start;

	/* a code of more than a byte would leave no room before it */
	if (!code_reader.good || !code || code >= 0x80 || index >= 1u << 24 ||
	    !find_abbreviation(*table, offset, code, &start, &old) || table->bytes >= UINT32_MAX)
		return false;

	const uint8_t *behind = old.end;

	/* the unit's abbreviation with more attributes, then all others */
	image->abbrev = malloc(2 * table->bytes + (size_t)(old.end - old.at) + 64);
	if (!image->abbrev)
		return false;
	memcpy(image->abbrev, table->data, table->bytes);
	to = put_uleb(image->abbrev + table->bytes, code);
	to = put_uleb(to, uleb(&old));
	*to++ = *old.at++;
	if (v5) {
		to = put_attribute(to, DW_AT_low_pc, DW_FORM_addrx3);
		to = put_attribute(to, DW_AT_stmt_list, DW_FORM_sec_offset);
		to = put_attribute(to, SPARE_ATTRIBUTE, DW_FORM_udata);
		memcpy(to, old.at, (size_t)(old.end - old.at));
		to += old.end - old.at;
	} else {
		for (uint64_t name = 1, form = 1; old.good && (name || form);) {
			name = uleb(&old);
			form = uleb(&old);
			if (name == DW_AT_GNU_dwo_id && form == DW_FORM_data8) {
				to = put_sleb(put_attribute(to, DW_AT_GNU_dwo_id,
							    DW_FORM_implicit_const),
					      (int64_t)base->id);
				to = put_attribute(to, DW_AT_low_pc, DW_FORM_addr);
			} else {
				to = put_attribute(to, (unsigned)name, (unsigned)form);
			}
			if (form == DW_FORM_implicit_const)
				return false;
		}
		memcpy(dwo_id, &base->low_pc, 8);
	}
	memcpy(to, table->data + offset, (size_t)(start - table->data - offset));
	to += start - table->data - offset;
	memcpy(to, behind, (size_t)(table->data + table->bytes - behind));
	to += table->data + table->bytes - behind;
	*table = (struct binary_bytes){ image->abbrev, (size_t)(to - image->abbrev) };
	memcpy(offset_at, &new_offset, 4);
	if (v5) {
		unit[TYPE_AT] = DW_UT_compile;
		memset(unit + HEADER_ORDINARY, 0, HEADER_V5 - HEADER_ORDINARY);
		unit[HEADER_ORDINARY] = (uint8_t)code;
		memcpy(unit + HEADER_ORDINARY + 1, &index, 3);
	}
	return true;
}

/* Copies the .debug_info for the image: the unit's, and that of the type units from the same
 * .dwo. */
static struct binary_bytes copy_info(struct split_image *image, const struct dwp *dwp,
				     const struct dwp_parts *parts)
{
	struct binary_bytes info = parts->at[DWP_INFO], more;
	size_t bytes = info.bytes, types = 0, at = 0;

	while ((more = dwp_type_unit(dwp, parts, &at)).data)
		types += more.bytes;
	image->info = malloc(bytes + types);
	if (!image->info)
		return (struct binary_bytes){ 0 };
	memcpy(image->info, info.data, bytes);
	at = 0;
	/* at most the counted ones: the file may change meanwhile */
	while (types && (more = dwp_type_unit(dwp, parts, &at)).data && more.bytes <= types) {
		memcpy(image->info + bytes, more.data, more.bytes);
		bytes += more.bytes;
		types -= more.bytes;
	}
	return (struct binary_bytes){ image->info, bytes };
}

void split_image_destroy(struct split_image *image)
{
	section_image_close(&image->elf);
	free(image->info);
	free(image->abbrev);
	free(image->addr);
	*image = (struct split_image){ .info = NULL };
}

static bool open_parts(struct split_image *image, struct binary_bytes info,
		       struct binary_bytes abbrev, struct binary_bytes addr,
		       const struct dwp_parts *parts, const struct split_base *base,
		       Dwarf_Die *unit, size_t at)
{
	static const char *const all[] = { ".debug_info.dwo",	  ".debug_abbrev.dwo",
					   ".debug_addr.dwo",	  ".debug_ranges.dwo",
					   ".debug_line.dwo",	  ".debug_loc.dwo",
					   ".debug_loclists.dwo", ".debug_str_offsets.dwo",
					   ".debug_rnglists.dwo", ".debug_str.dwo" };
	const struct binary_bytes *p = parts->at;
	bool v5 = base->version >= 5;
	const struct binary_bytes none = { 0 }, content[] = { info,
							      abbrev,
							      addr,
							      v5 ? none : base->ranges,
							      p[DWP_LINE],
							      v5 ? none : p[DWP_LOC],
							      v5 ? p[DWP_LOCLISTS] : none,
							      p[DWP_STR_OFFSETS],
							      v5 ? p[DWP_RNGLISTS] : none,
							      p[DWP_STR] };
	struct binary_bytes sections[sizeof(all) / sizeof(*all)];
	const char *names[sizeof(all) / sizeof(*all)];
	size_t count = 0, size;
	Dwarf_Off next;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!content[i].data || !content[i].bytes)
			continue;
		names[count] = all[i];
		sections[count++] = content[i];
	}
	section_image_close(&image->elf);
	return section_image_open(&image->elf, sections, names, count) &&
	       !dwarf_nextcu(image->elf.dwarf, at, &next, &size, NULL, NULL, NULL) &&
	       dwarf_offdie(image->elf.dwarf, at + size, unit);
}

/* Copies `addr` and appends `low_pc`; returns its index; UINT64_MAX: out of memory. */
static uint64_t add_address(struct split_image *image, struct binary_bytes *addr, uint64_t low_pc)
{
	size_t bytes = addr->bytes & ~(size_t)7;

	image->addr = malloc(bytes + 8);
	if (!image->addr)
		return UINT64_MAX;
	if (bytes)
		memcpy(image->addr, addr->data, bytes);
	memcpy(image->addr + bytes, &low_pc, 8);
	*addr = (struct binary_bytes){ image->addr, bytes + 8 };
	return bytes / 8;
}

bool split_image_create(const struct dwp *dwp, const struct dwp_parts *parts,
			const struct split_base *base, struct split_image *out, Dwarf_Die *unit)
{
	struct split_image image = { .info = NULL };
	struct binary_bytes abbrev = parts->at[DWP_ABBREV], addr = base->addr, info;
	size_t at = find_unit(parts->at[DWP_INFO], base);
	bool v5 = base->version >= 5, good = false;
	Dwarf_Die die;

	if (at == SIZE_MAX || base->version < 4)
		return false;
	info = copy_info(&image, dwp, parts);
	if (!info.data)
		goto out;
	good = open_parts(&image, info, abbrev, addr, parts, base, &die, at);
	if (good && (base->low_pc || !v5)) {
		size_t bytes = (size_t)u32(image.info + at) + 4;
		Dwarf_Attribute id;
		Dwarf_Word value;
		uint64_t index = 0;

		/* the id of a DWARF 4 unit is in its DIE */
		if (!v5)
			good = dwarf_attr(&die, DW_AT_GNU_dwo_id, &id) &&
			       !dwarf_formudata(&id, &value) && value == base->id;
		if (good && base->low_pc) {
			index = v5 ? add_address(&image, &addr, base->low_pc) : 0;
			good = (v5 || id.form == DW_FORM_data8) &&
			       set_low_pc(&image, at, bytes, &abbrev, base, v5 ? NULL : id.valp,
					  index) &&
			       open_parts(&image, info, abbrev, addr, parts, base, &die, at);
		}
	}
out:
	if (!good) {
		split_image_destroy(&image);
		return false;
	}
	*out = image;
	*unit = die;
	return true;
}
