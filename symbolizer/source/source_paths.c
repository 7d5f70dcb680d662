/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_paths.c: see source_paths.h.
 *
 * __FILE__ of a .cc file is in functions of that file alone: its name is written where the macro
 * stands, and functions with different strings are never folded. (Paths of headers say less: their
 * functions are copied into every file that uses them. They are left out, and so are C files,
 * which libraries without symbols share with each other.) In Chromium 156, 23,561 functions name
 * one .cc file and none names two; so a function with two is none: its bounds were not found.
 *
 * Neighbours without a path are not given one here. Between two functions of one file lie templates
 * and inline functions of headers, too, which others call.
 *
 * A reference further than 2 KB from an address is not looked at, to be quick about the others.
 * Only `lea PATH(%rip)` counts: programs that are not position-independent name no paths here.
 *
 * The search takes what a pass over the file's bytes takes: 0.3 s of processor time for 300 MB.
 */
#include "source_paths.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/mem.h"
#include "../flow/flow_code.h"
#include "../names/function_start.h"
#include "../probe/probe_sweep.h"

enum { PATH_MIN = 6, PATH_MAX = 512, NEAR = 2048 };

/* An instruction that names a path. */
struct path_reference {
	uint64_t code, path;
};
struct source_paths {
	const struct binary *file;
	VEC(struct path_reference) all; /* by address of the code */
};

/* One search: the paths' addresses, and what each thread of the sweep finds. */
struct path_search {
	VEC(uint64_t) paths; /* rising */
	VEC(struct path_reference) found[SWEEP_WORKERS];
};

/* ---- the strings ---- */

static bool is_path_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '/' || c == '.' || c == '_' || c == '-' || c == '+';
}

static bool is_source(const uint8_t *text, size_t length)
{
	static const char *const endings[] = { ".cc", ".cpp", ".cxx" };

	if (length < PATH_MIN || !memchr(text, '/', length))
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t bytes = strlen(endings[i]);

		if (length > bytes && !memcmp(text + length - bytes, endings[i], bytes))
			return true;
	}
	return false;
}

/* Each string of the segment that is all a path. */
static void find_paths(struct path_search *search, const struct binary *file,
		       const Elf64_Phdr *segment)
{
	uint64_t bytes = binary_room(file, segment->p_vaddr);
	const uint8_t *data = binary_at(file, segment->p_vaddr, bytes), *at = data,
		      *end = data ? data + bytes : NULL;

	/* every path has a dot, and few other bytes are one */
	while (at && at < end && (at = memchr(at, '.', (size_t)(end - at)))) {
		const uint8_t *first = at, *last = at;

		while (first > data && is_path_byte(first[-1]) && at - first < PATH_MAX)
			first--;
		while (last < end && is_path_byte(*last) && last - at < PATH_MAX)
			last++;
		if (last < end && !*last && (first == data || !first[-1]) &&
		    is_source(first, (size_t)(last - first)))
			*vec_push(&search->paths) = segment->p_vaddr + (uint64_t)(first - data);
		at = last > at ? last : at + 1;
	}
}

/* ---- the code that names them ---- */

static bool take(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct path_search *search = context;

	*vec_push(&search->found[worker]) = (struct path_reference){ vaddr, address };
	return true;
}

static int by_code(const void *left, const void *right)
{
	const struct path_reference *a = left, *b = right;

	return (a->code > b->code) - (a->code < b->code);
}

struct source_paths *source_paths_find(const struct binary *file)
{
	struct path_search search = { .paths = { 0 } };
	struct source_paths *out = mem_zero(1, sizeof(*out));

	out->file = file;
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].p_type == PT_LOAD &&
		    !(file->segments[i].p_flags & (PF_W | PF_X)))
			find_paths(&search, file, &file->segments[i]);
	if (search.paths.count)
		sweep_code(&(struct probe_sweep){
			.file = file,
			.form = SWEEP_ADDRESS,
			.low = search.paths.at[0],
			.high = search.paths.at[search.paths.count - 1] + 1,
			.only = search.paths.at,
			.only_count = search.paths.count,
			.place = take,
			.context = &search });
	for (size_t i = 0; i < SWEEP_WORKERS; i++) {
		for (size_t k = 0; k < search.found[i].count; k++)
			*vec_push(&out->all) = search.found[i].at[k];
		free(search.found[i].at);
	}
	free(search.paths.at);
	if (!out->all.count) {
		source_paths_free(out);
		return NULL;
	}
	qsort(out->all.at, out->all.count, sizeof(*out->all.at), by_code);
	return out;
}

void source_paths_free(struct source_paths *paths)
{
	if (!paths)
		return;
	free(paths->all.at);
	free(paths);
}

/* ---- questions ---- */

const char *source_paths_at(const struct source_paths *paths, const struct flow_code *code,
			    uint64_t vaddr)
{
	uint64_t low, high, path = 0;
	size_t i;

	/* most code is far from any reference: that is cheaper to see than a function's bounds */
	i = lower_bound(paths->all.count, k, paths->all.at[k].code + NEAR < vaddr);
	if (i == paths->all.count || paths->all.at[i].code > vaddr + NEAR ||
	    !function_part(code, vaddr, &low, &high))
		return NULL;
	i = lower_bound(paths->all.count, k, paths->all.at[k].code < low);
	for (; i < paths->all.count && paths->all.at[i].code < high; i++) {
		if (path && paths->all.at[i].path != path)
			return NULL;
		path = paths->all.at[i].path;
	}
	return path ? binary_string(paths->file, path, PATH_MAX * 2) : NULL;
}
