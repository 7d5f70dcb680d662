/* SPDX-License-Identifier: Apache-2.0 */
/*
 * package.c: see package.h.
 *
 * dpkg -S takes half a second a file. So dpkg's lists, /var/lib/dpkg/info/PACKAGE.list, are read
 * once (888 files and 9 MB here, 27 ms) and searched for a whole line. dpkg knows a file by the
 * name it was installed under: with or without the /usr that the merged directories added.
 *
 * Nearly every program has a file without debug information, and 27 ms are as much as all else that
 * a short recording takes. So an answer is stored in the user's cache, a file for each build-id;
 * its name has a hash of the path and of the time at which dpkg's lists changed last, so that it is
 * no longer used when a package is installed or removed.
 */
#define _GNU_SOURCE /* memmem */

#include "package.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../src/base/cleanup.h"
#include "binary.h"
#include "cache_file.h"

#define LISTS "/var/lib/dpkg/info"
#define LISTS_MAX ((size_t)128 << 20)

enum { OWNER = 128, OWNERS_KEPT = 2 };

struct packages {
	const char *cache_dir; /* NULL: the user's cache directory */
	bool no_cache;
	bool read, release_read;
	char *text; /* the lists, each line between two ends of line; each list starts with
	             * "\n\1PACKAGE\n" */
	size_t bytes, room;
	char release[64]; /* "bookworm"; "": this is no Debian */
};

struct packages *packages_create(const char *cache_dir, bool no_cache)
{
	struct packages *packages = calloc(1, sizeof(*packages));

	if (packages)
		*packages = (struct packages){ .cache_dir = cache_dir, .no_cache = no_cache };
	return packages;
}

void packages_destroy(struct packages *packages)
{
	if (packages)
		free(packages->text);
	free(packages);
}

static bool append(struct packages *packages, const char *text, size_t bytes)
{
	if (packages->bytes + bytes > LISTS_MAX)
		return false;
	if (packages->bytes + bytes > packages->room) {
		size_t room = (packages->bytes + bytes) * 2;
		char *larger = realloc(packages->text, room);

		if (!larger)
			return false;
		packages->text = larger;
		packages->room = room;
	}
	memcpy(packages->text + packages->bytes, text, bytes);
	packages->bytes += bytes;
	return true;
}

static void read_list(struct packages *packages, int directory, const char *name, size_t name_bytes)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	char block[16384];
	ssize_t got;

	if (fd < 0)
		return;
	if (append(packages, "\n\1", 2) && append(packages, name, name_bytes) &&
	    append(packages, "\n", 1))
		while ((got = read(fd, block, sizeof(block))) > 0 &&
		       append(packages, block, (size_t)got))
			;
	close(fd);
}

static void read_release(struct packages *packages)
{
	FILE *file = packages->release_read ? NULL : fopen("/etc/os-release", "re");
	char line[256], release[64] = "";
	bool debian = false;

	packages->release_read = true;
	while (file && fgets(line, sizeof(line), file)) {
		debian = debian || !strcmp(line, "ID=debian\n");
		sscanf(line, "VERSION_CODENAME=%63[a-z]", release);
	}
	if (file)
		fclose(file);
	if (debian)
		memcpy(packages->release, release, sizeof(release));
}

static void read_lists(struct packages *packages)
{
	DIR *directory = opendir(LISTS);
	struct dirent *entry;

	packages->read = true;
	while (directory && (entry = readdir(directory))) {
		size_t length = strlen(entry->d_name);

		if (length > 5 && !strcmp(entry->d_name + length - 5, ".list"))
			read_list(packages, dirfd(directory), entry->d_name, length - 5);
	}
	if (directory)
		closedir(directory);
}

