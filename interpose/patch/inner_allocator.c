/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inner_allocator.c: stands in front of a jemalloc, tcmalloc, mimalloc or any malloc that is linked
 * into the executable.
 *
 * Runs:      inside.
 * Signals:   as the program's malloc.
 * Allocates: see inner_allocator.h.
 * Threads:   attach: the constructor's. Hooks: any.
 *
 * The problem. The executable comes first in symbol lookup, so libraries find its malloc, and its
 * own calls were bound when it was linked; with a prefix (je_malloc) nobody looks the name up at
 * all. So the functions' entries are patched (patcher.c), by recipes made outside.
 *
 * The allocator calls itself: operator new its malloc, realloc its free. Those calls come to our
 * hooks as well, now that the entries are patched. Only the outermost one is the program's: while
 * it runs, its frame is in si_outer, and what the executable calls below it is passed on. What
 * libraries call below it is theirs: an exception that operator new throws lives in a block of
 * libstdc++'s. Two names of one function are one patch; where one is an operator and the other is
 * not, the api of its blocks is EITHER.
 *
 * Which argument is the size, and so on, stands in allocator.def. Each patched function has hooks
 * of its own by number, because a hook must know whose function it stands for; all they do is pass
 * that number on. All integer arguments that such functions take are passed through.
 *
 * A block that the nursery's reader holds must not move under it (record_event.h); then realloc is
 * done by hand, which needs the block's usable size. An allocator that has no function for that
 * gets no nursery.
 */
#define _GNU_SOURCE
#include "inner_allocator.h"

#include <errno.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include <shiny/wire/allocator.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "../core/env.h"
#include "../hook/hooks.h"
#include "../unwind/main_image.h"
#include "patcher.h"
#include "probe_head.h"
#include "../core/settings.h"
#include "../core/sys.h"

enum kind { MAKE, MAKE_OUT, MAKE_TEXT, END, MOVE, USABLE, KINDS };
enum { NO = 0xff, ARGUMENTS = 4 };

typedef uintptr_t own_fn(uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static const struct inner_function {
	const char *name;
	uint8_t kind, block, size, count, api;
} functions[SHINY_ALLOCATOR_FUNCTIONS] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)                                                 \
	[SHINY_ALLOCATOR_##id] = {                                                               \
		.name = text, .kind = k, .block = b, .size = s, .count = c, .api = SHINY_API_##a \
	},
#include <shiny/wire/allocator.def>
};

/* What a family offers when a block has to be moved or given back by hand. Written before the
 * patches are. */
static struct inner_family {
	own_fn *make, *end, *usable; /* malloc, free, usable size; the last may be NULL */
} families[SHINY_ALLOCATOR_FAMILIES];
static struct own {
	own_fn *function; /* as it was */
	const struct inner_family *family;
	si_release_fn *release;
	uint8_t block, size, count, api;
} own[SHINY_ALLOCATOR_ENTRIES];

/* ---- hooks ---- */

static uintptr_t main_start, main_bytes, our_start, our_bytes; /* the executable, this library */

/* Whether the allocator is calling itself; by a jump from its first instruction on, the caller is
 * our hook. */
static inline bool is_inner(const uintptr_t *fp)
{
	return si_nested(fp) && (fp[1] - main_start < main_bytes || fp[1] - our_start < our_bytes);
}

static inline size_t size_of(const struct own *o, const uintptr_t *argument)
{
	if (o->size == NO)
		return 0;
	return o->count == NO ? argument[o->size] : argument[o->size] * argument[o->count];
}

#define CALL(o, argument) (o)->function((argument)[0], (argument)[1], (argument)[2], (argument)[3])

/* The function as it was, called as the outermost one. */
static inline __attribute__((always_inline)) uintptr_t call_marked(const uintptr_t *fp,
								   const struct own *o,
								   const uintptr_t *argument)
{
	const uintptr_t *before = si_outer;
	uintptr_t result;

	si_outer = fp;
	result = CALL(o, argument);
	si_outer = before;
	return result;
}

static __attribute__((noinline)) uintptr_t make(const uintptr_t *fp, const struct own *o,
						const uintptr_t *argument)
{
	uintptr_t block;

	SI_OUTER_PERSONALITY();
	if (is_inner(fp))
		return CALL(o, argument);
	block = call_marked(fp, o, argument);
	if (SI_LIKELY(block != 0))
		si_event_alloc(fp, (void *)block, size_of(o, argument), (enum shiny_api)o->api);
	return block;
}

