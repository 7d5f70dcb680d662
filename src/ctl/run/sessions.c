/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sessions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../base/cleanup.h"
#include "../../sidecar/access/access_ask.h"

enum { ROOTS = 3, TRIES = 16, BEING_MADE_SECONDS = 10 };

static size_t roots(char out[ROOTS][SESSIONS_PATH])
{
	const char *candidates[ROOTS] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
	size_t count = 0;

	for (size_t i = 0; i < ROOTS; i++) {
		bool seen = !candidates[i] || candidates[i][0] != '/' ||
			    strlen(candidates[i]) > SESSIONS_PATH / 2;

		if (seen)
			continue;
		snprintf(out[count], SESSIONS_PATH, "%s/shiny-%u", candidates[i],
			 (unsigned)geteuid());
		for (size_t n = 0; n < count; n++)
			seen = seen || strcmp(out[n], out[count]) == 0;
		count += !seen;
	}
	return count;
}

static bool private_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 077) == 0;
}

static bool has_room(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= SHINY_ROOT_ROOM;
}

struct shiny_err *sessions_make(char out[SESSIONS_PATH])
{
	char candidates[ROOTS][SESSIONS_PATH];
	size_t count = roots(candidates);
	int why = ENOENT;

	for (size_t n = 0; n < 2 * count; n++) {
		size_t i = n % count;

		/* the first round takes only those with room, the second any */
		if (mkdir(candidates[i], 0700) != 0 && errno != EEXIST) {
			why = errno;
			continue;
		}
		if (!private_directory(candidates[i])) {
			why = EPERM;
			continue;
		}
		if (n < count && !has_room(candidates[i]))
			continue;
		for (int t = 0; t < TRIES; t++) {
			struct timespec now;
			uint64_t key;

			clock_gettime(CLOCK_BOOTTIME, &now);
			snprintf(out, SESSIONS_PATH, "%.*s/%d.%" PRIu64, SESSIONS_PATH / 2 + 64,
				 candidates[i], (int)getpid(),
				 (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
			/* without a key, it takes no guests (wire.h) */
			if (getrandom(&key, sizeof(key), GRND_NONBLOCK) == sizeof(key))
				snprintf(out + strlen(out), 20, ".%016" PRIx64, key);
			if (mkdir(out, 0700) == 0)
				return NULL;
			why = errno;
			if (why != EEXIST)
				break;
		}
	}
	return shiny_err_advise(
		shiny_err_os(why, "cannot make a session directory in %s",
			     count ? candidates[0] : "/dev/shm"),
		"it must belong to you with mode 0700; TMPDIR may name another place");
}

void sessions_remove_empty(const char *directory)
{
	char lock[SESSIONS_PATH + sizeof(SHINY_SIDECAR_LOCK) + 1];
	struct session_directory look;

	if (!sessions_look(directory, &look) || look.rings)
		return;
	snprintf(lock, sizeof(lock), "%s/%s", directory, SHINY_SIDECAR_LOCK);
	unlink(lock);
	rmdir(directory);
}

/* ---- one ring ---- */

/* Maps the header page of a ring that is ready and of our format; NULL otherwise. The caller unmaps
 * and closes. */
static struct shiny_header *map_header(int directory, const char *name, int *fd)
{
	struct shiny_header *header = MAP_FAILED;
	uint64_t magic;
	struct stat st;

	*fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return NULL;
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size >= sizeof(*header) &&
	    pread(*fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == SHINY_MAGIC)
		header = mmap(NULL, sizeof(*header), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (header != MAP_FAILED) {
		if (__atomic_load_n(&header->ready, __ATOMIC_ACQUIRE) == 1 /* [ready] */ &&
		    header->magic == SHINY_MAGIC && header->version == SHINY_VERSION &&
		    header->layout == shiny_layout())
			return header;
		munmap(header, sizeof(*header));
	}
	close(*fd);
	return NULL;
}

static bool is_ring(const char *name)
{
	return strncmp(name, SHINY_RING_PREFIX, sizeof(SHINY_RING_PREFIX) - 1) == 0;
}

/*
 * True if a ring that cannot be read yet is still being made. Its maker starts the sidecar before
 * it finishes the ring, so a quick sidecar often sees this. Does not test the lock: taking it for a
 * moment would keep a maker from it.
 */
static bool is_being_made(const struct stat *st, const struct timespec *now)
{
	return now->tv_sec - st->st_ctim.tv_sec < BEING_MADE_SECONDS;
}

bool sessions_look(const char *directory, struct session_directory *out)
{
	int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock;
	DIR *dir = at >= 0 ? fdopendir(at) : NULL;
	struct timespec now;
	struct stat st;
	const struct dirent *entry;

	if (!dir) {
		if (at >= 0)
			close(at);
		return false;
	}
	*out = (struct session_directory){.rings = 0};
	snprintf(out->path, sizeof(out->path), "%s", directory);
	clock_gettime(CLOCK_REALTIME, &now);
	while ((entry = readdir(dir))) {
		struct shiny_header *header;
		int fd;

		if (!is_ring(entry->d_name) ||
		    fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		out->rings++;
		out->bytes += (uint64_t)st.st_blocks * 512;
		header = map_header(at, entry->d_name, &fd);
		if (!header) {
			out->used += is_being_made(&st, &now);
			continue;
		}
		if (now.tv_sec > 0 && header->start_realtime) {
			uint64_t t = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;

			if (t > header->start_realtime && t - header->start_realtime > out->age)
				out->age = t - header->start_realtime;
		}
		munmap(header, sizeof(*header));
		/* released at once: closing the descriptor drops it */
		if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
			out->used++;
		close(fd);
	}
	lock = openat(at, SHINY_SIDECAR_LOCK, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (lock >= 0) {
		out->collected = flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
		close(lock);
	}
	closedir(dir);
	return true;
}

void sessions_each(sessions_fn *each, void *context)
{
	char candidates[ROOTS][SESSIONS_PATH];
	size_t count = roots(candidates);

	for (size_t i = 0; i < count; i++) {
		struct dirent **names = NULL;
		int found = private_directory(candidates[i])
				    ? scandir(candidates[i], &names, NULL, alphasort)
				    : 0;

		for (int n = 0; n < found; n++) {
			char path[SESSIONS_PATH];
			struct session_directory *look = malloc(sizeof(*look));

			snprintf(path, sizeof(path), "%.*s/%.255s", SESSIONS_PATH / 2 + 64,
				 candidates[i], names[n]->d_name);
			if (look && names[n]->d_name[0] != '.' && private_directory(path) &&
			    sessions_look(path, look))
				each(context, look);
			free(look);
			free(names[n]);
		}
		free(names);
	}
}

/* Finds the directory of the session of process `pid`, by the ring that it maps. */
static struct shiny_err *sessions_of_pid(pid_t pid, char out[SESSIONS_PATH])
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps)
		return shiny_err_os(errno, "cannot look at process %d", (int)pid);
	while (!found && getline(&line, &room, maps) > 0) {
		char *name = strchr(line, '/'), *slash = name ? strrchr(name, '/') : NULL;

		if (!slash || !is_ring(slash + 1) || slash - name >= SESSIONS_PATH)
			continue;
		snprintf(out, SESSIONS_PATH, "%.*s", (int)(slash - name), name);
		found = private_directory(out);
	}
	free(line);
	fclose(maps);
	if (!found)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "process %d maps no ring: it is not being recorded", (int)pid),
			"start it with `shinyctl run`; `shinyctl collect` lists what is being "
			"recorded");
	return NULL;
}

struct shiny_err *sessions_named(const char *which, const char *verb, char out[SESSIONS_PATH])
{
	char *end;
	long pid;

