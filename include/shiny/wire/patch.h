/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.h: how a function's entry can be made to lead elsewhere: made outside by a decoder, carried
 * out inside by one that only compares bytes.
 *
 * Runs: both. Signals: –  Allocates: –  Threads: –
 *
 * The first instructions of the function, as many whole ones as a near jump (5 bytes) needs, are
 * displaced. They run in a *trampoline*, moved so that they mean the same there, and it jumps back
 * behind them. The entry jumps to a *stub* near by, which jumps to the hook; the hook calls the
 * trampoline, which is the function as it was.
 *
 *     entry:      [endbr64]  jmp stub          stub:        jmp *hook
 *                 (the rest of the function)   trampoline:  endbr64; displaced instructions; jmp entry + skip + displaced
 *
 * endbr64 at the entry stays where it is: indirect calls arrive there.
 *
 * A direct call instruction may be patched as well: it calls a stub like the above, whose
 * trampoline is a jump to what it called before. So the hook is called in that function's place,
 * there only.
 */
#ifndef SHINY_PATCH_H
#define SHINY_PATCH_H

#include <stdint.h>

enum {
	SHINY_PATCH_JUMP = 5,      /* bytes of jmp rel32 */
	SHINY_PATCH_EXPECTED = 32, /* bytes compared */
	SHINY_PATCH_CODE = 72,     /* of displaced instructions, moved */
	SHINY_PATCH_FIXUPS = 4,
};

/* The four bytes at `at` of `code` are to hold target - address of the byte at `next` of it, both
 * at run time. */
struct shiny_patch_fixup {
	uint64_t target; /* address in the file */
	uint8_t at, next;
	uint8_t reserved[6];
};

struct shiny_patch_recipe {
	uint64_t vaddr;      /* the entry's, in the file */
	uint8_t skip;        /* 4 where an endbr64 stays, else 0 */
	uint8_t displaced;   /* bytes of the instructions behind it that are displaced: 5 at
	                      * least */
	uint8_t expected_bytes; /* skip + displaced at least */
	uint8_t code_bytes;  /* without the jump back */
	uint8_t fixup_count;
	uint8_t call; /* 1: it is a call instruction */
	uint8_t reserved[2];
	uint8_t expected[SHINY_PATCH_EXPECTED]; /* from the entry on */
	uint8_t code[SHINY_PATCH_CODE];
	struct shiny_patch_fixup fixups[SHINY_PATCH_FIXUPS];
};

_Static_assert(sizeof(struct shiny_patch_recipe) == 184 && sizeof(struct shiny_patch_fixup) == 16,
	       "the same on both sides");

#endif
