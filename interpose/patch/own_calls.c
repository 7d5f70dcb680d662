/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_calls.c: see own_calls.h.
 *
 * allocator.def says which argument is the size, and so on. A hook must know the function that it
 * replaces, so each has a stub that loads its number; all six integer arguments and both words of a
 * result are passed through.
 *
 * An allocator calls itself: operator new its malloc, realloc its free. Only the outermost call is
 * the program's: while it runs, its frame is in si_outer, and calls of the allocator below it are
 * passed on unrecorded. Calls of other libraries below it are recorded, where the allocator is the
 * program's malloc: an exception that operator new throws lies in a block of libstdc++'s.
 *
 * A block that the nursery's reader holds must not move under it (record_event.h); then the hook
 * moves it by hand, which needs its usable size. Blocks of a family without a function for that are
 * not read.
 */
#define _GNU_SOURCE
#include "own_calls.h"

#include <errno.h>
#include <string.h>

#include "../hook/hooks.h"
#include "../hook/type_objects.h"
#include "../record/watched_slots.h"
#include "pool_calls.h"

enum { NO = SHINY_CALL_NO, STUB_BYTES = 16 };

const struct si_own_function si_own_functions[SHINY_ALLOCATOR_FUNCTIONS] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)                                                   \
	[SHINY_ALLOCATOR_##id] = {                                                                 \
		.name = text,                                                                      \
		.call = { SHINY_CALL_##k, b, s, c, NO, SHINY_API_##a, 0, NO, NO, NO, NO },         \
	},
#define SHINY_ALLOCATOR_ENGINE(id, text, k, b, s, c, p, a)
#define SHINY_ALLOCATOR_POOL(id, text, k, b, s, c, pool, parent, title, a)
#include <shiny/wire/allocator.def>
};

struct si_own si_own[SI_OWN];
struct si_own_family si_own_families[SI_OWN_FAMILIES];

extern const char __ehdr_start[] __attribute__((visibility("hidden"))),
	_end[] __attribute__((visibility("hidden"))); /* the end of this library, set by the
	                                               * linker */

/* True if the allocator is calling itself. If it does so by a jump in its first instruction, the
 * caller is our hook. */
static inline bool is_inner(const uintptr_t *fp, const struct si_own *o)
{
	uintptr_t ours = (uintptr_t)__ehdr_start, bytes = (uintptr_t)(_end - __ehdr_start);

	return si_nested(fp) &&
	       (fp[1] - o->family->inner < o->family->inner_bytes || fp[1] - ours < bytes);
}

/* Calls the original function, as the outermost one. */
static inline __attribute__((always_inline)) unsigned __int128
call_marked(const uintptr_t *fp, const struct si_own *o, const uintptr_t *argument)
{
	const uintptr_t *before = si_outer;
	uintptr_t took = si_engine_took;
	unsigned __int128 result;

	si_outer = fp;
	si_engine_took = o->call.api > SHINY_API_COLLECTED; /* a heap beside malloc */
	result = si_own_real(o, argument);
	si_outer = before;
	if (SI_UNLIKELY(si_engine_took > 1 && si_engine_took != (uintptr_t)result))
		si_event_engine_memory(fp, (void *)si_engine_took);
	si_engine_took = took;
	return result;
}

static void record(const uintptr_t *fp, const struct si_own *o, const uintptr_t *argument,
		   void *block, size_t size)
{
	enum shiny_api api = (enum shiny_api)o->call.api;

	if (api == SHINY_API_PYTHON_OBJECT)
		si_type_objects_made(fp, block, size);
	else if (o->call.type != NO)
		si_event_alloc_named(fp, block, size, api, (const char *)argument[o->call.type]);
	else if (o->family->usable && !o->family->is_unread)
		si_event_alloc(fp, block, size, api);
	else
		si_event_alloc_named(fp, block, size, api, NULL);
}

/* Returns the size of a new block in bytes: as requested, or else the usable one. */
static size_t new_size(const struct si_own *o, const uintptr_t *argument, const void *block)
{
	if (o->call.size == NO && !o->call.bytes && o->family->usable)
		return (size_t)o->family->usable((uintptr_t)block, 0, 0, 0, 0, 0);
	return si_own_size(o, argument);
}

static unsigned __int128 make(const uintptr_t *fp, const struct si_own *o,
			      const uintptr_t *argument)
{
	unsigned __int128 result = call_marked(fp, o, argument);
	void *block = (void *)(uintptr_t)result;
	size_t size;

	if (!block)
		return result;
	if (o->call.kind == SHINY_CALL_MAKE_TEXT && o->call.block != NO &&
	    (uintptr_t)block == argument[o->call.block])
		return result;
	if (o->call.kind == SHINY_CALL_MAKE_TEXT)
		size = strlen(block) + 1;
	else if (o->call.kind == SHINY_CALL_MAKE_SIZED)
		size = (size_t)(result >> 64);
	else
		size = new_size(o, argument, block);
	record(fp, o, argument, block, size);
	return result;
}

