/* SPDX-License-Identifier: Apache-2.0 */
/* session_page.c: see session_page.h. */
#include "session_page.h"

#include "../base/cleanup.h"
#include "../base/text.h"

struct shiny_err *session_page_load(const struct session_page *page, struct profile *profile)
{
	unsigned flags = PROFILE_PEAK | (page->progress ? PROFILE_PROGRESS : 0) |
			 (page->full_names ? PROFILE_FULL_NAMES : 0);

	*profile = (struct profile){ 0 };
	return profile_load(page->store, page->filter, flags, profile);
}

struct shiny_err *session_page_write(const struct session_page *page,
				     const struct profile *profile, FILE *out)
{
	AUTO_FREE char *command = NULL;
	AUTO_FREE char *name = text_plain(text_base(page->path));
	struct page_job job = { .store = page->store,
				.filter = page->filter,
				.profile = profile,
				.name = name,
				.most_samples = page->most_samples,
				.progress = page->progress,
				.out = out };
	uint32_t pid;

	SHINY_TRY(profile_command(page->store, &command, &pid));
	job.command = command;
	return page_write(&job);
}
