/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.c: see cache_file.h. */
#define _GNU_SOURCE /* secure_getenv, asprintf */
#include "cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/base/cleanup.h"
#include "binary.h"

enum { BUILD_ID_MIN = 4 };

/* Can it be the user's: files of root's in somebody else's home would be in that user's way. */
static bool is_own(const char *directory)
{
	struct stat st;

	return stat(directory, &st) ? errno == ENOENT : st.st_uid == geteuid();
}

char *cache_file_path(const char *directory, const char *kind, const uint8_t *build_id,
		      size_t build_id_bytes)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	char id[2 * BINARY_BUILD_ID_MAX + 1] = "", *path = NULL;
	int n = -1;

	if (build_id_bytes < BUILD_ID_MIN || build_id_bytes > BINARY_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < build_id_bytes; i++)
		snprintf(id + 2 * i, 3, "%02x", build_id[i]);
	if (directory)
		n = asprintf(&path, "%s/%s/%s", directory, kind, id);
	else if (cache &&
		 *cache == '/') /* a relative one is to be ignored, says its specification */
		n = is_own(cache) ? asprintf(&path, "%s/shiny/%s/%s", cache, kind, id) : -1;
	else if (home && *home == '/' && is_own(home))
		n = asprintf(&path, "%s/.cache/shiny/%s/%s", home, kind, id);
	return n < 0 ? NULL : path;
}

void *cache_file_read(const char *path, size_t least, size_t most, size_t *bytes)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	AUTO_FREE uint8_t *data = NULL;
	size_t size, done = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size < 0)
		return NULL;
	size = (size_t)st.st_size;
	if (size < least || size > most)
		return NULL;
	data = malloc(size ? size : 1);
	while (data && done < size) {
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

/* Makes the directories in front of the last slash. */
static void make_directories(const char *path)
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

static bool write_whole(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
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
	int fd;

	if (asprintf(&temporary, "%s.%d.%u", path, getpid(),
		     __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED)) < 0) {
		temporary = NULL;
		return false;
	}
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT) {
		make_directories(path);
		fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (fd < 0)
		return false;
	whole = write_whole(fd, data, bytes);
	if (close(fd) || !whole || rename(temporary, path)) {
		unlink(temporary);
		return false;
	}
	return true;
}

bool cache_file_writable(void)
{
	static const uint8_t nobodys[BUILD_ID_MIN];
	AUTO_FREE char *path = cache_file_path(NULL, "probe", nobodys, sizeof(nobodys));

	return path && cache_file_write(path, "", 0) && unlink(path) == 0;
}
