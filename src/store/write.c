/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write.c: the writing half of store.h.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one a store.
 *
 * The file is in WAL mode while it is recorded: a transaction is open from the first put to
 * store_commit, a crash leaves the last commit. Nothing is synced to the disk before the end: what
 * the kernel has survives the death of the process at any step, and a disk that is slow to sync
 * would hold up the sidecar, and with it the program whose ring fills meanwhile. Only a power cut
 * may take an unfinished file. store_finish syncs, checkpoints and leaves rollback mode, so that
 * one file remains. The writer holds a flock on the file (SQLite's own locks are fcntl locks, and
 * independent of it): a reader tells by it whether a file that is not complete is still being
 * written or was left behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/texts.h"
#include "by_site.h"
#include "db.h"
#include "file.h"
#include "pack_behind.h"
#include "row_columns.h"

enum { LOG_TRIES = 100 };
static const struct timespec log_pause = { .tv_nsec = 10000000 };

/* Statements beside those of store_rows.def: name, SQL. Prepared at first use. */
#define STATEMENTS(X)                                                                             \
	X(SESSION, "INSERT OR REPLACE INTO session VALUES (?, ?)")                                \
	X(FUNCTION, "INSERT INTO function VALUES (?, ?)")                                         \
	X(SOURCE, "INSERT INTO source VALUES (?, ?)")                                             \
	X(FRAME, "INSERT OR REPLACE INTO frame VALUES (?, ?, ?)")                                 \
	X(FRAME_LINES_GONE, "DELETE FROM frame_line WHERE frame = ?")                             \
	X(FRAME_LINE, "INSERT INTO frame_line VALUES (?, ?, ?, ?, ?, ?)")                         \
	X(WRAPPER, "INSERT OR REPLACE INTO wrapper VALUES (?)")                                   \
	X(STACK, "INSERT OR REPLACE INTO stack VALUES (?, NULL, ?, ?, ?, ?, ?, ?, ?)")            \
	X(STACK_TAIL, "INSERT INTO stack_tail VALUES (?, ?, ?, ?, ?, ?, ?, ?)")                   \
	X(TAG, "INSERT INTO tag VALUES (?, ?)")                                                   \
	X(PAGES_GONE, "DELETE FROM page WHERE process = ?")                                       \
	X(SESSION_PEAK, "INSERT OR REPLACE INTO session_peak VALUES (1, ?, ?, ?)")                \
	X(COUNTER, "INSERT OR REPLACE INTO counter VALUES (?, ?, ?, ?, ?)")                       \
	X(SNAPSHOT_PART, "INSERT INTO snapshot_part VALUES (?, ?, ?, ?, ?)")                      \
	X(NOTE, "INSERT INTO note VALUES (?, ?)")                                                 \
	X(BROWSER_NAME, "INSERT INTO browser_name VALUES (?, ?)")                                 \
	X(BROWSER_SAMPLE, "INSERT INTO browser_sample SELECT ?1, ?2, COALESCE((SELECT p.id FROM " \
			  "process p WHERE p.pid = ?3 AND p.start_ns <= t.ns "                    \
			  "ORDER BY p.start_ns DESC, p.id DESC LIMIT 1), 0), ?3, t.ns, ?5 FROM "  \
			  "(SELECT max(0, ?4 - (SELECT s.value FROM session s WHERE "             \
			  "s.key = 'started_boottime_ns')) AS ns) t")                             \
	X(BROWSER_ALLOCATOR, "INSERT OR REPLACE INTO browser_allocator VALUES (?, ?, ?, ?, ?)")   \
	X(BROWSER_OBJECT, "INSERT INTO browser_object VALUES (?, ?, ?, ?, ?) ON CONFLICT DO "     \
			  "UPDATE SET objects = objects + excluded.objects, "                     \
			  "bytes = bytes + excluded.bytes")                                       \
	X(EVENTS, "INSERT INTO events (first_ns, last_ns, count, data) VALUES (?, ?, ?, ?)")      \
	X(EVENTS_PROCESS, "INSERT INTO events_process VALUES (?, ?)")

