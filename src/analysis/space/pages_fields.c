/* SPDX-License-Identifier: Apache-2.0 */
#include "../../answer/answer.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "pages.h"

/* ---- sums ---- */

static void set_sets(struct pages_set out[PAGE_SETS], uint64_t *all,
		     const uint64_t pages[PAGE_SETS], const uint64_t ranges[PAGE_SETS])
{
	for (unsigned i = 1; i < PAGE_SETS; i++) {
		out[i] = (struct pages_set){ page_set_names[i], pages[i], ranges[i] };
		*all += pages[i];
	}
}

void pages_tables(const struct pages_sums *sums, struct pages_tables *out)
{
	*out = (struct pages_tables){ .pages = sums->pages, .ranges = sums->ranges };
	for (unsigned i = 0; i < PAGES_BUCKETS; i++)
		out->sizes[i] = (struct pages_size){ i, sums->buckets[i] };
	for (unsigned i = 0; i < PAGES_TENTHS; i++)
		out->tenths[i] = (struct pages_tenth){ i, sums->by_use[i], sums->ranges_by_use[i],
						       sums->ranges_by_pages[i] };
	set_sets(out->ever, &out->ever_pages, sums->ever, sums->ever_ranges);
	set_sets(out->fates, &out->fate_pages, sums->fates, sums->fate_ranges);
}

static void get_up_to(const void *row, struct field_value *out)
{
	uint64_t up_to = pages_bucket_up_to[((const struct pages_size *)row)->index];

	if (up_to != UINT64_MAX)
		field_set_number(out, up_to);
}

FIELD_GETTER(get_size, struct pages_size, text, pages_bucket_names[r->index])
FIELD_GETTER(get_reclaimable_bytes, struct pages_size, number, r->bucket.reclaimable * PAGE_BYTES)

static void get_tenth(const void *row, struct field_value *out)
{
	unsigned i = ((const struct pages_tenth *)row)->index;

	field_set_owned(out, mem_format("%3u - %u %%", i * 100 / PAGES_TENTHS,
					(i + 1) * 100 / PAGES_TENTHS));
}

FIELD_SKIP(is_unused, struct pages_set, !r->pages && !r->ranges)

/* clang-format off */
#define SIZE struct pages_size
#define TENTH struct pages_tenth
#define SET struct pages_set
#define TABLES struct pages_tables
static const struct field size_fields[] = {
	{ FIELD_WORKED_OUT("size", TEXT, get_size), .title = "block size", .column_only = true },
	{ FIELD_WORKED_OUT("up_to", BYTES, get_up_to),
	  .help = "the largest requested size of the bucket; null: no limit" },
	{ FIELD_COUNT("blocks", SIZE, bucket.blocks), .help = "live blocks of this size" },
	{ FIELD_BYTES("bytes", SIZE, bucket.bytes), .title = "live", .help = "their bytes" },
	{ FIELD_COUNT("pages", SIZE, bucket.pages), .help = "pages with such a block" },
	{ FIELD_COUNT("alone", SIZE, bucket.alone), .title = "of this size only",
	  .help = "pages with such blocks only" },
	{ FIELD_BYTES("alone_bytes", SIZE, bucket.alone_bytes), .help = "live bytes on those" },
	{ FIELD_COUNT("reclaimable", SIZE, bucket.reclaimable), .tint = TINT_WARN,
	  .help = "those pages, less what their blocks need side by side" },
	{ FIELD_WORKED_OUT("reclaimable_bytes", BYTES, get_reclaimable_bytes), .title = "",
	  .column_only = true },
	FIELD_LAST
};
static const struct field tenth_fields[] = {
	{ FIELD_WORKED_OUT("live", TEXT, get_tenth) },
	{ FIELD_COUNT("pages", TENTH, pages) },
	{ FIELD_BAR("pages_bar", TENTH, pages, TABLES, pages) },
	{ FIELD_SHARE("of_pages", TENTH, pages, TABLES, pages) },
	{ FIELD_COUNT("ranges", TENTH, ranges), .title = "2 MiB ranges" },
	{ FIELD_BAR("ranges_bar", TENTH, ranges, TABLES, ranges) },
	{ FIELD_COUNT("by_pages", TENTH, ranges_by_pages), .title = "by pages in use" },
	{ FIELD_BAR("by_pages_bar", TENTH, ranges_by_pages, TABLES, ranges) },
	FIELD_LAST
};
#define SET_FIELDS(all) \
	{ FIELD_TEXT("states", SET, name), .tint = TINT_NAME }, \
	{ FIELD_COUNT("pages", SET, pages) }, \
	{ FIELD_SHARE("of_pages", SET, pages, TABLES, all) }, \
	{ FIELD_BAR("bar", SET, pages, TABLES, all) }, \
	{ FIELD_COUNT("ranges", SET, ranges), .title = "2 MiB ranges" }, \
	FIELD_LAST
