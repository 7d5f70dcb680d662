/* SPDX-License-Identifier: Apache-2.0 */
/* tag.c: see tag.h. */
#include "tag.h"

#include "chunk.h"
#include "../core/clock.h"
#include "thread.h"

enum { FREE = 0, BEING_MADE = 1, MADE = 2 };

struct tag_name {
	uint32_t state;
	uint32_t told; /* its TAG_NAME record is published */
	uint32_t hash, bytes;
	char text[SHINY_TAG_NAME_MAX];
};
static struct tag_name names[SI_TAGS]; /* index 0 is no tag */

bool si_tag_name(const char *name, struct si_tag_payload *out)
{
	uint32_t bytes = 0;

	while (name && name[bytes] && bytes < SHINY_TAG_NAME_MAX) {
		out->name[bytes] = name[bytes];
		bytes++;
	}
	if (!bytes || name[bytes])
		si_count(SHINY_COUNT_TAGS_REFUSED);
	if (bytes && name[bytes]) /* does not cut within a UTF-8 character */
		while (bytes && (name[bytes] & 0xc0) == 0x80)
			bytes--;
	for (uint32_t i = bytes; i < SHINY_TAG_NAME_MAX; i++)
		out->name[i] = 0;
	out->tag.name_bytes = bytes;
	return bytes;
}

/* Returns the name's index, and adds the name if it is new; 0: there is no room. */
static uint32_t index_of(const struct si_tag_payload *tag)
{
	uint32_t hash = 2166136261u; /* FNV-1a: names are short */

	for (uint32_t i = 0; i < tag->tag.name_bytes; i++)
		hash = (hash ^ (uint8_t)tag->name[i]) * 16777619u;
	for (uint32_t n = 0; n < SI_TAGS; n++) {
		uint32_t index = (hash + n) % SI_TAGS, state;
		struct tag_name *at = &names[index];

		if (!index)
			continue;
		state = __atomic_load_n(&at->state, __ATOMIC_ACQUIRE);
		if (state == FREE &&
		    __atomic_compare_exchange_n(&at->state, &state, BEING_MADE, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			at->hash = hash;
			at->bytes = tag->tag.name_bytes;
			__builtin_memcpy(at->text, tag->name, sizeof(at->text));
			__atomic_store_n(&at->state, MADE, __ATOMIC_RELEASE);
			return index;
		}
		if (state == MADE && at->hash == hash && at->bytes == tag->tag.name_bytes &&
		    si_same(at->text, tag->name, at->bytes))
			return index;
	}
	return 0;
}

/* Records a name. Called between si_enter and si_leave. Without room, the next use of the tag tries
 * again. */
static void tell_name(struct si_writer *w, uint32_t index)
{
	struct si_tag_payload payload = { .tag = { .index = index,
						   .name_bytes = names[index].bytes } };
	uint32_t records = si_tag_records(&payload);
	uint64_t now = si_ticks();
	struct shiny_record *at = si_run(w, records, now);

	if (!at)
		return;
	__builtin_memcpy(payload.name, names[index].text, sizeof(payload.name));
	__builtin_memcpy(at, &payload, records * sizeof(*at));
	si_run_publish(w, SHINY_REC_TAG_NAME, 0, 0, 0, records, now);
	__atomic_store_n(&names[index].told, 1, __ATOMIC_RELEASE);
}

void si_tag_tell_slow(struct si_writer *w)
{
	uint32_t tag = si_tls.tag, index = tag & SI_TAG_INDEX;
	uint64_t now;

	if (index && !__atomic_load_n(&names[index].told, __ATOMIC_ACQUIRE))
		tell_name(w, index);
	now = si_ticks();
	if (!si_room(w, 1, now) || w->tag == tag)
		return; /* without room, the next chunk begins with the tag; si_room may just have
		         * begun one */
	w->tag = tag;
	si_write_event(w, SHINY_REC_TAG, SHINY_REC_TAG, 0, 0, tag, 0, now);
}

/* `tag`: index and level. */
static void change(const uintptr_t *fp, uint32_t tag)
{
	struct si_writer *w;

	si_tls.tag = tag;
	if (!si_alive())
		return;
	/* recording or not: the streams' tags must be right when it is switched on */
	w = si_enter_any(fp);
	if (!w)
		return;
	si_tag_tell(w);
	si_leave(w);
}

static void change_index(const uintptr_t *fp, uint32_t index)
{
	change(fp, (si_tls.tag & ~(uint32_t)SI_TAG_INDEX) | index);
}

void si_tag_level_slow(const uintptr_t *fp, uint32_t level)
{
	change(fp, si_tag_now() | level << SHINY_LEVEL_SHIFT);
}

void si_tag_push(const uintptr_t *fp, const char *name)
{
	struct si_tag_payload payload = { .tag.index = 0 };
	struct si_tags *tags = &si_tls.tags;
	uint32_t depth = tags->depth, index = 0;

	if (si_tls.phase == SI_THREAD_GONE ||
	    __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_OFF)
		return;
	/* depth first: a handler's push and pop then leave a tag that we correct below */
	__atomic_store_n(&tags->depth, depth + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (si_tag_name(name, &payload) && depth < SI_TAG_DEPTH)
		index = index_of(&payload);
	if (!index && (payload.tag.name_bytes || depth >= SI_TAG_DEPTH))
		si_count(SHINY_COUNT_TAGS_REFUSED);
	if (!index)
		index = si_tag_now(); /* the enclosing tag stays; the pop still finds its push */
	if (depth < SI_TAG_DEPTH) {
		tags->at[depth] = (uint16_t)index;
		change_index(fp, index);
	}
}

void si_tag_pop(const uintptr_t *fp)
{
	struct si_tags *tags = &si_tls.tags;
	uint32_t depth = tags->depth;

	if (si_tls.phase == SI_THREAD_GONE ||
	    __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_OFF)
		return;
	if (!depth) {
		si_count(SHINY_COUNT_TAGS_REFUSED);
		return;
	}
	__atomic_store_n(&tags->depth, --depth, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (depth < SI_TAG_DEPTH)
		change_index(fp, depth ? tags->at[depth - 1] : tags->inherited);
}
