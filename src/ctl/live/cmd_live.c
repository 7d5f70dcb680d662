/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_live.c: `shinyctl live`: shows the live blocks of a program while it is recorded.
 *
 * Keys are handled while a sample is being made, without a wait.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/json_budget.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../run/confine_verb.h"
#include "../verb_body.h"
#include "live_screen.h"
#include "../output_guard.h"
#include "../run/written_session.h"

enum { ONCE_ROWS = 20, SAMPLES = 3 };

/* ---- once ---- */

static const struct field live_fields[] = {
	{ FIELD_FIRST("resident", struct live_sample, resident.rows, resident.count,
		      resident_fields),
	  .help = "a large process at its last sample" },
	FIELD_LAST
};

ORDER_BY(by_live_bytes, struct live_row, ORDER_DOWN(live_bytes) ?: ORDER_TEXT(name))

static void json_rows(struct ctl *ctl, const char *key, const struct live_rows *rows)
{
	size_t limit = ctl_limit(ctl, rows->count, 0);

	json_array(&ctl->json, key);
	for (size_t i = 0; i < limit; i++) {
		json_object_line(&ctl->json, NULL);
		json_text(&ctl->json, "name", rows->at[i].name);
		json_number(&ctl->json, "live", rows->at[i].live);
		json_number(&ctl->json, "live_bytes", rows->at[i].live_bytes);
		json_number(&ctl->json, "allocs", rows->at[i].allocs);
		json_number(&ctl->json, "bytes", rows->at[i].bytes);
		json_end(&ctl->json);
	}
	json_left_out(&ctl->json, rows->count - limit);
	json_end(&ctl->json);
}

static struct shiny_err *print_json(struct ctl *ctl, const struct live_sample *sample,
				    const char *file)
{
	ctl_document(ctl);
	json_text(&ctl->json, "file", file);
	json_bool(&ctl->json, "ended", sample->ended);
	json_number(&ctl->json, "duration_ns", sample->totals.duration);
	json_object(&ctl->json, "total");
	json_sums(&ctl->json, &sample->totals.sums);
	json_end(&ctl->json);
	json_number(&ctl->json, "peak_bytes", sample->totals.peak_bytes);
	json_number(&ctl->json, "peak_at_ns", sample->totals.peak_at);
	SHINY_TRY(answer_json(&(struct answer){ .fields = live_fields, .result = sample },
			      &ctl->json));
	for (size_t v = 0; v < LIVE_VIEWS; v++)
		json_rows(ctl, live_view_names[v], &sample->views[v]);
	json_end(&ctl->json);
	return NULL;
}