static __attribute__((noinline)) uintptr_t make_out(const uintptr_t *fp, const struct own *o,
						    const uintptr_t *argument)
{
	uintptr_t error;

	if (is_inner(fp))
		return CALL(o, argument);
	error = call_marked(fp, o, argument);
	if ((int)error == 0 && *(void **)argument[0])
		si_event_alloc(fp, *(void **)argument[0], size_of(o, argument),
			       (enum shiny_api)o->api);
	return error;
}

static __attribute__((noinline)) uintptr_t make_text(const uintptr_t *fp, const struct own *o,
						     const uintptr_t *argument)
{
	uintptr_t block;

	if (is_inner(fp))
		return CALL(o, argument);
	block = call_marked(fp, o, argument);
	if (block)
		si_event_alloc(fp, (void *)block, strlen((const char *)block) + 1,
			       (enum shiny_api)o->api);
	return block;
}

static __attribute__((noinline)) uintptr_t end(const uintptr_t *fp, const struct own *o,
					       const uintptr_t *argument)
{
	void *block = (void *)argument[o->block];
	uintptr_t result;

	if (!block || is_inner(fp))
		return CALL(o, argument);
	if (!si_event_free(fp, block, size_of(o, argument), (enum shiny_api)o->api, o->release))
		return 0;
	result = call_marked(fp, o, argument);
	return result;
}

static SI_COLD void release(const struct own *o, void *block)
{
	const uintptr_t *before = si_outer;

	si_outer = SI_FRAME();
	o->family->end((uintptr_t)block, 0, 0, 0);
	si_outer = before;
}

/* The nursery's reader holds the block: see above. */
static SI_COLD uintptr_t move_by_hand(const uintptr_t *fp, const struct own *o, void *block,
				      size_t size)
{
	const uintptr_t *before = si_outer;
	size_t old;
	void *moved;

	si_outer = fp;
	old = o->family->usable((uintptr_t)block, 0, 0, 0);
	moved = (void *)o->family->make(size, 0, 0, 0);
	si_outer = before;
	if (!moved)
		return 0;
	memcpy(moved, block, old < size ? old : size);
	si_event_alloc(fp, moved, size, SHINY_API_REALLOC);
	if (si_event_free(fp, block, 0, SHINY_API_REALLOC, o->release))
		release(o, block);
	return (uintptr_t)moved;
}

/* Allocators differ in what they do with size 0: free and return nothing, or a small block. Both
 * are told rightly like this. */
static SI_COLD uintptr_t move_to_nothing(const uintptr_t *fp, const struct own *o, void *block,
					 const uintptr_t *argument)
{
	uintptr_t left;

	if (!si_event_free(fp, block, 0, SHINY_API_REALLOC, o->release))
		return 0;
	left = call_marked(fp, o, argument);
	if (left)
		si_event_alloc(fp, (void *)left, 0, SHINY_API_REALLOC);
	return left;
}

static __attribute__((noinline)) uintptr_t move(const uintptr_t *fp, const struct own *o,
						const uintptr_t *argument)
{
	void *block = (void *)argument[o->block];
	size_t size = size_of(o, argument);
	uintptr_t moved;

	SI_OUTER_PERSONALITY();
	if (!block)
		return make(fp, o, argument);
	if (is_inner(fp))
		return CALL(o, argument);
	if (SI_UNLIKELY(size == 0))
		return move_to_nothing(fp, o, block, argument);
	if (SI_UNLIKELY(!si_event_realloc_begin(fp, block)))
		return move_by_hand(fp, o, block, size);
	moved = call_marked(fp, o, argument);
	if (moved)
		si_event_realloc_done(fp, (void *)moved, size);
	else
		si_event_realloc_failed(fp);
	return moved;
}

#define HOOK(n, what)                                                                         \
	static uintptr_t what##_##n(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)       \
	{                                                                                     \
		return what(SI_FRAME(), &own[n], (const uintptr_t[ARGUMENTS]){ a, b, c, d }); \
	}
#define HOOKS(n)                                                   \
	HOOK(n, make)                                              \
	HOOK(n, make_out) HOOK(n, make_text) HOOK(n, end)          \
		HOOK(n, move) static void release_##n(void *block) \
	{                                                          \
		release(&own[n], block);                           \
	}
