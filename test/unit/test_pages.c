/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pages.c: pages at moments of sessions of which they are known: one written down, one made at
 * random beside a model that has an array a page and knows nothing of orders or runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/space/pages.h"
#include "../../src/base/mem.h"
#include "../lib/random.h"
#include "session_writer.h"

static char path[64];

struct page_wanted {
	uint64_t page;
	unsigned set;
};

static void take_set(void *context, uint64_t range, const uint8_t sets[RANGE_PAGES])
{
	struct page_wanted *wanted = context;

	if (range == wanted->page / RANGE_PAGES)
		wanted->set = sets[wanted->page % RANGE_PAGES];
}

static unsigned history_of(const struct page_history *history, uint64_t page)
{
	struct page_wanted wanted = { .page = page };

	page_history_each(history, take_set, &wanted);
	return wanted.set;
}

static void put(struct store *s, uint64_t time, uint32_t process, uint8_t kind, uint64_t address,
		uint64_t size, uint64_t old, uint32_t stack, uint8_t api)
{
	put_event(s, (struct event){ .time = time,
				     .address = address,
				     .size = size,
				     .old_address = old,
				     .process = process,
				     .thread = process,
				     .stack = kind == EVENT_VPTR ? 0 : stack,
				     .vtable = kind == EVENT_VPTR ? stack : 0,
				     .kind = kind,
				     .api = api });
}

enum { SITES = 4, TYPES = 2 };
static const char *const site_names[SITES] = { "first", "second", "third", "fourth" };

/* Sites 1 to 4; blocks of odd ones are of type 1, those of even ones of type 2. */
static struct store *begin(uint64_t duration)
{
	struct store *s = session_begin(path, duration);

	put_program(s);
	for (uint32_t i = 1; i <= TYPES; i++)
		put_type(s, (struct store_type){ .id = i,
						 .name = i == 1 ? "Odd" : "Even",
						 .rule = "vptr",
						 .source = "rtti" });
	for (uint32_t i = 1; i <= SITES; i++)
		put_site(s, i, site_names[i - 1]);
	return s;
}

static void put_running(struct store *s, uint32_t id, uint32_t parent, uint64_t start, uint64_t end,
			uint64_t forked, const char *ending)
{
	put_process(s, (struct store_process){ .id = id,
					       .parent = parent,
					       .start = start,
					       .end = end,
					       .ending = ending,
					       .forked = forked,
					       .early = end && strcmp(ending, "replaced") });
	for (uint32_t i = 1; i <= SITES; i++)
		must(store_put_stat(s, &(struct store_stat){ .process = id,
							     .stack = i,
							     .vtable = 0,
							     .type = i % 2 ? 1 : 2 }));
}

static const struct pages_pin *pin_of(const struct pages_pins *pins, const char *name)
{
	static const struct pages_pin none;

	for (size_t i = 0; i < pins->count; i++)
		if (strncmp(pins->rows[i].name, name, strlen(name)) == 0)
			return &pins->rows[i];
	return &none;
}

/* ---- written down ---- */

#define BASE UINT64_C(0x200000000)

static void load(struct pages_ask ask, struct pages *out)
{
	struct filter all;
	struct store *s;

	ask.under = ask.under ? ask.under : 512;
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(pages_load(s, &all, &ask, out));
	filter_deinit(&all);
	store_close(s);
}

