/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_layout.c: see die_layout.h.
 *
 * Bases and members are sorted by their offset in bits. A gap before the next one is a hole, the
 * remainder after the last one is padding; less than a byte of either is shown in bits. The rows of
 * a member of class type follow it, one deeper; those of anonymous structs and unions, too, with ""
 * for a name. A class may put its first member into the padding at the end of its base: there,
 * nested padding ends where the next row around it starts. Virtual bases have no fixed place and no
 * row. An empty base takes no bytes.
 *
 * Bounds: ROWS_MAX rows, NEST_MAX classes deep; a class that contains itself ends there.
 */
#include "die_layout.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"
#include "die.h"
#include "die_name.h"

#define NEST_MAX 16
#define ROWS_MAX 100000u

struct layout_row {
	Dwarf_Die die, type;
	uint64_t at, bits; /* in the class, in bits; bits 0: an empty base, a flexible array */
	size_t order;
	bool base, vptr, field; /* field: a bit-field */
};

struct layout_pass {
	struct debug_units *units;
	die_member_fn *each;
	void *context;
	unsigned rows; /* limit of further rows */
	bool enough;
};

ORDER_BY(by_offset, struct layout_row, ORDER_UP(at) ?: ORDER_UP(order))

static bool give(struct layout_pass *layout, const struct die_member *member)
{
	if (layout->enough || !layout->rows || !layout->each(layout->context, member))
		layout->enough = true;
	else
		layout->rows--;
	return !layout->enough;
}

/* Emits the unused bits in [from, to) of a class at byte `base` of the object. */
static void give_unused(struct layout_pass *layout, uint64_t base, uint64_t from, uint64_t to,
			unsigned depth, bool padding)
{
	struct die_member member = { .name = "",
				     .type = padding ? "padding" : "hole",
				     .depth = depth,
				     .what = padding ? DIE_PADDING : DIE_HOLE };
	uint64_t whole = (from + 7) / 8 * 8 < to ? (from + 7) / 8 * 8 : to,
		 end = to / 8 * 8 > whole ? to / 8 * 8 : whole;

	if (from < whole) { /* up to a byte's end */
		member.offset = base + from / 8;
		member.bit_offset = (unsigned)(from % 8);
		member.bit_size = (unsigned)(whole - from);
		if (!give(layout, &member))
			return;
	}
	member.bit_offset = member.bit_size = 0;
	if (whole < end) {
		member.offset = base + whole / 8;
		member.bytes = (end - whole) / 8;
		if (!give(layout, &member))
			return;
	}
	if (end < to) {
		member.offset = base + end / 8;
		member.bytes = 0;
		member.bit_size = (unsigned)(to - end);
		give(layout, &member);
	}
}

/* True for a class without data of its own: as a base it may take no room. */
static bool is_empty(struct debug_units *units, const struct die_type *type, unsigned depth,
		     unsigned *steps)
{
	Dwarf_Die die = type->die, child;

	if (type->kind != DIE_CLASS || type->bytes > 1 || depth > NEST_MAX || !*steps)
		return false;
	--*steps;
	if (dwarf_child(&die, &child))
		return true;
	do {
		struct die_type base;
		uint64_t at;

		if (dwarf_tag(&child) == DW_TAG_member && die_member_offset(&child, &at))
			return false;
		if (dwarf_tag(&child) == DW_TAG_inheritance && die_type_of(units, &child, &base) &&
		    !is_empty(units, &base, depth + 1, steps))
			return false;
	} while (die_next(&child));
	return true;
}

/* The rows of one class, sorted. */
struct layout_rows {
	VEC(struct layout_row) all;
};

