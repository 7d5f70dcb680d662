/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h: a target's book: lines that are collected in static memory and written at once, so that
 * keeping them allocates nothing. A target that must touch no new page meanwhile says how little
 * room it needs: SAY_ROOM.
 */
#ifndef SAY_H
#define SAY_H

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#ifndef SAY_ROOM
#define SAY_ROOM (1 << 20)
#endif

static char said[SAY_ROOM];
static size_t said_bytes;

static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	said_bytes +=
		(size_t)vsnprintf(said + said_bytes, sizeof said - said_bytes, format, arguments);
	va_end(arguments);
}

static void say_all(void)
{
	for (size_t at = 0; at < said_bytes;) {
		ssize_t n = write(1, said + at, said_bytes - at);

		if (n <= 0)
			_exit(3);
		at += (size_t)n;
	}
	said_bytes = 0;
}

#endif
