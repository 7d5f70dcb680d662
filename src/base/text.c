/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "function_name.h"
#include "glob.h"
#include "mem.h"

#define ELLIPSIS "\xe2\x80\xa6"

size_t text_decode(const char *s, uint32_t *point)
{
	const unsigned char *u = (const unsigned char *)s;
	static const struct { unsigned char mask, lead; uint32_t least; } forms[] = {
		{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000},
	};

	for (size_t n = 0; n < 4; n++) {
		if ((u[0] & forms[n].mask) != forms[n].lead)
			continue;
		uint32_t value = u[0] & (unsigned char)~forms[n].mask;

		for (size_t i = 1; i <= n; i++) {
			if ((u[i] & 0xc0) != 0x80)
				goto invalid; /* also stops at the terminator */
			value = value << 6 | (u[i] & 0x3f);
		}
		if (value < forms[n].least || value > 0x10ffff ||
		    (value >= 0xd800 && value < 0xe000))
			break;
		*point = value;
		return n + 1;
	}
invalid:
	*point = TEXT_INVALID;
	return 1;
}

uint32_t text_stand_in(uint32_t p)
{
	static const struct { uint32_t first, last; } unseen[] = {
		{0x80, 0x9f}, /* C1: 0x9b is ESC [ */
		/* direction, ends of lines */
		{0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x206f},
		{0xfff9, 0xfffb}, {0xfffd, 0xffff}, {0xe0000, 0xe007f},
	};

	if (p < 0x20)
		return 0x2400 + p;
	if (p == 0x7f)
		return 0x2421;
	for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++)
		if (p >= unseen[i].first && p <= unseen[i].last)
			return TEXT_INVALID;
	return (p & 0xfffe) == 0xfffe ? TEXT_INVALID : 0;
}

bool text_is_plain(const char *s)
{
	while (*s) {
		uint32_t point;

		if ((unsigned char)(*s - 0x20) < 0x5f) { /* nearly always */
			s++;
			continue;
		}
		s += text_decode(s, &point);
		if (text_stand_in(point))
			return false;
	}
	return true;
}

static bool is_bare(const char *s)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_./+=:,@%-";

	return *s && *s != '=' && !s[strspn(s, bare)]; /* =name is a path to zsh */
}

static void put_escaped(FILE *out, const char *s)
{
	fputs("$'", out);
	while (*s) {
		uint32_t point;
		size_t bytes = text_decode(s, &point);

		for (size_t i = 0; i < bytes; i++)
			if (text_stand_in(point) || s[i] == '\'')
				fprintf(out, "\\%03o", (unsigned char)s[i]);
			else
				fprintf(out, "%s%c", s[i] == '\\' ? "\\" : "", s[i]);
		s += bytes;
	}
	putc('\'', out);
}

static char *quoted(const char *lead, const char *word)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = mem_stream_open(&text, &bytes);

	fputs(lead, out);
	if (is_bare(word)) {
		fputs(word, out);
	} else if (!text_is_plain(word)) {
		put_escaped(out, word);
	} else {
		putc('\'', out);
		for (; *word; word++)
			fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, out);
		putc('\'', out);
	}
	mem_stream_close(out);
	return text;
}

char *text_shell(const char *file)
{
	return quoted(*file == '-' ? "./" : "", file);
}

char *text_word(const char *word)
{
	return quoted("", word);
}

size_t text_encode(char *out, uint32_t p)
{
	size_t more = p < 0x80 ? 0 : p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
	static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};

	out[0] = (char)(leads[more] | p >> 6 * more);
	for (size_t i = 1; i <= more; i++)
		out[i] = (char)(0x80 | (p >> 6 * (more - i) & 0x3f));
	return more + 1;
}

char *text_plain(const char *s)
{
	char *plain = mem_alloc(3 * strlen(s) + 1), *at = plain; /* a stand-in has three bytes */

	while (*s) {
		uint32_t point, other;
		size_t bytes = text_decode(s, &point);

		other = text_stand_in(point);
		at += text_encode(at, other ? other : point);
		s += bytes;
	}
	*at = '\0';
	return plain;
}

void text_line(FILE *out, const char *format, ...)
{
	char *text, *plain;
	va_list args;

	va_start(args, format);
	text = mem_format_list(format, args);
	va_end(args);
	plain = text_plain(text);
	fprintf(out, "%s\n", plain);
	free(plain);
	free(text);
}

/* Covers the ranges that matter for names and paths; a terminal that disagrees shifts one row by a
 * column. */
