/* SPDX-License-Identifier: Apache-2.0 */
// build: -Itest -Wl,-z,initfirst
/*
 * slow_maps.lib.c: preloaded into a shinyctl, holds up who first opens another process's list of
 * mappings, as the kernel does where that process changes them all the time.
 *
 *   SLOW_MAPS=MS   for so long
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/stay_preloaded.h"

static bool is_maps_of_another(const char *path)
{
	size_t length = strlen(path);

	return !strncmp(path, "/proc/", 6) && strtol(path + 6, NULL, 10) > 0 &&
	       strtol(path + 6, NULL, 10) != getpid() && length > 5 &&
	       !strcmp(path + length - 5, "/maps");
}

int open(const char *path, int flags, ...)
{
	static atomic_bool seen;
	mode_t mode = 0;
	va_list rest;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	if (is_maps_of_another(path) && !atomic_exchange(&seen, true)) {
		long ms = atol(getenv("SLOW_MAPS"));

		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	}
	return ((__typeof__(open) *)dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
