/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_peak.c: peaks of a session that is made at random beside a plain model, which keeps every
 * block for ever and adds up anew for every question; and of one that is written down, by type,
 * site and component.
 */
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/time/peak.h"
#include "../../src/base/mem.h"
#include "../lib/random.h"
#include "session_writer.h"

static char path[64];
static struct store *session;

static const struct peak_row *row_of(const struct peak *peak, const char *name)
{
	static const struct peak_row none;

	for (size_t i = 0; i < peak->count; i++)
		if (strncmp(peak->rows[i].name, name, strlen(name)) == 0)
			return &peak->rows[i];
	return &none;
}

static void begin(uint64_t duration, const char *const *functions, uint32_t count)
{
	session = session_begin(path, duration);
	put_program(session);
	for (uint32_t i = 1; i <= count; i++)
		put_site(session, i, functions[i - 1]);
}

static void put(uint64_t time, uint32_t process, uint8_t kind, uint64_t address, uint64_t size,
		uint64_t old, uint32_t stack, uint8_t api)
{
	put_event(session, (struct event){ .time = time,
					   .address = address,
					   .size = size,
					   .old_address = old,
					   .process = process,
					   .thread = 1,
					   .stack = stack,
					   .kind = kind,
					   .api = api });
}

static struct filter all;

/* What is asked for alone is what it is among all others. */
static void highest_alone(enum group_by by, uint64_t soon, const struct peaks *whole)
{
	static const struct peak none;
	const struct peak *a = whole->count ? &whole->peaks[whole->highest] : &none, *b;
	struct groups groups;
	struct peaks alone;

	must(groups_load(session, by, true, &groups));
	must(peak_load_highest(session, &all, &groups, false, &alone));
	b = alone.count ? alone.peaks : &none;
	number("the highest alone", alone.count + alone.process_count, whole->count != 0);
	number("its time", b->time, a->time);
	number("its bytes", b->there.bytes, a->there.bytes);
	number("its rows", b->count, a->count);
	if (!soon) /* as it is there */
		number("its bytes that end soon", b->soon_bytes, a->soon_bytes);
	for (size_t i = 0; i < a->count && i < b->count; i++)
		check("its row",
		      a->rows[i].group == b->rows[i].group &&
			      a->rows[i].there.bytes == b->rows[i].there.bytes &&
			      (soon || a->rows[i].soon_blocks == b->rows[i].soon_blocks),
		      "it is another one");
	peak_deinit(&alone);
}

static void load(enum group_by by, uint64_t soon, struct peaks *out)
{
	struct groups groups;

	must(groups_load(session, by, true, &groups));
	must(peak_load(session, &all, &groups, soon, false, out));
	highest_alone(by, soon, out);
}

static void open_again(void)
{
	must(store_finish(session, NULL));
	must(store_open(path, &session));
	must(filter_resolve(session, NULL, &all));
}

static void end(void)
{
	filter_deinit(&all);
	store_close(session);
}

/* ---- at random ---- */

enum { PROCESSES = 3, PLACES = 2000, STEPS = 60000, SITES = 5, WAVES = 30, SOON = 200 };
#define NEVER SIZE_MAX

struct block {
	uint64_t size, death_time;
	size_t birth, death; /* changes; NEVER */
	uint32_t process, site;
};
static VEC(struct block) blocks;
#define INHERITED SIZE_MAX /* it stands apart */
static size_t places[PROCESSES][PLACES]; /* in `blocks`, plus 1; INHERITED */
/* what is live behind each */
static struct change { uint64_t time, bytes, own[PROCESSES]; } *changes;
static size_t change_count;

static void change(uint64_t time)
{
	struct change *c = &changes[change_count];
	struct change before = change_count ? c[-1] : (struct change){ 0 };

	*c = before;
	c->time = time;
	change_count++;
}

static void model_born(uint32_t process, uint64_t place, uint64_t size, uint32_t site)
{
	*vec_push(&blocks) = (struct block){ size, UINT64_MAX, change_count - 1, NEVER, process, site };
	places[process][place] = blocks.count;
	changes[change_count - 1].bytes += size;
	changes[change_count - 1].own[process] += size;
}

