/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_run.c: `shinyctl run`: starts the sidecar and the program, waits, returns the program's
 * status.
 *
 *   launcher ─fork─► sidecar   setsid(); serves the session directory; ends when no process maps a
 *      │                       ring and `life` is closed, and then writes into `result`
 *      └─────fork─► program    LD_PRELOAD, SHINY_SESSION; `failure` tells why exec failed, and
 *                              closes by itself when it worked
 *
 *   life     held open by the launcher until the program has ended: no ring yet does not mean that
 *            none will come; says how it ended
 *   result   the sidecar's summary or error. End of file without one: it died
 *
 * The program must not notice: its input and output are untouched, signal dispositions are the
 * caller's, the terminal signals it and not the sidecar, it inherits no descriptor of ours. The
 * sidecar must not hold the caller's pipes open either (a shell waits for the writer's end), so its
 * standard streams are /dev/null, except standard error if that is a terminal.
 *
 * The sidecar is confined (confine.h). The launcher is not: the program would inherit that.
 *
 * The launcher takes the directory's lock before it forks, and the sidecar inherits it: so the
 * library finds a sidecar from its first instruction on. SHINY_COLLECT=off in the program's
 * environment keeps the library from starting another one if ours is killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/cleanup.h"
#include "../../base/confine.h"
#include "../../base/text.h"
#include "../../base/program.h"
#include "../../base/rlimits.h"
#include "../../base/units.h"
#include "../../sidecar/proc/priority.h"
#include "../../sidecar/ring/guests.h"
#include "../../chrome/client.h"
#include "closing.h"
#include "prepare.h"
#include "recording_options.h"
#include "sessions.h"
#include "../verb_body.h"

struct result {
	int failed; /* 0, or the error's code */
	struct sidecar_summary summary;
	char message[2048], advice[8192];
};

struct run {
	const struct options *options;
	char library[PROGRAM_PATH], preload[PROGRAM_PATH], program[PROGRAM_PATH],
		directory[SESSIONS_PATH];
	const char *out;
	int life[2], result[2], failure[2], lock, guests;
	pid_t sidecar;
	struct result *end;
	struct devtools *devtools; /* NULL: not wanted */
	char **arguments;          /* of the program, if not just the operands */
};

static volatile sig_atomic_t program_pid, told_to_end;
static struct devtools *volatile asked; /* gets a request for a last dump before a signal is passed
					 * on */

/* Passes a signal on to the program. After the program's end the signal is for us: we exit with its
 * status, whatever the sidecar still has to do. */
static void pass_on(int number)
{
	int saved = errno;

	if (program_pid > 0) {
		if (!asked || !devtools_ask(asked, number))
			kill((pid_t)program_pid, number);
	} else {
		told_to_end = 1;
	}
	errno = saved;
}

static void ask_now(int number)
{
	int saved = errno;

	if (asked)
		devtools_ask(asked, 0);
	errno = saved;
}

/* ---- before anything runs ---- */

/* Checks before an hour of recording, not after it: the pattern's directory must be writable, and a
 * name without a % must be free. The sidecar checks a directory that the pattern itself varies. */
static struct shiny_err *check_out(const char *pattern, bool force)
{
	char *copy = mem_text(pattern), *directory = dirname(copy);
	struct shiny_err *err = NULL;
	struct stat st;

	if (!*pattern)
		err = shiny_err(SHINY_ERR_USAGE, "run: the name of the session file is empty");
	else if (!strchr(directory, '%') &&
		 (stat(directory, &st) != 0 || access(directory, W_OK | X_OK) != 0))
		err = shiny_err_advise(shiny_err_os(errno, "cannot write the session file into %s",
						    directory),
				       "choose another place with --out FILE");
	else if (!strchr(directory, '%') && !S_ISDIR(st.st_mode))
		err = shiny_err_os(ENOTDIR, "cannot write the session file into %s", directory);
	else if (!strchr(pattern, '%') && !force && lstat(pattern, &st) == 0)
		err = shiny_err_advise(shiny_err_os(EEXIST, "will not overwrite %s", pattern),
				       "--force overwrites it; %%p in the name makes each one new");
	free(copy);
	return err;
}

/* Tells a browser to listen on its pipe. Other programs do not get arguments that they do not
 * know. */
