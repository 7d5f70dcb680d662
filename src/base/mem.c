/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c: see mem.h. */
#define _GNU_SOURCE
#include "mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *there(void *memory)
{
	static const char message[] = "shinyctl: out of memory\n";

	if (!memory) {
		if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
			_exit(5);
		_exit(4);
	}
	return memory;
}

void *mem_alloc(size_t bytes)
{
	return there(malloc(bytes ? bytes : 1));
}

void *mem_zero(size_t count, size_t each)
{
	return there(calloc(count ? count : 1, each ? each : 1));
}

void *mem_resize(void *old, size_t count, size_t each)
{
	return there(reallocarray(old, count ? count : 1, each ? each : 1));
}

char *mem_text(const char *text)
{
	return there(strdup(text));
}

char *mem_format(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return there(text);
}
