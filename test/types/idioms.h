/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idioms.h: what the files of the idiom program share.
 *
 * Runs: a test's target. Allocates: in every way there is.
 *
 * An idiom is a function that allocates between idiom_begin() and idiom_end() and says in words what it has made: the truth, written by
 * hand, of which the compiler knows the sizes. Each runs twice: its blocks are kept the first time (live at the end) and freed at once the
 * second time. The two calls leave marks in the stream of allocations (blocks of a size that nothing else has), so that the test finds
 * the idiom's blocks in a session: those of the same thread between two marks, in order.
 *
 * Types are spelled as symbolizer/dwarf/die_name.h says. "A|B": either is right. "-": there is nothing to find; an answer is wrong only if it is
 * given as exact or high, and with "A|-" only if it then isn't A. "~TEXT": a regular expression that the name must match.
 * "A|=B": the block is a B in a wrapping A that adds nothing; without debug information B is right, for nobody could know more.
 */
#ifndef SHINY_TEST_IDIOMS_H
#define SHINY_TEST_IDIOMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void idiom_fn(bool keep);
void idiom_add(const char *name, idiom_fn *run);

void idiom_begin(void);
void idiom_end(void);
/* The idiom made one block of exactly this size and type; of several of one size, this is said in their order. */
void one(const char *type, size_t size);
/* … at least one block of any multiple of `unit` bytes (0: of any size). */
void many(const char *type, size_t unit);
/* … or none. */
void perhaps(const char *type, size_t unit);

/* Takes a block that stays. */
void leak(const void *block);

#ifdef __cplusplus
}
#endif

/* The optimiser must not know what becomes of the pointer, or it leaves the allocation out. */
#define escape(pointer) \
	do { \
		__asm__ volatile("" : : "r"(pointer) : "memory"); \
	} while (0)
/* A value the optimiser can't know. */
#define unknown(value) (__extension__({ __typeof__(value) hidden_ = (value); __asm__ volatile("" : "+r"(hidden_)); hidden_; }))

#define NOINLINE __attribute__((noinline))

#ifdef __cplusplus
#define IDIOM(name) \
	static void name(bool keep); \
	__attribute__((constructor)) static void add_##name() { idiom_add(#name, name); } \
	NOINLINE static void name(bool keep)
#else
#define IDIOM(name) \
	static void name(bool keep); \
	__attribute__((constructor)) static void add_##name(void) { idiom_add(#name, name); } \
	NOINLINE static void name(bool keep)
#endif

#endif
