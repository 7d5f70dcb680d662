/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "push_work.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../view/export.h"
#include "../../view/profile_delta.h"
#include "../live/live_sample.h"
#include "../run/confine_verb.h"

#define ENDED "the process that makes profiles was ended"
enum { STOP_MS = 5000 }; /* most that the parent waits for the child to remove its files */

/* The child's state. */
struct push_making {
	const struct push_wish *wish;
	struct live_work live;
	struct profile_base base, next; /* next: becomes the base once it is delivered */
	uint64_t base_time, next_time;
	int fd;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- the child ---- */

static bool any_value(const struct profile *profile)
{
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct sums *sums = &profile->samples[i].sums;

		if (sums->allocs || sums->bytes || sums->live)
			return true;
	}
	return false;
}

static struct shiny_err *keep_body(const struct push_making *making, const char *body,
				   size_t bytes)
{
	if (ftruncate(making->fd, 0) != 0 || lseek(making->fd, 0, SEEK_SET) < 0)
		return shiny_err_os(errno, "cannot keep the profile");
	for (ssize_t n; bytes; body += n, bytes -= (size_t)n)
		if ((n = write(making->fd, body, bytes)) <= 0)
			return shiny_err_os(errno, "cannot keep the profile");
	return NULL;
}

/* Sets what the profile is of: from the last one that was delivered, or from the start. */
static struct shiny_err *set_time(struct push_making *making, struct store *store,
				  struct profile *profile, struct push_made *made)
{
	bool last = push_protocols[making->wish->receiver].since == PUSH_SINCE_LAST;
	uint64_t began = making->base_time ?: making->next_time - profile->duration;

	made->from = began / 1000000000;
	made->to = making->next_time / 1000000000;
	profile->time = last ? began : making->next_time;
	profile->duration = last ? making->next_time - began : 0;
	profile_base_deinit(&making->next);
	return last ? profile_delta(store, profile, &making->base, &making->next) : NULL;
}

static struct shiny_err *make_body(struct push_making *making, struct store *store,
				   const struct filter *filter, struct push_made *made)
{
	const struct push_wish *wish = making->wish;
	SHINY_CLEANUP(profile_deinit) struct profile profile = { 0 };
	AUTO_FREE char *command = NULL, *program = NULL, *text = NULL, *body = NULL;
	size_t bytes = 0, body_bytes = 0;
	uint32_t pid;

	SHINY_TRY(profile_load(store, store, filter, PROFILE_TAGS, &profile));
	SHINY_TRY(profile_command(store, &command, &pid));
	program = profile_service(command);
	snprintf(made->service, sizeof(made->service), "%s", wish->service ?: program);
	SHINY_TRY(set_time(making, store, &profile, made));
	if (!any_value(&profile))
		return NULL;
	SHINY_TRY(export_memory(store, filter, &profile,
				wish->receiver == PUSH_OTLP ? export_otlp : export_pprof,
				wish->labels, made->service, &text, &bytes));
	SHINY_TRY(push_receiver_body(wish->receiver, made->service, text, bytes, &body,
				     &body_bytes));
	SHINY_TRY(keep_body(making, body, body_bytes));
	made->bytes = body_bytes;
	return NULL;
}

static struct shiny_err *open_now(struct push_making *making, struct store **store, bool *ended)
{
	AUTO_FREE char *path = NULL;

	SHINY_TRY(store_open(making->wish->file, store));
	*ended = store_complete(*store);
	if (*ended)
		return NULL;
	store_close(*store);
	SHINY_TRY(live_work_ask(&making->live));
	making->next_time = now_ns();
	SHINY_TRY(live_work_file(&making->live, &path, ended));
	return store_open(path, store);
}

static struct shiny_err *make_one(struct push_making *making, struct push_made *made)
{
	struct filter all = { 0 };
	struct store *store;
	struct shiny_err *err;

	making->next_time = now_ns();
	SHINY_TRY(open_now(making, &store, &made->ended));
	err = filter_load(store, &(struct filter_names){ 0 }, &all);
	if (!err) {
		err = make_body(making, store, &all, made);
		filter_deinit(&all);
	}
	store_close(store);
	return err;
}

static void confine_making(const struct push_wish *wish)
{
	char *session[] = { (char *)(uintptr_t)wish->file };
	struct options of = *wish->options;
	const struct confine_place more[] = { { "/tmp", CONFINE_TREE },
					      { getenv("TMPDIR"), CONFINE_TREE } };

	of.operands = session;
	of.operand_count = 1;
	confine_verb(&of, CONFINE_NAMER, more, sizeof(more) / sizeof(*more));
}

_Noreturn static void run_child(const struct push_wish *wish, int line, int fd)
{
	struct push_making making = { .wish = wish, .live = { .file = wish->file }, .fd = fd };
	char asked;

	setpgid(0, 0); /* the terminal's signals are for the parent, which then closes the line */
	confine_making(wish);
	while (read(line, &asked, 1) == 1) {
		struct push_made made = { 0 };
		struct shiny_err *err;

		if (asked) {
			profile_base_deinit(&making.base);
			making.base = shiny_steal(making.next);
			making.base_time = making.next_time;
		}
		err = make_one(&making, &made);
		made.made = !err;
		if (err) {
			made.bytes = 0;
			made.ended = !store_is_written(wish->file);
		}
		snprintf(made.why, sizeof(made.why), "%s", err ? err->message : "");
		shiny_err_free(err);
		if (send(line, &made, sizeof(made), MSG_NOSIGNAL) != sizeof(made))
			break;
	}
	live_work_stop(&making.live);
	_exit(0);
}

/* ---- the parent ---- */

struct shiny_err *push_work_start(const struct push_wish *wish, struct push_work *out)
{
	int ends[2], fd = memfd_create("profile", MFD_CLOEXEC), why;
	pid_t child;

	if (fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
		why = errno;
		close(fd);
		return shiny_err_os(why, "cannot make a socket");
	}
	fflush(NULL);
	child = fork();
	if (!child) {
		close(ends[0]);
		run_child(wish, ends[1], fd);
	}
	why = errno;
	close(ends[1]);
	*out = (struct push_work){ child, ends[0], fd };
	if (child > 0)
		return NULL;
	close(ends[0]);
	close(fd);
	return shiny_err_os(why, "cannot start a process");
}

void push_work_ask(const struct push_work *work, bool delivered)
{
	char asked = delivered;

	/* a dead child answers with the end of its line */
	(void)!send(work->line, &asked, 1, MSG_NOSIGNAL);
}

struct push_made push_work_take(const struct push_work *work)
{
	struct push_made made;
	ssize_t got;

	while ((got = read(work->line, &made, sizeof(made))) < 0 && errno == EINTR)
		;
	if (got != (ssize_t)sizeof(made))
		return (struct push_made){ .ended = true, .why = ENDED };
	made.service[PUSH_SERVICE - 1] = made.why[sizeof(made.why) - 1] = '\0';
	return made;
}

void push_work_stop(struct push_work *work)
{
	struct pollfd line = { .fd = work->line, .events = POLLIN };
	char rest[sizeof(struct push_made)];

	shutdown(work->line, SHUT_WR);
	while (poll(&line, 1, STOP_MS) > 0 && read(work->line, rest, sizeof(rest)) > 0)
		;
	/* It ends by itself. Landlock lets this process signal none that it has not confined. */
	waitpid(work->child, NULL, WNOHANG);
	close(work->line);
	close(work->fd);
	*work = (struct push_work){ 0 };
}
