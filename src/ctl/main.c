/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: finds the verb, runs it, prints its error once: "shinyctl: WHAT, ON WHAT: WHY", then the
 * advice.
 *
 * When the reader of a pipe goes away (`shinyctl types FILE | head`), SIGPIPE ends shinyctl
 * quietly.
 * Where that signal is ignored, the write fails with EPIPE, and shinyctl ends as quietly. Any other
 * failed write to standard output is an error like all others.
 *
 * A JSON document is printed whole or not at all (output_guard.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../base/cleanup.h"
#include "../base/json_budget.h"
#include "../base/line_fold.h"
#include "../base/nearest.h"
#include "../base/rlimits.h"
#include "../base/text.h"
#include "run/confine_verb.h"
#include "ctl.h"
#include "help/help.h"
#include "output_guard.h"
#include "run/own_image.h"
#include "run/unfinished.h"
#include "verb_table.h"

const char shiny_ctl_itself[] = "";

static int complain(struct shiny_err *err)
{
	int status = err->code;

	fflush(stdout);
	fprintf(stderr, "shinyctl: %s\n", err->message);
	if (err->advice)
		fprintf(stderr, "shinyctl: %s\n", err->advice);
	shiny_err_free(err);
	return status;
}

static struct shiny_err *cannot_write(int why)
{
	return why ? shiny_err_os(why, "cannot write to standard output")
		   : shiny_err(SHINY_ERR_OTHER, "cannot write to standard output");
}

static struct shiny_err *unknown_verb(const char *word)
{
	const char *names[VERB_COUNT], *near;
	AUTO_FREE char *file = access(word, F_OK) == 0 ? text_shell(word) : NULL;

	for (size_t v = 0; v < VERB_COUNT; v++)
		names[v] = verbs[v].name;
	near = nearest_name(word, names, VERB_COUNT);
	if (file)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "'%s' is a file, not a verb",
						  word),
					"perhaps: shinyctl %s %s",
					access(word, X_OK) == 0 ? "run --" : "report", file);
	if (near)
		return shiny_err(SHINY_ERR_USAGE, "unknown verb '%s'; the nearest is '%s'", word,
				 near);
	return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "unknown verb '%s'", word),
				"`shinyctl help` lists the verbs");
}

/* True for verbs that read sums: in an unfinished session, whose sums are missing, they would show
 * zeros. */
static bool reads_sums(enum verb_id verb)
{
	switch (verb) {
	case VERB_REPORT:
	case VERB_TYPES:
	case VERB_SITES:
	case VERB_TREE:
	case VERB_DIAGNOSE:
	case VERB_PAPER:
	case VERB_DIFF:
		return true;
	default:
		return false;
	}
}

/* Confines the process before the verb runs; some verbs first do other things, and confine
 * themselves. */
static void confine_early(const struct options *options)
{
	if (options->verb == VERB_TELL)
		confine(CONFINE_SIDECAR, NULL, 0);
	if (verbs[options->verb].input == VERB_READS_SESSION) /* two also read programs */
		confine_verb(options,
			     options->verb == VERB_EXPLAIN || options->given[OPT_MEMBERS]
				     ? CONFINE_NAMER
				     : CONFINE_READER,
			     NULL, 0);
}

/* True if the verb's output must be printed whole or not at all. */
static bool is_held(const struct options *options)
{
	return options->given[OPT_JSON] || options->given[OPT_CSV] ||
	       (options->verb == VERB_EXPORT && !options->given[OPT_OUTPUT]);
}

/* Runs the verb; returns also the error of a document that does not fit --budget. */
static struct shiny_err *run_within_budget(struct ctl *ctl)
{
	static const enum option_id of_json[] = { OPT_BUDGET, OPT_JSON_LIMIT };
	struct shiny_err *err = NULL;
	const char *name = verbs[ctl->options.verb].name;
	size_t least;

