/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c: `shinyctl export`: a session as a file of another program. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../../view/export.h"
#include "../ctl.h"
#include "../output_file.h"

static struct shiny_err *check_options(const struct ctl *ctl, const struct export_form *form)
{
	const bool *given = ctl->options.given;

	if (given[OPT_EXPORT_MEASURE] && !form->measure)
		return shiny_err(SHINY_ERR_USAGE,
				 "export: --measure is for --to folded: %s holds all measures",
				 form->name);
	if (given[OPT_TABLE_NAME] && !form->table)
		return shiny_err(SHINY_ERR_USAGE, "export: --table is for --to csv and jsonl");
	if (form->table && (given[OPT_PROCESS] || given[OPT_TAG]))
		return shiny_err(SHINY_ERR_USAGE, "export: --to %s: a table is exported whole, "
						  "without --process and --tag",
				 form->name);
	if (CTL_JSON(ctl) && !given[OPT_OUTPUT])
		return shiny_err(SHINY_ERR_USAGE, "export: --json prints what was written, and "
						  "needs --out FILE");
	if (form->binary && !given[OPT_OUTPUT] && isatty(STDOUT_FILENO))
		return shiny_err(SHINY_ERR_USAGE, "export: %s is binary: --out FILE, or a pipe",
				 form->name);
	return NULL;
}

static struct shiny_err *write_form(struct ctl *ctl, struct store *store,
				    const struct filter *filter, const struct export_form *form,
				    struct profile *profile)
{
	const struct options *options = &ctl->options;
	AUTO_FREE char *command = NULL;
	struct export_job job = {
		.store = store,
		.filter = filter,
		.profile = form->profile ? profile : NULL,
		.measure = (enum profile_measure)options->number[OPT_EXPORT_MEASURE],
		.table = options->given[OPT_TABLE_NAME] ? options->text[OPT_TABLE_NAME] : "types",
		.progress = true,
		.out = stdout,
	};
	unsigned flags = PROFILE_PROGRESS;
	struct output_file file = { 0 };
	struct shiny_err *err;

	if (form->peak || (form->measure && job.measure == MEASURE_PEAK))
		flags |= PROFILE_PEAK;
	if (options->given[OPT_FULL_NAMES])
		flags |= PROFILE_FULL_NAMES;
	SHINY_TRY(profile_command(store, &command, &job.pid));
	job.command = command;
	if (form->profile)
		SHINY_TRY(profile_load(store, filter, flags, profile));
	if (!options->given[OPT_OUTPUT])
		return form->write(&job);
	SHINY_TRY(output_file_open(options->text[OPT_OUTPUT], options->given[OPT_FORCE], &file));
	job.out = file.out;
	err = form->write(&job);
	return output_file_close(&file, err);
}

static void json_export(struct ctl *ctl, const struct export_form *form,
			const struct profile *profile)
{
	ctl_document(ctl);
	json_text(&ctl->json, "format", form->name);
	json_text(&ctl->json, "file", ctl->options.text[OPT_OUTPUT]);
	if (!form->profile)
		return;
	json_object_line(&ctl->json, "total");
	json_sums(&ctl->json, &profile->total);
	json_end(&ctl->json);
}

struct shiny_err *cmd_export(struct ctl *ctl)
{
	/* options.def lists them in the order of export_forms */
	const struct export_form *form = &export_forms[ctl->options.number[OPT_TO]];
	struct store *store;
	struct filter filter = { 0 };
	struct profile profile = { 0 };
	struct shiny_err *err = NULL;

	if (!ctl->options.given[OPT_TO])
		err = shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "export: --to FORMAT is missing"),
				       "formats: %s", option_specs[OPT_TO].allowed);
	if (!err)
		err = check_options(ctl, form);
	if (!err)
		err = ctl_begin(ctl, &store, &filter);
	if (err)
		return err;
	err = ctl_loaded(store, &filter, write_form(ctl, store, &filter, form, &profile));
	if (!err) {
		if (CTL_JSON(ctl))
			json_export(ctl, form, &profile);
		else
			ctl->style.out = stderr; /* standard output is the file */
		err = ctl_end(ctl, store, NULL);
	}
	profile_deinit(&profile);
	return err;
}
