/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers.h"

#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"

/* A function that passes the block on, at some depth of a stack; one for each known size of its
 * blocks. */
struct wrapper_use {
	uint32_t module;
	uint64_t function; /* start of the function */
	uint32_t stack, frame;
	uint64_t caller, size;
};

struct wrapper_search {
	const struct people *people;
	struct output *output;
	struct sym_module *const *modules;
	uint64_t *functions; /* by frame index: start of its function + 1; 0: unknown */
	uint8_t *passes;     /* by frame index: enum sym_passes + 1; 0: unknown */
	bool *serves;	     /* by frame index: its function is a wrapper with many callers */
	bool *wrapper;	     /* by frame index: its row is written */
	VEC(struct wrapper_use) uses;
};

static struct sym_call call_of(const struct wrapper_search *w, uint32_t frame)
{
	const struct id_place *place = &w->output->ids.frames.at[frame];

	return (struct sym_call){ place->module ? w->modules[place->module] : NULL, place->vaddr };
}

/* Returns the start of the frame's function; if unknown, the return address, which tells callers
 * apart as well. */
static uint64_t function_of(struct wrapper_search *w, uint32_t frame)
{
	struct sym_call call = call_of(w, frame);
	uint64_t low;

	if (!w->functions[frame])
		w->functions[frame] = (sym_call_function(&call, &low) ? low : call.vaddr) + 1;
	return w->functions[frame] - 1;
}

static enum sym_passes passes_of(struct wrapper_search *w, uint32_t frame)
{
	struct sym_call call = call_of(w, frame);

	if (!w->passes[frame])
		w->passes[frame] = (uint8_t)(sym_call_passes(&call) + 1);
	return (enum sym_passes)(w->passes[frame] - 1);
}

/* True if the frame passes the block on. `copied`: an inner frame filled it with a copy; then only
 * a function that does nothing else may pass it on. */
static bool hands_on(struct wrapper_search *w, uint32_t frame, bool *copied)
{
	enum sym_passes passes = passes_of(w, frame);

	if (passes == SYM_PASSES_NOT || (*copied && !(passes & SYM_PASSES_ALONE)))
		return false;
	*copied |= (passes & SYM_PASSES_COPY) != 0;
	return true;
}

/* Finds the stack's frame at `depth`, and whether it passes the block on; false: there is none, or
 * an inner frame does not pass the block on. */
static bool frame_at(struct wrapper_search *w, uint32_t stack, unsigned depth, uint32_t *frame,
		     bool *passing)
{
	const struct ids *ids = &w->output->ids;
	const struct id_stack *s = &ids->stacks.at[stack - 1];
	bool copied = false;

	if (depth + 1 >= s->count) /* the outermost function has no caller to pass the block to */
		return false;
	for (unsigned i = 0; i < depth; i++)
		if (!hands_on(w, ids->stack_frames.at[s->first + i] - 1, &copied))
			return false;
	*frame = ids->stack_frames.at[s->first + depth] - 1;
	if (!ids->frames.at[*frame].module)
		return false;
	*passing = hands_on(w, *frame, &copied);
	return true;
}

/* Adds a use for each size of the site. */
static void add_uses(struct wrapper_search *w, const struct site_stats *site, unsigned depth)
{
	const struct ids *ids = &w->output->ids;
	struct wrapper_use use = { .stack = site->stack };
	uint32_t caller;
	bool passing;

	if (!frame_at(w, site->stack, depth, &use.frame, &passing) || !passing)
		return;
	caller = ids->stack_frames.at[ids->stacks.at[site->stack - 1].first + depth + 1] - 1;
	use.module = ids->frames.at[use.frame].module;
	use.function = function_of(w, use.frame);
	use.caller = function_of(w, caller);
	for (const struct tally *s = site->stats; s; s = s->next) {
		use.size = s->min_size;
		*vec_push(&w->uses) = use;
		if (s->max_size == s->min_size)
			continue;
		use.size = s->max_size;
		*vec_push(&w->uses) = use;
	}
}

static void collect(struct wrapper_search *w, unsigned depth)
{
	w->uses.count = 0;
	for (uint32_t p = 0; p < w->people->all.count; p++) {
		const struct stats *stats = &w->people->all.at[p]->stats;

		for (uint32_t i = 0; i < stats->sites.count; i++) {
			const struct site_stats *site = &stats->sites.at[i];

			if (site->stack && site->stats && site->api != SHINY_API_COLLECTED)
				add_uses(w, site, depth);
		}
	}
}