static bool owner_of(const struct packages *packages, const char *path, char *out, size_t room)
{
	char line[4096];
	int length = snprintf(line, sizeof(line), "\n%s\n", path);
	const char *found = length < (int)sizeof(line) && packages->text
				    ? memmem(packages->text, packages->bytes, line, (size_t)length)
				    : NULL;
	const char *mark =
		found ? memrchr(packages->text, '\1', (size_t)(found - packages->text)) : NULL;

	if (!mark)
		return false;
	/* NAME or NAME:amd64 */
	snprintf(out, room, "%.*s", (int)strcspn(mark + 1, ":\n"), mark + 1);
	return true;
}

static bool find_owner(struct packages *packages, const char *path, char out[OWNER])
{
	char with[4096];

	if (!packages->read)
		read_lists(packages);
	if (owner_of(packages, path, out, OWNER))
		return true;
	if (!strncmp(path, "/usr/", 5))
		return owner_of(packages, path + 4, out, OWNER);
	return snprintf(with, sizeof(with), "/usr%s", path) < (int)sizeof(with) &&
	       owner_of(packages, with, out, OWNER);
}

/* Returns the path of the cached answer for `path`; NULL: none is stored. */
static char *cache_path(const struct packages *packages, const char *path,
			const struct binary *file)
{
	struct {
		uint64_t path, device, inode, seconds, nanoseconds;
	} key = { XXH3_64bits(path, strlen(path)), 0, 0, 0, 0 };
	char suffix[24];
	struct stat st;

	if (packages->no_cache || stat(LISTS, &st) != 0)
		return NULL;
	key.device = st.st_dev;
	key.inode = st.st_ino;
	key.seconds = (uint64_t)st.st_mtim.tv_sec;
	key.nanoseconds = (uint64_t)st.st_mtim.tv_nsec;
	snprintf(suffix, sizeof(suffix), "-%016" PRIx64, XXH3_64bits(&key, sizeof(key)));
	return cache_file_path(packages->cache_dir, "owners", file->build_id,
			       file->build_id_bytes, suffix);
}

/* Reads NAME and an end of line, or only that if no package holds the file. False: there is no
 * valid answer. */
static bool read_kept(const char *place, char out[OWNER])
{
	size_t bytes, length = 0;
	AUTO_FREE char *text = cache_file_read(place, 1, OWNER, &bytes);

	while (text && length < bytes && (isalnum((unsigned char)text[length]) ||
					  (text[length] && strchr("+.-", text[length]))))
		length++;
	if (!text || length + 1 != bytes || text[length] != '\n')
		return false;
	memcpy(out, text, length);
	out[length] = '\0';
	return true;
}

/* Finds the package that holds `path`: "libstdc++6". False: none, or this is no Debian. */
static bool packages_owner(struct packages *packages, const char *path, const struct binary *file,
			   char out[OWNER])
{
	AUTO_FREE char *place = cache_path(packages, path, file);
	char line[OWNER + 1];
	int length;

	if (place && read_kept(place, out))
		return *out;
	if (!find_owner(packages, path, out))
		*out = '\0';
	length = snprintf(line, sizeof(line), "%s\n", out);
	if (place && cache_file_write(place, line, (size_t)length))
		cache_file_prune(place, OWNERS_KEPT);
	return *out;
}

void packages_advice(struct packages *packages, const char *path, const struct binary *file,
		     char *out, size_t room)
{
	char owner[OWNER];

	read_release(packages);
	if (!packages_owner(packages, path, file, owner))
		snprintf(out, room,
			 "build it with -g, or give --symbols the place of its debug file or of "
			 "the file before it was stripped");
	else if (!strcmp(owner, "libc6"))
		snprintf(out, room, "apt install libc6-dbg");
	else if (*packages->release)
		snprintf(out, room,
			 "apt install %s-dbgsym (from deb http://deb.debian.org/debian-debug "
			 "%s-debug main)%s",
			 owner, packages->release,
			 getenv("DEBUGINFOD_URLS")
				 ? ""
				 : ", or set DEBUGINFOD_URLS=https://debuginfod.debian.net");
	else
		snprintf(out, room,
			 "install the debug package of %s (%s-dbgsym), or give --symbols", owner,
			 owner);
}
