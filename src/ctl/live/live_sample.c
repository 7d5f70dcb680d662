/* SPDX-License-Identifier: Apache-2.0 */
/* live_sample.c: see live_sample.h. */
#define _GNU_SOURCE
#include "live_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../analysis/query/type_name.h"
#include "../../analysis/totals/processes.h"
#include "../../analysis/totals/sites.h"
#include "../../analysis/totals/types.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../../sidecar/recover.h"

enum { MESSAGE_BYTES = 1024 };
#define ENDED "the reading process was ended"

const char *const live_view_names[LIVE_VIEWS] = { "types", "sites", "processes" };

/* ---- rows ---- */

ORDER_BY(by_name, struct live_row, ORDER_TEXT(name))

const struct live_row *live_row_find(const struct live_rows *rows, const char *name)
{
	struct live_row key = { .name = (char *)(uintptr_t)name };

	return rows->count ? bsearch(&key, rows->at, rows->count, sizeof(key), by_name) : NULL;
}

static void add_row(struct live_rows *rows, char *name, const struct sums *sums)
{
	*vec_push(rows) = (struct live_row){ .name = name,
					     .live = sums->live,
					     .live_bytes = sums->live_bytes,
					     .allocs = sums->allocs,
					     .bytes = sums->bytes };
}

/* Sorts by name, and merges rows of one name: a type may have several confidences. */
static void merge_rows(struct live_rows *rows)
{
	size_t kept = 0;

	if (rows->count)
		qsort(rows->at, rows->count, sizeof(*rows->at), by_name);
	for (size_t i = 0; i < rows->count; i++) {
		struct live_row *row = &rows->at[i], *last = kept ? &rows->at[kept - 1] : NULL;

		if (!last || strcmp(last->name, row->name) != 0) {
			rows->at[kept++] = *row;
			continue;
		}
		last->live += row->live;
		last->live_bytes += row->live_bytes;
		last->allocs += row->allocs;
		last->bytes += row->bytes;
		free(row->name);
	}
	rows->count = kept;
}

static struct shiny_err *load_types(struct store *store, const struct filter *all,
				    struct live_rows *rows)
{
	struct types types;

	SHINY_TRY(types_load(store, all, TYPES_BY_BLOCK, NULL, ORDER_LIVE, &types));
	for (size_t i = 0; i < types.count; i++) {
		const struct type_row *row = &types.rows[i];
		struct type_text text = { .type = row->type,
					  .container = row->container,
					  .form = row->form,
					  .confidence = row->confidence,
					  .derived = row->or_derived };

		add_row(rows, type_name_block(&text), &row->sums);
	}
	types_deinit(&types);
	return NULL;
}

static struct shiny_err *load_sites(struct store *store, const struct filter *all,
				    struct live_rows *rows)
{
	struct sites sites;

	SHINY_TRY(sites_load(store, all, SITES_BY_LINE, NULL, ORDER_LIVE, false, &sites));
	for (size_t i = 0; i < sites.count; i++) {
		const struct site_row *row = &sites.rows[i];
		AUTO_FREE char *function = type_name_function(row->label);

		add_row(rows,
			row->file && row->line
				? mem_format("%s (%s:%u)", function, text_base(row->file),
					     row->line)
				: mem_text(function),
			&row->sums);
	}
	sites_deinit(&sites);
	return NULL;
}

static struct shiny_err *load_processes(struct store *store, const struct filter *all,
					struct live_rows *rows)
{
	struct processes processes;

	SHINY_TRY(processes_load(store, all, &processes));
	for (size_t i = 0; i < processes.count; i++) {
		const struct process_row *row = &processes.rows[i];
		const char *name = *row->role ? row->role : *row->name ? row->name : "(unknown)";

		add_row(rows, mem_format("%s (%u)", name, row->pid), &row->sums);
	}
	processes_deinit(&processes);
	return NULL;
}

static struct shiny_err *load(const char *file, const char *heap, struct live_sample *out)
{
	struct filter all = { 0 };
	struct store *store;
	struct shiny_err *err = store_open(file, &store);

