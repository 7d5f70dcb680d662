/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h: the private memory of streams (struct si_writer) and of threads (si_tls).
 *
 * Runs:      inside.
 * Signals:   safe; thread.h decides which code may write. Allocates: one region at boot, by mmap
 *            (162 MiB of addresses), of which each thread touches its own part.
 * Threads:   a writer belongs to one thread; the late stream is shared behind its `busy` word.
 */
#ifndef SI_WRITER_H
#define SI_WRITER_H

#include <shiny/wire/ring.h>

#include "../core/base.h"

enum {
	SI_WRITERS = 8192, /* streams that one process can have open at a time */
	SI_LARGE_CACHES = 512,
	SI_CACHE_BITS_SMALL = 6, /* sets */
	SI_CACHE_BITS = 12,
	SI_CACHE_WAYS = 4, /* half a cache line; a stack id is set * ways + way + 1, so 0 remains
			    * "no stack" */
	/* streams of one thread: its own, and those of nested handlers */
	SI_NESTING = 8,
};

/* A cached walk, for stack_memo.h. */
enum { SI_STACK_MEMO_BITS_SMALL = 5, SI_STACK_MEMO_BITS = 9, SI_STACK_MEMO_WORDS = 40 };

struct si_stack_memo {
	const uintptr_t *fp; /* the hook's frame */
	uintptr_t high;	     /* the stack's end at the time of the walk */
	uint64_t epoch, salt;
	uint64_t sum;	 /* si_memo_sum of the words that it read */
	uint32_t id;	 /* the stack's id; 0: the entry is empty */
	uint8_t version; /* of the id's set */
	uint8_t words;	 /* number of words; a multiple of SI_STACK_MEMO_LANES */
	uint16_t depth;	 /* number of frames requested */
	uint16_t distance[SI_STACK_MEMO_WORDS]; /* distance of each word from `fp`, in words */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct si_stack_memo) == 128, "two cache lines");

/* Properties of a walk (unwind.h), and the words that it read. A walk of more words than fit
 * overwrites earlier ones in the arrays, but counts all. */
enum { SI_WALKED_WORDS = 64 };
struct si_walked {
	bool exact;	     /* it was a walk by rows, none of which was assumed */
	bool assumed;	     /* some rows were assumed (bare_code.h) */
	bool cut;	     /* it ended at code that it did not understand */
	bool unnoted;	     /* it depended on more than the words noted */
	uint32_t words;	     /* number of words that it depended on */
	uintptr_t distances; /* the distances of all words, or'ed, in bytes */
	uintptr_t word[SI_WALKED_WORDS];
	uint16_t distance[SI_WALKED_WORDS]; /* distance of each word from the hook's frame, in
					     * words */
};
_Static_assert((int)SI_WALKED_WORDS >= (int)SI_STACK_MEMO_WORDS, "what is kept is there");

/*
 * One stream's writer, in private memory.
 *
 *   state == NULL: no chunk is owned; else [next, end) is the unwritten rest of it
 *   busy != 0  ⇔  between si_enter and si_leave; it is the frame address of the hook inside
 *
 * Its stack cache and its stack memos are small at first: 6 KiB beside the writer itself, in two
 * pages. A stream that reaches large chunks (chunk.c) gets a large cache as well, if one is free;
 * the stacks of the small one are defined anew.
 */
struct si_writer {
	uintptr_t busy;
	struct shiny_record *next, *end;
	uint64_t base; /* the time base in force */
	uint64_t last; /* time of the last record taken */
	uint64_t salt; /* mixed into the cache's keys: a new value voids them all */
	uint64_t *cache;
	uint64_t cache_mask; /* number of sets - 1 */
	uint8_t *versions;   /* of each set, incremented before an id of it gets another meaning */
	struct si_stack_memo *stack_memos; /* stack_memo.h */
	uint32_t kept_shift;		  /* 64 - the binary logarithm of their number */
	uint32_t large;			  /* large cache + 1; 0: the small ones */
	uint64_t *state;		  /* state word of the owned chunk; NULL: none */
	uint32_t slot, generation;	  /* shared thread slot; generation 0: not claimed yet */
	uint32_t sequence;		  /* of the next chunk, while none is owned */
	uint32_t held;			  /* sequence of the owned chunk */
	uint64_t lost;			  /* events dropped since the last LOSS record */
	uint32_t used;			  /* SI_WRITER_*; compare-and-swap */
	uint32_t reading;		  /* nursery entry + 1 that this writer has marked busy */
	uint64_t *orphan; /* a block that another thread freed while we read it, and the
			   * function to free it */
	si_release_fn *orphan_release;
	struct si_writer *second; /* the chain's next link: for handlers that interrupt this one */
	uint32_t realloc_open;	  /* REALLOC_BEGIN was written */
	uint32_t defined;	  /* number of frames of the stack defined last in this chunk; 0:
				   * none yet */
	uintptr_t frames[SHINY_FRAMES_MAX]; /* those frames */
	/* the current walk, as the program's stack may have no room for it */
	uintptr_t met[SHINY_FRAMES_MAX];
	struct si_walked walked;
	uint32_t impatient; /* a wait has failed and no chunk was claimed since */
	uint32_t tag;	    /* the tag that this chunk recorded last; 0: none */
	uint64_t pool;	    /* likewise the pool */
};