enum statement {
#define X(name, sql) STATEMENT_##name,
	STATEMENTS(X)
#undef X
	STATEMENT_COUNT
};

static const char *const statement_sql[] = {
#define X(name, sql) sql,
	STATEMENTS(X)
#undef X
};

struct store_writer {
	sqlite3_stmt *statements[STATEMENT_COUNT], *rows[STORE_ROWS];
	bool in_transaction;
	struct pack_behind *behind; /* NULL without events */
	struct texts functions, sources;
	struct stack_tails tails;
	uint32_t tails_written;
	struct by_site by_site;
};

/* ---- one row ---- */

/* A row being put. Values are bound from left to right; the first trouble is kept until row_end
 * tells it. */
struct row_writer {
	struct store *store;
	sqlite3_stmt *statement;
	int next, code;
};

/* `slot`: of the statement, which is prepared from `sql` at first use. */
static struct row_writer begin_in(struct store *store, sqlite3_stmt **slot, const char *sql)
{
	struct store_writer *w = store->writer;
	struct row_writer row = { .store = store, .next = 1, .code = SQLITE_OK };

	if (!w->in_transaction) {
		row.code = sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL);
		w->in_transaction = row.code == SQLITE_OK;
	}
	if (row.code == SQLITE_OK && !*slot)
		row.code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, slot,
					      NULL);
	row.statement = *slot;
	return row;
}

static struct row_writer row_begin(struct store *store, enum statement which)
{
	return begin_in(store, &store->writer->statements[which], statement_sql[which]);
}

static void number(struct row_writer *row, uint64_t value)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_int64(row->statement, row->next++, (sqlite3_int64)value);
}

/* Valid until row_end. NULL is NULL. */
static void text(struct row_writer *row, const char *value)
{
	if (row->code == SQLITE_OK)
		row->code =
			sqlite3_bind_text(row->statement, row->next++, value, -1, SQLITE_STATIC);
}

static void blob(struct row_writer *row, const void *data, size_t bytes)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_blob64(row->statement, row->next++, data, bytes,
						SQLITE_STATIC);
}

static void null(struct row_writer *row)
{
	if (row->code == SQLITE_OK)
		row->code = sqlite3_bind_null(row->statement, row->next++);
}

static void number_or_null(struct row_writer *row, uint64_t value)
{
	if (value)
		number(row, value);
	else
		null(row);
}

SHINY_MUST_CHECK static struct shiny_err *row_end(struct row_writer *row)
{
	if (row->code == SQLITE_OK) {
		row->code = sqlite3_step(row->statement);
		if (row->code == SQLITE_DONE || row->code == SQLITE_ROW)
			row->code = SQLITE_OK;
	}
	struct shiny_err *err =
		row->code == SQLITE_OK ? NULL : db_error(row->store, row->code, "write");

	if (row->statement)
		sqlite3_reset(row->statement);
	return err;
}

/* ---- making and ending ---- */

