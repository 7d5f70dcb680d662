/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c: walks stacks by rows, and makes the rows.
 *
 * Problem. Nearly all of Debian is built with -O2 and without frame pointers: following rbp gives
 * only the hook's own return address. Users expect whole stacks, and types need the callers of
 * wrappers (xmalloc, g_malloc).
 *
 * Approach. At the hook rsp and rbp of the caller are known: its frame. For a return address the
 * module's .eh_frame says where the frame around it ends and where the caller's rbp is (cfi.c); a
 * table by address caches that as one word, so a step is one lookup, an addition and a load. The
 * inside makes these rows itself, when it meets an address: there are some thousands in a program,
 * at about a microsecond each. (Rejected: the sidecar compiles whole files and the inside searches
 * their tables; that needs files and mappings after start-up, in sandboxes where there are none,
 * and a search instead of a lookup.)
 *
 * For code that .eh_frame does not describe, the row follows from how it returns (epilogue.c); such
 * a row is cached if it leads to a return address when it is made. Free Pascal's programs consist
 * of such code.
 *
 * How far it is believed. A walk that begins at the hook's own frame and goes by rows is exact:
 * this thread will return to each address that it finds. So a correct program cannot unload its
 * module under us, and its .eh_frame may be read, also of modules that dlopen loaded. Code that
 * says nothing (hand-written assembly, V8's built-ins) is followed by rbp, which may lead anywhere:
 * from there on an address must lie in a module that was there at boot and stand behind a call, and
 * when it doesn't, the address that led there is remembered as the end. If a return address lies
 * between rsp and rbp, rbp may be that of a frame further out, and the stack ends, which is
 * counted: no stack omits a frame. Code in no module (a JIT) ends the stack.
 *
 * Chromium's code says nothing, but for parts in other languages, and keeps frame pointers. There
 * the first walk of a stack assumes the row of each address on a page without any description
 * (bare_code.h), the hook's caller included, and looks up none. Such a walk has walked->assumed,
 * and only serves to find a stack that was defined before, by frames that a walk by rows had found;
 * if there is none, the walk is repeated, by rows. It may pass an address that rows have found to
 * lead astray, and then its frames are no stack's. A row in a described page is never assumed: code
 * there may leave rbp alone, and following rbp would skip its caller, which gives the frames of
 * another stack that exists.
 *
 * So bare code has no rows, except for addresses that led astray (si_row_of); instead of an earlier
 * belief, the call instruction before an address is checked each time.
 *
 * Bounds: rsp rises with every step and never beyond the stack's end, so a walk ends whatever the
 * rows say.
 *
 * A signal handler's frame leads to the interrupted code, by the ucontext. That address is not
 * behind a call; as all addresses are looked up one byte before, it is recorded, and looked up,
 * plus one. No walk begins on an alternate stack.
 *
 * The outermost functions are libc's: a stack ends with the one that calls main, by rows as by
 * frame pointers.
 *
 * Rejected: making rows for a whole function at a time (most of its calls never allocate); glibc's
 * _Unwind_Find_FDE (a library that need not be there, takes locks for JIT frames); rbx, r10 and
 * others as a frame's base (no call in the libraries that were looked at has one, except libc's
 * lazy binding).
 */
#include "unwind.h"

#include "bare_code.h"
#include "epilogue.h"
#include "modules.h"
#include "../core/settings.h"

uintptr_t si_unwind_start_main;

