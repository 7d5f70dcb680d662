/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_code.h: the first instructions of a function: a jump of a jump table, or code that can run
 * elsewhere.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: nothing.
 * Threads:   any; no state.
 */
#ifndef SI_ENTRY_CODE_H
#define SI_ENTRY_CODE_H

#include <stddef.h>
#include <stdint.h>

/* `at` holds one entry of a jump table as clang's control-flow integrity makes it: a jump, and
 * traps up to 8 bytes. Where it goes; else 0. */
uintptr_t si_decode_jump(const uint8_t *code, uintptr_t at);

/*
 * How many whole instructions of a function's beginning, in bytes, can run anywhere else: at least
 * `least` bytes of frame set-up, saved registers, moves between registers, and at most one load
 * from a pc-relative place: its distance is the 4 bytes at *distance_at, and what follows it is at
 * *distance_at + 4; 0 none. Returns 0: there are others among them.
 */
size_t si_decode_prologue(const uint8_t *code, size_t size, size_t least, size_t *distance_at);

#endif
