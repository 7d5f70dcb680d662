/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_steps.lib.c: preloaded into a shinyctl, kills it at one step of its work.
 *
 *   KILL_AT=CALL:FILE:WHEN:COUNT
 *     CALL   open, write, writev, truncate, unlink; pack: a block of events is compressed;
 *            frame, page: the last page of a transaction goes into SQLite's log, its header or
 *            itself; checkpoint: a page goes from the log into the session file
 *     FILE   what the file's path must hold; empty: any
 *     WHEN   before or after the call; half: a write that has come half way
 *     COUNT  the how manieth such call
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum when { BEFORE, HALF, AFTER, NEVER };
enum { LOG_FRAME = 24 };

static struct {
	char call[16], file[64], when[16];
	int count;
} wanted;
static atomic_int seen;
/* of SQLite's log, which one thread writes */
static bool log_begun, commits;

static __attribute__((constructor)) void begin(void)
{
	const char *text = getenv("KILL_AT");

	if (text && sscanf(text, "%15[^:]:%63[^:]:%15[^:]:%d", wanted.call, wanted.file,
			   wanted.when, &wanted.count) != 4) {
		fprintf(stderr, "KILL_AT: %s\n", text);
		_exit(3);
	}
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static bool has_end(const char *text, const char *end)
{
	size_t length = strlen(text), more = strlen(end);

	return length >= more && !strcmp(text + length - more, end);
}

/* When this call is to be the last; BEFORE: it is over by now. */
static enum when judge(const char *call, const char *path)
{
	if (strcmp(call, wanted.call) || (strcmp(wanted.file, "*") && !strstr(path, wanted.file)) ||
	    ++seen != wanted.count)
		return NEVER;
	if (!strcmp(wanted.when, "before"))
		die();
	return strcmp(wanted.when, "half") ? AFTER : HALF;
}

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static void path_of(int fd, char *out, size_t size)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, out, size - 1);
	out[length < 0 ? 0 : length] = 0;
}

/* What a write is to SQLite. */
static const char *kind_of(const char *path, const void *data, size_t bytes)
{
	const unsigned char *frame = data;
	bool last = commits;

	if (has_end(path, ".shiny"))
		return log_begun ? "checkpoint" : "write";
	if (!has_end(path, "-wal"))
		return "write";
	log_begun = true;
	/* a transaction's last frame says how many pages the file has then */
	commits = bytes == LOG_FRAME && (frame[4] || frame[5] || frame[6] || frame[7]);
	return commits ? "frame" : last ? "page" : "write";
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	char path[4096];
	enum when when;
	ssize_t done;

	path_of(fd, path, sizeof(path));
	when = judge(kind_of(path, data, bytes), path);
	done = NEXT(pwrite)(fd, data, when == HALF ? bytes / 2 : bytes, at);
	if (when != NEVER)
		die();
	return done;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t at)
{
	return pwrite(fd, data, bytes, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	char path[4096];
	enum when when;
	ssize_t done;

	path_of(fd, path, sizeof(path));
	when = judge("writev", path);
	if (when == HALF)
		NEXT(pwrite)(fd, parts[1].iov_base, parts[1].iov_len / 2,
			     at + (off_t)NEXT(pwrite)(fd, parts[0].iov_base, parts[0].iov_len, at));
	else
		done = NEXT(pwritev)(fd, parts, count, at);
	if (when != NEVER)
		die();
	return done;
}

int open(const char *path, int flags, ...)
{
	enum when when = judge("open", path);
	va_list list;
	int mode, fd;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
	va_end(list);
	fd = NEXT(open)(path, flags, mode);
	if (when != NEVER)
		die();
	return fd;
}

int ftruncate(int fd, off_t bytes)
{
	char path[4096];
	enum when when;
	int status;

	path_of(fd, path, sizeof(path));
	when = judge("truncate", path);
	status = NEXT(ftruncate)(fd, bytes);
	if (when != NEVER)
		die();
	return status;
}

int ftruncate64(int fd, off_t bytes) { return ftruncate(fd, bytes); }

int unlink(const char *path)
{
	enum when when = judge("unlink", path);
	int status = NEXT(unlink)(path);

	if (when != NEVER)
		die();
	return status;
}

size_t ZSTD_compressStream2(void *context, void *out, void *in, int end)
{
	size_t (*next)(void *, void *, void *, int) =
		(size_t (*)(void *, void *, void *, int))dlsym(RTLD_NEXT, "ZSTD_compressStream2");
	enum when when = end == 2 ? judge("pack", "") : NEVER; /* ZSTD_e_end */
	size_t left = next(context, out, in, end);

	if (when != NEVER)
		die();
	return left;
}
