/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_export.c: `shinyctl export`: writes a session in another program's format. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../analysis/compare/subset.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../../view/export.h"
#include "../dimension.h"
#include "../verb_body.h"
#include "../output_file.h"
#include "../output_guard.h"

static bool is_events(const struct options *options)
{
	const char *table = options->text[OPT_TABLE_NAME];

	return table && strcmp(table, EXPORT_EVENTS) == 0;
}

static struct shiny_err *check_options(const struct ctl *ctl, const struct export_form *form)
{
	const bool *given = ctl->options.given;

	if (given[OPT_EXPORT_MEASURE] && !form->measure)
		return shiny_err(SHINY_ERR_USAGE,
				 "export: --measure is for --to folded and dot: %s holds all "
				 "measures",
				 form->name);
	if (form->tree && ctl->options.number[OPT_EXPORT_MEASURE] == MEASURE_PEAK)
		return shiny_err(SHINY_ERR_USAGE,
				 "export: --to %s: --measure live, bytes or allocs", form->name);
	if ((given[OPT_BY] || given[OPT_THRESHOLD]) && !form->tree)
		return shiny_err(SHINY_ERR_USAGE, "export: --by and --threshold are for --to dot");
	if (given[OPT_TABLE_NAME] && !form->table)
		return shiny_err(SHINY_ERR_USAGE, "export: --table is for --to csv and jsonl");
	if (form->table && (given[OPT_TAG] || (!is_events(&ctl->options) &&
					       (given[OPT_PROCESS] || given[OPT_HEAP] ||
						given[OPT_BETWEEN]))))
		return shiny_err(SHINY_ERR_USAGE, "export: --to %s: a table is exported whole; "
						  "of events, --process and --between select",
				 form->name);
	if (CTL_JSON(ctl) && !given[OPT_OUTPUT])
		return shiny_err(SHINY_ERR_USAGE, "export: --json prints what was written, and "
						  "needs --out FILE");
	if (form->binary && !given[OPT_OUTPUT] && isatty(STDOUT_FILENO))
		return shiny_err(SHINY_ERR_USAGE, "export: %s is binary: --out FILE, or a pipe",
				 form->name);
	return NULL;
}

static struct shiny_err *write_job(struct ctl *ctl, const struct export_form *form,
				   struct export_job *job)
{
	const struct options *options = &ctl->options;
	struct output_file file = { 0 };

	if (!options->given[OPT_OUTPUT] && !output_guard_hold(form->binary))
		return shiny_err_os(errno, "cannot make a place for the document");
	if (!options->given[OPT_OUTPUT])
		return form->write(job);
	SHINY_TRY(output_file_open(options->text[OPT_OUTPUT], options->given[OPT_FORCE], &file));
	job->out = file.out;
	return output_file_close(&file, form->write(job));
}

static struct shiny_err *write_form(struct ctl *ctl, struct store *store,
				    const struct filter *filter, const struct export_form *form,
				    struct profile *profile)
{
	const struct options *options = &ctl->options;
	AUTO_FREE char *command = NULL, *loss = NULL;
	struct export_job job = {
		.store = store,
		.filter = filter,
		.profile = form->profile ? profile : NULL,
		.measure = (enum profile_measure)options->number[OPT_EXPORT_MEASURE],
		.table = options->given[OPT_TABLE_NAME] ? options->text[OPT_TABLE_NAME] : "types",
		.by = dimension_group(options->by),
		.labels = { .kinds = LABELS_ALL },
		.threshold = (double)options->number[OPT_THRESHOLD] / 1e6,
		.full_names = options->given[OPT_FULL_NAMES],
		.progress = true,
		.out = ctl->style.out,
	};
	unsigned flags = PROFILE_PROGRESS;
	struct store *sums = NULL;
	struct shiny_err *err = NULL;

	if (form->peak || (form->measure && job.measure == MEASURE_PEAK))
		flags |= PROFILE_PEAK;
	if (options->given[OPT_FULL_NAMES])
		flags |= PROFILE_FULL_NAMES;
	if (form->labels)
		flags |= PROFILE_TAGS;
	if (form->each)
		SHINY_TRY(verb_body_whole(ctl, store, "the list of all blocks"));
	SHINY_TRY(profile_command(store, &command, &job.pid));
	job.command = command;
	SHINY_TRY(profile_loss(store, &loss));
	job.loss = loss;
	if ((form->profile || form->tree) && filter_timed(filter))
		SHINY_TRY(subset_open(store, filter, form->tree ? SUBSET_ALL : SUBSET_STAT,
				      "following the blocks", &sums));
	job.sums = sums ? sums : store;
	if (form->profile)
		err = profile_load(store, job.sums, filter, flags, profile);
	if (!err)
		err = write_job(ctl, form, &job);
	if (sums)
		store_close(sums);
	return err;
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

static struct shiny_err *cmd_export(struct ctl *ctl)
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

const struct verb_body verb_export = { .run = cmd_export };
