/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readable.h: tells without asking the kernel whether we may read an address that the program
 * passes to it.
 *
 * Runs: inside, in hooks of calls that answer EFAULT where we would fault. Signals: safe, also in a
 * vfork child: only the caller's stack is written. Allocates: nothing. Threads: any.
 */
#ifndef SI_READABLE_H
#define SI_READABLE_H

#include "../core/base.h"

/* Finds the heap. Called in boot. */
void si_readable_boot(void);

/* Notes that the program has made this memory unreadable. */
void si_readable_no_more(const void *at, size_t bytes);

/* True if the string `s` is readable up to its NUL, or for `most` bytes. */
bool si_readable_string(const char *s, size_t most);

/* True if an array of strings for exec is readable, with all its strings; false for NULL. */
bool si_readable_strings(char *const *strings);

#endif