static void rows_of(struct layout_pass *layout, Dwarf_Die *class, struct layout_rows *out)
{
	Dwarf_Die child;

	if (dwarf_child(class, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		const char *name = tag == DW_TAG_member ? dwarf_diename(&child) : NULL;
		struct layout_row row = { .die = child,
					  .base = tag == DW_TAG_inheritance,
					  .order = out->all.count };
		struct die_type type;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    out->all.count >= layout->rows ||
		    (row.base && die_number(&child, DW_AT_virtuality)) ||
		    !die_member_offset(&child, &row.at) ||
		    !die_type_of(layout->units, &child, &type) || row.at > UINT64_MAX / 2 ||
		    type.bytes > UINT64_MAX / 16)
			continue;
		row.type = type.die;
		row.vptr = name && !strncmp(name, "_vptr", 5);
		row.bits = (die_descriptor(&type.die) == 1 ? die_descriptor_bytes(&type.die)
							   : type.bytes) *
			   8;
		if (dwarf_hasattr(&child, DW_AT_bit_size)) {
			int bits = dwarf_bitsize(&child);

			row.field = true;
			row.bits = bits > 0 ? (uint64_t)bits : 0;
		} else if (row.base && is_empty(layout->units, &type, 0, &(unsigned){ 1000 })) {
			row.bits = 0;
		}
		*vec_push(&out->all) = row;
	} while (die_next(&child));
	if (out->all.count)
		qsort(out->all.at, out->all.count, sizeof(*out->all.at), by_offset);
}

/* Emits the rows of a class. `base`: its offset in the object; `limit`: its own bits (other members
 * use the padding after them). */
static void walk(struct layout_pass *layout, Dwarf_Die *class, uint64_t base, uint64_t limit,
		 unsigned depth)
{
	bool is_union = dwarf_tag(class) == DW_TAG_union_type;
	struct layout_rows rows = { 0 };
	uint64_t end = 0;
	size_t count;

	rows_of(layout, class, &rows);
	count = rows.all.count;

	for (size_t i = 0; i < count && !layout->enough; i++) {
		struct layout_row *row = &rows.all.at[i];
		Dwarf_Attribute attribute;
		Dwarf_Die written;
		struct die_type type;
		const char *name = row->base ? NULL : dwarf_diename(&row->die);
		bool typed = dwarf_attr(&row->die, DW_AT_type, &attribute) &&
			     dwarf_formref_die(&attribute, &written);
		struct die_member member = {
			.name = row->base ? NULL
				: name	  ? names_text(debug_units_names(layout->units), name)
					  : "",
			.type = typed ? die_type_text(layout->units, &written, true) : "void",
			.offset = base + row->at / 8,
			.bytes = row->field ? 0 : row->bits / 8,
			.bit_offset = row->field ? (unsigned)(row->at % 8) : 0,
			.bit_size = row->field ? (unsigned)row->bits : 0,
			.depth = depth,
			.what = row->base   ? DIE_BASE_CLASS
				: row->vptr ? DIE_VPTR
					    : DIE_MEMBER,
		};
		uint64_t next = is_union || i + 1 == count ? limit : rows.all.at[i + 1].at;

		if (!member.type)
			member.type = "?";
		if (!is_union && row->at > end)
			give_unused(layout, base, end, row->at < limit ? row->at : limit, depth,
				    false);
		if (!give(layout, &member))
			break;
		/* if the next row starts in a base's padding, the remainder of that is no longer
		 * the base's */
		uint64_t behind = row->base && next > row->at && next < row->at + row->bits
					  ? next
					  : row->at + row->bits;

		if (behind > end)
			end = behind;
		if (depth < NEST_MAX && !row->field &&
		    die_type_of(layout->units, &row->die, &type) &&
		    (type.kind == DIE_CLASS || type.kind == DIE_UNION) && row->bits)
			walk(layout, &type.die, base + row->at / 8,
			     next - row->at < row->bits && next > row->at ? next - row->at
									  : row->bits,
			     depth + 1);
	}
	free(rows.all.at);
	if (count && end < limit && !layout->enough)
		give_unused(layout, base, end, limit, depth, true);
}

void die_type_layout(struct debug_units *units, const struct die_type *type, die_member_fn *each,
		     void *context)
{
	struct layout_pass layout = {
		.units = units, .each = each, .context = context, .rows = ROWS_MAX
	};
	Dwarf_Die die = type->die;

	if ((type->kind == DIE_CLASS || type->kind == DIE_UNION) && type->bytes &&
	    type->bytes < UINT64_MAX / 16)
		walk(&layout, &die, 0, type->bytes * 8, 0);
}
