/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h: every block's life, one after the other, from the events of a session: what all
 * analyses over time are made of.
 *
 * Runs: CLI. Signals: no. Allocates: 77 to 90 bytes a live block (life_map.h), 16 to 32 a type of a
 * stack (type_table.h). Threads: one a store.
 *
 * One pass over the events, in the order of the file; observers get a call for each birth and each
 * death. So an analysis takes memory by what it keeps, never by the number of events; for time, see
 * bench/results/replay.txt. Events that the sidecar got later than others (counter `late`) stay
 * where they stand, with their own time.
 *
 * Observers see a fork before the first event that lies after it. But the events of a ring that the
 * sidecar saw late stand behind later ones: while a parent has no event yet, a fork waits for its
 * first event or the child's, and comes behind events, and moments, that lie after it.
 *
 * A block is born when its allocation has returned and dies when its free is called. Forked
 * children start with what their parent held: observers see those blocks as deaths, or as alive at
 * the end, with `inherited` set, and not as births; they count for nothing that is live. A realloc
 * is the death of one block and the birth of another, even at the same address. Not so of
 * garbage-collected objects, which are resized in place, and moved by the collector.
 *
 * A filter with an interval or tags (filter.h) selects the blocks that were born in it; observers
 * see their deaths whenever they come.
 */
#ifndef SHINY_REPLAY_H
#define SHINY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../store/store.h"
#include "life_map.h"
#include "../query/filter.h"

enum life_end {
	LIFE_FREED,
	LIFE_REALLOCED, /* given to a realloc that succeeded: `next` is what it became */
	LIFE_REUSED,    /* nobody freed it, and another block has its place */
	LIFE_RELEASED,  /* a garbage-collected object whose memory was given back, to the free lists
	                 * or to the system */
	LIFE_NEVER,     /* it lived when its process, its program (exec) or the recording ended */
	LIFE_ENDS
};
extern const char *const life_end_names[LIFE_ENDS]; /* "freed" */

struct life_death {
	enum life_end end;
	uint64_t time;    /* ns since the session's start */
	uint32_t thread;  /* that ended it; 0: nobody did */
	uint32_t stack;   /* of the free; 0 unknown */
	uint8_t api;      /* enum shiny_api of it */
	uint64_t claimed; /* sized delete's argument; 0 none */
	const struct life *next; /* REALLOCED, REUSED: by what */
};

struct replay_process {
	uint32_t id, parent;
	uint64_t start, end;      /* ns; end: of the process or of the recording */
	uint64_t births, bytes;   /* so far; bytes: of its live blocks */
	uint64_t forked;          /* ns; 0: it was not, or has its parent's blocks already */
	bool wanted;		  /* it is in the filter: observers see it */
	bool replaced;            /* by exec */
	bool early;		  /* so, or it ended before the session's end: what it held then is
				   * abandoned, not live; else it is live until the session's end */
	bool told;                /* an event of it has come */
	struct life_map blocks;   /* live */
};

struct replay;

/* Any function may be NULL. Lives are valid during the call. */
struct replay_observer {
	void *context;
	void (*birth)(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct life *life);
	void (*death)(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct life *life,
		      const struct life_death *death);
	/* A garbage-collected object has another size from now on, which `life` has already;
	 * `before` it had that many bytes. */
	void (*resize)(void *context, const struct replay *replay,
		       const struct replay_process *process, const struct life *life,
		       uint64_t before);
	/* A collection has moved a garbage-collected object: it lay at `before`. It is the same
	 * life, of the same size. */
	void (*move)(void *context, const struct replay *replay,
		     const struct replay_process *process, const struct life *life,
		     uint64_t before);
	/* The block's vtable became known, or a better one than `before` (0: none was);
	 * replay_type() may say another type from now on. */
	void (*vtable)(void *context, const struct replay *replay,
		       const struct replay_process *process, const struct life *life,
		       uint32_t before);
	/* A free, or the old block of a realloc, that is not known to live. */
	void (*stray)(void *context, const struct replay *replay,
		      const struct replay_process *process, const struct event *event);
	/* A mapping call. */
	void (*map)(void *context, const struct replay *replay,
		    const struct replay_process *process, const struct event *event);
	/* `child` has got what `parent` held. */
	void (*fork)(void *context, const struct replay *replay,
		     const struct replay_process *parent, const struct replay_process *child);
	/* A constructor or destructor was entered. */
	void (*constructor)(void *context, const struct replay *replay,
			    const struct replay_process *process, const struct event *event);
	/* Called at the moment that was asked for, after all events before it; returns the next
	 * one, or UINT64_MAX. */
	uint64_t (*moment)(void *context, const struct replay *replay, uint64_t moment);
	uint64_t first_moment; /* where `moment` is given: ns since the session's start */
	/* It asks replay_type() of few blocks, or of none: a pass of such observers does not look
	 * up what each block is when it begins. */
	bool untyped;
};

struct replay {
	struct replay_process *processes; /* process id n is n - 1 */
	size_t process_count;
	uint64_t duration; /* of the session, ns */
	uint64_t events;   /* told so far */
	uint64_t now;      /* the latest time of these */
};

/* Goes through the session for all observers at once. `title`: what the progress line on standard
 * error says; NULL: none. Within replay_together() the pass may be one of several tasks. */
SHINY_MUST_CHECK struct shiny_err *replay_run(struct store *store, const struct filter *filter,
					      struct replay_observer *observers, size_t count,
					      const char *title);
/* The same, of nobody else's observers. */
SHINY_MUST_CHECK struct shiny_err *replay_pass(struct store *store, const struct filter *filter,
					       struct replay_observer *observers, size_t count,
					       const char *title);

/* Id in table type of what the block is, as concluded at the end of the recording; 0 unknown. */
uint32_t replay_find_type(const struct replay *replay, const struct replay_process *process,
			  uint32_t stack, uint32_t vtable);
static inline uint32_t replay_type(const struct replay *replay,
				   const struct replay_process *process, const struct life *life)
{
	/* a copy may have got another vtable, to know what it was before; an untyped pass has
	 * looked up none */
	return life->vtable == life->type_vtable
		       ? life->type
		       : replay_find_type(replay, process, life->stack, life->vtable);
}

/* The live block that begins there; NULL: none does. */
static inline const struct life *replay_find(const struct replay_process *process, uint64_t address)
{
	uint32_t place = life_map_find(&process->blocks, address, life_hash(address));

	return place ? life_at(process->blocks.pool, place) : NULL;
}

/* Live blocks of a process that the filter is about, in no order. `births`, `bytes` and the count
 * of `blocks` are those of all. */
#define replay_each(process, life)                                                    \
	for (const struct life *life = life_map_next(&(process)->blocks, NULL); life; \
	     life = life_map_next(&(process)->blocks, life))                          \
		if (!life->outside)

#endif
