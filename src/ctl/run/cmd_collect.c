/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_collect.c: `shinyctl collect`: the sidecar as a command, and the list of session
 * directories. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/rlimits.h"
#include "../../base/units.h"
#include "../../sidecar/recover.h"
#include "closing.h"
#include "confine_verb.h"
#include "recording_options.h"
#include "sessions.h"
#include "../verb_body.h"

struct listing {
	struct ctl *ctl;
	unsigned count;
};

static void list_one(void *context, const struct session_directory *d)
{
	struct listing *listing = context;
	const char *state = d->used ? d->collected ? "being recorded" : "in use, no sidecar"
			  : d->collected ? "being finished" : d->rings ? "left behind" : "empty";

	listing->count++;
	if (CTL_JSON(listing->ctl)) {
		struct json *json = &listing->ctl->json;

		json_object_line(json, NULL);
		json_text(json, "path", d->path);
		json_number(json, "bytes", d->bytes);
		json_number(json, "rings", d->rings);
		json_number(json, "age_ns", d->age);
		json_bool(json, "used", d->used != 0);
		json_bool(json, "collected", d->collected);
		json_end(json);
		return;
	}
	fprintf(listing->ctl->style.out, "%s  %s, %s, ", d->path,
		units_noun(UNITS_NOUN_BUF, d->rings, "ring"), units_bytes(UNITS_BUF, d->bytes));
	if (d->age)
		fprintf(listing->ctl->style.out, "%s old, ", units_time(UNITS_BUF, d->age));
	fprintf(listing->ctl->style.out, "%s\n", state);
}

static struct shiny_err *list(struct ctl *ctl)
{
	struct listing listing = {.ctl = ctl};

	confine(CONFINE_SIDECAR, NULL, 0);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_array(&ctl->json, "directories");
	}
	sessions_each(list_one, &listing);
	if (CTL_JSON(ctl)) {
		json_end(&ctl->json);
		json_end(&ctl->json);
	} else if (!listing.count) {
		fputs("no session directories: nothing is being recorded, and nothing was left "
		      "behind\n",
		      ctl->style.out);
	} else if (ctl->style.width) {
		fputs("next: shinyctl collect DIRECTORY, for one that was left behind\n",
		      ctl->style.out);
	}
	return NULL;
}

static void tell(struct ctl *ctl, const struct sidecar_summary *summary)
{
	closing_print(summary, ctl->options.given[OPT_QUIET] || CTL_JSON(ctl));
	if (ctl->options.given[OPT_STRICT] && loss_any(&summary->lost))
		ctl->status = SHINY_ERR_STRICT;
}

static struct shiny_err *cmd_collect(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	struct session_directory look = {.used = 0};
	struct sidecar_summary summary = {.late = false};
	struct shiny_err *err;
	struct stat st;
	struct sidecar_options options;
	bool is_file, asks;

	if (!o->operand_count)
		return list(ctl);
	is_file = stat(o->operands[0], &st) == 0 && S_ISREG(st.st_mode);
	asks = !o->given[OPT_LEFTOVER] && !o->given[OPT_LIVE]; /* a program may wait for us */
	if (!is_file && (asks ? !sessions_look(o->operands[0], &look)
			      : access(o->operands[0], R_OK | X_OK) != 0))
		return shiny_err_advise(
			shiny_err_os(errno, "cannot open the session directory %s", o->operands[0]),
			"`shinyctl collect` without a directory lists those that exist");
	env_complain(environ, stderr);
	if (o->given[OPT_LIVE])
		rlimits_raise();
	signal(SIGXFSZ, SIG_IGN); /* makes a limit on files an error, like a full disk */
	options = recording_options(o, o->operands[0],
				    o->given[OPT_OUT] ? o->text[OPT_OUT] : env_text(ENV_SHINY_OUT));
	/* running processes may start more; the library that starts us for one knows that also
	 * between an exec and the next image's start */
	options.leftover = o->given[OPT_LEFTOVER] || (asks && !look.used);

	if (is_file && !o->given[OPT_OUT])
		options.out = NULL; /* writes next to the file */
	if (is_file) /* its programs are not looked at any more */
		confine_verb(o, CONFINE_NAMER, NULL, 0);
	else
		confine(CONFINE_SIDECAR, NULL, 0);
	err = is_file ? sidecar_recover(&options, o->operands[0], &summary)
		      : sidecar_run(&options, &summary);
	if (err)
		return err;
	if (o->given[OPT_SUMMARY] && (err = closing_write(&summary, o->text[OPT_SUMMARY])))
		return err;
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		closing_json(&ctl->json, &summary);
		json_end(&ctl->json);
	}
	tell(ctl, &summary);
	while (!err && summary.late) {
		err = sidecar_run_late(&options, &summary);
		if (!err && *summary.path)
			tell(ctl, &summary);
	}
	return err;
}

const struct verb_body verb_collect = { .run = cmd_collect };
