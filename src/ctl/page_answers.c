/* SPDX-License-Identifier: Apache-2.0 */
/* page_answers.c: see page_answers.h. */
#include "page_answers.h"

#include "answers_json.h"
#include "pages_json.h"

enum { LEAST_STEPS = 4 }; /* as growth's --least-steps */

struct shiny_err *page_answers_load(struct store *store, const struct filter *filter,
				    bool full_names, bool progress, struct page_answers *out)
{
	struct page_answers a = { 0 };
	struct shiny_err *err =
		diagnose_know(store, filter, true, full_names, progress, &a.known);

	if (!err)
		err = diagnose_load(store, filter, &a.known, full_names, progress, &a.diagnoses);
	if (!err)
		err = growth_load(store, filter, NULL, LEAST_STEPS, progress, &a.growth);
	if (!err)
		err = memory_load(store, filter, MEMORY_LAST, 0, &a.memory);
	if (err)
		page_answers_deinit(&a);
	else
		*out = a;
	return err;
}

void page_answers_deinit(struct page_answers *a)
{
	diagnose_deinit(&a->diagnoses);
	diagnose_forget(&a->known);
	growth_deinit(&a->growth);
	memory_deinit(&a->memory);
}

/* Of each run five numbers: pages between it and the run before, its pages, live bytes of each, the
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

static size_t at_most(size_t count)
{
	return count < PAGE_ANSWER_ROWS ? count : PAGE_ANSWER_ROWS;
}

void page_answers_put(const void *answers, struct json *json)
{
	const struct page_answers *a = answers;

	json_object(json, "pages");
	json_pages(json, &a->known.pages, PAGES_UNDER, PAGE_ANSWER_ROWS, false);
	json_end(json);
	put_maps(json, &a->known.pages);
	json_object(json, "growth");
	json_growth(json, &a->growth, at_most(a->growth.count));
	json_number(json, "count", a->growth.count);
	json_end(json);
	json_object(json, "leaks");
	json_leaks(json, &a->known.leaks, at_most(a->known.leaks.count));
	json_number(json, "count", a->known.leaks.count);
	json_end(json);
	json_object(json, "diagnose");
	json_diagnoses(json, &a->diagnoses);
	json_end(json);
	json_object(json, "memory");
	json_memory(json, &a->memory);
	json_end(json);
}