static unsigned __int128 make_out(const uintptr_t *fp, const struct si_own *o,
				  const uintptr_t *argument)
{
	unsigned __int128 error = call_marked(fp, o, argument);
	void *block = (int)error ? NULL : *(void **)argument[0];

	if (block)
		record(fp, o, argument, block, new_size(o, argument, block));
	return error;
}

static unsigned __int128 make_at(const uintptr_t *fp, const struct si_own *o,
				 const uintptr_t *argument)
{
	unsigned __int128 result = call_marked(fp, o, argument);
	void *block = *(void **)argument[0];

	if (block)
		record(fp, o, argument, block, new_size(o, argument, block));
	return result;
}

static SI_COLD void release(const struct si_own_family *family, void *block)
{
	const uintptr_t *before = si_outer;

	si_outer = SI_FRAME();
	family->end((uintptr_t)block, 0, 0, 0, 0, 0);
	si_outer = before;
}

/* The nursery's reader passes only the block to its release function, so each family has one. */
#define RELEASE(n)                                   \
	static void release_##n(void *block)         \
	{                                            \
		release(&si_own_families[n], block); \
	}
#define ADDRESS(n) release_##n,
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
/* the compiler takes the numbers for octal: 00 to 037 */
EIGHT(RELEASE, 0) EIGHT(RELEASE, 01) EIGHT(RELEASE, 02) EIGHT(RELEASE, 03)
static si_release_fn *const releases[] = { EIGHT(ADDRESS, 0) EIGHT(ADDRESS, 01)
						   EIGHT(ADDRESS, 02) EIGHT(ADDRESS, 03) };
_Static_assert(sizeof(releases) / sizeof(*releases) == SI_OWN_FAMILIES, "each family has one");

static si_release_fn *release_of(const struct si_own *o)
{
	return releases[o->family - si_own_families];
}

static unsigned __int128 end(const uintptr_t *fp, const struct si_own *o,
			     const uintptr_t *argument)
{
	if (!si_event_free(fp, (void *)argument[o->call.block], si_own_size(o, argument),
			   (enum shiny_api)o->call.api, release_of(o)))
		return 0;
	return call_marked(fp, o, argument);
}

/* The function reads the same words. The nursery's reader never holds these blocks: an engine with
 * such a function has none for the usable size. */
static unsigned __int128 end_list(const uintptr_t *fp, const struct si_own *o,
				  const uintptr_t *argument)
{
	for (uintptr_t block = argument[o->call.block], next; block; block = next) {
		next = *(const uintptr_t *)(block + argument[o->call.plus]);
		si_event_free(fp, (void *)block, argument[o->call.size],
			      (enum shiny_api)o->call.api, release_of(o));
	}
	return call_marked(fp, o, argument);
}

/* Moves a block that the nursery's reader holds: see above. */
static SI_COLD uintptr_t move_by_hand(const uintptr_t *fp, const struct si_own *o,
				      const uintptr_t *argument, void *block, size_t size)
{
	const uintptr_t *before = si_outer;
	size_t old;
	void *moved;

	si_outer = fp;
	old = (size_t)o->family->usable((uintptr_t)block, 0, 0, 0, 0, 0);
	moved = (void *)(uintptr_t)o->family->make(size, 0, 0, 0, 0, 0);
	si_outer = before;
	if (!moved)
		return 0;
	record(fp, o, argument, moved, size); /* of a block whose contents are undefined yet */
	memcpy(moved, block, old < size ? old : size);
	if (si_event_free(fp, block, 0, (enum shiny_api)o->call.api, release_of(o)))
		release(o->family, block);
	return (uintptr_t)moved;
}

/* Handles size 0, for which allocators differ: they free and return NULL, or a small block. Both
 * are recorded correctly. */
static SI_COLD uintptr_t move_to_nothing(const uintptr_t *fp, const struct si_own *o, void *block,
					 const uintptr_t *argument)
{
	uintptr_t left;

	if (!si_event_free(fp, block, 0, (enum shiny_api)o->call.api, release_of(o)))
		return 0;
	left = (uintptr_t)call_marked(fp, o, argument);
	if (left)
		record(fp, o, argument, (void *)left, 0);
	return left;
}

