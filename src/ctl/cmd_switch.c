/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_switch.c: `shinyctl on` and `shinyctl off`. */
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "sessions.h"

static struct shiny_err *switch_to(struct ctl *ctl, bool on)
{
	const char *which = ctl->options.operands[0];
	char directory[SESSIONS_PATH];
	struct shiny_err *err;
	unsigned count = 0;

	if (*which && strspn(which, "0123456789") == strlen(which)) {
		long pid = strtol(which, NULL, 10);

		if (pid <= 0 || pid > 0x7fffffff)
			return shiny_err(SHINY_ERR_USAGE, "%s: %s is no process id", verbs[ctl->options.verb].name, which);
		err = sessions_of_pid((pid_t)pid, directory);
		if (err)
			return err;
		which = directory;
	}
	err = sessions_switch(which, on, &count);
	if (err)
		return err;
	fprintf(stdout, "recording is %s in %u arena%s of %s\n", on ? "on" : "off", count, count == 1 ? "" : "s", which);
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
