/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_words.c: see type_words.h.
 *
 * An array of objects with destructors begins with a word that holds the number of elements: the
 * block is larger than whole elements by that word. An array with another remainder has unknown
 * contents, and so have the bytes of a block behind its object.
 */
#include "type_words.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/query/type_name.h"
#include "../base/lower_bound.h"
#include "../base/mem.h"

enum { WORD_BYTES = 8, MEMBER_BYTES = 4, FIRST_MEMBER = 1, SECOND_MEMBER = 2 };

/* ---- loading ---- */

/* "std::map<int, Entry>" → "std::map"; NULL: no class of the library. */
static char *library_class(const char *of)
{
	char *text;

	if (strncmp(of, "std::", 5) != 0 || !strchr(of, '<'))
		return NULL;
	text = type_name_short(of);
	text[strcspn(text, "<")] = '\0';
	return text;
}

static char *word_name(const struct query *q, bool full)
{
	const char *name = query_text(q, 4), *mark = type_name_mark(query_text(q, 7));
	char *owner = full ? mem_text(query_text(q, 6)) : type_name_short(query_text(q, 6));
	char *kind = library_class(query_text(q, 5));
	char *text = *name && kind ? mem_format("%s%s::%s (%s)", mark, owner, name, kind)
		     : *name	   ? mem_format("%s%s::%s", mark, owner, name)
		     : kind	   ? mem_format("%s%s (%s)", mark, owner, kind)
				   : NULL;

	free(owner);
	free(kind);
	return text;
}

static enum word_use element_use(const char *name, const char *container, uint32_t bytes)
{
	size_t length = strlen(name);

	if (length && (name[length - 1] == '*' || name[length - 1] == '&'))
		return WORD_POINTER;
	if ((bytes > 1 && bytes < WORD_BYTES) || !strcmp(name, "double") ||
	    !strcmp(name, "long double") || strstr(container, "basic_string<"))
		return WORD_NOTHING;
	return WORD_MAYBE;
}

/* Says by the tags in a type's name which members of a backing store of Blink's are weak. The
 * collector does not follow untraced members, such as lists of observers, so they count as weak. */
static uint8_t weak_members(const char *name)
{
	const char *weak = strstr(name, "WeakMemberTag"), *strong = strstr(name, "StrongMemberTag");

	weak = weak ? weak : strstr(name, "UntracedMemberTag");
	if (strncmp(name, "blink::Heap", 11) != 0 || !strstr(name, "Backing<") || !weak)
		return 0;
	if (!strong)
		return FIRST_MEMBER | SECOND_MEMBER;
	if (!strstr(name, "KeyValuePair<cppgc::internal::BasicMember<") &&
	    !strstr(name, "std::pair<cppgc::internal::BasicMember<"))
		return 0; /* the offset of its members is unknown */
	return weak < strong ? FIRST_MEMBER : SECOND_MEMBER;
}

static uint32_t cut(int64_t number)
{
	return number < 0 || number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static struct shiny_err *load_types(struct store *store, struct type_words *words)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT id, name, bytes, form, confidence, container FROM type", &q);

	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, words->type_count);
		const char *form = query_text(q, 3), *confidence = query_text(q, 4);
		struct typed *t = &words->types[id];

		t->bytes = cut(query_number(q, 2));
		t->many = !strcmp(form, "array") || !strcmp(form, "buffer");
		t->sure = id && (!strcmp(confidence, "exact") || !strcmp(confidence, "high"));
		t->element = element_use(query_text(q, 1), query_text(q, 5), t->bytes);
		t->weak = weak_members(query_text(q, 1));
	}
	return err;
}

static struct shiny_err *load_words(struct store *store, bool full, struct type_words *words)
{
	VEC(struct type_word) rows = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		store_query(store,
			    "SELECT m.type, m.at, m.bytes, m.holds, m.name, m.of, y.name, "
			    "y.confidence FROM member m JOIN type y ON y.id = m.type ORDER BY "
			    "m.type, m.at",
			    &q);

	QUERY_EACH (q, err) {
		struct typed *t = &words->types[query_id(q, 0, words->type_count)];
		uint32_t at = cut(query_number(q, 1)), bytes = cut(query_number(q, 2));
		const char *holds = query_text(q, 3);

		if (!t->count++)
			t->first = (uint32_t)rows.count;
		*vec_push(&rows) = (struct type_word){
			.at = at,
			.end = bytes < UINT32_MAX - at ? at + bytes : UINT32_MAX,
			.use = !strcmp(holds, "pointer")   ? WORD_POINTER
			       : !strcmp(holds, "nothing") ? WORD_NOTHING
							   : WORD_MAYBE,
			.name = word_name(q, full),
		};
	}
	words->words = rows.at;
	words->word_count = rows.count;
	return err;
}

struct shiny_err *type_words_load(struct store *store, bool full_names, struct type_words *out)
{
	SHINY_CLEANUP(type_words_deinit)
	struct type_words words = { .type_count = store_ids(store, "type") };

	words.types = mem_zero(words.type_count + 1, sizeof(*words.types));
	SHINY_TRY(load_types(store, &words));
	SHINY_TRY(load_words(store, full_names, &words));
	*out = shiny_steal(words);
	return NULL;
}

void type_words_deinit(struct type_words *words)
{
	for (size_t i = 0; i < words->word_count; i++)
		free(words->words[i].name);
	free(words->words);
	free(words->types);
	*words = (struct type_words){ 0 };
}

/* ---- asking ---- */

/* Returns the place in the type of the block's place `at`; UINT64_MAX: outside the type. */
static uint64_t place_in_type(const struct typed *t, uint64_t size, uint64_t at)
{
	uint64_t rest;

	if (!t->bytes)
		return UINT64_MAX;
	if (!t->many)
		return at < t->bytes ? at : UINT64_MAX;
	rest = size % t->bytes;
	if (rest == WORD_BYTES && t->bytes > WORD_BYTES)
		return at < WORD_BYTES ? UINT64_MAX : (at - WORD_BYTES) % t->bytes;
	return rest ? UINT64_MAX : at % t->bytes;
}

enum word_use type_words_find(const struct type_words *words, uint32_t type, uint64_t size,
			      uint64_t at, uint32_t *name)
{
	const struct typed *t = &words->types[type < words->type_count ? type : 0];
	uint64_t place = place_in_type(t, size, at);
	const struct type_word *rows = &words->words[t->first];
	size_t row;

	*name = WORD_UNNAMED;
	if (t->weak & (at % WORD_BYTES < MEMBER_BYTES ? FIRST_MEMBER : SECOND_MEMBER))
		return WORD_WEAK;
	if (!type || place == UINT64_MAX)
		return WORD_MAYBE;
	if (!t->count)
		return t->sure && (t->many || t->bytes <= WORD_BYTES) ? t->element : WORD_MAYBE;
	row = lower_bound(t->count, i, rows[i].end <= place);
	if (row == t->count || rows[row].at > place)
		return WORD_MAYBE;
	if (rows[row].name)
		*name = t->first + (uint32_t)row;
	return t->sure ? rows[row].use : WORD_MAYBE;
}
