/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h: macros and string helpers of the whole engine, and a text builder that needs no stdio.
 *
 * Runs: inside. Signals: safe. Allocates: nothing; the builder writes into a buffer it was given.
 * Threads: any; a builder belongs to one thread.
 */
#ifndef SI_BASE_H
#define SI_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SI_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* For code on every event's path. gcc would emit one shared copy otherwise. */
#define SI_HOT          static inline __attribute__((always_inline))
#define SI_COLD        __attribute__((noinline, cold))
/* -fvisibility=hidden applies to definitions only; without this attribute on the declaration, uses
 * go through the GOT. */
#define SI_INTERNAL    extern __attribute__((visibility("hidden")))

/* Text built into a fixed buffer; always terminated, cut at the buffer's end. */
struct si_text {
	char *at;
	size_t room, used;
};

static inline void si_text_init(struct si_text *t, char *at, size_t room)
{
	t->at = at;
	t->room = room;
	t->used = 0;
	if (room)
		at[0] = 0;
}

static inline void si_text_bytes(struct si_text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n && t->used + 1 < t->room; i++)
		t->at[t->used++] = s[i];
	if (t->used < t->room)
		t->at[t->used] = 0;
}

static inline void si_text_add(struct si_text *t, const char *s)
{
	for (; *s; s++)
		si_text_bytes(t, s, 1);
}

static inline void si_text_number(struct si_text *t, uint64_t n)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	si_text_bytes(t, digits + i, sizeof(digits) - i);
}

static inline void si_text_hex(struct si_text *t, uint64_t n)
{
	char digits[18];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[n & 15];
		n >>= 4;
	} while (n);
	digits[--i] = 'x';
	digits[--i] = '0';
	si_text_bytes(t, digits + i, sizeof(digits) - i);
}

/* Frees a block with the function of the allocator that returned it. */
typedef void si_release_fn(void *block);

static inline bool si_same(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static inline bool si_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static inline const char *si_base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

#endif
