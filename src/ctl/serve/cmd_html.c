/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_html.c: `shinyctl html`: a session, or two compared, as a page for a browser. */
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "compare_page.h"
#include "../verb_body.h"
#include "../output_file.h"
#include "../pair.h"
#include "session_page.h"

/* Returns --out, else the (newer) session's name with .html for .shiny. */
static char *path_of(const struct ctl *ctl)
{
	const char *file = ctl->options.operands[ctl->options.operand_count - 1];
	size_t length = strlen(file), suffix = strlen(".shiny");

	if (ctl->options.given[OPT_OUTPUT])
		return mem_text(ctl->options.text[OPT_OUTPUT]);
	if (length > suffix && strcmp(file + length - suffix, ".shiny") == 0)
		length -= suffix;
	return mem_format("%.*s.html", (int)length, file);
}

static struct shiny_err *write_page(struct ctl *ctl, struct store *store,
				    const struct filter *filter, const char *path, uint64_t *size)
{
	struct session_page page = { .store = store,
				     .filter = filter,
				     .path = ctl->options.operands[0],
				     .most_samples = ctl->options.number[OPT_STACKS_MOST],
				     .full_names = ctl->options.given[OPT_FULL_NAMES],
				     .progress = true };
	struct session_page_data data;
	struct output_file file = { 0 };
	struct shiny_err *err;

	SHINY_TRY(session_page_load(&page, &data));
	err = output_file_open(path, ctl->options.given[OPT_FORCE], &file);
	if (!err) {
		err = session_page_write(&page, &data, file.out);
		*size = (uint64_t)ftell(file.out);
		err = output_file_close(&file, err);
	}
	session_page_deinit(&data);
	return err;
}

static void say_written(struct ctl *ctl, const char *path, uint64_t size)
{
	AUTO_FREE char *shown = text_plain(path);

	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_text(&ctl->json, "file", path);
		json_number(&ctl->json, "bytes", size);
	} else {
		fprintf(ctl->style.out, "%s: %s\n", shown, units_bytes(UNITS_BUF, size));
	}
}

static struct shiny_err *write_compared(struct ctl *ctl, const struct session_pair *pair,
					const char *path, uint64_t *size)
{
	const struct compare_page page = {
		.stores = { pair->stores[0], pair->stores[1] },
		.filters = pair->filters,
		.paths = { ctl->options.operands[0], ctl->options.operands[1] },
		.full_names = ctl->options.given[OPT_FULL_NAMES],
		.progress = true
	};
	struct output_file file = { 0 };
	struct shiny_err *err;

	SHINY_TRY(output_file_open(path, ctl->options.given[OPT_FORCE], &file));
	err = compare_page_write(&page, file.out);
	*size = (uint64_t)ftell(file.out);
	return output_file_close(&file, err);
}

/* Writes the page of two sessions, with the results of `diff`. */
static struct shiny_err *compare(struct ctl *ctl, const char *path)
{
	struct session_pair pair = { 0 };
	uint64_t size = 0;
	struct shiny_err *err =
		pair_open(ctl, ctl->options.operands[0], ctl->options.operands[1], &pair);

	if (!err)
		err = write_compared(ctl, &pair, path, &size);
	if (!err) {
		say_written(ctl, path, size);
		if (CTL_JSON(ctl))
			json_end(&ctl->json);
	}
	pair_close(&pair);
	return err;
}

static struct shiny_err *cmd_html(struct ctl *ctl)
{
	AUTO_FREE char *path = path_of(ctl);
	struct store *store;
	struct filter filter = { 0 };
	uint64_t size = 0;
	struct shiny_err *err;

	if (ctl->options.operand_count > 1)
		return compare(ctl, path);
	err = ctl_begin(ctl, &store, &filter);
	if (!err)
		err = ctl_loaded(store, &filter, write_page(ctl, store, &filter, path, &size));
	if (err)
		return err;
	say_written(ctl, path, size);
	return ctl_end(ctl, store, NULL);
}

const struct verb_body verb_html = { .run = cmd_html };
