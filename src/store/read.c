/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c: the reading half of store.h.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * Opening must leave no trace next to somebody else's file, and SQLite in WAL mode likes to make
 * -wal and -shm files, even for a reader. So the file's first 100 bytes are judged before SQLite
 * sees it, and then there are three ways in:
 *   finished        `immutable`: no lock, no companion is looked for;
 *   being recorded  the writer holds its flock: its -wal and -shm exist, and SQLite's own protocol
 *                   with them is right;
 *   left behind     there is a log with commits that the main file lacks, and nobody alive: the log
 *                   is read with its index in our own heap (locking_mode EXCLUSIVE before the first
 *                   read) and without locks (VFS unix-none, as fcntl would refuse an exclusive lock
 *                   on a read-only descriptor), and is not checkpointed on close.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "contents.h"
#include "db.h"
#include "file.h"
#include "guard.h"
#include "held_files.h"
#include "unpack_ahead.h"

enum { HEADER_BYTES = 100 }; /* of an SQLite file: https://www.sqlite.org/fileformat.html section
                              * 1.3 */
/* A file gets its tables some milliseconds after its name, on a loaded machine later, and its
 * writer's lock within microseconds. */
enum { LOOK_MS = 50, TABLES_MS = 10000, LOCK_MS = 100 };

static uint32_t big_endian(const unsigned char *at, int bytes)
{
	uint32_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

/* ---- opening ---- */

static struct shiny_err *cannot_read(const char *path, const char *why)
{
	return shiny_err(SHINY_ERR_OTHER, "cannot read the session %s: %s", path, why);
}

static struct shiny_err *truncated(const char *path, uint64_t is, uint64_t should)
{
	AUTO_FREE char *journal = NULL;

	if (asprintf(&journal, "%s-journal", path) < 0)
		journal = NULL;
	/* only the making of the tables has one: afterwards there is a log */
	if (journal && access(journal, F_OK) == 0)
		return shiny_err_advise(cannot_read(path, "its recording was killed while it made "
							  "the file, so nothing is in it"),
					"record again; what the programs wrote is in their session "
					"directory, where that is "
					"left: `shinyctl collect DIRECTORY`");
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: it is truncated, %" PRIu64
					  " of %" PRIu64 " bytes",
					  path, is, should),
				"copy it again from where it was recorded");
}

/* Whether the recording has come to its tables, waited for while there is a writer; *live: there is
 * one. */
static bool wait_tables(int fd, bool *live)
{
	unsigned char header[HEADER_BYTES];
	bool made;

	for (int waited = 0;; waited += LOOK_MS) {
		*live = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
		if (!*live)
			flock(fd, LOCK_UN);
		made = pread(fd, header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
		       big_endian(header + 60, 4);
		if (made || waited >= (*live ? TABLES_MS : LOCK_MS))
			return made;
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000L }, NULL);
	}
}

/* What the first bytes and the size of the file say. `log` : there is a log with more. */
static struct shiny_err *judge_header(const char *path, int fd, bool log)
{
	static const char advice[] = "session files are made by `shinyctl run` and `shinyctl "
				     "collect`, and usually end in .shiny";
	unsigned char header[HEADER_BYTES];
	ssize_t got = pread(fd, header, sizeof(header), 0);
	struct stat st;

	if (got < 0 || fstat(fd, &st) != 0)
		return shiny_err_os(errno, "cannot read the session %s", path);
	if (got == 0)
		return shiny_err_advise(cannot_read(path, "it is empty"),
					"its recording never got started: record again");
	if ((size_t)got < sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return shiny_err_advise(cannot_read(path, "it is not a session file"), advice);
	if (big_endian(header + 68, 4) != STORE_APPLICATION_ID)
		return shiny_err_advise(
			cannot_read(path, "it is an SQLite database, but not a session"), advice);

	uint32_t version = big_endian(header + 60, 4);
	if (version > STORE_SCHEMA_VERSION)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "cannot read the session %s: it has format %u, "
						  "and this shinyctl knows formats up to %d",
						  path, version, STORE_SCHEMA_VERSION),
					"use the shinyctl that recorded it, or a newer one");
	if (version && version < STORE_SCHEMA_VERSION)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "cannot read the session %s: it has format %u, "
						  "and this shinyctl reads format %d",
						  path, version, STORE_SCHEMA_VERSION),
					"use the shinyctl that recorded it, or record again");
	if (version == 0)
		return shiny_err_advise(
			cannot_read(path, "its recording ended before its tables were made"),
			"record again");

	uint64_t page = big_endian(header + 16, 2), pages = big_endian(header + 28, 4);
	if (page == 1)
		page = 65536;
	/* the page count is only to be believed when it is as new as the last change */
	if (!log && memcmp(header + 24, header + 92, 4) == 0 && (uint64_t)st.st_size < page * pages)
		return truncated(path, (uint64_t)st.st_size, page * pages);
	return NULL;
}

