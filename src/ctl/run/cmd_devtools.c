/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_devtools.c: `shinyctl devtools`: adds a running Chromium's own figures to the session that
 * records it.
 *
 * The sidecar owns the session's file until it is complete, so the figures stay in memory until
 * then.
 */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../base/units.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../chrome/client.h"
#include "confine_verb.h"
#include "../verb_body.h"

static struct devtools *volatile asked;
static volatile sig_atomic_t leaving;

static void ask_now(int number)
{
	(void)number;
	if (asked)
		devtools_ask(asked, 0);
}

static void leave(int number)
{
	static const char text[] = "shinyctl: devtools: told to end before a browser answered on "
				   "the port\n";
	ssize_t done;

	leaving = true;
	if (!asked)
		return;
	if (devtools_answered(asked)) {
		devtools_leave(asked, number);
		return;
	}
	done = write(STDERR_FILENO, text, sizeof(text) - 1); /* nothing to write yet */
	(void)done;
	_exit(SHINY_ERR_OTHER);
}

static struct shiny_err *is_complete(const char *path, bool *complete)
{
	struct store *store;
	struct shiny_err *err = store_open(path, &store);

	if (err)
		return err;
	*complete = store_complete(store) && !store_is_written(path);
	store_close(store);
	return NULL;
}

/* Waits for the complete session; false: the user stopped the wait. */
static bool wait_complete(const char *path)
{
	bool complete = false;

	leaving = false;
	while (!complete && !leaving) {
		struct shiny_err *err = is_complete(path, &complete);

		shiny_err_free(err); /* the file is being replaced or written: try again */
		if (!complete)
			nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	}
	return complete;
}

static struct shiny_err *take(const struct ctl *ctl, struct devtools *devtools, const char *path)
{
	struct sigaction ask = { .sa_handler = ask_now, .sa_flags = SA_RESTART },
			 end = { .sa_handler = leave };
	struct shiny_err *err;
	const char *trouble;
	size_t dumps = 0, snapshots = 0;

	asked = devtools;
	sigaction(SIGUSR1, &ask, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	err = devtools_start(devtools, 0);
	if (err)
		return err;
	devtools_wait(devtools);
	trouble = devtools_trouble(devtools);
	if (trouble)
		return shiny_err(SHINY_ERR_OTHER, "devtools: %s", trouble);
	if (!ctl->options.given[OPT_QUIET])
		text_line(stderr,
			  "shinyctl: waiting until %s is complete, to write the browser's numbers "
			  "into it",
			  path);
	if (!wait_complete(path))
		return shiny_err(SHINY_ERR_OTHER,
				 "devtools: told to end before %s was complete: the browser's "
				 "numbers are not in it",
				 path);
	err = devtools_store(devtools, path, &dumps, &snapshots);
	if (!err && !ctl->options.given[OPT_QUIET]) {
		AUTO_FREE char *file = text_shell(path);

		fprintf(stderr, "shinyctl: %s, %s: shinyctl browser %s\n",
			units_noun(UNITS_NOUN_BUF, dumps, "memory dump"),
			units_noun(UNITS_NOUN_BUF, snapshots, "heap snapshot"), file);
	}
	return err;
}

static struct shiny_err *cmd_devtools(struct ctl *ctl)
{
	const char *path = ctl->options.operands[1];
	struct devtools *devtools;
	uint64_t port;
	bool complete = false;
	struct shiny_err *err;

	if (!units_parse_count(ctl->options.operands[0], &port) || !port || port > UINT16_MAX)
		return shiny_err(SHINY_ERR_USAGE, "devtools: %s: not a port, 1 to 65535",
				 ctl->options.operands[0]);
	confine_verb(&ctl->options, CONFINE_BROWSER, NULL, 0);
	err = is_complete(path, &complete);
	if (!err && complete)
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  "devtools: %s is complete: nothing is recorded into it any more",
				  path),
			"give the file of the recording that is under way");
	if (!err)
		err = devtools_create(ctl->options.number[OPT_EVERY], (uint16_t)port, &devtools);
	if (err)
		return err;
	err = take(ctl, devtools, path);
	asked = NULL;
	devtools_destroy(devtools);
	return err;
}

const struct verb_body verb_devtools = { .run = cmd_devtools };
