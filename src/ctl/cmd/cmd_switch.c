/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_switch.c: `shinyctl on` and `shinyctl off`. */
#include "../../base/units.h"
#include "../ctl.h"
#include "../sessions.h"

static struct shiny_err *switch_to(struct ctl *ctl, bool on)
{
	char directory[SESSIONS_PATH];
	unsigned count = 0;
	struct shiny_err *err =
		sessions_named(ctl->options.operands[0], verbs[ctl->options.verb].name, directory);

	if (!err)
		err = sessions_switch(directory, on, &count);
	if (err)
		return err;
	fprintf(ctl->style.out, "recording is %s in %s of %s\n", on ? "on" : "off",
		units_noun(UNITS_NOUN_BUF, count, "ring"), directory);
	return NULL;
}

struct shiny_err *cmd_on(struct ctl *ctl)
{
	return switch_to(ctl, true);
}

struct shiny_err *cmd_off(struct ctl *ctl)
{
	return switch_to(ctl, false);
}
