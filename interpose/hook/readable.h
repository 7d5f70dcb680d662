/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.h: whether an address that the program passes to the kernel may be read by us, without
 * asking the kernel.
 *
 * Runs:      inside, in hooks of calls that answer EFAULT where we would fault.
 * Signals:   safe, also in a vfork child: only the caller's stack is written.
 * Allocates: nothing.    Threads: any.
 */
#ifndef SI_READABLE_H
#define SI_READABLE_H

#include "../core/base.h"

/* Boot: where the heap is. */
void si_readable_boot(void);

/* The program has taken the right to read this memory away. */
void si_readable_no_more(const void *at, size_t bytes);

/* The string `s`, as far as its NUL or `most` bytes. */
bool si_readable_string(const char *s, size_t most);

/* An array of strings as exec takes it, with all of them; NULL is not. */
bool si_readable_strings(char *const *strings);

#endif
