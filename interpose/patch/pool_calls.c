/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_calls.c: see pool_calls.h.
 *
 * A pool's library calls malloc for its blocks, and these stay recorded: they are the first level.
 * So calls of the second level have a mark of their own for the outermost one, by which
 * apr_pcalloc's call of apr_palloc makes no second object.
 *
 * Functions that end a pool are never the outermost one: they run the program's cleanups, which
 * make and end objects of their own. What ends is recorded before the call, as its memory may be
 * given out again before it returns. An object that a cleanup makes in the pool that ends is
 * recorded as ended at once: no later record ends it, and its memory goes with the pool's.
 *
 * palloc leaves by longjmp when it fails. A mark counts only while the stack has the return address
 * where the call was made.
 */
#include "pool_calls.h"

#include <string.h>

#include "../core/base.h"
#include "../hook/record_pool.h"
#include "../record/thread.h"

enum { NO = SHINY_CALL_NO };

struct running_call {
	const uintptr_t *fp; /* the hook's frame; NULL: no call runs */
	uintptr_t caller, pool; /* pool: of a call that ends it */
};
static __thread struct running_call outermost;
/* The calls that end pools, outermost first; deeper ones are left out. */
enum { ENDING = 8 };
static __thread struct running_call ending[ENDING];
static __thread unsigned ending_count;

static bool is_below(const uintptr_t *fp, const struct running_call *call)
{
	const uintptr_t *outer = call->fp;

	return SI_UNLIKELY(outer != NULL) && fp < outer &&
	       (uintptr_t)outer < si_tls.stack_high - sizeof(*outer) && outer[1] == call->caller;
}

static bool is_inside(const uintptr_t *fp)
{
	return is_below(fp, &outermost);
}

static SI_COLD bool is_ending_slow(const uintptr_t *fp, uintptr_t pool)
{
	for (unsigned i = 0; i < ending_count; i++)
		if (ending[i].pool == pool && is_below(fp, &ending[i]))
			return true;
	return false;
}

/* True if a call of this thread is ending the pool. */
static bool is_ending(const uintptr_t *fp, uintptr_t pool)
{
	return SI_UNLIKELY(ending_count) && is_ending_slow(fp, pool);
}

static unsigned __int128 call_ending(const uintptr_t *fp, const struct si_own *o,
				     const uintptr_t *argument)
{
	unsigned __int128 result;
	unsigned before;

	while (ending_count && !is_below(fp, &ending[ending_count - 1]))
		ending_count--; /* it was left by longjmp */
	before = ending_count;
	if (before < ENDING)
		ending[ending_count++] =
			(struct running_call){ fp, fp[1], argument[o->call.pool] };
	result = si_own_real(o, argument);
	ending_count = before;
	return result;
}

static unsigned __int128 call_outermost(const uintptr_t *fp, const struct si_own *o,
					const uintptr_t *argument)
{
	unsigned __int128 result;

	outermost = (struct running_call){ .fp = fp, .caller = fp[1] };
	result = si_own_real(o, argument);
	outermost.fp = NULL;
	return result;
}

/* Returns the pool in which a new object lies; 0: it is not told. */
static uintptr_t pool_of(const struct si_own *o, const uintptr_t *argument)
{
	unsigned pool = o->call.pool;

	return pool == NO ? 0 : pool == SHINY_CALL_VARIABLE ? *o->variable : argument[pool];
}

static unsigned __int128 make(const uintptr_t *fp, const struct si_own *o,
			      const uintptr_t *argument)
{
	uintptr_t pool = pool_of(o, argument);
	unsigned __int128 result = call_outermost(fp, o, argument);
	void *object = (void *)(uintptr_t)result;

	if (object)
		si_pool_alloc(fp, pool, object,
			      o->call.kind == SHINY_CALL_MAKE_TEXT ? strlen(object) + 1
								   : si_own_size(o, argument),
			      o->call.api);
	if (object && is_ending(fp, pool))
		si_pool_free(fp, object, o->call.api);
	return result;
}

static unsigned __int128 move(const uintptr_t *fp, const struct si_own *o,
			      const uintptr_t *argument)
{
	struct si_writer *begun =
		si_pool_move_begin(fp, (void *)argument[o->call.block],
				   si_own_size(o, argument), o->call.api);
	unsigned __int128 result = call_outermost(fp, o, argument);

	si_pool_move_done(fp, begun, (void *)(uintptr_t)result, si_own_size(o, argument),
			  o->call.api);
	return result;
}

static unsigned __int128 make_pool(const uintptr_t *fp, const struct si_own *o,
				   const uintptr_t *argument)
{
	const struct shiny_allocator_call *c = &o->call;
	unsigned __int128 result = si_own_real(o, argument);
	uintptr_t pool = c->kind == SHINY_CALL_POOL_MAKE_OUT
				 ? (int)result ? 0 : *(const uintptr_t *)argument[0]
			 : c->pool == NO ? (uintptr_t)result
					 : argument[c->pool];
	const struct shiny_pool made = {
		.pool = pool,
		.parent = c->parent == NO ? 0 : argument[c->parent],
		.changes = (c->kind == SHINY_CALL_POOL_CHANGE ? 0 : SHINY_POOL_NEW) |
			   (c->parent == NO ? 0 : SHINY_POOL_PARENT),
	};

	if (pool)
		si_pool_is(fp, &made, c->title == NO ? NULL : (const char *)argument[c->title],
			   c->api);
	return result;
}

unsigned __int128 si_pool_call(const uintptr_t *fp, const struct si_own *o,
			       const uintptr_t *argument)
{
	static const uint8_t ends[SHINY_CALL_KINDS] = {
		[SHINY_CALL_POOL_EMPTY] = SHINY_POOL_OBJECTS,
		[SHINY_CALL_POOL_CHILDREN] = SHINY_POOL_CHILDREN,
		[SHINY_CALL_POOL_RESET] = SHINY_POOL_OBJECTS | SHINY_POOL_CHILDREN,
		[SHINY_CALL_POOL_END] = SHINY_POOL_ENDS_MAX,
	};
	unsigned kind = o->call.kind;

	if (ends[kind]) {
		si_pool_ends(fp, argument[o->call.pool], ends[kind], o->call.api);
		return call_ending(fp, o, argument);
	}
	if (kind >= SHINY_CALL_POOL_MAKE)
		return make_pool(fp, o, argument);
	if (is_inside(fp))
		return si_own_real(o, argument);
	if (kind == SHINY_CALL_END) {
		if (argument[o->call.block])
			si_pool_free(fp, (void *)argument[o->call.block], o->call.api);
		return call_outermost(fp, o, argument);
	}
	return kind == SHINY_CALL_MOVE && argument[o->call.block] ? move(fp, o, argument)
								  : make(fp, o, argument);
}
