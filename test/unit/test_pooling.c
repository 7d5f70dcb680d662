/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pooling.c: the model of pooling.h worked out a second time, plainly, over a session made at
 * random whose blocks are all known: lists, linear searches, a byte a page. And one session small
 * enough to be worked out by hand.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/space/pool.h"
#include "../../src/analysis/space/pooling.h"
#include "../../src/base/mem.h"
#include "../lib/random.h"
#include "session_writer.h"

static char path[64];
static struct store *session;

/* ---- a session ---- */

enum { SITES = 6 }; /* a stack each, from 1; a type each, but the last */

static void begin(uint64_t duration, unsigned processes)
{
	session = session_begin(path, duration);
	for (uint32_t p = 1; p <= processes; p++) {
		const char *library = p == 1 ? "/lib/libc.so.6" : "/lib/libjemalloc.so.2";

		put_process(session, (struct store_process){ .id = p });
		must(store_put_module(session, &(struct store_module){ .id = p,
								       .path = library,
								       .build_id = "",
								       .symbols = "none",
								       .note = "" }));
		must(store_put_mapping(session, &(struct store_mapping){ .process = p,
									 .module = p,
									 .start = 0x1000,
									 .end = 0x2000 }));
	}
	for (uint32_t i = 1; i <= SITES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "site%u", i);
		put_site(session, i, name);
		snprintf(name, sizeof(name), "type%u", i);
		if (i < SITES)
			put_type(session,
				 (struct store_type){ .id = i,
						      .name = name,
						      .form = i % 2 ? "object" : "buffer" });
	}
	for (uint32_t i = 1; i <= SITES; i++)
		for (uint32_t p = 1; p <= processes; p++)
			must(store_put_stat(session,
					    &(struct store_stat){ .process = p,
								  .stack = i,
								  .type = i < SITES ? i : 0 }));
}

static void put(uint64_t time, uint32_t process, uint8_t kind, uint64_t address, uint64_t size,
		uint64_t old, uint32_t site, uint8_t api)
{
	put_event(session, (struct event){ .time = time,
					   .address = address,
					   .size = size,
					   .old_address = old,
					   .process = process,
					   .thread = 1,
					   .stack = site,
					   .kind = kind,
					   .api = api });
}

static void load(const struct pooling_constants *constants, struct pooling *out)
{
	struct pooling plain;
	struct filter all;

	must(store_finish(session, NULL));
	must(store_open(path, &session));
	must(filter_resolve(session, NULL, &all));
	must(pooling_load(session, &all, constants, NULL, POOLING_TYPES | POOLING_FULL_NAMES, out));
	must(pooling_load(session, &all, constants, NULL, 0, &plain));
	check("no types, and all else the same",
	      !plain.type_count && !memcmp(plain.sizes, out->sizes, sizeof(plain.sizes)) &&
		      !memcmp(&plain.total, &out->total, sizeof(plain.total)),
	      "it is not");
	pooling_deinit(&plain);
	filter_deinit(&all);
	store_close(session);
}

/* ---- by hand ---- */

/*
 * From one site, 9 objects of 1,000 bytes, each on a page of its own: three stay, six live 10 ns,
 * one after the other; so the site is short, and 4 slots of 1,008 bytes do, which are a chunk of 4
 * KiB. And 6 MiB for a moment, and 200,000 bytes in a mapping of their own.
 */
