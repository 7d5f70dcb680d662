/* SPDX-License-Identifier: Apache-2.0 */
/* new_rings.c: see new_rings.h. */
#define _GNU_SOURCE
#include "new_rings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/row_order.h"
#include "access/access_ask.h"
#include "access/accesses.h"
#include "process/lifecycle.h"
#include "process/notices.h"
#include "process/unrecorded.h"
#include "ring/heartbeat.h"
#include "session_file.h"
#include "snapshot/snapshot_ask.h"
#include "snapshot/snapshot_asked.h"

enum { NOTES = 16 }; /* most notes about files that are no rings */
enum { MAKERS = 256 }; /* most unfinished rings that are tried at each look */
enum { PART = 16384 }; /* most known refusals that are passed over in a part of a look */
enum { TRIED = 16 }; /* a file that is tried, and is no ring, counts as so many of them */
enum { BEFORE_MOST = 1 << 20 }; /* more chunks than a sidecar reads between two commits */
#define PATIENCE UINT64_C(5000000000) /* ns to wait for the end of a ring's creation */

static bool has_prefix(const char *file, const char *prefix)
{
	return !strncmp(file, prefix, strlen(prefix));
}

static struct shiny_err *take_ring(struct rings *rings, struct output *output,
				   struct ring_file *ring)
{
	bool foreign = memcmp(ring->boot_id, rings->boot_id, sizeof(ring->boot_id)) != 0;
	uint32_t before;

	if (!output->ticks_known) {
		ticks_init(&output->ticks, ring->clock, ring->start_ticks, ring->start_boottime,
			   ring->ticks_per_second, foreign);
		output->ticks_known = true;
		output->start_realtime = ring->start_realtime;
	} else if (ring->clock != output->ticks.kind || foreign != output->ticks.foreign) {
		struct shiny_err *err =
			shiny_err(SHINY_ERR_OTHER,
				  "%s: its clock is %" PRIu32 "%s, the session's %" PRIu32 "%s",
				  ring->path, ring->clock, foreign ? " of another boot" : "",
				  output->ticks.kind,
				  output->ticks.foreign ? " of another boot" : "");
		ring_close(ring);
		return err;
	}
	ring->foreign = foreign;
	/* [taken] */
	before = __atomic_load_n(&ring->header->uncommitted, __ATOMIC_RELAXED);
	if (before <= BEFORE_MOST)
		ring->told_before = before;
	else
		ring->lies = true;
	output->noticed.drained_before += ring->told_before;
	/* programs take a pid without a beat for a sidecar that has given up */
	/* [ctl] */
	__atomic_store_n(&ring->header->sidecar_beat, ticks_now(&output->ticks), __ATOMIC_RELAXED);
	/* [ctl] */
	__atomic_store_n(&ring->header->sidecar_low, rings->priority.low, __ATOMIC_RELAXED);
	/* [ctl] */
	__atomic_store_n(&ring->header->sidecar_pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
	*vec_push(&rings->all) = ring;
	*vec_push(&rings->present) = ring;
	heartbeat_add(rings->heartbeat, ring);
	return NULL;
}

ORDER_BY(by_start, struct ring_file *const, ORDER_VALUES((*a)->start_ticks, (*b)->start_ticks))

/* Takes a mark from outside (wire.h): writes it to the session and removes its file. */
static void take_mark(struct output *output, int directory, const char *file)
{
	char name[SHINY_TAG_NAME_MAX + 1] = "";
	uint64_t boottime = strtoull(file + strlen(SHINY_MARK_PREFIX), NULL, 10),
		 start = output->ticks.read_boottime;
	int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, name, sizeof(name) - 1) : -1;

	if (fd >= 0)
		close(fd);
	unlinkat(directory, file, 0);
	if (bytes > 0 && name[0])
		OUTPUT_PUT(output, store_put_mark,
			   &(struct store_mark){ .time = boottime > start ? boottime - start : 0,
						 .name = name });
}

/* Scans the processes of known rings first, as files of the directory name them as parents. */
static void scan_known_rings(struct session *session)
{
	for (size_t i = 0; i < session->rings.present.count; i++) {
		struct ring_file *ring = session->rings.present.at[i];

		if (!ring->over)
			process_scan(session, ring);
		notices_read(session, ring); /* a ring's notices are older than the rings that
		                              * answer them */
	}
}

/*
 * Opens a ring that is not served yet. NULL: it is served, or cannot be read now or ever; `err`
 * says why. Unfinished rings are tried at each look, as their first records can follow in the same
 * moment and are late at a later look. Only beyond MAKERS of them, which are hardly rings, older
 * ones are tried ever more rarely.
 */
