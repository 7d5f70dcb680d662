/* SPDX-License-Identifier: Apache-2.0 */
/* record_decode.c: see record_decode.h; the layouts are wire.h's. */
#include "record_decode.h"

enum { LAYOUT_NONE, LAYOUT_EVENT, LAYOUT_RUN, LAYOUT_WORD };
static const uint8_t layouts[1 << SHINY_KIND_BITS] = {
#define SHINY_RECORD(name, layout, text) [SHINY_REC_##name] = LAYOUT_##layout,
#include <shiny/wire/record.def>
#undef SHINY_RECORD
};

static const uint8_t plain[SHINY_REC_KINDS] = {
	[SHINY_REC_ALLOC_WIDE] = SHINY_REC_ALLOC,
	[SHINY_REC_FREE_WIDE] = SHINY_REC_FREE,
	[SHINY_REC_REALLOC_BEGIN_WIDE] = SHINY_REC_REALLOC_BEGIN,
	[SHINY_REC_REALLOC_DONE_WIDE] = SHINY_REC_REALLOC_DONE,
	[SHINY_REC_OBJECT_WIDE] = SHINY_REC_OBJECT,
	[SHINY_REC_SWEPT_WIDE] = SHINY_REC_SWEPT,
	[SHINY_REC_RESIZED_WIDE] = SHINY_REC_RESIZED,
	[SHINY_REC_CONSTRUCTED_WIDE] = SHINY_REC_CONSTRUCTED,
	[SHINY_REC_DESTROYED_WIDE] = SHINY_REC_DESTROYED,
};

static uint64_t load(const struct shiny_record *record, unsigned word)
{
	return __atomic_load_n(word ? &record->w1 : &record->w0, __ATOMIC_RELAXED);
}

size_t decode_payload(const struct raw *raw, void *out, size_t room)
{
	size_t bytes = (size_t)raw->count * SHINY_RECORD_BYTES;
	uint64_t *to = out;

	if (bytes > room)
		bytes = room;
	for (size_t i = 0; i < bytes / 8; i++)
		to[i] = load(&raw->payload[i / 2], i % 2);
	return bytes / 8 * 8;
}

/* Checks a run's length against its kind. */
static bool run_fits(struct raw *raw, uint64_t aux)
{
	switch (raw->kind) {
	case SHINY_REC_STACK:
		if (!raw->stack || !aux || aux > SHINY_FRAMES_MAX || raw->count != (aux + 1) / 2)
			return false;
		return true;
	case SHINY_REC_STACK_LIKE: {
		uint32_t frames = SHINY_LIKE_FRAMES(aux), kept = SHINY_LIKE_KEPT(aux);

		return raw->stack && frames <= SHINY_FRAMES_MAX && kept &&
		       SHINY_LIKE_INNER(aux) + kept <= frames &&
		       SHINY_LIKE_SKIP(aux) + kept <= SHINY_FRAMES_MAX &&
		       raw->count == (frames - kept + 1) / 2;
	}
	case SHINY_REC_MODULE:
		return raw->count >= sizeof(struct shiny_module) / SHINY_RECORD_BYTES &&
		       raw->count <=
			       (sizeof(struct shiny_module) + SHINY_PATH_MAX) / SHINY_RECORD_BYTES;
	case SHINY_REC_MAP:
		return raw->count == sizeof(struct shiny_map) / SHINY_RECORD_BYTES;
	case SHINY_REC_OBJECT_KINDS:
		return raw->count == sizeof(struct shiny_object_kinds) / SHINY_RECORD_BYTES;
	case SHINY_REC_CLASS:
		return raw->count >= sizeof(struct shiny_class) / SHINY_RECORD_BYTES &&
		       raw->count <= (sizeof(struct shiny_class) + SHINY_CLASS_NAME_MAX) /
					     SHINY_RECORD_BYTES;
	case SHINY_REC_TAG_NAME:
	case SHINY_REC_MARK:
		return raw->count > sizeof(struct shiny_tag) / SHINY_RECORD_BYTES &&
		       raw->count <=
			       (sizeof(struct shiny_tag) + SHINY_TAG_NAME_MAX) / SHINY_RECORD_BYTES;
	case SHINY_REC_TYPE_NAME:
		return raw->count > sizeof(struct shiny_type_name) / SHINY_RECORD_BYTES &&
		       raw->count <= (sizeof(struct shiny_type_name) + SHINY_TYPE_NAME_MAX) /
					     SHINY_RECORD_BYTES;
	case SHINY_REC_POOL_NAME:
		return raw->count >= sizeof(struct shiny_pool) / SHINY_RECORD_BYTES &&
		       raw->count <= (sizeof(struct shiny_pool) + SHINY_TAG_NAME_MAX) /
					     SHINY_RECORD_BYTES;
	case SHINY_REC_PAD:
		return true;
	default: /* the wide events, MODULE_GONE and MOVED */
		return raw->count == sizeof(struct shiny_wide) / SHINY_RECORD_BYTES;
	}
}

static bool set_time(struct record_cursor *c, uint64_t time, uint64_t latest)
{
	if (time > latest)
		return false;
	if (time > c->last)
		c->last = time;
	return true;
}