static void by_hand(void)
{
	struct pooling_constants constants;
	const struct pooling_row *row;
	struct pooling p;

	begin(100000, 1);
	for (uint64_t i = 0; i < 3; i++)
		put(10 + i, 1, EVENT_ALLOC, 0x100020 + i * 0x1000, 1000, 0, 1, SHINY_API_NEW);
	for (uint64_t i = 0; i < 6; i++) {
		put(1000 + i * 100, 1, EVENT_ALLOC, 0x200020 + i * 0x1000, 1000, 0, 1,
		    SHINY_API_NEW);
		put(1010 + i * 100, 1, EVENT_FREE, 0x200020 + i * 0x1000, 0, 0, 0,
		    SHINY_API_DELETE);
	}
	put(80000, 1, EVENT_ALLOC, 0x400000, 1 << 20, 0, 3, SHINY_API_COLLECTED);
	/* huge: two whole ranges of 2 MiB, and parts of two */
	put(85000, 1, EVENT_ALLOC, 0x10000000 + 8176, 6 << 20, 0, 4, SHINY_API_MALLOC);
	put(85001, 1, EVENT_FREE, 0x10000000 + 8176, 0, 0, 0, SHINY_API_FREE);
	put(90000, 1, EVENT_ALLOC, 0x300010, 200000, 0, 2, SHINY_API_MALLOC);
	must(pooling_parse("slow=1k,reuse=1,chunk=4k", &constants));
	load(&constants, &p);

	row = &p.sizes[2].lifetimes[POPULATION_SHORT]; /* up to 1 KiB */
	number("objects/blocks", row->blocks, 9);
	number("objects/bytes", row->bytes, 9000);
	number("objects/most", row->most, 4);
	number("objects/pools", row->pools, 1);
	number("objects/calls", row->without.calls, 15);
	number("objects/cycles", row->without.cycles, 9 * 150 + 6 * 100);
	number("objects/pooled calls", row->with.calls, 1);
	number("objects/pooled cycles", row->with.cycles, 1000 + 15);
	number("objects/objects", row->objects, 9);
	number("objects/destroyed", row->destroyed, 6);
	number("objects/deferred", row->deferred, 4);
	number("objects/peak pages", row->without.peak_pages, 3);
	number("objects/pooled peak pages", row->with.peak_pages, 1);
	number("objects/end pages", row->without.end_pages, 3);
	number("objects/used pages", row->used_pages, 9);
	number("objects/reclaimable", pooling_reclaimable(row, &row->without), 6);
	number("objects/pooled reclaimable", pooling_reclaimable(row, &row->with), 8);
	row = &p.sizes[5].lifetimes[POPULATION_MIDDLE];
	number("mapped/slow", row->without.slow, 1);
	number("mapped/cycles", row->without.cycles, 1000);
	number("mapped/saved", (uint64_t)-pooling_saved(row), 1);
	number("mapped/pages", row->without.end_pages, 49);
	number("mapped/pooled pages", row->with.end_pages, 49);
	number("total/cycles", pooling_cycles(&p, &p.total.without, p.total.destroyed),
	       1950 + 1000 + 250 + 9 * 300 + 6 * 200);
	number("total/pooled cycles", pooling_cycles(&p, &p.total.with, p.total.destroyed),
	       1015 + 1001 + 1002 + 9 * 300 + 6 * 200);
	number("total/deferred cycles", pooling_cycles(&p, &p.total.with, p.total.deferred),
	       1015 + 1001 + 1002 + 9 * 300 + 4 * 200);
	number("total/peak pages", p.total.without.peak_pages, 3 + 1537);
	number("total/pooled peak pages", p.total.with.peak_pages, 1 + 1536);
	number("total/end pages", p.total.without.end_pages, 3 + 49);
	row = &p.sizes[5].lifetimes[POPULATION_SHORT];
	number("huge/used pages", row->used_pages, 1537);
	number("huge/reclaimable", pooling_reclaimable(row, &row->without), 1537);
	number("peak is at", p.peak_time, 85000);
	number("collected", p.collected, 1);
	number("types", p.type_count, 3);
	number("types/most saved first",
	       p.type_count && strcmp(p.types[0].name, "type1") == 0 &&
		       pooling_saved(&p.types[0]) == 935,
	       1);
	pooling_deinit(&p);
}

/* ---- at random ---- */

enum {
	STEPS = 12000,
	STEP = 10,
	DURATION = STEPS * STEP,
	PAGES = 1 << 15,
	MOST_POOLS = 20000,
	CHUNK = 16384
};

struct block {
	uint64_t address, size, birth, death; /* death 0: none */
	uint32_t process, site;
	bool realloced, mapped; /* it ended so */
	uint64_t planned, slot;
	uint32_t pool[2], at[2];
};
static struct block blocks[STEPS + 1];
static size_t block_count;

struct plain_pool {
	uint32_t process, of;
	uint64_t slot, taken;
	bool *used;
	uint32_t room, high;
};
static struct plain_pool pools[MOST_POOLS];
static size_t pool_count;

static uint32_t bucket_of(uint64_t size)
{
	return size <= 64      ? 0
	       : size <= 256   ? 1
	       : size <= 1024  ? 2
	       : size <= 4096  ? 3
	       : size <= 16384 ? 4
			       : 5;
}