static void written_down(void)
{
	struct store *s = begin(1000);
	struct filter all;
	struct shiny_err *err;
	struct pages p;

	put_running(s, 1, 0, 0, 0, 0, "running");
	must(store_put_stat(s, &(struct store_stat){
				       .process = 1, .stack = 2, .vtable = 9, .type = 1 }));
	/* alone on the first page */
	put(s, 100, 1, EVENT_ALLOC, BASE + 0x10, 0x20, 0, 1, SHINY_API_MALLOC);
	/* the end of one, three whole pages, 0x100 on a last one */
	put(s, 110, 1, EVENT_ALLOC, BASE + 0x1f00, 0x3200, 0, 2, SHINY_API_MALLOC);
	/* no bytes: holds its line */
	put(s, 120, 1, EVENT_ALLOC, BASE + 0x5200, 0, 0, 1, SHINY_API_MALLOC);
	/* fills its page */
	put(s, 130, 1, EVENT_ALLOC, BASE + 0x8000, 0x1000, 0, 4, SHINY_API_MALLOC);
	put(s, 140, 1, EVENT_ALLOC, BASE + 0x9000, 0x100, 0, 3, SHINY_API_MALLOC);
	/* half of it over the one before */
	put(s, 150, 1, EVENT_ALLOC, BASE + 0x9080, 0x100, 0, 3, SHINY_API_MALLOC);
	put(s, 160, 1, EVENT_ALLOC, BASE + 0x9040, 0x20, 0, 4, SHINY_API_MALLOC);   /* all of it */
	put(s, 200, 1, EVENT_ALLOC, BASE + 0x200f00, 600, 0, 1, SHINY_API_COLLECTED);
	/* smaller from now on */
	put(s, 400, 1, EVENT_REALLOC, BASE + 0x200f00, 100, BASE + 0x200f00, 1,
	    SHINY_API_COLLECTED);
	put(s, 500, 1, EVENT_FREE, BASE + 0x10, 0, 0, 0, SHINY_API_FREE);
	put(s, 510, 1, EVENT_VPTR, BASE + 0x1f00, 0, 0, 9, 0); /* known only now */
	put(s, 600, 1, EVENT_FREE, BASE + 0x200f00, 0, 0, 0, EVENT_END_RELEASED);
	put(s, 700, 1, EVENT_REALLOC, BASE + 0xa000, 10, BASE + 0x8000, 4, SHINY_API_REALLOC);
	must(store_finish(s, NULL));

	load((struct pages_ask){ .at = PAGES_AT_TIME,
				 .time = 300,
				 .history = true,
				 .full_names = true,
				 .points = 10 },
	     &p);
	number("at 300/blocks", p.total.blocks, 8);
	number("at 300/pages", p.total.pages, 10);
	number("at 300/bytes", p.total.bytes, 0x20 + 0x3200 + 0x1000 + 0x220 + 600);
	number("at 300/overlaps", p.total.overlaps, 2);
	number("at 300/overlap bytes", p.total.overlap_bytes, 0x80 + 0x20);
	number("at 300/lines", p.total.lines, 1 + 4 + 3 * 64 + 4 + 1 + 64 + 6 + 10);
	number("at 300/ranges", p.total.ranges, 2);
	number("at 300/under", p.total.under, 6);
	number("at 300/under bytes", p.total.under_bytes, 0x20 + 0x100 + 0x100 + 0x180 + 600);
	/* the first, 0x1f00's first, both of the collected one */
	number("at 300/single", p.total.single, 4);
	number("at 300/pinned", p.total.pinned, 6);
	number("at 300/fates P", p.total.fates[PAGE_PERSISTENT], 6);
	number("at 300/fates D", p.total.fates[PAGE_DESTROYED], 2);
	number("at 300/fates R", p.total.fates[PAGE_REUSED], 2);
	number("at 300/runs", p.count ? p.processes[0].run_count : 0, 8);
	number("at 300/type of the late vptr", pin_of(&p.by_type, "Odd")->blocks, 6);
	number("at 300/freed by the first site", pin_of(&p.by_site, "first")->freed, 3);
	number("at 300/idle", pin_of(&p.by_site, "first")->idle, 4096 - 0x20 + 2 * 4096 - 600);
	number("at 300/over 4 KiB", p.total.buckets[4].pages, 5);
	number("at 300/alone", p.total.buckets[4].alone, 4); /* 0x5200 has a small one, too */
	number("at 300/reclaimable", p.total.buckets[4].reclaimable, 4 - 4);
	number("at 300/points", p.point_count, 10);
	number("at 300/point's pages", p.points[2].pages, 10);
	number("at 300/point's lines before its end", p.points[3].lines, p.points[2].lines - 8);
	pages_deinit(&p);

	load((struct pages_ask){ .at = PAGES_AT_END, .history = true }, &p);
	number("end/pages", p.total.pages, 7);
	number("end/ever D", p.total.ever[PAGE_DESTROYED], 2);
	/* the second is what it lost when it became smaller */
	number("end/ever R", p.total.ever[PAGE_REUSED], 2);
	number("end/ever P", p.total.ever[PAGE_PERSISTENT], 7);
	number("end/ranges R", p.total.ever_ranges[PAGE_REUSED], 1);
	pages_deinit(&p);

	load((struct pages_ask){ .at = PAGES_AT_PEAK }, &p);
	number("peak/time", p.time, 200);
	number("peak/blocks", p.total.blocks, 8);
	number("peak/no history", p.total.ever[PAGE_PERSISTENT], 0);
	pages_deinit(&p);

	load((struct pages_ask){ .at = PAGES_AT_SHARE, .share = 0.05, .match = "nothing*" }, &p);
	number("share/time", p.time, 50);
	number("share/pages", p.total.pages, 0);
	number("share/no match", p.by_site.count, 0);
	pages_deinit(&p);

	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	err = pages_load(s, &all,
			 &(struct pages_ask){ .at = PAGES_AT_TIME, .time = 1001, .under = 1 }, &p);
	number("behind the end", err ? err->code : 0, SHINY_ERR_USAGE);
	shiny_err_free(err);
	filter_deinit(&all);
	store_close(s);
}

