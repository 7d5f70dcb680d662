/* SPDX-License-Identifier: Apache-2.0 */
#include "mismatches.h"

#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/hash.h"
#include "../../base/hash_table.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"

const char *const mismatch_names[MISMATCH_KINDS] = {
	[MISMATCH_FAMILY] = "family",
	[MISMATCH_SIZE] = "size",
	[MISMATCH_DOUBLE] = "double",
	[MISMATCH_UNKNOWN] = "unknown",
};

enum { RECENT = 65536 };
enum family { FAMILY_C, FAMILY_SCALAR, FAMILY_ARRAY, FAMILY_ANY, FAMILY_POOL = FAMILY_ANY };

static const uint8_t families[] = {
#define SHINY_API(name, text, family) [SHINY_API_##name] = FAMILY_##family,
#include <shiny/wire/api.def>
#undef SHINY_API
};

struct ended {
	uint64_t address;
	uint32_t process, allocation, free;
	uint8_t got;
};

struct mismatch_finder {
	struct mismatches *out;
	struct hash_table table; /* of out->rows */
	struct ended *recent;	 /* direct-mapped */
};

static struct ended *recent_of(const struct mismatch_finder *f, uint32_t process, uint64_t address)
{
	return &f->recent[hash_pair(address, process) % RECENT];
}

/* ---- rows ---- */

static bool same(const struct mismatch *a, const struct mismatch *b)
{
	return a->kind == b->kind && a->got == b->got && a->freed == b->freed &&
	       a->allocation == b->allocation && a->free == b->free &&
	       a->first_free == b->first_free;
}

static void add(struct mismatch_finder *f, const struct mismatch *row)
{
	struct mismatches *out = f->out;
	uint64_t hash = hash_keys((uint64_t)row->allocation << 32 | row->free,
				  (uint64_t)row->first_free << 32 | row->kind << 16 |
					  row->got << 8 | row->freed);
	uint32_t at = hash_table_find(&f->table, hash, i, same(&out->rows[i], row));

	if (at == HASH_NONE) {
		at = (uint32_t)out->count;
		out->rows = mem_reach(out->rows, &out->room, out->count, sizeof(*out->rows), 64);
		out->rows[out->count++] = *row;
		hash_table_add(&f->table, hash, at);
	}
	out->rows[at].count++;
	out->blocks[row->kind]++;
}

/* ---- events ---- */

static uint8_t family_of(uint64_t api)
{
	return api < sizeof(families) ? families[api] : FAMILY_ANY;
}

static void mismatches_on_death(void *context, const struct replay_process *process,
				const struct life *life, const struct life_death *death)
{
	struct mismatch_finder *f = context;
	struct mismatch row = { .got = life->api,
				.freed = death->api,
				.allocation = life->stack,
				.free = death->stack,
				.size = life->size,
				.claimed = death->claimed,
				.first_ns = death->time,
				.address = life->address,
				.process = process->id };
	uint8_t got = family_of(life->api), freed = family_of(death->api);

	if (death->end != LIFE_FREED && death->end != LIFE_REALLOCED)
		return;
	*recent_of(f, process->id, life->address) = (struct ended){
		life->address, process->id, life->stack, death->stack, life->api
	};
	row.type = replay_type(process, life);
	if (got != freed && got != FAMILY_ANY && freed != FAMILY_ANY) {
		row.kind = MISMATCH_FAMILY;
		add(f, &row);
	} else if (death->end == LIFE_FREED && death->claimed && death->claimed != life->size) {
		row.kind = MISMATCH_SIZE;
		add(f, &row);
	}
}

static void mismatches_on_birth(void *context, const struct replay_process *process,
				const struct life *life)
{
	struct ended *ended = recent_of(context, process->id, life->address);

	if (ended->address == life->address && ended->process == process->id)
		ended->address = 0; /* allocated again: a later free is this block's */
}

static void on_stray(void *context, const struct replay_process *process, const struct event *event)
{
	struct mismatch_finder *f = context;
	uint64_t address = event->kind == EVENT_REALLOC ? event->old_address : event->address;
	const struct ended *ended = recent_of(f, process->id, address);
	struct mismatch row = { .kind = MISMATCH_UNKNOWN,
				.freed = event->api,
				.free = event->stack,
				.first_ns = event->time,
				.address = address,
				.process = process->id };

	if (event->api == SHINY_API_COLLECTED || event->api >= SHINY_APIS)
		return; /* the begin of a collected object may be unrecorded */
	if (ended->address == address && ended->process == process->id) {
		row.kind = MISMATCH_DOUBLE;
		row.got = ended->got;
		row.allocation = ended->allocation;
		row.first_free = ended->free;
	}
	add(f, &row);
}

ORDER_BY(by_kind, struct mismatch, ORDER_UP(kind) ?: ORDER_DOWN(count) ?: ORDER_UP(first_ns))

struct shiny_err *mismatches_load(struct store *store, const struct filter *filter, bool progress,
				  struct mismatches *out)
{
	SHINY_CLEANUP(mismatches_deinit) struct mismatches found = { 0 };
	struct mismatch_finder f = { .out = &found };
	struct replay_observer observer = { .context = &f,
					    .birth = mismatches_on_birth,
					    .death = mismatches_on_death,
					    .stray = on_stray,
					    .untyped = true };
	struct shiny_err *err;

	f.recent = mem_zero(RECENT, sizeof(*f.recent));
	err = replay_run(store, filter, &observer, 1,
			 progress ? "comparing frees with allocations" : NULL);
	free(f.recent);
	hash_table_deinit(&f.table);
	if (err)
		return err;
	if (found.count)
		qsort(found.rows, found.count, sizeof(*found.rows), by_kind);
	*out = shiny_steal(found);
	return NULL;
}

void mismatches_deinit(struct mismatches *m)
{
	free(m->rows);
	*m = (struct mismatches){ 0 };
}