static const struct field ever_fields[] = { SET_FIELDS(ever_pages) };
static const struct field fate_fields[] = { SET_FIELDS(fate_pages) };
#define SET_COLUMNS "states pages of_pages bar ranges"
const struct field pages_tables_fields[] = {
	{ FIELD_ARRAY("sizes", TABLES, sizes, size_fields), .help = "a bucket of block sizes",
	  .shows = "size blocks bytes pages alone/1 reclaimable reclaimable_bytes/2" },
	{ FIELD_ARRAY("tenths", TABLES, tenths, tenth_fields), .column_only = true,
	  .shows = "live pages pages_bar of_pages ranges ranges_bar/2 by_pages/1 by_pages_bar/3" },
	{ FIELD_ARRAY("ever", TABLES, ever, ever_fields), .column_only = true, .skip = is_unused,
	  .shows = SET_COLUMNS },
	{ FIELD_ARRAY("fates", TABLES, fates, fate_fields), .column_only = true, .skip = is_unused,
	  .shows = SET_COLUMNS },
	FIELD_LAST
};
/* clang-format on */

static struct shiny_err *put_sizes(const void *row, struct json *json, const char *key,
				   void *context)
{
	struct pages_tables tables;
	const struct answer answer = { .fields = pages_tables_fields, .result = &tables };

	(void)context;
	pages_tables(row, &tables);
	return answer_json_list(&answer, "sizes", json, key);
}

#define PUT_SETS(member)                                                                           \
	static struct shiny_err *put_##member(const void *row, struct json *json, const char *key, \
					      void *context)                                       \
	{                                                                                          \
		const uint64_t *sets = ((const struct pages_sums *)row)->member;                   \
                                                                                                   \
		(void)context;                                                                     \
		json_object_line(json, key);                                                       \
		for (unsigned i = 1; i < PAGE_SETS; i++)                                           \
			if (sets[i])                                                               \
				json_number(json, page_set_names[i], sets[i]);                     \
		json_end(json);                                                                    \
		return NULL;                                                                       \
	}
PUT_SETS(ever)
PUT_SETS(ever_ranges)
PUT_SETS(fates)
PUT_SETS(fate_ranges)

FIELD_GETTER(get_utilization, struct pages_sums, real, pages_utilization(r))
FIELD_GETTER(get_live, struct pages_sums, number, pages_live(r))

FIELD_GETTER(get_use, struct pages_sums, owned,
	     mem_text(units_share(UNITS_BUF, (double)pages_live(r), (double)r->pages * PAGE_BYTES)))
FIELD_GETTER_BLANK(get_committed, struct pages_sums, number, r->committed, !r->sampled)