/* ---- history: what filled ranges, what lay on single pages of them, in either order ---- */

static uint64_t sets_seen[PAGE_SETS];

static void see_sets(void *context, uint64_t range, const uint8_t sets[RANGE_PAGES])
{
	for (unsigned i = 0; i < RANGE_PAGES; i++)
		sets_seen[sets[i]]++;
}

static void history(void)
{
	struct page_history h = { 0 };

	/* three pages, which are filled later */
	page_history_mark(&h, BASE + 0x1000, 0x2001, PAGE_REUSED);
	/* two ranges and a page of a third */
	page_history_mark(&h, BASE, 2 * RANGE_BYTES + 1, PAGE_DESTROYED);
	/* the last page of one, the first of the next */
	page_history_mark(&h, BASE + RANGE_BYTES + 0x1ff000, 0x2000, PAGE_PERSISTENT);
	page_history_each(&h, see_sets, NULL);
	number("history/D+R", sets_seen[PAGE_DESTROYED | PAGE_REUSED], 3);
	number("history/D+P", sets_seen[PAGE_DESTROYED | PAGE_PERSISTENT], 2);
	number("history/D", sets_seen[PAGE_DESTROYED], 2 * RANGE_PAGES + 1 - 5);
	number("history/none", sets_seen[0], RANGE_PAGES - 1);
	number("history/of a page", history_of(&h, (BASE + RANGE_BYTES) / PAGE_BYTES + 511),
	       PAGE_DESTROYED | PAGE_PERSISTENT);
	number("history/of one that nothing lay on", history_of(&h, BASE / PAGE_BYTES + 5000),
	       0);
	page_history_deinit(&h);
}

/* Of two ranges each takes the other's place among those that were asked for last. */
static void far_apart(void)
{
	const uint64_t far = BASE + (uint64_t)RANGE_MAP_RECENT * RANGE_BYTES;
	struct page_history h = { 0 };

	page_history_mark(&h, BASE, 16, PAGE_DESTROYED);
	page_history_mark(&h, far, 16, PAGE_REUSED);
	page_history_mark(&h, BASE, 16, PAGE_PERSISTENT);
	page_history_mark(&h, far, RANGE_BYTES, PAGE_DESTROYED);
	number("far apart/the first", history_of(&h, BASE / PAGE_BYTES),
	       PAGE_DESTROYED | PAGE_PERSISTENT);
	number("far apart/the other", history_of(&h, far / PAGE_BYTES),
	       PAGE_DESTROYED | PAGE_REUSED);
	page_history_deinit(&h);
}

/* ---- damage: a block of half an address space, one at the end of the largest; what lies beyond is
 * test_hostile's matter ---- */

static void damaged(void)
{
	struct store *s = begin(1000);
	struct pages p;

	put_running(s, 1, 0, 0, 0, 0, "running");
	put(s, 100, 1, EVENT_ALLOC, BASE, UINT64_C(1) << 47, 0, 1, SHINY_API_MALLOC);
	put(s, 200, 1, EVENT_ALLOC, EVENT_SPACE - 100, 4000, 0, 1, SHINY_API_MALLOC);
	put(s, 300, 1, EVENT_FREE, BASE, 0, 0, 1, SHINY_API_FREE);
	put(s, 400, 1, EVENT_FREE, EVENT_SPACE - 100, 0, 0, 1, SHINY_API_FREE);
	must(store_finish(s, NULL));
	load((struct pages_ask){ .at = PAGES_AT_TIME, .time = 250, .history = true, .points = 4 },
	     &p);
	number("damaged/blocks", p.total.blocks, 2);
	number("damaged/pages of the large one",
	       p.total.pages >= (UINT64_C(1) << 28) && p.total.pages <= (UINT64_C(1) << 28) + 2,
	       true);
	pages_deinit(&p);
}

