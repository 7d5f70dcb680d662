/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c: see sample.h. */
#include "sample.h"

#include <sys/mman.h>

#include <shiny/wire/sample_weight.h>

#include "../core/clock.h"
#include "../core/granule.h"
#include "../core/sys.h"
#include "nursery.h"
#include "probes.h"
#include "process.h"
#include "tag.h"
#include "thread.h"

#define SI_SAMPLED_ADDRESS ((UINT64_C(1) << SI_SAMPLED_API_SHIFT) - 1)

enum { LEVELS = 3, LEVEL_STEP = 6, LINES = 1 << SI_SAMPLED_BITS };
#define LINES_ALL ((size_t)LINES * (1 + (1 << LEVEL_STEP) + (1 << 2 * LEVEL_STEP)))

/* Oilpan's pages, by a hash of their numbers: how many drawn objects each has. */
enum { PAGE_SHIFT = 17, PAGES = 4096, OBJECT_STEP = 8 };

/* Bytes that a thread allocates until it reads the vptr of the block that it drew last. Its
 * constructor has ended by then, and in most cases it lives. */
enum { YOUNG = 65536 };

uint64_t si_sample_mean;
__thread struct si_sample si_sample __attribute__((tls_model("initial-exec")));
struct si_sampled_line *si_sampled;
static uint32_t pages[PAGES];
static const uint32_t *wanted; /* [ctl] the header's sample_level */

#define SEMAPHORE __attribute__((section(".probes")))
unsigned short otel_memory_alloc_semaphore SEMAPHORE, otel_memory_free_semaphore SEMAPHORE;