/* The path as an SQLite URI with `query` behind it. */
static char *make_uri(const char *path, const char *query)
{
	char *uri = malloc(strlen(path) * 3 + strlen(query) + 16), *out = uri;

	if (!uri)
		return NULL;
	out = stpcpy(out, *path == '/' ? "file://" : "file:");
	for (; *path; path++)
		if (strchr("%?#", *path))
			out += sprintf(out, "%%%02x", (unsigned char)*path);
		else
			*out++ = *path;
	stpcpy(out, query);
	return uri;
}

static struct shiny_err *is_complete(struct store *store)
{
	uint64_t complete;

	SHINY_TRY(contents_number(store, "complete", &complete));
	store->complete = complete == 1;
	return NULL;
}

/* `bytes`: of the file and its log. */
static struct shiny_err *open_database(struct store *store, uint64_t bytes)
{
	bool live = store->live, log = store->log;
	AUTO_FREE char *uri =
		make_uri(store->path, live || log ? "?mode=ro" : "?mode=ro&immutable=1");
	int code;

	if (!uri)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	code = sqlite3_open_v2(uri, &store->db,
			       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
			       log && !live ? "unix-none" : NULL);
	if (code != SQLITE_OK)
		return db_error(store, code, "read");
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, 10000);
	SHINY_TRY(guard_begin(store, bytes)); /* the file may come from anywhere */
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (log && !live)
		SHINY_TRY(db_exec(store, "PRAGMA locking_mode = EXCLUSIVE", "read"));
	SHINY_TRY(db_exec(store,
			  "PRAGMA cell_size_check = ON; PRAGMA cache_size = -65536; PRAGMA "
			  "temp_store = MEMORY",
			  "read"));
	SHINY_TRY(guard_admit(store, bytes));
	return is_complete(store);
}

/* `fd`: of the file; the store's from here on. */
static struct shiny_err *connect_reader(const char *path, int fd, bool live, bool log,
					uint64_t bytes, struct store **out)
{
	struct store *store = mem_zero(1, sizeof(*store));
	struct shiny_err *err;

	*store = (struct store){ .path = mem_text(path), .live = live, .log = log };
	db_hold(store, fd);
	err = open_database(store, bytes);
	if (err) {
		store_close(store);
		return err;
	}
	*out = store;
	return NULL;
}

static void cleanup_held(const int *fd)
{
	if (*fd >= 0)
		held_files_close(*fd);
}

struct shiny_err *store_open(const char *path, struct store **out)
{
	SHINY_CLEANUP(cleanup_held) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *log_path = NULL;
	struct stat st, log_st;
	struct shiny_err *err;
	bool live, log;

	if (fd < 0) {
		err = shiny_err_os(errno, "cannot read the session %s", path);
		return errno == ENOENT ? shiny_err_advise(err, "check the name; `shinyctl run` "
							       "prints it when a recording ends")
				       : shiny_err_advise(err, "check its permissions");
	}
	if (fstat(fd, &st) != 0)
		return shiny_err_os(errno, "cannot read the session %s", path);
	if (S_ISDIR(st.st_mode))
		return shiny_err_advise(cannot_read(path, "it is a directory"),
					"name a session file; a session directory becomes one with "
					"`shinyctl collect DIR`");
	if (!S_ISREG(st.st_mode))
		return cannot_read(path, "it is not a regular file");
	if (!wait_tables(fd, &live) && live)
		return shiny_err_advise(cannot_read(path, "its recording has just begun"),
					"ask again in a moment");
	if (asprintf(&log_path, "%s-wal", path) < 0) {
		log_path = NULL;
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	}
	log = stat(log_path, &log_st) == 0 && log_st.st_size > 0;
	SHINY_TRY(judge_header(path, fd, log));

	int kept = fd;
	fd = -1;
	return connect_reader(path, kept, live, log,
			      (uint64_t)st.st_size + (log ? (uint64_t)log_st.st_size : 0), out);
}