static struct shiny_err *prepare_devtools(struct run *run, const struct program_look *look)
{
	static char flag[] = "--remote-debugging-pipe";
	const struct options *o = run->options;
	uint64_t period = o->number[OPT_DEVTOOLS_EVERY];

	if (!o->given[OPT_DEVTOOLS] && !o->given[OPT_DEVTOOLS_EVERY] &&
	    !o->given[OPT_DEVTOOLS_PORT])
		return NULL;
	if (o->given[OPT_DEVTOOLS_PORT])
		return devtools_create(period, (uint16_t)o->number[OPT_DEVTOOLS_PORT],
				       &run->devtools);
	if (look && look->kind != PROGRAM_SCRIPT && look->malloc != PROGRAM_MALLOC_PARTITION)
		return shiny_err(SHINY_ERR_USAGE, "run: --devtools is for Chromium, and %s is none",
				 run->program);
	for (size_t i = 1; i < o->operand_count; i++)
		if (strcmp(o->operands[i], flag) == 0)
			return shiny_err(SHINY_ERR_USAGE,
					 "run: the program has %s already: with --devtools, the "
					 "pipe is ours",
					 flag);
	run->arguments = mem_zero(o->operand_count + 2, sizeof(*run->arguments));
	memcpy(run->arguments, o->operands, o->operand_count * sizeof(*run->arguments));
	run->arguments[o->operand_count] = flag;
	return devtools_create(period, 0, &run->devtools);
}

static struct shiny_err *prepare(struct run *run)
{
	const struct options *o = run->options;
	struct program_look look;
	const char *obstacle;
	size_t loaded = program_behind_loader(o->operands, o->operand_count);
	char path[PROGRAM_PATH]; /* the file to look at */

	SHINY_TRY(program_find(o->operands[0], run->program));
	SHINY_TRY(program_find(o->operands[loaded], path));
	SHINY_TRY(program_library(o->text[OPT_LIBRARY], run->library));
	program_preload(run->library, run->preload);
	run->out = o->given[OPT_OUT] ? o->text[OPT_OUT] : env_text(ENV_SHINY_OUT);
	SHINY_TRY(check_out(run->out, o->given[OPT_FORCE]));
	if (access(path, R_OK) == 0) {
		SHINY_TRY(program_look(path, &look));
		obstacle = program_obstacle(&look);
		if (obstacle)
			text_line(stderr,
				  "shinyctl: %s will not be recorded itself, only what it starts: "
				  "%s",
				  path, obstacle);
		SHINY_TRY(prepare_program(path, &look, o->symbol_count ? o->symbols : NULL));
		SHINY_TRY(prepare_devtools(run, &look));
	} else {
		SHINY_TRY(prepare_devtools(run, NULL));
	}
	return sessions_make(run->directory);
}

/* ---- the sidecar ---- */

