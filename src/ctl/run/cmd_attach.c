/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_attach.c: `shinyctl attach PID`: loads the library into a process that runs, records it, and
 * lets it go.
 *
 *   attach ─ makes the session's directory, takes its lock, loads the library (attach_target.h,
 *      │     remote_call.h); detaches after --for, at an interrupt, or when the sidecar has ended;
 *      │     ends with the sidecar's status
 *      └─fork─► sidecar   ends when no process maps the ring
 *
 * The library finds the lock taken, so it starts no sidecar; what it records until there is one
 * waits in the ring.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/confine.h"
#include "../../base/rlimits.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../verb_body.h"
#include "attach_target.h"
#include "closing.h"
#include "prepare.h"
#include "recording_options.h"
#include "remote_call.h"
#include "remote_patch.h"
#include "sessions.h"

static struct shiny_err *parse_pid(const char *text, pid_t *pid)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (!*text || *end || number <= 0 || number > 0x7fffffff)
		return shiny_err(SHINY_ERR_USAGE, "attach: %s is no process id", text);
	*pid = (pid_t)number;
	return NULL;
}

static void add_setting(struct shiny_attaching *to, const char *name, const char *value)
{
	size_t room = sizeof(to->setting) - to->settings;
	int bytes = snprintf(to->setting + to->settings, room, "%s=%s", name, value);

	if (bytes >= 0 && (size_t)bytes < room)
		to->settings += (uint32_t)bytes + 1;
}

/* The settings are those of shinyctl's options and its own environment, not of the process's. */
static void add_settings(struct shiny_attaching *to, const struct options *o, const char *directory)
{
	static const char *const caches[] = { "XDG_CACHE_HOME", "HOME" };
	bool given[ENV_COUNT] = { false };
	const char *value;

	for (size_t i = 0; i < OPT_COUNT; i++)
		if (o->given[i] && option_specs[i].env >= 0) {
			given[option_specs[i].env] = true;
			add_setting(to, env_specs[option_specs[i].env].name, o->text[i]);
		}
	given[ENV_SHINY_SESSION] = given[ENV_SHINY_COLLECT] = true;
	given[ENV_SHINY_FOLLOW] = true;
	/* name the directory of what prepare_program has found */
	for (size_t i = 0; i < sizeof(caches) / sizeof(*caches); i++)
		if ((value = getenv(caches[i])))
			add_setting(to, caches[i], value);
	for (size_t i = 0; i < ENV_COUNT; i++)
		if (!given[i] && (value = getenv(env_specs[i].name)))
			add_setting(to, env_specs[i].name, value);
	add_setting(to, env_specs[ENV_SHINY_SESSION].name, directory);
	add_setting(to, env_specs[ENV_SHINY_COLLECT].name, "off");
}

/* Calls the library's function there, with `said`; the answer comes back in it. */
static struct shiny_err *call_library(struct attach_target *t, struct remote_call *call,
				      const char *name, struct shiny_attaching *said)
{
	uint64_t function;

	attach_look_again(t);
	function = attach_own_function(t, name);
	if (!function)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "process %d cannot be attached: its loader refuses %s",
				  (int)t->pid, t->library),
			"the room for thread-local variables of libraries that are loaded later "
			"may be used up: start it with more, by "
			"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=2048");
	said->magic = SHINY_ATTACHING_MAGIC;
	if (!remote_write(call, call->data, said, sizeof(*said)))
		return shiny_err_os(errno, "cannot write into process %d", (int)t->pid);
	SHINY_TRY(remote_call(call, function, call->data, 0));
	if (!remote_read(call, call->data, said, sizeof(*said)))
		return shiny_err_os(errno, "cannot read from process %d", (int)t->pid);
	said->why[sizeof(said->why) - 1] = 0;
	if (*said->why)
		return shiny_err(SHINY_ERR_OTHER, "process %d is not recorded: %s", (int)t->pid,
				 said->why);
	return NULL;
}

static struct shiny_err *load_library(struct attach_target *t, struct remote_call *call)
{
	if (!remote_write(call, call->data, t->library, strlen(t->library) + 1))
		return shiny_err_os(errno, "cannot write into process %d", (int)t->pid);
	return remote_call(call, attach_dlopen(t), call->data, RTLD_NOW | RTLD_LOCAL);
}

/* Has a thread of the process call the library's function `name`, which is loaded first if `load`
 * says so. */
static struct shiny_err *enter(struct attach_target *t, bool load, const char *name,
			       struct shiny_attaching *said)
{
	AUTO_FREE struct remote_call *call = mem_zero(1, sizeof(*call));
	uint64_t restorer = attach_restorer(t);
	struct tracee chosen;
	struct shiny_err *err;

	if (!restorer)
		return shiny_err(SHINY_ERR_OTHER, "attach: this C library's code is not known");
	SHINY_TRY(attach_choose(t, said, &chosen));
	err = remote_call_begin(call, t->pid, &chosen.threads.at[0], restorer, sizeof(*said));
	if (!err) {
		if (load)
			err = load_library(t, call);
		if (!err)
			err = call_library(t, call, name, said);
		remote_call_end(call);
	}
	tracee_release(&chosen);
	return err;
}

static struct shiny_err *detach(struct attach_target *t, struct remote_patches *patches)
{
	AUTO_FREE struct shiny_attaching *said = mem_zero(1, sizeof(*said));

