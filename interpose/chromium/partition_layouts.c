/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_layouts.c: the known layouts. A further one is a row: its slots in order, and how its
 * functions are called.
 *
 * Each row rests on a version of the public header (base/allocator/allocator_shim.h, later
 * partition_allocator/shim/allocator_shim.h below it, now
 * partition_allocator/src/partition_alloc/shim/allocator_dispatch.h), named with the tree that
 * contains it, and, where available, on executables of those versions: their tables were read from
 * the file, every entry decoded, and a page loaded while they were recorded. Official: built as
 * Google builds Chrome, with control-flow integrity. A version without a file that we have seen is
 * claimed only between two such versions, or where the header says it.
 *
 * How two rows are told apart, where no version is known (match_layout in partition_alloc.c): by
 * the slots that the entries go through (malloc_usable_size is 5, 6, 7, 10, 11 or 12), by `self`
 * and `token`, which the entries' code shows, and by the table itself, where the entries cannot
 * tell: slots that must be functions are, `next` is empty or a table, the pairs are both there or
 * both not. 14, 16 and 17 slots with self differ only in that, and so do 24 slots and 25 (where
 * next is). 23 slots come with a token and without. A table that fits two rows is refused.
 */
#include "partition_layouts.h"

/* clang-format off */
#define SLOTS_23 \
	SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ZEROED_UNCHECKED, SI_ALIGNED, SI_REALLOC, \
	SI_REALLOC_UNCHECKED, SI_FREE, SI_FREE_SIZE, SI_FREE_ALIGN, SI_FREE_SIZE_ALIGN, SI_USABLE, \
	SI_GOOD_SIZE, SI_CLAIMED, SI_BATCH_ALLOC, SI_BATCH_FREE, SI_TRY_FREE, SI_ALIGNED2, \
	SI_ALIGNED2_UNCHECKED, SI_REALIGN, SI_REALIGN_UNCHECKED, SI_ALIGNED2_FREE, SI_NEXT
