/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_code.h: decodes the first instructions of a function: a jump of a jump table, or code that
 * can run elsewhere.
 *
 * Runs: inside, in the constructor. Signals: – Allocates: nothing. Threads: any; no state.
 */
#ifndef SI_ENTRY_CODE_H
#define SI_ENTRY_CODE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the target of an entry of a jump table as clang's control-flow integrity makes it: a
 * jump, and traps up to 8 bytes. 0: there is none. `at` is the entry's address at run time. */
uintptr_t si_decode_jump(const uint8_t *code, uintptr_t at);

/*
 * Returns the length, in bytes, of whole instructions at a function's beginning that can run
 * anywhere else: at least `least` bytes of frame set-up, saved registers, moves between registers,
 * and at most one load from a pc-relative place. The load's distance is the 4 bytes at
 * *distance_at, relative to *distance_at + 4; 0: no load. Returns 0 if there are other instructions
 * among them.
 */
size_t si_decode_prologue(const uint8_t *code, size_t size, size_t least, size_t *distance_at);

#endif
