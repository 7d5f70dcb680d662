/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_overlay.c: see debug_overlay.h.
 *
 * Functions with equal code were compiled from code of one shape, usually from one template. So
 * their DIEs form the same tree, and are paired level by level: DIEs with code (inlined functions,
 * lexical blocks) by size, in order; variables in order, or by name if their numbers differ; calls
 * in order, if their numbers are equal. A DIE without a partner tells nothing.
 */
#include "debug_overlay.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "die.h"

enum { PAIRS_MAX = 1 << 16, NEST_MAX = 64, PIECES_MAX = 64 };

struct overlay_pair {
	const void *kept; /* address of the DIE's bytes */
	Dwarf_Die other;  /* addr NULL: missing */
};
struct overlay {
	VEC(struct overlay_pair) pairs;
	struct hash_table table; /* by `kept` */
	Dwarf_Die unit;		 /* of the other function */
};
/* The children of a DIE of one kind. */
struct overlay_row {
	VEC(Dwarf_Die) dies;
};

static void overlay_free(void *kept)
{
	struct overlay *overlay = kept;

	free(overlay->pairs.at);
	hash_table_deinit(&overlay->table);
	free(overlay);
}

static struct overlay **overlay_of(struct debug_units *units)
{
	static const struct debug_slot slot = { .free = overlay_free };

	return (struct overlay **)debug_units_slot(units, &slot);
}

/* `other` NULL: missing. False: there are too many pairs. */
static bool add_pair(struct overlay *to, const Dwarf_Die *kept, const Dwarf_Die *other)
{
	struct overlay_pair pair = { .kept = kept->addr };

	if (to->pairs.count >= PAIRS_MAX)
		return false;
	if (other)
		pair.other = *other;
	hash_table_add(&to->table, hash_mix((uintptr_t)kept->addr), (uint32_t)to->pairs.count);
	*vec_push(&to->pairs) = pair;
	return true;
}

enum overlay_kind { KIND_CODE, KIND_VARIABLE, KIND_CALL, KINDS };

static enum overlay_kind kind_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
		return KIND_CODE;
	case DW_TAG_variable:
	case DW_TAG_formal_parameter:
		return dwarf_hasattr(die, DW_AT_location) ? KIND_VARIABLE : KINDS;
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
		return KIND_CALL;
	default:
		return KINDS;
	}
}

static void read_rows(Dwarf_Die *around, struct overlay_row rows[KINDS])
{
	Dwarf_Die child;

	memset(rows, 0, KINDS * sizeof(*rows));
	if (dwarf_child(around, &child))
		return;
	do {
		enum overlay_kind kind = kind_of(&child);

		if (kind < KINDS && rows[kind].dies.count < PAIRS_MAX)
			*vec_push(&rows[kind].dies) = child;
	} while (die_next(&child));
}

/* Returns the bytes of a DIE's code; 0: the linker removed its addresses. */
static uint64_t code_bytes(Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	uint64_t bytes = 0;
	ptrdiff_t at = 0;

	for (unsigned i = 0; i < PIECES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;
	     i++)
		bytes += high > low ? high - low : 0;
	return bytes;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_attr_integrate(die, DW_AT_name, &attribute)
				   ? dwarf_formstring(&attribute)
				   : NULL;

	return name ? name : "";
}

static bool alike(enum overlay_kind kind, Dwarf_Die *kept, Dwarf_Die *other, bool in_order)
{
	uint64_t bytes, others;

	if (dwarf_tag(kept) != dwarf_tag(other))
		return false;
	if (kind == KIND_VARIABLE)
		return in_order || !strcmp(name_of(kept), name_of(other));
	if (kind == KIND_CALL)
		return in_order;
	bytes = code_bytes(kept);
	others = code_bytes(other);
	return !bytes || !others || bytes == others;
}

static void pair_children(struct overlay *to, Dwarf_Die *kept, Dwarf_Die *other, unsigned nest)
{
	struct overlay_row ours[KINDS], theirs[KINDS];

	if (nest > NEST_MAX)
		return;
	read_rows(kept, ours);
	if (other)
		read_rows(other, theirs);
	else
		memset(theirs, 0, sizeof(theirs));
	for (enum overlay_kind kind = 0; kind < KINDS; kind++) {
		bool in_order = ours[kind].dies.count == theirs[kind].dies.count;
		size_t next = 0;

		for (size_t i = 0; i < ours[kind].dies.count; i++) {
			Dwarf_Die *one = &ours[kind].dies.at[i], *partner = NULL;
			size_t at = next;

			while (at < theirs[kind].dies.count && !partner) {
				if (alike(kind, one, &theirs[kind].dies.at[at], in_order)) {
					partner = &theirs[kind].dies.at[at];
					next = at + 1;
				} else if (in_order && kind != KIND_CODE) {
					break;
				}
				at++;
			}
			if (!add_pair(to, one, partner))
				break;
			if (kind == KIND_CODE)
				pair_children(to, one, partner, nest + 1);
		}
		free(ours[kind].dies.at);
		free(theirs[kind].dies.at);
	}
}

void debug_overlay_set(struct debug_units *units, Dwarf_Die *kept, Dwarf_Die *other)
{
	struct overlay **slot = overlay_of(units);

	if (*slot) {
		overlay_free(*slot);
		*slot = NULL;
	}
	if (!kept)
		return;
	*slot = mem_zero(1, sizeof(**slot));
	if (!dwarf_diecu(other, &(*slot)->unit, NULL, NULL))
		(*slot)->unit = *other;
	add_pair(*slot, kept, other);
	pair_children(*slot, kept, other, 0);
}

enum debug_overlay debug_overlay_die(struct debug_units *units, Dwarf_Die *die)
{
	const struct overlay *overlay = *overlay_of(units);
	uint32_t at = overlay ? hash_table_find(&overlay->table, hash_mix((uintptr_t)die->addr), i,
						overlay->pairs.at[i].kept == die->addr)
			      : HASH_NONE;

	if (at == HASH_NONE)
		return DEBUG_OVERLAY_NONE;
	*die = overlay->pairs.at[at].other.addr ? overlay->pairs.at[at].other : overlay->unit;
	return overlay->pairs.at[at].other.addr ? DEBUG_OVERLAY_OTHER : DEBUG_OVERLAY_MISSING;
}
