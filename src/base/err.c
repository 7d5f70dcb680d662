/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.c: errors as values. See err.h.
 *
 * The one hard case is running out of memory while making an error: the functions then return a
 * static instance, which shiny_err_free, shiny_err_advise and shiny_err_where leave alone.
 */
#define _GNU_SOURCE
#include "err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static char no_memory_message[] = "out of memory";
static struct shiny_err no_memory = { .code = SHINY_ERR_OTHER,
				      .message = no_memory_message,
				      .advice = NULL };

/* Returns the text on one line without control characters, as a path may hold a newline or an
 * escape sequence, and the text goes to a terminal. Frees `text`. */
static char *make_one_line(char *text)
{
	char *plain = text_is_plain(text) ? text : text_plain(text);

	if (plain != text)
		free(text);
	return plain;
}

static struct shiny_err *make(enum shiny_err_code code, char *message)
{
	struct shiny_err *err = message ? malloc(sizeof(*err)) : NULL;

	if (!err) {
		free(message);
		return &no_memory;
	}
	message = make_one_line(message);
	*err = (struct shiny_err){ .code = code, .message = message, .advice = NULL };
	return err;
}

struct shiny_err *shiny_err(enum shiny_err_code code, const char *format, ...)
{
	char *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	return make(code, message);
}

struct shiny_err *shiny_err_os(int error_number, const char *format, ...)
{
	char *what = NULL, *message = NULL, reason[128];
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	/* the GNU strerror_r: the text may or may not be put into the buffer */
	if (what && asprintf(&message, "%s: %s", what,
			     strerror_r(error_number, reason, sizeof(reason))) < 0)
		message = NULL;
	free(what);
	return make(SHINY_ERR_OTHER, message);
}

struct shiny_err *shiny_err_advise(struct shiny_err *err, const char *format, ...)
{
	char *advice = NULL;
	va_list args;

	if (!err || err == &no_memory)
		return err;
	va_start(args, format);
	if (vasprintf(&advice, format, args) < 0)
		advice = NULL; /* an error without advice is still that error */
	va_end(args);
	if (advice)
		advice = make_one_line(advice);
	free(err->advice);
	err->advice = advice;
	return err;
}

struct shiny_err *shiny_err_where(struct shiny_err *err, const char *format, ...)
{
	char *where = NULL, *message = NULL;
	va_list args;

	if (!err || err == &no_memory)
		return err;
	va_start(args, format);
	if (vasprintf(&where, format, args) < 0)
		where = NULL;
	va_end(args);
	if (where && asprintf(&message, "%s: %s", where, err->message) < 0)
		message = NULL; /* an error without a place is still that error */
	free(where);
	if (message) {
		free(err->message);
		err->message = make_one_line(message);
	}
	return err;
}

void shiny_err_free(struct shiny_err *err)
{
	if (!err || err == &no_memory)
		return;
	free(err->message);
	free(err->advice);
	free(err);
}
