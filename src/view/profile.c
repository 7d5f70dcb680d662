/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/query/type_name.h"
#include "../analysis/time/peak.h"
#include "../analysis/totals/losses.h"
#include "../base/cleanup.h"
#include "../base/text.h"

static struct shiny_err *read_types(struct profile *p, struct store *store, bool full)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT id, name, container, form, confidence, or_derived FROM type", &q);

	p->type_limit = store_ids(store, "type");
	p->types = mem_zero(p->type_limit + 1, sizeof(*p->types));
	p->types[0] = texts_put(&p->code.texts, "(no type)");
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, p->type_limit);
		char *name = type_name_block(&(struct type_text){
			.type = query_text(q, 1),
			.container = query_is_null(q, 2) ? NULL : query_text(q, 2),
			.form = query_text(q, 3),
			.confidence = query_text(q, 4),
			.derived = query_number(q, 5) != 0,
			.full = full });

		if (id)
			p->types[id] = texts_put(&p->code.texts, name);
		free(name);
	}
	return err;
}

static struct shiny_err *read_sums(struct profile *p, struct store *store,
				   const struct filter *filter)
{
	const struct groups *groups = &p->groups;
	AUTO_QUERY struct query *q = NULL;
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
	QUERY_EACH (q, err) {
		uint32_t group = groups_find_sample(
			groups, &(struct group_key){ query_id(q, 0, store_ids(store, "process")),
						     query_id(q, 1, p->code.stack_limit),
						     query_id(q, 2, p->type_limit) });
		struct sums sums;

		sums_read(&sums, q, 3);
		sums_add(&p->total, &sums);
		if (group)
			sums_add(&p->samples[group - 1].sums, &sums);
	}
	return err;
}

static struct shiny_err *read_tagged_sums(struct profile *p, struct store *store,
					  const struct filter *filter)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT s.process, s.stack, s.type, s.tag, " SUMS_SQL " FROM stat s WHERE %s "
		"GROUP BY s.process, s.stack, s.type, s.tag",
		filter_blocks(filter));

	QUERY_EACH (q, err) {
		struct profile_sample *sample = rows_push(&p->samples, &p->sample_count,
							  &p->sample_room, sizeof(*sample));

		sample->process = query_id(q, 0, store_ids(store, "process"));
		sample->stack = query_id(q, 1, p->code.stack_limit);
		sample->type = query_id(q, 2, p->type_limit);
		sample->tag = query_id(q, 3, store_ids(store, "tag"));
		sums_read(&sample->sums, q, 4);
		sums_add(&p->total, &sample->sums);
	}
	return err;
}

static struct shiny_err *read_peak(struct profile *p, struct store *store,
				   const struct filter *filter, bool progress)
{
	struct peaks peaks = { 0 };
	const struct peak *peak;

	SHINY_TRY(peak_load_highest(store, filter, &p->groups, progress, &peaks));
	peak = peaks.count ? &peaks.peaks[peaks.highest] : NULL;
	for (size_t i = 0; peak && i < peak->count; i++) {
		uint32_t group = peak->rows[i].group;

		if (!group)
			continue;
		p->samples[group - 1].peak = peak->rows[i].there.blocks;
		p->samples[group - 1].peak_bytes = peak->rows[i].there.bytes;
	}
	if (peak) {
		p->at_peak = peak->there;
		p->peak_time = peak->time;
	}
	p->groups = peaks.groups; /* moved back from `peaks` */
	peaks.groups = (struct groups){ 0 };
	peak_deinit(&peaks);
	return NULL;
}

struct shiny_err *profile_load(struct store *store, struct store *sums,
			       const struct filter *filter, unsigned flags, struct profile *out)
{
	SHINY_CLEANUP(profile_deinit) struct profile p = { 0 };

	if (!(flags & PROFILE_TAGS))
		SHINY_TRY(groups_load(store, GROUP_SAMPLE, false, &p.groups));
	SHINY_TRY(session_duration(store, &p.duration));
	SHINY_TRY(stack_paths_load(store, &p.code));
	SHINY_TRY(read_types(&p, store, flags & PROFILE_FULL_NAMES));
	SHINY_TRY(flags & PROFILE_TAGS ? read_tagged_sums(&p, sums, filter)
				       : read_sums(&p, sums, filter));
	if (flags & PROFILE_PEAK)
		SHINY_TRY(read_peak(&p, store, filter, flags & PROFILE_PROGRESS));
	*out = shiny_steal(p);
	return NULL;
}

void profile_deinit(struct profile *p)
{
	stack_paths_deinit(&p->code);
	free(p->samples);
	free(p->types);
	groups_deinit(&p->groups);
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
					   : p->at_peak.bytes;
}

struct shiny_err *profile_loss(struct store *store, char **text)
{
	char words[LOSS_WORDS];
	struct losses losses = { 0 };

	SHINY_TRY(losses_load(store, &losses));
	*text = mem_format("%slost: %s",
			   losses.incomplete ? "the recording was not finished; " : "",
			   loss_words(&losses.sum, words));
	losses_deinit(&losses);
	return NULL;
}

struct shiny_err *profile_command(struct store *store, char **command, uint32_t *pid)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;

	SHINY_TRY(store_query(store, "SELECT command, pid FROM process ORDER BY id LIMIT 1", &q));
	SHINY_TRY(query_step(q, &row));
	*command = mem_text(row ? query_text(q, 0) : "");
	if (row)
		*pid = (uint32_t)query_number(q, 1);
	return NULL;
}

char *profile_service(const char *command)
{
	AUTO_FREE char *program = mem_format("%.*s", (int)strcspn(command, " "), command);

	return mem_text(text_base(program));
}
