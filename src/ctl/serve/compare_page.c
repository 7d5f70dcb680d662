/* SPDX-License-Identifier: Apache-2.0 */
#include "compare_page.h"

#include "../../analysis/compare/diff.h"
#include "../../analysis/replay/replay_together.h"
#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../view/page_compare.h"
#include "../../view/page_data.h"
#include "../../view/page_file.h"
#include "../ctl.h"

enum { COMPARE_NODES = 20000 };

static const struct { const char *key; enum breakdown_by by;
} tables[] = {
	{ "types", BREAKDOWN_TYPE },
	{ "sites", BREAKDOWN_SITE },
	{ "components", BREAKDOWN_COMPONENT },
};
enum { TABLES = sizeof(tables) / sizeof(*tables) };

/* ---- three diffs in shared passes ---- */

struct diff_task {
	const struct compare_page *page;
	const struct component_rules *rules;
	enum breakdown_by by;
	struct diff diff;
};

static struct shiny_err *load_diff(void *context)
{
	struct diff_task *task = context;
	const struct compare_page *page = task->page;

	return diff_load(page->stores, page->filters,
			 &(struct diff_request){
				 .by = task->by,
				 .rules = task->by == BREAKDOWN_COMPONENT ? task->rules : NULL,
				 .order = DIFF_LIVE,
				 .full_names = page->full_names,
				 .progress = page->progress },
			 &task->diff);
}

static struct shiny_err *load_diffs(const struct compare_page *page, struct diff_task *diffs)
{
	struct component_rules *rules = NULL;
	struct replay_task tasks[TABLES];
	struct shiny_err *err = component_rules_load(NULL, 0, &rules);

	for (size_t i = 0; i < TABLES; i++) {
		diffs[i] = (struct diff_task){
			.page = page, .rules = rules, .by = tables[i].by
		};
		tasks[i] = (struct replay_task){ load_diff, &diffs[i] };
	}
	if (!err)
		err = replay_together(tasks, TABLES);
	component_rules_free(rules);
	return err;
}

/* ---- the data ---- */

static struct shiny_err *put_session(struct json *json, const struct compare_page *page,
				     const struct diff *diff, int side)
{
	const struct diff_session *s = &diff->sessions[side];
	AUTO_FREE char *name = text_plain(text_base(page->paths[side]));
	AUTO_FREE char *command = NULL;
	uint32_t pid;
	struct shiny_err *err;

	SHINY_TRY(profile_command(page->stores[side], &command, &pid));
	json_object(json, side ? "new" : "base");
	json_text(json, "name", name);
	json_text(json, "command", command);
	json_number(json, "duration_ns", s->duration);
	json_number(json, "processes", s->processes);
	json_sums(json, &s->sums);
	json_number_or_null(json, "peak_bytes", s->peak_bytes, diff->timed);
	err = page_losses_put(json, page->stores[side]);
	json_end(json);
	return err;
}

static struct shiny_err *add_stacks(struct page_compare *stacks, const struct compare_page *page,
				    int side)
{
	struct profile profile;

	SHINY_TRY(profile_load(page->stores[side], page->stores[side], &page->filters[side],
			       page->full_names ? PROFILE_FULL_NAMES : 0, &profile));
	page_compare_add(stacks, &profile, side);
	profile_deinit(&profile);
	return NULL;
}

static struct shiny_err *put_stacks(struct json *json, const struct compare_page *page)
{
	SHINY_CLEANUP(page_compare_deinit) struct page_compare stacks = { 0 };

	SHINY_TRY(add_stacks(&stacks, page, 0));
	SHINY_TRY(add_stacks(&stacks, page, 1));
	json_object(json, "stacks");
	page_compare_put(&stacks, json, COMPARE_NODES);
	json_end(json);
	return NULL;
}

static struct shiny_err *put_data(struct json *json, const struct compare_page *page,
				  const struct diff_task *diffs)
{
	struct shiny_err *err;

	json_object(json, NULL);
	json_bool(json, "compared", true);
	json_text(json, "version", SHINY_VERSION_TEXT);
	err = put_session(json, page, &diffs[0].diff, 0);
	if (!err)
		err = put_session(json, page, &diffs[0].diff, 1);
	for (size_t i = 0; !err && i < TABLES; i++) {
		const struct diff *diff = &diffs[i].diff;

		json_object(json, tables[i].key);
		json_number(json, "different", diff->count);
		json_number(json, "same", diff->same);
		err = answer_json_list(&(struct answer){ .fields = diff_fields,
							 .result = diff,
							 .limit = COMPARE_ROWS },
				       "rows", json, "rows");
		json_end(json);
	}
	if (!err)
		err = put_stacks(json, page);
	json_end(json);
	return err;
}

struct shiny_err *compare_page_write(const struct compare_page *page, FILE *out)
{
	struct diff_task diffs[TABLES];
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	struct json json;
	struct shiny_err *err = load_diffs(page, diffs);

	if (!err) {
		FILE *memory = mem_stream_open(&text, &size);

		json_init(&json, memory);
		err = put_data(&json, page, diffs);
		mem_stream_close(memory);
	}
	if (!err)
		err = page_file_write(out, text, size);
	for (size_t i = 0; i < TABLES; i++)
		diff_deinit(&diffs[i].diff);
	return err;
}