static void print_text(struct ctl *ctl, const struct live_sample *sample)
{
	static const struct table_column columns[] = {
		{ .title = "live bytes", .kind = CELL_BYTES },
		{ .title = "blocks", .kind = CELL_COUNT },
		{ .title = "allocs", .kind = CELL_COUNT },
		{ "name", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	};

	AUTO_FREE char *head = live_sample_head(sample);

	ctl_line(&ctl->style, TINT_BOLD, head);
	resident_print(&ctl->style, &sample->resident, RESIDENT_MOST,
		       sample->totals.processes > 1);
	for (size_t v = 0; v < LIVE_VIEWS; v++) {
		const struct live_rows *rows = &sample->views[v];
		size_t limit = ctl_limit(ctl, rows->count, ONCE_ROWS);
		struct table table;

		ctl_heading(ctl, live_view_names[v], "");
		table_init(&table, columns, sizeof(columns) / sizeof(*columns));
		for (size_t i = 0; i < limit; i++) {
			table_row(&table);
			table_number(&table, 0, rows->at[i].live_bytes);
			table_number(&table, 1, rows->at[i].live);
			table_number(&table, 2, rows->at[i].allocs);
			table_text(&table, 3, rows->at[i].name);
		}
		table_print(&table, &ctl->style);
		ctl_more(ctl, limit, rows->count);
		table_deinit(&table);
	}
}

static struct shiny_err *once(struct ctl *ctl, const char *file)
{
	struct live_sample sample;
	struct live_work work = { .file = file };
	struct shiny_err *err = NULL;

	SHINY_TRY(live_work_ask(&work));
	SHINY_TRY(live_work_take(&work, ctl->options.text[OPT_HEAP], &sample));
	live_work_stop(&work);
	for (size_t v = 0; v < LIVE_VIEWS; v++)
		if (sample.views[v].count)
			qsort(sample.views[v].at, sample.views[v].count,
			      sizeof(*sample.views[v].at), by_live_bytes);
	if (CTL_JSON(ctl))
		err = print_json(ctl, &sample, file);
	else
		print_text(ctl, &sample);
	live_sample_deinit(&sample);
	return err;
}

/* ---- in the terminal ---- */

struct watch {
	const char *file, *directory; /* directory "": no mark can be set */
	const char *heap; /* as given; NULL: not */
	struct live_screen screen;
	struct live_work work;
	struct live_sample samples[SAMPLES];
	uint64_t next; /* CLOCK_MONOTONIC of the next refresh, ns */
	unsigned marks;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns a sample that is neither shown nor compared with. */
static struct live_sample *unused(struct watch *watch)
{
	const struct live_screen *screen = &watch->screen;

	for (size_t i = 0; i < SAMPLES; i++) {
		struct live_sample *sample = &watch->samples[i];

		if (sample != screen->now && sample != screen->base)
			return sample;
	}
	return NULL;
}

/* An error before the first sample ends the verb; later ones keep the last sample. */
static struct shiny_err *take_sample(struct watch *watch)
{
	struct live_screen *screen = &watch->screen;
	struct live_sample *to = unused(watch), sample;
	struct shiny_err *err = live_work_take(&watch->work, watch->heap, &sample);

	if (err && screen->now) {
		AUTO_FREE char *text = text_plain(err->message);

		snprintf(screen->message, sizeof(screen->message), "%s", text);
		shiny_err_free(err);
		watch->next = now_ns() + live_sample_pause(0);
		return NULL;
	}
	if (err)
		return err;
	live_sample_deinit(to);
	*to = sample;
	screen->last = screen->now;
	screen->now = to;
	if (!screen->base)
		screen->base = to;
	watch->next = now_ns() + live_sample_pause(now_ns() - sample.clock);
	return NULL;
}

static void set_mark(struct watch *watch)
{
	struct live_screen *screen = &watch->screen;
	struct shiny_err *err = NULL;
	bool taken = false;
	char name[32];

	if (!screen->now)
		return;
	snprintf(name, sizeof(name), "live-%u", watch->marks + 1);
	if (*watch->directory)
		err = sessions_mark(watch->directory, name, &taken);
	screen->base = screen->now;
	snprintf(screen->message, sizeof(screen->message), "%s%s",
		 err		    ? err->message
		 : *watch->directory ? "growth is counted from mark "
				     : "growth is counted from here",
		 !err && *watch->directory ? name : "");
	watch->marks += !err;
	shiny_err_free(err);
}

/* Waits for a key, a sample, a new window size, a signal, or the time of the next refresh. */
static bool wait_any(const struct watch *watch, bool idle)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .fd = watch->work.asked ? watch->work.line : -1,
				   .events = POLLIN } };
	uint64_t now = now_ns();
	int timeout = watch->work.asked || idle ? -1
		      : watch->next <= now	? 0
						: (int)((watch->next - now) / 1000000) + 1;

	if (poll(fds, 2, timeout) < 0 && errno != EINTR)
		return false;
	return !(fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

static struct shiny_err *run_screen(struct watch *watch)
{
	struct live_screen *screen = &watch->screen;
	struct shiny_err *err = NULL;
	bool goes_on = true;

	while (goes_on && !err) {
		bool idle = screen->paused || (screen->now && screen->now->ended);

		if (!watch->work.asked && !idle && now_ns() >= watch->next)
			err = live_work_ask(&watch->work);
		if (err)
			break;
		live_screen_draw(screen);
		goes_on = wait_any(watch, idle) && !live_screen_ended();
		if (!goes_on)
			break;
		switch (live_screen_keys(screen)) {
		case LIVE_QUIT: goes_on = false; break;
		case LIVE_MARK: set_mark(watch); break;
		default: break;
		}
		if (watch->work.asked && poll(&(struct pollfd){ .fd = watch->work.line,
								.events = POLLIN },
					      1, 0) > 0)
			err = take_sample(watch);
	}
	return err;
}

static struct shiny_err *watch_session(const char *file, const char *directory, const char *heap)
{
	AUTO_FREE char *name = text_plain(text_base(file));
	struct watch watch = { .file = file,
			       .directory = directory,
			       .heap = heap,
			       .work = { .file = file } };
	struct shiny_err *err;

	watch.screen.name = name;
	SHINY_TRY(live_screen_open());
	err = run_screen(&watch);
	live_screen_close();
	live_work_stop(&watch.work);
	for (size_t i = 0; i < SAMPLES; i++)
		live_sample_deinit(&watch.samples[i]);
	return err;
}

/* Confines the verb; `file` differs from the operand if that is a directory or a process. */
static void confine_live(const struct options *options, const char *file, const char *directory)
{
	char *session[] = { (char *)(uintptr_t)file };
	struct options of = *options;
	const struct confine_place more[] = {
		{ "/tmp", CONFINE_TREE }, /* for samples */
		{ getenv("TMPDIR"), CONFINE_TREE },
		{ *directory ? directory : NULL, CONFINE_MAKE }, /* for marks */
	};

	of.operands = session;
	of.operand_count = 1;
	confine_verb(&of, CONFINE_NAMER, more, sizeof(more) / sizeof(*more));
}

static struct shiny_err *cmd_live(struct ctl *ctl)
{
	const struct options *options = &ctl->options;
	char file[SESSIONS_PATH], directory[SESSIONS_PATH];

	if (!options->given[OPT_ONCE] && (CTL_JSON(ctl) || options->given[OPT_LIMIT]))
		return shiny_err(SHINY_ERR_USAGE, "live: --json and --limit go with --once");
	SHINY_TRY(written_session_named(options->operand_count ? options->operands[0] : NULL,
					"live", file, directory));
	confine_live(options, file, directory);
	if (options->given[OPT_ONCE])
		return once(ctl, file);
	if (!isatty(STDIN_FILENO) || !isatty(output_guard_fd(stdout)))
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "live needs a terminal"),
					"`shinyctl live --once` prints one refresh");
	return watch_session(file, directory, options->text[OPT_HEAP]);
}

const struct verb_body verb_live = { .run = cmd_live };
