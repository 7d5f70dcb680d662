/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakpad.c: see breakpad.h.
 *
 * An address in an inlined function has the INLINE records of its FUNC that cover it, one a depth.
 * The line record gives the place in the innermost of them; the record of depth N gives the place
 * in its caller, of depth N - 1. A PUBLIC record has no size: it reaches to the next record's
 * address.
 */
#include "breakpad.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"

enum {
	DEPTH_MAX = 64,
	HEADER_LINES = 16, /* MODULE and INFO come first */
	GUID_BYTES = 16,
	GUID_DIGITS = 2 * GUID_BYTES,
};

struct function {
	uint64_t low, high;
	const char *name; /* ends with its line; the lines of a FUNC follow */
	bool sized;	  /* a FUNC */
	bool folded;	  /* equal functions were folded into it; the file names one of them */
};

struct breakpad {
	const char *data, *end;
	size_t bytes;
	uint64_t base;			/* added to the file's addresses */
	VEC(struct function) functions; /* sorted by `low` */
	const char **files, **origins;	/* by number; NULL: undefined */
	size_t file_room, origin_room;
	VEC(char) text;
};

/* ---- fields ---- */

struct text_line {
	const char *at, *end;
};

/* Gets the line at `*next`, and advances `*next` to the next one. False: there is none. */
static bool next_line(const char **next, const char *end, struct text_line *out)
{
	const char *newline;

	if (*next >= end)
		return false;
	newline = memchr(*next, '\n', (size_t)(end - *next));
	*out = (struct text_line){ *next, newline ? newline : end };
	*next = newline ? newline + 1 : end;
	if (out->end > out->at && out->end[-1] == '\r')
		out->end--;
	return true;
}

static bool take_word(struct text_line *line, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t)(line->end - line->at) < bytes || memcmp(line->at, word, bytes))
		return false;
	line->at += bytes;
	return true;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Reads a number and the space after it. */
static bool take_number(struct text_line *line, int radix, uint64_t *out)
{
	const char *start = line->at;
	uint64_t value = 0;

	for (; line->at < line->end && digit_of(*line->at) < radix; line->at++)
		if (__builtin_mul_overflow(value, (uint64_t)radix, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_of(*line->at), &value))
			return false;
	if (line->at == start || (line->at < line->end && *line->at != ' '))
		return false;
	line->at += line->at < line->end;
	*out = value;
	return true;
}

/* Returns the text from `at` to the end of its line, interned; NULL: it is empty. */
static const char *rest_of(struct breakpad *breakpad, struct names *names, const char *at)
{
	struct text_line line;

	if (!at || !next_line(&at, breakpad->end, &line) || line.at == line.end)
		return NULL;
	breakpad->text.count = 0;
	for (const char *c = line.at; c < line.end; c++)
		*vec_push(&breakpad->text) = *c;
	*vec_push(&breakpad->text) = 0;
	return names_text(names, breakpad->text.at);
}

/* ---- which file it belongs to ---- */

/* Writes the build-id in Breakpad's form: its first 16 bytes as a GUID, whose first three fields
 * are numbers. */
static void guid_of(const struct binary *file, char out[GUID_DIGITS + 1])
{
	static const uint8_t order[GUID_BYTES] = { 3, 2, 1,  0,	 5,  4,	 7,  6,
						   8, 9, 10, 11, 12, 13, 14, 15 };

	for (size_t i = 0; i < GUID_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02X",
			 order[i] < file->build_id_bytes ? file->build_id[order[i]] : 0);
}

static bool is_build_id(const struct binary *file, struct text_line digits)
{
	for (size_t i = 0; i < file->build_id_bytes; i++) {
		char byte[3];

		snprintf(byte, sizeof(byte), "%02X", file->build_id[i]);
		if (!take_word(&digits, byte))
			return false;
	}
	return digits.at == digits.end || *digits.at == ' ';
}

