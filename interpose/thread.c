/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c: streams come and go.
 *
 * Problem. A hook must find its thread's stream in one load, with no malloc and no mmap ever (hooks run inside malloc, in signal
 * handlers, in sandboxes), and a thread's end must be noticed although frees go on after its last destructor has run.
 *
 * Approach. One region, reserved at boot and touched as used: SI_WRITERS writers, each with a small stack cache and kept walks beside it, then
 * the large ones for streams that write much. A thread's first event takes a writer, and a shared slot that names the stream to the
 * sidecar. 8,192 writers and 512 large caches are 147 MiB of addresses; 1,024 writers with large caches each were 166, and a thread that
 * allocated now and then touched as many pages as it had stacks.
 *
 * Signals. `busy` is set around the few instructions that write records. A handler that interrupts them uses the next stream of the
 * same thread (`nested`), and one that interrupts that handler's record the one after: a chain of up to SI_NESTING, each link made when
 * first needed; what comes deeper is dropped and counted. A handler that leaves by longjmp leaves `busy` set: the next hook whose frame
 * lies at or above the recorded one, on the same stack, knows that the recorded one is gone, repairs, and goes on. (An alternate signal
 * stack inside the thread's own stack looks the same; the cost of being wrong is a record of each that it interrupted.)
 *
 *   chain     si_tls.writer -> second -> second …   first: the thread's own; grows at its end only, by compare-and-swap
 *   invariant whoever is inside took the first link that was free, so behind a free link nobody is
 *
 * A claim is interrupted like a record: the new link is taken (`busy`) before it is hung up, and hung up before it has a shared slot
 * (generation 0), so a handler that comes then finds a chain whose last link is busy, and makes its own. One that comes a moment
 * earlier hangs up the same link first; the interrupted one then finds it free again and gives its own back. A claim left by
 * longjmp is finished by the next to take that link. Rejected: one stream for all depths (I4: a record would be torn by the next),
 * a phase `being claimed` that makes handlers drop (they came often enough: a claim looks through two tables).
 *
 * The end. A pthread key's destructor re-arms itself for PTHREAD_DESTRUCTOR_ITERATIONS rounds, so that the other keys' destructors
 * are still recorded in the thread's own stream, then closes it. libc itself frees after that (the thread's key blocks, its
 * buffers): those events go to the process's one late stream, shared by dying threads behind a short spin, because a private slot taken
 * that late would never come back. Rejected: tgkill(tid, 0) to find dead owners (a system call that sandboxes filter).
 */
#include "thread.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include "chunk.h"
#include "clock.h"
#include "kept_walk.h"
#include "nursery.h"
#include "sys.h"
#include "tag.h"
#include "tid.h"
#include "wait.h"

__thread struct si_tls si_tls __attribute__((tls_model("initial-exec")));

enum {
	LATE = 0,              /* writers[0] is the late stream */
	LATE_SPINS = 2000,
	RETRY = 1024,          /* events between two tries to get a slot */
	KEYS_IN_THREAD = 32,   /* glibc keeps so many keys' values in the thread itself; a higher one would call calloc */
	CACHE_WORDS_SMALL = SI_CACHE_WAYS << SI_CACHE_BITS_SMALL,
	CACHE_WORDS = SI_CACHE_WAYS << SI_CACHE_BITS,
};

/* A writer and what it begins with. */
struct place {
	struct si_writer writer;
	uint64_t cache[CACHE_WORDS_SMALL];
	struct si_kept_walk kept_walks[1 << SI_KEPT_WALK_BITS_SMALL];
} __attribute__((aligned(4096)));
_Static_assert(sizeof(struct place) == 8192, "two pages");

struct large {
	uint64_t cache[CACHE_WORDS];
	struct si_kept_walk kept_walks[1 << SI_KEPT_WALK_BITS];
};

static struct region {
	struct place places[SI_WRITERS];
	struct large larges[SI_LARGE_CACHES];
} *region;
static uint32_t larges_used[SI_LARGE_CACHES]; /* compare-and-swap */
static uint32_t writers_used; /* one more than the highest that was ever taken: what lies above has not been touched */
static uint32_t writer_hint = 1;
static uint64_t closed_last; /* the time of the last record of streams that are no more, here and in those that we are a copy of */
static uint64_t salts;
static pthread_key_t key;
static bool have_key;

