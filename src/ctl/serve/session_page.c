/* SPDX-License-Identifier: Apache-2.0 */
/* session_page.c: see session_page.h. */
#include "session_page.h"

#include "../../analysis/replay/replay_together.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"

struct page_loading {
	const struct session_page *page;
	struct session_page_data *data;
};

static struct shiny_err *load_page(void *context)
{
	const struct page_loading *l = context;
	const struct page_job job = { .store = l->page->store,
				      .filter = l->page->filter,
				      .most_samples = l->page->most_samples,
				      .full_names = l->page->full_names,
				      .progress = l->page->progress };

	return page_load(&job, &l->data->page);
}

static struct shiny_err *load_answers(void *context)
{
	const struct page_loading *l = context;

	return page_answers_load(l->page->store, l->page->filter, l->page->full_names,
				 l->page->progress, &l->data->answers);
}

struct shiny_err *session_page_load(const struct session_page *page,
				    struct session_page_data *out)
{
	struct session_page_data data = { 0 };
	struct page_loading loading = { page, &data };
	const struct replay_task tasks[] = { { load_page, &loading }, { load_answers, &loading } };
	struct shiny_err *err = replay_together(tasks, page->brief ? 1 : 2);

	if (err) {
		session_page_deinit(&data);
		return err;
	}
	*out = data;
	return NULL;
}

void session_page_deinit(struct session_page_data *data)
{
	page_free(data->page);
	page_answers_deinit(&data->answers);
}

struct shiny_err *session_page_write(const struct session_page *page,
				     const struct session_page_data *data, FILE *out)
{
	AUTO_FREE char *command = NULL;
	AUTO_FREE char *name = text_plain(text_base(page->path));
	struct page_job job = { .store = page->store,
				.filter = page->filter,
				.name = name,
				.most_samples = page->most_samples,
				.progress = page->progress,
				.put_answers = page->brief ? NULL : page_answers_put,
				.answers = &data->answers,
				.out = out };
	uint32_t pid;

	SHINY_TRY(profile_command(page->store, &command, &pid));
	job.command = command;
	return page_write(&job, data->page);
}
