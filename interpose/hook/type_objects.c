/* SPDX-License-Identifier: Apache-2.0 */
/* type_objects.c: see type_objects.h. */
#include "type_objects.h"

#include "record_event.h"

enum {
	YOUNG = 16,
	LOOKS = 1 << 14,   /* at one block: a collection may free thousands of objects meanwhile */
	FURTHER = 4096,    /* bytes that metaclasses and slots add to a type object */
	HEAD = 26 * 8, /* bytes of a block up to its type object's flags, behind four words */
	PATIENCE = 1 << 24,
};

/* A type object by words, and tp_flags. They are the same since 3.5, also in the stable ABI. */
enum {
	COUNT = 0,
	NAME = 3,
	AS_ASYNC = 10,
	AS_NUMBER = 12,
	AS_SEQUENCE = 13,
	AS_MAPPING = 14,
	AS_BUFFER = 20,
	FLAGS = 21,
	OF_HEAP = 1 << 9,
	READY = 1 << 12,
};

static struct young_block {
	const uint64_t *at;
	uint32_t looks;
} young[YOUNG];
uint32_t si_type_objects_young;
static uint32_t locked;
static size_t least;

void si_type_objects_begin(size_t bytes)
{
	if (bytes >= HEAD && (!least || bytes < least))
		least = bytes;
}

/* A process that forked without the interpreter's lock may have left it locked. */
static void lock(void)
{
	for (unsigned n = 0; __atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE) && n < PATIENCE; n++)
		__builtin_ia32_pause();
}

static void unlock(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static bool is_type_object(const uint64_t *type)
{
	static const uint8_t own[] = { AS_ASYNC, AS_NUMBER, AS_SEQUENCE, AS_MAPPING, AS_BUFFER };

	for (unsigned i = 0; i < sizeof(own); i++)
		if (type[own[i]] - (uintptr_t)(type + FLAGS) >= least - (FLAGS + 1) * sizeof(*type))
			return false;
	/* one that is being ended has the count 0 */
	return type[COUNT] && type[NAME] && type[FLAGS] & OF_HEAP && type[FLAGS] & READY;
}

/* Returns the type object in a block, behind the collector's words (four before 3.8), or NULL. */
static const uint64_t *type_object_in(const uint64_t *block)
{
	return is_type_object(block + 2)   ? block + 2
	       : is_type_object(block + 4) ? block + 4
					   : NULL;
}

static void forget(unsigned i)
{
	young[i] = young[si_type_objects_young - 1];
	__atomic_store_n(&si_type_objects_young, si_type_objects_young - 1, __ATOMIC_RELAXED);
}

void si_type_objects_look_slow(const uintptr_t *fp, const void *ending)
{
	lock();
	for (unsigned i = si_type_objects_young; i-- > 0;) {
		const uint64_t *type = type_object_in(young[i].at);

		if (type)
			si_event_type_name(fp, (uintptr_t)type, SHINY_RUN_TIME_PYTHON,
					   (const char *)(uintptr_t)type[NAME]);
		if (type || young[i].at == ending || ++young[i].looks == LOOKS)
			forget(i);
	}
	unlock();
}

void si_type_objects_made(const uintptr_t *fp, void *block, size_t size)
{
	si_event_alloc_object(fp, block, size, SHINY_API_PYTHON_OBJECT);
	if (SI_LIKELY(size - least >= FURTHER) || !least)
		return;
	/* what is left of the block's last life is no type object */
	__builtin_memset(block, 0, HEAD);
	lock();
	if (si_type_objects_young == YOUNG) /* the oldest is the least likely to be one */
		forget(0);
	young[si_type_objects_young] = (struct young_block){ .at = block };
	__atomic_store_n(&si_type_objects_young, si_type_objects_young + 1, __ATOMIC_RELAXED);
	unlock();
}
