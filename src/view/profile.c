/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c: see profile.h.
 *
 * Frames are many times fewer than stacks, and names fewer than frames: each frame's functions are
 * read and named once, and a stack is a list of numbers from then on.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/query/type_name.h"
#include "../analysis/time/peak.h"
#include "../base/cleanup.h"

enum {
	PART = 6,	  /* frames in a row of tables stack and stack_tail */
	PATH_MOST = 4096, /* frames of a stack */
};

typedef uint32_t profile_part[PART + 1]; /* frames; the tail */

static struct shiny_err *read_frames(struct profile *p, struct store *store)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store,
					    "SELECT frame, label, source, line, module, vaddr "
					    "FROM v_frames ORDER BY frame, depth",
					    &q);

	p->frame_limit = store_ids(store, "frame");
	p->frames = mem_zero(p->frame_limit + 1, sizeof(*p->frames));
	while (!err && !(err = query_step(q, &row)) && row) {
		uint32_t id = query_id(q, 0, p->frame_limit);
		struct profile_frame *frame = &p->frames[id];

		if (!frame->count)
			*frame = (struct profile_frame){
				.first = (uint32_t)p->lines.count,
				.module = query_id(q, 4, store_ids(store, "module")),
				.vaddr = (uint64_t)query_number(q, 5) };
		frame->count++;
		*vec_push(&p->lines) = (struct profile_line){
			.frame = id,
			.function = texts_put(&p->texts, query_text(q, 1)),
			.file = texts_put(&p->texts, query_text(q, 2)),
			.line = (uint32_t)query_number(q, 3) };
	}
	query_end(q);
	return err;
}

static struct shiny_err *read_parts(struct profile *p, struct store *store, const char *table,
				    profile_part **out, size_t limit)
{
	struct query *q = NULL;
	bool row = false, tails = strcmp(table, "stack_tail") == 0;
	size_t tail_limit = store_ids(store, "stack_tail");
	profile_part *parts = mem_zero(limit + 1, sizeof(*parts));
	struct shiny_err *err = query_format(store, &q,
					     "SELECT id, frame0, frame1, frame2, frame3, frame4, "
					     "frame5, tail FROM %s",
					     table);

	while (!err && !(err = query_step(q, &row)) && row) {
		uint32_t id = query_id(q, 0, limit);

		for (int i = 0; id && i < PART; i++)
			parts[id][i] = query_id(q, 1 + i, p->frame_limit);
		/* a tail's own tail has a lower id: whatever a file holds, a walk ends */
		if (id)
			parts[id][PART] = query_id(q, 1 + PART, tails ? id : tail_limit);
	}
	query_end(q);
	*out = parts;
	return err;
}

static void add_part(struct profile *p, struct profile_stack *stack, const profile_part part)
{
	for (int i = 0; i < PART && stack->count < PATH_MOST; i++) {
		if (!part[i])
			continue;
		*vec_push(&p->path) = part[i];
		stack->count++;
	}
}

static struct shiny_err *read_stacks(struct profile *p, struct store *store)
{
	AUTO_FREE profile_part *heads = NULL;
	AUTO_FREE profile_part *tails = NULL;

	p->stack_limit = store_ids(store, "stack");
	p->stacks = mem_zero(p->stack_limit + 1, sizeof(*p->stacks));
	SHINY_TRY(read_parts(p, store, "stack", &heads, p->stack_limit));
	SHINY_TRY(read_parts(p, store, "stack_tail", &tails, store_ids(store, "stack_tail")));
	for (size_t id = 1; id < p->stack_limit; id++) {
		struct profile_stack *stack = &p->stacks[id];

		stack->first = p->path.count;
		add_part(p, stack, heads[id]);
		for (uint32_t tail = heads[id][PART]; tail && stack->count < PATH_MOST;
		     tail = tails[tail][PART])
			add_part(p, stack, tails[tail]);
	}
	return NULL;
}

static struct shiny_err *read_types(struct profile *p, struct store *store, bool full)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(
		store, "SELECT id, name, container, form, confidence, or_derived FROM type", &q);

	p->type_limit = store_ids(store, "type");
	p->types = mem_zero(p->type_limit + 1, sizeof(*p->types));
	p->types[0] = texts_put(&p->texts, "(no type)");
	while (!err && !(err = query_step(q, &row)) && row) {
		uint32_t id = query_id(q, 0, p->type_limit);
		char *name = type_name_block(&(struct type_text){
			.type = query_text(q, 1),
			.container = query_is_null(q, 2) ? NULL : query_text(q, 2),
			.form = query_text(q, 3),
			.confidence = query_text(q, 4),
			.derived = query_number(q, 5) != 0,
			.full = full });

		if (id)
			p->types[id] = texts_put(&p->texts, name);
		free(name);
	}
	query_end(q);
	return err;
}

