/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished.c: see unfinished.h.
 *
 * With a plain LD_PRELOAD nobody waits for the sidecar: who asks in the seconds after a program's
 * end would be told of no allocations, as sums are written last. What the file says of its
 * processes is up to a second old, so one look that finds them running is not believed. A whole
 * file is closed by its writer within a moment; it is read after two seconds in any case.
 */
#define _GNU_SOURCE
#include "unfinished.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "../base/progress.h"
#include "../base/units.h"
#include "../store/store.h"

enum { UNFINISHED_LOOK_MS = 100, UNFINISHED_SETTLED_LOOKS = 20, UNFINISHED_LOOKS = 1200 };

struct unfinished {
	bool complete, runs;
	uint64_t events;
};

static bool is_alive(int64_t pid)
{
	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static struct shiny_err *ask(struct store *store, struct unfinished *out)
{
	struct query *query = NULL;
	bool row = false;
	struct shiny_err *err =
		store_query(store, "SELECT COALESCE(SUM(count), 0) FROM events", &query);

	if (!err && !(err = query_step(query, &row)) && row)
		out->events = (uint64_t)query_number(query, 0);
	query_end(query);
	query = NULL;
	if (!err)
		err = store_query(store, "SELECT pid FROM process WHERE ending = 'running'",
				  &query);
	while (!err && !(err = query_step(query, &row)) && row)
		out->runs = out->runs || is_alive(query_number(query, 0));
	query_end(query);
	return err;
}

static struct shiny_err *look(const char *path, struct unfinished *out)
{
	struct store *store;
	struct shiny_err *err = store_open(path, &store);

	*out = (struct unfinished){ 0 };
	if (err)
		return err;
	out->complete = store_complete(store);
	if (!out->complete)
		err = ask(store, out);
	store_close(store);
	return err;
}

static struct shiny_err *refuse(const char *path, const struct unfinished *now)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "%s is still being written: %s so far; sums by process, "
					  "type and call site come "
					  "at its end",
					  path, units_noun(UNITS_NOUN_BUF, now->events, "event")),
				"wait for it; or `shinyctl collect --out NOW.shiny %s` makes a "
				"whole session of what is there",
				path);
}

struct shiny_err *unfinished_wait(const char *path, bool sums)
{
	struct unfinished now = { .complete = true };
	unsigned settled = 0, looks = 0;
	struct progress progress;

	if (!store_is_written(path))
		return NULL;
	progress_begin(&progress, "waiting for the session's end", true);
	while (store_is_written(path) && looks++ < UNFINISHED_LOOKS &&
	       settled < UNFINISHED_SETTLED_LOOKS) {
		struct shiny_err *err = look(path, &now);

		if (err) { /* what it lacks yet, or will never have, is for the verb to say */
			progress_end(&progress);
			shiny_err_free(err);
			return NULL;
		}
		settled = now.runs || now.complete ? settled + 1 : 0;
		progress_set(&progress, now.events, 0);
		nanosleep(&(struct timespec){ .tv_nsec = UNFINISHED_LOOK_MS * 1000000L }, NULL);
	}
	progress_end(&progress);
	return !sums || now.complete || !store_is_written(path) ? NULL : refuse(path, &now);
}
