/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.c: a session from its lock to its finished file.
 *
 * Runs: sidecar. Signals: stop.h. Allocates: yes. Threads: one; resolve_ahead.c, answers.c,
 * guests.c, errands.c and heartbeat.c start others.
 */
#define _GNU_SOURCE
#include "sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "access/accesses.h"
#include "commit.h"
#include "directory.h"
#include "intake/pace.h"
#include "loop.h"
#include "new_rings.h"
#include "output/finish.h"
#include "proc/errands.h"
#include "process/answers.h"
#include "process/notices.h"
#include "process/unrecorded.h"
#include "ring/guests.h"
#include "ring/heartbeat.h"
#include "ring/spill.h"
#include "ring/torn.h"
#include "ring_end.h"
#include "round.h"
#include "session_file.h"
#include "session_setup.h"
#include "snapshot_requests.h"
#include "stop.h"

#define MS UINT64_C(1000000)

enum { LOCK_TRIES = 100 };

static const struct timespec lock_pause = { .tv_nsec = 10 * MS };

struct shiny_err *sidecar_lock(const char *directory, int *out)
{
	char *path = mem_format("%s/%s", directory, SHINY_SIDECAR_LOCK);
	struct shiny_err *err = NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool locked = false;

	/* A process that only tests for a sidecar holds the lock for a moment: on a busy machine
	 * until it runs again. */
	for (int i = 0; fd >= 0 && !locked && i < LOCK_TRIES; i++)
		if (!(locked = !flock(fd, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK)
			nanosleep(&lock_pause, NULL);
	if (locked && ftruncate(fd, 0)) /* the contents are of a sidecar that was killed */
		locked = false;
	if (fd < 0)
		err = shiny_err_os(errno, "cannot open the session directory %s", directory);
	else if (!locked)
		err = errno == EWOULDBLOCK
			      ? shiny_err_advise(
					shiny_err(
						SHINY_ERR_OTHER,
						"%s: another sidecar serves this session directory",
						directory),
					"wait for it: it ends by itself and writes the session "
					"file")
			      : shiny_err_os(errno, "cannot lock %s", path);
	free(path);
	if (!err)
		*out = fd;
	else if (fd >= 0)
		close(fd);
	return err;
}

static void read_boot_id(uint8_t *out)
{
	char text[64] = "";
	unsigned n = 0;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file && fgets(text, sizeof(text), file))
		for (char *at = text; at[0] && at[1] && n < 16; at += *at == '-' ? 1 : 2) {
			unsigned byte;

			if (*at != '-' && sscanf(at, "%2x", &byte) == 1)
				out[n++] = (uint8_t)byte;
		}
	if (file)
		fclose(file);
}

static struct shiny_err *nothing_recorded(const char *directory)
{
	static const char advice[] =
		"`shinyctl doctor PROGRAM` says why a program cannot be recorded";
	char *first = unrecorded_first(directory);
	struct shiny_err *err;

	err = first ? shiny_err(SHINY_ERR_OTHER, "%s: nothing was recorded: %s", directory, first)
		    : shiny_err(
			      SHINY_ERR_OTHER,
			      "%s: no ring: no program that loads libshiny.so ran in this session",
			      directory);
	free(first);
	return shiny_err_advise(err, advice);
}

/*
 * Ends a session on request: takes all present records, also of new rings. Programs that still run
 * continue; each is counted as a loss, as its later records are missing.
 */
static void end_early(struct session *session, struct directory *dir)
{
	uint64_t told = ticks_now(&session->output.ticks);

	do {
		output_fail(&session->output, new_rings_take(session, dir));
		round_run(session);
		if (session->rings.behind && commit_is_due(session)) /* a round stops there */
			commit_session(session);
	} while ((ring_end_check(session, dir) || dir->look ||
		  (session->rings.behind && session->output.applied_until < told)) &&
		 !session->output.err);
	for (size_t i = 0; i < session->rings.present.count; i++)
		session->output.noticed.told_to_end += !session->rings.present.at[i]->over;
}

/* Ends the session and commits, when all programs have ended or a stop was requested. */
static void end(struct session *session, struct directory *dir)
{
	if (stop_asked())
		end_early(session, dir);
	session->output.noticed.lost_chunks += spill_left(session->rings.spill, NULL);
	/* except those of known rings, which close_ring has counted */
	for (size_t i = 0; i < session->rings.all.count; i++)
		session->output.noticed.lost_chunks -=
			spill_left(session->rings.spill, session->rings.all.at[i]);
	errands_take_last(session->people.errands, session);
	notices_settle(session, 0, true);
	accesses_end(session->accesses, &session->output);
	new_rings_note_rest(&session->output, dir);
	commit_session(session);
}

static void get_processor(void *priority)
{
	priority_late(priority);
}

static struct shiny_err *run(struct session *session, struct directory *dir,
			     struct sidecar_summary *out)
{
	struct output *output = &session->output;
	struct rings *rings = &session->rings;
	struct sidecar_summary summary = { 0 };
	struct store_totals totals;
	struct shiny_err *err;

