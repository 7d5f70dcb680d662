/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_answers.h: the results of other verbs in a page: `pages --at peak`, `growth`, `leaks`,
 * `diagnose`, `memory` and, if there is a heap snapshot, `retained`: their JSON, with at most
 * PAGE_ANSWER_ROWS rows of each list, and maps of the pages.
 *
 * Runs: CLI. Signals: no. Allocates: as diagnose.h, growth.h, memory.h and retained.h. Threads: one
 * a store.
 *
 * Cost: two passes over the events, which page.h shares (replay_together.h).
 */
#ifndef SHINY_PAGE_ANSWERS_H
#define SHINY_PAGE_ANSWERS_H

#include "../../analysis/diagnose.h"
#include "../../analysis/space/memory.h"
#include "../../analysis/time/growth.h"
#include "../../base/json.h"
#include "../../graph/retained.h"

/* PAGE_MAP_RUNS: most runs of pages in all maps together; smaller processes get no map. */
enum { PAGE_ANSWER_ROWS = 200, PAGE_MAP_RUNS = 100000 };

struct page_answers {
	struct diagnose_known known;
	struct diagnoses diagnoses;
	struct growth growth;
	struct memory_history memory;
	struct retained retained[RETAINED_BYS]; /* of the last snapshot */
	bool has_snapshot;
	uint64_t sample; /* mean of the sample, which does not tell all of these; 0: none */
};

SHINY_MUST_CHECK struct shiny_err *page_answers_load(struct store *store,
						     const struct filter *filter, bool full_names,
						     bool progress, struct page_answers *out);
void page_answers_deinit(struct page_answers *answers);

/* Puts the results into the open object; `answers`: a struct page_answers, for
 * page_job.put_answers. */
SHINY_MUST_CHECK struct shiny_err *page_answers_put(const void *answers, struct json *json);

#endif