/* True for E8 rel32, or FF /2 in any of its lengths; prefixes come before and don't matter. */
bool si_after_call(uintptr_t pc)
{
	const uint8_t *p = (const uint8_t *)pc;

	if (p[-5] == 0xe8)
		return true;
	for (int back = 2; back <= 7; back++)
		if (back != 5 && p[-back] == 0xff && (p[-back + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/* The walker's registers and state. */
struct row_walk {
	uintptr_t pc, rsp, rbp, high;
	uint64_t generation;
	struct si_writer *w;
	const uintptr_t *fp;      /* the hook's frame, where the walk began */
	struct si_walked *walked; /* the words that the walk depended on */
	uintptr_t rbp_at;         /* address that rbp was read from; 0: it is noted */
	bool doubt; /* rbp was followed without a row */
	bool cut;
	bool assumed; /* rows of bare code were not looked up */
};

/* True if there is a readable word at `at`. */
static bool readable(const struct row_walk *k, uintptr_t at)
{
	return at >= k->rsp && at % sizeof(uintptr_t) == 0 && at < k->high &&
	       k->high - at >= sizeof(uintptr_t);
}

/* True if the call with return address `back` may have led to `pc`: a direct call's target must lie
 * before it, or jump on. */
static bool may_call(uintptr_t back, uintptr_t pc, const struct si_cfi_view *view)
{
	const uint8_t *p = (const uint8_t *)back;
	uintptr_t target;
	int32_t distance;

	if (p[-5] != 0xe8)
		return true;
	__builtin_memcpy(&distance, p - 4, sizeof(distance));
	target = back + (uintptr_t)(intptr_t)distance;
	if (target < view->code_low || target >= view->code_high)
		return true; /* a target in another module */
	p = (const uint8_t *)target;
	return target < pc || *p == 0xe9 || *p == 0xeb || *p == 0xff;
}

/* Makes the row of undescribed code from the way it returns. The row counts if it leads to a return
 * address now. SI_ROW_BARE: that is unknown. */
static uint64_t make_undescribed(const struct row_walk *k, const struct si_cfi_view *view)
{
	uint64_t row = si_epilogue_row(k->pc, view->code_low, view->code_high);
	uintptr_t cfa = (SI_ROW_KIND(row) == SI_ROW_BP ? k->rbp : k->rsp) + SI_ROW_CFA(row), back;
	struct si_cfi_view caller;
	enum si_code code;

	/* hlt after a call: the called function ends the program, as start code expects */
	if (k->pc < view->code_high && *(const uint8_t *)k->pc == 0xf4)
		return SI_ROW(SI_ROW_END, 0, 0);
	/* a call leaves rsp at a multiple of 16: behind a call that never returns, half of the sums
	 * don't */
	if (row == SI_ROW_NONE || cfa % 16 || cfa < k->rsp + 8 || !readable(k, cfa - 8))
		return SI_ROW_OF_BARE;
	back = si_stack_word((const uintptr_t *)(cfa - 8));
	code = si_module_view(back, &caller);
	/* in a module that may be unloaded, bytes may be read only if the row is right */
	return code == SI_CODE_PASSING ||
			       (code == SI_CODE_LASTING && si_after_call(back) &&
				may_call(back, k->pc, view))
		       ? row
		       : SI_ROW_OF_BARE;
}

/* A row for an address that has none. */
static SI_COLD uint64_t make(struct row_walk *k)
{
	struct si_cfi_view view;
	struct si_cfi found;
	enum si_code code;

	if (k->pc < 4096 || k->pc >> 47)
		return SI_ROW(SI_ROW_NOWHERE, 0, 0);
	if (si_is_bare_code(k->pc)) /* its bit in the filter is that of a doubted address */
		return SI_ROW_OF_BARE;
	code = si_module_view(k->pc, &view);
	if (code == SI_CODE_NONE && !k->doubt &&
	    __atomic_load_n(&si_modules_suspect, __ATOMIC_RELAXED)) {
		si_modules_update((const uintptr_t *)k->w->busy, k->w);
		k->generation = __atomic_load_n(&si_modules_generation, __ATOMIC_ACQUIRE);
		code = si_module_view(k->pc, &view);
	}
	if (k->doubt && code == SI_CODE_PASSING)
		return SI_ROW(SI_ROW_STOP, 0, 0);
	found = (struct si_cfi){ SI_ROW(SI_ROW_NOWHERE, 0, 0), 0 };
	if (code != SI_CODE_NONE) {
		found = si_cfi_find(&view, k->pc);
		if (found.function && found.function == si_unwind_start_main)
			found.row = SI_ROW(SI_ROW_NOWHERE, 0, 0);
		if (found.row == SI_ROW_OF_BARE)
			found.row = make_undescribed(k, &view);
		if (found.row == SI_ROW_FP && si_settings.unwind == SI_UNWIND_ROWS)
			found.row |= SI_ROW_MIXED;
	}
	si_row_store(k->pc, k->generation, found.row);
	return found.row;
}

static bool step_realign(struct row_walk *k, uint64_t row)
{
	uintptr_t at = k->rbp + (uintptr_t)(intptr_t)(int32_t)SI_ROW_CFA(row), cfa;

	if (!readable(k, at) || !readable(k, k->rbp))
		return false;
	cfa = si_stack_word((const uintptr_t *)at);
	if (cfa < k->rsp + 8 || !readable(k, cfa - 8))
		return false;
	k->rbp = si_stack_word((const uintptr_t *)k->rbp);
	k->pc = si_stack_word((const uintptr_t *)(cfa - 8));
	k->rsp = cfa;
	return true;
}

/* Steps over a signal's frame: the kernel's ucontext lies at rsp. Code interrupted on another stack
 * is not followed. */
static bool step_signal(struct row_walk *k)
{
	enum { UC_RBP = 120, UC_RSP = 160, UC_RIP = 168 };
	uintptr_t rsp;

	if (!readable(k, k->rsp) || !readable(k, k->rsp + UC_RIP))
		return false;
	rsp = si_stack_word((const uintptr_t *)(k->rsp + UC_RSP));
	if (rsp <= k->rsp || rsp >= k->high)
		return false;
	k->rbp = si_stack_word((const uintptr_t *)(k->rsp + UC_RBP));
	k->pc = si_stack_word((const uintptr_t *)(k->rsp + UC_RIP)) + 1;
	k->rsp = rsp;
	return rsp % sizeof(uintptr_t) == 0;
}

/* Notes that the walk depends on rbp. */
SI_HOT void note_rbp(struct row_walk *k)
{
	if (k->rbp_at)
		si_walked_note(k->walked, k->fp, k->rbp_at, k->rbp);
	k->rbp_at = 0;
}

/* True if a return address lies between rsp and rbp: then rbp is that of a frame further out. */
static bool would_skip(struct row_walk *k)
{
	enum { WORDS_MAX = 1024 };

	if ((k->rbp - k->rsp) / sizeof(uintptr_t) > WORDS_MAX)
		return true;
	for (uintptr_t at = k->rsp; at < k->rbp; at += sizeof(uintptr_t)) {
		uintptr_t word = si_stack_word((const uintptr_t *)at);
		enum si_code code = si_module_code(word);

		si_walked_note(k->walked, k->fp, at, word);
		if (code == SI_CODE_PASSING || (code == SI_CODE_LASTING && si_after_call(word)))
			return true;
	}
	return false;
}

/* Steps by rbp from undescribed code. */
static bool step_bare(struct row_walk *k)
{
	uintptr_t from = k->pc;
	struct si_cfi_view view;

	note_rbp(k);
	if (!readable(k, k->rbp) || !readable(k, k->rbp + 8) ||
	    (!si_is_bare_code(from) && would_skip(k)))
		return false;
	k->pc = si_stack_word((const uintptr_t *)k->rbp + 1);
	si_walked_note(k->walked, k->fp, k->rbp + 8, k->pc);
	k->rbp_at = k->rbp;
	k->rsp = k->rbp + 16;
	k->rbp = si_stack_word((const uintptr_t *)k->rbp);
	k->doubt = true;
	if (si_is_bare_code(k->pc) ? si_after_call(k->pc) :
	    si_row_find(k->pc, k->generation) != SI_ROW_NONE ||
	    si_module_view(k->pc, &view) != SI_CODE_LASTING || si_after_call(k->pc))
		return true;
	si_row_doubt(from, k->generation, SI_ROW(SI_ROW_STOP, 0, 0));
	return false;
}

static SI_COLD bool step_rare(struct row_walk *k, enum si_row_kind kind, uint64_t row)
{
	bool on = kind == SI_ROW_REALIGN ? step_realign(k, row) :
		  kind == SI_ROW_SIGNAL  ? step_signal(k) :
		  kind == SI_ROW_BARE    ? step_bare(k) :
					   false;

	k->walked->unnoted |= kind == SI_ROW_REALIGN || kind == SI_ROW_SIGNAL;
	k->cut = !on && kind != SI_ROW_END;
	return on;
}

/* Steps by rbp to an address that has a row, as most steps in Chromium do; returns the row, or
 * SI_ROW_NONE. */
SI_HOT uint64_t step_to_known(struct row_walk *k)
{
	uintptr_t at = k->rbp, next;
	uint64_t row;

	note_rbp(k);
	if (!readable(k, at) || !readable(k, at + 8))
		return SI_ROW_NONE;
	next = si_stack_word((const uintptr_t *)at + 1);
	row = si_row_of(next, k->generation);
	if (row == SI_ROW_NONE || (si_is_bare_code(next) && !si_after_call(next)))
		return SI_ROW_NONE;
	si_walked_note(k->walked, k->fp, at + 8, next);
	k->pc = next;
	k->rsp = at + 16;
	k->rbp = si_stack_word((const uintptr_t *)at);
	k->rbp_at = at;
	k->doubt = true;
	return row;
}

/*
 * Steps by rbp from one address of bare code to the next, as most steps in Chromium do, into
 * frames[n] and on; returns the new count. A frame that other code follows is left to rows.
 */
SI_HOT uint32_t follow_bare(struct row_walk *k, uint32_t n, uint32_t depth, uintptr_t *frames)
{
	while (n < depth && readable(k, k->rbp) && readable(k, k->rbp + 8)) {
		uintptr_t at = k->rbp, next = si_stack_word((const uintptr_t *)at + 1);

		if (!si_is_bare_code(next))
			break;
		note_rbp(k);
		si_walked_note(k->walked, k->fp, at + 8, next);
		frames[n++] = k->pc = next;
		k->rsp = at + 16;
		k->rbp = si_stack_word((const uintptr_t *)at);
		k->rbp_at = at;
		k->doubt = k->assumed = true;
	}
	return n;
}

SI_HOT uint64_t first_row(struct row_walk *k, bool assume)
{
	k->assumed = assume && si_is_bare_code(k->pc);
	return k->assumed ? SI_ROW_OF_BARE : si_row_of(k->pc, k->generation);
}

uint32_t si_unwind_walk(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uintptr_t *frames,
			struct si_walked *walked, bool assume)
{
	struct row_walk k = {
		.pc = si_stack_word(fp + 1),
		.rsp = (uintptr_t)(fp + 2),
		.rbp = si_stack_word(fp),
		.high = si_tls.stack_high,
		.generation = __atomic_load_n(&si_modules_generation, __ATOMIC_ACQUIRE),
		.w = w,
		.fp = fp,
		.walked = walked,
		.rbp_at = (uintptr_t)fp,
	};
	uint32_t n = 0;
	uint64_t row = first_row(&k, assume);

	si_walked_begin(walked);
	si_walked_note(walked, fp, (uintptr_t)(fp + 1), k.pc);
	for (;;) {
		enum si_row_kind kind;

		if (SI_UNLIKELY(row == SI_ROW_NONE))
			row = make(&k);
		kind = SI_ROW_KIND(row);
		if (SI_LIKELY(kind <= SI_ROW_BP)) {
			uintptr_t cfa = (kind == SI_ROW_BP ? k.rbp : k.rsp) + SI_ROW_CFA(row),
				  saved = cfa - SI_ROW_SAVED(row);

			frames[n++] = k.pc;
			if (n == depth)
				break;
			if (kind == SI_ROW_BP)
				note_rbp(&k);
			/* SI_ROW_SAVED ≥ 8, so this is "above rsp, and below the end" for both
			 * words; cfa cannot have wrapped below rsp */
			if (SI_UNLIKELY(cfa < k.rsp + 8 || cfa > k.high || saved < k.rsp ||
					cfa % 8)) {
				k.cut = cfa < k.high;
				break;
			}
			k.pc = si_stack_word((const uintptr_t *)(cfa - 8));
			si_walked_note(walked, fp, cfa - 8, k.pc);
			if (SI_ROW_SAVED(row) != 8) {
				k.rbp = si_stack_word((const uintptr_t *)saved);
				k.rbp_at = saved;
			}
			k.rsp = cfa;
			row = si_row_of(k.pc, k.generation);
			continue;
		}
		if (kind == SI_ROW_NOWHERE) {
			/* the hook's own return address is true wherever it is; continue from there
			 * as from undescribed code */
			if (n > 0)
				break;
			kind = SI_ROW_BARE;
		}
		frames[n++] = k.pc;
		if (assume && SI_LIKELY(kind == SI_ROW_BARE && si_is_bare_code(k.pc)))
			n = follow_bare(&k, n, depth, frames);
		if (n == depth)
			break;
		if (SI_LIKELY(kind == SI_ROW_BARE && si_is_bare_code(k.pc))) {
			uint64_t known = step_to_known(&k);

			if (SI_LIKELY(known != SI_ROW_NONE)) {
				row = known;
				continue;
			}
		}
		if (!step_rare(&k, kind, row))
			break;
		row = si_row_of(k.pc, k.generation);
	}
	walked->exact = !k.assumed;
	walked->assumed = k.assumed;
	walked->cut = k.cut;
	return n;
}
