/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_check.c: `shinyctl check`: checks a session against rules, for machines that build and
 * test. */
#include <errno.h>
#include <string.h>

#include "../pair.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "check_report.h"
#include "../verb_body.h"

static struct shiny_err *read_rules(const struct ctl *ctl, struct check_rules *rules)
{
	const char *path = ctl->options.text[OPT_RULES];
	AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

	if (path)
		SHINY_TRY(check_rules_read(rules, path));
	for (size_t i = 1; i < ctl->options.operand_count; i++)
		SHINY_TRY(check_rules_add(rules, ctl->options.operands[i]));
	if (!rules->count)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "check: there is no rule%s%s",
						  path ? " in " : "", path ? path : ""),
					"such as: shinyctl check %s 'live_bytes<=24MB' leaks==0",
					file);
	for (size_t i = 0; i < rules->count; i++)
		if (rules->at[i].relative && !ctl->options.given[OPT_BASE])
			return shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
							  "check: rule '%.120s' is about a change, "
							  "and there is nothing to compare with",
							  rules->at[i].text),
						"give --base FILE, or a limit such as <=24MB");
	return NULL;
}

typedef void write_fn(FILE *out, const struct check_report *report);

static struct shiny_err *write_file(const char *path, write_fn *write,
				    const struct check_report *report)
{
	FILE *out;
	bool bad;

	if (!path)
		return NULL;
	out = fopen(path, "we");
	if (!out)
		return shiny_err_os(errno, "cannot write %s", path);
	write(out, report);
	bad = ferror(out);
	if (fclose(out) != 0 || bad)
		return shiny_err_os(errno, "cannot write %s", path);
	return NULL;
}

static struct shiny_err *write_files(const struct ctl *ctl, const struct check_report *report)
{
	struct shiny_err *err =
		write_file(ctl->options.text[OPT_JUNIT], check_report_junit, report);

	return err ? err
		   : write_file(ctl->options.text[OPT_MARKDOWN], check_report_markdown, report);
}

/* Reports an unreadable session: no result is known, which is status 3; the files say so too. */
static struct shiny_err *unread(const struct ctl *ctl, struct check_report *report,
				struct shiny_err *err)
{
	struct shiny_err *more;

	if (err->code == SHINY_ERR_USAGE)
		return err;
	err->code = SHINY_ERR_STRICT;
	report->unread = err->message;
	more = write_files(ctl, report);
	if (more) /* keep the first error */
		shiny_err_free(more);
	return err;
}

static struct shiny_err *json_check(struct ctl *ctl, struct check_report *report)
{
	const struct answer answer = { .fields = check_fields, .result = report };

	SHINY_TRY(pair_losses(ctl, &report->pair));
	ctl_document(ctl);
	SHINY_TRY(answer_json(&answer, &ctl->json));
	json_end(&ctl->json);
	return NULL;
}

static struct shiny_err *print_check(struct ctl *ctl, const struct check_report *report)
{
	const struct session_pair *pair = &report->pair;
	static const char *const names[] = { "base", "new" };
	struct shiny_err *err = NULL;

	ctl_subset(ctl);
	check_report_print(ctl, report);
	for (int side = 0; !err && side < 2; side++) {
		if (!pair->paths[side])
			continue;
		if (pair->paths[0])
			fprintf(ctl->style.out, "%-4s: ", names[side]);
		err = ctl_losses(ctl, pair->stores[side], pair->paths[side]);
	}
	if (!err && ctl->style.width && pair->paths[0] && check_report_count(report, CHECK_FAILS)) {
		AUTO_FREE char *base = text_shell(pair->paths[0]);
		AUTO_FREE char *new = text_shell(pair->paths[1]);

		fprintf(ctl->style.out, "%snext:%s shinyctl diff %s %s\n",
			tint(&ctl->style, TINT_DIM), tint_end(&ctl->style, TINT_DIM), base, new);
	}
	return err;
}

static struct shiny_err *cmd_check(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	struct check_rules rules = { 0 };
	struct check_report report = { .tag = o->text[OPT_TAG], .between = o->text[OPT_BETWEEN] };
	struct check_options options = { .suppressions = o->text[OPT_SUPPRESSIONS],
					 .full_names = o->given[OPT_FULL_NAMES],
					 .progress = true };
	const struct filter_names names = ctl_names(ctl);
	struct component_rules *components = NULL;
	struct shiny_err *err = read_rules(ctl, &rules);

	if (!err)
		err = component_rules_load(o->components, o->component_count, &components);
	options.components = components;
	for (size_t i = 0; i < rules.count; i++)
		report.loss_allowed = report.loss_allowed || rules.at[i].measure == CHECK_LOST;
	if (!err) {
		err = pair_open(ctl, o->text[OPT_BASE], o->operands[0], &report.pair);
		if (!err)
			err = check_eval(report.pair.stores, &names, &rules, &options,
					 &report.results);
		if (err)
			err = unread(ctl, &report, err);
	}
	if (!err) {
		err = CTL_JSON(ctl) ? json_check(ctl, &report) : print_check(ctl, &report);
		if (!err)
			err = write_files(ctl, &report);
		if (check_report_status(&report))
			ctl->status = check_report_status(&report);
	}
	check_results_deinit(&report.results);
	pair_close(&report.pair);
	component_rules_free(components);
	check_rules_deinit(&rules);
	return err;
}

const struct verb_body verb_check = { .run = cmd_check,
				      .fields = check_fields,
				      .has_losses = true };
