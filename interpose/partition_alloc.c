/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_alloc.c: stands in front of PartitionAlloc in Chromium, Chrome, Electron and their crash handlers.
 *
 * Runs:      inside.
 * Signals:   the hooks: as the program's malloc.
 * Allocates: one page.
 * Threads:   attach: the constructor's. Hooks: any.
 *
 * The problem. Such an executable defines malloc, free, operator new, … itself and is first in symbol lookup, so a preloaded
 * malloc is never called. It is stripped, and the allocator is inlined all over it.
 *
 * The facts, as read from Debian's chromium and chrome_crashpad_handler of versions 150 and 156:
 *  - each exported function is a shim: it loads one pointer, the chain's head, and calls or jumps through a slot of the table that
 *    it points to. All of them name the same head. Code inside the executable that does not use the exported names goes through
 *    the same head.
 *  - the functions that allocate call their slot (they must try again after the new-handler), so the first frame above our hook
 *    is the shim; those that free, the nothrow forms and malloc_usable_size jump, so it is the program.
 *  - a table is a row of function pointers and, last, a pointer to the next table. Functions of a table call on into the next.
 *    The order of the slots differs between versions: see `layouts`.
 *  - in front of its usual arguments no function has a `self`, behind them there is an allocation token (0) where memory is
 *    handed out, and a context (0). We pass all six argument registers on, so another trailing argument would do no harm.
 *  - identical functions are folded: malloc_usable_size and malloc_size, _Znwm and _Znam, free and _ZdlPv are one address. Which
 *    of them was meant cannot be known; such a block's api is EITHER.
 *  - the head lies in .data and stays writable. The heap sampler, in every process, puts a table of its own before ours later on,
 *    whose functions that allocate call the next table's: front.c.
 *
 * The approach. Decode every exported entry (decode.c), demand that all agree on one head and that their slots fit one known
 * layout; check that the table lies in the executable's data and that each slot points into its code; then copy the table, put our
 * functions where blocks are made and ended, make the old head its `next`, make it read-only, and store its address in the head.
 * Anything that does not fit leaves the program alone and is told in the session. The layouts name only the slots that no
 * entry reaches. Of those, the unchecked forms and the aligned family are hooked (their meaning follows from order and
 * arguments in the public source); the queries, the batch calls and try_free are macOS's, are called by nothing on Linux, could not
 * be tried, and stay as they are.
 *
 * Rejected: patching the entries' code (calls from inside do not use them); the observer hooks (no symbol leads there in a
 * stripped file); accepting the older layouts whose functions take `self` first (no such file is at hand to prove them on).
 */
#define _GNU_SOURCE
#include "partition_alloc.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "decode.h"
#include "front.h"
#include "hooks.h"

/* ---- what a slot is for ---- */

enum slot {
	ALLOC,             /* (size, token, context) */
	ALLOC_UNCHECKED,   /* may return NULL without ado */
	ZEROED,            /* (count, size, token, context) */
	ZEROED_UNCHECKED,
	ALIGNED,           /* (alignment, size, token, context) */
	ALIGNED_UNCHECKED,
	REALLOC,           /* (block, size, token, context) */
	REALLOC_UNCHECKED,
	FREE,              /* (block, context) */
	FREE_SIZE,         /* (block, size, context) */
	FREE_ALIGN,        /* (block, alignment, context) */
	FREE_SIZE_ALIGN,   /* (block, size, alignment, context) */
	USABLE,            /* (block, context) */
	OTHER,             /* passed on as it is */
	ALIGNED2,          /* (size, alignment, token, context): _aligned_malloc */
	ALIGNED2_UNCHECKED,
	REALIGN,           /* (block, size, alignment, token, context): _aligned_realloc */
	REALIGN_UNCHECKED,
	ALIGNED2_FREE,     /* (block, context): _aligned_free */
	NEXT,
	SLOTS
};

struct layout {
	const char *name;
	unsigned slots; /* NEXT is the last */
	uint8_t slot[28];
};

