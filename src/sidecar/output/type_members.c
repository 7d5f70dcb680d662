/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_members.c: see type_members.h.
 *
 * Every aligned word of a class is of one of three kinds: it is a pointer member; it may hold a
 * pointer (an integer or an array of characters as wide as one, a union, a gap as wide as one,
 * where a virtual base may lie); or it cannot (a vptr, narrower numbers, floating point, padding).
 *
 * A word has the name that its member has in the class: "cache_", "position.next". Members of the
 * standard library's classes have no names: a path ends before the first of them.
 */
#include "type_members.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 8, WORDS_MOST = 1 << 13, DEPTH_MOST = 20 };
enum holds { HOLDS_NOTHING, HOLDS_MAYBE, HOLDS_POINTER };

struct layout_part { /* struct sym_member with copies of its strings */
	char *name, *type;
	uint64_t offset, bytes;
	unsigned depth, bit_size;
	enum sym_member_what what;
};
struct class_word {
	enum holds holds;
	bool taken;     /* a member lies in it */
	const char *of; /* type of the member that `name` names */
	char *name;
};
struct class_words {
	VEC(struct layout_part) parts;
	bool library; /* its members have no names */
	struct class_word *at;
	uint64_t bytes;
};

static bool keep_part(void *context, const struct sym_member *member)
{
	struct class_words *words = context;

	*vec_push(&words->parts) =
		(struct layout_part){ .name = member->name ? mem_text(member->name) : NULL,
				      .type = mem_text(member->type ? member->type : ""),
				      .offset = member->offset,
				      .bytes = member->bytes,
				      .depth = member->depth,
				      .bit_size = member->bit_size,
				      .what = member->what };
	return true;
}

static void drop_parts(struct class_words *words)
{
	for (size_t i = 0; i < words->parts.count; i++) {
		free(words->parts.at[i].name);
		free(words->parts.at[i].type);
	}
	words->parts.count = 0;
}

/* ---- contents of a member ---- */

/* Returns the length of the type's name without the bounds of an array. */
static size_t element_name(const char *type)
{
	size_t length = strlen(type);

	while (length && type[length - 1] == ']') {
		while (length && type[length - 1] != '[')
			length--;
		length -= length > 0;
		while (length && type[length - 1] == ' ')
			length--;
	}
	return length;
}

static bool is_narrow(const char *type, size_t length)
{
	static const char *const narrow[] = { "bool",	  "short",	  "unsigned short",
					      "int",	  "unsigned int", "float",
					      "double",	  "long double",  "char16_t",
					      "char32_t", "wchar_t" };

	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++)
		if (strlen(narrow[i]) == length && !strncmp(narrow[i], type, length))
			return true;
	return false;
}

static enum holds held_by(const struct layout_part *part)
{
	size_t length = element_name(part->type);
	char last = length ? part->type[length - 1] : '\0';

	if (part->what == SYM_HOLE || part->what == SYM_PADDING)
		return part->bytes < WORD_BYTES ? HOLDS_NOTHING : HOLDS_MAYBE;
	if (part->what == SYM_VPTR || part->bytes < WORD_BYTES || is_narrow(part->type, length))
		return HOLDS_NOTHING;
	if ((last == '*' || last == '&') && part->offset % WORD_BYTES == 0)
		return HOLDS_POINTER;
	return HOLDS_MAYBE;
}

/* ---- names ---- */

static bool is_of_library(const char *type)
{
	return !strncmp(type, "std::", 5) || !strncmp(type, "__gnu_cxx::", 11);
}

/* Returns the path to parts.at[path[depth]]; NULL: none. *of: the type at its end. */
static char *path_name(const struct class_words *words, const size_t *path, unsigned depth,
		       const char **of)
{
	char *text = NULL;

	for (unsigned d = 0; d <= depth; d++) {
		const struct layout_part *part = &words->parts.at[path[d]];
		bool named = part->what == SYM_MEMBER && part->name && *part->name;

		if (named) {
			char *longer = text ? mem_format("%s.%s", text, part->name)
					    : mem_text(part->name);

			free(text);
			text = longer;
		}
		if (named || is_of_library(part->type))
			*of = part->type;
		if (is_of_library(part->type))
			break;
	}
	return text;
}

