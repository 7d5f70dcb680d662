/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h: a thread's stream: who writes it, where it is up to, and how a signal handler is kept out of it.
 *
 * Runs:      inside.
 * Signals:   safe: see `busy`.
 * Allocates: one region at boot, by mmap (149 MiB of addresses), of which each thread touches its own part.
 * Threads:   a writer belongs to one thread; the late stream is shared behind its `busy` word.
 */
#ifndef SI_THREAD_H
#define SI_THREAD_H

#include <shiny/ring.h>

#include "attach.h"
#include "base.h"
#include "fork.h"

enum {
	SI_WRITERS = 8192,    /* streams that one process can have open at a time */
	SI_LARGE_CACHES = 512,
	SI_CACHE_BITS_SMALL = 6, /* sets */
	SI_CACHE_BITS = 12,
	SI_CACHE_WAYS = 4,    /* half a cache line; a stack id is set * ways + way + 1, so 0 stays "no stack" */
	SI_NESTING = 8,       /* streams of one thread: its own, and those of handlers that interrupt each other's records */
};

/*
 * One stream's writer, in private memory.
 *
 *   state == NULL: no chunk is owned; else [next, end) is the unwritten rest of it
 *   busy != 0  ⇔  between si_enter and si_leave; it is the frame address of the hook inside
 *
 * Its stack cache and its kept walks are small at first: 7 KiB beside the writer itself, in two pages. A stream that gets to large chunks
 * (chunk.c) gets a large cache as well, as far as there are any; what the small one held is defined anew.
 */
struct si_writer {
	uintptr_t busy;
	struct shiny_record *next, *end;
	uint64_t base; /* the time base in force */
	uint64_t last; /* time of the last record taken */
	uint64_t salt; /* mixed into the cache's keys: a new value voids them all */
	uint64_t *cache;
	uint64_t cache_mask; /* its sets - 1 */
	struct si_kept_walk *kept_walks; /* kept_walk.h */
	uint32_t kept_shift;       /* 64 - the binary logarithm of their number */
	uint32_t large;            /* large cache + 1; 0: the small ones */
	uint64_t *state; /* of the chunk owned; NULL: none */
	uint32_t slot, generation; /* shared thread slot; generation 0: not claimed yet */
	uint32_t sequence;         /* of the next chunk, where none is owned */
	uint32_t held;             /* of the one that is */
	uint64_t lost;             /* events dropped since the last LOSS record */
	uint32_t used;             /* SI_WRITER_*; compare-and-swap */
	uint32_t reading;          /* nursery entry + 1 that this writer has marked busy */
	uint64_t *orphan;          /* a block that was freed while we read it, and who frees it */
	void (*orphan_release)(void *block);
	struct si_writer *second; /* the chain's next: for handlers that interrupt this one */
	uint32_t realloc_open;    /* REALLOC_BEGIN was written */
	uint32_t defined;         /* frames of the stack defined last in this chunk; 0: none yet */
	uintptr_t frames[SHINY_FRAMES_MAX]; /* those */
	uint32_t impatient;       /* a wait has failed and no chunk was had since */
	uint32_t tag;             /* what this chunk says of it last; 0: nothing */
};

enum { SI_WRITER_UNUSED = 0, SI_WRITER_USED = 1, SI_WRITER_POISONED = 2 };

enum si_phase {
	SI_THREAD_NEW = 0,
	SI_THREAD_OPEN = 1,
	SI_THREAD_GONE = 2, /* its key's last destructor round is over: what comes goes to the late stream */
};

enum { SI_TAG_DEPTH = 32 };

/* Tags pushed and not popped yet: at[0..depth), innermost last, as far as there is room. */
struct si_tags {
	uint32_t depth;
	uint16_t inherited; /* the creator's, below all of them */
	uint16_t at[SI_TAG_DEPTH];
};

struct si_tls {
	struct si_writer *writer; /* the chain's first */
	uint32_t phase;   /* enum si_phase */
	uint32_t creator; /* shared thread slot + 1 */
	uintptr_t stack_low, stack_high; /* bounds of this thread's stack; 0: unknown */
	uint32_t tid, void_tid; /* tid.c: its number as seen last; one that is known to be another's */
	uint32_t refused; /* events since no stream could be had */
	uint32_t refused_for; /* and the counter of these */
	uint32_t tag;     /* the innermost one; what streams are to say (tag.h) */
	struct si_tags tags;
};
extern __thread struct si_tls si_tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Boot: reserves the region and makes the key. */
bool si_writers_make(void);
void si_writers_say_where(struct shiny_header *header); /* in its `own` */

/* A forked child: no stream is ours. Returns the time of the last record that the inherited memory had taken. */
uint64_t si_writers_forget(void);

/* The rare halves of si_enter. Each returns with `busy` taken, or NULL: the event is dropped and counted. */
SI_COLD struct si_writer *si_thread_first(const uintptr_t *fp);
SI_COLD struct si_writer *si_thread_nested(const uintptr_t *fp);

/* Frees the block whose free was handed to this writer; outside `busy`. */
SI_COLD void si_orphan_release(struct si_writer *w);

/* Takes this thread's stream, whether recording is on or not: for what the sidecar must know anyway (modules). The process is alive. */
SI_HOT struct si_writer *si_enter_any(const uintptr_t *fp)
{
	struct si_writer *w = si_tls.writer;

	if (SI_UNLIKELY(!w))
		return si_thread_first(fp);
	if (SI_UNLIKELY(w->busy))
		return si_thread_nested(fp);
	w->busy = (uintptr_t)fp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return w;
}

/* The same for one event; NULL when there is nothing to do. Keep it short: a handler that comes now writes elsewhere. */
SI_HOT struct si_writer *si_enter(const uintptr_t *fp)
{
	if (!si_alive_for_event() || !__atomic_load_n(&si_arena.header->recording, __ATOMIC_RELAXED)) /* [ctl] */
		return NULL;
	return si_enter_any(fp);
}

SI_HOT void si_leave(struct si_writer *w)
{
	__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE);
	if (SI_UNLIKELY(w->orphan != NULL))
		si_orphan_release(w);
}

#ifdef SHINY_TEST
extern void (*si_thread_test_pause)(void); /* in the middle of a claim */
#endif

#endif
