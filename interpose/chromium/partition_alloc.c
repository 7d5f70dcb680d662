/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_alloc.c: hooks PartitionAlloc in Chromium, Chrome, Electron and their crash handlers.
 *
 * Runs:      inside.
 * Signals:   –
 * Allocates: a page for a table, or for stubs.
 * Threads:   the constructor's.
 *
 * The problem. Such an executable defines malloc, free, operator new, … itself and is first in
 * symbol lookup, so a preloaded malloc is never called. It is stripped, and the allocator is
 * inlined all over it.
 *
 * The facts, as read from Debian's chromium and chrome_crashpad_handler of versions 150 and 156,
 * and from builds of 92 to 153:
 *  - each exported function is a shim: it loads one pointer, the chain's head, and calls or jumps
 *    through a slot of the table that it points to. All of them name the same head. Code inside the
 *    executable that does not use the exported names goes through the same head.
 *  - the functions that allocate call their slot (they must try again after the new-handler), so
 *    the first frame above our hook is the shim; those that free, the nothrow forms and
 *    malloc_usable_size jump, so it is the program.
 *  - a table is a row of function pointers and, last, a pointer to the next table. Functions of a
 *    table call on into the next. The order of the slots, and how the functions are called, differ
 *    between versions: partition_layouts.c.
 *  - identical functions are folded: malloc_usable_size and malloc_size, _Znwm and _Znam, free and
 *    _ZdlPv are one address. A call does not show which of them it meant; such a block's api is
 *    EITHER.
 *  - the head lies in .data and stays writable. The heap sampler, in every process, puts a table of
 *    its own before ours later on, whose functions that allocate call the next table's:
 *    chain_head.c.
 *  - builds with control-flow integrity (all that Google makes) check each slot's function before
 *    they call it: no function of ours may stand in a table. Their exported names are themselves
 *    jumps.
 *
 * The approach. Decode every exported entry (partition_evidence.c), demand that all agree on one
 * head and one way of calling, and that slots, way and the table itself fit exactly one known
 * layout; check that the table lies in the executable's data and that each slot that is needed
 * points into its code. Then, without checks, copy the table, put our functions where blocks are
 * made and ended, make the old head its `next`, make it read-only, and store its address in the
 * head. With checks, leave the table and redirect its functions (jump_table.c). Anything that does
 * not fit leaves the program alone and is told in the session. The layouts name the slots that no
 * entry reaches. Of those, the unchecked forms and the aligned family are hooked (their meaning
 * follows from order and arguments in the public source); the queries, the batch calls and try_free
 * are macOS's, are called by nothing on Linux, could not be tried, and stay as they are.
 *
 * In a program that runs already (late.h) the table is put in front by the same store, and taken
 * out again by another: threads that are inside our functions return, as library and table stay. A
 * table that was put in front of ours meanwhile keeps its place; if ours can't be taken out behind
 * it, its functions call on. Code is not changed then, so a program with checks is refused, and no
 * observers are set.
 *
 * Rejected: patching the entries' code (calls from inside do not use them); taking the newest of
 * two layouts that both fit.
 */
#define _GNU_SOURCE
#include "partition_alloc.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../core/base.h"
#include "../core/late.h"
#include "../patch/chain_head.h"
#include "../patch/jump_table.h"
#include "../unwind/symbols.h"
#include "partition_evidence.h"
#include "partition_hooks.h"
#include "partition_observe.h"

_Static_assert((int)SI_REDIRECTS >= (int)SI_NEXT, "each function of a table can be redirected");

static bool seen, checked;

bool si_partition_seen(void)
{
	return seen;
}

bool si_partition_checked(void)
{
	return checked;
}

/* ---- the layout ---- */

/* Returns why the table at `table` is not of this layout, and sets *slot to the slot that differs;
 * NULL: it is of this layout. */