/* ---- at random, beside a model ---- */

enum {
	PROCESSES = 4,
	STEPS = 6000,
	ROOM = 12 << 20,
	UNITS = ROOM / 16,
	PAGES = ROOM / 4096,
	MOMENTS = 9,
	POINTS = 7
};
#define RING (UINT64_C(0x7f1234000000) - (3 << 19)) /* neither end is a range's */
#define DURATION (UINT64_C(10) * STEPS)

struct object {
	unsigned process;
	uint64_t address, size, birth, death; /* UINT64_MAX: never */
	enum page_state state; /* R also of one that a collection moved: it goes on at `next` */
	uint32_t site;
	size_t next; /* index + 1 */
	bool inherited; /* it counts for no peak */
};
static VEC(struct object) objects;
static uint8_t used[PROCESSES][UNITS];
static const struct {
	uint32_t parent;
	uint64_t start, end, forked;
	bool replaced;
} lived[PROCESSES] = {
	{ 0, 0, 0, 0, false },
	{ 1, 15005, 48005, 15005, false },
	{ 2, 20005, 30005, 20005, true },
	{ 0, 1005, 0, 0, false },
};

static bool runs(unsigned process, uint64_t time)
{
	return lived[process].start <= time && (!lived[process].end || time < lived[process].end);
}

static void use(const struct object *o, uint8_t set)
{
	memset(&used[o->process][(o->address - RING) / 16], set,
	       (o->size + 15) / 16 + (o->size == 0));
}

static bool is_free(unsigned process, uint64_t address, uint64_t size)
{
	return address + size + 16 <= RING + ROOM &&
	       !memchr(&used[process][(address - RING) / 16], 1, (size + 15) / 16 + 1);
}

static struct object *begin_object(struct store *s, unsigned process, uint64_t time,
				   uint64_t address, uint64_t size, uint64_t old)
{
	struct object *o = vec_push(&objects);

	*o = (struct object){ process, address, size, time, UINT64_MAX, PAGE_PERSISTENT, (uint32_t)(1 + next_random() % SITES), 0, false };
	use(o, 1);
	put(s, time, process + 1, old ? EVENT_REALLOC : EVENT_ALLOC, address, size, old, o->site,
	    old ? SHINY_API_REALLOC : SHINY_API_MALLOC);
	return o;
}

/* Large ones have the upper half to themselves. */
static uint64_t find_room(unsigned process, uint64_t size)
{
	uint64_t from = RING + (size > ROOM / 4 ? ROOM / 2 : 0);

	for (unsigned i = 0; i < 100; i++) {
		uint64_t address = from + next_random() % (ROOM / 2 - size) / 16 * 16;

		if (is_free(process, address, size))
			return address;
	}
	return 0;
}

static uint64_t random_size(void)
{
	static const uint64_t most[] = { 64, 64, 64, 64, 256, 256, 1024, 4096, 16384, 60000 };
	uint64_t n = next_random() % 500;

	return n == 0 ? 5 << 20 : n < 5 ? 0 : next_random() % (most[n % 10] + 1);
}

static void end_object(struct store *s, struct object *o, uint64_t time, uint8_t api)
{
	o->death = time;
	o->state = api == SHINY_API_FREE ? PAGE_DESTROYED : PAGE_REUSED;
	use(o, 0);
	put(s, time, o->process + 1, EVENT_FREE, o->address, 0, 0, 0, api);
}

/* By a collection. */
static void move_object(struct store *s, size_t index, uint64_t time, uint64_t address)
{
	struct object moved = objects.at[index], *old = &objects.at[index];

	put(s, time, moved.process + 1, EVENT_REALLOC, address, moved.size, moved.address,
	    moved.site, SHINY_API_COLLECTED);
	use(old, 0);
	old->death = time;
	old->state = PAGE_REUSED;
	old->next = objects.count + 1;
	moved.address = address;
	moved.birth = time;
	*vec_push(&objects) = moved;
	use(&moved, 1);
}

static enum page_state fate_of(const struct object *o)
{
	while (o->next)
		o = &objects.at[o->next - 1];
	return o->state;
}