static uint32_t plain_take(uint32_t process, uint32_t of, uint64_t slot, uint32_t *at)
{
	size_t i = 0;
	struct plain_pool *p;

	while (i < pool_count &&
	       (pools[i].process != process || pools[i].of != of || pools[i].slot != slot))
		i++;
	p = &pools[i];
	if (i == pool_count) {
		*p = (struct plain_pool){ .process = process, .of = of, .slot = slot };
		pool_count++;
	}
	for (*at = 0; *at < p->high && p->used[*at]; ++*at)
		;
	if (*at == p->high) {
		p->used = mem_resize(p->used, p->high + 1, sizeof(*p->used));
		p->high++;
	}
	p->used[*at] = true;
	p->taken++;
	return (uint32_t)i;
}

/* A block that begins: its own address, never used before. */
static struct block *birth(uint64_t time, uint32_t process, uint32_t site)
{
	static uint64_t next[3] = { 0, 0x1000000, 0x1000000 };
	struct block *b = &blocks[block_count++];
	uint64_t longest = site == 1   ? 64
			   : site == 2 ? 400
			   : site == 3 ? 3000
			   : site == 4 ? 12000
				       : 40000,
		 roll = next_random() % 10;

	*b = (struct block){ .address = next[process] + 16, .birth = time, .process = process, .site = site };
	b->size = next_random() % longest;
	next[process] += (b->size + 31) / 16 * 16;
	b->planned = time + (site <= 2	  ? 1 + next_random() % 100
			     : site == 3  ? DURATION / 10 + next_random() % (DURATION / 4)
			     : site == 4  ? DURATION
			     : roll < 6	  ? 1 + next_random() % 500
					  : DURATION / 3 * 2);
	return b;
}

static void play(void)
{
	size_t first = 0;

	begin(DURATION, 2);
	for (uint64_t time = STEP; time < DURATION; time += STEP) {
		struct block *due = NULL, *b;

		while (first < block_count && blocks[first].death)
			first++;
		for (size_t i = first; i < block_count && !due; i++)
			if (!blocks[i].death && blocks[i].planned <= time)
				due = &blocks[i];
		if (due && due->site == 5 && due->size) {
			due->death = time;
			due->realloced = true;
			b = birth(time, due->process, 5);
			put(time, due->process, EVENT_REALLOC, b->address, b->size, due->address, 5,
			    SHINY_API_REALLOC);
		} else if (due) {
			due->death = time;
			put(time, due->process, EVENT_FREE, due->address, 0, 0, 0, SHINY_API_FREE);
		} else {
			b = birth(time, 1 + next_random() % 2,
				  1 + (uint32_t)(next_random() % SITES));
			put(time, b->process, EVENT_ALLOC, b->address, b->size, 0, b->site,
			    b->site <= 3 ? SHINY_API_NEW : SHINY_API_MALLOC);
		}
	}
}

static uint64_t age_of(const struct block *b)
{
	return (b->death ? b->death : DURATION) - b->birth;
}

/* What the module has to say, for `of`: 0 to 17 a bucket and a lifetime, 18 and above a site's
 * type. */
struct plain {
	uint64_t blocks, bytes, calls, slow, cycles, pooled_calls, pooled_cycles, most, objects,
		destroyed, deferred, pages[2][2];
};
enum { GROUPS = 18, ROWS = GROUPS + SITES + 1 };
static struct plain rows[ROWS];
static uint8_t seen[3][PAGES];
static uint8_t *pool_pages[MOST_POOLS];

static void count_pages(uint64_t moment, unsigned when, unsigned in, uint64_t *total)
{
	for (uint32_t of = 0; of < ROWS; of++) {
		memset(seen, 0, sizeof(seen));
		for (size_t i = 0; i < block_count; i++) {
			const struct block *b = &blocks[i];
			const struct plain_pool *p = &pools[b->pool[in]];
			uint64_t slots = p->slot > CHUNK ? 1 : CHUNK / p->slot,
				 chunk = p->slot > CHUNK ? (p->slot + 4095) / 4096 * 4096 : CHUNK,
				 from, to;

			if (b->birth > moment || (b->death && b->death <= moment) || p->of != of)
				continue;
			to = b->address + (b->size ? b->size - 1 : 0);
			for (from = b->address / 4096; from <= to / 4096; from++) {
				rows[of].pages[when][0] += !seen[b->process][from];
				seen[b->process][from] = 1;
			}
			from = b->at[in] / slots * chunk + b->at[in] % slots * p->slot;
			to = (from + (b->size ? b->size - 1 : 0)) / 4096;
			if (!pool_pages[b->pool[in]])
				pool_pages[b->pool[in]] = mem_zero(PAGES, 1);
			for (from /= 4096; from <= to; from++) {
				uint8_t bit = (uint8_t)(1 << when);

				rows[of].pages[when][1] += !(pool_pages[b->pool[in]][from] & bit);
				pool_pages[b->pool[in]][from] |= bit;
			}
		}
	}
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < block_count; i++)
		if (blocks[i].birth <= moment && (!blocks[i].death || blocks[i].death > moment))
			for (uint64_t page = blocks[i].address / 4096;
			     page <=
			     (blocks[i].address + (blocks[i].size ? blocks[i].size - 1 : 0)) / 4096;
			     page++) {
				*total += !seen[blocks[i].process][page];
				seen[blocks[i].process][page] = 1;
			}
}

