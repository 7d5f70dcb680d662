/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c: the writing half of store.h: creates, commits and finishes a file, and writes its
 * events. write_rows.c puts the rows of the tables.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one a store.
 *
 * The file is in WAL mode while it is recorded: a transaction is open from the first put to
 * store_commit, and a crash leaves the last commit. Nothing is synced to the disk before the end:
 * data that the kernel has survives the death of the process at any step, and a disk that is slow
 * to sync would hold up the sidecar, and with it the program whose ring fills meanwhile. Only a
 * power cut may destroy an unfinished file. store_finish syncs, checkpoints and leaves WAL mode, so
 * that one file remains, unless a reader stays connected. The writer holds a flock on the file
 * (SQLite's own locks are fcntl locks, and independent of it): it tells readers whether an
 * incomplete file is still being written or was left behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "blank.h"
#include "file.h"
#include "patient.h"
#include "row_writer.h"

enum { LOG_TRIES = 100, BEGIN_MS = 10000, END_MS = 1000 };
static const struct timespec log_pause = { .tv_nsec = 10000000 };

/* ---- opening and closing ---- */

/* Connects to the file. `what`: verb of the error's message ("make", "write"). */
static struct shiny_err *open_connection(struct store *store, const char *what)
{
	int code = sqlite3_open_v2(store->path, &store->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (code != SQLITE_OK)
		return db_error(store, code, what);
	sqlite3_extended_result_codes(store->db, 1);
	/* SQLite waits up to 10 s for readers of a live session */
	sqlite3_busy_timeout(store->db, 10000);
	return NULL;
}

static struct shiny_err *connect_for_recording(struct store *store)
{
	SHINY_TRY(open_connection(store, "make"));
	/* cache in KiB; a checkpoint of the log every 4096 pages */
	return db_exec(store,
		       "PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA temp_store = "
		       "MEMORY; PRAGMA wal_autocheckpoint = 4096",
		       "make");
}

/*
 * Switches to WAL mode. The first process that opens the file then owns the log's companions. If
 * that is root, reading the file just when its header names a log, SQLite creates them as root's
 * and gives them to the file's owner a moment later. A connection that opened them in between stays
 * read-only, so this function connects again.
 */
static struct shiny_err *begin_log(struct store *store)
{
	for (int tries = 0;; tries++) {
		struct shiny_err *err =
			db_exec_patiently(store, "PRAGMA journal_mode = WAL", "make", BEGIN_MS);
		int code;

		if (!err)
			err = db_exec(store, "BEGIN IMMEDIATE; COMMIT", "make");
		code = err ? sqlite3_errcode(store->db) & 0xff : SQLITE_OK;
		if ((code != SQLITE_READONLY && code != SQLITE_CANTOPEN) || tries == LOG_TRIES)
			return err;
		shiny_err_free(err);
		sqlite3_close(store->db);
		nanosleep(&log_pause, NULL);
		SHINY_TRY(connect_for_recording(store));
	}
}

static struct shiny_err *open_for_writing(struct store *store, bool with_events)
{
	patient_begin();
	SHINY_TRY(blank_write(store->path, store->fd));
	SHINY_TRY(connect_for_recording(store));
	SHINY_TRY(begin_log(store));
	if (with_events)
		SHINY_TRY(pack_behind_create(&store->writer->behind));
	return store_put_number(store, "with_events", with_events);
}

static void writer_free(struct store *store)
{
	struct store_writer *w = store->writer;

	if (!w)
		return;
	row_finalize(w);
	pack_behind_destroy(w->behind);
	texts_deinit(&w->functions);
	texts_deinit(&w->sources);
	stack_tails_deinit(&w->tails);
	free(w->calls.at);
	row_image_deinit(&w->image);
	free(w->lines.at);
	free(w->stacks.at);
	free(w->sites.of_stack);
	free(w->stats.at);
	by_site_deinit(&w->by_site);
	free(w);
	store->writer = NULL;
}

static struct store *new_writer(const char *path, int fd)
{
	struct store *store = mem_zero(1, sizeof(*store));

	store->path = mem_text(path);
	store->writer = mem_zero(1, sizeof(*store->writer));
	db_hold(store, fd);
	return store;
}

struct shiny_err *store_create(const char *path, bool force, bool with_events, struct store **out)
{
	struct store *store;
	struct shiny_err *err;
	int fd;

	SHINY_TRY(file_make(path, force, &fd));
	store = new_writer(path, fd);
	err = open_for_writing(store, with_events);
	if (!err)
		err = store_commit(store);
	if (err) {
		store_abandon(store);
		store_remove(path);
		return err;
	}
	*out = store;
	return NULL;
}

/*
 * Opens a finished file, which is in rollback mode: a transaction is stored as a whole or not at
 * all. The flock tells readers that the file is being written.
 */
static struct shiny_err *open_for_more(struct store *store)
{
	SHINY_TRY(open_connection(store, "write"));
	SHINY_TRY(db_exec(store,
			  "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; BEGIN IMMEDIATE",
			  "write"));
	store->writer->in_transaction = true;
	return NULL;
}

struct shiny_err *store_append(const char *path, struct store **out)
{
	struct store *store;
	struct shiny_err *err;
	bool complete;
	int fd;

	SHINY_TRY(store_open(path, &store)); /* checks the file */
	complete = store_complete(store);
	store_close(store);
	if (!complete)
		return shiny_err(SHINY_ERR_OTHER, "the session %s is not finished", path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return shiny_err_os(errno, "cannot write the session %s", path);
	store = new_writer(path, fd);
	err = file_lock(fd) ? open_for_more(store)
			    : shiny_err_os(errno, "cannot write the session %s", path);
	if (err) {
		store_abandon(store);
		return err;
	}
	*out = store;
	return NULL;
}

static struct shiny_err *write_block(struct store *store, const struct block *block)
{
	struct row_writer row = row_begin(store, STATEMENT_EVENTS);
	row_put_number(&row, block->first);
	row_put_number(&row, block->last);
	row_put_number(&row, block->count);
	row_put_number(&row, store->writer->checkpoint);
	row_put_blob(&row, block->data, block->bytes);
	SHINY_TRY(row_end(&row));

	uint64_t id = store->writer->last_block = (uint64_t)sqlite3_last_insert_rowid(store->db);
	for (size_t i = 0; i < block->process_count; i++) {
		row = row_begin(store, STATEMENT_EVENTS_PROCESS);
		row_put_number(&row, block->processes[i]);
		row_put_number(&row, id);
		SHINY_TRY(row_end(&row));
	}
	return NULL;
}

/* Writes the blocks that are packed. */
static struct shiny_err *write_blocks(struct store *store)
{
	struct pack_behind *behind = store->writer->behind;
	const struct block *block;

	for (;;) {
		SHINY_TRY(pack_behind_take(behind, &block));
		if (!block)
			return NULL;
		SHINY_TRY(write_block(store, block));
		pack_behind_taken(behind);
	}
}

struct shiny_err *store_event_room(struct store *store, struct event **out, size_t *room)
{
	struct pack_behind *behind = store->writer->behind;
	struct event *events = NULL;

	while (behind && !(events = pack_behind_room(behind, room)))
		SHINY_TRY(write_blocks(store));
	*out = events;
	return NULL;
}

void store_take_events(struct store *store, size_t count)
{
	pack_behind_put(store->writer->behind, count);
}

struct shiny_err *store_put_events(struct store *store, const struct event *events, size_t count)
{
	struct event *to;
	size_t some;

	for (; count; count -= some, events += some) {
		SHINY_TRY(store_event_room(store, &to, &some));
		if (!to)
			return NULL;
		some = some < count ? some : count;
		memcpy(to, events, some * sizeof(*events));
		store_take_events(store, some);
	}
	return NULL;
}

/* Writes all events that were put. */
static struct shiny_err *end_blocks(struct store *store)
{
	struct pack_behind *behind = store->writer->behind;

	while (behind && !pack_behind_end(behind))
		SHINY_TRY(write_blocks(store));
	return NULL;
}

struct shiny_err *store_put_checkpoint(struct store *store, uint64_t checkpoint, uint64_t *block)
{
	SHINY_TRY(end_blocks(store));
	store->writer->checkpoint = checkpoint;
	*block = store->writer->last_block + 1;
	return NULL;
}

struct shiny_err *store_put_kept(struct store *store, uint64_t checkpoint, uint32_t process,
				 const void *data, size_t bytes)
{
	struct row_writer row = row_begin(store, STATEMENT_KEPT);

	row_put_number(&row, checkpoint);
	row_put_number(&row, process);
	row_put_blob(&row, data, bytes);
	return row_end(&row);
}

struct shiny_err *store_keep_from(struct store *store, const struct store_checkpoint *base)
{
	/* of a mapping or process the latest sample before it says what was at it */
	static const char sql[] =
		"DELETE FROM events WHERE id < %1$" PRIu64 ";"
		"DELETE FROM events_process WHERE block < %1$" PRIu64 ";"
		"DELETE FROM kept WHERE checkpoint < %2$" PRIu64 ";"
		"DELETE FROM residency AS r WHERE ns < %3$" PRIu64 " AND EXISTS (SELECT 1 FROM "
		"residency n WHERE n.segment = r.segment AND n.malloc = r.malloc AND n.ns > r.ns "
		"AND n.ns <= %3$" PRIu64 ");"
		"DELETE FROM memory AS m WHERE ns < %3$" PRIu64 " AND EXISTS (SELECT 1 FROM memory "
		"n WHERE n.process = m.process AND n.ns > m.ns AND n.ns <= %3$" PRIu64 ")";
	AUTO_FREE char *gone = mem_format(sql, base->block, base->number, base->time);

	SHINY_TRY(store_put_number(store, "kept_checkpoint", base->number));
	SHINY_TRY(store_put_number(store, "kept_block", base->block));
	SHINY_TRY(store_put_number(store, "kept_from_ns", base->time));
	return db_exec(store, gone, "write");
}

/* Drops the checkpoints that no reader of a finished session needs; call in a transaction. */
static struct shiny_err *drop_checkpoints(struct store *store)
{
	if (!store->writer->behind)
		return NULL;
	return db_exec(store,
		       "DELETE FROM events_process WHERE block IN (SELECT id FROM events WHERE "
		       "NOT " STORE_EVENTS_READ "); DELETE FROM events WHERE NOT " STORE_EVENTS_READ
		       "; DELETE FROM kept",
		       "finish");
}

struct shiny_err *store_commit(struct store *store)
{
	struct store_writer *w = store->writer;

	SHINY_TRY(end_blocks(store));
	SHINY_TRY(row_put_waiting(store));
	SHINY_TRY(row_put_image(store));
	if (!w->in_transaction)
		return NULL;
	SHINY_TRY(db_exec(store, "COMMIT", "write"));
	w->in_transaction = false;
	return row_drop_images(store);
}

void store_abandon(struct store *store)
{
	if (!store)
		return;
	writer_free(store);
	db_close(store);
}

/* ---- the end ---- */

static struct shiny_err *count_totals(struct store *store, struct store_totals *out)
{
	AUTO_QUERY struct query *query = NULL;
	bool row = false;

	SHINY_TRY(store_query(
		store,
		"SELECT COUNT(DISTINCT NULLIF(s.site, 0)), COUNT(DISTINCT y.name) FROM site_stat s "
		"LEFT JOIN type y ON y.id = s.type",
		&query));
	SHINY_TRY(query_step(query, &row));
	*out = (struct store_totals){ .sites = (uint64_t)query_number(query, 0),
				      .types = (uint64_t)query_number(query, 1) };
	return NULL;
}

/* Leaves WAL mode. A reader that stays connected prevents deleting the log; the file is finished
 * then, too: the log is empty, or is read with it (store_open.c). */
static struct shiny_err *end_log(struct store *store)
{
	struct shiny_err *err =
		db_exec_patiently(store, "PRAGMA journal_mode = DELETE", "finish", END_MS);

	if (err && (sqlite3_errcode(store->db) & 0xff) == SQLITE_BUSY) {
		shiny_err_free(err);
		return NULL;
	}
	return err;
}

/* Moves the log, in which all is committed, into the file; false: the disk refuses, and the log
 * stays. */
static bool empty_log(struct store *store)
{
	struct shiny_err *err = db_exec(
		store, "PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(TRUNCATE)", "finish");

	if (!err)
		err = end_log(store);
	shiny_err_free(err);
	return !err;
}

static struct shiny_err *finish(struct store *store, struct store_totals *totals)
{
	SHINY_TRY(row_put_statistics(store));
	SHINY_TRY(store_put_number(store, "complete", 1));
	SHINY_TRY(end_blocks(store));
	SHINY_TRY(drop_checkpoints(store));
	SHINY_TRY(store_commit(store));
	SHINY_TRY(count_totals(store, totals));
	row_finalize(store->writer);
	totals->log_left = !empty_log(store) && file_has_log(store->path);
	return NULL;
}

struct shiny_err *store_finish(struct store *store, struct store_totals *totals)
{
	struct store_totals counted = { 0 };
	struct shiny_err *err = finish(store, &counted);

	if (!err && totals)
		*totals = counted;
	store_abandon(store);
	return err;
}
