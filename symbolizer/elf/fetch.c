/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c: see fetch.h.
 *
 * The first request opens libdebuginfod, which loads libcurl and forty more libraries; users
 * without servers don't need it. The library caches the files that it got, and the names of those
 * that servers lack, in the user's cache, shared with gdb and others.
 *
 * Waiting. The library gives up if a server sends nothing for DEBUGINFOD_TIMEOUT seconds (90), but
 * not while it connects. So its progress callback, about once a second, checks the clock as well. A
 * server that doesn't answer would cost that time for each of a program's hundred libraries: after
 * the first failure no more requests are sent, and the module's note gives the reason. The end of a
 * recording must not wait long for a server: there all requests of the process have a few seconds
 * together, however many symbolizers send them.
 */
#define _GNU_SOURCE /* asprintf */

#include "fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/progress.h"
#include "binary.h"
#include "cache_file.h"

enum { TIMEOUT_DEFAULT = 90, TIMEOUT_MAX = 3600 };

struct debuginfod_client;

/* The library's interface, from its manual page debuginfod_find_debuginfo(3). */
static struct {
	bool there;
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *);
	int (*find)(struct debuginfod_client *, const unsigned char *id, int bytes, char **path);
	void (*set_progress)(struct debuginfod_client *,
			     int (*call)(struct debuginfod_client *, long done, long total));
	void (*set_data)(struct debuginfod_client *, void *data);
	void *(*get_data)(struct debuginfod_client *);
	const char *(*get_url)(struct debuginfod_client *);
} api;
static pthread_once_t api_once = PTHREAD_ONCE_INIT;

struct fetch {
	struct debuginfod_client *client;
	bool tried, failed;
	bool (*stop)(void);
	bool show;
	const char *ended; /* reason why the callback ended a download; NULL: it didn't */
	struct progress progress;
	long done;
	time_t moved; /* when `done` last changed */
	uint64_t began_ms; /* start of the current request */
	time_t limit;
	unsigned most; /* seconds for all requests of the process; 0: no limit */
	char trouble[512];
};
static uint64_t spent_ms; /* by all requests that have a limit */

static void open_library(void)
{
	static const struct {
		const char *name;
		void *into;
	} functions[] = {
		{ "debuginfod_begin", &api.begin },
		{ "debuginfod_end", &api.end },
		{ "debuginfod_find_debuginfo", &api.find },
		{ "debuginfod_set_progressfn", &api.set_progress },
		{ "debuginfod_set_user_data", &api.set_data },
		{ "debuginfod_get_user_data", &api.get_data },
		{ "debuginfod_get_url", &api.get_url },
	};
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	api.there = library;
	for (size_t i = 0; library && i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(library, functions[i].name);

		api.there = api.there && function;
		memcpy(functions[i].into, &function, sizeof(function));
	}
}

struct fetch *fetch_create(bool progress, bool (*stop)(void), unsigned most)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	const char *limit = getenv("DEBUGINFOD_TIMEOUT");
	long seconds = limit ? strtol(limit, NULL, 10) : 0;

	if (fetch)
		*fetch = (struct fetch){ .show = progress,
					 .stop = stop,
					 .most = most,
					 .limit = seconds > 0 && seconds <= TIMEOUT_MAX
							  ? seconds
							  : TIMEOUT_DEFAULT };
	return fetch;
}