/* clang-format off */
#define SUMS struct pages_sums
#define SETS(member, text) \
	{ .key = #member, .kind = FIELD_KIND_PUT, .put = put_##member, .help = text }
static const struct field page_sums_fields[] = {
	{ FIELD_COUNT("blocks", SUMS, blocks), .help = "live blocks" },
	{ FIELD_BYTES("bytes", SUMS, bytes), .help = "their requested bytes" },
	{ FIELD_COUNT("pages", SUMS, pages), .help = "pages of 4 KiB with a live byte" },
	{ FIELD_COUNT("lines", SUMS, lines), .help = "cache lines of 64 bytes with a live byte" },
	{ FIELD_COUNT("ranges", SUMS, ranges), .title = "2 MiB ranges",
	  .help = "ranges of 2 MiB with a live byte" },
	{ FIELD_COUNT("huge", SUMS, ranges_by_pages[PAGES_TENTHS - 1]),
	  .title = "fit for huge pages", .column_only = true },
	{ FIELD_WORKED_OUT("live", BYTES, get_live), .column_only = true },
	{ FIELD_WORKED_OUT("in_use", TEXT, get_use), .column_only = true },
	{ FIELD_WORKED_OUT("utilization", REAL, get_utilization),
	  .help = "live bytes as a share of the pages' bytes" },
	{ FIELD_COUNT("under", SUMS, under), .help = "pages with fewer live bytes than less_than" },
	{ FIELD_BYTES("under_bytes", SUMS, under_bytes), .help = "live bytes on those" },
	{ FIELD_COUNT("single", SUMS, single),
	  .help = "pages with a single block that does not fill them" },
	{ FIELD_BYTES("single_bytes", SUMS, single_bytes), .help = "live bytes on those" },
	{ FIELD_COUNT("pinned", SUMS, pinned), .tint = TINT_WARN,
	  .help = "pages that are under or single" },
	{ FIELD_BYTES("pinned_bytes", SUMS, pinned_bytes), .help = "live bytes on those" },
	{ FIELD_COUNT("overlaps", SUMS, overlaps),
	  .help = "blocks that begin inside others, whose end was not seen" },
	{ FIELD_BYTES("overlap_bytes", SUMS, overlap_bytes), .help = "their bytes inside those" },
	{ FIELD_COUNT("sampled", SUMS, sampled), .help = "processes with a memory sample" },
	{ FIELD_WORKED_OUT("committed", BYTES, get_committed),
	  .help = "bytes that malloc and collected heaps had committed at that sample" },
	{ FIELD_BYTES("resident", SUMS, resident), .help = "of these, the resident ones" },
	{ FIELD_BYTES("sample_live", SUMS, sample_live), .help = "live bytes at that sample" },
	{ FIELD_NUMBERS("by_use", SUMS, by_use), .help = "pages by tenths of their live bytes" },
	{ FIELD_NUMBERS("ranges_by_use", SUMS, ranges_by_use),
	  .help = "ranges by tenths of their live bytes" },
	{ FIELD_NUMBERS("ranges_by_pages", SUMS, ranges_by_pages),
	  .help = "ranges by tenths of their pages in use" },
	SETS(ever, "pages by the states of all objects ever there"),
	SETS(ever_ranges, "ranges by the states of all objects ever there"),
	SETS(fates, "pages by how their live objects end"),
	SETS(fate_ranges, "ranges by how their live objects end"),
	{ .key = "sizes", .kind = FIELD_KIND_PUT, .put = put_sizes,
	  .help = "buckets of block sizes: up_to (null: no limit), blocks, bytes, pages, alone "
		  "(pages of this size only), alone_bytes and reclaimable" },
	FIELD_LAST
};
/* clang-format on */

/* ---- processes ---- */

FIELD_SKIP(unknown_total, struct pages, !r->touched.processes)
FIELD_SKIP(unknown_process, struct pages_process, !r->touched)
FIELD_SKIP(unknown_touches, struct touched_sums, !r->processes)
FIELD_GETTER(get_pid, struct pages_process, owned, mem_format("%u", r->pid))
FIELD_GETTER(get_address, struct page_run, number, r->page * PAGE_BYTES)
FIELD_GETTER(get_lines, struct page_run, number, r->lines)
FIELD_GETTER(get_fates, struct page_run, text, page_set_names[r->fates])

/* clang-format off */
#define RUN struct page_run
static const struct field run_fields[] = {
	{ FIELD_WORKED_OUT("address", ADDRESS, get_address), .help = "where the first page is" },
	{ FIELD_COUNT("pages", RUN, count), .help = "equal pages in a row" },
	{ FIELD_COUNT("blocks", RUN, blocks), .help = "blocks on each" },
	{ FIELD_BYTES("bytes", RUN, bytes), .help = "live bytes on each" },
	{ FIELD_WORKED_OUT("lines", COUNT, get_lines), .help = "cache lines in use on each" },
	{ FIELD_WORKED_OUT("fates", TEXT, get_fates), .help = "how the blocks end" },
	{ FIELD_FLAG("pinned", RUN, pinned), .help = "the pages are pinned" },
	FIELD_LAST
};
static const struct field live_fields[] = {
	{ FIELD_ROWS("live", struct pages_process, runs, run_count, run_fields),
	  .help = "a run of equal pages" },
	FIELD_LAST
};
/* clang-format on */

static struct shiny_err *put_live(const void *row, struct json *json, const char *key,
				  void *context)
{
	const struct answer answer = { .fields = live_fields, .result = row };

	(void)context;
	return ((const struct pages_process *)row)->mapped
		       ? answer_json_list(&answer, "live", json, key)
		       : NULL;
}

struct history_runs { /* adjacent pages with the same states */
	struct json *json;
	uint64_t page, count;
	unsigned set;
};

static void end_run(struct history_runs *runs)
{
	if (runs->count && runs->set) {
		json_object_line(runs->json, NULL);
		json_address(runs->json, "address", runs->page * PAGE_BYTES);
		json_number(runs->json, "pages", runs->count);
		json_text(runs->json, "states", page_set_names[runs->set]);
		json_end(runs->json);
	}
	runs->count = 0;
}

static void see_range(void *context, uint64_t range, const uint8_t sets[RANGE_PAGES])
{
	struct history_runs *runs = context;

	for (unsigned i = 0; i < RANGE_PAGES; i++) {
		uint64_t page = range * RANGE_PAGES + i;

		if (!runs->count || runs->set != sets[i] || runs->page + runs->count != page) {
			end_run(runs);
			runs->page = page;
			runs->set = sets[i];
		}
		runs->count++;
	}
}

static struct shiny_err *put_ever_map(const void *row, struct json *json, const char *key,
				      void *context)
{
	const struct pages_process *process = row;
	struct history_runs runs = { .json = json };

	(void)context;
	if (!process->mapped)
		return NULL;
	json_array(json, key);
	page_history_each(&process->history, see_range, &runs);
	end_run(&runs);
	json_end(json);
	return NULL;
}

static void get_at(const void *row, struct field_value *out)
{
	static const char *const moments[] = {
		[PAGES_AT_END] = "end", [PAGES_AT_PEAK] = "peak", [PAGES_AT_TIME] = "time"
	};

	field_set_text(out, moments[((const struct pages *)row)->at]);
}

/* clang-format off */
#define RESULT struct pages
#define PROCESS struct pages_process
#define ZOMBIES(name, row, sums) \
static const struct field name[] = { \
	{ FIELD_COUNT("blocks", row, sums.zombies), .help = "live blocks that are untouched" }, \
	{ FIELD_BYTES("bytes", row, sums.zombie_bytes), .help = "their bytes" }, \
	{ FIELD_COUNT("pages", row, sums.fates[PAGE_ZOMBIE]), \
	  .help = "pages with such blocks only" }, \
	{ FIELD_COUNT("ranges", row, sums.fate_ranges[PAGE_ZOMBIE]), \
	  .help = "ranges with such blocks only" }, \
	FIELD_LAST \
}
ZOMBIES(zombie_fields, RESULT, total);
ZOMBIES(process_zombie_fields, PROCESS, sums);
static const struct field total_fields[] = {
	{ FIELD_GROUP(RESULT, total, page_sums_fields) },
	{ .key = "zombies", .kind = FIELD_KIND_OBJECT, .fields = zombie_fields,
	  .skip = unknown_total, .help = "what nobody touched around the moment; null: unknown" },
	FIELD_LAST
};
static const struct field process_fields[] = {
	{ FIELD_ID("id", PROCESS, id), .help = "the number of the process" },
	{ FIELD_ID("pid", PROCESS, pid), .help = "its pid" },
	{ FIELD_WORKED_OUT("pid_text", TEXT, get_pid), .title = "pid", .column_only = true },
	{ FIELD_TEXT("name", PROCESS, name), FIELD_NAME, .title = "process",
	  .help = "its role, or its program" },
	{ FIELD_TIME("sample_ns", PROCESS, sample_time),
	  .help = "when its memory was last sampled up to the moment; 0: never" },
	{ FIELD_GROUP(PROCESS, sums, page_sums_fields) },
	{ .key = "zombies", .kind = FIELD_KIND_OBJECT, .fields = process_zombie_fields,
	  .skip = unknown_process,
	  .help = "what nobody touched around the moment; null: unknown" },
	{ .key = "live", .kind = FIELD_KIND_PUT, .put = put_live,
	  .help = "with --map, runs of pages: address, pages (how many in a row), blocks, bytes, "
		  "lines (of each), fates and pinned" },
	{ .key = "ever_map", .kind = FIELD_KIND_PUT, .put = put_ever_map,
	  .help = "with --map, runs of pages that were ever used: address, pages and states" },
	FIELD_LAST
};
#define TOUCHED struct touched_sums
static const struct field touched_fields[] = {
	{ FIELD_COUNT("processes", TOUCHED, processes), .help = "processes with a reading" },
	{ FIELD_TIME("least_ns", TOUCHED, least), .help = "how long the shortest reading took" },
	{ FIELD_TIME("most_ns", TOUCHED, most), .help = "how long the longest reading took" },
	{ FIELD_COUNT("pages", TOUCHED, pages),
	  .help = "pages in memory, of mappings with live blocks" },
	{ FIELD_COUNT("touched", TOUCHED, touched), .help = "of these, those touched, at most" },
	{ FIELD_COUNT("untouched_mappings", TOUCHED, idle_pages),
	  .help = "pages of mappings of which nothing was touched" },
	FIELD_LAST
};
#define PIN struct pages_pin
#define PIN_COLUMNS "idle alone pinned pinned_bytes/3 blocks/2 pages/1 name"
static const struct field pin_fields[] = {
	{ FIELD_TEXT("name", PIN, name), FIELD_BY_NAME, .help = "the type, or the call site" },
	{ FIELD_COUNT("blocks", PIN, blocks), .help = "its live blocks" },
	{ FIELD_BYTES("bytes", PIN, bytes), .help = "their bytes" },
	{ FIELD_COUNT("pages", PIN, pages), .title = "of pages",
	  .help = "pages with such a block" },
	{ FIELD_COUNT("pinned", PIN, pinned), .help = "of these, the pinned ones" },
	{ FIELD_BYTES("pinned_bytes", PIN, pinned_bytes), .title = "with",
	  .help = "its own bytes on pinned pages" },
	{ FIELD_COUNT("alone", PIN, freed), .title = "by it alone",
	  .help = "pinned pages that hold nothing else" },
	{ FIELD_BYTES("idle", PIN, idle), .tint = TINT_WARN,
	  .help = "bytes of those pages that are not live" },
	FIELD_LAST
};
#define POINT struct pages_point
static const struct field point_fields[] = {
	{ FIELD_TIME("at_ns", POINT, time), .help = "the moment" },
	{ FIELD_COUNT("blocks", POINT, blocks), .help = "live blocks" },
	{ FIELD_BYTES("bytes", POINT, bytes), .help = "their bytes" },
	{ FIELD_COUNT("pages", POINT, pages), .help = "pages with a live byte" },
	{ FIELD_COUNT("lines", POINT, lines), .help = "cache lines with a live byte" },
	{ FIELD_COUNT("ranges", POINT, ranges), .help = "ranges with a live byte" },
	FIELD_LAST
};
const struct field pages_fields[] = {
	{ FIELD_WORKED_OUT("at", TEXT, get_at), .help = "the moment: end, peak or time" },
	{ FIELD_TIME("at_ns", RESULT, time), .help = "the moment's time" },
	{ FIELD_TIME("duration_ns", RESULT, duration), .help = "the length of the session" },
	{ FIELD_BYTES("less_than", RESULT, under), .help = "the value of --under" },
	{ FIELD_OBJECT("touched", RESULT, touched, touched_fields), .skip = unknown_touches,
	  .help = "what touches around the moment say; null: not recorded" },
	{ .key = "total", .kind = FIELD_KIND_OBJECT, .fields = total_fields, .spread = true,
	  .help = "the sums of all processes" },
	{ FIELD_ROWS("processes", RESULT, processes, count, process_fields), .spread = true,
	  .help = "a process" },
	{ FIELD_ROWS("processes_shown", RESULT, processes, count, process_fields), .limited = true,
	  .column_only = true,
	  .shows = "name pid_text/3 pages live in_use pinned ranges/2 huge/1 committed/4" },
	{ FIELD_ROWS("types", RESULT, by_type.rows, by_type.count, pin_fields), .limited = true,
	  .title = "type", .shows = PIN_COLUMNS, .help = "a type that pins pages" },
	{ FIELD_ROWS("sites", RESULT, by_site.rows, by_site.count, pin_fields), .limited = true,
	  .title = "site", .shows = PIN_COLUMNS, .help = "a call site that pins pages" },
	{ FIELD_ROWS("points", RESULT, points, point_count, point_fields),
	  .help = "a moment; all are evenly spaced, and the last is as at the end" },
	FIELD_LAST
};
