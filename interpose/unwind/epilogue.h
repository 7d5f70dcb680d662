/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h: where a function's frame ends, by the code that leads to its return.
 *
 * Runs:      inside, once for a return address that no .eh_frame describes (unwind.c).
 * Signals:   safe.
 * Allocates: nothing; some 500 bytes of stack.
 * Threads:   any; the bytes it reads must stay mapped meanwhile.
 */
#ifndef SI_EPILOGUE_H
#define SI_EPILOGUE_H

#include "../core/base.h"

/* The row (cfi.h) of the return address `pc`; SI_ROW_NONE: its code does not say. Nothing outside
 * of [low, high), which `pc` is in, is read. */
uint64_t si_epilogue_row(uintptr_t pc, uintptr_t low, uintptr_t high);

#endif
