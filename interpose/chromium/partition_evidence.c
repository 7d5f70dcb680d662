/* SPDX-License-Identifier: Apache-2.0 */
/* partition_evidence.c: see partition_evidence.h. */
#include "partition_evidence.h"

#include <string.h>

#include "../patch/entry_code.h"

enum { LONGEST_BODY = 1024 };

void si_evidence_blame(struct si_text *t, unsigned entry)
{
	si_text_add(t, "nothing hooked: the executable defines malloc, and its ");
	si_text_add(t, si_entry_rows[entry].symbol);
	si_text_add(t, " ");
}

/* Finds the function that an exported name leads to: a build with control-flow integrity exports a
 * jump to it. */
static void find_body(const struct si_image *image, struct si_entry *e)
{
	const struct si_segment *s = si_segment_of(image, e->at, 8);
	uintptr_t target = s && s->executable && e->size >= 5
				   ? si_decode_jump((const uint8_t *)e->at, e->at)
				   : 0;

	if (!target)
		return;
	e->at = target;
	e->size = LONGEST_BODY; /* no symbol has its size: decoding finds the end */
	s = si_segment_of(image, target, 1);
	if (s && s->end - target < e->size)
		e->size = s->end - target;
}

/* Decodes all entries; they must agree on one head, and each must keep to its frame. */
static bool decode_entries(const struct si_image *image, const struct si_entry *entries,
			   struct si_evidence *e, struct si_text *t)
{
	struct si_decode_error error;

	memset(e, 0, sizeof(*e));
	for (unsigned i = 0; i < si_entry_count; i++) {
		struct si_entry *entry = &e->entry[i];
		struct si_recipe *recipe = &e->recipe[i];
		const struct si_segment *s;

		*entry = entries[i];
		if (!entry->at) {
			if (si_entry_rows[i].need != SI_ENTRY_NEEDED)
				continue;
			si_evidence_blame(t, i);
			si_text_add(t, "is not its own");
			return false;
		}
		find_body(image, entry);
		s = si_segment_of(image, entry->at, entry->size);
		if (!s || !s->executable || !entry->size) {
			si_evidence_blame(t, i);
			si_text_add(t, "has no size, or lies outside its code");
			return false;
		}
		if (!si_decode_dispatch((const uint8_t *)entry->at, entry->size, entry->at, recipe,
					&error)) {
			if (si_entry_rows[i].need == SI_ENTRY_SPARE)
				continue;
			si_evidence_blame(t, i);
			si_text_add(t, "is not PartitionAlloc's as we know it: at +");
			si_text_hex(t, error.offset);
			si_text_add(t, " ");
			si_text_add(t, error.reason);
			return false;
		}
		if (entry->at != entries[i].at)
			entry->size = recipe->reach;
		if (e->head && recipe->head != e->head) {
			si_evidence_blame(t, i);
			si_text_add(t, "loads ");
			si_text_hex(t, recipe->head - image->bias);
			si_text_add(t, " where the entries before it load the chain's head from ");
			si_text_hex(t, e->head - image->bias);
			return false;
		}
		e->head = recipe->head;
		e->guarded |= recipe->guard_count != 0;
		e->agreed++;
	}
	return true;
}

/* Counts the arguments from `from` on that are zero. */
static unsigned zeros(const struct si_recipe *recipe, unsigned from)
{
	unsigned n = 0;

	while (from + n < SI_ARGS && recipe->argument[from + n] == SI_ARG_ZERO)
		n++;
	return n;
}

/*
 * Finds the convention by which all entries call their slots. e->self: the first argument is the
 * table itself. e->token: the calls that allocate end with two zeros, token and context, where the
 * others end with one. The slot's own arguments (row->arguments) lie in between.
 */
static bool find_convention(struct si_evidence *e, struct si_text *t)
{
	bool known = false;
	unsigned with_token = 0, without = 0;

	for (unsigned i = 0; i < si_entry_count; i++) {
		const struct si_recipe *r = &e->recipe[i];
		bool self = r->argument[0] == SI_ARG_TABLE;

		if (!r->head)
			continue;
		if (known && self != e->self) {
			si_evidence_blame(t, i);
			si_text_add(t, self ? "hands over its table first, and others do not"
					    : "does not hand over its table first, and others do");
			return false;
		}
		known = true;
		e->self = self;
	}
	for (unsigned i = 0; i < si_entry_count; i++) {
		const struct si_recipe *r = &e->recipe[i];
		const struct si_entry_row *row = &si_entry_rows[i];

		/* malloc and calloc leave no other zero in a register */
		if (!r->head || row->need != SI_ENTRY_NEEDED ||
		    !(row->slots & (SI_ONE(SI_ALLOC) | SI_ONE(SI_ZEROED))))
			continue;
		if (zeros(r, e->self + (unsigned)strlen(row->arguments)) >= 2)
			with_token++;
		else
			without++;
	}
	if (with_token && without) {
		si_text_add(t, "nothing hooked: the executable's malloc and calloc do not agree on "
			       "their arguments");
		return false;
	}
	e->token = with_token != 0;
	return true;
}

bool si_evidence_fits(const struct si_evidence *e, unsigned i, enum si_slot slot)
{
	const struct si_recipe *r = &e->recipe[i];
	const char *own = si_entry_rows[i].arguments;
	unsigned n = si_slot_arguments[slot], first = e->self;

	for (unsigned k = 0; k < n; k++) {
		uint8_t holds = r->argument[first + k];

		if (own[k] != '?' && holds >= SI_ARG_OWN &&
		    holds != SI_ARG_OWN + (unsigned)(own[k] - '0'))
			return false;
		if (holds == SI_ARG_TABLE)
			return false;
	}
	return zeros(r, first + n) >= 1u + (e->token && si_slot_allocates(slot));
}

enum si_slot si_evidence_slot(const struct si_layout *layout, const struct si_evidence *e,
			      unsigned i)
{
	uint32_t n = e->recipe[i].offset / 8;

	if (e->recipe[i].offset % 8 || n >= layout->slots ||
	    !(SI_ONE(layout->slot[n]) & si_entry_rows[i].slots))
		return SI_SLOTS;
	return layout->slot[n];
}

bool si_evidence_read(const struct si_image *image, const struct si_entry *entries,
		      struct si_evidence *e, struct si_text *t)
{
	return decode_entries(image, entries, e, t) && find_convention(e, t);
}