/* `what` is tried ("make", "write"), for the message. */
static struct shiny_err *open_connection(struct store *store, const char *what)
{
	int code = sqlite3_open_v2(store->path, &store->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (code != SQLITE_OK)
		return db_error(store, code, what);
	sqlite3_extended_result_codes(store->db, 1);
	/* readers may be looking at a live session: SQLite waits for them, a little */
	sqlite3_busy_timeout(store->db, 10000);
	return NULL;
}

static struct shiny_err *connect_for_recording(struct store *store)
{
	SHINY_TRY(open_connection(store, "make"));
	/* cache in KiB; the log is taken over every 32 MiB */
	return db_exec(store,
		       "PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; PRAGMA temp_store = "
		       "MEMORY; PRAGMA wal_autocheckpoint = 4096",
		       "make");
}

/*
 * The log's companions belong to whoever comes first. Where that is root, reading our file in the
 * moment in which it is said to have a log, SQLite makes them his and gives them to the file's
 * owner a moment later. A connection that met them before that stays a reader's, so it takes a new
 * one.
 */
static struct shiny_err *begin_log(struct store *store)
{
	for (int tries = 0;; tries++) {
		struct shiny_err *err =
			db_exec_patiently(store, "PRAGMA journal_mode = WAL", "make");
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
	SHINY_TRY(connect_for_recording(store));
	/* one transaction: 400 of them cost 0.1 s, more than many a recorded program */
	SHINY_TRY(db_exec(store, "BEGIN", "make"));
	SHINY_TRY(schema_create(store));
	SHINY_TRY(db_exec(store, "COMMIT", "make"));
	SHINY_TRY(begin_log(store));
	if (with_events)
		SHINY_TRY(pack_behind_create(&store->writer->behind));
	return store_put_number(store, "with_events", with_events);
}

static void finalize(struct store_writer *w)
{
	for (int i = 0; i < STATEMENT_COUNT; i++)
		sqlite3_finalize(w->statements[i]);
	for (int i = 0; i < STORE_ROWS; i++)
		sqlite3_finalize(w->rows[i]);
	memset(w->statements, 0, sizeof(w->statements));
	memset(w->rows, 0, sizeof(w->rows));
}

static void writer_free(struct store *store)
{
	struct store_writer *w = store->writer;

	if (!w)
		return;
	finalize(w);
	pack_behind_destroy(w->behind);
	texts_deinit(&w->functions);
	texts_deinit(&w->sources);
	stack_tails_deinit(&w->tails);
	by_site_deinit(&w->by_site);
	free(w);
	store->writer = NULL;
}

struct shiny_err *store_create(const char *path, bool force, bool with_events, struct store **out)
{
	struct store *store = calloc(1, sizeof(*store));
	struct shiny_err *err;

	if (!store)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	store->lock_fd = -1;
	store->path = strdup(path);
	store->writer = calloc(1, sizeof(*store->writer));
	err = store->path && store->writer ? file_make(path, force, &store->lock_fd)
					   : shiny_err(SHINY_ERR_OTHER, "out of memory");
	if (!err) {
		err = open_for_writing(store, with_events);
		if (!err)
			err = store_commit(store);
		if (err)
			unlink(path); /* ours, new, and of no use */
	}
	if (err) {
		store_abandon(store);
		return err;
	}
	*out = store;
	return NULL;
}

/*
 * A finished file is one in rollback mode: a transaction is there as a whole or not at all. The
 * flock tells readers that somebody writes.
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

	SHINY_TRY(store_open(path, &store)); /* judges the file */
	complete = store_complete(store);
	store_close(store);
	if (!complete)
		return shiny_err(SHINY_ERR_OTHER, "the session %s is not finished", path);
	store = calloc(1, sizeof(*store));
	if (!store)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	store->lock_fd = open(path, O_RDWR | O_CLOEXEC);
	store->path = strdup(path);
	store->writer = calloc(1, sizeof(*store->writer));
	if (!store->path || !store->writer)
		err = shiny_err(SHINY_ERR_OTHER, "out of memory");
	else if (store->lock_fd < 0 || !file_lock(store->lock_fd))
		err = shiny_err_os(errno, "cannot write the session %s", path);
	else
		err = open_for_more(store);
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
	number(&row, block->first);
	number(&row, block->last);
	number(&row, block->count);
	blob(&row, block->data, block->bytes);
	SHINY_TRY(row_end(&row));

	uint64_t id = (uint64_t)sqlite3_last_insert_rowid(store->db);
	for (size_t i = 0; i < block->process_count; i++) {
		row = row_begin(store, STATEMENT_EVENTS_PROCESS);
		number(&row, block->processes[i]);
		number(&row, id);
		SHINY_TRY(row_end(&row));
	}
	return NULL;
}

/* Those that are packed by now. */
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

struct shiny_err *store_put_events(struct store *store, const struct event *events, size_t count)
{
	struct pack_behind *behind = store->writer->behind;