enum { SI_WRITER_UNUSED = 0, SI_WRITER_USED = 1, SI_WRITER_POISONED = 2 };

enum si_phase {
	SI_THREAD_NEW = 0,
	SI_THREAD_OPEN = 1,
	SI_THREAD_GONE = 2, /* the last round of key destructors has ended: later events use the
			     * late stream */
};

enum { SI_TAG_DEPTH = 32 };

/* Tags pushed and not popped yet: at[0..depth), innermost last, up to SI_TAG_DEPTH of them. */
struct si_tags {
	uint32_t depth;
	uint16_t inherited; /* the creator's tag, below all of them */
	uint16_t at[SI_TAG_DEPTH];
};

struct si_tls {
	struct si_writer *writer; /* the chain's first link */
	uint32_t phase;		  /* enum si_phase */
	uint32_t creator;	  /* shared thread slot + 1 */
	/* bounds of this thread's stack, and the lowest frame below which a walk has room
	 * (stack.c); 0: unknown */
	uintptr_t stack_low, stack_high, walk_low;
	uint32_t tid, void_tid; /* tid.c: the thread's number as seen last; a number that is known
				 * to be another's */
	uint32_t refused;	/* events dropped while no stream was free */
	uint32_t refused_for;	/* the counter of these */
	char name[SHINY_THREAD_NAME]; /* as in struct shiny_thread */
	uint32_t tag;		      /* the innermost tag, which streams shall record (tag.h) */
	struct si_tags tags;
};
extern __thread struct si_tls si_tls
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Bytes of stack that a walk needs, with the rows that it makes and the modules that it records,
 * and as much again (test/e2e/stack_test). */
enum { SI_WALK_ROOM = 4096 };

/* Sets this thread's stack to [low, high). Frames don't reach below `floor`. */
static inline void si_stack_is(uintptr_t low, uintptr_t high, uintptr_t floor)
{
	si_tls.stack_low = low;
	si_tls.stack_high = high;
	si_tls.walk_low = floor + SI_WALK_ROOM;
}

/* Reserves the region. Called in boot. */
bool si_writers_make(void);
void si_writers_say_where(struct shiny_header *header); /* in `header->own` */

/* Takes a free writer, entered at `fp`; it has no slot yet. NULL: all are in use. */
struct si_writer *si_writer_reserve(const uintptr_t *fp);
/* Returns the writer of the process's late stream, which no thread ever owns. */
struct si_writer *si_writer_late(void);
/* Resets a writer: no chunk, no slot, nothing cached. */
void si_writer_reset(struct si_writer *w);
/* Frees a writer, whose chunk is sealed. */
void si_writer_give_back(struct si_writer *w);

/* Voids the stack cache, for a new stream, or when ids may have been lost. */
void si_writer_salt(struct si_writer *w);
/* Gives the stream a large stack cache in place of its small one, if one is free. */
SI_COLD void si_writer_enlarge(struct si_writer *w);

/* True if no thread is writing a record. */
bool si_writers_quiet(void);

/* Gives up all streams, in a forked child. Returns the time of the last record in the inherited
 * memory. */
uint64_t si_writers_forget(void);

/* Sets the tag of a new thread to that of its creator; 0: its stream is closed. */
static inline void si_tag_inherit(uint32_t tag)
{
	si_tls.tags = (struct si_tags){ .inherited = (uint16_t)tag };
	si_tls.tag = tag;
}

/* Records the thread's tag (tag.c). This is the one call that goes up from here. */
SI_COLD void si_tag_tell_slow(struct si_writer *w);

/* Records the thread's tag, if the chunk has another one. Called between si_enter and si_leave. */
static inline void si_tag_tell(struct si_writer *w)
{
	if (SI_UNLIKELY(w->tag != si_tls.tag))
		si_tag_tell_slow(w);
}

#endif