static struct ring_file *open_if_new(struct session *session, struct directory *dir,
				     const char *file, struct shiny_err **err)
{
	struct refusal *refusal = directory_refusal(dir, file);
	struct ring_file *ring = NULL;
	bool patient;
	char *path;

	dir->passed += refusal != NULL;
	if (refusal)
		refusal->there = true;
	if (refusal && (refusal->told ||
			(dir->making >= MAKERS && dir->scanned < refusal->again))) {
		dir->making += !refusal->told;
		return NULL;
	}
	path = mem_format("%s/%s", dir->path, file);
	if (directory_serves(&session->rings, path)) {
		free(path);
		return NULL;
	}
	patient = !session->options->leftover &&
		  !(refusal && dir->scanned - refusal->since > PATIENCE);
	*err = ring_open(path, patient, &ring);
	free(path);
	if (ring) {
		if (refusal)
			refusal->there = false;
		return ring;
	}
	refusal = directory_refuse(dir, file, dir->scanned);
	refusal->again = dir->scanned + (dir->scanned - refusal->since);
	refusal->there = true;
	refusal->told = *err;
	dir->making += !*err;
	dir->passed += TRIED;
	return NULL;
}

/* Writes a note, if there is a session file; else keeps the first error. Only the first NOTES files
 * are named, as anybody can create any number. */
static void note_error(struct session *session, struct directory *dir, struct shiny_err *err)
{
	if (err && session->output.store && dir->noted++ < NOTES)
		OUTPUT_PUT(&session->output, store_put_note, 0, err->message);
	if (err && !session->output.store && !dir->first)
		dir->first = err;
	else
		shiny_err_free(err);
}

void new_rings_note_rest(struct output *output, const struct directory *dir)
{
	char text[100];

	if (dir->noted <= NOTES)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " more files in the session directory could not be read as rings",
		 dir->noted - NOTES);
	OUTPUT_PUT(output, store_put_note, 0, text);
}

struct newcomers {
	VEC(struct ring_file *) rings;
};

static void take_file(struct session *session, struct directory *dir, int handle, const char *file,
		      struct newcomers *found)
{
	struct shiny_err *err = NULL;
	struct ring_file *ring;

	if (has_prefix(file, SHINY_MARK_PREFIX) && session->output.store)
		take_mark(&session->output, handle, file);
	if (has_prefix(file, SNAPSHOT_ASK_PREFIX) && session->output.store)
		snapshot_queue_take(&session->asked, handle, file);
	if (has_prefix(file, ACCESS_ASK_PREFIX) && session->output.store)
		accesses_switch(session->accesses, &session->output, handle, file);
	if (has_prefix(file, SHINY_UNRECORDED_PREFIX) && session->output.store)
		unrecorded_take(&session->people, &session->output, handle, file);
	if (!has_prefix(file, SHINY_RING_PREFIX))
		return;
	ring = open_if_new(session, dir, file, &err);
	if (ring)
		*vec_push(&found->rings) = ring;
	note_error(session, dir, err);
}

/* Serves new rings in the order of their starts: the session's time begins with its earliest
 * ring. */
static void serve_new_rings(struct session *session, struct directory *dir,
			    struct newcomers *found)
{
	if (found->rings.count)
		qsort(found->rings.at, found->rings.count, sizeof(*found->rings.at), by_start);
	for (size_t i = 0; i < found->rings.count; i++) {
		struct shiny_err *err =
			take_ring(&session->rings, &session->output, found->rings.at[i]);

		if (!err && !session->output.store)
			err = session_file_create(session, session->rings.all.at[0],
						  session->rings.all.at[0]->pid);
		if (err && !session->output.store) { /* without a session file none can be served */
			shiny_err_free(dir->first);
			dir->first = err;
			for (size_t k = i + 1; k < found->rings.count; k++)
				ring_close(found->rings.at[k]);
			return;
		}
		note_error(session, dir, err);
	}
}

/* Begins a look. Returns 0, or the errno of what makes it impossible. */
static int begin(struct directory *dir)
{
	dir->look = opendir(dir->path);
	if (!dir->look)
		return errno;
	dir->making = 0;
	for (size_t i = 0; i < dir->refusals.count; i++)
		dir->refusals.at[i].there = false;
	return 0;
}

/* Does a part of a look: nobody waits for the sidecar of a session whose programs have ended. */
static void look(struct session *session, struct directory *dir, struct newcomers *found)
{
	const struct dirent *entry = NULL;

	dir->passed = 0;
	while ((dir->passed < PART || session->options->leftover) && (entry = readdir(dir->look)))
		take_file(session, dir, dirfd(dir->look), entry->d_name, found);
	if (entry)
		return;
	closedir(dir->look);
	dir->look = NULL;
	directory_forget_refusals(dir);
}

struct shiny_err *new_rings_take(struct session *session, struct directory *dir)
{
	struct newcomers found = { 0 };
	struct shiny_err *first;
	int why = 0;

	/* before asking for changes and reading: files older than that are seen */
	dir->scanned = ticks_wall_ns();
	session->rings.looked = session->output.ticks_known ? ticks_now(&session->output.ticks) : 0;
	if (!dir->look && !directory_is_still(dir))
		why = begin(dir);
	scan_known_rings(session);
	if (why && !(why == ENOENT && session->rings.all.count))
		return shiny_err_os(why, "cannot read the session directory %s", dir->path);
	if (!dir->look)
		return NULL;
	look(session, dir, &found);
	serve_new_rings(session, dir, &found);
	free(found.rings.at);
	first = dir->first;
	if (dir->look || !first)
		return NULL;
	dir->first = NULL;
	if (!session->output.store)
		return first;
	note_error(session, dir, first); /* found before there was a session file */
	return NULL;
}
