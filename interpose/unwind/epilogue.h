/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h: finds where a function's frame ends from the code that leads to its return.
 *
 * Runs: inside, once for a return address that no .eh_frame describes (unwind.c). Signals: safe.
 * Allocates: nothing; some 500 bytes of stack. Threads: any; the bytes it reads must stay mapped
 * meanwhile.
 */
#ifndef SI_EPILOGUE_H
#define SI_EPILOGUE_H

#include "../core/base.h"

/* Returns the row (cfi.h) of the return address `pc`; SI_ROW_NONE: its code does not show it. Reads
 * nothing outside [low, high), which contains `pc`. */
uint64_t si_epilogue_row(uintptr_t pc, uintptr_t low, uintptr_t high);

#endif