	if (!*which || strspn(which, "0123456789") != strlen(which)) {
		snprintf(out, SESSIONS_PATH, "%s", which);
		return NULL;
	}
	errno = 0;
	pid = strtol(which, &end, 10);
	if (errno || pid <= 0 || pid > 0x7fffffff)
		return shiny_err(SHINY_ERR_USAGE, "%s: %s is no process id", verb, which);
	return sessions_of_pid((pid_t)pid, out);
}

static struct shiny_err *write_whole(int at, const char *directory, const char *file,
				     const char *text)
{
	AUTO_CLOSE int fd = openat(at, file,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct shiny_err *err;

	if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		return NULL;
	err = shiny_err_os(errno, "cannot write into %s", directory);
	if (fd >= 0)
		unlinkat(at, file, 0);
	return err;
}

/* Makes the file under another name, then renames it, so that readers see it complete. */
static struct shiny_err *make_mark(int at, const char *directory, const char *name, char final[64])
{
	static const struct timespec pause = { .tv_nsec = 1000 };
	char temporary[64];
	struct timespec now;

	snprintf(temporary, sizeof(temporary), ".mark.%d", (int)getpid());
	SHINY_TRY(write_whole(at, directory, temporary, name));
	do { /* two in the same nanosecond: the later one moves on */
		clock_gettime(CLOCK_BOOTTIME, &now);
		snprintf(final, 64, SHINY_MARK_PREFIX "%" PRIu64,
			 (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
		if (renameat2(at, temporary, at, final, RENAME_NOREPLACE) == 0)
			return NULL;
	} while (errno == EEXIST && nanosleep(&pause, NULL) == 0);
	unlinkat(at, temporary, 0);
	return shiny_err_os(errno, "cannot make a mark in %s", directory);
}

/* Opens a directory of a session that is being recorded. */
static struct shiny_err *open_used(const char *directory, struct session_directory *look, int *at)
{
	*at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*at < 0)
		return shiny_err_advise(shiny_err_os(errno, "cannot open the session directory %s",
						     directory),
					"`shinyctl collect` lists the session directories");
	if (sessions_look(directory, look) && look->used)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER, "%s: nothing is being recorded there",
					  directory),
				"`shinyctl collect` lists the session directories");
}

/* Waits for the sidecar, which looks every few milliseconds, or later on a busy machine. */
static bool wait_until_taken(int at, const char *file)
{
	static const struct timespec pause = { .tv_nsec = 5000000 };

	for (int i = 0; i < 400; i++) {
		if (faccessat(at, file, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

struct shiny_err *sessions_mark(const char *directory, const char *name, bool *taken)
{
	struct session_directory look;
	char final[64];
	AUTO_CLOSE int at = -1;

	*taken = false;
	if (!*name || strlen(name) > SHINY_TAG_NAME_MAX)
		return shiny_err(SHINY_ERR_USAGE, "mark: a name has 1 to %d bytes",
				 SHINY_TAG_NAME_MAX);
	SHINY_TRY(open_used(directory, &look, &at));
	SHINY_TRY(make_mark(at, directory, name, final));
	*taken = look.collected && wait_until_taken(at, final);
	return NULL;
}

struct shiny_err *sessions_access(const char *directory, const char *sources, bool *taken)
{
	struct session_directory look;
	char temporary[64], final[64];
	AUTO_CLOSE int at = -1;

	*taken = false;
	SHINY_TRY(open_used(directory, &look, &at));
	snprintf(temporary, sizeof(temporary), ".access.%d", (int)getpid());
	snprintf(final, sizeof(final), ACCESS_ASK_PREFIX "%d", (int)getpid());
	SHINY_TRY(write_whole(at, directory, temporary, sources));
	if (renameat(at, temporary, at, final) != 0)
		return shiny_err_os(errno, "cannot ask the sidecar of %s", directory);
	*taken = look.collected && wait_until_taken(at, final);
	return NULL;
}

struct shiny_err *sessions_switch(const char *directory, bool on, unsigned *count)
{
	int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = at >= 0 ? fdopendir(at) : NULL;
	const struct dirent *entry;

	if (!dir) {
		struct shiny_err *err =
			shiny_err_os(errno, "cannot open the session directory %s", directory);

		if (at >= 0)
			close(at);
		return shiny_err_advise(err, "`shinyctl collect` lists the session directories");
	}
	*count = 0;
	while ((entry = readdir(dir))) {
		struct shiny_header *header;
		int fd;

		if (!is_ring(entry->d_name) || !(header = map_header(at, entry->d_name, &fd)))
			continue;
		__atomic_store_n(&header->recording, on, __ATOMIC_RELAXED); /* [ctl] */
		munmap(header, sizeof(*header));
		close(fd);
		++*count;
	}
	closedir(dir);
	if (!*count)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "%s: no ring of this version in it", directory),
					"`shinyctl collect` lists the session directories");
	return NULL;
}
