/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.h: a recipe that redirects a function's entry. A decoder outside computes it; the code
 * inside that carries it out only compares bytes.
 *
 * Runs: both. Signals: – Allocates: – Threads: –
 *
 * The first instructions of the function, as many whole ones as a near jump (5 bytes) needs, are
 * displaced. They run in a *trampoline*, moved so that they mean the same there, and it jumps back
 * behind them. The entry jumps to a *stub* near by, which jumps to the hook; the hook calls the
 * trampoline, which is the function as it was.
 *
 *     entry:      [endbr64]  jmp stub  (the rest of the function)
 *     stub:       jmp *hook
 *     trampoline: endbr64; displaced instructions; jmp entry + skip + displaced
 *
 * endbr64 at the entry stays where it is: indirect calls arrive there.
 *
 * A direct call instruction may be patched as well: it then calls a stub like the above, whose
 * trampoline is a jump to the function that it called before. So the hook replaces that function at
 * this one call.
 */
#ifndef SHINY_PATCH_H
#define SHINY_PATCH_H

#include <stdint.h>

enum {
	SHINY_PATCH_JUMP = 5,      /* bytes of jmp rel32 */
	SHINY_PATCH_EXPECTED = 32, /* bytes compared before the patch */
	SHINY_PATCH_CODE = 72,     /* bytes of displaced instructions, moved */
	SHINY_PATCH_FIXUPS = 4,
};

/* Tells the patcher to store a relative address, `target` - (address of the byte `code[next]`),
 * both at run time, into the four bytes at `code[at]`. */
struct shiny_patch_fixup {
	uint64_t target; /* address in the file */
	uint8_t at, next;
	uint8_t reserved[6];
};

struct shiny_patch_recipe {
	uint64_t vaddr;      /* address of the entry in the file */
	uint8_t skip;        /* bytes of an endbr64 at the entry, which stays: 4 or 0 */
	uint8_t displaced;   /* bytes of the displaced instructions behind `skip`: at least 5 */
	uint8_t expected_bytes; /* at least skip + displaced */
	uint8_t code_bytes;  /* bytes of `code`, without the jump back */
	uint8_t fixup_count;
	uint8_t call; /* 1: the recipe patches a call instruction */
	uint8_t reserved[2];
	uint8_t expected[SHINY_PATCH_EXPECTED]; /* bytes from the entry on */
	uint8_t code[SHINY_PATCH_CODE];
	struct shiny_patch_fixup fixups[SHINY_PATCH_FIXUPS];
};

/* A patch that is ready to be written. */
struct shiny_patch {
	uint64_t entry; /* the address that the jump is written to */
	uint8_t jump[SHINY_PATCH_JUMP], before[SHINY_PATCH_JUMP];
	uint8_t displaced; /* bytes from there on in which no thread may be when it is written */
	uint8_t reserved[5];
};

_Static_assert(sizeof(struct shiny_patch) == 24, "the same on both sides");
_Static_assert(sizeof(struct shiny_patch_recipe) == 184 && sizeof(struct shiny_patch_fixup) == 16,
	       "the same on both sides");

#endif
