/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_functions.c: see source_functions.h.
 *
 * In Chromium 156, 23,561 functions name one .cc file and none names two; so a function with two is
 * none: its bounds are wrong, or another file's code was inlined into it. Link-time optimization
 * does the latter, and it does not show in a function that names only the other file: of
 * glslangValidator with LTO, 40 of 372 functions name two files, and 28 of 72 calls that allocate
 * in the others had a wrong one. Without LTO hardly a function names two (nine other builds: none;
 * Chromium: one of 25,756). So above one in 100 all files are in doubt.
 *
 * A name is that of the function or of one inlined into it. The latter shows if a function has
 * several names, or if one line of source is in several functions: these get no name. The other
 * names of a file are wrong about as often as inlining shows (ninja by clang: shows in 7 % of
 * functions, 4 % of the other names wrong; with LTO 29 and 20 %; cppcheck by gcc 18 and 17 %). So
 * above one in eight no function gets a name (Chromium 156: 9.4 %). Then the file of a repeated
 * line is in doubt, too: link-time optimization inlines other files' code.
 *
 * Only `lea PATH(%rip)` counts: programs that are not position-independent name no paths here. A
 * reference further than 2 KB from an address says nothing about it: the bounds between the two are
 * less sure.
 */
#include "source_functions.h"

#include <stdlib.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"
#include "../flow/flow_code.h"
#include "../names/function_start.h"
#include "../probe/probe_sweep.h"
#include "source_names.h"

enum { NEAR = 2048, REFERENCES_MAX = 1 << 20, LEA_BYTES = 7 };
enum { SEVERAL_SHARE = 8 }; /* one of so many functions with a name may have several */
enum { FILES_SHARE = 100 }; /* one of so many functions with a file may have several */
#define SEVERAL SOURCE_UNSURE /* marks functions with several names, or a name that others share */

/* An instruction that names a path. */
struct source_reference {
	uint64_t code, path;
};

/* Finds of the sweep's threads. */
struct source_search {
	VEC(struct source_reference) found[SWEEP_WORKERS];
};

static bool take(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct source_search *search = context;

	*vec_push(&search->found[worker]) = (struct source_reference){ vaddr, address };
	return search->found[worker].count < REFERENCES_MAX;
}

ORDER_BY(by_code, struct source_reference, ORDER_UP(code))

/* Adds the function around a reference, or the reference to the last function. */
static void add(struct source_functions *functions, const struct flow_code *code,
		const struct source_reference *reference)
{
	struct source_function *last = functions->all.count
					       ? &functions->all.at[functions->all.count - 1]
					       : NULL;
	uint64_t low, high;

	if (last && reference->code < last->high) {
		if (last->path != reference->path)
			last->path = 0;
		return;
	}
	/* function_part() needs an instruction's last byte */
	if (!function_part(code, reference->code + LEA_BYTES - 1, &low, &high))
		return;
	if (low + NEAR < reference->code)
		low = reference->code - NEAR;
	if (last && low < last->high)
		low = last->high;
	*vec_push(&functions->all) = (struct source_function){ low, high, reference->path, 0 };
}

/* Adds an anchor if the reference is to a name. False: it isn't. */
static bool add_anchor(struct source_functions *functions, const struct source_texts *texts,
		       const struct source_reference *reference)
{
	size_t i = lower_bound(texts->names.count, k, texts->names.at[k] < reference->path);

	if (i == texts->names.count || texts->names.at[i] != reference->path)
		return false;
	*vec_push(&functions->anchors) =
		(struct source_anchor){ reference->code, reference->path };
	return true;
}

/* Finds the instructions that name a path or a name. */
static bool sweep(const struct flow_code *code, const struct source_texts *texts,
		  struct source_search *search)
{
	VEC(uint64_t) wanted = { 0 };
	bool whole = true;

