/* SPDX-License-Identifier: Apache-2.0 */
/*
 * db.c: see db.h.
 */
#define _GNU_SOURCE
#include "db.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/mem.h"
#include "held_files.h"
#include "patient.h"

enum { PATIENCE_STEP_MS = 10 };
static const struct timespec patience_step = { .tv_nsec = PATIENCE_STEP_MS * 1000000L };

/* A value that readers derive from a session and cache (store_keep) until its store is closed. They
 * are so few that a list is enough. */
struct kept {
	struct kept *next;
	const void *key;
	void *value;
	void (*destroy)(void *);
};

struct shiny_err *db_error(const struct store *store, int code, const char *what)
{
	/* without a connection only the code is known */
	const char *why = store->db && sqlite3_errcode(store->db) == (code & 0xff)
				  ? sqlite3_errmsg(store->db)
				  : sqlite3_errstr(code);
	struct shiny_err *err;

	if ((code & 0xff) == SQLITE_FULL)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "cannot %s the session %s: no space left on its file system",
				  what, store->path),
			"free some space, or name a file elsewhere with --out or SHINY_OUT");
	if (((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) && patient_error())
		why = strerror(patient_error());
	err = shiny_err(SHINY_ERR_OTHER, "cannot %s the session %s: %s", what, store->path, why);
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return shiny_err_advise(
			err, "the file is damaged; `sqlite3 FILE .recover` may save part of it");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return shiny_err_advise(
			err, "another program holds the file: close it there and try again");
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_CANTOPEN:
		return shiny_err_advise(err,
					"check the permissions of the file and of its directory");
	case SQLITE_IOERR:
		return shiny_err_advise(err, "check the disk and its free space; what was "
					     "committed before can still be read");
	default:
		return err;
	}
}

struct shiny_err *db_exec(const struct store *store, const char *sql, const char *what)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? NULL : db_error(store, code, what);
}

struct shiny_err *db_exec_patiently(const struct store *store, const char *sql, const char *what,
				    unsigned ms)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	for (unsigned waited = 0; (code & 0xff) == SQLITE_BUSY && waited < ms;
	     waited += PATIENCE_STEP_MS) {
		nanosleep(&patience_step, NULL);
		code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
	}
	return code == SQLITE_OK ? NULL : db_error(store, code, what);
}

void db_hold(struct store *store, int fd)
{
	held_files_enter(fd);
	store->fd = fd;
}

static void free_kept(struct kept *k)
{
	while (k) {
		struct kept *next = k->next;

		k->destroy(k->value);
		free(k);
		k = next;
	}
}

void db_close(struct store *store)
{
	if (!store)
		return;
	free_kept(store->kept);
	sqlite3_close(store->db);
	guard_end(&store->guard);
	if (store->fd >= 0)
		held_files_leave(store->fd);
	free(store->path);
	free(store->file);
	free(store);
}

void *store_kept(const struct store *store, const void *key)
{
	for (const struct kept *k = store->kept; k; k = k->next)
		if (k->key == key)
			return k->value;
	return NULL;
}

bool store_keep(struct store *store, const void *key, void *value, void (*destroy)(void *))
{
	struct kept *k;

	if (store->live)
		return false;
	k = mem_alloc(sizeof(*k));
	*k = (struct kept){ store->kept, key, value, destroy };
	store->kept = k;
	return true;
}