static const char *table_differs(const struct si_image *image, const struct si_layout *layout,
				 const uintptr_t *table, unsigned *slot)
{
	const struct si_segment *s =
		si_segment_of(image, (uintptr_t)table, layout->slots * sizeof(void *));
	unsigned family = 0, members = 0, batch = 0;

	*slot = 0;
	if (!s || s->executable || (uintptr_t)table % sizeof(void *))
		return "is not in its data";
	for (unsigned i = 0; i < layout->slots; i++) {
		enum si_slot kind = layout->slot[i];
		bool aligned2 = kind >= SI_ALIGNED2 && kind <= SI_ALIGNED2_FREE, code;

		*slot = i;
		s = si_segment_of(image, table[i], 1);
		code = s && s->executable;
		if (kind == SI_NEXT) {
			if (table[i] && (!s || code))
				return "has no next table in slot ";
			continue;
		}
		if (table[i] ? !code : kind < SI_GOOD_SIZE && !aligned2)
			return "has no function in slot ";
		members += aligned2;
		family += aligned2 && table[i];
		batch += (kind == SI_BATCH_ALLOC || kind == SI_BATCH_FREE) && table[i];
		if (kind == SI_BATCH_FREE && batch == 1)
			return "has one half of a pair of functions in slot ";
		if (kind == SI_ALIGNED2_FREE && family && family != members)
			return "has a part of a family of functions before slot ";
	}
	return NULL;
}

static bool refuse_table(struct si_text *t, const struct si_image *image, uintptr_t head,
			 const char *why, unsigned slot)
{
	si_text_add(
		t, "nothing hooked: the executable defines malloc, and the dispatch table behind ");
	si_text_hex(t, head - image->bias);
	si_text_add(t, " ");
	si_text_add(t, why);
	if (why[strlen(why) - 1] == ' ')
		si_text_number(t, slot);
	return false;
}

/* Returns the one layout that entries, convention and table fit, or NULL; then `t` gets the reason
 * against the best of them. */
static const struct si_layout *match_layout(const struct si_image *image,
					    const struct si_evidence *e, const uintptr_t *table,
					    struct si_text *t)
{
	const struct si_layout *fits = NULL;
	unsigned best = 0, bad_slot = 0;
	const char *differs = NULL;

	for (unsigned l = 0; l < si_layout_count; l++) {
		const struct si_layout *layout = &si_layouts[l];
		const char *why;
		unsigned i, slot;

		if (layout->self != e->self || layout->token != e->token)
			continue;
		for (i = 0; i < si_entry_count; i++) {
			enum si_slot kind =
				e->recipe[i].head ? si_evidence_slot(layout, e, i) : SI_SLOTS;

			if (e->recipe[i].head &&
			    (kind == SI_SLOTS || !si_evidence_fits(e, i, kind)))
				break;
		}
		best = i > best ? i : best;
		if (i < si_entry_count)
			continue;
		why = table_differs(image, layout, table, &slot);
		if (why) {
			if (!differs || slot > bad_slot) {
				differs = why;
				bad_slot = slot;
			}
			continue;
		}
		if (fits) {
			si_text_add(t, "nothing hooked: the dispatch table could be that of ");
			si_text_add(t, fits->name);
			si_text_add(t, " and that of ");
			si_text_add(t, layout->name);
			return NULL;
		}
		fits = layout;
	}
	if (fits)
		return fits;
	if (differs) {
		refuse_table(t, image, e->head, differs, bad_slot);
		return NULL;
	}
	si_evidence_blame(t, best);
	si_text_add(t, "goes through offset ");
	si_text_hex(t, e->recipe[best].offset);
	si_text_add(t, " of its table, which no known layout has there");
	if (e->self)
		si_text_add(t, " that hands over the table itself");
	if (e->token)
		si_text_add(t, " that hands over an allocation token");
	return NULL;
}

/* ---- installing our functions ---- */

/* The findings about this program; `layout` NULL: nothing can be hooked. */
static struct {
	struct si_image image;
	struct si_evidence e;
	const struct si_layout *layout;
	enum si_way way;
	uintptr_t ours; /* our table in front of the program's; 0: none */
} found;