	if (err)
		return err;
	err = filter_load(store, &(struct filter_names){ .heap = heap }, &all);
	if (!err)
		err = totals_load(store, &all, &out->totals);
	if (!err)
		err = load_types(store, &all, &out->views[LIVE_TYPES]);
	if (!err)
		err = load_sites(store, &all, &out->views[LIVE_SITES]);
	if (!err)
		err = load_processes(store, &all, &out->views[LIVE_PROCESSES]);
	filter_deinit(&all);
	store_close(store);
	for (size_t v = 0; v < LIVE_VIEWS; v++)
		merge_rows(&out->views[v]);
	if (err)
		live_sample_deinit(out);
	return err;
}

/* Loads the samples of memory, which only the session itself has: they are no events. */
static struct shiny_err *load_resident(const char *file, struct resident *out)
{
	struct filter all = { 0 };
	struct store *store;
	struct shiny_err *err;

	SHINY_TRY(store_open(file, &store));
	err = filter_load(store, &(struct filter_names){ 0 }, &all);
	if (!err)
		err = resident_load(store, &all, MEMORY_LAST, out);
	filter_deinit(&all);
	store_close(store);
	return err;
}

void live_sample_deinit(struct live_sample *sample)
{
	for (size_t v = 0; v < LIVE_VIEWS; v++) {
		for (size_t i = 0; i < sample->views[v].count; i++)
			free(sample->views[v].at[i].name);
		free(sample->views[v].at);
	}
	totals_deinit(&sample->totals);
	resident_deinit(&sample->resident);
	*sample = (struct live_sample){ 0 };
}

char *live_sample_head(const struct live_sample *sample)
{
	const struct totals *t = &sample->totals;

	return mem_format("%s: %s in %s, after %s   peak %s, after %s",
			  sample->ended ? "Live at the end" : "Now",
			  units_bytes(UNITS_BUF, t->sums.live_bytes),
			  units_noun(UNITS_NOUN_BUF, t->sums.live, "block"),
			  units_time(UNITS_BUF, t->duration),
			  units_bytes(UNITS_BUF, t->peak_bytes), units_time(UNITS_BUF, t->peak_at));
}

/* ---- the child ---- */

static uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static char *path_in(const struct live_work *work)
{
	return mem_format("%s/now.shiny", work->directory);
}

/* The child's answer about a sample, in one packet. */
struct live_answer {
	bool made;
	char why[MESSAGE_BYTES]; /* the reason, if not made */
};

static bool say(int line, const char *why)
{
	struct live_answer answer = { .made = !why };

	snprintf(answer.why, sizeof(answer.why), "%s", why ? why : "");
	return send(line, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer);
}

/* Makes this process end with its parent. */
static void follow(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* Reads new events; starts again if it fell behind. *reading NULL: begins. */
static struct shiny_err *read_on(const struct sidecar_options *options, const char *file,
				 struct recovery **reading)
{
	struct shiny_err *err;
	bool behind;

	do {
		if (!*reading)
			*reading = recovery_create(options, file);
		err = recovery_read(*reading, &behind);
		if (err || behind) {
			recovery_destroy(*reading);
			*reading = NULL;
		}
	} while (!err && behind);
	return err;
}

/* Finishes the file from `reading` in a process of its own; `reading` NULL: recovers all of it. */
static void make_end(const struct live_work *work, const struct sidecar_options *options, int line,
		     struct recovery *reading)
{
	struct sidecar_summary summary;
	struct shiny_err *err;
	pid_t parent = getpid(), maker = fork();
	int status = 0;

	if (!maker) {
		follow(parent);
		err = reading ? recovery_finish(reading, &summary)
			      : sidecar_recover(options, work->file, &summary);
		_exit(!say(line, err ? err->message : NULL));
	}
	while (maker > 0 && waitpid(maker, &status, 0) < 0 && errno == EINTR)
		;
	if (maker < 0 || status)
		say(line, ENDED);
}

_Noreturn static void run_child(const struct live_work *work, int line, pid_t parent)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGBUS, SIGWINCH, SIGTSTP };
	AUTO_FREE char *path = path_in(work);
	struct sidecar_options options = {
		.out = path,
		.force = true,
		.with_events = work->with_events,
		.launcher_fd = -1,
		.lock_fd = -1,
		.guests_fd = -1,
	};
	struct recovery *reading = NULL;
	char asked;

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		signal(ours[i], i < 4 ? SIG_DFL : SIG_IGN);
	setpgid(0, 0); /* one process group, to end both together */
	follow(parent);
	setpriority(PRIO_PROCESS, 0, 19);
	while (read(line, &asked, 1) == 1) {
		struct shiny_err *err =
			work->with_events ? NULL : read_on(&options, work->file, &reading);

		if (err)
			say(line, err->message);
		else
			make_end(work, &options, line, reading);
		shiny_err_free(err);
	}
	_exit(0);
}