const struct si_layout si_layouts[] = {
	{ .name = "Chromium up to 85",
	  .source = "allocator_shim.h in Android's platform/external/libchrome",
	  .seen = "",
	  .self = true, .slots = 13,
	  .slot = { SI_ALLOC, SI_ZEROED, SI_ALIGNED, SI_REALLOC, SI_FREE, SI_USABLE, SI_BATCH_ALLOC,
		    SI_BATCH_FREE, SI_FREE_DEFINITE, SI_ALIGNED2, SI_REALIGN, SI_ALIGNED2_FREE,
		    SI_NEXT } },
	{ .name = "Chromium 86 to 107",
	  .source = "allocator_shim.h in chromium/chromium at 19ccf531fcf5",
	  .seen = "92, 103 (without control-flow integrity), 107 (official)",
	  .self = true, .slots = 14,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ALIGNED, SI_REALLOC, SI_FREE,
		    SI_USABLE, SI_BATCH_ALLOC, SI_BATCH_FREE, SI_FREE_DEFINITE, SI_ALIGNED2,
		    SI_REALIGN, SI_ALIGNED2_FREE, SI_NEXT } },
	{ .name = "Chromium 109 to 117",
	  .source = "allocator_shim.h in chromium/chromium at 179001b4ac36",
	  .seen = "114, 117 (official); the table alone in 110, which inlines realloc",
	  .self = true, .slots = 16,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ALIGNED, SI_REALLOC, SI_FREE,
		    SI_USABLE, SI_CLAIMED, SI_BATCH_ALLOC, SI_BATCH_FREE, SI_FREE_DEFINITE,
		    SI_TRY_FREE, SI_ALIGNED2, SI_REALIGN, SI_ALIGNED2_FREE, SI_NEXT } },
	{ .name = "Chromium 119 to 127",
	  .source = "allocator_dispatch.h of early 2024",
	  .seen = "123, 126, 127 (official)",
	  .self = true, .slots = 17,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ALIGNED, SI_REALLOC, SI_FREE,
		    SI_USABLE, SI_GOOD_SIZE, SI_CLAIMED, SI_BATCH_ALLOC, SI_BATCH_FREE,
		    SI_FREE_DEFINITE, SI_TRY_FREE, SI_ALIGNED2, SI_REALIGN, SI_ALIGNED2_FREE,
		    SI_NEXT } },
	{ .name = "Chromium 129 to 133",
	  .source = "allocator_dispatch.h in weolar/miniblink132 at 16ce450b5f11",
	  .seen = "129, 130, 131, 133 (official)",
	  .slots = 20,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ALIGNED, SI_REALLOC,
		    SI_REALLOC_UNCHECKED, SI_FREE, SI_USABLE, SI_GOOD_SIZE, SI_CLAIMED,
		    SI_BATCH_ALLOC, SI_BATCH_FREE, SI_FREE_DEFINITE, SI_TRY_FREE, SI_ALIGNED2,
		    SI_ALIGNED2_UNCHECKED, SI_REALIGN, SI_REALIGN_UNCHECKED, SI_ALIGNED2_FREE,
		    SI_NEXT } },
	{ .name = "Chromium 138 to 141",
	  .source = "allocator_dispatch.h of mid 2025",
	  .seen = "138, 141 (official)",
	  .slots = 22,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ALIGNED, SI_REALLOC,
		    SI_REALLOC_UNCHECKED, SI_FREE, SI_FREE_SIZE, SI_FREE_ALIGN, SI_FREE_SIZE_ALIGN,
		    SI_USABLE, SI_GOOD_SIZE, SI_CLAIMED, SI_BATCH_ALLOC, SI_BATCH_FREE, SI_TRY_FREE,
		    SI_ALIGNED2, SI_ALIGNED2_UNCHECKED, SI_REALIGN, SI_REALIGN_UNCHECKED,
		    SI_ALIGNED2_FREE, SI_NEXT } },
	{ .name = "Chromium 143",
	  .source = "allocator_dispatch.h in cinagroup/CinaBrowser at b32786980477, but for its "
		    "token",
	  .seen = "143 (official)",
	  .slots = 23,
	  .slot = { SLOTS_23 } },
	{ .name = "Chromium 147 to 153",
	  .source = "allocator_dispatch.h in cinagroup/CinaBrowser at b32786980477",
	  .seen = "150 (Debian), 147, 149, 153 (official)",
	  .token = true, .slots = 23,
	  .slot = { SLOTS_23 } },
	{ .name = "Chromium 156",
	  .source = "allocator_dispatch.h in a copy of Chromium's main of 2026",
	  .seen = "156 (Debian)",
	  .token = true, .slots = 24,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ZEROED_UNCHECKED, SI_ALIGNED,
		    SI_ALIGNED_UNCHECKED, SI_REALLOC, SI_REALLOC_UNCHECKED, SI_FREE, SI_FREE_SIZE,
		    SI_FREE_ALIGN, SI_FREE_SIZE_ALIGN, SI_USABLE, SI_GOOD_SIZE, SI_CLAIMED,
		    SI_BATCH_ALLOC, SI_BATCH_FREE, SI_TRY_FREE, SI_ALIGNED2, SI_ALIGNED2_UNCHECKED,
		    SI_REALIGN, SI_REALIGN_UNCHECKED, SI_ALIGNED2_FREE, SI_NEXT } },
	{ .name = "Chromium after 156",
	  .source = "allocator_dispatch.h in chromium/chromium at 0bf32c45ff4b",
	  .seen = "",
	  .token = true, .slots = 25,
	  .slot = { SI_ALLOC, SI_ALLOC_UNCHECKED, SI_ZEROED, SI_ZEROED_UNCHECKED, SI_ALIGNED,
		    SI_ALIGNED_UNCHECKED, SI_REALLOC, SI_REALLOC_UNCHECKED, SI_FREE, SI_FREE_SIZE,
		    SI_FREE_ALIGN, SI_FREE_SIZE_ALIGN, SI_USABLE, SI_GOOD_SIZE, SI_CLAIMED,
		    SI_BATCH_ALLOC, SI_BATCH_FREE, SI_TRY_FREE, SI_ALIGNED2, SI_ALIGNED2_UNCHECKED,
		    SI_ZEROED2_UNCHECKED, SI_REALIGN, SI_REALIGN_UNCHECKED, SI_ALIGNED2_FREE,
		    SI_NEXT } },
};
const unsigned si_layout_count = sizeof(si_layouts) / sizeof(si_layouts[0]);