static void inherit(unsigned child)
{
	unsigned parent = lived[child].parent - 1;

	memcpy(used[child], used[parent], sizeof(used[child]));
	for (size_t i = 0, count = objects.count; i < count; i++) {
		struct object copy = objects.at[i];

		if (copy.process != parent || copy.death != UINT64_MAX)
			continue;
		copy.process = child;
		copy.birth = lived[child].forked;
		copy.inherited = true;
		*vec_push(&objects) = copy;
	}
}

static void step(struct store *s, unsigned process, uint64_t time)
{
	uint64_t what = next_random() % 100, size = random_size(),
		 address = find_room(process, size);
	size_t index = objects.count ? next_random() % objects.count : 0;
	struct object *o = objects.count ? &objects.at[index] : NULL;

	if (what >= 55 && o && o->process == process && o->death == UINT64_MAX) {
		if (what < 65) {
			uint64_t place = find_room(process, o->size);

			if (place)
				move_object(s, index, time, place);
		} else if (what < 90 || (!o->size && what < 95)) {
			end_object(s, o, time, what % 3 ? SHINY_API_FREE : EVENT_END_RELEASED);
		} else if (what < 95) { /* another one has its place, and it was not freed */
			o->death = time;
			o->state = PAGE_REUSED;
			begin_object(s, process, time, o->address,
				     o->size - next_random() % o->size, 0);
		} else if (address) {
			uint64_t old = o->address;

			o->death = time;
			o->state = PAGE_DESTROYED;
			use(o, 0);
			begin_object(s, process, time, address, size, old);
		}
	} else if (address) {
		begin_object(s, process, time, address, size, 0);
	}
}

struct model_page {
	uint32_t blocks, bytes;
	unsigned fates, buckets, ever;
	bool lines[64];
	uint32_t site_blocks[SITES], site_bytes[SITES];
};
struct model { /* a moment */
	struct model_page pages[PROCESSES][PAGES + 1];
	bool there[PROCESSES];
	uint64_t blocks, bytes;
	struct pages_pin sites[SITES], types[TYPES];
	struct pages_sums sums[PROCESSES];
};
static struct model model;

static unsigned bucket_of(uint64_t size)
{
	return size <= 64      ? 0
	       : size <= 256   ? 1
	       : size <= 1024  ? 2
	       : size <= 4096  ? 3
	       : size <= 16384 ? 4
			       : 5;
}

/* Marks every byte. */
static void lay(const struct object *o)
{
	uint64_t first = (o->address - (RING & ~UINT64_C(4095))) / 4096;
	struct model_page *last = NULL;

	for (uint64_t byte = o->address; byte < o->address + (o->size ? o->size : 1); byte++) {
		struct model_page *page =
			&model.pages[o->process][first + byte / 4096 - o->address / 4096];

		page->lines[byte % 4096 / 64] = true;
		page->bytes += o->size != 0;
		page->site_bytes[o->site - 1] += o->size != 0;
		if (page == last)
			continue;
		last = page;
		page->blocks++;
		page->site_blocks[o->site - 1]++;
		page->fates |= fate_of(o);
		page->buckets |= 1u << bucket_of(o->size);
	}
}

static void count_pin(struct pages_pin *pin, const struct model_page *page, uint32_t blocks,
		      uint64_t bytes, bool pinned)
{
	if (!blocks)
		return;
	pin->pages++;
	pin->pinned += pinned;
	pin->pinned_bytes += pinned ? bytes : 0;
	pin->freed += pinned && blocks == page->blocks;
	pin->idle += pinned && blocks == page->blocks ? 4096 - page->bytes : 0;
}