static const struct layout layouts[] = {
	{ "of Chromium 156", 24,
	  { ALLOC, ALLOC_UNCHECKED, ZEROED, ZEROED_UNCHECKED, ALIGNED, ALIGNED_UNCHECKED, REALLOC, REALLOC_UNCHECKED, FREE, FREE_SIZE,
	    FREE_ALIGN, FREE_SIZE_ALIGN, USABLE, OTHER, OTHER, OTHER, OTHER, OTHER, ALIGNED2, ALIGNED2_UNCHECKED, REALIGN,
	    REALIGN_UNCHECKED, ALIGNED2_FREE, NEXT } },
	{ "of Chromium 150", 23,
	  { ALLOC, ALLOC_UNCHECKED, ZEROED, ZEROED_UNCHECKED, ALIGNED, REALLOC, REALLOC_UNCHECKED, FREE, FREE_SIZE, FREE_ALIGN,
	    FREE_SIZE_ALIGN, USABLE, OTHER, OTHER, OTHER, OTHER, OTHER, ALIGNED2, ALIGNED2_UNCHECKED, REALIGN, REALIGN_UNCHECKED,
	    ALIGNED2_FREE, NEXT } },
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

#define ONE(slot) (1u << (slot))

/* The entries: the slots that each may go through, what its blocks came through, and whether there must be one. */
static const struct {
	const char *symbol;
	uint32_t slots;
	enum shiny_api api;
	bool needed;
} entry_table[] = {
	{ "malloc", ONE(ALLOC), SHINY_API_MALLOC, true },
	{ "calloc", ONE(ZEROED), SHINY_API_CALLOC, true },
	{ "realloc", ONE(REALLOC), SHINY_API_REALLOC, true },
	{ "free", ONE(FREE), SHINY_API_FREE, true },
	{ "cfree", ONE(FREE), SHINY_API_FREE, false },
	{ "memalign", ONE(ALIGNED), SHINY_API_MEMALIGN, false },
	{ "aligned_alloc", ONE(ALIGNED), SHINY_API_MEMALIGN, false },
	{ "posix_memalign", ONE(ALIGNED), SHINY_API_MEMALIGN, false },
	{ "valloc", ONE(ALIGNED), SHINY_API_MEMALIGN, false },
	{ "pvalloc", ONE(ALIGNED), SHINY_API_MEMALIGN, false },
	{ "malloc_usable_size", ONE(USABLE), SHINY_API_MALLOC, false },
	{ "_Znwm", ONE(ALLOC), SHINY_API_NEW, false },
	{ "_Znam", ONE(ALLOC), SHINY_API_NEW_ARRAY, false },
	{ "_ZnwmRKSt9nothrow_t", ONE(ALLOC) | ONE(ALLOC_UNCHECKED), SHINY_API_NEW, false },
	{ "_ZnamRKSt9nothrow_t", ONE(ALLOC) | ONE(ALLOC_UNCHECKED), SHINY_API_NEW_ARRAY, false },
	{ "_ZnwmSt11align_val_t", ONE(ALIGNED), SHINY_API_NEW_ALIGNED, false },
	{ "_ZnamSt11align_val_t", ONE(ALIGNED), SHINY_API_NEW_ARRAY_ALIGNED, false },
	{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ONE(ALIGNED) | ONE(ALIGNED_UNCHECKED), SHINY_API_NEW_ALIGNED, false },
	{ "_ZnamSt11align_val_tRKSt9nothrow_t", ONE(ALIGNED) | ONE(ALIGNED_UNCHECKED), SHINY_API_NEW_ARRAY_ALIGNED, false },
	{ "_ZdlPv", ONE(FREE), SHINY_API_DELETE, false },
	{ "_ZdaPv", ONE(FREE), SHINY_API_DELETE_ARRAY, false },
	{ "_ZdlPvRKSt9nothrow_t", ONE(FREE), SHINY_API_DELETE, false },
	{ "_ZdaPvRKSt9nothrow_t", ONE(FREE), SHINY_API_DELETE_ARRAY, false },
	{ "_ZdlPvm", ONE(FREE_SIZE), SHINY_API_DELETE, false },
	{ "_ZdaPvm", ONE(FREE_SIZE), SHINY_API_DELETE_ARRAY, false },
	{ "_ZdlPvSt11align_val_t", ONE(FREE_ALIGN), SHINY_API_DELETE_ALIGNED, false },
	{ "_ZdaPvSt11align_val_t", ONE(FREE_ALIGN), SHINY_API_DELETE_ARRAY_ALIGNED, false },
	{ "_ZdlPvSt11align_val_tRKSt9nothrow_t", ONE(FREE_ALIGN), SHINY_API_DELETE_ALIGNED, false },
	{ "_ZdaPvSt11align_val_tRKSt9nothrow_t", ONE(FREE_ALIGN), SHINY_API_DELETE_ARRAY_ALIGNED, false },
	{ "_ZdlPvmSt11align_val_t", ONE(FREE_SIZE_ALIGN), SHINY_API_DELETE_ALIGNED, false },
	{ "_ZdaPvmSt11align_val_t", ONE(FREE_SIZE_ALIGN), SHINY_API_DELETE_ARRAY_ALIGNED, false },
};
enum { ENTRIES = sizeof(entry_table) / sizeof(entry_table[0]) };
_Static_assert((int)ENTRIES <= (int)SI_ENTRIES_MAX, "callers have room");
_Static_assert((int)SLOTS <= (int)SI_FRONT_KINDS, "so has front.h");

const char *si_entry_symbol(unsigned i)
{
	return i < ENTRIES ? entry_table[i].symbol : NULL;
}

/* ---- the hooks ---- */

typedef uintptr_t slot_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* Written once, before the head is; what the table below ours has in its slots. */
static slot_fn *below[SLOTS];

/* api + 1 of the calling entry that covers each 16 bytes from entries_start on; 0 none. */
enum { GRANULE = 16, GRANULES = 4096 };
static uintptr_t entries_start;
static uint8_t entry_api[GRANULES];

/* Steps over the frames of tables in front of ours, and of the exported entry, if it called; that also tells the api. */
static inline const uintptr_t *call_site(const uintptr_t *hook, enum slot slot, enum shiny_api *api)
{
	const uintptr_t *fp = si_front_skip(hook, slot);
	uintptr_t granule = (fp[1] - entries_start) / GRANULE;

	if (granule >= GRANULES || !entry_api[granule])
		return fp;
	*api = (enum shiny_api)(entry_api[granule] - 1);
	return (const uintptr_t *)fp[0];
}

#define SIX        uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f
#define SIX_VALUES a, b, c, d, e, f

/* `bytes` is an expression over the arguments; `otherwise` the api when the executable calls the slot from inside. */
#define MAKES(slot, bytes, otherwise)                                                                                         \
	static uintptr_t hook_##slot(SIX)                                                                                      \
	{                                                                                                                      \
		uintptr_t block = below[slot](SIX_VALUES);                                                                     \
                                                                                                                               \
		if (block) {                                                                                                   \
			enum shiny_api api = otherwise;                                                                        \
			const uintptr_t *fp = call_site(SI_FRAME(), slot, &api);                                                     \
                                                                                                                               \
			si_event_alloc(fp, (void *)block, bytes, api);                                                         \
		}                                                                                                              \
		return block;                                                                                                  \
	}
MAKES(ALLOC, a, SHINY_API_EITHER_ALLOC)
MAKES(ALLOC_UNCHECKED, a, SHINY_API_EITHER_ALLOC)
MAKES(ZEROED, a * b, SHINY_API_CALLOC)
MAKES(ZEROED_UNCHECKED, a * b, SHINY_API_CALLOC)
MAKES(ALIGNED, b, SHINY_API_EITHER_ALLOC)
MAKES(ALIGNED_UNCHECKED, b, SHINY_API_EITHER_ALLOC)
MAKES(ALIGNED2, a, SHINY_API_MEMALIGN)
MAKES(ALIGNED2_UNCHECKED, a, SHINY_API_MEMALIGN)

static void release(void *block)
{
	below[FREE]((uintptr_t)block, 0, 0, 0, 0, 0);
}

#define ENDS(slot, claimed)                                                                                                    \
	static uintptr_t hook_##slot(SIX)                                                                                      \
	{                                                                                                                      \
		if (a && !si_event_free(si_front_skip(SI_FRAME(), slot), (void *)a, claimed, SHINY_API_EITHER_FREE, release))  \
			return 0;                                                                                              \
		return below[slot](SIX_VALUES);                                                                                \
	}
ENDS(FREE, 0)
ENDS(FREE_SIZE, b)
ENDS(FREE_ALIGN, 0)
ENDS(FREE_SIZE_ALIGN, b)
ENDS(ALIGNED2_FREE, 0)

/* The block is being read and may not move under the reader: see si_event_realloc_begin. `token` and `context` as realloc's. */
static __attribute__((noinline, cold)) uintptr_t realloc_by_hand(const uintptr_t *fp, enum slot slot, SIX)
{
	bool aligned = slot == REALIGN || slot == REALIGN_UNCHECKED;
	uintptr_t moved = aligned ? below[ALIGNED](c, b, d, e, 0, 0) : below[ALLOC_UNCHECKED](b, c, d, 0, 0, 0);
	size_t old = below[USABLE](a, 0, 0, 0, 0, 0);

	if (!moved)
		return 0;
	memcpy((void *)moved, (const void *)a, old < b ? old : b);
	si_event_alloc(fp, (void *)moved, b, SHINY_API_REALLOC);
	if (si_event_free(fp, (void *)a, 0, SHINY_API_REALLOC, release))
		release((void *)a);
	return moved;
}

/* A size of zero frees and returns NULL; should it ever return a block, that is a new one. */
static inline __attribute__((always_inline)) uintptr_t resize(const uintptr_t *frame, enum slot slot, SIX)
{
	enum shiny_api api = SHINY_API_REALLOC;
	const uintptr_t *fp = call_site(frame, slot, &api);
	uintptr_t moved;

	if (!a || !b) {
		if (a && !si_event_free(fp, (void *)a, 0, SHINY_API_REALLOC, release))
			return 0;
		moved = below[slot](SIX_VALUES);
		if (moved)
			si_event_alloc(fp, (void *)moved, b, SHINY_API_REALLOC);
		return moved;
	}
	if (!si_event_realloc_begin(fp, (void *)a))
		return realloc_by_hand(fp, slot, SIX_VALUES);
	moved = below[slot](SIX_VALUES);
	if (moved)
		si_event_realloc_done(fp, (void *)moved, b);
	else
		si_event_realloc_failed(fp);
	return moved;
}
#define RESIZES(slot)                                                                                                          \
	static uintptr_t hook_##slot(SIX)                                                                                      \
	{                                                                                                                      \
		return resize(SI_FRAME(), slot, SIX_VALUES);                                                                   \
	}
RESIZES(REALLOC)
RESIZES(REALLOC_UNCHECKED)
RESIZES(REALIGN)
RESIZES(REALIGN_UNCHECKED)

#define HOOK(slot) [slot] = hook_##slot
static slot_fn *const hook_of[SLOTS] = {
	HOOK(ALLOC), HOOK(ALLOC_UNCHECKED), HOOK(ZEROED), HOOK(ZEROED_UNCHECKED), HOOK(ALIGNED), HOOK(ALIGNED_UNCHECKED),
	HOOK(REALLOC), HOOK(REALLOC_UNCHECKED), HOOK(FREE), HOOK(FREE_SIZE), HOOK(FREE_ALIGN), HOOK(FREE_SIZE_ALIGN),
	HOOK(ALIGNED2), HOOK(ALIGNED2_UNCHECKED), HOOK(REALIGN), HOOK(REALIGN_UNCHECKED), HOOK(ALIGNED2_FREE),
};

/* ---- attaching ---- */

static void add_hex(struct si_text *t, uintptr_t n)
{
	char digits[16];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[n & 15];
		n >>= 4;
	} while (n);
	si_text_add(t, "0x");
	si_text_bytes(t, digits + i, sizeof(digits) - i);
}

