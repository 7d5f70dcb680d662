/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c: checks a new stack, and defines it in the stream.
 *
 * Problem. Code without frame pointers uses rbp for anything, so the frames of a walk by frame
 * pointers are true up to some frame and rubbish beyond. Rubbish that differs each time would also
 * make every event miss the cache, and write a definition. Rows (unwind.c) are right, but cost a
 * lookup for each frame, and Chromium keeps frame pointers.
 *
 * Approach. The cache's key is the hash of the frames as walked. The immediate caller's row says
 * whether it keeps a frame pointer; if so, frame pointers are followed, unless they have led astray
 * from there before. On a miss of the cache the rows of all addresses are looked up. If all keep a
 * frame pointer, the frame pointers' stack is right, also whenever it recurs. If not, or if a row
 * is missing, the stack is walked by rows; if that gives other frames, the caller is marked, so
 * that later walks from there use rows at once. Sixteen look-ups of rows do not wait for each
 * other; the steps of a walk by rows do. With 150,000 different stacks, each met three times
 * (bench_stacks), an event took 59 ns instead of 74.
 *
 * With SHINY_UNWIND=fp there are no rows: on a miss, each frame must lie in a module's code, and
 * follow a call instruction where the bytes may be read (in modules that were there at boot and so
 * cannot be unloaded under us); the stack is cut at the first that doesn't, and the cut stack
 * looked up in turn. When the cut comes right after the immediate caller, that caller keeps no
 * frame pointer: it is remembered, and later walks from it stop at once. The immediate caller
 * itself is the hook's own return address and always true, also in code that no module holds (a
 * JIT).
 *
 * A walk that would read the same words as an earlier one is not made at all (stack_memo.h); this
 * comment is about the others.
 *
 * Four ways of 4,096 sets, in a stream that writes much: clang at -O2 has 3,909 distinct stacks,
 * and with two ways of as many sets defined 23,792 (each conflict is a definition whenever its two
 * stacks alternate). Chromium's browser process has 150,000 in its first second, seen about three
 * times each: no cache of a bearable size helps there.
 *
 * A definition contains only new frames: consecutive stacks share most of their outer frames, but
 * the window of `depth` frames moves with the depth of the innermost call. So a definition omits
 * the run of outer frames that the stack has in common with the previous one of the chunk. Measured
 * on one Chromium page: 1.75 million records of 215,464 definitions became 0.69 million.
 *
 * A cache slot's number is the id; a slot that is taken over by another stack gives the id a new
 * meaning from there on in the stream.
 *
 * Rejected: remembering how many frames held per immediate caller (one caller without frame
 * pointers deep down would cut everybody's stacks through a common wrapper); reading code bytes of
 * any module (dlclose on another thread can unmap them between the check and the read).
 */
#include "stack.h"

#include "../record/process.h"

static uint32_t believable(const uintptr_t *frames, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		enum si_code code = si_module_code(frames[i]);

		if (code == SI_CODE_NONE || (code == SI_CODE_LASTING && !si_after_call(frames[i])))
			return i;
	}
	return count;
}

static bool all_known(const uintptr_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (si_module_code(frames[i]) == SI_CODE_NONE)
			return false;
	return true;
}

/* The frames that `frames` and the last definition share: `kept` frames from frames[inner] and
 * w->frames[skip] on. */
struct shared {
	uint32_t inner, skip, kept;
};

/* Finds the common run that ends with frames[i] and w->frames[j]; stores it if it is longer than
 * `best`. */
static void share_to(const struct si_writer *w, const uintptr_t *frames, uint32_t i, uint32_t j,
		     struct shared *best)
{
	uint32_t n = 0;

	while (n <= i && n <= j && frames[i - n] == w->frames[j - n])
		n++;
	if (n > best->kept)
		*best = (struct shared){ i + 1 - n, j + 1 - n, n };
}

/* Two stacks of a thread share their outermost calls: the shared run extends to the end of at least
 * one of the two windows. */
static struct shared share(const struct si_writer *w, const uintptr_t *frames, uint32_t count)
{
	struct shared best = { 0, 0, 0 };

	if (!w->defined)
		return best;
	for (uint32_t j = w->defined; j-- > best.kept;)
		share_to(w, frames, count - 1, j, &best);
	for (uint32_t i = count; i-- > best.kept;)
		share_to(w, frames, i, w->defined - 1, &best);
	return best;
}

/* Returns how many frames of a walk by frame pointers are believable without rows. If only the
 * first is, marks the immediate caller. */
static uint32_t check_pointers(struct si_writer *w, const uintptr_t *frames, uint32_t count)
{
	uint32_t good;

	if (__atomic_load_n(&si_modules_suspect, __ATOMIC_RELAXED) && !all_known(frames, count))
		si_modules_update((const uintptr_t *)w->busy, w);
	good = believable(frames, count);
	if (good < count) {
		si_count(SHINY_COUNT_STACKS_TRUNCATED);
		if (good == 1)
			si_row_doubt(frames[0], si_modules_generation, SI_ROW(SI_ROW_STOP, 0, 0));
	}
	return good;
}