	SHINY_TRY(remote_patches_undo(patches));
	attach_look_again(t);
	return enter(t, false, "shiny_detach_v1", said);
}

/* ---- the keeper ---- */

static volatile sig_atomic_t told_to_detach;

static void on_signal(int number)
{
	(void)number;
	told_to_detach = 1;
}

/* Waits for the end of the time, of the process, or of the sidecar, or for a signal. True: the
 * process is still there. */
static bool keep(int process, int sidecar, uint64_t ns)
{
	struct pollfd fds[] = { { .fd = process, .events = POLLIN },
				{ .fd = sidecar, .events = POLLIN } };
	struct timespec end = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	sigset_t none;

	sigemptyset(&none);
	if (!told_to_detach)
		ppoll(fds, 2, ns ? &end : NULL, &none);
	return !(fds[0].revents & POLLIN);
}

/* Detaches when it is time to, and returns the sidecar's status. */
static int be_keeper(struct attach_target *t, struct remote_patches *patches,
		     pid_t sidecar, int alive, uint64_t ns)
{
	int process = (int)syscall(SYS_pidfd_open, t->pid, 0), status = 0;
	struct shiny_err *err = NULL;

	if (process < 0 || keep(process, alive, ns))
		err = detach(t, patches);
	if (err)
		text_line(stderr, "shinyctl: %s; it is recorded until it ends", err->message);
	shiny_err_free(err);
	while (waitpid(sidecar, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : SHINY_ERR_OTHER;
}

/* ---- the verb ---- */

static struct shiny_err *be_sidecar(struct ctl *ctl, const struct sidecar_options *options)
{
	const struct options *o = &ctl->options;
	struct sidecar_summary summary = { .late = false };

	confine(CONFINE_SIDECAR, NULL, 0);
	SHINY_TRY(sidecar_run(options, &summary));
	closing_print(&summary, o->given[OPT_QUIET]);
	if (o->given[OPT_STRICT] && loss_any(&summary.lost))
		ctl->status = SHINY_ERR_STRICT;
	return o->given[OPT_SUMMARY] ? closing_write(&summary, o->text[OPT_SUMMARY]) : NULL;
}

static struct shiny_err *record(struct ctl *ctl, struct attach_target *t,
				const struct sidecar_options *options, uint64_t ns)
{
	const struct sigaction act = { .sa_handler = on_signal };
	AUTO_FREE struct shiny_attaching *said = mem_zero(1, sizeof(*said));
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct remote_patches patches;
	struct shiny_err *err;
	sigset_t signals;
	int alive[2];
	pid_t sidecar;

	if (pipe2(alive, O_CLOEXEC) != 0)
		return shiny_err_os(errno, "cannot make a pipe");
	/* an interrupt must not leave the process between two steps */
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		sigaddset(&signals, ends[i]);
		sigaction(ends[i], &act, NULL);
	}
	sigprocmask(SIG_BLOCK, &signals, NULL);
	add_settings(said, &ctl->options, options->directory);
	SHINY_TRY(enter(t, true, "shiny_attach_v1", said));
	patches = (struct remote_patches){ .pid = t->pid, .at = said->patches,
					   .count = said->patch_count };
	err = remote_patches_write(&patches);
	if (err) {
		shiny_err_free(detach(t, &patches));
		return err;
	}
	if (!ctl->options.given[OPT_QUIET])
		text_line(stderr, "shinyctl: recording process %d; an interrupt (Ctrl-C) ends it",
			  (int)t->pid);
	sidecar = fork();
	if (sidecar == 0) {
		sigprocmask(SIG_UNBLOCK, &signals, NULL);
		return be_sidecar(ctl, options);
	}
	close(alive[1]);
	if (sidecar > 0)
		close(options->lock_fd); /* the sidecar's copy holds the lock from here on */
	ctl->status = be_keeper(t, &patches, sidecar, alive[0], sidecar > 0 ? ns : 1);
	sessions_remove_empty(options->directory);
	return NULL;
}

static struct shiny_err *cmd_attach(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	char library[PROGRAM_PATH], directory[SESSIONS_PATH] = "";
	struct sidecar_options options;
	struct attach_target target;
	struct shiny_err *err;
	uint64_t ns = o->number[OPT_FOR];
	pid_t pid = 0;

	SHINY_TRY(parse_pid(o->operands[0], &pid));
	SHINY_TRY(program_library(o->text[OPT_LIBRARY], library));
	env_complain(environ, stderr);
	err = attach_look(pid, library, &target);
	if (!err && target.ours.end)
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "process %d cannot be attached: libshiny.so is in it already",
				  (int)pid),
			"`shinyctl tell %d on` switches recording on, if it is being recorded",
			(int)pid);
	if (!err && target.look.malloc == PROGRAM_MALLOC_OWN)
		err = prepare_program(target.program, &target.look, NULL);
	if (!err)
		err = sessions_make(directory);
	if (!err) {
		options = recording_options(o, directory, o->given[OPT_OUT]
								  ? o->text[OPT_OUT]
								  : env_text(ENV_SHINY_OUT));
		err = sidecar_lock(directory, &options.lock_fd);
	}
	if (!err)
		err = record(ctl, &target, &options, ns);
	if (err && *directory)
		sessions_remove_empty(directory);
	attach_forget(&target);
	return err;
}

const struct verb_body verb_attach = { .run = cmd_attach };