static const struct si_segment *segment_of(const struct si_image *image, uintptr_t start, size_t bytes)
{
	for (unsigned i = 0; i < image->segments; i++) {
		const struct si_segment *s = &image->segment[i];

		if (start >= s->start && start < s->end && bytes <= s->end - start)
			return s;
	}
	return NULL;
}

/* Begins a refusal: "the executable's <symbol> " */
static void blame(struct si_text *t, unsigned entry)
{
	si_text_add(t, "nothing hooked: the executable defines malloc, and its ");
	si_text_add(t, entry_table[entry].symbol);
	si_text_add(t, " ");
}

/* All entries, decoded: one head, every one in its frame. */
static bool decode_entries(const struct si_image *image, const struct si_entry *entries, struct si_recipe *recipes, struct si_text *t)
{
	struct si_decode_error error;
	uintptr_t head = 0;

	for (unsigned i = 0; i < ENTRIES; i++) {
		const struct si_segment *s = segment_of(image, entries[i].at, entries[i].size);

		recipes[i].head = 0;
		if (!entries[i].at) {
			if (!entry_table[i].needed)
				continue;
			blame(t, i);
			si_text_add(t, "is not its own");
			return false;
		}
		if (!s || !s->executable || !entries[i].size) {
			blame(t, i);
			si_text_add(t, "has no size, or lies outside its code");
			return false;
		}
		if (!si_decode_dispatch((const uint8_t *)entries[i].at, entries[i].size, entries[i].at, &recipes[i], &error)) {
			blame(t, i);
			si_text_add(t, "is not PartitionAlloc's as we know it: at +");
			add_hex(t, error.offset);
			si_text_add(t, " ");
			si_text_add(t, error.reason);
			return false;
		}
		if (head && recipes[i].head != head) {
			blame(t, i);
			si_text_add(t, "loads ");
			add_hex(t, recipes[i].head - image->bias);
			si_text_add(t, " where the entries before it load the chain's head from ");
			add_hex(t, head - image->bias);
			return false;
		}
		head = recipes[i].head;
	}
	return true;
}

