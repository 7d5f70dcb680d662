/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "line_fold.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "terminal.h"
#include "text.h"

#define COMMAND "shinyctl "
enum { HANGING = 2 };

struct line_fold {
	FILE *out;
	size_t columns;
	VEC(char) line;
};

/* Returns the bytes of one of our sequences (terminal.h); 0: none begins here. */
static size_t sequence_bytes(const char *s)
{
	size_t key = strlen(terminal_key()), bytes;

	if (*s != '\033' || strncmp(s + 1, terminal_key(), key) != 0 || s[1 + key] != '[')
		return 0;
	bytes = 2 + key + strcspn(s + 2 + key, "mKG");
	return bytes + (s[bytes] != '\0');
}

/* True if the text up to `end` is wider than `room` columns. */
static bool is_wider(const char *s, const char *end, size_t room)
{
	size_t columns = 0;
	uint32_t point;

	while (s < end && columns <= room) {
		size_t bytes = sequence_bytes(s);

		if (!bytes) {
			char one[8] = { 0 };

			bytes = text_decode(s, &point);
			memcpy(one, s, bytes);
			columns += text_columns(one);
		}
		s += bytes;
	}
	return columns > room;
}

/* Returns where the line is broken, at or before `last`: at a space within `room` columns, if there
 * is one, else at the first; NULL: nowhere. */
static const char *break_of(const char *line, const char *last, size_t room)
{
	const char *best = NULL;

	for (const char *at = strchr(line, ' '); at && at <= last; at = strchr(at + 1, ' ')) {
		if (best && is_wider(line, at, room))
			break;
		best = at;
	}
	return best;
}

static void put_line(FILE *out, const char *line, size_t columns)
{
	size_t indent = strspn(line, " "), left = indent;
	const char *from = line + indent, *end = from + strlen(from), *at;
	const char *command = strstr(from, COMMAND), *last = end;

	/* a break before a command must leave it whole, or there is none */
	if (command)
		last = command == from || is_wider(command, end, columns - HANGING) ? from
										   : command - 1;
	while (left < columns && is_wider(from, end, columns - left) &&
	       (at = break_of(from, last, columns - left))) {
		const char *next = at + strspn(at, " ");

		while (at > from && at[-1] == ' ')
			at--;
		fprintf(out, "%*s%.*s\n", (int)left, "", (int)(at - from), from);
		from = next;
		left = indent + HANGING < columns / 2 ? indent + HANGING : HANGING;
	}
	fprintf(out, "%*s%s\n", (int)left, "", from);
}

static ssize_t write_folded(void *cookie, const char *data, size_t bytes)
{
	struct line_fold *fold = cookie;

	for (size_t i = 0; i < bytes; i++) {
		if (data[i] != '\n') {
			*vec_push(&fold->line) = data[i];
			continue;
		}
		*vec_push(&fold->line) = '\0';
		put_line(fold->out, fold->line.at, fold->columns);
		fold->line.count = 0;
	}
	return ferror(fold->out) ? 0 : (ssize_t)bytes;
}

static int close_fold(void *cookie)
{
	struct line_fold *fold = cookie;

	fwrite(fold->line.at, 1, fold->line.count, fold->out);
	free(fold->line.at);
	free(fold);
	return 0;
}

FILE *line_fold_open(FILE *out, size_t columns)
{
	struct line_fold *fold = mem_zero(1, sizeof(*fold));
	FILE *stream;

	*fold = (struct line_fold){ .out = out, .columns = columns };
	stream = fopencookie(fold, "w",
			     (cookie_io_functions_t){ .write = write_folded, .close = close_fold });
	if (!stream) {
		free(fold);
		return out;
	}
	setvbuf(stream, NULL, _IOLBF, BUFSIZ);
	return stream;
}