	for (size_t i = 0; i < sizeof(of_json) / sizeof(*of_json); i++)
		if (ctl->options.given[of_json[i]] && !CTL_JSON(ctl))
			return shiny_err(SHINY_ERR_USAGE, "%s: --%s needs --json", name,
					 option_specs[of_json[i]].name);
	err = verb_table_run(ctl);
	least = json_budget_short(&ctl->json);
	if (!err && least)
		err = shiny_err(SHINY_ERR_USAGE,
				"%s: --budget %s: this answer without any row takes %zu bytes",
				name, ctl->options.text[OPT_BUDGET], least);
	json_budget_free(&ctl->json);
	return err;
}

/* Parses the verb's options, and runs it. */
static struct shiny_err *run_verb(enum verb_id verb, int argc, char **argv, int *status)
{
	struct ctl ctl = { 0 };
	struct shiny_err *err = options_parse(verb, argc, argv, &ctl.options);
	FILE *folded = stdout;

	if (err)
		return err;
	style_init(&ctl.style, stdout, output_guard_fd(stdout), ctl.options.given[OPT_WIDE]);
	/* opens the place for it before confine_early() takes other places away */
	if (!ctl.options.help && is_held(&ctl.options) && !output_guard_hold(false))
		err = shiny_err_os(errno, "cannot make a place for the document");
	if (!is_held(&ctl.options) && ctl.style.width)
		ctl.style.out = folded = line_fold_open(stdout, ctl.style.width);
	if (!ctl.options.help)
		confine_early(&ctl.options);
	if (ctl.options.help)
		help_verb(&ctl.style, verb);
	else
		for (size_t i = 0; !err && verbs[verb].input == VERB_READS_SESSION &&
				   i < ctl.options.operand_count;
		     i++)
			err = unfinished_wait(ctl.options.operands[i], reads_sums(verb));
	if (!err && !ctl.options.help)
		err = run_within_budget(&ctl);
	if (folded != stdout)
		fclose(folded);
	*status = ctl.status;
	if (output_guard_release(!err) || err)
		return err;
	*status = SHINY_ERR_OTHER;
	return errno == EPIPE ? NULL : cannot_write(errno);
}

/*
 * Handles a read of a mapped file that was cut short: SQLite's index of a session being recorded,
 * or a file with symbols. Such files belong to others; without the page there is no right answer.
 */
static void on_bus_error(int signal)
{
	static const char text[] = "shinyctl: cannot read on: a file was cut short while it was "
				   "read; ask again\n";
	ssize_t done = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)signal, (void)done;
	_exit(SHINY_ERR_OTHER);
}

static int run_main(int argc, char **argv)
{
	struct shiny_err *err = NULL;
	enum verb_id verb = VERB_HELP;
	int status = 0, skipped = 2;

	signal(SIGBUS, on_bus_error);
	output_guard_open();
	if (argc < 2) {
		struct style style;

		style_init(&style, stderr, output_guard_fd(stderr), false);
		help_all(&style);
		return SHINY_ERR_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		skipped = 1; /* an option of help */
	else if (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0)
		err = verb_find(argv[1], &verb);
	if (!err && verb == VERB_COUNT)
		err = argv[1][0] == '-'
			      ? shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
							   "a verb comes first, not %s", argv[1]),
						 "`shinyctl help` lists the verbs")
			      : unknown_verb(argv[1]);
	else if (!err)
		err = run_verb(verb, argc - skipped, argv + skipped, &status);
	if (err)
		status = complain(err);

	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout) || fclose(stdout) != 0) {
		int why = errno;

		if (why == EPIPE)
			return SHINY_ERR_OTHER;
		return complain(cannot_write(why));
	}
	return status;
}

/*
 * Opens closed standard streams: otherwise the next file opened, a session, would become one of
 * them. Using them fails as on a closed one, and exec closes them again for the program of `run`.
 */
static void fill_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return; /* without a free descriptor no file can become one */
}

int main(int argc, char **argv)
{
	own_image_restore();
	fill_standard_streams();
	/* before any allocation, for which there may be no room */
	for (int i = 2; i + 1 < argc && strcmp(argv[1], "run") == 0; i++)
		if (strcmp(argv[i], "--") == 0 && !rlimits_run_alone(argv + i + 1))
			return perror("shinyctl: cannot run the program"), 127;
	return rlimits_with_stack(run_main, argc, argv);
}