ORDER_BY(by_function, struct wrapper_use, ORDER_UP(module) ?: ORDER_UP(function) ?: ORDER_UP(frame))

/* Sorts the numbers and counts different ones, up to `enough`. */
static size_t different(uint64_t *numbers, size_t count, size_t enough)
{
	size_t found = count != 0;

	qsort(numbers, count, sizeof(*numbers), order_numbers);
	for (size_t i = 1; i < count && found < enough; i++)
		found += numbers[i] != numbers[i - 1];
	return found;
}

/* True if many functions call it, for many sizes. */
static bool is_busy(const struct wrapper_use *uses, size_t count)
{
	uint64_t *numbers = mem_zero(count, sizeof(*numbers));
	bool busy;

	for (size_t i = 0; i < count; i++)
		numbers[i] = uses[i].caller;
	busy = different(numbers, count, WRAPPER_CALLERS) >= WRAPPER_CALLERS;
	for (size_t i = 0; i < count; i++)
		numbers[i] = uses[i].size;
	busy = busy && different(numbers, count, WRAPPER_SIZES) >= WRAPPER_SIZES;
	free(numbers);
	return busy;
}

/* Judges one function by its uses: only those that pass the block on, as it may allocate for
 * itself, too. */
static void judge(struct wrapper_search *w, const struct wrapper_use *uses, size_t count)
{
	bool busy = is_busy(uses, count);

	for (size_t i = 0; i < count; i++)
		w->serves[uses[i].frame] |=
			busy || passes_of(w, uses[i].frame) & SYM_PASSES_DECLARED;
}

/* Writes the wrappers of a stack: of the frames that pass the block on, those up to the outermost
 * one that serves many. So a function that only a wrapper calls is one, too. */
static void mark(struct wrapper_search *w, uint32_t stack)
{
	const struct ids *ids = &w->output->ids;
	uint32_t frame, outermost = 0;
	bool passing;

	for (unsigned depth = 0;
	     depth < WRAPPER_DEPTH && frame_at(w, stack, depth, &frame, &passing) && passing;
	     depth++)
		if (w->serves[frame])
			outermost = depth + 1;
	for (unsigned depth = 0; depth < outermost; depth++) {
		frame = ids->stack_frames.at[ids->stacks.at[stack - 1].first + depth] - 1;
		if (w->wrapper[frame])
			continue;
		w->wrapper[frame] = true;
		OUTPUT_PUT(w->output, store_put_wrapper, frame + 1);
	}
}

/* Writes the wrappers that the user's rules name. */
static void put_names(struct output *output, const struct sym *sym)
{
	const char *name;

	for (size_t i = 0; !output->err && (name = sym_wrapper_rule(sym, i)); i++)
		OUTPUT_PUT(output, store_put_boring, name);
}

void wrappers_find(const struct people *people, struct output *output, const struct sym *sym,
		   struct sym_module *const *modules)
{
	size_t frames = output->ids.frames.count + 1;
	struct wrapper_search w = { .people = people,
				    .output = output,
				    .modules = modules,
				    .functions = mem_zero(frames, sizeof(*w.functions)),
				    .passes = mem_zero(frames, sizeof(*w.passes)),
				    .serves = mem_zero(frames, sizeof(*w.serves)),
				    .wrapper = mem_zero(frames, sizeof(*w.wrapper)) };

	for (unsigned depth = 0; depth < WRAPPER_DEPTH && (!depth || w.uses.count); depth++) {
		collect(&w, depth);
		if (w.uses.count)
			qsort(w.uses.at, w.uses.count, sizeof(*w.uses.at), by_function);
		for (size_t i = 0, next; i < w.uses.count; i = next) {
			for (next = i + 1; next < w.uses.count &&
					   w.uses.at[next].module == w.uses.at[i].module &&
					   w.uses.at[next].function == w.uses.at[i].function;)
				next++;
			judge(&w, &w.uses.at[i], next - i);
		}
	}
	for (uint32_t i = 1; i <= output->ids.stacks.count; i++)
		mark(&w, i);
	put_names(output, sym);
	free(w.functions);
	free(w.passes);
	free(w.serves);
	free(w.wrapper);
	free(w.uses.at);
}