/* The layout that all entries' slots fit. The text names the first entry that speaks against the best of them. */
static const struct layout *match_layout(const struct si_recipe *recipes, struct si_text *t)
{
	unsigned best = 0;

	for (unsigned l = 0; l < LAYOUTS; l++) {
		unsigned i;

		for (i = 0; i < ENTRIES; i++) {
			uint32_t slot = recipes[i].offset / 8;

			if (recipes[i].head && (recipes[i].offset % 8 || slot >= layouts[l].slots ||
						!(ONE(layouts[l].slot[slot]) & entry_table[i].slots)))
				break;
		}
		if (i == ENTRIES)
			return &layouts[l];
		best = i > best ? i : best;
	}
	blame(t, best);
	si_text_add(t, "goes through offset ");
	add_hex(t, recipes[best].offset);
	si_text_add(t, " of its table, which no known layout has there");
	return NULL;
}

/* The table that the head points to: all in data, each slot into code, the last one NULL or into data. */
static bool check_table(const struct si_image *image, const struct layout *layout, uintptr_t head, struct si_text *t)
{
	const struct si_segment *home = segment_of(image, head, sizeof(void *)), *s;
	const uintptr_t *table;

	si_text_add(t, "nothing hooked: the executable defines malloc, and the dispatch table behind ");
	add_hex(t, head - image->bias);
	if (!home || !home->writable || home->executable || head % sizeof(void *)) {
		si_text_add(t, " cannot be replaced: its pointer is not in writable data");
		return false;
	}
	table = (const uintptr_t *)__atomic_load_n((const uintptr_t *)head, __ATOMIC_ACQUIRE);
	s = segment_of(image, (uintptr_t)table, layout->slots * sizeof(void *));
	if (!s || s->executable || (uintptr_t)table % sizeof(void *)) {
		si_text_add(t, " is not in its data");
		return false;
	}
	for (unsigned i = 0; i < layout->slots; i++) {
		bool is_next = i == layout->slots - 1;

		s = segment_of(image, table[i], 1);
		if (is_next ? !table[i] || (s && !s->executable) : s && s->executable)
			continue;
		si_text_add(t, is_next ? " has no next table in slot " : " has no function in slot ");
		si_text_number(t, i);
		return false;
	}
	return true;
}

