/* SPDX-License-Identifier: Apache-2.0 */
/* page_answers.c: see page_answers.h. */
#include "page_answers.h"

#include "../../analysis/replay/replay_together.h"
#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../store/contents.h"

enum { LEAST_STEPS = 4 }; /* as growth's --least-steps */
static const enum retained_by groupings[RETAINED_BYS] = { RETAINED_BY_TYPE, RETAINED_BY_SITE,
							  RETAINED_BY_MEMBER, RETAINED_BY_COMPONENT,
							  RETAINED_BY_ROOT };
static const char *const grouping_names[RETAINED_BYS] = { /* words of --by */
							  [RETAINED_BY_TYPE] = "type",
							  [RETAINED_BY_SITE] = "site",
							  [RETAINED_BY_MEMBER] = "member",
							  [RETAINED_BY_COMPONENT] = "component",
							  [RETAINED_BY_ROOT] = "root"
};

struct answering {
	struct store *store;
	const struct filter *filter;
	bool full_names, progress;
	struct page_answers *answers;
};

static struct shiny_err *load_diagnoses(void *context)
{
	const struct answering *a = context;

	unsigned flags = DIAGNOSE_HISTORY | (a->full_names ? DIAGNOSE_FULL_NAMES : 0) |
			 (a->progress ? DIAGNOSE_PROGRESS : 0);

	return diagnose_load(a->store, a->filter, flags, &a->answers->known,
			     &a->answers->diagnoses);
}

static struct shiny_err *load_growth(void *context)
{
	const struct answering *a = context;

	return growth_load(a->store, a->filter, NULL, LEAST_STEPS, a->progress,
			   &a->answers->growth);
}

struct shiny_err *page_answers_load(struct store *store, const struct filter *filter,
				    bool full_names, bool progress, struct page_answers *out)
{
	SHINY_CLEANUP(page_answers_deinit) struct page_answers a = { 0 };
	struct answering answering = { store, filter, full_names, progress, &a };
	const struct replay_task tasks[] = { { load_diagnoses, &answering },
					     { load_growth, &answering } };

	SHINY_TRY(replay_together(tasks, sizeof(tasks) / sizeof(*tasks)));
	SHINY_TRY(memory_load(store, filter, MEMORY_LAST, 0, &a.memory));
	SHINY_TRY(contents_sample(store, &a.sample, NULL));
	SHINY_TRY(heap_graph_any(store, filter, &a.has_snapshot));
	a.has_snapshot = a.has_snapshot && !a.sample;
	if (a.has_snapshot)
		SHINY_TRY(retained_load(store, filter, 0, groupings, RETAINED_BYS, full_names,
					a.retained));
	*out = shiny_steal(a);
	return NULL;
}

void page_answers_deinit(struct page_answers *a)
{
	diagnose_deinit(&a->diagnoses);
	diagnose_forget(&a->known);
	growth_deinit(&a->growth);
	memory_deinit(&a->memory);
	for (int by = 0; by < RETAINED_BYS; by++)
		retained_deinit(&a->retained[by]);
}

/* Puts five numbers for each run: pages since the run before, its pages, live bytes on each, the
 * set of fates, whether it is pinned. */
static void put_map(struct json *json, const struct pages_process *p)
{
	uint64_t end = 0;

	json_object(json, NULL);
	json_number(json, "id", p->id);
	json_array_line(json, "runs");
	for (size_t i = 0; i < p->run_count; i++) {
		const struct page_run *run = &p->runs[i];

		json_number(json, NULL, run->page - end);
		json_number(json, NULL, run->count);
		json_number(json, NULL, run->bytes);
		json_number(json, NULL, run->fates);
		json_number(json, NULL, run->pinned);
		end = run->page + run->count;
	}
	json_end(json);
	json_end(json);
}

static void put_maps(struct json *json, const struct pages *pages)
{
	size_t left = PAGE_MAP_RUNS;

	json_array(json, "page_maps");
	for (size_t i = 0; i < pages->count && pages->processes[i].run_count <= left; i++) {
		put_map(json, &pages->processes[i]);
		left -= pages->processes[i].run_count;
	}
	json_end(json);
}

/* Puts an answer as an object; `counted`: with the number of all rows. */
static struct shiny_err *put(struct json *json, const char *key, const struct field *fields,
			     const void *result, bool counted)
{
	const struct answer answer = { .fields = fields,
				       .result = result,
				       .limit = PAGE_ANSWER_ROWS };

	json_object(json, key);
	SHINY_TRY(answer_json(&answer, json));
	if (counted)
		json_number(json, "count", answer_count(&answer, "rows"));
	json_end(json);
	return NULL;
}

static struct shiny_err *put_retained(struct json *json, const struct retained *retained)
{
	json_object(json, "retained");
	for (int i = 0; i < RETAINED_BYS; i++)
		SHINY_TRY(put(json, grouping_names[groupings[i]], retained_fields, &retained[i],
			      true));
	json_end(json);
	return NULL;
}

struct shiny_err *page_answers_put(const void *answers, struct json *json)
{
	const struct page_answers *a = answers;

	if (!a->sample) {
		SHINY_TRY(put(json, "pages", pages_fields, &a->known.pages, false));
		put_maps(json, &a->known.pages);
		SHINY_TRY(put(json, "growth", growth_fields, &a->growth, true));
		SHINY_TRY(put(json, "diagnose", diagnose_fields, &a->diagnoses, false));
	}
	SHINY_TRY(put(json, "leaks", leaks_fields, &a->known.leaks, true));
	SHINY_TRY(put(json, "memory", memory_fields, &a->memory, false));
	return a->has_snapshot ? put_retained(json, a->retained) : NULL;
}