const uint8_t si_slot_arguments[SI_SLOTS] = {
	[SI_ALLOC] = 1, [SI_ALLOC_UNCHECKED] = 1, [SI_ZEROED] = 2, [SI_ZEROED_UNCHECKED] = 2,
	[SI_ALIGNED] = 2, [SI_ALIGNED_UNCHECKED] = 2, [SI_REALLOC] = 2, [SI_REALLOC_UNCHECKED] = 2,
	[SI_FREE] = 1, [SI_FREE_SIZE] = 2, [SI_FREE_ALIGN] = 2, [SI_FREE_SIZE_ALIGN] = 3,
	[SI_USABLE] = 1, [SI_ALIGNED2] = 2, [SI_ALIGNED2_UNCHECKED] = 2, [SI_ZEROED2_UNCHECKED] = 3,
	[SI_REALIGN] = 3, [SI_REALIGN_UNCHECKED] = 3, [SI_ALIGNED2_FREE] = 1,
};

/* A build without sized deallocation sends frees with a size or an alignment to plain free. */
/* valloc and pvalloc get the page size first, in older builds by a call. */
#define ALLOC   SI_ONE(SI_ALLOC)
#define NOTHROW (SI_ONE(SI_ALLOC) | SI_ONE(SI_ALLOC_UNCHECKED))
#define ALIGNED SI_ONE(SI_ALIGNED)
#define FREE    SI_ONE(SI_FREE)

