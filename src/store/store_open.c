/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_open.c: opens a session to read it; store.h has the contract.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 *
 * Opening must leave no trace next to a foreign file, but SQLite in WAL mode creates -wal and -shm
 * files, even for a reader. So the file's first 100 bytes are checked before SQLite opens it, and
 * then there are three ways to open it:
 *   finished        `immutable`: without locks, ignoring companions;
 *   being recorded  the writer holds its flock: its -wal and -shm exist, and SQLite's own protocol
 *                   with them is right;
 *   left behind     there is a log with commits that the main file lacks, and no writer: the log is
 *                   read with its index in our own heap (locking_mode EXCLUSIVE before the first
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
#include "contents.h"
#include "db.h"
#include "file.h"
#include "guard.h"
#include "held_files.h"

enum { HEADER_BYTES = 100 }; /* of an SQLite file: https://www.sqlite.org/fileformat.html section
                              * 1.3 */
/* A file gets its tables some milliseconds after its name, on a loaded machine later. It gets its
 * writer's lock within microseconds. */
enum { LOOK_MS = 50, TABLES_MS = 10000, LOCK_MS = 100, GROWING_TRIES = 4 };

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
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "cannot read the session %s: it is truncated, %" PRIu64
					  " of %" PRIu64 " bytes",
					  path, is, should),
				"copy it again from where it was recorded");
}

/* The first page of a session is written last (blank.h). */
static bool is_unmade(const unsigned char header[HEADER_BYTES])
{
	static const unsigned char none[HEADER_BYTES];

	return memcmp(header, none, HEADER_BYTES) == 0;
}

/* True if the recording has created its tables; waits for that while there is a writer, which *live
 * says at the end. */
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

/* Checks the first bytes and the size of the file. `grows`: it is being written, or has a log, so
 * its size proves nothing. */
static struct shiny_err *judge_header(const char *path, int fd, bool grows)
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
	if ((size_t)got == sizeof(header) && is_unmade(header))
		return shiny_err_advise(cannot_read(path, "its recording was killed while it made "
							  "the file, so nothing is in it"),
					"record again; what the programs wrote is in their session "
					"directory, where that is left: `shinyctl collect "
					"DIRECTORY`");
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
	/* the page count is only valid if it is as new as the last change */
	if (!grows && memcmp(header + 24, header + 92, 4) == 0 &&
	    (uint64_t)st.st_size < page * pages)
		return truncated(path, (uint64_t)st.st_size, page * pages);
	return NULL;
}

/* Returns the path as an SQLite URI, followed by `query`. */
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

/* Connects to the file. `bytes`: of the file and its log. */
static struct shiny_err *open_database(struct store *store, uint64_t bytes)
{
	bool live = store->live, log = store->log;
	AUTO_FREE char *uri =
		make_uri(store->file, live || log ? "?mode=ro" : "?mode=ro&immutable=1");
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
			  STORE_KEEP_PAGES "; PRAGMA cell_size_check = ON; PRAGMA temp_store = "
			  "MEMORY",
			  "read"));
	SHINY_TRY(guard_admit(store, bytes));
	return is_complete(store);
}

/* Opens a reader. `file`: the path without a link at its end. `fd`: its descriptor, which the store
 * owns from here on. */
static struct shiny_err *connect_reader(const char *path, const char *file, int fd, bool live,
					bool log, uint64_t bytes, struct store **out)
{
	struct store *store = mem_zero(1, sizeof(*store));
	struct shiny_err *err;

	*store = (struct store){ .path = mem_text(path),
				  .file = mem_text(file),
				  .live = live,
				  .log = log };
	db_hold(store, fd);
	err = open_database(store, bytes);
	if (err) {
		store_close(store);
		return err;
	}
	*out = store;
	return NULL;
}

/* Returns the target of a symbolic link: SQLite's log is beside the file, not beside the link. */
static char *file_of(const char *path)
{
	char *file = realpath(path, NULL);
	struct stat st;

	if (file && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return file;
	free(file);
	return mem_text(path);
}

/* An unfinished recording has its log beside the name that it gave the file. */
static struct shiny_err *log_elsewhere(const char *path)
{
	return shiny_err_advise(
		cannot_read(path, "its recording did not finish, and this is a hard link: what was "
				  "committed last may be in the log beside its other name"),
		"use the name that the recording gave it, or `shinyctl collect` with that one");
}

static void cleanup_held(const int *fd)
{
	if (*fd >= 0)
		held_files_close(*fd);
}

/* Opens the file. *grew: it failed after its size was read, while it was being written. */
static struct shiny_err *open_once(const char *path, struct store **out, bool *grew)
{
	SHINY_CLEANUP(cleanup_held) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	AUTO_FREE char *log_path = NULL, *file = NULL;
	struct stat st, log_st;
	struct shiny_err *err;
	bool live, log, beside, linked;

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
	file = file_of(path);
	log_path = mem_format("%s-wal", file);
	beside = stat(log_path, &log_st) == 0;
	log = beside && log_st.st_size > 0;
	linked = !beside && st.st_nlink > 1;
	if (live && linked)
		return log_elsewhere(path);
	SHINY_TRY(judge_header(path, fd, live || log));
	if (fstat(fd, &st) != 0) /* it may have grown from nothing while wait_tables waited */
		return shiny_err_os(errno, "cannot read the session %s", path);

	struct store *store = NULL;
	int kept = fd;

	fd = -1;
	err = connect_reader(path, file, kept, live, log,
			     (uint64_t)st.st_size + (log ? (uint64_t)log_st.st_size : 0), &store);
	if (!err && linked && !store->complete) {
		store_close(store);
		err = log_elsewhere(path);
	}
	if (!err)
		*out = store;
	*grew = err && live;
	return err;
}

struct shiny_err *store_open(const char *path, struct store **out)
{
	bool grew = false;
	struct shiny_err *err = open_once(path, out, &grew);

	/* one commit may add more than a file of the former size can hold (guard.h) */
	for (int tries = 1; grew && tries < GROWING_TRIES; tries++) {
		shiny_err_free(err);
		grew = false;
		err = open_once(path, out, &grew);
	}
	return err;
}

struct shiny_err *store_open_again(const struct store *store, struct store **out)
{
	int fd = fcntl(store->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return shiny_err_os(errno, "cannot read the session %s", store->path);
	return connect_reader(store->path, store->file, fd, store->live, store->log,
			      store->guard.file, out);
}

bool store_complete(const struct store *store)
{
	return store->complete;
}

void store_close(struct store *store)
{
	AUTO_FREE char *file = store && store->live ? mem_text(store->file) : NULL;

	db_close(store);
	if (file)
		file_tidy(file);
}