/* Where a call of ours may return to inside an entry, and what that entry is. */
static bool map_entries(const struct si_entry *entries, const struct si_recipe *recipes, struct si_text *t)
{
	uintptr_t lowest = UINTPTR_MAX;

	for (unsigned i = 0; i < ENTRIES; i++)
		if (recipes[i].head && recipes[i].calls && entries[i].at < lowest)
			lowest = entries[i].at;
	lowest &= -(uintptr_t)GRANULE;
	memset(entry_api, 0, sizeof(entry_api));
	entries_start = lowest;
	for (unsigned i = 0; i < ENTRIES; i++) {
		uintptr_t first = (entries[i].at - lowest) / GRANULE, last = (entries[i].at - lowest + entries[i].size - 1) / GRANULE;

		if (!recipes[i].head || !recipes[i].calls)
			continue;
		if (last >= GRANULES || entries[i].at % GRANULE) {
			blame(t, i);
			si_text_add(t, "lies too far from the others, or is not aligned");
			return false;
		}
		for (uintptr_t g = first; g <= last; g++) {
			uint8_t mine = (uint8_t)(entry_table[i].api + 1);

			entry_api[g] = !entry_api[g] || entry_api[g] == mine ? mine : SHINY_API_EITHER_ALLOC + 1;
		}
	}
	return true;
}