static bool is_object(const struct block *b)
{
	/* from new, and not known to be a buffer, as site 2's are */
	return b->site == 1 || b->site == 3;
}

static void model(uint64_t *peak_time, uint64_t total_pages[2])
{
	uint64_t replay[SITES + 1][POPULATIONS] = { 0 }, live = 0, most = 0;
	size_t next = 0;

	for (size_t i = 0; i < block_count; i++)
		replay[blocks[i].site][age_of(&blocks[i]) <= DURATION / 100 ? 0
				       : age_of(&blocks[i]) <= DURATION / 2 ? 1
									    : 2]++;
	for (uint64_t time = STEP; time < DURATION; time += STEP) {
		for (size_t i = 0; i < next; i++)
			if (blocks[i].death == time) {
				live -= blocks[i].size;
				for (unsigned k = 0; k < 2; k++)
					pools[blocks[i].pool[k]].used[blocks[i].at[k]] = false;
			}
		for (; next < block_count && blocks[next].birth == time; next++) {
			struct block *b = &blocks[next];
			enum size_allocator allocator =
				b->process == 1 ? SIZE_GLIBC : SIZE_JEMALLOC;
			struct size_room room = size_room(allocator, b->size, b->address);
			uint32_t life = replay[b->site][1] > replay[b->site][0] ? 1 : 0;

			life = replay[b->site][2] > replay[b->site][life] ? 2 : life;
			b->mapped = room.mapped;
			b->slot = size_bin(allocator, room.slot);
			b->pool[0] = plain_take(b->process, bucket_of(b->size) * 3 + life, b->slot,
						&b->at[0]);
			b->pool[1] = plain_take(b->process, GROUPS + b->site, b->slot, &b->at[1]);
			live += b->size;
			if (live > most) {
				most = live;
				*peak_time = time;
			}
		}
	}
	for (size_t i = 0; i < block_count; i++) {
		const struct block *b = &blocks[i];

		for (unsigned k = 0; k < 2; k++) {
			struct plain *row = &rows[pools[b->pool[k]].of];

			row->blocks++;
			row->bytes += b->size;
			row->calls += 1 + (b->death && !b->realloced);
			row->slow += b->mapped ? 1 + (b->death != 0) : 0;
			row->cycles += (b->mapped ? 2750 : 150) + (!b->death   ? 0
								   : b->mapped ? 2750
									       : 100);
			row->objects += is_object(b);
			row->destroyed += is_object(b) && b->death;
		}
	}
	for (size_t i = 0; i < pool_count; i++) {
		struct plain *row = &rows[pools[i].of];
		uint64_t slots = pools[i].slot > CHUNK ? 1 : CHUNK / pools[i].slot, destroyed = 0;

		for (size_t k = 0; k < block_count; k++)
			destroyed += (blocks[k].pool[0] == i || blocks[k].pool[1] == i) &&
				     is_object(&blocks[k]) && blocks[k].death;
		row->most += pools[i].high;
		row->pooled_calls += (pools[i].high + slots - 1) / slots;
		row->pooled_cycles += (pools[i].high + slots - 1) / slots * 2750;
		row->deferred += destroyed < pools[i].high ? destroyed : pools[i].high;
	}
	for (unsigned in = 0; in < 2; in++) {
		uint64_t pages[2] = { 0 };

		count_pages(*peak_time, 0, in, &pages[0]);
		count_pages(DURATION, 1, in, &pages[1]);
		memcpy(total_pages, pages, sizeof(pages));
	}
}

