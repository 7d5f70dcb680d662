/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observed.c: a library without symbols that has an allocator with hooks as PartitionAlloc's, and
 * so much code as a browser's engine, and (MAIN) a program that uses it and prints its own book:
 * "truth MADE ENDED BYTES", and "own MADE ENDED": what hooks of its own were told. SETS: the
 * library has a function that sets hooks, and the program calls it; ELSEWHERE: another one writes
 * to a hook, too; BY_ADDRESS: whether there are hooks is read through a register, as in Qt 6.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN __attribute__((noinline, visibility("default")))
#define APART __attribute__((noinline))
typedef void made_hook(void *, size_t, const char *);
typedef void ended_hook(void *);

OPEN void *engine_make(size_t bytes);
OPEN void engine_end(void *block);
OPEN void engine_start(made_hook *made, ended_hook *ended);
OPEN void engine_forget(void);

#ifndef MAIN
typedef _Bool made_override(void **, int, size_t, const char *);
typedef _Bool ended_override(void *);
static made_hook *made_observer;
static made_override *made_instead;
static ended_hook *ended_observer;
static ended_override *ended_instead;
static unsigned char enabled;
#define LOAD(variable) __atomic_load_n(&(variable), __ATOMIC_RELAXED)
#ifdef BY_ADDRESS
#define IS_ENABLED                             \
	({                                     \
		unsigned char *at = &enabled;  \
		__asm__ volatile("" : "+r"(at)); \
		LOAD(*at);                     \
	})
#else
#define IS_ENABLED LOAD(enabled)
#endif

__asm__(".pushsection .text.filling,\"ax\"\n.skip 68 << 20, 0xcc\n.popsection");

#ifdef SETS
APART static void engine_set(made_hook *made, ended_hook *ended)
{
	if ((LOAD(made_observer) || LOAD(ended_observer)) && (made || ended))
		__builtin_trap();
	__atomic_store_n(&made_observer, made, __ATOMIC_SEQ_CST);
	__atomic_store_n(&ended_observer, ended, __ATOMIC_SEQ_CST);
	__atomic_store_n(&enabled, LOAD(made_observer) || LOAD(made_instead), __ATOMIC_SEQ_CST);
}
void engine_start(made_hook *made, ended_hook *ended)
{
	engine_set(made, ended);
	__asm__ volatile("");
}
#endif

APART static void tell_made(void *block, size_t bytes, const char *type)
{
	made_hook *hook = LOAD(made_observer);

	if (hook)
		hook(block, bytes, type);
}
APART static _Bool make_instead(void **out, int flags, size_t bytes, const char *type)
{
	made_override *hook = LOAD(made_instead);

	return hook ? hook(out, flags, bytes, type) : 0;
}
APART static void tell_ended(void *block)
{
	ended_hook *hook = LOAD(ended_observer);

	if (hook)
		hook(block);
}
APART static _Bool end_instead(void *block)
{
	ended_override *hook = LOAD(ended_instead);

	return hook ? hook(block) : 0;
}

static _Alignas(64) char arena[16 << 20];
static size_t used;
static void *spare[64];

void *engine_make(size_t bytes)
{
	size_t class = (bytes + 79) / 64;
	void *block = spare[class];

	if (IS_ENABLED && make_instead(&block, 0, bytes, NULL))
		return block;
	if (block) {
		memcpy(&spare[class], block, sizeof(block));
	} else {
		*(size_t *)(arena + used + 48) = class;
		block = arena + used + 64;
		used += 64 + class * 64;
	}
	if (IS_ENABLED)
		tell_made(block, bytes, NULL);
	return block;
}
void engine_end(void *block)
{
	size_t class = ((size_t *)block)[-2];

	if (IS_ENABLED) {
		tell_ended(block);
		if (end_instead(block))
			return;
	}
	memcpy(block, &spare[class], sizeof(block));
	spare[class] = block;
}
#ifdef ELSEWHERE
void engine_forget(void) { __atomic_store_n(&ended_observer, NULL, __ATOMIC_SEQ_CST); }
#endif
#else
static size_t made, ended, bytes, own_made, own_ended;

#ifdef SETS
static void on_made(void *block, size_t size, const char *type)
{
	(void)block, (void)size, (void)type;
	own_made++;
}
static void on_ended(void *block)
{
	(void)block;
	own_ended++;
}
#endif

int main(void)
{
	void *kept[500] = { 0 };

	for (uint32_t i = 0, state = 1; i < 20000; i++) {
		size_t size;

		state = state * 1664525u + 1013904223u;
		size = 8 + (state >> 20) % 2000;
#ifdef SETS
		if (i == 10000)
			engine_start(on_made, on_ended);
#endif
		if (kept[i % 500]) {
			engine_end(kept[i % 500]);
			ended++;
		}
		kept[i % 500] = engine_make(size);
		made++;
		bytes += size;
	}
	printf("truth %zu %zu %zu\nown %zu %zu\n", made, ended, bytes, own_made, own_ended);
	return 0;
}
#endif