/*
 * True if each row takes the same step as the frame pointers did, so that a walk by rows would find
 * the same stack. A step over undescribed code agrees, where the address that it leads to is known.
 */
static bool rows_agree(const uintptr_t *fp, uint32_t depth, const uintptr_t *frames, uint32_t count)
{
	uint64_t generation = __atomic_load_n(&si_modules_generation, __ATOMIC_ACQUIRE);

	if (count < depth)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t row = si_row_of(frames[i], generation);
		const uintptr_t *next = (const uintptr_t *)si_stack_word(fp);

		if (row != SI_ROW_FP &&
		    (SI_ROW_KIND(row) != SI_ROW_BARE || !si_is_bare_code(frames[i])))
			return false;
		if (i > 0 && si_is_bare_code(frames[i]) && !si_after_call(frames[i]))
			return false;
		/* a walk by rows reads the words of a frame above those of the frame inside it */
		if (i + 1 < count && next < fp + 2)
			return false;
		fp = next;
	}
	return true;
}

/* Walks the stack by rows, into `frames`. A caller whose frame pointers led to other frames is
 * marked for rows. `walked` describes this walk; it is cached now only if the walk before it
 * assumed rows; otherwise the mark makes it recur, and it is cached then. */
static uint32_t check_rows(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
			   uintptr_t *frames, uint32_t count, struct si_walked *walked, bool *same)
{
	bool assumed = walked->assumed;
	uint64_t hash = XXH3_64bits(frames, count * sizeof(*frames));
	uint32_t good = si_unwind_walk(w, fp, depth, frames, walked, false);
	uint64_t generation = __atomic_load_n(&si_modules_generation, __ATOMIC_RELAXED);

	if (walked->cut)
		si_count(SHINY_COUNT_STACKS_TRUNCATED);
	/* as in the cache, equal hashes mean equal stacks */
	*same = good == count && XXH3_64bits(frames, good * sizeof(*frames)) == hash;
	if (!*same && si_row_find(frames[0], generation) == SI_ROW_FP)
		si_row_doubt(frames[0], generation, SI_ROW_FP | SI_ROW_MIXED);
	walked->unnoted |= !assumed;
	return good;
}

/* Returns how many of `frames` are true; *same: all of them, and there are no others. */
static uint32_t check(struct si_writer *w, const uintptr_t *fp, uint32_t depth, uintptr_t *frames,
		      uint32_t count, struct si_walked *walked, bool *same)
{
	uint32_t good;

	if (depth == 1 || si_settings.unwind == SI_UNWIND_FP ||
	    si_settings.unwind == SI_UNWIND_CALLER) {
		good = check_pointers(w, frames, count);
		*same = good == count;
		walked->unnoted |= !*same;
		return good;
	}
	if (walked->exact && walked->cut)
		si_count(SHINY_COUNT_STACKS_TRUNCATED);
	*same = walked->exact || rows_agree(fp, depth, frames, count);
	return *same ? count : check_rows(w, fp, depth, frames, count, walked, same);
}

uint32_t si_stack_define(struct si_writer *w, const uintptr_t *fp, uint32_t depth,
			 uintptr_t *frames, uint32_t count, struct si_walked *walked, uint64_t now)
{
	uint32_t good, records, set, way, id, n = 0;
	bool same;
	struct shiny_record *payload;
	struct shared like;
	uint64_t key, *word;

	good = check(w, fp, depth, frames, count, walked, &same);
	if (!same) {
		id = si_stack_find(w, si_stack_key(w, frames, good));
		if (id)
			return id;
	}
	/* first make room for everything: that may bring a new chunk and a new salt */
	payload = si_run(w, (good + 1) / 2, now);
	if (!payload)
		return 0;
	key = si_stack_key(w, frames, good);
	like = share(w, frames, good);
	/* a handler that leaves by longjmp meanwhile leaves no half-written frames behind */
	w->defined = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	word = &payload->w0;
	for (uint32_t i = 0; i < good; i++) {
		if (i < like.inner || i >= like.inner + like.kept)
			word[n++] = frames[i];
		w->frames[i] = frames[i];
	}
	records = (n + 1) / 2;
	if (n % 2)
		word[n] = 0;
	set = (uint32_t)(key & w->cache_mask) * SI_CACHE_WAYS;
	for (way = 0; way < SI_CACHE_WAYS && w->cache[set + way] != 0; way++)
		;
	if (way == SI_CACHE_WAYS) {
		way = (uint32_t)(key >> 62);
		si_stack_memo_void(w, set / SI_CACHE_WAYS);
	}
	id = set + way + 1;
	/* the slot is empty while its definition is written: a handler that leaves by longjmp must
	 * not leave a wrong one */
	w->cache[set + way] = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (like.kept)
		si_run_publish(w, SHINY_REC_STACK_LIKE, 0,
			       SHINY_LIKE(good, like.inner, like.skip, like.kept), id, records,
			       now);
	else
		si_run_publish(w, SHINY_REC_STACK, 0, good, id, records, now);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->defined = good;
	w->cache[set + way] = key;
	return id;
}