/* Our table, in a page that nobody writes any more, in front of the one at `head`. */
static bool put_in_front(const struct si_image *image, const struct layout *layout, uintptr_t head, struct si_text *t)
{
	uintptr_t old = __atomic_load_n((uintptr_t *)head, __ATOMIC_ACQUIRE), *ours;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ours == MAP_FAILED) {
		si_text_add(t, "nothing hooked: no memory for a dispatch table");
		return false;
	}
	for (unsigned i = 0; i < layout->slots; i++) {
		enum slot slot = layout->slot[i];

		ours[i] = ((const uintptr_t *)old)[i];
		below[slot] = (slot_fn *)ours[i];
		if (hook_of[slot])
			ours[i] = (uintptr_t)hook_of[slot];
	}
	ours[layout->slots - 1] = old;
	si_front_watch(image, (const uintptr_t *)head, (uintptr_t)ours, layout->slots, layout->slot);
	if (mprotect(ours, page, PROT_READ) != 0 ||
	    !__atomic_compare_exchange_n((uintptr_t *)head, &old, (uintptr_t)ours, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
		munmap(ours, page);
		si_text_add(t, "nothing hooked: the dispatch chain's head changed while it was looked at");
		return false;
	}
	return true;
}

bool si_partition_hook(const struct si_image *image, const struct si_entry *entries, char *text, size_t room)
{
	struct si_recipe recipes[ENTRIES];
	const struct layout *layout;
	struct si_text t;
	unsigned agreed = 0;
	uintptr_t head;

	si_text_init(&t, text, room);
	if (!decode_entries(image, entries, recipes, &t))
		return false;
	layout = match_layout(recipes, &t);
	if (!layout)
		return false;
	head = recipes[0].head;
	if (!check_table(image, layout, head, &t))
		return false;
	si_text_init(&t, text, room);
	if (!map_entries(entries, recipes, &t) || !put_in_front(image, layout, head, &t))
		return false;
	for (unsigned i = 0; i < ENTRIES; i++)
		agreed += recipes[i].head != 0;
	si_text_add(&t, "PartitionAlloc's dispatch chain: head at ");
	add_hex(&t, head - image->bias);
	si_text_add(&t, ", ");
	si_text_number(&t, layout->slots);
	si_text_add(&t, " slots as ");
	si_text_add(&t, layout->name + 3);
	si_text_add(&t, ", agreed on by ");
	si_text_number(&t, agreed);
	si_text_add(&t, " exported functions");
	return true;
}

