/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.c: see cache_file.h. */
#define _GNU_SOURCE /* secure_getenv */
#include "cache_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"
#include "binary.h"

/* True if the directory is this user's, or doesn't exist: files of root's in another user's home
 * would be in that user's way. */
static bool is_own(const char *directory)
{
	struct stat st;

	return stat(directory, &st) ? errno == ENOENT : st.st_uid == geteuid();
}

char *cache_file_path(const char *directory, const char *kind, const uint8_t *build_id,
		      size_t build_id_bytes, const char *suffix)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	char id[2 * BINARY_BUILD_ID_MAX + 1] = "";

	if (build_id_bytes < CACHE_FILE_ID_MIN || build_id_bytes > BINARY_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < build_id_bytes; i++)
		snprintf(id + 2 * i, 3, "%02x", build_id[i]);
	if (directory)
		return mem_format("%s/%s/%s%s", directory, kind, id, suffix);
	if (cache && *cache == '/') /* its specification says to ignore a relative one */
		return is_own(cache) ? mem_format("%s/shiny/%s/%s%s", cache, kind, id, suffix)
				     : NULL;
	return home && *home == '/' && is_own(home)
		       ? mem_format("%s/.cache/shiny/%s/%s%s", home, kind, id, suffix)
		       : NULL;
}

void *cache_file_read(const char *path, size_t least, size_t most, size_t *bytes)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	AUTO_FREE uint8_t *data = NULL;
	size_t size, done = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & (S_IWGRP | S_IWOTH) || st.st_size < 0)
		return NULL;
	size = (size_t)st.st_size;
	if (size < least || size > most)
		return NULL;
	data = mem_alloc(size);
	while (done < size) {
		ssize_t n = read(fd, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		done += (size_t)n;
	}
	*bytes = size;
	return shiny_steal(data);
}

void cache_file_directories(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		if ((size_t)(slash - path) >= sizeof(part))
			return;
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = 0;
		mkdir(part, 0700);
	}
}

char *cache_file_place(void)
{
	static const uint8_t nobodys[CACHE_FILE_ID_MIN];
	AUTO_FREE char *path = cache_file_path(NULL, "probe", nobodys, sizeof(nobodys), "");
	char *slash = NULL;

	if (!path)
		return NULL;
	cache_file_directories(path);
	for (int up = 0; up < 2; up++) /* removes the file's name, and its kind */
		if ((slash = strrchr(path, '/')))
			*slash = '\0';
	return shiny_steal(path);
}

static bool write_whole(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : EIO;
			return false;
		}
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

bool cache_file_write(const char *path, const void *data, size_t bytes)
{
	static unsigned serial; /* two threads may write the same file */
	AUTO_FREE char *temporary = NULL;
	bool whole;
	int fd, why;

	temporary = mem_format("%s.%d.%u", path, getpid(),
			       __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT) {
		cache_file_directories(path);
		fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (fd < 0)
		return false;
	whole = write_whole(fd, data, bytes);
	why = errno;
	if (close(fd) == 0 && whole && rename(temporary, path) == 0)
		return true;
	if (whole)
		why = errno;
	unlink(temporary);
	errno = why;
	return false;
}

struct cache_sibling {
	char name[NAME_MAX + 1];
	struct timespec written;
};

ORDER_BY(by_age, struct cache_sibling, ORDER_DOWN(written.tv_sec) ?: ORDER_DOWN(written.tv_nsec))

void cache_file_prune(const char *path, size_t keep)
{
	const char *slash = strrchr(path, '/'), *dash = strrchr(path, '-');
	AUTO_FREE char *directory = mem_format("%.*s", (int)(slash - path), path);
	VEC(struct cache_sibling) siblings = { 0 };
	size_t common = (size_t)(dash - slash);
	DIR *entries = opendir(directory);
	struct dirent *entry;
	struct stat st;

	while (entries && (entry = readdir(entries))) {
		struct cache_sibling *sibling;

		if (strncmp(entry->d_name, slash + 1, common) != 0 ||
		    fstatat(dirfd(entries), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		sibling = vec_push(&siblings);
		memcpy(sibling->name, entry->d_name, strlen(entry->d_name) + 1);
		sibling->written = st.st_mtim;
	}
	if (siblings.count)
		qsort(siblings.at, siblings.count, sizeof(*siblings.at), by_age);
	for (size_t i = keep; i < siblings.count; i++)
		unlinkat(dirfd(entries), siblings.at[i].name, 0);
	free(siblings.at);
	if (entries)
		closedir(entries);
}

bool cache_file_writable(void)
{
	static const uint8_t nobodys[CACHE_FILE_ID_MIN];
	AUTO_FREE char *path = cache_file_path(NULL, "probe", nobodys, sizeof(nobodys), "");

	return path && cache_file_write(path, "", 0) && unlink(path) == 0;
}