	while (behind && count) {
		size_t taken = pack_behind_put(behind, events, count);

		events += taken;
		count -= taken;
		if (!taken)
			SHINY_TRY(write_blocks(store));
	}
	return NULL;
}

struct shiny_err *store_commit(struct store *store)
{
	struct store_writer *w = store->writer;

	while (w->behind && !pack_behind_end(w->behind))
		SHINY_TRY(write_blocks(store));
	if (!w->in_transaction)
		return NULL;
	SHINY_TRY(db_exec(store, "COMMIT", "write"));
	w->in_transaction = false;
	return NULL;
}

void store_abandon(struct store *store)
{
	if (!store)
		return;
	writer_free(store);
	db_close(store);
}

/* ---- the rows ---- */

static struct shiny_err *put_row(struct store *store, enum store_row which, const void *values)
{
	sqlite3_stmt **slot = &store->writer->rows[which];
	struct row_column columns[ROW_COLUMNS];
	size_t count = row_columns(which, columns);
	char sql[ROW_SQL];

	if (!*slot)
		row_sql(which, sql);
	struct row_writer row = begin_in(store, slot, sql);
	for (size_t i = 0; i < count; i++) {
		const struct row_column *column = &columns[i];

		if (column->kind == COLUMN_TEXT)
			text(&row, *(const char *const *)((const char *)values + column->at));
		else if (column->kind == COLUMN_STATUS && row_number(column, values) == -1)
			null(&row);
		else
			number(&row, (uint64_t)row_number(column, values));
	}
	return row_end(&row);
}

#define PUT(name, NAME)                                                                         \
	struct shiny_err *store_put_##name(struct store *store, const struct store_##name *row) \
	{                                                                                       \
		return put_row(store, STORE_ROW_##NAME, row);                                   \
	}
PUT(process, PROCESS)
PUT(thread, THREAD)
PUT(module, MODULE)
PUT(mapping, MAPPING)
PUT(vtable, VTABLE)
PUT(class, CLASS)
PUT(mark, MARK)
PUT(unrecorded, UNRECORDED)
PUT(type, TYPE)
PUT(bucket, BUCKET)
PUT(segment, SEGMENT)
PUT(residency, RESIDENCY)
PUT(memory, MEMORY)
PUT(page, PAGE)
PUT(snapshot, SNAPSHOT)
PUT(root, ROOT)

struct shiny_err *store_put_text(struct store *store, const char *key, const char *value)
{
	struct row_writer row = row_begin(store, STATEMENT_SESSION);

	text(&row, key);
	text(&row, value);
	return row_end(&row);
}

struct shiny_err *store_put_number(struct store *store, const char *key, uint64_t value)
{
	struct row_writer row = row_begin(store, STATEMENT_SESSION);

	text(&row, key);
	number(&row, value);
	return row_end(&row);
}

/* The id of `string` in its table (function or source); writes the row the first time. 0: NULL. */
static struct shiny_err *text_row(struct store *store, struct texts *texts, enum statement which,
				  const char *string, uint32_t *id)
{
	size_t known = texts->count;

	*id = string ? texts_put(texts, string) + 1 : 0;
	if (texts->count == known)
		return NULL;
	struct row_writer row = row_begin(store, which);
	number(&row, *id);
	text(&row, string);
	return row_end(&row);
}

struct shiny_err *store_put_frame(struct store *store, uint32_t id, uint32_t module, uint64_t vaddr,
				  const struct store_frame_line *lines, size_t line_count)
{
	struct row_writer row = row_begin(store, STATEMENT_FRAME);

	number(&row, id);
	number(&row, module);
	number(&row, vaddr);
	SHINY_TRY(row_end(&row));
	row = row_begin(store, STATEMENT_FRAME_LINES_GONE);
	number(&row, id);
	SHINY_TRY(row_end(&row));
	for (size_t i = 0; i < line_count; i++) {
		uint32_t function, source;

		SHINY_TRY(text_row(store, &store->writer->functions, STATEMENT_FUNCTION,
				   lines[i].function, &function));
		SHINY_TRY(text_row(store, &store->writer->sources, STATEMENT_SOURCE, lines[i].file,
				   &source));
		row = row_begin(store, STATEMENT_FRAME_LINE);
		number(&row, id);
		number(&row, i);
		number_or_null(&row, function);
		number_or_null(&row, source);
		number(&row, lines[i].line);
		number(&row, lines[i].inlined);
		SHINY_TRY(row_end(&row));
	}
	return NULL;
}

static void part(struct row_writer *row, const struct stack_part *part)
{
	for (int i = 0; i < STACK_PART; i++)
		number_or_null(row, part->frames[i]);
	number_or_null(row, part->tail);
}

struct shiny_err *store_put_boring(struct store *store, const char *pattern)
{
	return schema_put_boring(store, "function", pattern);
}

struct shiny_err *store_put_wrapper(struct store *store, uint32_t frame)
{
	struct row_writer row = row_begin(store, STATEMENT_WRAPPER);