	rings->spill = spill_open(dir->path, session->options->spill);
	if (!session->options->leftover)
		rings->heartbeat = heartbeat_start(&output->ticks, get_processor, &rings->priority);
	session->accesses = accesses_begin(session->options, output);
	err = loop_serve(session, dir);
	heartbeat_stop(rings->heartbeat);
	rings->heartbeat = NULL;
	snapshots_end(session, dir);
	directory_say_finishing(rings, dir, true);
	pace_end(rings);

	if (err)
		output_fail(output, err);
	if (!output->store)
		return output->err ? output->err : nothing_recorded(dir->path);
	if (!output->err)
		end(session, dir);
	if (!output->err)
		finish_session(session, &summary);
	if (!output->err) {
		output_fail(output, store_finish(output->store, &totals));
		output->store = NULL;
	}
	if (output->err) {
		if (commit_holds_all(session) && !session->options->keep_rings)
			directory_remove(rings, dir);
		return commit_failed(session, dir->path, output->err);
	}
	summary.sites = totals.sites;
	summary.types = totals.types;
	summary.log_left = totals.log_left;
	spill_close(rings->spill, true);
	rings->spill = NULL;
	if (!session->options->keep_rings)
		summary.late = directory_remove(rings, dir) && !stop_asked();
	snprintf(summary.path, sizeof(summary.path), "%s", output->path);
	*out = summary;
	return NULL;
}

/* Tells writers not to wait, as these rings are not drained any more. */
static void leave_rings(struct rings *rings)
{
	for (size_t i = 0; i < rings->all.count; i++)
		if (rings->all.at[i]->header)
			__atomic_store_n(&rings->all.at[i]->header->sidecar_beat, 0,
					 __ATOMIC_RELAXED); /* [ctl] */
}

struct shiny_err *sidecar_run(const struct sidecar_options *options, struct sidecar_summary *out)
{
	struct session *session = session_create(options, options->memory_period);
	struct directory dir = { .path = options->directory, .lock = -1 };
	struct stop_actions stop;
	struct sigaction torn;
	struct shiny_err *err;
	struct stat namespace;

	session->symbols.stop = stop_hurried;
	priority_init(&session->rings.priority);
	if (!options->leftover)
		session->people.answers = answers_start();
	if (!options->leftover)
		session->people.errands = errands_start();
	read_boot_id(session->rings.boot_id);
	if (options->guests_fd >= 0)
		session->rings.guests = guests_start(options->directory, options->guests_fd,
						     session->rings.boot_id);
	if (stat("/proc/self/ns/pid", &namespace) == 0)
		session->people.pid_namespace = namespace.st_ino;
	err = session_file_check(options);
	if (!err)
		err = options->lock_fd >= 0 ? NULL : sidecar_lock(dir.path, &dir.lock);
	dir.held = options->lock_fd >= 0 ? options->lock_fd : dir.lock;
	if (!err) {
		stop_begin(&stop);
		torn_begin(&torn);
		store_be_patient(commit_try_again, session);
		err = run(session, &dir, out);
		store_be_patient(NULL, NULL);
		stop_end(&stop);
		torn_end(&torn);
	}
	if (err)
		leave_rings(&session->rings);
	directory_deinit(&dir);
	session_destroy(session);
	return err;
}

struct shiny_err *sidecar_run_late(const struct sidecar_options *options,
				   struct sidecar_summary *summary)
{
	struct sidecar_options late = *options;
	struct shiny_err *err;
	int lock;

	*summary = (struct sidecar_summary){ 0 };
	late.launcher_fd = -1;
	late.guests_fd = -1; /* closed with the first session */
	late.force = late.leftover = false;
	late.numbered = true;
	err = sidecar_lock(options->directory, &lock);
	if (err) { /* another sidecar serves it, or it was removed */
		shiny_err_free(err);
		return NULL;
	}
	late.lock_fd = lock;
	err = sidecar_run(&late, summary);
	close(lock);
	return err;
}
