/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_push.c: `shinyctl push`: sends profiles of a session to a receiver, until its recording ends.
 *
 * A profile is made, sent, and gone: there is never more than one, and none waits. What a receiver
 * does not take is in the next profile, as sums are those since the last one that was delivered.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "../../base/cleanup.h"
#include "../../base/confine.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../live/live_sample.h"
#include "../run/written_session.h"
#include "../verb_body.h"
#include "push_http.h"
#include "push_work.h"

#define SECOND UINT64_C(1000000000)
enum { LAST_TRIES = 3, LAST_PAUSE_MS = 500 }; /* of the last profile */
enum { LOOK_MS = 200 }; /* between two looks whether the recording has ended */
enum { UNREAD_MOST = 3 };
enum { START_TRIES = 500, START_PAUSE_MS = 20 }; /* until a sidecar that starts has its file */

struct push {
	struct push_http *http;
	struct push_work work;
	uint64_t every; /* ns */
	unsigned failed; /* in a row */
};

static volatile sig_atomic_t told_to_end;

static void on_end(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static void pause_ms(uint64_t ms)
{
	poll(NULL, 0, (int)ms);
}

/* Waits for the next round, but not beyond the end of a recording. */
static void pause_round(const char *file, uint64_t ms)
{
	while (ms && !told_to_end && store_is_written(file)) {
		uint64_t step = ms < LOOK_MS ? ms : LOOK_MS;

		pause_ms(step);
		ms -= step;
	}
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- options ---- */

static struct shiny_err *read_labels(const char *names, unsigned *out)
{
	*out = 0;
	for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t length = strcspn(at, ","), k = 0;

		while (k < LABEL_KINDS && (strlen(label_keys[k]) != length ||
					   strncmp(at, label_keys[k], length) != 0))
			k++;
		if (k == LABEL_KINDS)
			return shiny_err(SHINY_ERR_USAGE,
					 "push: --labels %s: %.*s is none of process, type, "
					 "component, tag",
					 names, (int)length, at);
		*out |= 1u << k;
	}
	return NULL;
}

/* Finds the session; of a directory whose sidecar is about to start, waits for it. */
static struct shiny_err *find_session(const char *which, char file[SESSIONS_PATH])
{
	char directory[SESSIONS_PATH];
	struct shiny_err *err = written_session_named(which, "push", file, directory);
	struct stat st;

	for (int i = 0; err && i < START_TRIES && !told_to_end; i++) {
		if (!which || stat(which, &st) != 0 || !S_ISDIR(st.st_mode))
			break;
		pause_ms(START_PAUSE_MS);
		shiny_err_free(err);
		err = written_session_named(which, "push", file, directory);
	}
	return err;
}

/* ---- rounds ---- */

/* Prints that a receiver does not take profiles, or takes them again: once each. */
static void say(struct push *push, const char *why)
{
	if (why && !push->failed++)
		text_line(stderr,
			  "shinyctl: push: %s takes no profile: %s; it is tried again, and what it "
			  "lacks will be in the next one",
			  push_http_name(push->http), why);
	if (why)
		return;
	if (push->failed)
		text_line(stderr, "shinyctl: push: %s takes profiles again",
			  push_http_name(push->http));
	push->failed = 0;
}

/* Sends the body; true: it was taken. */
static bool deliver(struct push *push, const struct push_made *made)
{
	struct push_request request = { .bytes = made->bytes,
					.service = made->service,
					.from = made->from,
					.to = made->to };
	AUTO_FREE char *why = NULL;
	void *body;

	body = mmap(NULL, made->bytes, PROT_READ, MAP_PRIVATE, push->work.fd, 0);
	if (body == MAP_FAILED) {
		why = mem_format("cannot read the profile: %s", strerror(errno));
	} else {
		request.body = body;
		why = push_http_send(push->http, &request);
		munmap(body, made->bytes);
	}
	say(push, why);
	return !why;
}

/* Waits for the answer; false: a signal came first. */
static bool await(const struct push *push)
{
	struct pollfd line = { .fd = push->work.line, .events = POLLIN };

	while (!told_to_end)
		if (poll(&line, 1, -1) > 0)
			return true;
	return false;
}

/* Tries the last profile again, which nothing follows. */
static struct shiny_err *deliver_last(struct push *push, const struct push_made *made)
{
	for (int i = 1; i < LAST_TRIES && !told_to_end; i++) {
		pause_ms(LAST_PAUSE_MS);
		if (deliver(push, made))
			return NULL;
	}
	return shiny_err(SHINY_ERR_OTHER, "push: %s has not taken the last profile",
			 push_http_name(push->http));
}

static struct shiny_err *push_rounds(struct push *push, const char *file)
{
	bool delivered = false;
	unsigned unread = 0; /* in a row */

	while (!told_to_end) {
		uint64_t began = clock_ns(), took, pause;
		struct push_made made;

		push_work_ask(&push->work, delivered);
		if (!await(push))
			return NULL;
		made = push_work_take(&push->work);
		if (!made.made && made.ended)
			return shiny_err(SHINY_ERR_OTHER, "push: %s", made.why);
		unread = made.made ? 0 : unread + 1;
		if (unread == UNREAD_MOST) /* a recording that starts has nothing to read */
			text_line(stderr, "shinyctl: push: %s; it is tried again", made.why);
		took = clock_ns() - began;
		delivered = made.bytes && deliver(push, &made);
		if (made.ended)
			return delivered || !made.bytes ? NULL : deliver_last(push, &made);
		pause = live_sample_pause(took);
		began += push->every;
		if (began > clock_ns() + pause)
			pause = began - clock_ns();
		pause_round(file, pause / 1000000);
	}
	return NULL;
}

static struct shiny_err *push_session(struct push *push, const struct push_wish *wish)
{
	struct shiny_err *err;

	SHINY_TRY(push_work_start(wish, &push->work));
	confine(CONFINE_BROWSER, NULL, 0);
	err = push_rounds(push, wish->file);
	push_work_stop(&push->work);
	return err;
}

static struct shiny_err *cmd_push(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	const char *url = o->given[OPT_PUSH_TO] ? o->text[OPT_PUSH_TO] : env_text(ENV_SHINY_PUSH);
	const char *headers = o->given[OPT_HEADERS] ? o->text[OPT_HEADERS]
						    : env_text(ENV_SHINY_PUSH_HEADERS);
	struct sigaction action = { .sa_handler = on_end };
	struct push push = { .failed = 0 };
	struct push_wish wish = { .options = o,
				  .labels.sets = o->number[OPT_LABEL_SETS],
				  .service = o->given[OPT_NAME] ? o->text[OPT_NAME] : NULL };
	char file[SESSIONS_PATH];
	struct shiny_err *err;

	if (!*url)
		return shiny_err(SHINY_ERR_USAGE, "push: --to URL, or SHINY_PUSH, is missing");
	/* 15 s is what Pyroscope's own agents take */
	push.every = o->given[OPT_EVERY] ? o->number[OPT_EVERY] : 15 * SECOND;
	if (push.every < SECOND)
		return shiny_err(SHINY_ERR_USAGE, "push: --every %s: it takes 1s at least",
				 o->text[OPT_EVERY]);
	SHINY_TRY(read_labels(o->text[OPT_LABELS], &wish.labels.kinds));
	SHINY_TRY(push_http_open(url, *headers ? headers : NULL, &push.http));
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	err = find_session(o->operand_count ? o->operands[0] : NULL, file);
	wish.file = file;
	wish.receiver = push_http_receiver(push.http);
	if (!err)
		err = push_session(&push, &wish);
	push_http_close(push.http);
	return err;
}

const struct verb_body verb_push = { .run = cmd_push };