const struct si_entry_row si_entry_rows[] = {
	{ "malloc", ALLOC, SHINY_API_MALLOC, SI_ENTRY_NEEDED, "0" },
	{ "calloc", SI_ONE(SI_ZEROED), SHINY_API_CALLOC, SI_ENTRY_NEEDED, "01" },
	{ "realloc", SI_ONE(SI_REALLOC), SHINY_API_REALLOC, SI_ENTRY_NEEDED, "01" },
	{ "free", FREE, SHINY_API_FREE, SI_ENTRY_NEEDED, "0" },
	{ "cfree", FREE, SHINY_API_FREE, SI_ENTRY_ANY, "0" },
	{ "memalign", ALIGNED, SHINY_API_MEMALIGN, SI_ENTRY_ANY, "01" },
	{ "aligned_alloc", ALIGNED, SHINY_API_MEMALIGN, SI_ENTRY_ANY, "01" },
	{ "posix_memalign", ALIGNED, SHINY_API_MEMALIGN, SI_ENTRY_ANY, "12" },
	{ "valloc", ALIGNED, SHINY_API_MEMALIGN, SI_ENTRY_SPARE, "?0" },
	{ "pvalloc", ALIGNED, SHINY_API_MEMALIGN, SI_ENTRY_SPARE, "??" },
	{ "malloc_usable_size", SI_ONE(SI_USABLE), SHINY_API_MALLOC, SI_ENTRY_ANY, "0" },
	{ "__libc_malloc", ALLOC, SHINY_API_MALLOC, SI_ENTRY_ANY, "0" },
	{ "__libc_calloc", SI_ONE(SI_ZEROED), SHINY_API_CALLOC, SI_ENTRY_ANY, "01" },
	{ "__libc_realloc", SI_ONE(SI_REALLOC), SHINY_API_REALLOC, SI_ENTRY_ANY, "01" },
	{ "__libc_free", FREE, SHINY_API_FREE, SI_ENTRY_ANY, "0" },
	{ "__libc_memalign", ALIGNED, SHINY_API_MEMALIGN, SI_ENTRY_ANY, "01" },
	{ "_Znwm", ALLOC, SHINY_API_NEW, SI_ENTRY_ANY, "0" },
	{ "_Znam", ALLOC, SHINY_API_NEW_ARRAY, SI_ENTRY_ANY, "0" },
	{ "_ZnwmRKSt9nothrow_t", NOTHROW, SHINY_API_NEW, SI_ENTRY_ANY, "0" },
	{ "_ZnamRKSt9nothrow_t", NOTHROW, SHINY_API_NEW_ARRAY, SI_ENTRY_ANY, "0" },
	{ "_ZnwmSt11align_val_t", ALIGNED, SHINY_API_NEW_ALIGNED, SI_ENTRY_ANY, "10" },
	{ "_ZnamSt11align_val_t", ALIGNED, SHINY_API_NEW_ARRAY_ALIGNED, SI_ENTRY_ANY, "10" },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALIGNED | SI_ONE(SI_ALIGNED_UNCHECKED),
	  SHINY_API_NEW_ALIGNED, SI_ENTRY_ANY, "10" },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALIGNED | SI_ONE(SI_ALIGNED_UNCHECKED),
	  SHINY_API_NEW_ARRAY_ALIGNED, SI_ENTRY_ANY, "10" },
	{ "_ZdlPv", FREE, SHINY_API_DELETE, SI_ENTRY_ANY, "0" },
	{ "_ZdaPv", FREE, SHINY_API_DELETE_ARRAY, SI_ENTRY_ANY, "0" },
	{ "_ZdlPvRKSt9nothrow_t", FREE, SHINY_API_DELETE, SI_ENTRY_ANY, "0" },
	{ "_ZdaPvRKSt9nothrow_t", FREE, SHINY_API_DELETE_ARRAY, SI_ENTRY_ANY, "0" },
	{ "_ZdlPvm", FREE | SI_ONE(SI_FREE_SIZE), SHINY_API_DELETE, SI_ENTRY_ANY, "01" },
	{ "_ZdaPvm", FREE | SI_ONE(SI_FREE_SIZE), SHINY_API_DELETE_ARRAY, SI_ENTRY_ANY, "01" },
	{ "_ZdlPvSt11align_val_t", FREE | SI_ONE(SI_FREE_ALIGN), SHINY_API_DELETE_ALIGNED,
	  SI_ENTRY_ANY, "01" },
	{ "_ZdaPvSt11align_val_t", FREE | SI_ONE(SI_FREE_ALIGN), SHINY_API_DELETE_ARRAY_ALIGNED,
	  SI_ENTRY_ANY, "01" },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", FREE | SI_ONE(SI_FREE_ALIGN),
	  SHINY_API_DELETE_ALIGNED, SI_ENTRY_ANY, "01" },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", FREE | SI_ONE(SI_FREE_ALIGN),
	  SHINY_API_DELETE_ARRAY_ALIGNED, SI_ENTRY_ANY, "01" },
	{ "_ZdlPvmSt11align_val_t", FREE | SI_ONE(SI_FREE_SIZE_ALIGN), SHINY_API_DELETE_ALIGNED,
	  SI_ENTRY_ANY, "012" },
	{ "_ZdaPvmSt11align_val_t", FREE | SI_ONE(SI_FREE_SIZE_ALIGN),
	  SHINY_API_DELETE_ARRAY_ALIGNED, SI_ENTRY_ANY, "012" },
};
const unsigned si_entry_count = sizeof(si_entry_rows) / sizeof(si_entry_rows[0]);
