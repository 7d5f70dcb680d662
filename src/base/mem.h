/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h: memory that is there or the process ends with one clear line; growing arrays on top of it.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: that is its purpose. Threads: any.
 *
 * The sidecar's tables grow on every path, the hot ones included. Carrying an error out of each of
 * them would cost more than it gives: without memory there is nothing useful left to do, and what
 * was committed to the session file is safe in it.
 */
#ifndef SHINY_MEM_H
#define SHINY_MEM_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void *mem_alloc(size_t bytes);
void *mem_zero(size_t count, size_t each);
void *mem_resize(void *old, size_t count, size_t each);
/* A table that has an entry `index`: where `room` is too small it is doubled, from `least` on, as
 * often as needed; what is new is zero. */
void *mem_reach(void *table, size_t *room, size_t index, size_t each, size_t least);
/*
 * Whole zeroed pages, for tables that are read at random; from MEM_HUGE bytes on they ask for huge
 * pages and begin at one. With 4 KiB pages a table of 30 MB spends most of a look-up on finding out
 * where the page is.
 */
enum { MEM_HUGE = 2 * 1024 * 1024 };
void *mem_pages(size_t bytes);
void mem_pages_free(void *pages, size_t bytes); /* accepts NULL */
char *mem_text(const char *text); /* a copy */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_format_list(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* A stream into *text, which grows with it and is complete once mem_stream_close has been called;
 * *bytes without the NUL at its end. */
FILE *mem_stream_open(char **text, size_t *bytes);
void mem_stream_close(FILE *stream);

#define VEC(type) struct { type *at; size_t count, room; }

/* The next room of an array that grows, in elements: what is not used of it is not touched. */
size_t mem_room(size_t room, size_t each);
/* Makes room for one more and counts it; a pointer to it, not initialised. */
#define vec_push(v)                                                                     \
	({                                                                              \
		__typeof__(v) vec_ = (v);                                               \
		if (vec_->count == vec_->room) {                                        \
			vec_->room = mem_room(vec_->room, sizeof(*vec_->at));           \
			vec_->at = mem_resize(vec_->at, vec_->room, sizeof(*vec_->at)); \
		}                                                                       \
		&vec_->at[vec_->count++];                                               \
	})

/* Room for so many: what grows and is copied has touched more than it needs. */
#define vec_reserve(v, wanted)                                                          \
	({                                                                              \
		__typeof__(v) vec_ = (v);                                               \
		if (vec_->room < (wanted)) {                                            \
			vec_->room = (wanted);                                          \
			vec_->at = mem_resize(vec_->at, vec_->room, sizeof(*vec_->at)); \
		}                                                                       \
	})

#endif