static size_t point_columns(uint32_t p)
{
	static const struct { uint32_t first, last; unsigned char columns;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },	 { 0x483, 0x489, 0 },	  { 0x591, 0x5bd, 0 },
		{ 0x610, 0x61a, 0 },	 { 0x64b, 0x65f, 0 },	  { 0x1100, 0x115f, 2 },
		{ 0x1ab0, 0x1aff, 0 },	 { 0x1dc0, 0x1dff, 0 },	  { 0x200b, 0x200f, 0 },
		{ 0x20d0, 0x20ff, 0 },	 { 0x2e80, 0x303e, 2 },	  { 0x3041, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 },	 { 0xf900, 0xfaff, 2 },	  { 0xfe00, 0xfe0f, 0 },
		{ 0xfe20, 0xfe2f, 0 },	 { 0xfe30, 0xfe6f, 2 },	  { 0xff00, 0xff60, 2 },
		{ 0xffe0, 0xffe6, 2 },	 { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
		{ 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	if (p < 0x300)
		return 1;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (p >= ranges[i].first && p <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}

size_t text_columns(const char *s)
{
	size_t columns = 0;

	while (*s) {
		uint32_t point;

		s += text_decode(s, &point);
		columns += point_columns(point);
	}
	return columns;
}

/* ---- an output that never overruns ---- */

struct sink {
	char *at, *end;
	size_t columns;
};

static void sink_put(struct sink *sink, const char *s, size_t bytes, size_t columns)
{
	if ((size_t)(sink->end - sink->at) < bytes)
		return;
	memcpy(sink->at, s, bytes);
	sink->at += bytes;
	sink->columns += columns;
}

/* Copies from `s` up to `end`, as long as `columns` allow. */
static void sink_copy(struct sink *sink, const char *s, const char *end, size_t columns)
{
	size_t used = 0;

	while (s < end && *s) {
		uint32_t point;
		size_t bytes = text_decode(s, &point), wide = point_columns(point);

		if (used + wide > columns)
			break;
		if (text_stand_in(point))
			sink_put(sink, "?", 1, 1);
		else
			sink_put(sink, s, bytes, wide);
		used += wide;
		s += bytes;
	}
}

/* Returns the tail of `s` that takes at most `columns`. */
static const char *tail_of(const char *s, size_t columns)
{
	size_t all = text_columns(s);

	while (all > columns && *s) {
		uint32_t point;

		s += text_decode(s, &point);
		all -= point_columns(point);
	}
	return s;
}

/*
 * Replaces template arguments at nesting depth `depth` and below by …; returns false where it has
 * none or does not fit. "operator<", "operator->" and shifts hold brackets that open nothing: such
 * a name keeps them all.
 */
static bool fold_templates(char *out, size_t room, const char *s, int depth)
{
	char *at = out, *end = out + room - 1;
	int level = 0;
	bool folded = false;

	if (strstr(s, "operator<") || strstr(s, "operator>") || strstr(s, "operator-"))
		return false;
	for (; *s; s++) {
		if (*s == '>' && level > 0 && level-- == depth)
			folded = true;
		if (level < depth) {
			if (at + 4 >= end)
				return false;
			*at++ = *s;
		}
		if (*s == '<' && ++level == depth) {
			if (at + 4 >= end)
				return false;
			memcpy(at, ELLIPSIS, 3);
			at += 3;
		}
	}
	*at = 0;
	return folded && level == 0;
}

/* Replaces every outermost argument list by (…), but not "(anonymous namespace)", "operator()",
 * what is in parentheses behind a blank, and a text that is as a whole; false if there is none. */
static bool fold_arguments(char *out, size_t room, const char *s)
{
	char *at = out, *end = out + room - 1;
	int level = 0;
	bool folded = false, keep = false;

	if (*s == '(' && strncmp(s, "(anonymous", 10) != 0)
		*at++ = *s++;
	for (const char *start = s; *s; s++) {
		if (*s == '(' && level++ == 0)
			keep = strncmp(s, "(anonymous", 10) == 0 || strncmp(s, "()", 2) == 0 ||
			       (s > start && s[-1] == ' ');
		if (level <= 1 || keep) {
			bool inner = level == 1 && *s != '(' && *s != ')' && !keep;

			if (at + 4 >= end)
				return false;
			if (!inner)
				*at++ = *s;
			else if (s > start && s[-1] == '(') {
				memcpy(at, ELLIPSIS, 3);
				at += 3;
				folded = true;
			}
		}
		if (*s == ')' && level > 0)
			level--;
	}
	*at = 0;
	return folded && level == 0;
}

static void cut_text(struct sink *sink, const char *s, size_t columns, enum text_cut cut)
{
	size_t left = columns - 1, head = cut == TEXT_CUT_END	  ? left
					  : cut == TEXT_CUT_START ? 0
								  : left - left / 2;

	sink_copy(sink, s, s + strlen(s), head);
	sink_put(sink, ELLIPSIS, 3, 1);
	if (left > head) {
		const char *tail = tail_of(s, left - head);

		sink_copy(sink, tail, tail + strlen(tail), left - head);
	}
}

static size_t columns_of(const char *start, const char *end)
{
	return text_columns(start) - text_columns(end);
}

/* Copies what stands in front of a name, "lib.so+0x12 â ", without the number, or without the end
 * of the module, as `room` requires; returns the columns that it took. */
static size_t cut_front(struct sink *sink, const char *s, const struct function_name_parts *parts,
			size_t room)
{
	const char *blank = strchr(parts->front, ' ');
	size_t before = sink->columns, joint = blank ? columns_of(blank, parts->start) : 0;

	if (parts->front == s || !blank || room < joint + 2) {
		sink_put(sink, ELLIPSIS, 3, 1);
	} else if (columns_of(s, parts->start) <= room) {
		sink_copy(sink, s, parts->start, room);
	} else {
		size_t most = columns_of(s, parts->front);

		sink_copy(sink, s, parts->front, most + joint < room ? most : room - joint - 1);
		sink_put(sink, ELLIPSIS, 3, 1);
		sink_copy(sink, blank, parts->start, joint);
	}
	return sink->columns - before;
}

/*
 * Cuts a call site's text around its name (function_name.h): first what stands behind it, then
 * what stands before it, then outer scopes, then the middle of it. False: it has no name.
 */
static bool cut_name(struct sink *sink, const char *s, size_t columns)
{
	struct function_name_parts parts;
	const char *name, *last;
	size_t room = 0, rest;

	if (!function_name_find(s, &parts))
		return false;
	rest = text_columns(parts.end);
	for (name = last = parts.start; name; name = function_name_next(name, parts.end)) {
		size_t wide = columns_of(name, parts.end) + (name > s) + (rest > 0);

		if (wide <= columns) {
			room = columns - wide;
			break;
		}
		last = name;
	}
	if (!name) {
		char *alone = mem_format("%.*s", (int)(parts.end - last), last);

		cut_text(sink, alone, columns, TEXT_CUT_MIDDLE);
		free(alone);
		return true;
	}
	if (name > parts.start)
		sink_put(sink, ELLIPSIS, 3, 1);
	else if (name > s)
		room -= cut_front(sink, s, &parts, room + 1) - 1;
	sink_copy(sink, name, parts.end, columns);
	if (!rest)
		return true;
	sink_copy(sink, parts.end, parts.end + strlen(parts.end), rest == room + 1 ? rest : room);
	if (rest > room + 1)
		sink_put(sink, ELLIPSIS, 3, 1);
	return true;
}

size_t text_fit(char *out, size_t room, const char *s, size_t columns, enum text_cut cut)
{
	struct sink sink = {.at = out, .end = out + room - 1};
	char folded[2][2048];
	size_t whole = text_columns(s);

	if (whole > columns && cut == TEXT_CUT_MIDDLE && strlen(s) < sizeof(folded[0])) {
		for (int depth = 4; depth >= 1; depth--)
			if (fold_templates(folded[0], sizeof(folded[0]), s, depth) &&
			    text_columns(folded[0]) < whole &&
			    (text_columns(folded[0]) <= columns || depth == 1)) {
				s = folded[0];
				break;
			}
		if (text_columns(s) > columns && fold_arguments(folded[1], sizeof(folded[1]), s))
			s = folded[1];
	}
	if (text_columns(s) <= columns || columns == 0)
		sink_copy(&sink, s, s + strlen(s), columns);
	else if (cut != TEXT_CUT_MIDDLE || !cut_name(&sink, s, columns))
		cut_text(&sink, s, columns, cut);
	*sink.at = 0;
	return sink.columns;
}

bool text_matches(const char *pattern, const char *s)
{
	return strpbrk(pattern, "*?") ? glob_matches(pattern, s) : strstr(s, pattern) != NULL;
}

const char *text_place(const char *path)
{
	size_t length = strlen(path);

	return length && path[length - 1] == '/' ? path + strspn(path, "./") : text_base(path);
}

bool text_is_one_of(const char *text, const char *const *names, size_t count)
{
	for (size_t i = 0; text && i < count; i++)
		if (!strcmp(text, names[i]))
			return true;
	return false;
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
