/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer.h: what a replay tells of blocks, and to whom: see replay.h.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_OBSERVER_H
#define SHINY_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../store/event.h"
#include "life_map.h"

enum life_end {
	LIFE_FREED,
	LIFE_REALLOCED, /* given to a realloc that succeeded: `next` is what it became */
	LIFE_REUSED,    /* nobody freed it, and another block has its place */
	LIFE_RELEASED,  /* a garbage-collected object whose memory was given back, to the free lists
	                 * or to the system */
	LIFE_NEVER,     /* it lived when its process, its program (exec) or the recording ended */
	LIFE_ENDS
};

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
	bool early;		  /* exec replaced it, or it ended before the session's end: what
				   * it held then is abandoned, not live */
	bool told;                /* an event of it has come */
	struct life_map blocks;   /* live */
};

struct replay;

/*
 * A table of an observer's own, of which each event of a block needs a row that is in no cache as a
 * rule: the replay, which knows what comes, asks for it some events ahead.
 */
struct replay_rows {
	const void *at;
	size_t count, each; /* rows; bytes of one */
};

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
	/* NULL: it has no such table. By the id of the stack that a block is of, and by its life's
	 * place. They may change during the pass. */
	const struct replay_rows *by_stack, *by_place;
};

struct replay {
	struct replay_process *processes; /* process id n is n - 1 */
	size_t process_count;
	uint64_t duration; /* of the session, ns */
	uint64_t events;   /* told so far */
	uint64_t now;      /* the latest time of these */
};

#endif