static void sum_up(unsigned process, uint64_t under)
{
	struct pages_sums *t = &model.sums[process];
	uint64_t first = RING / 4096, alone_bytes[PAGES_BUCKETS] = { 0 };
	uint64_t in_range[PAGES / 512 + 3] = { 0 }, bytes_in_range[PAGES / 512 + 3] = { 0 };
	unsigned fates[PAGES / 512 + 3] = { 0 }, ever[PAGES / 512 + 3] = { 0 };

	for (unsigned i = 0; i <= PAGES; i++) {
		const struct model_page *page = &model.pages[process][i];
		uint64_t range = (first + i) / 512 - first / 512;
		bool pinned = page->bytes < under || (page->blocks == 1 && page->bytes < 4096);

		t->ever[page->ever] += page->ever != 0;
		ever[range] |= page->ever;
		if (!page->blocks)
			continue;
		t->pages++;
		for (unsigned k = 0; k < 64; k++)
			t->lines += page->lines[k];
		t->under += page->bytes < under;
		t->under_bytes += page->bytes < under ? page->bytes : 0;
		t->single += page->blocks == 1 && page->bytes < 4096;
		t->single_bytes += page->blocks == 1 && page->bytes < 4096 ? page->bytes : 0;
		t->pinned += pinned;
		t->pinned_bytes += pinned ? page->bytes : 0;
		t->by_use[page->bytes == 4096 ? 9 : page->bytes * 10 / 4096]++;
		t->fates[page->fates]++;
		in_range[range]++;
		bytes_in_range[range] += page->bytes;
		fates[range] |= page->fates;
		for (unsigned k = 0; k < PAGES_BUCKETS; k++) {
			t->buckets[k].pages += page->buckets >> k & 1;
			t->buckets[k].alone += page->buckets == 1u << k;
			alone_bytes[k] += page->buckets == 1u << k ? page->bytes : 0;
		}
		for (unsigned k = 0; k < SITES; k++)
			count_pin(&model.sites[k], page, page->site_blocks[k], page->site_bytes[k],
				  pinned);
		for (unsigned k = 0; k < TYPES; k++)
			count_pin(&model.types[k], page,
				  page->site_blocks[k] + page->site_blocks[k + 2],
				  page->site_bytes[k] + page->site_bytes[k + 2], pinned);
	}
	for (unsigned i = 0; i < PAGES / 512 + 3; i++) {
		t->ever_ranges[ever[i]] += ever[i] != 0;
		if (!in_range[i])
			continue;
		t->ranges++;
		t->fate_ranges[fates[i]]++;
		t->ranges_by_use[bytes_in_range[i] == 2 << 20
					 ? 9
					 : bytes_in_range[i] * 10 / (2 << 20)]++;
		t->ranges_by_pages[in_range[i] == 512 ? 9 : in_range[i] * 10 / 512]++;
	}
	for (unsigned k = 0; k < PAGES_BUCKETS; k++) {
		t->buckets[k].alone_bytes = alone_bytes[k];
		t->buckets[k].reclaimable = t->buckets[k].alone - (alone_bytes[k] + 4095) / 4096;
	}
}

/* `end`: each process as it was in the end; else at `time`. */
static void build(bool end, uint64_t time, uint64_t under)
{
	memset(&model, 0, sizeof(model));
	for (unsigned i = 0; i < PROCESSES; i++)
		model.there[i] = end ? !lived[i].end : runs(i, time);
	for (size_t i = 0; i < objects.count; i++) {
		const struct object *o = &objects.at[i];
		bool live = end ? o->death == UINT64_MAX : o->birth <= time && time < o->death;
		uint64_t page = o->address / 4096 - RING / 4096;

		if (!model.there[o->process] || (!end && o->birth > time))
			continue;
		for (uint64_t last =
			     (o->address + (o->size ? o->size - 1 : 0)) / 4096 - RING / 4096;
		     page <= last; page++)
			model.pages[o->process][page].ever |= live ? PAGE_PERSISTENT : o->state;
		if (!live)
			continue;
		lay(o);
		model.blocks++;
		model.bytes += o->size;
		model.sites[o->site - 1].blocks++;
		model.sites[o->site - 1].bytes += o->size;
		model.types[(o->site - 1) % 2].blocks++;
		model.types[(o->site - 1) % 2].bytes += o->size;
		model.sums[o->process].blocks++;
		model.sums[o->process].bytes += o->size;
		model.sums[o->process].buckets[bucket_of(o->size)].blocks++;
		model.sums[o->process].buckets[bucket_of(o->size)].bytes += o->size;
	}
	for (unsigned i = 0; i < PROCESSES; i++)
		sum_up(i, under);
}

static unsigned compare_pins(const struct pages_pins *got, const struct pages_pin *want,
			     const char *const *names, size_t count)
{
	unsigned wrong = got->count != count;

	for (size_t i = 0; i < count; i++) {
		struct pages_pin pin = *pin_of(got, names[i]);

		pin.name = NULL;
		wrong += memcmp(&pin, &want[i], sizeof(pin)) != 0;
	}
	for (size_t i = 1; i < got->count; i++)
		wrong += got->rows[i - 1].idle < got->rows[i].idle;
	return wrong;
}