/* ---- words ---- */

static void put_part(struct class_words *words, const size_t *path, unsigned depth)
{
	const struct layout_part *part = &words->parts.at[path[depth]];
	enum holds holds = held_by(part);
	uint64_t end = part->offset + (part->bit_size ? 1 : part->bytes);

	for (uint64_t w = part->offset / WORD_BYTES;
	     w * WORD_BYTES < end && w < words->bytes / WORD_BYTES; w++) {
		struct class_word *word = &words->at[w];

		if (part->what == SYM_HOLE || part->what == SYM_PADDING) {
			if (word->holds < holds)
				word->holds = holds;
			continue;
		}
		if (word->taken && part->bytes != 1 &&
		    (holds == HOLDS_POINTER || word->holds == HOLDS_POINTER))
			word->holds = HOLDS_MAYBE; /* a union */
		else if (word->holds < holds)
			word->holds = holds;
		if (!words->library && (!word->name || (holds == HOLDS_POINTER && word->taken))) {
			free(word->name);
			word->of = NULL;
			word->name = path_name(words, path, depth, &word->of);
		}
		word->taken = word->taken || part->bytes != 1; /* an empty class has one byte */
	}
}

/* Puts the members that have no members of their own into the words. */
static void put_parts(struct class_words *words)
{
	size_t path[DEPTH_MOST] = { 0 };

	words->at = mem_zero((size_t)(words->bytes / WORD_BYTES) + 1, sizeof(*words->at));
	for (size_t i = 0; i < words->parts.count; i++) {
		const struct layout_part *part = &words->parts.at[i];

		if (part->depth >= DEPTH_MOST)
			continue;
		path[part->depth] = i;
		if (i + 1 == words->parts.count || part[1].depth <= part->depth)
			put_part(words, path, part->depth);
	}
}

static bool same_word(const struct class_word *a, const struct class_word *b)
{
	return a->holds == b->holds && !a->name == !b->name &&
	       (!a->name || !strcmp(a->name, b->name)) && !a->of == !b->of &&
	       (!a->of || !strcmp(a->of, b->of));
}

static void put_rows(struct output *output, const struct class_words *words, uint32_t type)
{
	static const char *const holds[] = { "nothing", "maybe", "pointer" };
	uint64_t count = words->bytes / WORD_BYTES;

	for (uint64_t first = 0, next; first < count; first = next) {
		const struct class_word *word = &words->at[first];
		struct store_member row = { .type = type,
					    .at = first * WORD_BYTES,
					    .holds = holds[word->holds],
					    .name = word->name,
					    .of = word->of };

		for (next = first + 1; next < count && same_word(word, &words->at[next]);)
			next++;
		row.bytes = (next - first) * WORD_BYTES;
		OUTPUT_PUT(output, store_put_member, &row);
	}
}

void type_members_put(struct output *output, struct sym_module *const *modules,
		      const struct store_type *type)
{
	struct class_words words = { .library = is_of_library(type->name) };
	bool found = false;

	if (type->bytes < WORD_BYTES || type->bytes > WORDS_MOST * WORD_BYTES ||
	    !strcmp(type->confidence, "label"))
		return;
	for (size_t i = 1; i <= output->ids.modules.count && !found; i++) {
		drop_parts(&words); /* parts of a class of this name and another size */
		found = sym_module_info(modules[i])->dwarf &&
			sym_type_layout(modules[i], type->name, &words.bytes, keep_part,
					&words) &&
			words.bytes == type->bytes;
	}
	if (found) {
		put_parts(&words);
		put_rows(output, &words, type->id);
		for (uint64_t w = 0; w <= words.bytes / WORD_BYTES; w++)
			free(words.at[w].name);
		free(words.at);
	}
	drop_parts(&words);
	free(words.parts.at);
}
