/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h: allocation that succeeds or ends the process with one clear line; growing arrays.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: that is its purpose. Threads: any.
 *
 * The sidecar's tables grow on every path, the hot ones included. Carrying an error out of each of
 * them would cost more than it brings: without memory there is nothing useful left to do, and
 * committed data is safe in the session file.
 */
#ifndef SHINY_MEM_H
#define SHINY_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void *mem_alloc(size_t bytes);
void *mem_zero(size_t count, size_t each);
void *mem_resize(void *old, size_t count, size_t each);
/* Returns the table with room for entry `index`: while `room` is too small it doubles, from `least`
 * on. New entries are zero. */
void *mem_reach(void *table, size_t *room, size_t index, size_t each, size_t least);
/*
 * Returns whole zeroed pages, for tables with random access; from MEM_HUGE bytes on they ask for
 * huge pages and are aligned to one. With 4 KiB pages a look-up in a table of 30 MB spends most of
 * its time on address translation.
 */
enum { MEM_HUGE = 2 * 1024 * 1024 };
void *mem_pages(size_t bytes);
void mem_pages_free(void *pages, size_t bytes); /* accepts NULL */
char *mem_text(const char *text); /* a copy */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* Returns a stream into *text, which grows with it; *text and *bytes (without the NUL at the end)
 * are complete once mem_stream_close has been called. The caller frees *text. */
FILE *mem_stream_open(char **text, size_t *bytes);
void mem_stream_close(FILE *stream);

#define VEC(type) struct { type *at; size_t count, room; }

/* Returns the next room of a growing array, in elements. Unused elements are never touched. */
size_t mem_room(size_t room, size_t each);
/* Makes room for one more element, counts it and returns a pointer to it; it is not initialised. */
#define vec_push(v)                                                                     \
	({                                                                              \
		__typeof__(v) vec_ = (v);                                               \
		if (vec_->count == vec_->room) {                                        \
			vec_->room = mem_room(vec_->room, sizeof(*vec_->at));           \
			vec_->at = mem_resize(vec_->at, vec_->room, sizeof(*vec_->at)); \
		}                                                                       \
		&vec_->at[vec_->count++];                                               \
	})

#endif
