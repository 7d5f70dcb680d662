/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_layouts.h: tables of PartitionAlloc's known dispatch tables, and of the functions that
 * go through them.
 *
 * Runs: inside, in the constructor. Signals: – Allocates: nothing. Threads: any; constants.
 */
#ifndef SI_PARTITION_LAYOUTS_H
#define SI_PARTITION_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

/* The purposes of slots. Arguments are without those that the convention adds in front (self) and
 * behind (token, context). */
enum si_slot {
	SI_ALLOC,             /* (size) */
	SI_ALLOC_UNCHECKED,   /* may return NULL without calling the new-handler */
	SI_ZEROED,            /* (count, size) */
	SI_ZEROED_UNCHECKED,
	SI_ALIGNED,           /* (alignment, size) */
	SI_ALIGNED_UNCHECKED,
	SI_REALLOC,           /* (block, size) */
	SI_REALLOC_UNCHECKED,
	SI_FREE,              /* (block) */
	SI_FREE_SIZE,         /* (block, size) */
	SI_FREE_ALIGN,        /* (block, alignment) */
	SI_FREE_SIZE_ALIGN,   /* (block, size, alignment) */
	SI_USABLE,            /* (block) */
	SI_ALIGNED2,          /* (size, alignment): _aligned_malloc */
	SI_ALIGNED2_UNCHECKED,
	SI_ZEROED2_UNCHECKED, /* (count, size, alignment): _aligned_malloc's counterpart of
	                       * calloc */
	SI_REALIGN,           /* (block, size, alignment): _aligned_realloc */
	SI_REALIGN_UNCHECKED,
	SI_ALIGNED2_FREE,     /* (block): _aligned_free */
	/* the following are passed on unchanged, and may be empty */
	SI_GOOD_SIZE,
	SI_CLAIMED,
	SI_BATCH_ALLOC,
	SI_BATCH_FREE,
	SI_FREE_DEFINITE,
	SI_TRY_FREE,
	SI_NEXT,
	SI_SLOTS
};
/* The set of one slot. */
#define SI_ONE(slot) (1u << (slot))

enum { SI_LAYOUT_SLOTS = 28, SI_SLOT_ARGUMENTS = 3 };

/* The dispatch table of a range of versions. */
struct si_layout {
	const char *name;   /* versions: "Chromium 109 to 117" */
	const char *source; /* where the order of the slots was read */
	const char *seen;   /* files, decoded and run, that have it; "": none, only the source says
	                     * so */
	bool self;          /* each function gets its table as the first argument */
	bool token;         /* functions that allocate get an allocation token in front of the
	                     * context */
	uint8_t slots;      /* SI_NEXT is the last */
	uint8_t slot[SI_LAYOUT_SLOTS]; /* enum si_slot */
};
extern const struct si_layout si_layouts[];
extern const unsigned si_layout_count;

/* The number of a slot's arguments between self and token, and whether it allocates (and so gets a
 * token). */
extern const uint8_t si_slot_arguments[SI_SLOTS];
static inline bool si_slot_allocates(enum si_slot slot)
{
	return slot <= SI_REALLOC_UNCHECKED ||
	       (slot >= SI_ALIGNED2 && slot <= SI_REALIGN_UNCHECKED);
}

/* An exported function. A SPARE one that cannot be decoded is ignored; any other makes the whole
 * fail. */
struct si_entry_row {
	const char *symbol;
	uint32_t slots;      /* bits: the slots that it may go through */
	uint8_t api;         /* api of its blocks, enum shiny_api */
	/* NEEDED: an executable without it has no PartitionAlloc */
	enum { SI_ENTRY_ANY, SI_ENTRY_NEEDED, SI_ENTRY_SPARE } need;
	char arguments[SI_SLOT_ARGUMENTS + 1]; /* for each argument of the slot, in order, the
	                                        * number of the function's own argument; '?':
	                                        * another value */
};
extern const struct si_entry_row si_entry_rows[];
extern const unsigned si_entry_count;

#endif