/* ---- this process ---- */

static void add_segment(struct si_image *image, uintptr_t start, uintptr_t end, bool executable, bool writable)
{
	if (start < end && image->segments < SI_SEGMENTS_MAX)
		image->segment[image->segments++] =
			(struct si_segment){ .start = start, .end = end, .executable = executable, .writable = writable };
}

/* Called for the executable first; stops there. What was made read-only after relocation becomes a segment of its own. */
static int read_image(struct dl_phdr_info *info, size_t size, void *out)
{
	struct si_image *image = out;
	uintptr_t ro = 0, ro_end = 0;

	(void)size;
	image->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			ro = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			ro_end = ro + info->dlpi_phdr[i].p_memsz;
		}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;
		bool writable = p->p_flags & PF_W, executable = p->p_flags & PF_X;

		if (p->p_type != PT_LOAD)
			continue;
		if (ro >= start && ro_end <= end && ro < ro_end) {
			add_segment(image, start, ro, executable, writable);
			add_segment(image, ro, ro_end, executable, false);
			add_segment(image, ro_end, end, executable, writable);
		} else {
			add_segment(image, start, end, executable, writable);
		}
	}
	return 1;
}

/* The size from the dynamic symbol; aliases of one address have one size. */
static void find_entry(const struct si_image *image, struct si_entry *entry)
{
	const ElfW(Sym) *symbol = NULL;
	void *at = dlsym(RTLD_DEFAULT, entry->symbol);
	Dl_info info;

	entry->at = 0;
	entry->size = 0;
	if (!at || !segment_of(image, (uintptr_t)at, 1))
		return;
	entry->at = (uintptr_t)at;
	if (dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && info.dli_saddr == at)
		entry->size = symbol->st_size;
}

enum shiny_attach si_partition_attach(char *text, size_t room)
{
	struct si_image image = { 0 };
	struct si_entry entries[ENTRIES];
	const void *owner = si_owner("malloc");
	struct si_text t;
	Dl_info info;

	si_text_init(&t, text, room);
	if (si_is_ours(owner)) {
		si_text_add(&t, "symbol interposition in front of ");
		si_text_add(&t, dladdr((const void *)si_next.malloc, &info) && info.dli_fname ? info.dli_fname : "the C library");
		return SHINY_ATTACH_SYMBOLS;
	}
	dl_iterate_phdr(read_image, &image);
	if (!segment_of(&image, (uintptr_t)owner, 1)) {
		si_text_add(&t, "nothing hooked: malloc is that of ");
		si_text_add(&t, dladdr(owner, &info) && info.dli_fname ? info.dli_fname : "another library");
		si_text_add(&t, ", which comes before libshiny.so");
		return SHINY_ATTACH_NONE;
	}
	for (unsigned i = 0; i < ENTRIES; i++) {
		entries[i].symbol = entry_table[i].symbol;
		find_entry(&image, &entries[i]);
	}
	return si_partition_hook(&image, entries, text, room) ? SHINY_ATTACH_PARTITION : SHINY_ATTACH_NONE;
}
