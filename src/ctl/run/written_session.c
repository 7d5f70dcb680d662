/* SPDX-License-Identifier: Apache-2.0 */
/*
 * written_session.c: see written_session.h.
 *
 * Nothing in the directory names the file: the sidecar expands its pattern. But the sidecar has the
 * directory's lock and the session open, so /proc/PID/fd of its process shows both.
 */
#define _GNU_SOURCE
#include "written_session.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../base/cleanup.h"
#include "../../store/store.h"

struct only {
	char path[SESSIONS_PATH];
	unsigned count;
};

static void count_recorded(void *context, const struct session_directory *directory)
{
	struct only *only = context;

	if (!directory->collected)
		return;
	only->count++;
	memcpy(only->path, directory->path, SESSIONS_PATH);
}

static struct shiny_err *only_directory(char out[SESSIONS_PATH])
{
	struct only only = { .count = 0 };

	sessions_each(count_recorded, &only);
	if (only.count != 1)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  only.count ? "%u sessions are being recorded: name one"
					     : "no session is being recorded",
				  only.count),
			"`shinyctl collect` lists session directories");
	memcpy(out, only.path, SESSIONS_PATH);
	return NULL;
}

typedef bool file_fn(const char *path, const char *directory);

static bool is_lock(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && path[length] == '/' &&
	       strcmp(path + length + 1, SHINY_SIDECAR_LOCK) == 0;
}

/* True for a session. Only for files of a sidecar: the check takes the file's lock for a moment. */
static bool is_session(const char *path, const char *directory)
{
	struct stat st;

	return strncmp(path, directory, strlen(directory)) != 0 && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode) && store_is_written(path);
}

/* Finds a file that the process has open; `fds`: its /proc/PID/fd. */
static bool find_open(const char *fds, file_fn *wanted, const char *directory,
		      char out[SESSIONS_PATH])
{
	DIR *dir = opendir(fds);
	const struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, out, SESSIONS_PATH - 1);

		if (length <= 0 || out[0] != '/')
			continue;
		out[length] = '\0';
		found = wanted(out, directory);
	}
	if (dir)
		closedir(dir);
	return found;
}

static struct shiny_err *file_of(const char *directory, char file[SESSIONS_PATH])
{
	AUTO_FREE char *real = realpath(directory, NULL);
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (proc && !found && (entry = readdir(proc))) {
		char fds[sizeof(entry->d_name) + sizeof("/proc//fd")];

		if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name))
			continue;
		snprintf(fds, sizeof(fds), "/proc/%s/fd", entry->d_name);
		found = real && find_open(fds, is_lock, real, file) &&
			find_open(fds, is_session, real, file);
	}
	if (proc)
		closedir(proc);
	if (found)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER, "%s: no sidecar writes its session",
					  directory),
				"`shinyctl collect` lists session directories");
}

struct shiny_err *written_session_named(const char *which, const char *verb,
					char file[SESSIONS_PATH], char directory[SESSIONS_PATH])
{
	struct stat st;

	*directory = '\0';
	if (!which)
		SHINY_TRY(only_directory(directory));
	else if (stat(which, &st) == 0 && S_ISREG(st.st_mode))
		snprintf(file, SESSIONS_PATH, "%s", which);
	else
		SHINY_TRY(sessions_named(which, verb, directory));
	return *directory ? file_of(directory, file) : NULL;
}