/* True if its MODULE record, and its CODE_ID if present, name `file`. */
static bool belongs_to(const struct breakpad *breakpad, const struct binary *file)
{
	const char *next = breakpad->data;
	char guid[GUID_DIGITS + 1];
	struct text_line line;

	guid_of(file, guid);
	if (!next_line(&next, breakpad->end, &line) || !take_word(&line, "MODULE Linux x86_64 ") ||
	    !take_word(&line, guid))
		return false;
	for (int i = 0; i < HEADER_LINES && next_line(&next, breakpad->end, &line); i++)
		if (take_word(&line, "INFO CODE_ID "))
			return is_build_id(file, line);
	return true;
}

/* ---- the index ---- */

/* FUNC [m] address size parameters name; PUBLIC [m] address parameters name */
static void add_function(struct breakpad *breakpad, struct text_line line, bool sized)
{
	uint64_t low, bytes = 0, parameters;

	bool folded = take_word(&line, "m ");

	if (!take_number(&line, 16, &low) || (sized && !take_number(&line, 16, &bytes)) ||
	    !take_number(&line, 16, &parameters) ||
	    __builtin_add_overflow(low, breakpad->base, &low) ||
	    __builtin_add_overflow(low, bytes, &bytes))
		return;
	*vec_push(&breakpad->functions) = (struct function){ low, bytes, line.at, sized, folded };
}

/* FILE number name; INLINE_ORIGIN number name */
static void add_name(const struct breakpad *breakpad, struct text_line line, const char ***names,
		     size_t *room)
{
	uint64_t number;

	/* numbers count up from 0, and each line has at least 8 bytes */
	if (!take_number(&line, 10, &number) || number >= breakpad->bytes / 8)
		return;
	*names = mem_reach(*names, room, number, sizeof(**names), 256);
	(*names)[number] = line.at;
}

/* The last of an address counts: a FUNC. */
ORDER_BY(by_address, struct function, ORDER_UP(low) ?: ORDER_UP(sized) ?: ORDER_UP(name))

static void make_index(struct breakpad *breakpad)
{
	const char *next = breakpad->data;
	struct text_line line;

	while (next_line(&next, breakpad->end, &line)) {
		if (take_word(&line, "FUNC "))
			add_function(breakpad, line, true);
		else if (take_word(&line, "PUBLIC "))
			add_function(breakpad, line, false);
		else if (take_word(&line, "FILE "))
			add_name(breakpad, line, &breakpad->files, &breakpad->file_room);
		else if (take_word(&line, "INLINE_ORIGIN "))
			add_name(breakpad, line, &breakpad->origins, &breakpad->origin_room);
	}
	if (breakpad->functions.count)
		qsort(breakpad->functions.at, breakpad->functions.count,
		      sizeof(*breakpad->functions.at), by_address);
}

/* ---- finding and opening ---- */

static struct breakpad *breakpad_open(const struct binary *file, const char *path)
{
	struct breakpad *breakpad = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *data;

	if (fd < 0)
		return NULL;
	data = fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size
		       ? MAP_FAILED
		       : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return NULL;
	breakpad = mem_zero(1, sizeof(*breakpad));
	breakpad->data = data;
	breakpad->bytes = (size_t)st.st_size;
	breakpad->end = breakpad->data + breakpad->bytes;
	if (!belongs_to(breakpad, file)) {
		breakpad_close(breakpad);
		return NULL;
	}
	breakpad->base = UINT64_MAX;
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].p_type == PT_LOAD &&
		    file->segments[i].p_vaddr < breakpad->base)
			breakpad->base = file->segments[i].p_vaddr;
	make_index(breakpad);
	return breakpad;
}

/* Opens `path`, and takes ownership of it. */
static struct breakpad *try_open(const struct binary *file, char *path, char **found)
{
	struct breakpad *breakpad = breakpad_open(file, path);

	if (breakpad)
		*found = path;
	else
		free(path);
	return breakpad;
}

struct breakpad *breakpad_find(const struct binary *file, const char *path,
			       const char *const *places, char **found)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct breakpad *breakpad = NULL;
	char guid[GUID_DIGITS + 1];

	if (!file->build_id_bytes)
		return NULL;
	guid_of(file, guid);
	for (; !breakpad && places && *places; places++) {
		breakpad = try_open(file, mem_text(*places), found);
		if (!breakpad)
			breakpad = try_open(file, mem_format("%s/%s.sym", *places, name), found);
		/* the digit after the GUID is the age, which is 0 except on Windows */
		if (!breakpad)
			breakpad =
				try_open(file,
					 mem_format("%s/%s/%s0/%s.sym", *places, name, guid, name),
					 found);
	}
	return breakpad;
}