static struct shiny_err *read_sums(struct profile *p, struct store *store,
				   const struct filter *filter, const struct groups *groups)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT s.process, s.stack, s.type, " SUMS_SQL " FROM stat s WHERE %s "
		"GROUP BY s.process, s.stack, s.type",
		filter_blocks(filter));

	p->sample_count = groups->count - 1;
	p->samples = mem_zero(groups->count, sizeof(*p->samples));
	for (size_t i = 0; i < p->sample_count; i++) {
		p->samples[i].process = groups->keys[i].process;
		p->samples[i].stack = groups->keys[i].stack;
		p->samples[i].type = groups->keys[i].type;
	}
	while (!err && !(err = query_step(q, &row)) && row) {
		uint32_t group = groups_find_sample(
			groups, &(struct group_key){ query_id(q, 0, store_ids(store, "process")),
						     query_id(q, 1, p->stack_limit),
						     query_id(q, 2, p->type_limit) });
		struct sums sums;

		sums_read(&sums, q, 3);
		sums_add(&p->total, &sums);
		if (group)
			sums_add(&p->samples[group - 1].sums, &sums);
	}
	query_end(q);
	return err;
}

static struct shiny_err *read_peak(struct profile *p, struct store *store,
				   const struct filter *filter, struct groups *groups,
				   bool progress)
{
	struct peaks peaks = { 0 };
	const struct peak *peak;
	struct shiny_err *err = peak_load(store, filter, groups, 0, progress, &peaks);

	if (err)
		return err;
	peak = peaks.count ? &peaks.peaks[peaks.highest] : NULL;
	for (size_t i = 0; peak && i < peak->count; i++) {
		uint32_t group = peak->rows[i].group;

		if (!group)
			continue;
		p->samples[group - 1].peak = peak->rows[i].blocks;
		p->samples[group - 1].peak_bytes = peak->rows[i].bytes;
	}
	if (peak) {
		p->peak = peak->blocks;
		p->peak_bytes = peak->bytes;
		p->peak_time = peak->time;
	}
	peak_deinit(&peaks);
	return NULL;
}

struct shiny_err *profile_load(struct store *store, const struct filter *filter, unsigned flags,
			       struct profile *out)
{
	struct profile p = { 0 };
	struct groups groups = { 0 };
	struct shiny_err *err = groups_load(store, GROUP_SAMPLE, false, &groups);

	if (!err)
		err = session_duration(store, &p.duration);
	if (!err)
		err = read_frames(&p, store);
	if (!err)
		err = read_stacks(&p, store);
	if (!err)
		err = read_types(&p, store, flags & PROFILE_FULL_NAMES);
	if (!err)
		err = read_sums(&p, store, filter, &groups);
	if (!err && flags & PROFILE_PEAK)
		err = read_peak(&p, store, filter, &groups, flags & PROFILE_PROGRESS);
	groups_deinit(&groups);
	if (err) {
		profile_deinit(&p);
		return err;
	}
	*out = p;
	return NULL;
}

void profile_deinit(struct profile *p)
{
	texts_deinit(&p->texts);
	free(p->lines.at);
	free(p->path.at);
	free(p->frames);
	free(p->stacks);
	free(p->samples);
	free(p->types);
	*p = (struct profile){ 0 };
}

uint64_t profile_weight(const struct profile_sample *sample, enum profile_measure measure)
{
	return measure == MEASURE_LIVE	  ? sample->sums.live_bytes
	       : measure == MEASURE_BYTES  ? sample->sums.bytes
	       : measure == MEASURE_ALLOCS ? sample->sums.allocs
					   : sample->peak_bytes;
}

uint64_t profile_total(const struct profile *p, enum profile_measure measure)
{
	return measure == MEASURE_LIVE	  ? p->total.live_bytes
	       : measure == MEASURE_BYTES  ? p->total.bytes
	       : measure == MEASURE_ALLOCS ? p->total.allocs
					   : p->peak_bytes;
}

void profile_walk(const struct profile *p, uint32_t stack, struct profile_walk *out)
{
	const struct profile_stack *s = &p->stacks[stack];

	out->count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct profile_frame *frame = &p->frames[p->path.at[s->first + i]];

		for (uint32_t k = 0; k < frame->count; k++)
			*vec_push(out) = frame->first + k;
	}
}

struct shiny_err *profile_command(struct store *store, char **command, uint32_t *pid)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		store_query(store, "SELECT command, pid FROM process ORDER BY id LIMIT 1", &q);

	if (!err && !(err = query_step(q, &row)) && row) {
		*command = mem_text(query_text(q, 0));
		*pid = (uint32_t)query_number(q, 1);
	} else if (!err) {
		*command = mem_text("");
	}
	query_end(q);
	return err;
}
