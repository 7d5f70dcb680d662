/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_texts.c: see source_texts.h.
 *
 * __FILE__ of a .cc file is in functions of that file alone: the macro expands to the name of the
 * file it is written in, and functions with different strings are never folded. Paths of headers
 * say less: their functions are copied into every file that uses them. They are left out, and so
 * are C files, which libraries without symbols share with each other.
 */
#define _GNU_SOURCE /* memmem */
#include "source_texts.h"
#include "../../src/base/row_order.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MIN = 6, PATH_MAX = SOURCE_TEXT_MAX / 2 };

static bool is_path_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '/' || c == '.' || c == '_' || c == '-' || c == '+';
}

static bool is_source(const uint8_t *text, size_t length)
{
	static const char *const endings[] = { ".cc", ".cpp", ".cxx" };

	if (length < PATH_MIN || !memchr(text, '/', length))
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t bytes = strlen(endings[i]);

		if (length > bytes && !memcmp(text + length - bytes, endings[i], bytes))
			return true;
	}
	return false;
}

/* Finds each string of the segment that is wholly a path. */
static void find_paths(struct source_texts *texts, const struct binary *file,
		       const Elf64_Phdr *segment)
{
	uint64_t bytes = binary_room(file, segment->p_vaddr);
	const uint8_t *data = binary_at(file, segment->p_vaddr, bytes), *at = data,
		      *end = data ? data + bytes : NULL;

	/* every path has a dot, and few other bytes are dots */
	while (at && at < end && texts->paths.count < SOURCE_TEXTS_MAX &&
	       (at = memchr(at, '.', (size_t)(end - at)))) {
		const uint8_t *first = at, *last = at;

		while (first > data && is_path_byte(first[-1]) && at - first < PATH_MAX)
			first--;
		while (last < end && is_path_byte(*last) && last - at < PATH_MAX)
			last++;
		if (last < end && !*last && (first == data || !first[-1]) &&
		    is_source(first, (size_t)(last - first)))
			*vec_push(&texts->paths) = segment->p_vaddr + (uint64_t)(first - data);
		at = last > at ? last : at + 1;
	}
}

static bool is_name_byte(uint8_t c)
{
	return isalnum(c) || c == '_' || c == ':' || c == '~';
}

size_t source_text_namespace(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return length && !isdigit((unsigned char)*text) && text[length] == ':' &&
			       text[length + 1] == ':' && isalpha((unsigned char)text[length + 2])
		       ? length
		       : 0;
}

/* Finds each string of the segment that is wholly a qualified name. */
static void find_names(struct source_texts *texts, const struct binary *file,
		       const Elf64_Phdr *segment)
{
	uint64_t bytes = binary_room(file, segment->p_vaddr);
	const uint8_t *data = binary_at(file, segment->p_vaddr, bytes), *at = data,
		      *end = data ? data + bytes : NULL;

	while (at && at < end && texts->names.count < SOURCE_TEXTS_MAX &&
	       (at = memmem(at, (size_t)(end - at), "::", 2))) {
		const uint8_t *first = at, *last = at;

		while (first > data && is_name_byte(first[-1]) && at - first < PATH_MAX)
			first--;
		while (last < end && is_name_byte(*last) && last - at < PATH_MAX)
			last++;
		if (last < end && !*last && (first == data || !first[-1]) &&
		    source_text_namespace((const char *)first))
			*vec_push(&texts->names) = segment->p_vaddr + (uint64_t)(first - data);
		at = last > at ? last : at + 2;
	}
}

void source_texts_find(const struct binary *file, struct source_texts *out)
{
	*out = (struct source_texts){ .paths = { 0 } };
	for (size_t i = 0; i < file->segment_count; i++)
		if (binary_holds_constants(file, &file->segments[i])) {
			find_paths(out, file, &file->segments[i]);
			find_names(out, file, &file->segments[i]);
		}
	if (out->paths.count)
		qsort(out->paths.at, out->paths.count, sizeof(*out->paths.at), order_numbers);
	if (out->names.count)
		qsort(out->names.at, out->names.count, sizeof(*out->names.at), order_numbers);
}

void source_texts_deinit(struct source_texts *texts)
{
	free(texts->paths.at);
	free(texts->names.at);
}