/* Notes the return addresses of the calls from entries to our functions, with the entry of each. */
static bool note_callers(const struct si_layout *layout, const struct si_evidence *e,
			 struct si_text *t)
{
	si_partition_forget_callers();
	for (unsigned i = 0; i < si_entry_count; i++) {
		if (!e->recipe[i].head || !e->recipe[i].calls)
			continue;
		if (!si_partition_caller(si_evidence_slot(layout, e, i), e->entry[i].at,
					 e->entry[i].size, si_entry_rows[i].api)) {
			si_evidence_blame(t, i);
			si_text_add(t, "is one of too many that call the same slot");
			return false;
		}
	}
	return true;
}

/* Puts our table, in a page made read-only, in front of the one at the head. */
static bool put_in_front(struct si_text *t)
{
	const struct si_layout *layout = found.layout;
	uintptr_t *head = (uintptr_t *)found.e.head, old = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t *ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

	if (ours == MAP_FAILED) {
		si_text_add(t, "nothing hooked: no memory for a dispatch table");
		return false;
	}
	si_partition_self(old);
	for (unsigned i = 0; i < layout->slots; i++) {
		enum si_slot slot = layout->slot[i];
		si_slot_fn *hook = si_partition_hook_of(slot, found.way);

		ours[i] = ((const uintptr_t *)old)[i];
		si_partition_below(slot, ours[i]);
		if (hook && ours[i])
			ours[i] = (uintptr_t)hook;
	}
	ours[layout->slots - 1] = old;
	si_front_watch(&found.image, head, (uintptr_t)ours, layout->slots, layout->slot);
	if (mprotect(ours, page, PROT_READ) != 0 ||
	    !__atomic_compare_exchange_n(head, &old, (uintptr_t)ours, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED)) {
		munmap(ours, page);
		si_text_add(
			t,
			"nothing hooked: the dispatch chain's head changed while it was looked at");
		return false;
	}
	found.ours = (uintptr_t)ours;
	return true;
}

/* True if the functions of two slots mean the same when one address stands in both. */
static bool alike(enum si_slot a, enum si_slot b)
{
	static const uint32_t classes[] = {
		SI_ONE(SI_ALLOC) | SI_ONE(SI_ALLOC_UNCHECKED),
		SI_ONE(SI_ZEROED) | SI_ONE(SI_ZEROED_UNCHECKED),
		SI_ONE(SI_ALIGNED) | SI_ONE(SI_ALIGNED_UNCHECKED),
		SI_ONE(SI_REALLOC) | SI_ONE(SI_REALLOC_UNCHECKED),
		SI_ONE(SI_ALIGNED2) | SI_ONE(SI_ALIGNED2_UNCHECKED),
		SI_ONE(SI_REALIGN) | SI_ONE(SI_REALIGN_UNCHECKED),
		SI_ONE(SI_FREE) | SI_ONE(SI_FREE_SIZE) | SI_ONE(SI_FREE_ALIGN) |
			SI_ONE(SI_FREE_SIZE_ALIGN) | SI_ONE(SI_ALIGNED2_FREE),
	};

	for (unsigned i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i] & SI_ONE(a) && classes[i] & SI_ONE(b))
			return true;
	return false;
}