static void same(const char *name, const struct pooling_row *got, const struct plain *want)
{
	const uint64_t pairs[][2] = {
		{ got->blocks, want->blocks },
		{ got->bytes, want->bytes },
		{ got->without.calls, want->calls },
		{ got->without.slow, want->slow },
		{ got->without.cycles, want->cycles },
		{ got->with.calls, want->pooled_calls },
		{ got->with.cycles, want->pooled_cycles },
		{ got->most, want->most },
		{ got->objects, want->objects },
		{ got->destroyed, want->destroyed },
		{ got->deferred, want->deferred },
		{ got->without.peak_pages, want->pages[0][0] },
		{ got->with.peak_pages, want->pages[0][1] },
		{ got->without.end_pages, want->pages[1][0] },
		{ got->with.end_pages, want->pages[1][1] },
	};
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i][0] != pairs[i][1]) {
			printf("%s, number %zu: got %" PRIu64 ", want %" PRIu64 "\n", name, i,
			       pairs[i][0], pairs[i][1]);
			wrong++;
		}
	number(name, wrong, 0);
}

static void at_random(void)
{
	struct pooling_constants constants;
	uint64_t peak_time = 0, pages[2];
	struct pooling p;
	unsigned filled = 0;

	play();
	must(pooling_parse("chunk=16k", &constants));
	load(&constants, &p);
	model(&peak_time, pages);
	number("random/peak", p.peak_time, peak_time);
	number("random/peak pages", p.total.without.peak_pages, pages[0]);
	number("random/end pages", p.total.without.end_pages, pages[1]);
	for (uint32_t g = 0; g < GROUPS; g++) {
		char name[64];

		filled += rows[g].blocks != 0;
		snprintf(name, sizeof(name), "random/group %u: %" PRIu64 " blocks", g,
			 rows[g].blocks);
		same(name, &p.sizes[g / 3].lifetimes[g % 3], &rows[g]);
	}
	number("random/groups with blocks", filled >= 12, 1);
	for (size_t i = 0; i < p.type_count; i++) {
		uint32_t site = strncmp(p.types[i].name, "type", 4) == 0
					? (uint32_t)atoi(p.types[i].name + 4)
					: SITES;

		same(p.types[i].name, &p.types[i], &rows[GROUPS + site]);
	}
	number("random/types", p.type_count, SITES);
	pooling_deinit(&p);
	for (size_t i = 0; i < pool_count; i++) {
		free(pools[i].used);
		free(pool_pages[i]);
	}
}

/* ---- a pool's slots ---- */

static void slots(void)
{
	enum { SLOTS = 20000 };
	static bool used[SLOTS];
	static uint32_t taken[SLOTS];
	struct pool pool = { 0 };
	uint32_t live = 0, wrong = 0;

	for (unsigned i = 0; i < 200000; i++) {
		bool take =
			!live || (live < SLOTS && next_random() % 100 < (i / 20000 % 2 ? 35 : 65));

		if (take) {
			uint32_t slot = pool_take(&pool);

			/* now and then: is there a lower one? */
			for (uint32_t k = i % 50 ? slot : 0; k < slot; k++)
				wrong += !used[k];
			wrong += used[slot];
			used[slot] = true;
			taken[live++] = slot;
		} else {
			uint32_t which = (uint32_t)(next_random() % live);

			pool_give(&pool, taken[which]);
			used[taken[which]] = false;
			taken[which] = taken[--live];
		}
	}
	number("slots/lowest first, each once", wrong, 0);
	number("slots/live", pool.live, live);
	pool_deinit(&pool);
}

/* ---- constants ---- */

static void refused(const char *text)
{
	struct pooling_constants constants;
	struct shiny_err *err = pooling_parse(text, &constants);
	char name[64];

	snprintf(name, sizeof(name), "refused: %s", text);
	number(name, err && err->code == SHINY_ERR_USAGE, 1);
	shiny_err_free(err);
}

int main(void)
{
	struct pooling_constants constants;

	snprintf(path, sizeof(path), "/tmp/shiny-test-pooling-%d.shiny", (int)getpid());
	must(pooling_parse(NULL, &constants));
	number("constants/alloc", constants.alloc, 150);
	number("constants/chunk", constants.chunk, 65536);
	must(pooling_parse("dtor=7,chunk=5000", &constants));
	number("constants/dtor", constants.dtor, 7);
	number("constants/ctor is the usual", constants.ctor, 300);
	number("constants/chunk in whole pages", constants.chunk, 8192);
	refused("aloc=1");
	refused("alloc");
	refused("alloc=x");
	refused("chunk=1k");
	slots();
	by_hand();
	at_random();
	unlink(path);
	return failures != 0;
}