#ifdef SHINY_TEST
void (*si_thread_test_pause)(void);
#define TEST_PAUSE() (si_thread_test_pause ? si_thread_test_pause() : (void)0)
#else
#define TEST_PAUSE() ((void)0)
#endif

static void thread_end(void *round);

static struct si_writer *writer_at(uint32_t i)
{
	return &region->places[i].writer;
}

bool si_writers_make(void)
{
	region = si_sys_map(sizeof(*region), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!region)
		return false;
	writer_at(LATE)->used = SI_WRITER_POISONED; /* never handed to a thread */
	writers_used = LATE + 1;
	have_key = pthread_key_create(&key, thread_end) == 0 && key < KEYS_IN_THREAD;
	return true;
}

void si_writers_say_where(struct shiny_header *header)
{
	header->own[0].start = (uintptr_t)region;
	header->own[0].end = (uintptr_t)(region + 1);
}

/* The large cache, where it has one, is anybody's again. */
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
		    !__atomic_compare_exchange_n(&larges_used[i], &unused, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		w->large = i + 1;
		w->cache = region->larges[i].cache;
		w->kept_walks = region->larges[i].kept_walks;
		/* the sizes last: a handler that leaves by longjmp on the way leaves a large cache of which little is used */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->cache_mask = (UINT64_C(1) << SI_CACHE_BITS) - 1;
		w->kept_shift = 64 - SI_KEPT_WALK_BITS;
		si_writer_salt(w);
		return;
	}
}

struct slot_claim {
	struct si_writer *w;
	uint32_t tid, creator, nested;
};

/* A shared slot for `w`'s stream. */
static bool try_slot(void *context)
{
	const struct slot_claim *claim = context;
	struct shiny_header *h = si_arena.header;
	struct si_writer *w = claim->w;
	uint32_t ready = __atomic_load_n(&h->threads_ready, __ATOMIC_ACQUIRE); /* [grow] */
	uint32_t count = ready < si_arena.thread_count ? ready : si_arena.thread_count, from = shiny_slot_start(&h->thread_hint, count);

	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = from + n < count ? from + n : from + n - count, state = SHINY_SLOT_FREE;
		struct shiny_thread *t = &si_arena.threads[i];

		if (__atomic_load_n(&t->state, __ATOMIC_RELAXED) != SHINY_SLOT_FREE ||
		    !__atomic_compare_exchange_n(&t->state, &state, SHINY_SLOT_CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* [slot] */
			continue;
		TEST_PAUSE();
		w->slot = i;
		t->generation++;
		t->process_slot = (uint32_t)si_process.slot;
		t->tid = claim->tid;
		t->creator = claim->creator;
		t->nested = claim->nested;
		t->start = si_ticks();
		t->stack = (uintptr_t)__builtin_frame_address(0);
		__asm__("mov %%fs:0, %0" : "=r"(t->tls));
		t->stack_bytes = t->stack - si_tls.stack_low < si_tls.stack_high - si_tls.stack_low ? si_tls.stack_high - si_tls.stack_low : 0;
		shiny_slot_claimed(&h->thread_hint, &h->threads_used, i);
		__atomic_store_n(&t->state, SHINY_SLOT_LIVE, __ATOMIC_RELEASE); /* [slot] */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		w->generation = t->generation; /* last: a claim that a longjmp left before this is made again */
		return true;
	}
	return false;
}

static bool claim_slot(struct si_writer *w, uint32_t tid, uint32_t creator, uint32_t nested)
{
	struct slot_claim claim = { w, tid, creator, nested };
	bool waited, had = try_slot(&claim);

	if (had)
		return true;
	had = si_wait_for(try_slot, &claim, &waited);
	if (waited)
		si_count(SHINY_COUNT_WAITED_SLOT);
	return had;
}

static void writer_reset(struct si_writer *w)
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
	release_large(w);
	w->cache = ((struct place *)w)->cache;
	w->cache_mask = (UINT64_C(1) << SI_CACHE_BITS_SMALL) - 1;
	w->kept_walks = ((struct place *)w)->kept_walks;
	w->kept_shift = 64 - SI_KEPT_WALK_BITS_SMALL;
	si_writer_salt(w);
}