void breakpad_close(struct breakpad *breakpad)
{
	if (!breakpad)
		return;
	munmap((void *)(uintptr_t)breakpad->data, breakpad->bytes);
	free(breakpad->functions.at);
	free(breakpad->files);
	free(breakpad->origins);
	free(breakpad->text.at);
	free(breakpad);
}

/* ---- looking up ---- */

/* Returns the last record that starts at or below `vaddr`, if it covers it. */
static const struct function *find_function(const struct breakpad *breakpad, uint64_t vaddr)
{
	const struct function *all = breakpad->functions.at, *found;
	size_t next = lower_bound(breakpad->functions.count, i, all[i].low <= vaddr);

	if (!next)
		return NULL;
	found = &all[next - 1];
	return !found->sized || vaddr < found->high ? found : NULL;
}

struct location {
	uint64_t line, file, origin;
	bool known;
};

/* INLINE depth call_line call_file origin (address size)+ */
static void read_inline(struct text_line line, uint64_t at, struct location calls[DEPTH_MAX])
{
	struct location call = { .known = true };
	uint64_t depth, low, bytes;

	if (!take_number(&line, 10, &depth) || !take_number(&line, 10, &call.line) ||
	    !take_number(&line, 10, &call.file) || !take_number(&line, 10, &call.origin) ||
	    depth >= DEPTH_MAX)
		return;
	while (take_number(&line, 16, &low) && take_number(&line, 16, &bytes))
		if (at >= low && at - low < bytes)
			calls[depth] = call;
}

/* address size line file */
static void read_place(struct text_line line, uint64_t at, struct location *out)
{
	uint64_t low, bytes;

	if (take_number(&line, 16, &low) && take_number(&line, 16, &bytes) && at >= low &&
	    at - low < bytes)
		out->known =
			take_number(&line, 10, &out->line) && take_number(&line, 10, &out->file);
}

static struct sym_frame frame_at(struct breakpad *breakpad, struct names *names,
				 const struct location *location)
{
	struct sym_frame frame = { .line = 0 };

	if (location->known && location->file < breakpad->file_room) {
		frame.file = rest_of(breakpad, names, breakpad->files[location->file]);
		frame.line = location->line <= UINT32_MAX ? (uint32_t)location->line : 0;
	}
	return frame;
}

size_t breakpad_frames(struct breakpad *breakpad, struct names *names, uint64_t vaddr,
		       struct sym_frame *out, size_t room)
{
	const struct function *function = find_function(breakpad, vaddr);
	uint64_t at = vaddr - breakpad->base;
	struct location calls[DEPTH_MAX] = { 0 }, place = { .known = false };
	const char *next;
	struct text_line line;
	size_t depth = 0, count = 0;

	if (!function || !room)
		return 0;
	next = function->name;
	next_line(&next, breakpad->end, &line);
	while (function->sized && next_line(&next, breakpad->end, &line)) {
		if (take_word(&line, "INLINE ")) {
			read_inline(line, at, calls);
			continue;
		}
		if (line.at < line.end && digit_of(*line.at) > 15)
			break; /* the next record: hexadecimal digits are lower case */
		read_place(line, at, &place);
	}
	while (depth < DEPTH_MAX && calls[depth].known)
		depth++;
	for (; count < room && count <= depth; count++) {
		size_t inner = depth - count; /* depth of inlining; 0: not inlined */
		const char *name = inner ? NULL : function->name;

		out[count] = frame_at(breakpad, names, count ? &calls[inner] : &place);
		if (inner && calls[inner - 1].origin < breakpad->origin_room)
			name = breakpad->origins[calls[inner - 1].origin];
		out[count].function = names_demangled(names, rest_of(breakpad, names, name));
		out[count].inlined = inner > 0;
		if (!inner && function->folded && out[count].function) {
			char *text = mem_format("%s | others", out[count].function);

			out[count].function = names_text(names, text);
			free(text);
		}
	}
	return count;
}