static void model_died(uint32_t process, uint64_t place)
{
	struct block *b =
		places[process][place] == INHERITED ? NULL : &blocks.at[places[process][place] - 1];

	places[process][place] = 0;
	if (!b)
		return;
	b->death = change_count - 1;
	b->death_time = changes[change_count - 1].time;
	changes[change_count - 1].bytes -= b->size;
	changes[change_count - 1].own[process] -= b->size;
}

static void model_fork(uint32_t parent, uint32_t child, uint64_t time)
{
	change(time);
	for (uint64_t i = 0; i < PLACES; i++)
		if (places[parent][i])
			places[child][i] = INHERITED;
}

static void model_exit(uint32_t process, uint64_t time)
{
	change(time);
	for (uint64_t i = 0; i < PLACES; i++)
		if (places[process][i])
			model_died(process, i);
}

static void check_peak(const char *name, const struct peak *peak, size_t at, uint32_t process,
		       uint64_t duration)
{
	struct peak_row want[SITES + 1] = { 0 };
	uint64_t count = 0, bytes = 0, wrong = 0;

	for (size_t i = 0; i < blocks.count; i++) {
		const struct block *b = &blocks.at[i];
		bool soon;

		if (b->birth > at || b->death <= at ||
		    (process != PROCESSES && b->process != process))
			continue;
		soon = b->death != NEVER && b->death_time <= changes[at].time + SOON;
		count++;
		bytes += b->size;
		want[b->site].there.blocks++;
		want[b->site].there.bytes += b->size;
		want[b->site].soon_blocks += soon;
		want[b->site].soon_bytes += soon ? b->size : 0;
	}
	for (unsigned s = 1; s <= SITES; s++) {
		char site[16];
		const struct peak_row *row;

		snprintf(site, sizeof(site), "site_%u ", s);
		row = row_of(peak, site);
		wrong += row->there.blocks != want[s].there.blocks ||
			 row->there.bytes != want[s].there.bytes ||
			 row->soon_blocks != want[s].soon_blocks ||
			 row->soon_bytes != want[s].soon_bytes;
	}
	checkf(name,
	       peak->time == changes[at].time && peak->there.blocks == count &&
		       peak->there.bytes == bytes &&
		       !wrong && count > 100 && changes[at].time + SOON <= duration,
	       "time %" PRIu64 ", want %" PRIu64 "; %" PRIu64 " blocks, want %" PRIu64 "; %" PRIu64
	       " bytes, want %" PRIu64 "; %" PRIu64 " wrong rows",
	       peak->time, changes[at].time, peak->there.blocks, count, peak->there.bytes, bytes, wrong);
}

/* From the definition: highest values between valleys, both a tenth apart from it. */
static size_t find_peaks(size_t out[PEAK_MARKS])
{
	size_t found[2 * WAVES + 10] = { 0 }, count = 0, high = 0, low = 0, kept = 0;
	bool up = true;

	for (size_t i = 0; i < change_count; i++) {
		if (up && changes[i].bytes > changes[high].bytes)
			high = i;
		if (!up && changes[i].bytes < changes[low].bytes)
			low = i;
		if (up && (double)changes[i].bytes < 0.9 * (double)changes[high].bytes) {
			found[count++] = high;
			up = false;
			low = i;
		} else if (!up && (double)changes[low].bytes < 0.9 * (double)changes[i].bytes) {
			up = true;
			high = i;
		}
	}
	if (up)
		found[count++] = high;
	for (size_t i = 0; i < count; i++) {
		size_t higher = 0;

		for (size_t k = 0; k < count; k++)
			higher += changes[found[k]].bytes > changes[found[i]].bytes;
		if (higher < PEAK_MARKS)
			out[kept++] = found[i];
	}
	return kept;
}