static void report_result(int fd, const struct result *result)
{
	const char *at = (const char *)result;
	size_t left = sizeof(*result);

	while (left) {
		ssize_t n = write(fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		at += n;
		left -= (size_t)n;
	}
}

/* Makes this process one that the caller's terminal and pipes do not notice. */
static void be_apart(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		null = open("/", O_RDONLY | O_CLOEXEC);
	setsid();
	signal(SIGPIPE, SIG_IGN);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (!isatty(STDERR_FILENO))
		dup2(null, STDERR_FILENO);
}

static __attribute__((noreturn)) void be_sidecar(const struct run *run)
{
	const struct options *o = run->options;
	struct result *result = mem_zero(1, sizeof(*result));
	struct sidecar_options options = recording_options(o, run->directory, run->out);
	struct shiny_err *err;

	options.launcher_fd = run->life[0];
	options.lock_fd = run->lock;
	options.guests_fd = run->guests;
	be_apart();
	rlimits_raise();
	close(run->life[1]);
	close(run->result[0]);
	confine(CONFINE_SIDECAR, NULL, 0);
	err = sidecar_run(&options, &result->summary);
	if (err) {
		result->failed = (int)err->code;
		snprintf(result->message, sizeof(result->message), "%s", err->message);
		snprintf(result->advice, sizeof(result->advice), "%s",
			 err->advice ? err->advice : "");
	}
	report_result(run->result[1], result);
	close(run->result[1]); /* so that the launcher does not wait for the rest */
	while (!err && result->summary.late)
		err = sidecar_run_late(&options, &result->summary);
	_exit(0);
}

/* Starts `push` beside the sidecar, if there is a URL: it ends with the recording. */
static void start_push(const struct run *run)
{
	const struct options *o = run->options;
	const char *arguments[] = { "shinyctl", "push", run->directory, NULL };
	char self[PROGRAM_PATH];

	if (!*(o->given[OPT_PUSH] ? o->text[OPT_PUSH] : env_text(ENV_SHINY_PUSH)) || fork() != 0)
		return;
	if (o->given[OPT_PUSH])
		setenv(env_specs[ENV_SHINY_PUSH].name, o->text[OPT_PUSH], 1);
	if (o->given[OPT_HEADERS])
		setenv(env_specs[ENV_SHINY_PUSH_HEADERS].name, o->text[OPT_HEADERS], 1);
	be_apart();
	program_self(self);
	execv(self, (char **)(uintptr_t)arguments);
	_exit(127);
}

/* Waits up to `ms` (-1: without limit) for the sidecar's result; true: it came, or cannot come any
 * more. */
static bool wait_result(struct run *run, int ms)
{
	struct pollfd poll_fd = {.fd = run->result[0], .events = POLLIN};
	char *at = (char *)run->end;
	size_t got = 0;
	int ready;

	do
		ready = poll(&poll_fd, 1, ms);
	while (ready < 0 && errno == EINTR && ms < 0);
	if (ready <= 0)
		return false;
	while (got < sizeof(*run->end)) {
		ssize_t n = read(run->result[0], at + got, sizeof(*run->end) - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	if (got < sizeof(*run->end)) {
		AUTO_FREE char *directory = text_shell(run->directory);

		memset(run->end, 0, sizeof(*run->end));
		run->end->failed = SHINY_ERR_OTHER;
		snprintf(run->end->message, sizeof(run->end->message), "the sidecar died");
		snprintf(run->end->advice, sizeof(run->end->advice),
			 "shinyctl collect %s saves what is left", directory);
	}
	return true;
}

/* ---- the program ---- */

static void put_environment(const struct run *run)
{
	const struct options *o = run->options;
	const char *before = getenv("LD_PRELOAD");
	char *preload = before && *before ? mem_format("%s:%s", run->preload, before)
					  : mem_text(run->preload);
	char self[PROGRAM_PATH];

	for (size_t i = 0; i < OPT_COUNT; i++)
		if (o->given[i] && option_specs[i].env >= 0)
			setenv(env_specs[option_specs[i].env].name, o->text[i], 1);
	if (o->given[OPT_NO_TYPES])
		setenv(env_specs[ENV_SHINY_TYPES].name, "off", 1);
	setenv(env_specs[ENV_SHINY_SESSION].name, run->directory, 1);
	setenv(env_specs[ENV_SHINY_COLLECT].name, "off", 1);
	program_self(self);
	if (*self)
		setenv(env_specs[ENV_SHINY_CTL].name, self, 1);
	setenv("LD_PRELOAD", preload, 1);
	free(preload);
}

struct dispositions {
	struct sigaction interrupt, quit, terminate, hang_up;
	sigset_t mask;
};

static __attribute__((noreturn)) void be_program(const struct run *run,
						 const struct dispositions *old)
{
	char **arguments = run->arguments ? run->arguments : run->options->operands;
	int why, failure = run->failure[1];

	put_environment(run);
	rlimits_restore();
	sigaction(SIGINT, &old->interrupt, NULL);
	sigaction(SIGQUIT, &old->quit, NULL);
	sigaction(SIGTERM, &old->terminate, NULL);
	sigaction(SIGHUP, &old->hang_up, NULL);
	sigprocmask(SIG_SETMASK, &old->mask, NULL);
	if (run->devtools)
		devtools_child(run->devtools, &failure);
	/* execvp, not execv: it runs a script without a #! line as a shell does; argv[0] stays as
	 * the user wrote it */
	if (strchr(run->options->operands[0], '/'))
		execvp(run->program, arguments);
	else
		execvp(run->options->operands[0], arguments);
	why = errno;
	if (write(failure, &why, sizeof(why)) != sizeof(why))
		_exit(126);
	_exit(127);
}

static void start_devtools(struct run *run, pid_t pid)
{
	struct sigaction ask = {.sa_handler = ask_now, .sa_flags = SA_RESTART};
	struct shiny_err *err = devtools_start(run->devtools, pid);

	if (err)
		fprintf(stderr, "shinyctl: no dumps are taken: %s\n", err->message);
	else
		asked = run->devtools;
	shiny_err_free(err);
	sigaction(SIGUSR1, &ask, NULL);
}

/* Never blocks, as the pipe has room; a dead sidecar does not need it. */
static void tell_sidecar(const struct run *run, pid_t pid, int status)
{
	struct sidecar_ended ended = {.pid = (int32_t)pid, .status = status};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, old;

	sigaction(SIGPIPE, &ignore, &old);
	if (write(run->life[1], &ended, sizeof(ended)) != sizeof(ended))
		errno = 0;
	sigaction(SIGPIPE, &old, NULL);
}

/* Forks the program; *status is its status from waitpid(). */
static struct shiny_err *run_program(struct run *run, int *status)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, forward = {.sa_handler = pass_on};
	struct dispositions old;
	sigset_t both;
	pid_t pid;
	int why = 0;

	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGHUP);
	sigprocmask(SIG_BLOCK, &both, &old.mask);
	sigaction(SIGINT, &ignore, &old.interrupt);
	sigaction(SIGQUIT, &ignore, &old.quit);
	sigaction(SIGTERM, &forward, &old.terminate);
	sigaction(SIGHUP, NULL, &old.hang_up);
	if (old.hang_up.sa_handler != SIG_IGN) /* keeps nohup's choice */
		sigaction(SIGHUP, &forward, NULL);
	pid = fork();
	if (pid == 0)
		be_program(run, &old);
	program_pid = pid;
	if (run->devtools && pid > 0)
		start_devtools(run, pid);
	sigprocmask(SIG_SETMASK, &old.mask, NULL);
	close(run->failure[1]);
	run->failure[1] = -1;
	if (pid < 0)
		return shiny_err_os(errno, "cannot start %s", run->program);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	program_pid = 0;
	tell_sidecar(run, pid, *status);
	if (run->devtools) {
		asked = NULL;
		devtools_stop(run->devtools);
	}
	if (old.interrupt.sa_handler != SIG_IGN)
		sigaction(SIGINT, &forward, NULL);
	sigaction(SIGQUIT, &old.quit, NULL);
	if (read(run->failure[0], &why, sizeof(why)) == sizeof(why))
		return shiny_err_os(why, "cannot run %s", run->program);
	return NULL;
}

/* ---- the end ---- */

/* Waits for the sidecar as --wait demands. False: it goes on without us. */
static bool wait_sidecar(struct run *run)
{
	struct session_directory look;
	uint64_t patience = run->options->number[OPT_WAIT] * 1000, waited = 0;

	while (!wait_result(run, 100)) {
		if (told_to_end) {
			fprintf(stderr, "shinyctl: told to end: the recording goes on in the "
					"background until its session file is complete\n");
			return false;
		}
		waited += 100;
		/* no process is left: it only finishes its work */
		if (waited < patience || !sessions_look(run->directory, &look) || !look.used)
			continue;
		AUTO_FREE char *program = text_shell(run->options->operands[0]);
		AUTO_FREE char *directory = text_shell(run->directory);

		fprintf(stderr,
			"shinyctl: %s has ended, processes that it started have not: the recording "
			"goes on in the background, and the "
			"session file will be complete when they have ended\n",
			program);
		fprintf(stderr,
			"shinyctl: shinyctl tell %s off  stops recording; --wait SECONDS waits "
			"longer\n",
			directory);
		return false;
	}
	if (!run->end->summary.late)
		waitpid(run->sidecar, NULL, 0);
	return true;
}

/* Adds the browser's figures to the finished session, which is complete without them. */
static void keep_devtools(struct run *run)
{
	const char *path = run->end->summary.path, *trouble = devtools_trouble(run->devtools);
	AUTO_FREE char *file = text_shell(path);
	size_t dumps = 0, snapshots = 0;
	struct shiny_err *err =
		run->end->failed ? NULL : devtools_store(run->devtools, path, &dumps, &snapshots);

	if (err)
		fprintf(stderr, "shinyctl: the browser's own numbers are not in the session: %s\n",
			err->message);
	if (trouble)
		text_line(stderr, "shinyctl: --devtools: %s", trouble);
	if ((dumps || snapshots) && !run->options->given[OPT_QUIET])
		fprintf(stderr,
			"shinyctl: the browser's own numbers: %s, %s: shinyctl browser %s\n",
			units_noun(UNITS_NOUN_BUF, dumps, "memory dump"),
			units_noun(UNITS_NOUN_BUF, snapshots, "heap snapshot"), file);
	shiny_err_free(err);
}

static struct shiny_err *close_recording(struct ctl *ctl, struct run *run)
{
	const struct options *o = run->options;
	const struct result *end = run->end;

	if (end->failed) {
		/* the status stays the program's, whatever became of its recording */
		fprintf(stderr, "shinyctl: %s\n%s%s%s", end->message,
			*end->advice ? "shinyctl: " : "", end->advice, *end->advice ? "\n" : "");
		if (o->given[OPT_STRICT] && !ctl->status)
			ctl->status = SHINY_ERR_STRICT;
		return NULL;
	}
	closing_print(&end->summary, o->given[OPT_QUIET]);
	if (end->summary.late && !o->given[OPT_QUIET])
		fprintf(stderr, "shinyctl: programs that began while this was being written are "
				"recorded into a session of their own, beside it\n");
	if (o->given[OPT_STRICT] && loss_any(&end->summary.lost) && !ctl->status)
		ctl->status = SHINY_ERR_STRICT;
	return o->given[OPT_SUMMARY] ? closing_write(&end->summary, o->text[OPT_SUMMARY]) : NULL;
}

static struct shiny_err *start(struct ctl *ctl, struct run *run)
{
	struct shiny_err *err;
	int status = 0;

	if (pipe2(run->life, O_CLOEXEC) != 0 || pipe2(run->result, O_CLOEXEC) != 0 ||
	    pipe2(run->failure, O_CLOEXEC) != 0)
		return shiny_err_os(errno, "cannot make a pipe");
	err = sidecar_lock(run->directory, &run->lock);
	if (err)
		return err;
	run->guests = guests_listen(run->directory);
	fflush(NULL);
	run->sidecar = fork();
	if (run->sidecar == 0) {
		close(run->failure[0]);
		close(run->failure[1]);
		devtools_destroy(run->devtools); /* the sidecar's copies of its pipes */
		be_sidecar(run);
	}
	if (run->sidecar < 0)
		return shiny_err_os(errno, "cannot start the sidecar");
	close(run->life[0]);
	close(run->result[1]);
	close(run->lock); /* the sidecar's copy holds the lock from here on */
	if (run->guests >= 0)
		close(run->guests);
	start_push(run);
	err = run_program(run, &status);
	priority_raise(run->sidecar);
	close(run->life[1]);
	close(run->failure[0]);
	if (err) {
		/* nothing was recorded, so the sidecar's result does not matter */
		wait_result(run, -1);
		waitpid(run->sidecar, NULL, 0);
		sessions_remove_empty(run->directory);
		return err;
	}
	ctl->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (wait_sidecar(run)) {
		err = close_recording(ctl, run);
		if (run->devtools)
			keep_devtools(run);
		if (!run->end->summary.late)
			sessions_remove_empty(run->directory);
	} else if (run->devtools) {
		fprintf(stderr, "shinyctl: the browser's own numbers will not be in it: only a "
				"finished session takes them\n");
	}
	close(run->result[0]);
	return err;
}

static struct shiny_err *cmd_run(struct ctl *ctl)
{
	struct run *run;
	struct shiny_err *err;

	if (!rlimits_run_alone(ctl->options.operands))
		return shiny_err_os(errno, "cannot run %s", ctl->options.operands[0]);
	run = mem_zero(1, sizeof(*run));

	run->options = &ctl->options;
	run->end = mem_zero(1, sizeof(*run->end));
	env_complain(environ, stderr);
	err = prepare(run);
	if (!err)
		err = start(ctl, run);
	devtools_destroy(run->devtools);
	free(run->arguments);
	free(run->end);
	free(run);
	return err;
}

const struct verb_body verb_run = { .run = cmd_run };
