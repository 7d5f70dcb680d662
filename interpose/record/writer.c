/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c: allocates streams' own memory.
 *
 * One region, reserved at boot and touched as used: SI_WRITERS writers, each with a small stack
 * cache and stack memos beside it, then the large ones for streams that write much. 8,192 writers
 * and 512 large caches are 162 MiB of addresses. Rejected: a large cache for each of 1,024 writers;
 * a thread that allocated now and then touched as many pages as it had stacks.
 */
#include "writer.h"

#include <sys/mman.h>

#include "../core/sys.h"

__thread struct si_tls si_tls __attribute__((tls_model("initial-exec")));

enum {
	LATE = 0, /* writers[0] belongs to the late stream */
	CACHE_WORDS_SMALL = SI_CACHE_WAYS << SI_CACHE_BITS_SMALL,
	CACHE_WORDS = SI_CACHE_WAYS << SI_CACHE_BITS,
};

/* A writer with its small caches. */
struct writer_place {
	struct si_writer writer;
	uint64_t cache[CACHE_WORDS_SMALL];
	uint8_t versions[1 << SI_CACHE_BITS_SMALL];
	struct si_stack_memo stack_memos[1 << SI_STACK_MEMO_BITS_SMALL];
} __attribute__((aligned(4096)));
_Static_assert(sizeof(struct writer_place) == 8192, "two pages");

struct large {
	uint64_t cache[CACHE_WORDS];
	uint8_t versions[1 << SI_CACHE_BITS];
	struct si_stack_memo stack_memos[1 << SI_STACK_MEMO_BITS];
};

static struct region {
	struct writer_place places[SI_WRITERS];
	struct large larges[SI_LARGE_CACHES];
} * region;
static uint32_t larges_used[SI_LARGE_CACHES]; /* compare-and-swap */
static uint32_t writers_used; /* the highest that was ever taken, plus one: those above have not
			       * been touched */
static uint32_t writer_hint = 1;
static uint64_t closed_last; /* time of the last record of closed streams, of this process and of
			      * those that it is a copy of */
static uint64_t salts;
static struct si_writer *writer_at(uint32_t i)
{
	return &region->places[i].writer;
}

bool si_writers_make(void)
{
	region = si_sys_map(sizeof(*region), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!region)
		return false;
	/* a large cache is 49 pages, each of which is read and then written: two faults. A fork
	 * write-protects shared pages, in the parent too, which would add a fault for each of the
	 * small pages, and the child does not need their contents */
	si_sys(SYS_madvise, region->larges, sizeof(region->larges), MADV_HUGEPAGE);
	si_sys(SYS_madvise, region->larges, sizeof(region->larges), MADV_WIPEONFORK);
	writer_at(LATE)->used = SI_WRITER_POISONED; /* never handed to a thread */
	writers_used = LATE + 1;
	return true;
}

void si_writers_say_where(struct shiny_header *header)
{
	header->own[0].start = (uintptr_t)region;
	header->own[0].end = (uintptr_t)(region + 1);
}

/* Frees the writer's large cache, if it has one. */
static void release_large(struct si_writer *w)
{
	if (w->large)
		__atomic_store_n(&larges_used[w->large - 1], 0, __ATOMIC_RELEASE);
	w->large = 0;
}