	number(&row, frame);
	return row_end(&row);
}

struct shiny_err *store_put_stack(struct store *store, uint32_t id, const uint32_t *frames,
				  size_t count)
{
	struct store_writer *w = store->writer;
	struct stack_part head;
	struct row_writer row;

	head = stack_tails_split(&w->tails, frames, count);
	for (; w->tails_written < w->tails.count; w->tails_written++) {
		row = row_begin(store, STATEMENT_STACK_TAIL);
		number(&row, w->tails_written + 1);
		part(&row, &w->tails.at[w->tails_written]);
		SHINY_TRY(row_end(&row));
	}
	row = row_begin(store, STATEMENT_STACK);
	number(&row, id);
	part(&row, &head);
	return row_end(&row);
}

struct shiny_err *store_put_tag(struct store *store, uint32_t id, const char *name)
{
	struct row_writer row = row_begin(store, STATEMENT_TAG);

	number(&row, id);
	text(&row, name);
	return row_end(&row);
}

struct shiny_err *store_put_stat(struct store *store, const struct store_stat *row)
{
	SHINY_TRY(by_site_stat(&store->writer->by_site, row));
	return put_row(store, STORE_ROW_STAT, row);
}

struct shiny_err *store_put_lifetime(struct store *store, const struct store_lifetime *row)
{
	return by_site_lifetime(&store->writer->by_site, row);
}

struct shiny_err *store_put_peak(struct store *store, const struct store_peak *row)
{
	return by_site_peak(&store->writer->by_site, row);
}

/* What waited for the sites. */
static struct shiny_err *write_by_site(struct store *store, const struct stack_sites *sites)
{
	struct by_site *waiting = &store->writer->by_site;

	by_site_merge(waiting, sites->of_stack, sites->stack_limit);
	for (size_t i = 0; i < waiting->stat_count; i++)
		SHINY_TRY(put_row(store, STORE_ROW_SITE_STAT, &waiting->stats[i]));
	for (size_t i = 0; i < waiting->lifetime_count; i++)
		SHINY_TRY(put_row(store, STORE_ROW_LIFETIME, &waiting->lifetimes[i]));
	for (size_t i = 0; i < waiting->peak_count; i++)
		SHINY_TRY(put_row(store, STORE_ROW_PEAK, &waiting->peaks[i]));
	return NULL;
}

struct shiny_err *store_put_session_peak(struct store *store, uint64_t blocks, uint64_t bytes,
					 uint64_t time)
{
	struct row_writer row = row_begin(store, STATEMENT_SESSION_PEAK);

	number(&row, blocks);
	number(&row, bytes);
	number(&row, time);
	return row_end(&row);
}

struct shiny_err *store_drop_pages(struct store *store, uint32_t process)
{
	struct row_writer row = row_begin(store, STATEMENT_PAGES_GONE);