static unsigned __int128 move(const uintptr_t *fp, const struct si_own *o,
			      const uintptr_t *argument)
{
	void *block = (void *)argument[o->call.block];
	size_t size = si_own_size(o, argument);
	uintptr_t moved;

	if (SI_UNLIKELY(size == 0))
		return move_to_nothing(fp, o, block, argument);
	if (SI_UNLIKELY(!si_event_realloc_begin(fp, block, size, o->call.api)))
		return move_by_hand(fp, o, argument, block, size);
	moved = (uintptr_t)call_marked(fp, o, argument);
	if (moved)
		si_event_realloc_done(fp, (void *)moved, size, o->call.api);
	else
		si_event_realloc_failed(fp);
	return moved;
}

static unsigned __int128 move_out(const uintptr_t *fp, const struct si_own *o,
				  const uintptr_t *argument)
{
	void **place = (void **)argument[o->call.block], *block = *place;
	size_t size = si_own_size(o, argument);
	unsigned __int128 error;

	if (!block)
		return make_out(fp, o, argument);
	if (!size) { /* a free, and a new block if it returns one */
		if (!si_event_free(fp, block, 0, (enum shiny_api)o->call.api, release_of(o))) {
			*place = NULL;
			return 0;
		}
		return make_out(fp, o, argument);
	}
	if (SI_UNLIKELY(!si_event_realloc_begin(fp, block, size, o->call.api)))
		return (*place = (void *)move_by_hand(fp, o, argument, block, size)) ? 0 : ENOMEM;
	error = call_marked(fp, o, argument);
	if ((int)error == 0)
		si_event_realloc_done(fp, *place, size, o->call.api);
	else
		si_event_realloc_failed(fp);
	return error;
}

static unsigned __int128 move_at(const uintptr_t *fp, const struct si_own *o,
				 const uintptr_t *argument)
{
	void *block = (void *)argument[o->call.block], **place = (void **)argument[0];
	size_t size = si_own_size(o, argument);
	unsigned __int128 result;

	if (!block || !size)
		return block && !si_event_free(fp, block, 0, (enum shiny_api)o->call.api,
					       release_of(o))
			       ? (*place = NULL, argument[0])
			       : make_at(fp, o, argument);
	if (SI_UNLIKELY(!si_event_realloc_begin(fp, block, size, o->call.api))) {
		*place = (void *)move_by_hand(fp, o, argument, block, size);
		return argument[0];
	}
	result = call_marked(fp, o, argument);
	if (*place)
		si_event_realloc_done(fp, *place, size, o->call.api);
	else
		si_event_realloc_failed(fp);
	return result;
}

/* Resizes in place; returns the size that the block has then. */
static unsigned __int128 resize(const uintptr_t *fp, const struct si_own *o,
				const uintptr_t *argument)
{
	void *block = (void *)argument[o->call.block];
	size_t size = si_own_size(o, argument);
	unsigned __int128 got;

	/* the block is being read: it may not change */
	if (SI_UNLIKELY(!si_event_realloc_begin(fp, block, size, o->call.api)))
		return o->family->usable((uintptr_t)block, 0, 0, 0, 0, 0);
	got = call_marked(fp, o, argument);
	if ((size_t)got >= size)
		si_event_realloc_done(fp, block, size, o->call.api);
	else
		si_event_realloc_failed(fp);
	return got;
}

/* True for a mallctl name by which jemalloc drops an arena's blocks. */
static bool drops_arena(const char *name)
{
	if (!si_same(name, "arena.", 6))
		return false;
	for (name += 6; *name && *name != '.'; name++)
		;
	return si_equal(name, ".reset") || si_equal(name, ".destroy");
}

static unsigned __int128 drop(const struct si_own *o, const uintptr_t *argument)
{
	unsigned block = o->call.block;

	if (block == NO ? drops_arena((const char *)argument[0]) : argument[block] != 0)
		si_count(SHINY_COUNT_HEAPS_DROPPED);
	return si_own_real(o, argument);
}

/* The blocks end before another one can take their place. */
static unsigned __int128 drop_all(const uintptr_t *fp, const struct si_own *o,
				  const uintptr_t *argument)
{
	si_event_dropped(fp, (enum shiny_api)o->call.api);
	return call_marked(fp, o, argument);
}

static unsigned __int128 type_name(const uintptr_t *fp, const struct si_own *o,
				   const uintptr_t *argument)
{
	unsigned __int128 key = si_own_real(o, argument);

	if ((uintptr_t)key)
		si_event_type_name(fp, (uintptr_t)key,
				   (enum shiny_run_time)(o->call.api - SHINY_APIS),
				   (const char *)argument[o->call.type]);
	return key;
}