static void compare(const char *name, struct pages *p)
{
	static const char *const type_names[TYPES] = { "Odd", "Even" };
	unsigned wrong_sums = 0, wrong_runs = 0, wrong_history = 0;
	struct pages_sums all = { 0 };
	uint64_t there = 0, pages = 0;
	char text[80];

	for (unsigned i = 0; i < PROCESSES; i++)
		for (size_t k = 0; k < sizeof(all) / sizeof(uint64_t); k++)
			((uint64_t *)&all)[k] += ((const uint64_t *)&model.sums[i])[k];
	for (size_t i = 0; i < p->count; i++) {
		struct pages_process *q = &p->processes[i];
		const struct model_page *at = model.pages[q->id - 1];

		there++;
		wrong_sums += memcmp(&q->sums, &model.sums[q->id - 1], sizeof(q->sums)) != 0;
		for (size_t k = 0; k < q->run_count; k++)
			for (uint64_t page = q->runs[k].page;
			     page < q->runs[k].page + q->runs[k].count; page++, pages++) {
				const struct model_page *m = &at[page - RING / 4096];

				wrong_runs += m->blocks != q->runs[k].blocks ||
					      m->bytes != q->runs[k].bytes ||
					      m->fates != q->runs[k].fates;
			}
		for (unsigned k = 0; k <= PAGES; k++)
			wrong_history +=
				history_of(&q->history, RING / 4096 + k) != at[k].ever;
	}
	snprintf(text, sizeof(text), "%s/blocks", name);
	number(text, p->total.blocks, model.blocks);
	snprintf(text, sizeof(text), "%s/bytes", name);
	number(text, p->total.bytes, model.bytes);
	snprintf(text, sizeof(text), "%s/pages", name);
	number(text, pages, all.pages);
	snprintf(text, sizeof(text), "%s/reclaimable", name);
	number(text, p->total.buckets[0].reclaimable, all.buckets[0].reclaimable);
	snprintf(text, sizeof(text), "%s/all sums", name);
	number(text, memcmp(&p->total, &all, sizeof(all)) != 0, 0);
	snprintf(text, sizeof(text), "%s/sums of processes", name);
	number(text, wrong_sums, 0);
	snprintf(text, sizeof(text), "%s/runs", name);
	number(text, wrong_runs, 0);
	snprintf(text, sizeof(text), "%s/history", name);
	number(text, wrong_history, 0);
	snprintf(text, sizeof(text), "%s/sites", name);
	number(text, compare_pins(&p->by_site, model.sites, site_names, SITES), 0);
	snprintf(text, sizeof(text), "%s/types", name);
	number(text, compare_pins(&p->by_type, model.types, type_names, TYPES), 0);
}

static uint64_t peak_time(void)
{
	uint64_t most = 0, at = 0;

	for (uint64_t time = 5; time < DURATION; time += 5) {
		uint64_t bytes = 0;

		for (size_t i = 0; i < objects.count; i++) {
			const struct object *o = &objects.at[i];

			bytes += o->birth <= time && time < o->death && !o->inherited &&
						 runs(o->process, time)
					 ? o->size
					 : 0;
		}
		if (bytes > most) {
			most = bytes;
			at = time;
		}
	}
	return at;
}

static void compare_points(const struct pages *p)
{
	number("series/points", p->point_count, POINTS);
	for (unsigned i = 0; i < p->point_count; i++) {
		const struct pages_point *point = &p->points[i];
		uint64_t time = DURATION * (i + 1) / POINTS, pages = 0, lines = 0, ranges = 0;

		number("series/time", point->time, time);
		build(false, time, 1);
		for (unsigned k = 0; k < PROCESSES; k++) {
			pages += model.sums[k].pages;
			lines += model.sums[k].lines;
			ranges += model.sums[k].ranges;
		}
		number("series/blocks", point->blocks, model.blocks);
		number("series/bytes", point->bytes, model.bytes);
		number("series/pages", point->pages, pages);
		number("series/lines", point->lines, lines);
		number("series/ranges", point->ranges, ranges);
	}
}