/* Returns the time field of a VPTR record, 0 none. */
static uint64_t when_of(const struct shiny_record *r)
{
	return DECODE_BITS(r->w0, 0, SHINY_WHEN_LOW_BITS) |
	       DECODE_BITS(r->w1, SHINY_SIZE_SHIFT, SHINY_WHEN_HIGH_BITS) << SHINY_WHEN_LOW_BITS;
}

/* Decodes one record and moves the cursor behind it; DECODE_NONE also for records that only change
 * the time base or pad. */
static enum decode_result decode_one(struct record_cursor *c, const struct shiny_record *r,
				     uint64_t latest, struct raw *out)
{
	uint32_t length = 1;

	out->kind = (uint8_t)DECODE_BITS(r->w1, 0, SHINY_KIND_BITS);
	out->api = (uint8_t)DECODE_BITS(r->w1, SHINY_API_SHIFT, SHINY_API_BITS);
	out->size = DECODE_BITS(r->w1, SHINY_SIZE_SHIFT, SHINY_SIZE_BITS);
	out->stack = (uint32_t)DECODE_BITS(r->w0, 0, SHINY_STACK_BITS);
	out->address = r->w0 >> SHINY_ADDRESS_SHIFT << SHINY_GRANULE_SHIFT;
	out->count = 0;
	out->payload = NULL;
	switch (layouts[out->kind]) {
	case LAYOUT_RUN: {
		uint64_t aux = r->w0 >> SHINY_ADDRESS_SHIFT;

		if (out->size > c->room - 1 - c->position)
			return DECODE_BAD;
		length += (uint32_t)out->size;
		out->count = (uint16_t)out->size;
		out->payload = &c->chunk->records[c->position + 1];
		if (!run_fits(out, aux))
			return DECODE_BAD;
		if (out->kind == SHINY_REC_PAD)
			break;
		if (out->kind == SHINY_REC_STACK || out->kind == SHINY_REC_STACK_LIKE) {
			out->size = aux;
		} else if (plain[out->kind] || out->kind == SHINY_REC_MODULE_GONE ||
			   out->kind == SHINY_REC_MOVED) {
			if (plain[out->kind])
				out->kind = plain[out->kind];
			out->address = load(out->payload, 0);
			out->size = load(out->payload, 1);
		}
		if (out->kind == SHINY_REC_OBJECT) {
			out->index = (uint16_t)DECODE_BITS(out->size, SHINY_OBJECT_WIDE_SHIFT,
							   SHINY_OBJECT_INDEX_BITS);
			out->size = DECODE_BITS(out->size, 0, SHINY_OBJECT_WIDE_SHIFT);
			out->api = SHINY_API_COLLECTED;
		}
	}
	/* fall through */
	case LAYOUT_EVENT:
		if (!set_time(c, c->base + (r->w1 >> SHINY_DT_SHIFT), latest))
			return DECODE_BAD;
		break;
	case LAYOUT_WORD:
		if (out->kind == SHINY_REC_TIME) {
			c->base = r->w0;
			if (!set_time(c, c->base, latest))
				return DECODE_BAD;
		} else if (out->kind == SHINY_REC_VPTR) {
			out->size = r->w1 >> SHINY_VTABLE_SHIFT << SHINY_GRANULE_SHIFT;
			out->stack = 0;
			if (when_of(r) && !set_time(c, c->base + when_of(r) - 1, latest))
				return DECODE_BAD;
		} else if (out->kind == SHINY_REC_NAMED || out->kind == SHINY_REC_TYPED) {
			out->size = r->w1 >> SHINY_NAME_SHIFT;
			out->stack = 0;
		} else if (out->kind == SHINY_REC_OBJECT) {
			out->api = SHINY_API_COLLECTED;
			out->size = DECODE_BITS(r->w1, SHINY_KIND_BITS, SHINY_OBJECT_SIZE_BITS);
			out->index = (uint16_t)DECODE_BITS(r->w1, SHINY_OBJECT_INDEX_SHIFT,
							   SHINY_OBJECT_INDEX_BITS);
			if (!set_time(c, c->base + (r->w1 >> SHINY_OBJECT_DT_SHIFT), latest))
				return DECODE_BAD;
		} else { /* LOSS */
			out->size = r->w0 >> SHINY_ADDRESS_SHIFT;
			if (!set_time(c, c->base + (r->w1 >> SHINY_DT_SHIFT), latest))
				return DECODE_BAD;
		}
		break;
	default:
		return DECODE_BAD;
	}
	c->position += length;
	out->time = c->last;
	return out->kind == SHINY_REC_TIME || out->kind == SHINY_REC_PAD ? DECODE_NONE : DECODE_RAW;
}

enum decode_result decode_slow(struct record_cursor *c, uint64_t latest, struct raw *out)
{
	while (c->position < c->room) {
		struct shiny_record record;
		enum decode_result result;

		if (!shiny_poll(&c->chunk->records[c->position], &record))
			return DECODE_NONE;
		result = decode_one(c, &record, latest, out);
		if (result != DECODE_NONE)
			return result;
	}
	return DECODE_NONE;
}