struct shiny_err *store_open_again(const struct store *store, struct store **out)
{
	int fd = fcntl(store->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return shiny_err_os(errno, "cannot read the session %s", store->path);
	return connect_reader(store->path, fd, store->live, store->log, store->guard.file, out);
}

bool store_complete(const struct store *store)
{
	return store->complete;
}

void store_close(struct store *store)
{
	AUTO_FREE char *path = store && store->live ? mem_text(store->path) : NULL;

	db_close(store);
	if (path)
		file_tidy(path);
}

/* ---- queries ---- */

enum { QUERY_TEXTS = 32 };
struct query_row { /* what is said of the current one while it is read */
	struct guard_account account;
	char *texts[QUERY_TEXTS]; /* by column: made harmless; NULL: the column is as it is */
};

struct query {
	struct store *store;
	sqlite3_stmt *statement;
	struct query_row *row;
};

struct shiny_err *store_query(struct store *store, const char *sql, struct query **out)
{
	struct query *query = calloc(1, sizeof(*query));
	struct query_row *now = calloc(1, sizeof(*now));
	int code;

	if (!query || !now) {
		free(query);
		free(now);
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	}
	code = sqlite3_prepare_v2(store->db, sql, -1, &query->statement, NULL);
	if (code != SQLITE_OK) {
		free(query);
		free(now);
		return db_error(store, code, "query");
	}
	query->store = store;
	query->row = now;
	now->account = store->guard.whole;
	*out = query;
	return NULL;
}

void query_bind_number(struct query *query, int index, int64_t value)
{
	sqlite3_bind_int64(query->statement, index, value);
}

void query_bind_text(struct query *query, int index, const char *value)
{
	sqlite3_bind_text(query->statement, index, value, -1, SQLITE_TRANSIENT);
}

static void forget_texts(struct query_row *row)
{
	for (size_t i = 0; i < QUERY_TEXTS; i++) {
		free(row->texts[i]);
		row->texts[i] = NULL;
	}
}

struct shiny_err *query_step(struct query *query, bool *row)
{
	int code;

	forget_texts(query->row);
	query->store->guard.running = &query->row->account;
	code = sqlite3_step(query->statement);
	query->store->guard.running = NULL;
	if ((code & 0xff) == SQLITE_INTERRUPT ||
	    (code == SQLITE_ROW && !guard_hand_out(query->store, &query->row->account, 0)))
		return store_too_much(query->store);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return db_error(query->store, code, "read");
	*row = code == SQLITE_ROW;
	return NULL;
}

int64_t query_number(const struct query *query, int column)
{
	return sqlite3_column_int64(query->statement, column);
}

uint32_t query_id(const struct query *query, int column, size_t limit)
{
	int64_t id = query_number(query, column);

	return id > 0 && (uint64_t)id < limit ? (uint32_t)id : 0;
}

const char *query_verbatim(const struct query *query, int column)
{
	const char *text = (const char *)sqlite3_column_text(query->statement, column);

	if (!text)
		return "";
	/* what is too much is said by the next step */
	(void)guard_hand_out(query->store, &query->row->account,
			     (uint64_t)sqlite3_column_bytes(query->statement, column));
	return text;
}

const char *query_text(const struct query *query, int column)
{
	const char *text = query_verbatim(query, column);
	char **plain = column >= 0 && column < QUERY_TEXTS ? &query->row->texts[column] : NULL;

	if (text_is_plain(text))
		return text;
	if (!plain)
		return "?";
	if (!*plain)
		*plain = text_plain(text);
	return *plain;
}

const void *query_blob(const struct query *query, int column, size_t *bytes)
{
	const void *data = sqlite3_column_blob(query->statement, column);

	*bytes = (size_t)sqlite3_column_bytes(query->statement, column);
	/* what is too much is said by the next step */
	(void)guard_hand_out(query->store, &query->row->account, *bytes);
	return data;
}

bool query_is_null(const struct query *query, int column)
{
	return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

void query_end(struct query *query)
{
	if (!query)
		return;
	sqlite3_finalize(query->statement);
	forget_texts(query->row);
	free(query->row);
	free(query);
}

/* ---- events ---- */

/* The densest recordings, of loops that do nothing else, have six events a byte; a block made for
 * it has thousands. */
enum { EVENTS_AT_LEAST = 4 << 20, EVENTS_A_BYTE = 16 };

/* Which blocks are read, and who gets their events. */
struct reading {
	uint32_t process; /* 0: all */
	uint64_t from, to;
	uint64_t left; /* events that a file of this size can hold */
	store_batch_fn *each;
	void *context;
};

/* A block on its way: what the file says of it. */
struct block_row {
	int64_t id, count;
};

static bool is_beyond(const struct event *events, size_t count)
{
	bool beyond = false;

	for (const struct event *e = events; e < events + count; e++)
		beyond |= (e->kind == EVENT_ALLOC || e->kind == EVENT_REALLOC) &&
			  !event_block_fits(e->address, e->size);
	return beyond;
}

/* The events of the current block. */
static struct shiny_err *read_block(struct store *store, struct unpack_ahead *ahead,
				    const struct block_row *row, struct reading *reading,
				    bool *stopped)
{
	AUTO_ERR struct shiny_err *err = NULL;
	const struct event *events;
	uint64_t seen = 0;
	size_t count;

	while (!(err = unpack_ahead_take(ahead, &events, &count)) && count) {
		if (reading->left < count)
			return store_too_much(store);
		reading->left -= count;
		seen += count;
		if (is_beyond(events, count)) {
			err = shiny_err(SHINY_ERR_OTHER,
					"a block is larger, or lies further on, "
					"than any address space has room for");
			break;
		}
		*stopped = !reading->each(reading->context, events, count);
		if (*stopped)
			return NULL;
	}
	if (!err && (int64_t)seen != row->count)
		err = shiny_err(SHINY_ERR_OTHER,
				"it holds another number of events than it should");
	if (!err)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: event block %" PRId64
					  " is damaged: %s",
					  store->path, row->id, err->message),
				"the totals and lists of this session do not need its events and "
				"can still be shown");
}