void fetch_destroy(struct fetch *fetch)
{
	if (!fetch)
		return;
	if (fetch->client)
		api.end(fetch->client);
	free(fetch);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static time_t now(void)
{
	return (time_t)(now_ms() / 1000);
}

static bool is_spent(const struct fetch *fetch, uint64_t began_ms)
{
	return fetch->most && __atomic_load_n(&spent_ms, __ATOMIC_RELAXED) + now_ms() - began_ms >=
				      (uint64_t)fetch->most * 1000;
}

/* Progress callback; anything but 0 ends the download. `total` is 0 until data arrives: until then
 * `done` counts the calls. */
static int on_progress(struct debuginfod_client *client, long done, long total)
{
	struct fetch *fetch = api.get_data(client);

	if (total > 0 && done != fetch->done) {
		fetch->done = done;
		fetch->moved = now();
	}
	progress_set(&fetch->progress, total > 0 ? (uint64_t)done : 0,
		     total > 0 ? (uint64_t)total : 0);
	if (fetch->stop && fetch->stop())
		fetch->ended = "stopped";
	else if (now() - fetch->moved > fetch->limit)
		fetch->ended = "no answer";
	else if (is_spent(fetch, fetch->began_ms))
		fetch->ended = "not all answers in the seconds that a recording waits; `shinyctl "
			       "symbols FILE` waits longer";
	return fetch->ended ? 1 : 0;
}

/* NULL: the user has named none. */
static const char *servers(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && urls[strspn(urls, " ")] ? urls : NULL;
}

enum fetch_result fetch_debug(struct fetch *fetch, const uint8_t *id, size_t bytes,
			      const char *name, char **path)
{
	const char *url;
	char what[256], *got = NULL;
	time_t began = now();
	int fd;

	if (!servers())
		return FETCH_OFF;
	if (fetch->failed)
		return FETCH_FAILED;
	pthread_once(&api_once, open_library);
	if (!api.there)
		return FETCH_NO_LIBRARY;
	if (!fetch->tried) {
		fetch->tried = true;
		fetch->client = api.begin();
		if (fetch->client) {
			api.set_data(fetch->client, fetch);
			api.set_progress(fetch->client, on_progress);
		}
	}
	if (!fetch->client) {
		fetch->failed = true;
		snprintf(fetch->trouble, sizeof(fetch->trouble), "libdebuginfod can't begin");
		return FETCH_FAILED;
	}
	snprintf(what, sizeof(what), "fetching debug information of %s, bytes", name);
	fetch->ended = NULL;
	fetch->done = 0;
	fetch->moved = began;
	progress_begin(&fetch->progress, what, fetch->show);
	fetch->began_ms = now_ms();
	fd = api.find(fetch->client, id, (int)bytes, &got);
	if (fetch->most)
		__atomic_add_fetch(&spent_ms, now_ms() - fetch->began_ms, __ATOMIC_RELAXED);
	progress_end(&fetch->progress);
	if (fd >= 0) {
		close(fd);
		*path = got;
		return got ? FETCH_FOUND : FETCH_NOT_THERE;
	}
	/* the library also returns "not there" when its own limit was reached */
	if (fd == -ENOENT && !fetch->done && now() - began >= fetch->limit)
		fetch->ended = "no answer";
	else if (fd == -ENOENT && !fetch->ended)
		return FETCH_NOT_THERE;
	url = api.get_url(fetch->client);
	fetch->failed = true;
	snprintf(fetch->trouble, sizeof(fetch->trouble), "%s: %s", url ? url : servers(),
		 fetch->ended ? fetch->ended : strerror(-fd));
	/* keep the server's address, without the file's */
	char *file = strstr(fetch->trouble, "/buildid/");

	if (file) {
		const char *rest = strstr(file, ": ");

		memmove(file, rest ? rest : "", strlen(rest ? rest : "") + 1);
	}
	return FETCH_FAILED;
}

const char *fetch_trouble(const struct fetch *fetch)
{
	return fetch->trouble;
}

/* Returns the library's cache directory, malloc'ed; the oldest default, if it exists. */
static char *cache_directory(void)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME"),
		   *xdg = getenv("XDG_CACHE_HOME");
	char *path = NULL;

	if (own && *own)
		return strdup(own);
	if (home && asprintf(&path, "%s/.debuginfod_client_cache", home) < 0)
		return NULL;
	if (path && access(path, F_OK) == 0)
		return path;
	free(path);
	return (xdg && *xdg ? asprintf(&path, "%s/debuginfod_client", xdg) :
		home	    ? asprintf(&path, "%s/.cache/debuginfod_client", home) :
			      -1) < 0
		       ? NULL
		       : path;
}

char *fetch_cached(const uint8_t *id, size_t bytes)
{
	char hex[2 * BINARY_BUILD_ID_MAX + 1], *directory, *path = NULL;

	if (!bytes || bytes > BINARY_BUILD_ID_MAX || !(directory = cache_directory()))
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	if (asprintf(&path, "%s/%s/debuginfo", directory, hex) < 0)
		path = NULL;
	free(directory);
	if (path && access(path, R_OK)) {
		free(path);
		return NULL;
	}
	return path;
}

char *fetch_place(void)
{
	char *directory = servers() ? cache_directory() : NULL, *inside;

	if (directory && asprintf(&inside, "%s/", directory) >= 0) {
		cache_file_directories(inside);
		free(inside);
	}
	return directory;
}