static void make(void)
{
	static const char *const functions[SITES] = { "site_1", "site_2", "site_3", "site_4",
						      "site_5" };
	const uint64_t forked = STEPS / 3, exits = STEPS * 3 / 4;
	uint64_t time = 10;
	bool has_forked = false, has_exited = false;

	changes = mem_zero(STEPS + 10, sizeof(*changes));
	begin(STEPS * 2 + 1000, functions, SITES);
	put_process(session, (struct store_process){ .id = 1, .start = 1 });
	put_process(session, (struct store_process){ .id = 2,
						     .parent = 1,
						     .start = forked,
						     .end = exits,
						     .forked = forked,
						     .early = true });
	put_process(session, (struct store_process){ .id = 3, .start = 2 });
	for (size_t step = 0; step < STEPS; step++) {
		bool rising = step * WAVES / STEPS % 2 == 0;
		uint64_t place = random_below(PLACES),
			 size = random_below(step * WAVES / STEPS * 100 + 300),
			 address = 0x10000 + place * 0x10000;
		uint32_t process = (uint32_t)random_below(PROCESSES),
			 site = 1 + (uint32_t)random_below(SITES);

		time += random_below(3); /* many at the same time */
		if (time > forked && !has_forked) {
			model_fork(0, 1, forked);
			has_forked = true;
		}
		if (time > exits && !has_exited) {
			model_exit(1, exits);
			has_exited = true;
		}
		if (process == 1 && (!has_forked || has_exited))
			process = 0;
		if (places[process][place] && random_below(4) == 0) {
			change(time);
			model_died(process, place);
			model_born(process, place, size, site);
			put(time, process + 1, EVENT_REALLOC, address, size, address, site,
			    SHINY_API_REALLOC);
		} else if (places[process][place] && (!rising || random_below(8) == 0)) {
			change(time);
			model_died(process, place);
			put(time, process + 1, EVENT_FREE, address, 0, 0, 0, SHINY_API_FREE);
		} else if (!places[process][place] && (rising || random_below(8) == 0)) {
			change(time);
			model_born(process, place, size, site);
			put(time, process + 1, EVENT_ALLOC, address, size, 0, site,
			    SHINY_API_MALLOC);
		}
	}
}

static void at_random(void)
{
	size_t want[PEAK_MARKS], count, highest[PROCESSES] = { 0 }, kept = 0;
	struct peaks peaks;
	uint64_t most = 0;
	char name[48];

	make();
	open_again();
	load(GROUP_SITE, SOON, &peaks);
	count = find_peaks(want);
	for (size_t i = 0; i < count; i++)
		most = changes[want[i]].bytes > most ? changes[want[i]].bytes : most;
	for (size_t i = 0; i < count; i++)
		if ((double)changes[want[i]].bytes >= PEAK_SHARE * (double)most)
			want[kept++] = want[i];
	number("random/there is something to find", kept > 3 && count == PEAK_MARKS, 1);
	number("random/peaks", peaks.count, kept);
	for (size_t i = 0; i < kept && i < peaks.count; i++) {
		snprintf(name, sizeof(name), "random/peak %zu", i);
		check_peak(name, &peaks.peaks[i], want[i], PROCESSES, peaks.duration);
	}
	number("random/highest", peaks.count ? peaks.peaks[peaks.highest].there.bytes : 0, most);
	for (size_t i = 0; i < change_count; i++)
		for (unsigned p = 0; p < PROCESSES; p++)
			if (changes[i].own[p] > changes[highest[p]].own[p])
				highest[p] = i;
	number("random/processes", peaks.process_count, PROCESSES);
	for (size_t i = 0; i < peaks.process_count; i++) {
		uint32_t process = peaks.processes[i].process - 1;

		snprintf(name, sizeof(name), "random/process %u", process + 1);
		check_peak(name, &peaks.processes[i], highest[process], process, peaks.duration);
	}
	peak_deinit(&peaks);
	end();
	free(changes);
	free(blocks.at);
}

/* ---- written down ---- */

