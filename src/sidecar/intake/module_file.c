/* SPDX-License-Identifier: Apache-2.0 */
/* module_file.c: see module_file.h. */
#define _GNU_SOURCE
#include "module_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../ring/ring_file.h"

enum { KEPT = 128 /* a session opens at most so many modules by their paths */ };

/* True if the path cannot lead to the right file. */
static bool is_nameless(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t bytes = strlen(path), end = sizeof(deleted) - 1;

	return strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/proc/", 6) == 0 ||
	       strncmp(path, "/dev/fd/", 8) == 0 ||
	       (bytes > end && strcmp(path + bytes - end, deleted) == 0) || access(path, F_OK) != 0;
}

static int open_at(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Opens the executable by /proc/PID/exe; -1 if that is another file, such as the dynamic linker
 * that was told to load `path`. */
static int open_executable(uint32_t pid, const char *path)
{
	char name[64], target[PATH_MAX];
	const char *base = text_base(path), *found;
	ssize_t length;
	size_t bytes;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/exe", pid);
	length = readlink(name, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	found = text_base(target);
	bytes = strlen(base) < strlen(found) ? strlen(base) : strlen(found);
	return bytes && strncmp(base, found, bytes) == 0 ? open_at(AT_FDCWD, name) : -1;
}

/* Opens and removes the copy that the process's library left beside its ring. */
static int take_copy(const struct ring_file *ring)
{
	char *directory = mem_text(ring->path), *slash = strrchr(directory, '/'), *path;
	int fd;

	if (slash)
		*slash = '\0';
	path = mem_format("%s/" SHINY_PROGRAM_PREFIX "%" PRIu32, directory, ring->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0)
		unlink(path);
	free(path);
	free(directory);
	return fd;
}

/* Opens the entry of /proc/PID/DIRECTORY whose name begins with `begin`, or that leads to
 * `path`. */
static int open_entry(uint32_t pid, const char *directory, const char *begin, const char *path)
{
	char name[64], target[PATH_MAX];
	const struct dirent *entry;
	int fd = -1;
	DIR *files;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/%s", pid, directory);
	files = opendir(name);
	while (files && fd < 0 && (entry = readdir(files))) {
		ssize_t length = readlinkat(dirfd(files), entry->d_name, target,
					    sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		if ((begin && strncmp(entry->d_name, begin, strlen(begin)) == 0) ||
		    strcmp(target, path) == 0)
			fd = open_at(dirfd(files), entry->d_name);
	}
	if (files)
		closedir(files);
	return fd;
}

/* Opens the file by its path, as the program sees it; else by its mapping, which needs a rare
 * privilege; else by a descriptor that the process still has open. */
static int open_mapped(uint32_t pid, uint64_t start, const char *path)
{
	char begin[32], below[PATH_MAX];
	int fd;

	if (strncmp(path, "/proc/self/", 11) == 0)
		snprintf(below, sizeof(below), "/proc/%" PRIu32 "/%s", pid, path + 11);
	else if (strncmp(path, "/dev/fd/", 8) == 0)
		snprintf(below, sizeof(below), "/proc/%" PRIu32 "/fd/%s", pid, path + 8);
	else
		snprintf(below, sizeof(below), "/proc/%" PRIu32 "/root%s", pid, path);
	fd = open_at(AT_FDCWD, below);
	snprintf(begin, sizeof(begin), "%" PRIx64 "-", start);
	if (fd < 0)
		fd = open_entry(pid, "map_files", begin, path);
	return fd < 0 ? open_entry(pid, "fd", NULL, path) : fd;
}

void module_file_keep(struct output *output, const struct process *process,
		      const struct shiny_module *module, struct id_module *id)
{
	bool main = module->flags & SHINY_MODULE_MAIN, nameless = is_nameless(id->path);
	bool lives = process->pid && !process->gone;
	int copy;

	if (id->path[0] != '/' || output->ticks.foreign)
		return;
	copy = main && nameless ? take_copy(process->ring) : -1;
	if (id->file >= 0) {
		if (copy >= 0)
			close(copy);
		return;
	}
	id->file = copy;
	if (id->file < 0 && main && lives)
		id->file = open_executable(process->pid, id->path);
	else if (id->file < 0 && nameless && lives)
		id->file = open_mapped(process->pid, module->start, id->path);
	if (id->file < 0 && !nameless && output->ids.modules.count <= KEPT)
		id->file = open_at(AT_FDCWD, id->path);
}