	number(&row, process);
	return row_end(&row);
}

struct shiny_err *store_put_counter(struct store *store, uint32_t process, const char *name,
				    const char *weight, uint64_t count, const char *explanation)
{
	struct row_writer row = row_begin(store, STATEMENT_COUNTER);

	number(&row, process);
	text(&row, name);
	text(&row, weight);
	number(&row, count);
	text(&row, explanation);
	return row_end(&row);
}

struct shiny_err *store_put_note(struct store *store, uint32_t process, const char *words)
{
	struct row_writer row = row_begin(store, STATEMENT_NOTE);

	number(&row, process);
	text(&row, words);
	return row_end(&row);
}

struct shiny_err *store_put_snapshot_part(struct store *store, uint32_t snapshot, uint32_t part,
					  uint32_t kind, uint32_t rows, const void *data,
					  size_t bytes)
{
	struct row_writer row = row_begin(store, STATEMENT_SNAPSHOT_PART);

	number(&row, snapshot);
	number(&row, part);
	number(&row, kind);
	number(&row, rows);
	blob(&row, data, bytes);
	return row_end(&row);
}

struct shiny_err *store_put_browser_name(struct store *store, uint32_t id, const char *name)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_NAME);

	number(&row, id);
	text(&row, name);
	return row_end(&row);
}

struct shiny_err *store_put_browser_sample(struct store *store, uint32_t id, bool snapshot,
					   uint32_t pid, uint64_t boottime, const char *title)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_SAMPLE);

	number(&row, id);
	number(&row, snapshot);
	number(&row, pid);
	number(&row, boottime);
	text(&row, title);
	return row_end(&row);
}

struct shiny_err *store_put_browser_allocator(struct store *store, uint32_t sample, uint32_t name,
					      uint64_t bytes, uint64_t effective, uint64_t objects)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_ALLOCATOR);

	number(&row, sample);
	number(&row, name);
	number(&row, bytes);
	number(&row, effective);
	number(&row, objects);
	return row_end(&row);
}

struct shiny_err *store_put_browser_objects(struct store *store, uint32_t sample, uint32_t kind,
					    uint32_t name, uint64_t objects, uint64_t bytes)
{
	struct row_writer row = row_begin(store, STATEMENT_BROWSER_OBJECT);

	number(&row, sample);
	number(&row, kind);
	number(&row, name);
	number(&row, objects);
	number(&row, bytes);
	return row_end(&row);
}

/* ---- the end ---- */

static struct shiny_err *count_totals(struct store *store, struct store_totals *out)
{
	struct query *query;
	struct shiny_err *err;
	bool row = false;

	SHINY_TRY(store_query(
		store,
		"SELECT COUNT(DISTINCT NULLIF(s.site, 0)), COUNT(DISTINCT y.name) FROM site_stat s "
		"LEFT JOIN type y ON y.id = s.type",
		&query));
	err = query_step(query, &row);
	if (!err)
		*out = (struct store_totals){ (uint64_t)query_number(query, 0), (uint64_t)query_number(query, 1) };
	query_end(query);
	return err;
}

static struct shiny_err *finish(struct store *store, struct stack_sites *sites,
				struct store_totals *totals)
{
	SHINY_TRY(store_put_number(store, "complete", 1));
	SHINY_TRY(sites_make(store, &store->writer->tails, sites));
	SHINY_TRY(write_by_site(store, sites));
	SHINY_TRY(count_totals(store, totals));
	SHINY_TRY(store_commit(store));
	finalize(store->writer); /* an open statement would keep the log alive */
	SHINY_TRY(db_exec(store, "PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(TRUNCATE)",
			  "finish"));
	return db_exec_patiently(store, "PRAGMA journal_mode = DELETE", "finish");
}

struct shiny_err *store_finish(struct store *store, struct store_totals *totals)
{
	struct stack_sites sites = { 0 };
	struct store_totals counted = { 0 };
	struct shiny_err *err = finish(store, &sites, &counted);

	if (!err && totals)
		*totals = counted;
	free(sites.of_stack);
	store_abandon(store);
	return err;
}
