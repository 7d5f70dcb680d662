/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tell.c: `shinyctl tell`: on, off, mark and access; snapshot is in cmd_snapshot.c. */
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../../sidecar/access/access_ask.h"
#include "../../sidecar/access/breakpoint_event.h"
#include "../../sidecar/access/referenced.h"
#include "../verb_body.h"
#include "sessions.h"

static struct shiny_err *switch_to(struct ctl *ctl, bool on)
{
	char directory[SESSIONS_PATH];
	unsigned count = 0;

	SHINY_TRY(
		sessions_named(ctl->options.operands[0], verbs[ctl->options.verb].name, directory));
	SHINY_TRY(sessions_switch(directory, on, &count));
	text_line(ctl->style.out, "recording is %s in %s of %s", on ? "on" : "off",
		  units_noun(UNITS_NOUN_BUF, count, "ring"), directory);
	return NULL;
}

static struct shiny_err *cmd_on(struct ctl *ctl)
{
	return switch_to(ctl, true);
}

const struct verb_body verb_on = { .run = cmd_on };

static struct shiny_err *cmd_off(struct ctl *ctl)
{
	return switch_to(ctl, false);
}

const struct verb_body verb_off = { .run = cmd_off };

/* Tries the sources here: if this machine refuses them, it refuses the sidecar, too, which could
 * only note that in the session. */
static struct shiny_err *can_access(const struct access_sources *sources)
{
	int watch = sources->watch ? breakpoint_event_probe() : 0;
	int pages = sources->pages && !watch ? referenced_probe() : 0;

	if (!watch && !pages)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "tell: access: %s cannot be had here: %s",
					  watch ? "watch" : "pages",
					  watch ? breakpoint_event_reason(watch) : strerror(pages)),
				"`shinyctl doctor` says what is in the way");
}

static struct shiny_err *cmd_access(struct ctl *ctl)
{
	const char *which = ctl->options.operands[0], *text = ctl->options.operands[2];
	char directory[SESSIONS_PATH];
	struct access_sources sources;
	bool taken = false;

	if (!access_sources_read(text, &sources))
		return shiny_err(SHINY_ERR_USAGE,
				 "tell: access '%s' is not off, watch, pages or watch,pages", text);
	SHINY_TRY(sessions_named(which, verbs[ctl->options.verb].name, directory));
	SHINY_TRY(can_access(&sources));
	SHINY_TRY(sessions_access(directory, text, &taken));
	text_line(ctl->style.out,
		  taken ? "accesses: %s in %s" : "accesses: %s waits in %s for its sidecar", text,
		  directory);
	return NULL;
}

const struct verb_body verb_access = { .run = cmd_access };

static struct shiny_err *cmd_mark(struct ctl *ctl)
{
	const char *name = ctl->options.operands[2];
	char directory[SESSIONS_PATH];
	bool taken = false;

	SHINY_TRY(
		sessions_named(ctl->options.operands[0], verbs[ctl->options.verb].name, directory));
	SHINY_TRY(sessions_mark(directory, name, &taken));
	text_line(ctl->style.out,
		  taken ? "mark '%s' is set in %s" : "mark '%s' waits in %s for its sidecar", name,
		  directory);
	return NULL;
}

const struct verb_body verb_mark = { .run = cmd_mark };

static struct shiny_err *cmd_tell(struct ctl *ctl)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "tell: '%s' is not on, off, mark, "
					  "snapshot or access", ctl->options.operands[1]),
				"usage: shinyctl tell %s", verbs[VERB_TELL].operands);
}

const struct verb_body verb_tell = { .run = cmd_tell };
