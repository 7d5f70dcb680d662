/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: see file.h. */
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "held_files.h"
#include "store.h"

enum { LOCK_TRIES = 1000, LOCK_PAUSE_NS = 1000000 };
static const char *const companions[] = { "-wal", "-shm", "-journal" };

bool store_is_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool written;

	if (fd < 0)
		return false;
	written = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	held_files_close(fd);
	return written;
}

bool file_lock(int fd)
{
	for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
		if (errno != EWOULDBLOCK || tries == LOCK_TRIES)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
	}
	return true;
}

void file_tidy(const char *path)
{
	AUTO_FREE char *log = mem_format("%s-wal", path), *index = mem_format("%s-shm", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return;
	/* shared: other readers may do the same at that time; no writer begins meanwhile */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0 && lstat(log, &st) == 0 && st.st_size == 0 &&
	    unlink(log) == 0)
		unlink(index);
	held_files_close(fd);
}

void store_remove(const char *path)
{
	unlink(path);
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++) {
		AUTO_FREE char *name = mem_format("%s%s", path, companions[i]);

		unlink(name);
	}
}

bool file_has_log(const char *path)
{
	AUTO_FREE char *log = mem_format("%s-wal", path);
	struct stat st;

	return stat(log, &st) == 0 && st.st_size > 0;
}

struct shiny_err *file_make(const char *path, bool force, int *out)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return shiny_err_advise(
				shiny_err(SHINY_ERR_OTHER,
					  "cannot make the session %s: it is a directory", path),
				"name a file with --out or SHINY_OUT");
		if (!force)
			return shiny_err_advise(
				shiny_err(SHINY_ERR_OTHER,
					  "cannot make the session %s: it exists already", path),
				"choose another name with --out, or replace it with --force");
		if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
			return shiny_err(SHINY_ERR_OTHER,
					 "cannot replace %s: it is not a regular file", path);
		if (store_is_written(path))
			return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
							  "cannot replace %s: it is being recorded",
							  path),
						"wait until that recording has ended, or choose "
						"another name with --out");
		if (unlink(path) != 0)
			return shiny_err_os(errno, "cannot replace %s", path);
	}
	/* SQLite would take a leftover log of an earlier file of this name for the new one's */
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++) {
		AUTO_FREE char *name = NULL;

		if (asprintf(&name, "%s%s", path, companions[i]) < 0)
			return shiny_err(SHINY_ERR_OTHER, "out of memory");
		if (unlink(name) != 0 && errno != ENOENT && errno != ENOTDIR)
			return shiny_err_os(errno,
					    "cannot make the session %s: its old companion %s "
					    "cannot be removed",
					    path, name);
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return shiny_err_advise(shiny_err_os(errno, "cannot make the session %s", path),
					"name a file in a directory that you can write to, with "
					"--out or SHINY_OUT");
	/* only its user may read it, whatever the umask; its log and index get the same mode */
	fchmod(fd, 0600);
	if (!file_lock(fd)) {
		struct shiny_err *err = shiny_err_os(errno, "cannot lock the session %s", path);

		close(fd);
		return err;
	}
	*out = fd;
	return NULL;
}