#define ROW(n)                           \
	{ { [MAKE] = make_##n,           \
	    [MAKE_OUT] = make_out_##n,   \
	    [MAKE_TEXT] = make_text_##n, \
	    [END] = end_##n,             \
	    [MOVE] = move_##n },         \
	  release_##n },
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
/* numbers in octal, as far as the compiler is concerned: 00 to 077 */
#define ALL(f)      \
	EIGHT(f, 0) \
	EIGHT(f, 01) EIGHT(f, 02) EIGHT(f, 03) EIGHT(f, 04) EIGHT(f, 05) EIGHT(f, 06) EIGHT(f, 07)
ALL(HOOKS)
static const struct {
	own_fn *of_kind[KINDS];
	si_release_fn *release;
} hooks[] = { ALL(ROW) };
_Static_assert(sizeof(hooks) / sizeof(*hooks) == SHINY_ALLOCATOR_ENTRIES,
	       "each entry has its hooks");

/* ---- attaching ---- */

static bool same_setting(const char *setting)
{
	for (unsigned i = 0; i < SHINY_ALLOCATOR_SETTING; i++) {
		if (setting[i] != si_env.allocator[i])
			return false;
		if (!setting[i])
			return true;
	}
	return false;
}

#define CHECKED offsetof(struct shiny_allocator_file, version)

static bool makes_sense(const struct shiny_allocator_file *f, long bytes,
			const struct si_main_image *image, struct si_text *why)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);

	if (bytes < (long)sizeof(*f) || f->magic != SHINY_ALLOCATOR_MAGIC ||
	    f->bytes != (uint64_t)bytes) {
		si_text_add(why, "it is damaged");
		return false;
	}
	if (f->version != SHINY_ALLOCATOR_VERSION) {
		si_text_add(why, "it was made by another version");
		return false;
	}
	if (XXH3_64bits((const char *)f + CHECKED, (size_t)bytes - CHECKED) != f->checksum ||
	    f->count > SHINY_ALLOCATOR_ENTRIES || f->bytes != sizeof(*f) + f->count * sizeof(*e)) {
		si_text_add(why, "it is damaged");
		return false;
	}
	if (f->build_id_bytes != image->build_id_bytes ||
	    !si_same((const char *)f->build_id, (const char *)image->build_id,
		     image->build_id_bytes)) {
		si_text_add(why, "it is of another build");
		return false;
	}
	if (!same_setting(f->setting)) {
		si_text_add(why, "it was made with another SHINY_ALLOCATOR");
		return false;
	}
	for (uint32_t i = 0; i < f->count; i++)
		if (e[i].function >= SHINY_ALLOCATOR_FUNCTIONS ||
		    e[i].family >= SHINY_ALLOCATOR_FAMILIES ||
		    e[i].home >= SHINY_ALLOCATOR_FAMILIES ||
		    e[i].recipe.vaddr < image->start - image->bias ||
		    e[i].recipe.vaddr >= image->end - image->bias - SHINY_PATCH_EXPECTED ||
		    e[i].recipe.expected_bytes > SHINY_PATCH_EXPECTED) {
			si_text_add(why, "it makes no sense");
			return false;
		}
	return true;
}

static size_t length_of(const char *text, size_t room)
{
	size_t n = 0;

	while (n < room && text[n])
		n++;
	return n;
}

/* The name of an entry's function. */
static void blame(const struct shiny_allocator_file *f, const struct shiny_allocator_entry *e,
		  struct si_text *why)
{
	if (functions[e->function].name[0] != '_') /* operators have no prefix */
		si_text_bytes(why, f->families[e->family],
			      length_of(f->families[e->family], SHINY_ALLOCATOR_PREFIX));
	si_text_add(why, functions[e->function].name);
}