/* Redirects the table's functions to ours, for a program that checks the pointers that it calls. */
static bool redirect(const struct si_image *image, const struct si_layout *layout, enum si_way way,
		     const struct si_evidence *e, struct si_text *t)
{
	const uintptr_t *table = (const uintptr_t *)*(const uintptr_t *)e->head;
	struct si_redirect r[SI_REDIRECTS];
	enum si_slot first[SI_REDIRECTS];
	unsigned count = 0, at[SI_LAYOUT_SLOTS], k;

	/* the present functions pass the check, or the program would not run */
	for (unsigned i = 0; i < si_entry_count; i++) {
		const struct si_recipe *recipe = &e->recipe[i];

		if (recipe->guard_count &&
		    (table[recipe->offset / 8] - recipe->guard) / 8 >= recipe->guard_count) {
			si_evidence_blame(t, i);
			si_text_add(t, "would not call what stands in its slot");
			return false;
		}
	}
	si_text_add(t, "nothing hooked: the executable defines malloc and checks what it calls "
		       "through its dispatch table: ");
	for (unsigned i = 0; i < layout->slots; i++) {
		enum si_slot slot = layout->slot[i];
		si_slot_fn *hook = si_partition_hook_of(slot, way);

		at[i] = SI_REDIRECTS;
		si_partition_below(slot, table[i]);
		if (!hook || !table[i])
			continue;
		for (k = 0; k < count && r[k].at != table[i]; k++)
			;
		at[i] = k;
		if (k < count) {
			if (alike(first[k], slot))
				continue;
			si_text_add(t, "one function stands in two different slots of that");
			return false;
		}
		r[count] = (struct si_redirect){ .at = table[i], .to = (uintptr_t)hook };
		first[count++] = slot;
	}
	si_partition_self((uintptr_t)table);
	si_front_watch(image, (const uintptr_t *)e->head, (uintptr_t)table, layout->slots,
		       layout->slot);
	if (!si_jumps_redirect(image, r, count, t))
		return false;
	for (unsigned i = 0; i < layout->slots; i++)
		if (at[i] < SI_REDIRECTS)
			si_partition_below(layout->slot[i], r[at[i]].below);
	return true;
}

/* Finds out whether, and how, the program can be hooked, and changes nothing. */
static bool look(const struct si_image *image, const struct si_entry *entries, bool observed,
		 struct si_text *t)
{
	const struct si_segment *home;
	struct si_evidence *e = &found.e;
	bool agree;

	found.image = *image;
	found.layout = NULL;
	agree = si_evidence_read(image, entries, e, t);
	seen |= e->agreed != 0;
	checked |= e->guarded;
	if (!agree)
		return false;
	home = si_segment_of(image, e->head, sizeof(void *));
	if (!home || !home->writable || home->executable || e->head % sizeof(void *))
		return refuse_table(t, image, e->head,
				    "cannot be replaced: its pointer is not in writable data", 0);
	found.layout = match_layout(image, e,
				    (const uintptr_t *)__atomic_load_n((const uintptr_t *)e->head,
								       __ATOMIC_ACQUIRE),
				    t);
	if (found.layout && !note_callers(found.layout, e, t))
		found.layout = NULL;
	found.way = (enum si_way)((e->self ? SI_WAY_SELF : 0) |
				  (observed && !e->guarded ? SI_WAY_OBSERVED : 0));
	return found.layout;
}

static void describe(struct si_text *t)
{
	const struct si_layout *layout = found.layout;
	const struct si_evidence *e = &found.e;

	si_text_add(t, "PartitionAlloc's dispatch chain: head at ");
	si_text_hex(t, e->head - found.image.bias);
	si_text_add(t, ", ");
	si_text_number(t, layout->slots);
	si_text_add(t, " slots as in ");
	si_text_add(t, layout->name);
	if (e->self)
		si_text_add(t, ", called with the table itself");
	if (e->token)
		si_text_add(t, ", called with an allocation token");
	si_text_add(t, ", agreed on by ");
	si_text_number(t, e->agreed);
	si_text_add(t, " exported functions");
	si_text_add(t, e->guarded ? "; calls are checked, so the table's functions were redirected"
				  : "; our table is in front");
	si_text_add(t, "; layout from ");
	si_text_add(t, layout->source);
	if (layout->seen[0]) {
		si_text_add(t, ", seen in ");
		si_text_add(t, layout->seen);
	}
}

bool si_partition_hook(const struct si_image *image, const struct si_entry *entries, bool observed,
		       char *text, size_t room)
{
	struct si_text t;

	si_text_init(&t, text, room);
	if (!look(image, entries, observed, &t))
		return false;
	if (found.e.guarded ? !redirect(image, found.layout, found.way, &found.e, &t)
			    : !put_in_front(&t))
		return false;
	si_text_init(&t, text, room);
	describe(&t);
	if (observed && found.e.guarded)
		si_text_add(&t, "; observer hooks: not set, the executable checks what it calls");
	else if (observed)
		si_observers_install(image, &t);
	return true;
}