/* The function is no allocator: the blocks that it makes are recorded as they are elsewhere. A call
 * that makes no block, but takes room in one, is no news about that block. */
static unsigned __int128 typed(const uintptr_t *fp, const struct si_own *o,
			       const uintptr_t *argument)
{
	const struct shiny_record *before = si_event_place();
	unsigned __int128 object = si_own_real(o, argument);

	if (!(uintptr_t)object || si_event_place() == before)
		return object;
	if (o->call.kind == SHINY_CALL_NAMED)
		si_event_named(fp, (void *)(uintptr_t)object,
			       (const char *)argument[o->call.type]);
	else
		si_event_typed(fp, (void *)(uintptr_t)object, argument[o->call.type]);
	return object;
}

static unsigned __int128 aside(const struct si_own *o, const uintptr_t *argument)
{
	uintptr_t *places[SI_SLOTS_WATCHED];
	unsigned __int128 result;

	si_slots_step_aside(places);
	result = si_own_real(o, argument);
	si_slots_step_back(places);
	return result;
}

unsigned __int128 si_own_call(const uintptr_t *fp, uint32_t n, const uintptr_t *argument);

/* Operators throw: an exception that passes through clears the mark. */
__attribute__((used, noinline)) unsigned __int128
si_own_call(const uintptr_t *fp, uint32_t n, const uintptr_t *argument)
{
	const struct si_own *o = &si_own[n];
	bool has_block = o->call.block < SHINY_CALL_ARGUMENTS && argument[o->call.block];

	SI_OUTER_PERSONALITY();
	if (SHINY_POOL_APIS >> o->call.api & 1)
		return si_pool_call(fp, o, argument);
	if (o->call.kind == SHINY_CALL_ASIDE) /* also from within the allocator */
		return aside(o, argument);
	if (is_inner(fp, o) || (n >= SI_OWN_INNER && si_is_from_below(fp)))
		return si_own_real(o, argument);
	if (o->call.api == SHINY_API_PYTHON_OBJECT)
		si_type_objects_look(fp, has_block ? (void *)argument[o->call.block] : NULL);
	switch (o->call.kind) {
	case SHINY_CALL_MAKE_OUT: return make_out(fp, o, argument);
	case SHINY_CALL_END_LIST: return end_list(fp, o, argument);
	case SHINY_CALL_TYPE_NAME: return type_name(fp, o, argument);
	case SHINY_CALL_TYPED:
	case SHINY_CALL_NAMED: return typed(fp, o, argument);
	case SHINY_CALL_END: return has_block ? end(fp, o, argument) : si_own_real(o, argument);
	case SHINY_CALL_MOVE: return has_block ? move(fp, o, argument) : make(fp, o, argument);
	case SHINY_CALL_MOVE_OUT: return move_out(fp, o, argument);
	case SHINY_CALL_RESIZE: return resize(fp, o, argument);
	case SHINY_CALL_DROP: return drop(o, argument);
	case SHINY_CALL_DROP_ALL: return drop_all(fp, o, argument);
	case SHINY_CALL_MAKE_AT: return make_at(fp, o, argument);
	case SHINY_CALL_MOVE_AT:
		return move_at(fp, o, argument);
	default: return make(fp, o, argument);
	}
}

/* Each stub has 16 bytes. Their common part makes a frame, in which si_own_call finds the caller as
 * a hook does, and pushes the six arguments below it. */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	"own_common:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n	.cfi_def_cfa_offset 16\n	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n	.cfi_def_cfa_register %rbp\n"
	"	push %r9\n	push %r8\n	push %rcx\n"
	"	push %rdx\n	push %rsi\n	push %rdi\n"
	"	mov %rbp, %rdi\n"
	"	mov %eax, %esi\n"
	"	mov %rsp, %rdx\n"
	"	call si_own_call\n"
	"	leave\n	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".p2align 4\n"
	"own_stubs:\n"
	"	.cfi_startproc\n"
	".set number, 0\n"
	".rept " SI_OWN_TEXT "\n"
	"	.p2align 4\n"
	"	endbr64\n"
	"	mov $number, %eax\n"
	"	jmp own_common\n"
	"	.set number, number + 1\n"
	".endr\n"
	"	.cfi_endproc\n"
	".popsection");
extern char own_stubs[] __attribute__((visibility("hidden")));

void *si_own_stub(unsigned n)
{
	return own_stubs + (size_t)n * STUB_BYTES;
}

void si_own_fill(unsigned n, const struct shiny_allocator_call *call, si_own_fn *real,
		 const struct si_own_family *family)
{
	si_own[n] = (struct si_own){ .function = real, .family = family, .call = *call };
}
