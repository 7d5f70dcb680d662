/* SPDX-License-Identifier: Apache-2.0 */
/* answer_code.c: see answer_code.h. */
#include "answer_code.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/hash.h"

/* Fails when a field is added: it must be encoded and decoded, too. */
_Static_assert(sizeof(struct site_candidate) == 112 &&
		       sizeof(struct site_answer) == SITE_CANDIDATES * 112 + 64,
	       "write and read all of it");

enum {
	FLAG_ARRAY = 1,
	FLAG_TRAILING = 2,
	FLAG_DERIVED = 4,
	FLAG_AMBIGUOUS = 1,
	FLAG_CLIMBS = 2,
	FLAG_OPAQUE = 4,
	FLAG_RETURNED = 8,
	FLAG_LABEL_ONCE = 16,
	FLAG_LABEL_INNER = 32,
	FLAG_UNASKED = 64,
	FLAG_GUESSED = 128,
	FLAG_INLINED = 1
};

static uint64_t get(struct answer_reader *r, size_t bytes)
{
	uint64_t value = 0;

	if (r->end - r->at < bytes) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->data + r->at, bytes);
	r->at += bytes;
	return value;
}

static const char *get_text(struct answer_reader *r)
{
	uint64_t at = get(r, 4);

	if (!at)
		return NULL;
	if (at >= r->strings_bytes) {
		r->bad = true;
		return NULL;
	}
	return names_text(r->names, r->strings + at);
}

static void get_candidate(struct answer_reader *r, struct site_candidate *out)
{
	unsigned flags, leading;

	*out = (struct site_candidate){ .type = get_text(r),
					.container = get_text(r),
					.bytes = get(r, 8),
					.header = get(r, 8) };
	out->rule = (enum sym_rule)get(r, 1);
	out->form = (enum sym_form)get(r, 1);
	flags = (unsigned)get(r, 1);
	leading = (unsigned)get(r, 1);
	out->flags = (unsigned)get(r, 4);
	out->array = flags & FLAG_ARRAY;
	out->trailing = flags & FLAG_TRAILING;
	out->or_derived = flags & FLAG_DERIVED;
	r->bad |= out->rule > SYM_RULE_LEARNED || out->form > SYM_FORM_BUFFER ||
		  leading > SITE_LEADING;
	for (unsigned i = 0; i < leading && !r->bad; i++) {
		out->leading[i] = get_text(r);
		r->bad |= !out->leading[i];
	}
}

bool answer_decode(struct answer_reader *r, struct site_answer *out)
{
	unsigned flags;

	if (r->at > r->end)
		return false;
	*out = (struct site_answer){ .count = get(r, 1) };
	flags = (unsigned)get(r, 1);
	out->ambiguous = flags & FLAG_AMBIGUOUS;
	out->climbs = flags & FLAG_CLIMBS;
	out->opaque = flags & FLAG_OPAQUE;
	out->returned = flags & FLAG_RETURNED;
	out->label_once = flags & FLAG_LABEL_ONCE;
	out->label_inner = flags & FLAG_LABEL_INNER;
	out->unasked = flags & FLAG_UNASKED;
	out->guessed = flags & FLAG_GUESSED;
	out->label = get_text(r);
	out->label_unit = (uint32_t)get(r, 4);
	out->callee = get_text(r);
	out->function = get_text(r);
	out->origin = get_text(r);
	out->folds = (uint32_t)get(r, 4);
	r->bad |= out->count > SITE_CANDIDATES;
	for (size_t i = 0; i < out->count && !r->bad; i++)
		get_candidate(r, &out->candidates[i]);
	return !r->bad;
}

int frames_decode(struct answer_reader *r, struct sym_frame out[SYM_FRAMES_MAX])
{
	unsigned count;

	if (r->at > r->end)
		return -1;
	count = (unsigned)get(r, 1);
	r->bad |= count > SYM_FRAMES_MAX;
	for (unsigned i = 0; i < count && !r->bad; i++) {
		out[i].function = get_text(r);
		out[i].file = get_text(r);
		out[i].line = (uint32_t)get(r, 4);
		out[i].inlined = get(r, 1) & FLAG_INLINED;
	}
	return r->bad ? -1 : (int)count;
}

static void put(struct answer_writer *w, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		*vec_push(&w->body) = (uint8_t)(value >> 8 * i);
}

uint32_t answer_text(struct answer_writer *w, const char *text)
{
	uint64_t hash = hash_mix((uintptr_t)text);
	uint32_t at;

	if (!text)
		return 0;
	at = hash_table_find(&w->text_table, hash, i, w->texts.at[i].at == text);
	if (at == HASH_NONE) {
		at = (uint32_t)w->texts.count;
		hash_table_add(&w->text_table, hash, at);
		*vec_push(&w->texts) = (struct text_place){ text, (uint32_t)w->strings.count };
		do
			*vec_push(&w->strings) = *text;
		while (*text++);
	}
	return w->texts.at[at].position;
}

static void put_text(struct answer_writer *w, const char *text)
{
	put(w, answer_text(w, text), 4);
}

void answer_encode(struct answer_writer *w, const struct site_answer *answer)
{
	put(w, answer->count, 1);
	put(w, (answer->ambiguous ? FLAG_AMBIGUOUS : 0) | (answer->climbs ? FLAG_CLIMBS : 0) |
			(answer->opaque ? FLAG_OPAQUE : 0) |
			(answer->returned ? FLAG_RETURNED : 0) |
			(answer->label_once ? FLAG_LABEL_ONCE : 0) |
			(answer->label_inner ? FLAG_LABEL_INNER : 0) |
			(answer->unasked ? FLAG_UNASKED : 0) |
			(answer->guessed ? FLAG_GUESSED : 0), 1);
	put_text(w, answer->label);
	put(w, answer->label_unit, 4);
	put_text(w, answer->callee);
	put_text(w, answer->function);
	put_text(w, answer->origin);
	put(w, answer->folds, 4);
	for (size_t i = 0; i < answer->count; i++) {
		const struct site_candidate *c = &answer->candidates[i];
		unsigned leading = 0;

		put_text(w, c->type);
		put_text(w, c->container);
		put(w, c->bytes, 8);
		put(w, c->header, 8);
		put(w, c->rule, 1);
		put(w, c->form, 1);
		put(w,
		    (c->array ? FLAG_ARRAY : 0) | (c->trailing ? FLAG_TRAILING : 0) |
			    (c->or_derived ? FLAG_DERIVED : 0),
		    1);
		while (leading < SITE_LEADING && c->leading[leading])
			leading++;
		put(w, leading, 1);
		put(w, c->flags, 4);
		for (unsigned k = 0; k < leading; k++)
			put_text(w, c->leading[k]);
	}
}

void frames_encode(struct answer_writer *w, const struct sym_frame *frames, size_t count)
{
	put(w, count, 1);
	for (size_t i = 0; i < count; i++) {
		put_text(w, frames[i].function);
		put_text(w, frames[i].file);
		put(w, frames[i].line, 4);
		put(w, frames[i].inlined ? FLAG_INLINED : 0, 1);
	}
}

void answer_writer_deinit(struct answer_writer *w)
{
	free(w->body.at);
	free(w->strings.at);
	free(w->texts.at);
	hash_table_deinit(&w->text_table);
}