static void written_down(void)
{
	static const char *const functions[] = { "net::Fetch", "blink::Parse", "resize" };
	struct peaks peaks;
	const struct peak *peak;
	const struct peak_row *row;

	begin(100000, functions, 3);
	put_process(session, (struct store_process){ .id = 1, .start = 1 });
	for (uint32_t i = 1; i <= 3; i++)
		must(store_put_stat(session, &(struct store_stat){ .process = 1,
								   .stack = i,
								   .type = i < 3 ? 1 : 0 }));
	must(store_put_type(session, &(struct store_type){ .id = 1,
							   .name = "Page",
							   .form = "object",
							   .rule = "variable",
							   .confidence = "exact",
							   .source = "site" }));
	for (unsigned i = 0; i < 10; i++) {
		put(100 + i, 1, EVENT_ALLOC, 0x1000 * (i + 1), 1000, 0, 1, SHINY_API_NEW);
		put(100 + i, 1, EVENT_ALLOC, 0x100000 + 0x1000 * i, 100, 0, 2, SHINY_API_NEW);
	}
	/* a large one grows: no valley, though for a moment neither is there */
	put(200, 1, EVENT_ALLOC, 0x900000, 5000, 0, 3, SHINY_API_COLLECTED);
	put(210, 1, EVENT_ALLOC, 0x800000, 50000, 0, 2, SHINY_API_MALLOC);
	put(220, 1, EVENT_REALLOC, 0x700000, 60000, 0x800000, 2, SHINY_API_REALLOC);
	/* behind the moment, and of no size */
	put(221, 1, EVENT_ALLOC, 0x600000, 0, 0, 2, SHINY_API_MALLOC);
	put(230, 1, EVENT_FREE, 0x700000, 0, 0, 0, SHINY_API_FREE);
	/* smaller from now on */
	put(240, 1, EVENT_REALLOC, 0x900000, 2000, 0x900000, 3, SHINY_API_COLLECTED);
	/* just within a hundredth */
	put(1220, 1, EVENT_FREE, 0x1000, 0, 0, 0, SHINY_API_DELETE);
	/* just not */
	put(1221, 1, EVENT_FREE, 0x2000, 0, 0, 0, SHINY_API_DELETE);
	open_again();
	load(GROUP_SITE, 0, &peaks);
	peak = &peaks.peaks[0];
	number("written/peaks", peaks.count, 1);
	number("written/soon", peaks.soon, 1000);
	number("written/time", peak->time, 220);
	number("written/bytes", peak->there.bytes, 10 * 1100 + 5000 + 60000);
	number("written/blocks", peak->there.blocks, 22);
	number("written/first", strncmp(peak->rows[0].name, "blink::Parse", 12), 0);
	number("written/first's bytes", peak->rows[0].there.bytes, 61000);
	number("written/first's blocks", peak->rows[0].there.blocks, 11);
	number("written/first's soon", peak->rows[0].soon_bytes, 60000);
	row = row_of(peak, "net::Fetch");
	number("written/within a hundredth", row->soon_blocks, 1);
	number("written/blocks of a row", row->there.blocks, 10);
	number("written/with its size then", row_of(peak, "resize")->there.bytes, 5000);
	peak_deinit(&peaks);

	load(GROUP_TYPE, 2000, &peaks);
	row = row_of(&peaks.peaks[0], "Page");
	number("type/bytes", row->there.bytes, 71000);
	number("type/soon", row->soon_bytes, 62000);
	number("type/none", row_of(&peaks.peaks[0], "(no type)")->there.bytes, 5000);
	peak_deinit(&peaks);
	load(GROUP_COMPONENT, 0, &peaks);
	number("component/net", row_of(&peaks.peaks[0], "net")->there.bytes, 10000);
	number("component/blink", row_of(&peaks.peaks[0], "blink")->there.bytes, 61000);
	peak_deinit(&peaks);
	end();

	begin(1000, functions, 3);
	put_process(session, (struct store_process){ .id = 1, .start = 1 });
	open_again();
	load(GROUP_SITE, 0, &peaks);
	number("empty", peaks.count + peaks.process_count, 0);
	peak_deinit(&peaks);
	end();
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/shiny-test-peak-%d.shiny", (int)getpid());
	at_random();
	written_down();
	unlink(path);
	return failures != 0;
}