/* Finds how to hook a program that runs: its code may not change, so its checks must allow it. */
static bool look_late(const struct si_image *image, const struct si_entry *entries,
		      struct si_text *t)
{
	if (!look(image, entries, false, t))
		return false;
	if (found.e.guarded) {
		found.layout = NULL;
		si_text_add(t, "nothing hooked: the executable checks what it calls through its "
			       "dispatch table, so code would have to change");
		return false;
	}
	describe(t);
	si_text_add(t, "; attached while it ran: blocks from before and Oilpan's objects are not "
		       "known");
	return true;
}

bool si_partition_enter(struct si_text *why)
{
	return !found.layout || put_in_front(why);
}

void si_partition_leave(void)
{
	uintptr_t *at = (uintptr_t *)found.e.head, value;
	const struct si_segment *s;

	for (unsigned n = 0; found.ours && n <= SI_FRONT_TABLES; n++) {
		s = si_segment_of(&found.image, (uintptr_t)at, sizeof(*at));
		if (!s || s->executable)
			return;
		value = __atomic_load_n(at, __ATOMIC_ACQUIRE);
		if (value == found.ours) {
			if (s->writable)
				__atomic_compare_exchange_n(
					at, &value, ((uintptr_t *)value)[found.layout->slots - 1],
					false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
			return;
		}
		at = (uintptr_t *)value + found.layout->slots - 1; /* looked at before it is read */
	}
}

/* ---- this process ---- */

/* Looks an entry up among the executable's own symbols; aliases of one address have one size. */
static void find_entry(const struct si_symbols *symbols, const struct si_image *image,
		       struct si_entry *entry)
{
	const ElfW(Sym) *symbol = si_symbols_find(symbols, entry->symbol);
	uintptr_t at = symbol ? symbols->bias + symbol->st_value : 0;

	if (!at || !si_segment_of(image, at, 1))
		at = 0;
	entry->at = at;
	entry->size = at ? symbol->st_size : 0;
}

enum shiny_attach si_partition_attach(char *const *environment, char *text, size_t room)
{
	struct si_image image = { 0 };
	struct si_entry entries[SI_ENTRIES_MAX];
	const void *owner = si_owner("malloc");
	const struct link_map *executable = si_first_module(si_module_of(&si_next));
	struct si_symbols symbols = { 0 };
	struct si_text t;
	Dl_info info;
	bool done;

	si_text_init(&t, text, room);
	if (si_is_ours(owner)) {
		owner = (const void *)si_unguarded((uintptr_t)si_next.malloc);
		si_text_add(&t, "symbol interposition in front of ");
		si_text_add(&t, dladdr(owner, &info) && info.dli_fname
					? info.dli_fname
					: "the C library");
		return SHINY_ATTACH_SYMBOLS;
	}
	si_image_read(&image);
	if (!si_segment_of(&image, (uintptr_t)owner, 1)) {
		si_text_add(&t, "nothing hooked: malloc is that of ");
		si_text_add(&t, dladdr(owner, &info) && info.dli_fname ? info.dli_fname
								       : "another library");
		si_text_add(&t, ", which comes before libshiny.so");
		return SHINY_ATTACH_NONE;
	}
	si_symbols_read(executable->l_ld, executable->l_addr, &symbols);
	for (unsigned i = 0; i < si_entry_count; i++) {
		entries[i].symbol = si_entry_rows[i].symbol;
		find_entry(&symbols, &image, &entries[i]);
	}
	if (si_late)
		done = look_late(&image, entries, &t);
	else
		done = si_partition_hook(&image, entries, si_observers_find(environment, &image),
					 text, room);
	return done ? SHINY_ATTACH_PARTITION : SHINY_ATTACH_NONE;
}