static bool prepare_one(struct si_patches *patches, const struct shiny_allocator_entry *e,
			unsigned n, struct si_text *why)
{
	const struct inner_function *function = &functions[e->function];
	struct inner_family *family = &families[e->home];
	struct own *o = &own[n];

	if (function->kind == USABLE) {
		if (!e->recipe.expected_bytes ||
		    !si_same((const char *)patches->bias + e->recipe.vaddr,
			     (const char *)e->recipe.expected, e->recipe.expected_bytes)) {
			si_text_add(why, "its code in memory is not that of the file");
			return false;
		}
		family->usable = (own_fn *)(patches->bias + e->recipe.vaddr);
		return true;
	}
	*o = (struct own){ .family = family,
			   .release = hooks[n].release,
			   .block = function->block,
			   .size = function->size,
			   .count = function->count,
			   .api = function->api };
	if (e->either)
		o->api = function->kind == END ? SHINY_API_EITHER_FREE : SHINY_API_EITHER_ALLOC;
	o->function =
		si_patch_add(patches, &e->recipe, (void *)hooks[n].of_kind[function->kind], why);
	if (e->function == SHINY_ALLOCATOR_MALLOC && e->home == e->family)
		family->make = o->function;
	if (e->function == SHINY_ALLOCATOR_FREE && e->home == e->family)
		family->end = o->function;
	return o->function != NULL;
}

static bool prepare(struct si_patches *patches, const struct shiny_allocator_file *f,
		    struct si_text *why)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	struct si_text reason;
	char words[128];

	for (uint32_t i = 0; i < f->count; i++) {
		si_text_init(&reason, words, sizeof(words));
		if (prepare_one(patches, &e[i], i, &reason))
			continue;
		blame(f, &e[i], why);
		si_text_add(why, ": ");
		si_text_add(why, words);
		return false;
	}
	for (uint32_t i = 0; i < f->count; i++)
		if (!families[e[i].home].make || !families[e[i].home].end) {
			si_text_add(why, "it has no malloc, or no free");
			return false;
		}
	return true;
}

static bool attach(const struct si_main_image *image, const struct shiny_allocator_file *f,
		   struct si_text *text)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);
	static struct si_patches patches;
	struct dl_find_object ours;

	if (!si_patch_begin(&patches, image->bias, image->start, image->end, f->count, text))
		return false;
	if (!prepare(&patches, f, text)) {
		si_patch_abandon(&patches);
		return false;
	}
	if (_dl_find_object(&si_settings, &ours) != 0) {
		si_patch_abandon(&patches);
		si_text_add(text, "the loader does not know this library");
		return false;
	}
	main_start = image->start;
	main_bytes = image->end - image->start;
	our_start = (uintptr_t)ours.dlfo_map_start;
	our_bytes = (uintptr_t)ours.dlfo_map_end - our_start;
	for (uint32_t i = 0; i < f->count; i++)
		if (!families[e[i].home].usable)
			si_settings.types = 0;
	if (!si_patch_commit(&patches, text))
		return false;
	si_text_number(text, patches.count);
	si_text_add(text, " functions of the program's own allocator patched:");
	for (uint32_t i = 0; i < f->count; i++) {
		if (functions[e[i].function].kind == USABLE)
			continue;
		si_text_add(text, " ");
		blame(f, &e[i], text);
	}
	return true;
}

bool si_allocator_attach(char *const *environment, struct si_text *text)
{
	struct si_main_image image;
	struct shiny_allocator_file *f;
	char words[SHINY_TEXT];
	struct si_text why;
	bool done = false;
	long n;
	int fd;

	if (si_same(si_env.allocator, "off", 4))
		return false;
	si_main_image(&image);
	si_text_init(&why, words, sizeof(words));
	fd = si_probe_open(environment, image.build_id, image.build_id_bytes,
			   SHINY_ALLOCATOR_SUFFIX, &why);
	if (fd == -ENOENT)
		return false;
	f = fd >= 0 ? si_sys_map(SHINY_ALLOCATOR_FILE_MAX + 1, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1)
		    : NULL;
	if (f) {
		n = si_sys(SYS_read, fd, f, SHINY_ALLOCATOR_FILE_MAX + 1);
		if (makes_sense(f, n, &image, &why)) {
			si_text_init(&why, words, sizeof(words));
			if (f->count)
				done = attach(&image, f, &why);
			else
				si_text_bytes(&why, f->why, length_of(f->why, sizeof(f->why)));
		}
		si_sys_unmap(f, SHINY_ALLOCATOR_FILE_MAX + 1);
	}
	if (fd >= 0)
		si_sys_close(fd);
	if (!done && why.used)
		si_text_add(text, "; the program's own allocator is not patched: ");
	else if (done)
		si_text_add(text, text->used ? "; " : "");
	si_text_add(text, words);
	return done;
}
