/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.h: reads the compiler's description of a return address, where its function's frame ends and
 * where it saved rbp, as one word, a row.
 *
 * Runs:      inside, once for a return address; its result is cached (rows.h).
 * Signals:   safe.
 * Allocates: nothing; some 300 bytes of stack.
 * Threads:   any; the bytes it reads must stay mapped meanwhile.
 */
#ifndef SI_CFI_H
#define SI_CFI_H

#include "../core/base.h"

/*
 *   63 ─ 56 55 54 ──── 32 31 ───────── 0
 *   kind    m  saved      cfa              all in bytes
 *
 * CFA, the canonical frame address, is rsp as it was before the call instruction. The return
 * address is at CFA − 8 in every kind that has one; the caller's rbp is at CFA − saved, or still in
 * rbp where saved is 8.
 *
 *   1 ≤ saved / 8, cfa % 8 == saved % 8 == 0
 *   SP: saved ≤ cfa, so that every word read lies above rsp
 */
enum si_row_kind {
	SI_ROW_NONE = 0,
	SI_ROW_SP = 1,      /* CFA = rsp + cfa */
	SI_ROW_BP = 2,      /* CFA = rbp + cfa */
	/* CFA is stored at rbp + (int32)cfa, the caller's rbp at rbp: gcc's functions that align
	 * their stack */
	SI_ROW_REALIGN = 3,
	SI_ROW_SIGNAL = 4,  /* a signal handler's return: all registers are in a ucontext at rsp */
	SI_ROW_BARE = 5,    /* undescribed code: follow rbp, and check the address that it leads
	                     * to */
	SI_ROW_END = 6,     /* the outermost function */
	SI_ROW_STOP = 7,    /* something else: the next frame is unknown */
	/* the address is in no module, or in libc's start code: neither it nor its caller is
	 * recorded */
	SI_ROW_NOWHERE = 8,
};
#define SI_ROW(kind, cfa, saved) \
	((uint64_t)(kind) << 56 | (uint64_t)(saved) << 32 | (uint64_t)(cfa))
#define SI_ROW_KIND(row)         ((enum si_row_kind)((row) >> 56))
#define SI_ROW_CFA(row)          ((uint32_t)(row))
#define SI_ROW_SAVED(row)        ((uint32_t)((row) >> 32 & 0x7fffff))
/* the function keeps a frame pointer, but its callers don't always */
#define SI_ROW_MIXED             (UINT64_C(1) << 55)
#define SI_ROW_OF_BARE           SI_ROW(SI_ROW_BARE, 16, 16)
#define SI_ROW_FP                SI_ROW(SI_ROW_BP, 16, 16) /* push rbp; mov rsp, rbp */

enum { SI_CFA_MAX = 1 << 28, SI_SAVED_MAX = 0x7ffff8 };

/* A module's unwind information: .eh_frame_hdr and the bounds of the segment that holds it; and the
 * bounds of the segment of the code in question. */
struct si_cfi_view {
	uintptr_t table; /* 0: there is none */
	uintptr_t low, high;
	uintptr_t code_low, code_high;
};

struct si_cfi {
	uint64_t row;
	uintptr_t function; /* first address of the function, if it was found; else 0 */
};

/* Returns the row of the return address `pc`. It reads nothing outside the segment, and at most
 * SI_CFI_BYTES of instructions. */
struct si_cfi si_cfi_find(const struct si_cfi_view *view, uintptr_t pc);

enum { SI_CFI_BYTES = 64 * 1024 };

/* Calls `tell` for each described function. False: there are more than `most`, or one that cannot
 * be read; `tell` may have been called for some. */
bool si_cfi_functions(const struct si_cfi_view *view, uint64_t most,
		      void (*tell)(uintptr_t begin, uintptr_t end));

#endif