static struct shiny_err *each_block(struct store *store, struct query *query,
				    struct unpack_ahead *ahead, struct reading *reading)
{
	VEC(struct block_row) given = { 0 }; /* that have not ended yet */
	struct shiny_err *err = NULL;
	bool more = true, stopped = false;

	while (!err && !stopped) {
		while (!err && more && unpack_ahead_has_room(ahead)) {
			err = query_step(query, &more);
			if (err || !more)
				break;
			*vec_push(&given) = (struct block_row){ query_number(query, 0),
								query_number(query, 1) };
			err = unpack_ahead_give(ahead, sqlite3_column_blob(query->statement, 2),
						(size_t)sqlite3_column_bytes(query->statement, 2));
		}
		if (err || !given.count)
			break;
		err = read_block(store, ahead, &given.at[0], reading, &stopped);
		memmove(given.at, given.at + 1, --given.count * sizeof(*given.at));
	}
	free(given.at);
	return err;
}

static struct shiny_err *read_blocks(struct store *store, struct reading *reading)
{
	struct unpack_ahead *ahead = NULL;
	uint64_t with_events;
	struct query *query = NULL;
	struct shiny_err *err;

	SHINY_TRY(contents_number(store, "with_events", &with_events));
	if (with_events != 1)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER, "the session %s holds no events", store->path),
			"it was recorded with --no-events: record again without it");

	SHINY_TRY(store_query(store,
			      "SELECT id, count, data FROM events WHERE last_ns >= ?2 AND first_ns "
			      "<= ?3 AND (?1 = 0 OR id IN "
			      "(SELECT block FROM events_process WHERE process = ?1)) ORDER BY id",
			      &query));
	query_bind_number(query, 1, reading->process);
	query_bind_number(query, 2, reading->from > INT64_MAX ? INT64_MAX : (int64_t)reading->from);
	query_bind_number(query, 3, reading->to > INT64_MAX ? INT64_MAX : (int64_t)reading->to);
	reading->left = store_bound(store, EVENTS_AT_LEAST, EVENTS_A_BYTE);
	err = unpack_ahead_create(&ahead);
	if (!err)
		err = each_block(store, query, ahead, reading);
	unpack_ahead_destroy(ahead);
	query_end(query);
	return err;
}

struct shiny_err *store_each_batch(struct store *store, store_batch_fn *each, void *context)
{
	return read_blocks(store,
			   &(struct reading){ .to = UINT64_MAX, .each = each, .context = context });
}

struct event_filter {
	struct reading reading;
	store_each_fn *each;
	void *context;
};

static bool each_wanted(void *context, const struct event *events, size_t count)
{
	struct event_filter *f = context;

	for (const struct event *e = events; e < events + count; e++)
		if ((!f->reading.process || e->process == f->reading.process) &&
		    e->time >= f->reading.from && e->time <= f->reading.to &&
		    !f->each(f->context, e))
			return false;
	return true;
}

struct shiny_err *store_each_event(struct store *store, uint32_t process, uint64_t from,
				   uint64_t to, store_each_fn *each, void *context)
{
	struct event_filter filter = { .reading = { .process = process,
						    .from = from,
						    .to = to,
						    .each = each_wanted,
						    .context = &filter },
				       .each = each,
				       .context = context };

	return read_blocks(store, &filter.reading);
}
