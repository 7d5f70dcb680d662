/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c: opens and closes the streams of threads.
 *
 * Problem. A hook must find its thread's stream in one load, with no malloc and no mmap ever (hooks
 * run inside malloc, in signal handlers, in sandboxes), and a thread's end must be noticed although
 * frees go on after its last destructor has run.
 *
 * Approach. A thread's first event takes a writer (writer.c), and a shared slot that names the
 * stream to the sidecar.
 *
 * Signals. `busy` is set around the few instructions that write records. A handler that interrupts
 * them uses the next stream of the same thread (`nested`), and one that interrupts that handler's
 * record the one after: a chain of up to SI_NESTING, each link created when first needed; events of
 * deeper handlers are dropped and counted. A handler that leaves by longjmp leaves `busy` set: the
 * next hook whose frame lies at or above the recorded one, on the same stack, knows that the
 * recorded frame is gone, repairs the stream and uses it. (An alternate signal stack inside the
 * thread's own stack looks the same; the cost of being wrong is a record of each that it
 * interrupted.)
 *
 *   chain     si_tls.writer -> second -> second …   the first is the thread's own; it grows at
 *             its end only, by compare-and-swap
 *   invariant each user took the first link that was free, so the links behind a free one are free
 *
 * A claim may be interrupted like a record: the new link is taken (`busy`) before it is appended,
 * and appended before it has a shared slot (generation 0), so a handler that runs then finds a
 * chain whose last link is busy, and creates its own. A handler that runs a moment earlier appends
 * the same link first; the interrupted code then finds it free again and frees its own. A claim
 * left by longjmp is finished by the next user of that link. Rejected: one stream for all depths
 * (I4: a record would be torn by the next), a phase `being claimed` in which handlers drop events
 * (it happened often: a claim searches two tables).
 *
 * The end. A pthread key's destructor re-arms itself for PTHREAD_DESTRUCTOR_ITERATIONS rounds, so
 * that the other keys' destructors are still recorded in the thread's own stream, then closes it.
 * libc itself frees after that (the thread's key blocks, its buffers): those events go to the
 * process's one late stream, shared by dying threads behind a short spin, because a private slot
 * taken that late would never come back. Rejected: tgkill(tid, 0) to find dead owners (a system
 * call that sandboxes filter).
 */
#include "thread.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "chunk.h"
#include "../core/clock.h"
#include "../core/late.h"
#include "nursery.h"
#include "slot.h"
#include "tid.h"

enum {
	LATE_SPINS = 2000,
	RETRY = 1024,          /* events between two tries to get a slot */
	/* glibc stores the values of so many keys in the thread itself; a higher key would call
	 * calloc */
	KEYS_IN_THREAD = 32,
};

static pthread_key_t key;
static bool have_key;

#ifdef SHINY_TEST
void (*si_thread_test_pause)(void);
#define TEST_PAUSE() (si_thread_test_pause ? si_thread_test_pause() : (void)0)
#else
#define TEST_PAUSE() ((void)0)
#endif

static void thread_end(void *round);

bool si_threads_make(void)
{
	if (!si_writers_make())
		return false;
	have_key = pthread_key_create(&key, thread_end) == 0 && key < KEYS_IN_THREAD;
	return true;
}

struct claim {
	struct si_writer *w;
	uint32_t tid, creator, nested;
};

/* Claims a shared slot for the stream of a struct claim. */
static bool try_slot(void *context)
{
	const struct claim *claim = context;
	struct shiny_header *h = si_ring.header;
	struct si_writer *w = claim->w;
	uint32_t ready = __atomic_load_n(&h->threads_ready, __ATOMIC_ACQUIRE); /* [grow] */
	uint32_t count = ready < si_ring.thread_count ? ready : si_ring.thread_count;
	uint32_t i = si_slot_claim(&si_ring.threads->state, sizeof(*si_ring.threads), count,
				   &h->thread_hint);
	struct shiny_thread *t;

	if (i == UINT32_MAX)
		return false;
	TEST_PAUSE();
	t = &si_ring.threads[i];
	w->slot = i;
	t->generation++;
	t->process_slot = (uint32_t)si_process.slot;
	t->tid = claim->tid;
	t->creator = claim->creator;
	t->nested = claim->nested;
	memset(t->name, 0, sizeof(t->name));
	if (w != si_writer_late()) /* the late stream is shared by all threads */
		memcpy(t->name, si_tls.name, sizeof(t->name));
	t->start = si_ticks();
	t->stack = (uintptr_t)__builtin_frame_address(0);
	__asm__("mov %%fs:0, %0" : "=r"(t->tls));
	t->stack_bytes = t->stack - si_tls.stack_low < si_tls.stack_high - si_tls.stack_low
				 ? si_tls.stack_high - si_tls.stack_low
				 : 0;
	shiny_slot_claimed(&h->thread_hint, &h->threads_used, i);
	__atomic_store_n(&t->state, SHINY_SLOT_LIVE, __ATOMIC_RELEASE); /* [slot] */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* last: a claim that a longjmp left before this is repeated */
	w->generation = t->generation;
	return true;
}

static bool claim_slot(struct si_writer *w, uint32_t tid, uint32_t creator, uint32_t nested)
{
	struct claim claim = { w, tid, creator, nested };

	return si_slot_wait_for(try_slot, &claim);
}

static void writer_close(struct si_writer *w)
{
	si_chunk_seal(w);
	if (w->generation)
		__atomic_store_n(&si_ring.threads[w->slot].state, SHINY_SLOT_DONE,
				 __ATOMIC_RELEASE); /* [slot] */
	si_writer_give_back(w);
}

/* Removes the chain first, so that a handler that runs meanwhile does not find it. */
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

/* ---- the late stream ---- */

static struct si_writer *late(const uintptr_t *fp)
{
	struct si_writer *w = si_writer_late();

	for (unsigned n = 0; n < LATE_SPINS; n++) {
		uintptr_t nobody = 0;

		if (__atomic_compare_exchange_n(&w->busy, &nobody, (uintptr_t)fp, 0,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			if (!w->generation)
				si_writer_reset(w);
			/* the process's own id, which is valid as long as the process, like the
			 * main thread's entry in /proc */
			if (w->generation || claim_slot(w, si_process.pid, 0, 0)) {
				si_tag_tell(w); /* it may have another thread's level */
				return w;
			}
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

/* True if the code that entered at frame `busy` has ended, now that a hook runs at `fp`. */
static bool left(uintptr_t busy, const uintptr_t *fp)
{
	return (uintptr_t)fp >= busy && same_stack((uintptr_t)fp, busy);
}

/* Repairs a stream whose user left by longjmp: publishes no more of its records, keeps the
 * published ones, and frees its block. */
static void repair(struct si_writer *w)
{
	if (w->reading)
		si_nursery_abandon(w);
	if (!w->state)
		w->next = w->end = NULL; /* of a chunk whose claim was not finished */
	while (w->next < w->end) {
		uint64_t w1 = w->next->w1;
		bool run = si_kind_is_run((unsigned)(w1 & ((1u << SHINY_KIND_BITS) - 1)));

		if ((w1 & ((1u << SHINY_KIND_BITS) - 1)) == SHINY_REC_NONE)
			break;
		w->next += 1 + (run ? w1 >> SHINY_SIZE_SHIFT & (SHINY_SIZE_LIMIT - 1) : 0);
	}
}

/* Notes that this thread got no stream: it tries again after some more events. */
static void refuse(enum shiny_counter why)
{
	si_tls.refused += !si_tls.refused;
	si_tls.refused_for = why;
}

/* Finishes the claim of an entered link, which may lack its slot. */
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

/* Enters the first free link, appending one if there is none. */
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
			spare = si_writer_reserve(fp);
			TEST_PAUSE();
		}
		if (!spare)
			break;
		/* on failure a handler has appended one: look again */
		__atomic_compare_exchange_n(at, &w, spare, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	if (spare && w != spare) /* never appended */
		si_writer_give_back(spare);
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
	/* by the invariant, a longjmp out of this link also left those behind it */
	for (struct si_writer *link = w; link; link = link->second) {
		bool gone = link != spare && link->busy;

		if (link == w || gone)
			link->busy = (uintptr_t)fp; /* first: a handler that runs during the repair
			                             * uses the next link */
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
	si_tag_tell(w); /* a stream without the current tag: a new one, or a handler's */
	return w;
}

/* ---- a thread's first event, and its end ---- */

/* Finds the stack of a thread that was there before us. */
static void find_stack(void)
{
	uintptr_t low, high;

	if (si_late && !si_tls.stack_high && si_late_stack(&low, &high))
		si_stack_is(low, high, low);
}

struct si_writer *si_thread_first(const uintptr_t *fp)
{
	find_stack();
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
	si_tag_inherit(0); /* the late stream is shared */
	si_tls.phase = SI_THREAD_GONE; /* first: a handler that runs now uses the late stream */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	chain_close();
}

void si_thread_named(const char *name)
{
	struct si_writer *w = si_tls.writer;
	char all[SHINY_THREAD_NAME] = { 0 };

	for (unsigned i = 0; i < SHINY_THREAD_NAME - 1 && name[i]; i++)
		all[i] = name[i];
	memcpy(si_tls.name, all, sizeof(all));
	/* a writer with a generation has a slot; before a forked child's first event, it is the
	 * parent's */
	if (w && w->generation && si_alive())
		memcpy(si_ring.threads[w->slot].name, all, sizeof(all));
}

void si_orphan_release(struct si_writer *w)
{
	void *block = w->orphan;

	w->orphan = NULL;
	w->orphan_release(block);
}