void si_writer_enlarge(struct si_writer *w)
{
	for (uint32_t i = 0; i < SI_LARGE_CACHES; i++) {
		uint32_t unused = 0;

		if (__atomic_load_n(&larges_used[i], __ATOMIC_RELAXED) ||
		    !__atomic_compare_exchange_n(&larges_used[i], &unused, 1, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		w->large = i + 1;
		w->cache = region->larges[i].cache;
		w->versions = region->larges[i].versions;
		w->stack_memos = region->larges[i].stack_memos;
		/* the sizes last: a handler that leaves by longjmp meanwhile leaves a large cache
		 * of which little is used */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->cache_mask = (UINT64_C(1) << SI_CACHE_BITS) - 1;
		w->kept_shift = 64 - SI_STACK_MEMO_BITS;
		si_writer_salt(w);
		return;
	}
}

void si_writer_reset(struct si_writer *w)
{
	w->next = w->end = NULL;
	w->state = NULL;
	w->slot = w->generation = w->sequence = 0;
	w->lost = 0;
	w->last = 0;
	w->reading = 0;
	w->orphan = NULL;
	w->second = NULL;
	w->realloc_open = w->impatient = w->tag = 0;
	w->pool = 0;
	release_large(w);
	w->cache = ((struct writer_place *)w)->cache;
	w->versions = ((struct writer_place *)w)->versions;
	w->cache_mask = (UINT64_C(1) << SI_CACHE_BITS_SMALL) - 1;
	w->stack_memos = ((struct writer_place *)w)->stack_memos;
	w->kept_shift = 64 - SI_STACK_MEMO_BITS_SMALL;
	si_writer_salt(w);
}

void si_writer_salt(struct si_writer *w)
{
	w->salt = (__atomic_fetch_add(&salts, 1, __ATOMIC_RELAXED) + 1) *
		  UINT64_C(0x9e3779b97f4a7c15);
}

struct si_writer *si_writer_reserve(const uintptr_t *fp)
{
	uint32_t from = __atomic_load_n(&writer_hint, __ATOMIC_RELAXED);

	for (uint32_t n = 0; n < SI_WRITERS; n++) {
		uint32_t i = (from + n) % SI_WRITERS, unused = SI_WRITER_UNUSED;
		struct si_writer *w = writer_at(i);

		if (__atomic_load_n(&w->used, __ATOMIC_RELAXED) != SI_WRITER_UNUSED ||
		    !__atomic_compare_exchange_n(&w->used, &unused, SI_WRITER_USED, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		w->busy = (uintptr_t)fp;
		si_writer_reset(w);
		shiny_slot_claimed(&writer_hint, &writers_used, i);
		__atomic_store_n(&writer_hint, i, __ATOMIC_RELAXED); /* low ones are warm */
		return w;
	}
	return NULL;
}

static void last_seen(uint64_t time)
{
	uint64_t last = __atomic_load_n(&closed_last, __ATOMIC_RELAXED);

	while (last < time && !__atomic_compare_exchange_n(&closed_last, &last, time, 1,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void si_writer_give_back(struct si_writer *w)
{
	release_large(w);
	last_seen(w->last);
	w->busy = 0;
	/* si_leave has freed a block that was handed over to us; nothing refers to the writer any
	 * more */
	__atomic_store_n(&w->used, SI_WRITER_UNUSED, __ATOMIC_RELEASE);
}

struct si_writer *si_writer_late(void)
{
	return writer_at(LATE);
}

bool si_writers_quiet(void)
{
	uint32_t used = __atomic_load_n(&writers_used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < used; i++)
		if (__atomic_load_n(&writer_at(i)->busy, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static bool in_chain(const struct si_writer *w)
{
	const struct si_writer *link = si_tls.writer;

	while (link && link != w)
		link = link->second;
	return link != NULL;
}

uint64_t si_writers_forget(void)
{
	for (uint32_t i = 0; i < SI_LARGE_CACHES; i++)
		larges_used[i] = 0;
	for (uint32_t i = 0; i < writers_used; i++) {
		struct si_writer *w = writer_at(i);
		bool resumed = w->busy && in_chain(w);

		if (w->used == SI_WRITER_UNUSED && i != LATE)
			continue;
		last_seen(w->last);
		if (i == LATE) {
			w->busy = 0;
			w->slot = w->generation = 0;
		}
		/* a write that a handler interrupted resumes when the handler returns: no other
		 * stream may get this writer */
		if (i != LATE && w->used == SI_WRITER_USED)
			w->used = resumed ? SI_WRITER_POISONED : SI_WRITER_UNUSED;
		if (!resumed && i != LATE)
			w->busy = 0;
		if (!resumed)
			w->large = 0;
		else if (w->large)
			larges_used[w->large - 1] = 1;
	}
	writer_hint = 1;
	si_tls.writer = NULL;
	if (si_tls.phase != SI_THREAD_GONE)
		si_tls.phase = SI_THREAD_NEW;
	si_tls.creator = 0;
	return closed_last;
}