/* The session says that so many bytes were the most. */
static void say_peak(uint64_t bytes)
{
	char *sql = mem_format("INSERT OR REPLACE INTO session_peak "
			       "VALUES (1, 0, %" PRIu64 ", 0, 0)", bytes);
	sqlite3 *db;

	if (sqlite3_open(path, &db) || sqlite3_exec(db, sql, NULL, NULL, NULL))
		number("say_peak", 1, 0);
	sqlite3_close(db);
	free(sql);
}

/* Whatever the session says of its peak, that is where it is. */
static void said_peaks(uint64_t right)
{
	/* the model's; those that were reached before, or never */
	const struct { const char *name; uint64_t bytes; } said[] = {
		{ "said right", right },
		{ "said the first block", objects.at[0].size },
		{ "said a byte too low", right - 1 },
		{ "said a byte too high", right + 1 },
		{ "said none", 0 }
	};

	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		struct pages p;

		say_peak(said[i].bytes);
		load((struct pages_ask){ .at = PAGES_AT_PEAK,
					 .under = 1,
					 .history = true,
					 .points = POINTS },
		     &p);
		number(said[i].name, p.time, peak_time());
		compare(said[i].name, &p);
		compare_points(&p);
		pages_deinit(&p);
	}
}

static void at_random(void)
{
	struct store *s = begin(DURATION);
	struct pages p;

	for (uint32_t i = 0; i < PROCESSES; i++)
		put_running(s, i + 1, lived[i].parent, lived[i].start, lived[i].end,
			    lived[i].forked, lived[i].replaced ? "replaced" : "exited");
	for (uint64_t time = 10, forks = 0; time < DURATION; time += 10) {
		unsigned process = (unsigned)(next_random() % PROCESSES);

		for (unsigned i = 0; i < PROCESSES; i++)
			if (lived[i].forked && lived[i].forked < time && !(forks >> i & 1)) {
				forks |= UINT64_C(1) << i;
				inherit(i);
			}
		if (runs(process, time))
			step(s, process, time);
	}
	must(store_finish(s, NULL));
	for (unsigned i = 1; i <= MOMENTS; i++) {
		struct pages_ask ask = { .at = PAGES_AT_TIME,
					 .time = i == MOMENTS ? lived[1].end
							      : DURATION * i / (MOMENTS + 1),
					 .under = 100 * i,
					 .history = true,
					 .points = i == 1 ? POINTS : 0,
					 .full_names = true };
		char name[32];

		load(ask, &p);
		build(false, ask.time, ask.under);
		snprintf(name, sizeof(name), "random at %" PRIu64, ask.time);
		compare(name, &p);
		if (i == 1)
			compare_points(&p);
		pages_deinit(&p);
	}
	load((struct pages_ask){ .at = PAGES_AT_END, .under = 4096, .history = true }, &p);
	build(true, 0, 4096);
	compare("random end", &p);
	pages_deinit(&p);
	load((struct pages_ask){ .at = PAGES_AT_PEAK, .under = 1, .history = true }, &p);
	number("random peak/time", p.time, peak_time());
	build(false, p.time, 1);
	compare("random peak", &p);
	said_peaks(p.total.bytes);
	pages_deinit(&p);
}

/* A block of the child that lies in front of the fork: counted once, with what it inherits. */
static void early_child(void)
{
	struct store *s = begin(1000);
	struct pages p;

	put_running(s, 1, 0, 0, 0, 0, "running");
	put_running(s, 2, 1, 350, 0, 500, "running");
	put(s, 300, 1, EVENT_ALLOC, BASE, 100, 0, 1, SHINY_API_MALLOC);
	put(s, 400, 2, EVENT_ALLOC, BASE + 0x10000, 100, 0, 1, SHINY_API_MALLOC);
	put(s, 600, 1, EVENT_ALLOC, BASE + 0x20000, 100, 0, 1, SHINY_API_MALLOC);
	must(store_finish(s, NULL));
	load((struct pages_ask){ .at = PAGES_AT_END, .points = 1 }, &p);
	number("early child/points", p.point_count, 1);
	number("early child/blocks", p.points[0].blocks, 4);
	number("early child/pages", p.points[0].pages, 4);
	pages_deinit(&p);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/shiny-test-pages-%d.shiny", (int)getpid());
	written_down();
	history();
	far_apart();
	damaged();
	early_child();
	at_random();
	free(objects.at);
	unlink(path);
	return failures != 0;
}
