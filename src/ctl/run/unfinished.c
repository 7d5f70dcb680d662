/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unfinished.c: see unfinished.h.
 *
 * With a plain LD_PRELOAD no process waits for the sidecar. It writes sums last, so a report made
 * in the seconds after a program's end would show no allocations. The file's list of processes is
 * up to a second old: one poll that finds them running does not count. The writer closes a complete
 * file within a moment; after two seconds the file is read even if it is still open.
 */
#define _GNU_SOURCE
#include "unfinished.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "../../base/cleanup.h"
#include "../../base/progress.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../../store/contents.h"

enum { UNFINISHED_POLL_MS = 100, UNFINISHED_SETTLED_POLLS = 20, UNFINISHED_POLLS = 1200 };

struct unfinished {
	bool complete, runs;
	uint64_t events;
};

static bool note_alive(void *context, int64_t pid)
{
	struct unfinished *out = context;

	out->runs = pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
	return !out->runs;
}

static struct shiny_err *read_state(const char *path, struct unfinished *out)
{
	struct store *store;
	struct shiny_err *err = store_open(path, &store);

	*out = (struct unfinished){ 0 };
	if (err)
		return err;
	out->complete = store_complete(store);
	if (!out->complete)
		err = contents_event_count(store, &out->events);
	if (!err && !out->complete)
		err = contents_each_running(store, note_alive, out);
	store_close(store);
	return err;
}

static struct shiny_err *refuse(const char *path, const struct unfinished *now)
{
	AUTO_FREE char *file = text_shell(path);

	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "%s is still being written: %s so far; sums by process, "
					  "type and call site come "
					  "at its end",
					  path, units_noun(UNITS_NOUN_BUF, now->events, "event")),
				"wait for it; or `shinyctl collect --out NOW.shiny %s` makes a "
				"whole session of what is there",
				file);
}

struct shiny_err *unfinished_wait(const char *path, bool sums)
{
	struct unfinished now = { .complete = true };
	unsigned settled = 0, polls = 0;
	struct progress progress;

	if (!store_is_written(path))
		return NULL;
	progress_begin(&progress, "waiting for the session's end", true);
	while (store_is_written(path) && polls++ < UNFINISHED_POLLS &&
	       settled < UNFINISHED_SETTLED_POLLS) {
		struct shiny_err *err = read_state(path, &now);

		if (err) { /* the verb reports what is missing */
			progress_end(&progress);
			shiny_err_free(err);
			return NULL;
		}
		settled = now.runs || now.complete ? settled + 1 : 0;
		progress_set(&progress, now.events, 0);
		nanosleep(&(struct timespec){ .tv_nsec = UNFINISHED_POLL_MS * 1000000L }, NULL);
	}
	progress_end(&progress);
	return !sums || now.complete || !store_is_written(path) ? NULL : refuse(path, &now);
}
