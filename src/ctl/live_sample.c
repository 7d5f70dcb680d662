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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../analysis/query/type_name.h"
#include "../analysis/totals/processes.h"
#include "../analysis/totals/sites.h"
#include "../analysis/totals/types.h"
#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "../sidecar/recover.h"

enum { MESSAGE_BYTES = 1024 };

const char *const live_view_names[LIVE_VIEWS] = { "types", "sites", "processes" };

/* ---- rows ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct live_row *)a)->name, ((const struct live_row *)b)->name);
}

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

/* By name, and rows of one name as one: a type can be known with several confidences. */
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

static struct shiny_err *load_processes(struct store *store, struct live_rows *rows)
{
	struct processes processes;

	SHINY_TRY(processes_load(store, &processes));
	for (size_t i = 0; i < processes.count; i++) {
		const struct process_row *row = &processes.rows[i];
		const char *name = *row->role ? row->role : *row->name ? row->name : "(unknown)";

		add_row(rows, mem_format("%s (%u)", name, row->pid), &row->sums);
	}
	processes_deinit(&processes);
	return NULL;
}

static struct shiny_err *load(const char *file, struct live_sample *out)
{
	struct filter all = { 0 };
	struct store *store;
	struct shiny_err *err = store_open(file, &store);

	if (err)
		return err;
	err = filter_load(store, &(struct filter_names){ 0 }, &all);
	if (!err)
		err = totals_load(store, &all, &out->totals);
	if (!err)
		err = load_types(store, &all, &out->views[LIVE_TYPES]);
	if (!err)
		err = load_sites(store, &all, &out->views[LIVE_SITES]);
	if (!err)
		err = load_processes(store, &out->views[LIVE_PROCESSES]);
	filter_deinit(&all);
	store_close(store);
	for (size_t v = 0; v < LIVE_VIEWS; v++)
		merge_rows(&out->views[v]);
	if (err)
		live_sample_deinit(out);
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
	*sample = (struct live_sample){ 0 };
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

_Noreturn static void run_child(const struct live_work *work, int out, pid_t parent)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
	AUTO_FREE char *path = path_in(work);
	struct sidecar_options options = {
		.out = path,
		.force = true,
		.with_events = work->with_events,
		.launcher_fd = -1,
		.lock_fd = -1,
		.guests_fd = -1,
	};
	struct sidecar_summary summary;
	struct shiny_err *err;

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		signal(ours[i], i < 3 ? SIG_DFL : SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setpriority(PRIO_PROCESS, 0, 19);
	err = sidecar_recover(&options, work->file, &summary);
	if (err && write(out, err->message, strnlen(err->message, MESSAGE_BYTES)) < 0)
		_exit(2);
	_exit(err != NULL);
}

struct shiny_err *live_work_start(const char *file, bool with_events,
				   struct live_work *out)
{
	const char *place = getenv("TMPDIR");
	pid_t parent = getpid();
	int ends[2];

	*out = (struct live_work){ .file = file,
				   .clock = clock_now(),
				   .written = store_is_written(file),
				   .with_events = with_events,
				   .pipe = -1 };
	snprintf(out->directory, sizeof(out->directory), "%s/shiny-live.XXXXXX",
		 place && *place == '/' && strlen(place) < 40 ? place : "/tmp");
	if (!mkdtemp(out->directory)) {
		struct shiny_err *err = shiny_err_os(errno, "cannot make the directory %s",
						     out->directory);

		*out->directory = '\0';
		return err;
	}
	if (pipe2(ends, O_CLOEXEC) != 0) {
		struct shiny_err *err = shiny_err_os(errno, "cannot make a pipe");

		live_work_stop(out);
		return err;
	}
	out->child = fork();
	if (out->child == 0)
		run_child(out, ends[1], parent);
	close(ends[1]);
	out->pipe = ends[0];
	if (out->child < 0) {
		struct shiny_err *err = shiny_err_os(errno, "cannot start a process");

		live_work_stop(out);
		return err;
	}
	return NULL;
}

void live_work_stop(struct live_work *work)
{
	if (work->child > 0) {
		kill(work->child, SIGKILL);
		while (waitpid(work->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (work->pipe >= 0)
		close(work->pipe);
	if (*work->directory) {
		static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
		AUTO_FREE char *path = path_in(work);

		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
			AUTO_FREE char *name = mem_format("%s%s", path, ends[i]);

			unlink(name);
		}
		rmdir(work->directory);
	}
	*work = (struct live_work){ .file = work->file, .pipe = -1 };
}

/* Reads the child's answer; true: it has done its work. */
static bool wait_child(struct live_work *work, char message[MESSAGE_BYTES + 1])
{
	size_t used = 0;
	ssize_t got;
	int status = 0;

	while ((got = read(work->pipe, message + used, MESSAGE_BYTES - used)) > 0 ||
	       (got < 0 && errno == EINTR))
		used += got > 0 ? (size_t)got : 0;
	message[used] = '\0';
	while (waitpid(work->child, &status, 0) < 0 && errno == EINTR)
		;
	work->child = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
	char message[MESSAGE_BYTES + 1];
	bool made = wait_child(work, message), finished = false;
	struct shiny_err *err = NULL;

	if (!made) /* its sidecar was quicker? */
		err = is_finished(work->file, &finished);
	if (!err && !made && !finished)
		err = shiny_err(SHINY_ERR_OTHER, "%s",
				*message ? message : "the reading process was ended");
	if (err) {
		live_work_stop(work);
		return err;
	}
	*path = finished ? mem_text(work->file) : path_in(work);
	*ended = finished || !work->written;
	return NULL;
}

struct shiny_err *live_work_take(struct live_work *work, struct live_sample *out)
{
	AUTO_FREE char *path = NULL;
	struct shiny_err *err;

	*out = (struct live_sample){ .clock = work->clock };
	SHINY_TRY(live_work_file(work, &path, &out->ended));
	err = load(path, out);
	live_work_stop(work);
	return err;
}

uint64_t live_sample_pause(uint64_t took)
{
	static const uint64_t least = UINT64_C(1000000000);

	return 4 * took > least ? 4 * took : least;
}