static struct shiny_err *make_directory(struct live_work *work)
{
	const char *place = getenv("TMPDIR");
	struct shiny_err *err;

	snprintf(work->directory, sizeof(work->directory), "%s/shiny-live.XXXXXX",
		 place && *place == '/' && strlen(place) < 40 ? place : "/tmp");
	if (mkdtemp(work->directory))
		return NULL;
	err = shiny_err_os(errno, "cannot make the directory %s", work->directory);
	*work->directory = '\0';
	return err;
}

static struct shiny_err *start_child(struct live_work *work)
{
	pid_t parent = getpid();
	int ends[2];

	SHINY_TRY(make_directory(work));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return shiny_err_os(errno, "cannot make a socket");
	work->child = fork();
	if (work->child == 0) {
		close(ends[0]);
		run_child(work, ends[1], parent);
	}
	close(ends[1]);
	work->line = ends[0];
	if (work->child > 0) {
		setpgid(work->child, work->child); /* either may be first */
		return NULL;
	}
	work->child = 0;
	close(work->line);
	return shiny_err_os(errno, "cannot start a process");
}

struct shiny_err *live_work_ask(struct live_work *work)
{
	struct shiny_err *err = NULL;

	work->clock = clock_now();
	work->written = store_is_written(work->file);
	if (!work->child)
		err = start_child(work);
	if (err) {
		live_work_stop(work);
		return err;
	}
	/* a dead child answers with the end of its line */
	(void)!send(work->line, "", 1, MSG_NOSIGNAL);
	work->asked = true;
	return NULL;
}

void live_work_stop(struct live_work *work)
{
	struct live_answer answer;

	if (work->child > 0) {
		kill(-work->child, SIGKILL);
		while (waitpid(work->child, NULL, 0) < 0 && errno == EINTR)
			;
		/* its fork has ended, too, when no process holds the other end */
		while (read(work->line, &answer, sizeof(answer)) > 0 || errno == EINTR)
			errno = 0;
		close(work->line);
	}
	if (*work->directory) {
		static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
		AUTO_FREE char *path = path_in(work);

		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
			AUTO_FREE char *name = mem_format("%s%s", path, ends[i]);

			unlink(name);
		}
		rmdir(work->directory);
	}
	*work = (struct live_work){ .file = work->file, .with_events = work->with_events };
}

static struct live_answer take_answer(const struct live_work *work)
{
	struct live_answer answer = { 0 };
	ssize_t got;

	while ((got = read(work->line, &answer, sizeof(answer))) < 0 && errno == EINTR)
		;
	if (got != (ssize_t)sizeof(answer))
		return (struct live_answer){ .why = ENDED };
	return answer;
}

static struct shiny_err *is_finished(const char *file, bool *finished)
{
	struct store *store;

	SHINY_TRY(store_open(file, &store));
	*finished = store_complete(store);
	store_close(store);
	return NULL;
}

struct shiny_err *live_work_file(struct live_work *work, char **path, bool *ended)
{
	struct live_answer answer = take_answer(work);
	struct shiny_err *err = NULL;
	bool finished = false;

	work->asked = false;
	if (!answer.made) /* the session's own end may have come first */
		err = is_finished(work->file, &finished);
	if (!err && !answer.made && !finished)
		err = shiny_err(SHINY_ERR_OTHER, "%s", answer.why);
	if (err) {
		live_work_stop(work);
		return err;
	}
	*path = finished ? mem_text(work->file) : path_in(work);
	*ended = finished || !work->written;
	return NULL;
}

struct shiny_err *live_work_take(struct live_work *work, const char *heap,
				 struct live_sample *out)
{
	AUTO_FREE char *path = NULL;
	struct shiny_err *err;

	*out = (struct live_sample){ .clock = work->clock };
	SHINY_TRY(live_work_file(work, &path, &out->ended));
	err = load(path, heap, out);
	if (!err && (err = load_resident(work->file, &out->resident)))
		live_sample_deinit(out);
	if (err || out->ended)
		live_work_stop(work);
	return err;
}

uint64_t live_sample_pause(uint64_t took)
{
	static const uint64_t least = UINT64_C(1000000000);

	return 4 * took > least ? 4 * took : least;
}