	for (size_t i = 0; i < texts->paths.count; i++)
		*vec_push(&wanted) = texts->paths.at[i];
	for (size_t i = 0; i < texts->names.count; i++)
		*vec_push(&wanted) = texts->names.at[i];
	if (texts->paths.count) {
		qsort(wanted.at, wanted.count, sizeof(*wanted.at), order_numbers);
		whole = sweep_code(&(struct probe_sweep){
			.file = code->file,
			.form = SWEEP_ADDRESS,
			.low = wanted.at[0],
			.high = wanted.at[wanted.count - 1] + 1,
			.only = wanted.at,
			.only_count = wanted.count,
			.place = take,
			.context = search });
	}
	free(wanted.at);
	return whole;
}

/* Removes unsure names: the compiler inlined code of named functions into others, and where nothing
 * shows it, a similar share is wrong. */
static void doubt(struct source_functions *functions, const struct source_namings *namings)
{
	size_t named = 0, several = 0;
	bool names;

	for (size_t i = 0; i < functions->all.count; i++) {
		named += functions->all.at[i].name != 0;
		several += functions->all.at[i].name == SEVERAL;
	}
	names = several <= 1 + named / SEVERAL_SHARE;
	functions->inlined = !names;
	for (size_t i = 0; i < functions->all.count; i++)
		if (!names || functions->all.at[i].name == SEVERAL)
			functions->all.at[i].name = 0;
	for (size_t i = 0; i < namings->all.count && !names; i++)
		if (namings->all.at[i].repeated)
			functions->all.at[namings->all.at[i].function].name = SOURCE_UNSURE;
}

/* Names the functions that pass on one name beside their path. */
static void name(struct source_functions *functions, const struct flow_code *code)
{
	struct source_namings namings = { .all = { 0 } };

	for (uint32_t i = 0; i < functions->all.count; i++) {
		const struct source_function *f = &functions->all.at[i];

		if (f->path)
			source_namings_add(&namings, code, i, f->low, f->high, f->path);
	}
	source_namings_judge(&namings, code->file);
	for (size_t i = 0; i < namings.all.count; i++) {
		const struct source_naming *naming = &namings.all.at[i];
		uint64_t *text = &functions->all.at[naming->function].name;

		if (naming->proven)
			*text = !naming->repeated && (!*text || *text == naming->text)
					? naming->text
					: SEVERAL;
	}
	doubt(functions, &namings);
	source_namings_deinit(&namings);
}

bool source_functions_find(const struct flow_code *code, const struct source_texts *texts,
			   struct source_functions *out)
{
	struct source_search search = { .found = { { 0 } } };
	VEC(struct source_reference) all = { 0 };
	bool whole;

	*out = (struct source_functions){ .all = { 0 } };
	whole = sweep(code, texts, &search);
	for (size_t i = 0; i < SWEEP_WORKERS; i++) {
		for (size_t k = 0; k < search.found[i].count; k++)
			*vec_push(&all) = search.found[i].at[k];
		free(search.found[i].at);
	}
	if (whole && all.count) {
		qsort(all.at, all.count, sizeof(*all.at), by_code);
		for (size_t i = 0; i < all.count; i++)
			if (!add_anchor(out, texts, &all.at[i]))
				add(out, code, &all.at[i]);
		name(out, code);
	}
	free(all.at);
	return whole;
}

void source_functions_deinit(struct source_functions *functions)
{
	free(functions->all.at);
	free(functions->anchors.at);
	free(functions->titles.at);
}

bool source_functions_mixed(const struct source_functions *functions)
{
	size_t several = 0;

	for (size_t i = 0; i < functions->all.count; i++)
		several += !functions->all.at[i].path;
	return several > 1 + functions->all.count / FILES_SHARE;
}

static const struct source_function *part_at(const struct source_function *all, size_t count,
					     uint64_t vaddr)
{
	size_t i = lower_bound(count, k, all[k].high <= vaddr);

	return i < count && all[i].low <= vaddr ? &all[i] : NULL;
}

const struct source_function *source_functions_at(const struct source_functions *functions,
						  uint64_t vaddr)
{
	return part_at(functions->all.at, functions->all.count, vaddr);
}

const struct source_function *source_titles_at(const struct source_functions *functions,
					       uint64_t vaddr)
{
	return part_at(functions->titles.at, functions->titles.count, vaddr);
}