void si_writer_salt(struct si_writer *w)
{
	w->salt = (__atomic_fetch_add(&salts, 1, __ATOMIC_RELAXED) + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A writer that nobody else has, entered; it has no slot yet. */
static struct si_writer *writer_reserve(const uintptr_t *fp)
{
	uint32_t from = __atomic_load_n(&writer_hint, __ATOMIC_RELAXED);

	for (uint32_t n = 0; n < SI_WRITERS; n++) {
		uint32_t i = (from + n) % SI_WRITERS, unused = SI_WRITER_UNUSED;
		struct si_writer *w = writer_at(i);

		if (__atomic_load_n(&w->used, __ATOMIC_RELAXED) != SI_WRITER_UNUSED ||
		    !__atomic_compare_exchange_n(&w->used, &unused, SI_WRITER_USED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		w->busy = (uintptr_t)fp;
		writer_reset(w);
		shiny_slot_claimed(&writer_hint, &writers_used, i);
		__atomic_store_n(&writer_hint, i, __ATOMIC_RELAXED); /* low ones are warm */
		return w;
	}
	return NULL;
}

static void last_seen(uint64_t time)
{
	uint64_t last = __atomic_load_n(&closed_last, __ATOMIC_RELAXED);

	while (last < time && !__atomic_compare_exchange_n(&closed_last, &last, time, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void writer_close(struct si_writer *w)
{
	si_chunk_seal(w);
	if (w->generation)
		__atomic_store_n(&si_arena.threads[w->slot].state, SHINY_SLOT_DONE, __ATOMIC_RELEASE); /* [slot] */
	release_large(w);
	last_seen(w->last);
	w->busy = 0;
	/* a block handed to us was released by si_leave; nothing refers to the writer any more */
	__atomic_store_n(&w->used, SI_WRITER_UNUSED, __ATOMIC_RELEASE);
}

/* Takes the chain down first, so that a handler that comes meanwhile does not find it. */
static void chain_close(void)
{
	struct si_writer *w = si_tls.writer;

	si_tls.writer = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	while (w) {
		struct si_writer *second = w->second;

		writer_close(w);
		w = second;
	}
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
		/* one that a handler interrupted goes on when the handler returns: nobody else may have it */
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

/* ---- the late stream ---- */

static struct si_writer *late(const uintptr_t *fp)
{
	struct si_writer *w = writer_at(LATE);

	for (unsigned n = 0; n < LATE_SPINS; n++) {
		uintptr_t nobody = 0;

		if (__atomic_compare_exchange_n(&w->busy, &nobody, (uintptr_t)fp, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			if (w->generation)
				return w;
			writer_reset(w);
			/* the process's own id: it lives as long as the process, as the main thread's entry in /proc does */
			if (claim_slot(w, si_process.pid, 0, 0))
				return w;
			__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE);
			si_count(SHINY_COUNT_DROPPED_NO_THREAD);
			return NULL;
		}
		__builtin_ia32_pause();
	}
	si_count(SHINY_COUNT_DROPPED_ENDING);
	return NULL;
}

/* ---- the chain ---- */

static bool same_stack(uintptr_t a, uintptr_t b)
{
	if (a >= si_tls.stack_low && a < si_tls.stack_high)
		return b >= si_tls.stack_low && b < si_tls.stack_high;
	return a >> 12 == b >> 12;
}

/* Is who was inside at `busy` gone, now that we are at `fp`? */
static bool left(uintptr_t busy, const uintptr_t *fp)
{
	return (uintptr_t)fp >= busy && same_stack((uintptr_t)fp, busy);
}

/* Whoever was inside is gone: publish nothing of his, keep what he had published, free what he had in hand. */
static void repair(struct si_writer *w)
{
	if (w->reading)
		si_nursery_abandon(w);
	if (!w->state)
		w->next = w->end = NULL; /* of a chunk that was not quite had */
	while (w->next < w->end) {
		uint64_t w1 = w->next->w1;
		bool run = si_kind_is_run((unsigned)(w1 & ((1u << SHINY_KIND_BITS) - 1)));

		if ((w1 & ((1u << SHINY_KIND_BITS) - 1)) == SHINY_REC_NONE)
			break;
		w->next += 1 + (run ? w1 >> SHINY_SIZE_SHIFT & (SHINY_SIZE_LIMIT - 1) : 0);
	}
}

/* This thread could have no stream: it tries again after some more events. */
static void refuse(enum shiny_counter why)
{
	si_tls.refused += !si_tls.refused;
	si_tls.refused_for = why;
}

/* For an entered link: what a slot's claim, broken off or never made, still lacks. */
static bool finish_claim(struct si_writer *w)
{
	bool own = w == si_tls.writer;

	if (!w->generation && !claim_slot(w, si_tid(), si_tls.creator, !own)) {
		if (own) {
			refuse(SHINY_COUNT_DROPPED_NO_THREAD);
			chain_close();
		} else {
			w->busy = 0;
		}
		return false;
	}
	if (own && si_tls.phase == SI_THREAD_NEW) {
		si_tls.refused = 0;
		if (have_key)
			pthread_setspecific(key, (void *)1);
		si_tls.phase = SI_THREAD_OPEN;
	}
	return true;
}

/* Enters the first link that nobody is inside of, adding one at the end where there is none. */
struct si_writer *si_thread_nested(const uintptr_t *fp)
{
	struct si_writer **at = &si_tls.writer, *spare = NULL, *w;
	unsigned depth = 0;

	while ((w = __atomic_load_n(at, __ATOMIC_RELAXED)) != spare || !w) {
		if (w) {
			if (!w->busy || left(w->busy, fp) || ++depth == SI_NESTING)
				break;
			at = &w->second;
			continue;
		}
		if (!spare) {
			spare = writer_reserve(fp);
			TEST_PAUSE();
		}
		if (!spare)
			break;
		__atomic_compare_exchange_n(at, &w, spare, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); /* else a handler has: look again */
	}
	if (spare && w != spare) { /* never hung up */
		spare->busy = 0;
		__atomic_store_n(&spare->used, SI_WRITER_UNUSED, __ATOMIC_RELEASE);
	}
	if (!w) {
		if (at == &si_tls.writer)
			refuse(SHINY_COUNT_DROPPED_NO_STREAM);
		si_count(SHINY_COUNT_DROPPED_NO_STREAM);
		return NULL;
	}
	if (depth == SI_NESTING) {
		si_count(SHINY_COUNT_DROPPED_NESTED);
		return NULL;
	}
	/* by the invariant, whoever left this link by longjmp left those behind it too */
	for (struct si_writer *link = w; link; link = link->second) {
		bool gone = link != spare && link->busy;

		if (link == w || gone)
			link->busy = (uintptr_t)fp; /* first: a handler that comes during the repair goes on to the next */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (gone)
			repair(link);
		if (link != w)
			link->busy = 0;
	}
	if (!finish_claim(w)) {
		si_count(SHINY_COUNT_DROPPED_NO_THREAD);
		return NULL;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	si_tag_tell(w); /* a stream that was not told when it changed: a new one, or a handler's */
	return w;
}

/* ---- a thread's first event, and its end ---- */

struct si_writer *si_thread_first(const uintptr_t *fp)
{
	if (si_tls.phase == SI_THREAD_GONE)
		return late(fp);
	if (si_tls.refused && si_tls.refused++ % RETRY != 0) {
		si_count(si_tls.refused_for);
		return NULL;
	}
	return si_thread_nested(fp);
}

static void thread_end(void *round)
{
	if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(key, (char *)round + 1);
		return;
	}
	/* in a forked child that has had no event yet, the writer is the parent's */
	if (!si_tls.writer || !si_alive())
		return;
	si_tag_forget(); /* the late stream is shared */
	si_tls.phase = SI_THREAD_GONE; /* first: a handler that comes now goes to the late stream */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	chain_close();
}

void si_orphan_release(struct si_writer *w)
{
	void *block = w->orphan;

	w->orphan = NULL;
	w->orphan_release(block);
}
