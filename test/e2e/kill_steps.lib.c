/* SPDX-License-Identifier: Apache-2.0 */
// build: -Itest -Wl,-z,initfirst
/*
 * kill_steps.lib.c: preloaded into a shinyctl, kills it at one step of its work, or lets that step
 * fail.
 *
 *   KILL_AT=CALL:FILE:WHEN:COUNT
 *     CALL   open, write, writev, truncate, unlink, sync; pack: a block of events is
 *            compressed; frame, page: the last page of a transaction goes into SQLite's log, its
 *            header or itself; checkpoint: a page goes from the log into the session file
 *     FILE   what the file's path must hold; empty: any
 *     WHEN   before or after the call; half: a write that has come half way
 *     COUNT  the how manieth such call
 *   FAIL_WITH=ERRNO:HOW:SAY
 *            the call fails with this error instead; half: it writes half, and the next one fails
 *     HOW    once; on: from then on also what would take space on the same disk (that of the
 *            spill, or that of the session file); until: the same, until there is a file SAY.free
 *     SAY    a file that gets a byte for each call that fails
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
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

#include "lib/stay_preloaded.h"

enum when { HALF, AFTER, NEVER, FAIL };
enum { LOG_FRAME = 24 };

static struct {
	char call[16], file[64], when[16];
	int count;
} wanted;
static struct {
	int error; /* 0: it is killed */
	char how[8], say[4096];
	bool on, next; /* next: the rest of a write that came half way */
	bool spill;    /* which disk */
} failure;
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
	text = getenv("FAIL_WITH");
	if (text &&
	    sscanf(text, "%d:%7[^:]:%4095s", &failure.error, failure.how, failure.say) != 3) {
		fprintf(stderr, "FAIL_WITH: %s\n", text);
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

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static int fail(void)
{
	int said = NEXT(open)(failure.say, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (NEXT(write)(said, "!", 1) != 1)
		_exit(3);
	close(said);
	errno = failure.error;
	return -1;
}

/* Somebody has made space. */
static bool is_free(void)
{
	char path[sizeof(failure.say) + 8];

	snprintf(path, sizeof(path), "%s.free", failure.say);
	return !strcmp(failure.how, "until") && access(path, F_OK) == 0;
}

static bool on_spill(const char *path)
{
	return strstr(path, "spill.") || strstr(path, "ring.");
}

/* This call fails, or comes half way and the next one fails. */
static enum when begin_failure(const char *path)
{
	bool half = !strcmp(wanted.when, "half");

	failure.spill = on_spill(path);
	failure.on = strcmp(failure.how, "once");
	failure.next = half;
	return half ? HALF : FAIL;
}

/* When this call is to be the last, or what becomes of it. */
static enum when judge(const char *call, const char *path)
{
	if (failure.on && is_free())
		failure.on = false;

	bool wants = !strcmp(call, wanted.call) &&
		     (!strcmp(wanted.file, "*") || strstr(path, wanted.file));

	if ((failure.next || (failure.on && strcmp(call, "unlink"))) && *path &&
	    on_spill(path) == failure.spill) {
		failure.next = false;
		return FAIL;
	}
	if (!wants || ++seen != wanted.count)
		return NEVER;
	if (failure.error)
		return begin_failure(path);
	if (!strcmp(wanted.when, "before"))
		die();
	return strcmp(wanted.when, "half") ? AFTER : HALF;
}

/* Behind the call. */
static void come_through(enum when when)
{
	if (when != NEVER && !failure.error)
		die();
}

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
	if (when == FAIL)
		return fail();
	done = NEXT(pwrite)(fd, data, when == HALF ? bytes / 2 : bytes, at);
	come_through(when);
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
	if (when == FAIL)
		return fail();
	if (when == HALF) {
		done = NEXT(pwrite)(fd, parts[0].iov_base, parts[0].iov_len, at);
		done += NEXT(pwrite)(fd, parts[1].iov_base, parts[1].iov_len / 2, at + done);
	} else {
		done = NEXT(pwritev)(fd, parts, count, at);
	}
	come_through(when);
	return done;
}

int open(const char *path, int flags, ...)
{
	bool makes = flags & (O_CREAT | O_TMPFILE);
	enum when when = makes ? judge("open", path) : NEVER;
	va_list list;
	int mode, fd;

	if (when == FAIL)
		return fail();
	va_start(list, flags);
	mode = makes ? va_arg(list, int) : 0;
	va_end(list);
	fd = NEXT(open)(path, flags, mode);
	come_through(when);
	return fd;
}

int open64(const char *path, int flags, ...)
{
	va_list list;
	int mode;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
	va_end(list);
	return open(path, flags, mode);
}

int ftruncate(int fd, off_t bytes)
{
	char path[4096];
	enum when when;
	int status;

	path_of(fd, path, sizeof(path));
	when = judge("truncate", path);
	if (when == FAIL)
		return fail();
	status = NEXT(ftruncate)(fd, bytes);
	come_through(when);
	return status;
}

int ftruncate64(int fd, off_t bytes) { return ftruncate(fd, bytes); }

static int sync_file(int fd, int (*next)(int))
{
	char path[4096];
	enum when when;
	int status;

	path_of(fd, path, sizeof(path));
	when = judge("sync", path);
	if (when == FAIL)
		return fail();
	status = next(fd);
	come_through(when);
	return status;
}

int fsync(int fd) { return sync_file(fd, NEXT(fsync)); }
int fdatasync(int fd) { return sync_file(fd, NEXT(fdatasync)); }

int unlink(const char *path)
{
	enum when when = judge("unlink", path);
	int status;

	if (when == FAIL)
		return fail();
	status = NEXT(unlink)(path);
	come_through(when);
	return status;
}

size_t ZSTD_compressStream2(void *context, void *out, void *in, int end)
{
	size_t (*next)(void *, void *, void *, int) =
		(size_t (*)(void *, void *, void *, int))dlsym(RTLD_NEXT, "ZSTD_compressStream2");
	enum when when = end == 2 ? judge("pack", "") : NEVER; /* ZSTD_e_end */
	size_t left = next(context, out, in, end);

	come_through(when);
	return left;
}