bool si_sample_make(uint64_t mean, struct shiny_header *header)
{
	if (!mean)
		return true;
	si_sampled = si_sys_map(LINES_ALL * sizeof(*si_sampled), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (!si_sampled)
		return false;
	header->own[2].start = (uintptr_t)si_sampled;
	header->own[2].end = (uintptr_t)(si_sampled + LINES_ALL);
	wanted = &header->sample_level;
	si_sample_mean = header->sample = mean;
	return true;
}

/* ---- points ---- */

static uint64_t random_bits(struct si_sample *s)
{
	/* S. Vigna's xorshift64*, 2014 */
	s->seed ^= s->seed >> 12;
	s->seed ^= s->seed << 25;
	s->seed ^= s->seed >> 27;
	return s->seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Returns a number in (0, 1]. */
static double random_part(struct si_sample *s)
{
	return ((double)(random_bits(s) >> 11) + 1) * 0x1p-53;
}

/* Returns the natural logarithm of x, which is normal, as ln 2 times its exponent and the series of
 * artanh of its fraction, from which 21 terms are missing that are below a double's precision. */
static double logarithm(double x)
{
	union {
		double real;
		uint64_t bits;
	} u = { x };
	int exponent = (int)(u.bits >> 52) - 1023;
	double part, square, sum = 0;

	u.bits = (u.bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	part = (u.real - 1) / (u.real + 1);
	square = part * part;
	for (int n = 41; n > 0; n -= 2)
		sum = sum * square + 1.0 / n;
	return exponent * 0.693147180559945309417 + 2 * part * sum;
}

static uint64_t mean_of(const struct si_sample *s)
{
	return shiny_sample_mean(si_sample_mean, s->level);
}

static uint64_t draw_distance(struct si_sample *s)
{
	s->seed ^= si_ticks() << 32; /* a forked child has its parent's seed */
	s->seed += !s->seed;
	return (uint64_t)(-logarithm(random_part(s)) * (double)mean_of(s));
}

/* Sets the way to a point `distance` bytes from here. A look comes within `mean` bytes, so that no
 * block of that size is missed. */
static void go(struct si_sample *s, uint64_t distance)
{
	uint64_t mean = mean_of(s), most = s->young && mean > YOUNG ? YOUNG : mean - 1;

	s->left = (int64_t)(distance < most ? distance : most);
	s->more = distance - (uint64_t)s->left;
}

static uint8_t level_wanted(void)
{
	uint32_t level = __atomic_load_n(wanted, __ATOMIC_RELAXED);

	return (uint8_t)(level < SHINY_LEVELS ? level : SHINY_LEVELS - 1);
}

/* Follows a change of the level, behind a block. */
static void follow_level(struct si_sample *s)
{
	uint8_t level = level_wanted();

	if (SI_LIKELY(level == s->level))
		return;
	s->level = level;
	go(s, draw_distance(s));
}

/* Moves on by a block whose last bytes, -left of them, lie beyond the look; true: a point lies in
 * them. */
static bool meets_point(struct si_sample *s, size_t size)
{
	uint64_t beyond = (uint64_t)-s->left;

	if (!s->seed) {
		s->seed = si_ticks() * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)s;
		s->level = level_wanted();
		s->more = draw_distance(s);
		beyond = size;
	}
	if (beyond <= s->more) {
		go(s, s->more - beyond);
		return false;
	}
	go(s, draw_distance(s));
	return true;
}

/* Draws a block at a look; true: it is in the sample, as the wire's
 * sample_weight.h says. */
static bool draw(struct si_sample *s, size_t size)
{
	bool met = meets_point(s, size);
	uint64_t mean = mean_of(s);

	return size >= mean ||
	       (met && random_part(s) * shiny_sample_chance(size, mean) *
				       (double)shiny_sample_weight(size, mean) <
			       1);
}

/* ---- the table ---- */

static struct si_sampled_line *line_of(unsigned level, uint64_t hash)
{
	struct si_sampled_line *first = si_sampled;

	for (unsigned i = 0; i < level; i++)
		first += (size_t)LINES << i * LEVEL_STEP;
	return &first[hash >> (64 - SI_SAMPLED_BITS - level * LEVEL_STEP)];
}

static bool exchange(uint64_t *word, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* True if the key is that of an object of the second level. */
static bool is_of_pool(uint64_t key)
{
	return SHINY_POOL_APIS >> (key >> SI_SAMPLED_API_SHIFT) & 1;
}

static bool enter_line(struct si_sampled_line *line, uint64_t key)
{
	for (unsigned i = 0; i < SI_SAMPLED_LANES; i++)
		if (!__atomic_load_n(&line->at[i], __ATOMIC_RELAXED) &&
		    exchange(&line->at[i], 0, key))
			return true;
	return false;
}

static void pass(uint64_t hash, unsigned levels, uint64_t count)
{
	for (unsigned level = 0; level < levels; level++)
		__atomic_fetch_add(&line_of(level, hash)->passed, count, __ATOMIC_RELAXED);
}

static bool enter(uint64_t key)
{
	uint64_t hash = si_sampled_hash(key);

	if (si_sample_find_slow(key, false))
		return true; /* a block that ended unseen */
	for (unsigned level = 0; level < LEVELS; level++) {
		/* first, so that no search ends too early */
		pass(hash, level, 1);
		if (enter_line(line_of(level, hash), key))
			return true;
		pass(hash, level, (uint64_t)-1);
	}
	return false;
}

bool si_sample_find_slow(uint64_t key, bool take)
{
	uint64_t hash = si_sampled_hash(key);

	for (unsigned level = 0; level < LEVELS; level++) {
		struct si_sampled_line *line = line_of(level, hash);

		for (unsigned i = 0; i < SI_SAMPLED_LANES; i++) {
			if (__atomic_load_n(&line->at[i], __ATOMIC_RELAXED) != key)
				continue;
			if (take && !exchange(&line->at[i], key, 0))
				return false; /* freed twice at the same moment */
			if (take)
				pass(hash, level, (uint64_t)-1);
			if (take && !is_of_pool(key))
				si_probe_free(key & SI_SAMPLED_ADDRESS);
			return true;
		}
		if (!__atomic_load_n(&line->passed, __ATOMIC_RELAXED))
			return false;
	}
	return false;
}

/* Removes the entries of these heaps, a bit each. */
static void drop(uint32_t apis)
{
	for (size_t n = 0; n < LINES_ALL; n++)
		for (unsigned i = 0; i < SI_SAMPLED_LANES; i++) {
			uint64_t key = __atomic_load_n(&si_sampled[n].at[i], __ATOMIC_RELAXED);

			if (apis >> (key >> SI_SAMPLED_API_SHIFT) & 1)
				si_sample_find_slow(key, true);
		}
}

/* ---- blocks ---- */

static uint32_t *page_of(uintptr_t address)
{
	uint64_t hash = (address >> PAGE_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);

	return &pages[hash >> 52];
}
_Static_assert(PAGES == 1 << (64 - 52), "a hash selects one of all");

/* Enters a block that was drawn; false: there is no room. */
static bool know(struct si_sample *s, uint64_t key, size_t size)
{
	if (!enter(key)) {
		drop(SHINY_POOL_APIS);
		if (!enter(key)) {
			si_count(SHINY_COUNT_SAMPLE_FULL);
			return false;
		}
	}
	if (!is_of_pool(key))
		si_probe_alloc(key & SI_SAMPLED_ADDRESS, size,
			       size * shiny_sample_weight(size, mean_of(s)));
	si_tag_level(__builtin_frame_address(0), s->level);
	s->last = key;
	s->last_bytes = size;
	s->young = true;
	go(s, (uint64_t)s->left + s->more);
	return true;
}

/* Reads the vptr of the block that this thread drew last. */
static void read_young(struct si_sample *s)
{
	const void *block = (const void *)(s->last & SI_SAMPLED_ADDRESS);
	struct si_writer *w;

	s->young = false;
	if (!si_nursery_has_block(block))
		return;
	w = si_enter(__builtin_frame_address(0));
	if (!w)
		return;
	si_nursery_settle(w, block);
	si_leave(w);
}

bool si_sample_drawn(const void *block, size_t size, enum shiny_api api)
{
	struct si_sample *s = &si_sample;

	bool drawn;

	size += !size;
	if (s->young)
		read_young(s);
	drawn = draw(s, size) && know(s, si_sampled_key(block, api), size);
	if (drawn && api == SHINY_API_COLLECTED)
		__atomic_fetch_add(page_of((uintptr_t)block), 1, __ATOMIC_RELAXED);
	follow_level(s);
	return drawn;
}

enum si_sample_move si_sample_move_slow(const void *block, size_t size, enum shiny_api api)
{
	struct si_sample *s = &si_sample;

	s->moving = si_sampled_key(block, api);
	s->move = si_sample_find(s->moving, true) ? SI_MOVE_ENDS : SI_MOVE_UNSEEN;
	size += !size;
	s->left -= (int64_t)size;
	if (s->left < 0 && draw(s, size))
		s->move |= SI_MOVE_BEGINS;
	return s->move;
}

enum si_sample_move si_sample_moved_slow(const void *block, size_t size)
{
	struct si_sample *s = &si_sample;
	unsigned move = s->move;

	s->move = SI_MOVE_UNSEEN;
	if (move & SI_MOVE_BEGINS &&
	    !know(s, (uintptr_t)block | (s->moving & ~SI_SAMPLED_ADDRESS), size))
		move &= ~(unsigned)SI_MOVE_BEGINS;
	follow_level(s);
	return move;
}

void si_sample_not_moved(void)
{
	struct si_sample *s = &si_sample;

	if (si_sample_mean && s->move & SI_MOVE_ENDS)
		know(s, s->moving, 0);
	s->move = SI_MOVE_UNSEEN;
}

bool si_sample_has_object(const void *object)
{
	const struct si_sample *s = &si_sample;
	uintptr_t start = s->last & SI_SAMPLED_ADDRESS;

	if (!si_sample_mean)
		return true;
	return (s->last && (uintptr_t)object - start < s->last_bytes &&
		si_sample_find(s->last, false)) ||
	       si_sample_find(si_sampled_key(object, SHINY_API_MALLOC), false);
}

bool si_sample_end_object(const void *object)
{
	if (!si_sample_mean)
		return true;
	if (!__atomic_load_n(page_of((uintptr_t)object), __ATOMIC_RELAXED) ||
	    !si_sample_find(si_sampled_key(object, SHINY_API_COLLECTED), true))
		return false;
	__atomic_fetch_sub(page_of((uintptr_t)object), 1, __ATOMIC_RELAXED);
	return true;
}

bool si_sample_sweep(const void *address, size_t bytes)
{
	uintptr_t from = ((uintptr_t)address + OBJECT_STEP - 1) & -(uintptr_t)OBJECT_STEP,
		  end = (uintptr_t)address + bytes;
	bool any = false;

	if (!si_sample_mean)
		return true;
	for (uintptr_t next; from < end; from = next) {
		next = (from >> PAGE_SHIFT << PAGE_SHIFT) + (1 << PAGE_SHIFT);
		if (!__atomic_load_n(page_of(from), __ATOMIC_RELAXED))
			continue;
		for (; from < next && from < end; from += OBJECT_STEP)
			any |= si_sample_end_object((const void *)from);
	}
	return any;
}

void si_sample_drop(enum shiny_api api)
{
	if (si_sample_mean)
		drop(UINT32_C(1) << api);
}

bool si_sample_move_object(const void *from, const void *to)
{
	if (!si_sample_mean)
		return true;
	if (!si_sample_end_object(from))
		return false;
	if (!enter(si_sampled_key(to, SHINY_API_COLLECTED)))
		si_count(SHINY_COUNT_SAMPLE_FULL);
	else
		__atomic_fetch_add(page_of((uintptr_t)to), 1, __ATOMIC_RELAXED);
	return true;
}
