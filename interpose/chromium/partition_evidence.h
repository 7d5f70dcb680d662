/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_evidence.h: decodes the exported entries of an executable's allocator, and combines
 * them into one description of the dispatch chain behind them (partition_alloc.c explains it).
 *
 * Runs: inside, in the constructor. Signals: – Allocates: nothing. Threads: the constructor's.
 */
#ifndef SI_PARTITION_EVIDENCE_H
#define SI_PARTITION_EVIDENCE_H

#include "../core/base.h"
#include "../patch/image.h"
#include "../patch/slot_code.h"
#include "partition_layouts.h"

enum { SI_ENTRIES_MAX = 48 };

/* An exported function of the executable. */
struct si_entry {
	const char *symbol;
	uintptr_t at; /* 0: the executable does not define it */
	size_t size;
};

/* The description on which all entries agree. */
struct si_evidence {
	struct si_recipe recipe[SI_ENTRIES_MAX]; /* head 0: the executable does not define it */
	struct si_entry entry[SI_ENTRIES_MAX];   /* the function that the name leads to */
	uintptr_t head;
	unsigned agreed; /* number of entries */
	bool self, token, guarded;
};

/*
 * Decodes the entries: one head, and one way of calling. `entries` has a row for each of
 * si_entry_rows. False: they do not agree, or one is not PartitionAlloc's; `t` says which and why,
 * and `e` has the findings so far.
 */
bool si_evidence_read(const struct si_image *image, const struct si_entry *entries,
		      struct si_evidence *e, struct si_text *t);

/* Begins a refusal: "the executable's <symbol> " */
void si_evidence_blame(struct si_text *t, unsigned entry);

/* True if entry i passes the arguments that a slot of this kind takes; unknown ones do not speak
 * against it. */
bool si_evidence_fits(const struct si_evidence *e, unsigned i, enum si_slot slot);
/* Returns the slot that entry i goes through in this layout; SI_SLOTS: it has none that it may
 * use. */
enum si_slot si_evidence_slot(const struct si_layout *layout, const struct si_evidence *e,
			      unsigned i);

#endif
