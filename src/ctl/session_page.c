/* SPDX-License-Identifier: Apache-2.0 */
/* session_page.c: see session_page.h. */
#include "session_page.h"

#include "../base/cleanup.h"
#include "../base/text.h"

struct shiny_err *session_page_load(const struct session_page *page,
				    struct session_page_data *out)
{
	unsigned flags = PROFILE_PEAK | (page->progress ? PROFILE_PROGRESS : 0) |
			 (page->full_names ? PROFILE_FULL_NAMES : 0);
	struct session_page_data data = { 0 };
	struct shiny_err *err = profile_load(page->store, page->filter, flags, &data.profile);

	if (err)
		return err;
	if (!page->brief)
		err = page_answers_load(page->store, page->filter, page->full_names,
					page->progress, &data.answers);
	if (err) {
		profile_deinit(&data.profile);
		return err;
	}
	*out = data;
	return NULL;
}

void session_page_deinit(struct session_page_data *data)
{
	profile_deinit(&data->profile);
	page_answers_deinit(&data->answers);
}

struct shiny_err *session_page_write(const struct session_page *page,
				     const struct session_page_data *data, FILE *out)
{
	AUTO_FREE char *command = NULL;
	AUTO_FREE char *name = text_plain(text_base(page->path));
	struct page_job job = { .store = page->store,
				.filter = page->filter,
				.profile = &data->profile,
				.name = name,
				.most_samples = page->most_samples,
				.progress = page->progress,
				.put_answers = page->brief ? NULL : page_answers_put,
				.answers = &data->answers,
				.out = out };
	uint32_t pid;

	SHINY_TRY(profile_command(page->store, &command, &pid));
	job.command = command;
	return page_write(&job);
}
