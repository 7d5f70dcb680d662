/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer.h: the events that a replay (replay.h) reports to its observers.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_OBSERVER_H
#define SHINY_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/sample_weight.h>

#include "../../store/event.h"
#include "life_map.h"

enum life_end {
	LIFE_FREED,
	LIFE_REALLOCED, /* a realloc that succeeded ended it: `next` is the new block */
	LIFE_REUSED,    /* another block has its place, without a free */
	LIFE_RELEASED,  /* a garbage-collected object whose memory returned to the free lists or the
			 * system */
	LIFE_NEVER,     /* live when its process, its program (exec) or the recording ended */
	LIFE_ENDS
};

struct life_death {
	enum life_end end;
	uint64_t time;    /* ns since the session's start */
	uint32_t thread;  /* thread that ended it; 0: none */
	uint32_t stack;   /* stack of the free; 0: unknown */
	uint8_t api;      /* enum shiny_api of the free */
	uint64_t claimed; /* sized delete's argument; 0: none */
	const struct life *next; /* REALLOCED, REUSED: the block that took its place */
};

struct replay;

struct replay_process {
	const struct replay *replay;
	uint32_t id, parent;
	uint64_t start, end;      /* ns; end: of the process or of the recording */
	uint64_t births, bytes;   /* so far; bytes: of the live blocks */
	uint64_t sample;          /* mean of its sample, bytes; 0: every block was recorded */
	uint64_t forked;          /* ns; 0: not forked, or it has its parent's blocks already */
	bool wanted;		  /* in the filter: observers see it */
	bool early;		  /* exec replaced it, or it ended before the session's end: its
				   * blocks are abandoned, not live */
	bool told;                /* it had an event */
	struct life_map blocks;   /* live blocks */
};

/* Returns how many blocks this one counts as: more than 1 where blocks are a sample. */
static inline uint64_t replay_weight(const struct replay_process *process, const struct life *life)
{
	return __builtin_expect(!process->sample, 1)
		       ? 1
		       : shiny_sample_weight(life->size,
					     shiny_sample_mean(process->sample, life->level));
}

/* An observer's per-event table. The replay prefetches its rows some events ahead, as they are
 * mostly in no cache. */
struct replay_rows {
	const void *at;
	size_t count, each; /* number of rows; bytes of each */
};

/* Any function may be NULL. Lives are valid during the call. */
struct replay_observer {
	void *context;
	void (*birth)(void *context, const struct replay_process *process, const struct life *life);
	void (*death)(void *context, const struct replay_process *process, const struct life *life,
		      const struct life_death *death);
	/* A garbage-collected object changed its size: life->size is the new one, `before` the old
	 * one. */
	void (*resize)(void *context, const struct replay_process *process, const struct life *life,
		       uint64_t before);
	/* A collection moved a garbage-collected object from address `before`: the same life, of
	 * the same size. */
	void (*move)(void *context, const struct replay_process *process, const struct life *life,
		     uint64_t before);
	/* The block's vtable became known, or a better one than `before` (0: none); replay_type()
	 * may return another type from now on. */
	void (*vtable)(void *context, const struct replay_process *process, const struct life *life,
		       uint32_t before);
	/* A free, or the old block of a realloc, of an address without a live block. */
	void (*stray)(void *context, const struct replay_process *process,
		      const struct event *event);
	/* A mapping call. */
	void (*map)(void *context, const struct replay_process *process, const struct event *event);
	/* `child` has copies of the blocks of `parent`. */
	void (*fork)(void *context, const struct replay_process *parent,
		     const struct replay_process *child);
	/* A constructor or destructor was entered. */
	void (*constructor)(void *context, const struct replay_process *process,
			    const struct event *event);
	/* Called at the requested moment, after all events before it; returns the next moment, or
	 * UINT64_MAX. */
	uint64_t (*moment)(void *context, const struct replay *replay, uint64_t moment);
	uint64_t first_moment; /* with `moment`: ns since the session's start */
	/* The observer calls replay_type() for few blocks or none: a pass of only such observers
	 * does not look up types at births. */
	bool untyped;
	/* Tables indexed by a block's stack id, and by its life's place; NULL: none. They may
	 * change during the pass. */
	const struct replay_rows *by_stack, *by_place;
};

struct replay {
	struct replay_process *processes; /* process id n is [n - 1] */
	size_t process_count;
	uint64_t duration; /* of the session, ns */
	uint64_t events;   /* number so far */
	uint64_t now;      /* latest time of an event so far */
	uint64_t kept;     /* ns from which on the events were kept (SHINY_KEEP); 0: all were */
};

#endif
