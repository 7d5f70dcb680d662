/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store.c: what is put into a session is found in its views, as the tables of columns and
 * references say; events are found by process and time.
 */
#include <sys/stat.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "../../src/store/row_columns.h"
#include "store_fixture.h"
#include "store_session.h"

/* Every column of every table and view has its text, and every text its column. */
static void test_documentation(struct store *store)
{
	expect(store, "every column is documented",
	       "SELECT count(*) || ' ' || COALESCE(group_concat(m.name || '.' || c.name), '') FROM "
	       "sqlite_master m, pragma_table_info(m.name) c "
	       "WHERE m.type IN ('table', 'view') AND NOT EXISTS (SELECT 1 FROM documentation d "
	       "WHERE d.object = m.name AND d.name = c.name "
	       "AND d.position = c.cid + 1 AND length(d.text) > 3)",
	       "0 ");
	expect(store, "no text without a column",
	       "SELECT count(*) || ' ' || COALESCE(group_concat(object || '.' || name), '') FROM "
	       "documentation d WHERE d.name <> '' AND NOT EXISTS "
	       "(SELECT 1 FROM pragma_table_info(d.object) c WHERE c.name = d.name)",
	       "0 ");
	expect(store, "every object is documented",
	       "SELECT count(*) || ' ' || COALESCE(group_concat(m.name), '') FROM sqlite_master m "
	       "WHERE m.type IN ('table', 'view') AND "
	       "NOT EXISTS (SELECT 1 FROM documentation d WHERE d.object = m.name AND d.name = '' "
	       "AND length(d.text) > 10)",
	       "0 ");
}

/* references.def has every column that the schema calls an id of something, and nothing else. */
static void test_references(struct store *store)
{
	static const char rows[] =
		"WITH r(object, name, target) AS (VALUES ('', '', '')"
#define REFERENCE(table, column, target) ", ('" #table "', '" #column "', '" #target "')"
#include "../../src/store/references.def"
		") ";
	AUTO_FREE char *lacking = mem_format(
		"%sSELECT count(*) || ' ' || COALESCE(group_concat(object || '.' || name), '') "
		"FROM (SELECT object, name, substr(text, 1, instr(text, '.id') - 1) target FROM "
		"documentation WHERE kind = 'table' AND text GLOB '[a-z]*.id*' AND "
		"name <> 'first' AND instr(substr(text, 1, instr(text, '.id')), ' ') = 0 "
		"EXCEPT SELECT object, name, target FROM r)",
		rows);
	AUTO_FREE char *wrong = mem_format(
		"%sSELECT count(*) || ' ' || COALESCE(group_concat(object || '.' || name), '') "
		"FROM r WHERE object <> '' AND NOT (EXISTS (SELECT 1 FROM "
		"pragma_table_info(r.object) c WHERE c.name = r.name) AND EXISTS (SELECT 1 FROM "
		"pragma_table_info(r.target) c WHERE c.name = 'id' AND c.pk = 1))",
		rows);

	expect(store, "every column that refers to a row is checked when it is read", lacking,
	       "0 ");
	expect(store, "nothing else is", wrong, "0 ");
}

/* store_rows.def has every column of its tables, but for ids that SQLite counts. */
static void test_columns(struct store *store)
{
	for (enum store_row which = 0; which < STORE_ROWS; which++) {
		struct row_column columns[ROW_COLUMNS];
		size_t count = row_columns(which, columns);
		char name[64], sql[256], want[16];

		snprintf(name, sizeof(name), "columns of %s", row_table(which));
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM pragma_table_info('%s') WHERE name <> 'id' OR "
			 "'%s' NOT IN ('mark', 'sample_rate', 'unrecorded')",
			 row_table(which), row_table(which));
		snprintf(want, sizeof(want), "%zu", count);
		expect(store, name, sql, want);
		for (size_t i = 0; i < count; i++) {
			snprintf(name, sizeof(name), "column %s.%s", row_table(which),
				 columns[i].name);
			snprintf(sql, sizeof(sql),
				 "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
				 row_table(which), columns[i].name);
			expect(store, name, sql, "1");
		}
	}
}

/*
 * Rows of view stat, in process 9: which table each belongs in, by its type, and that the view has
 * them as they were put.
 */
enum { SHORT_TYPE = 1, LONG_TYPE = 2 };

/* clang-format off */
#define ROW(which, allocs_, frees_, bytes_, max, min, ...)                                 \
	{ .allocs = allocs_, .frees = frees_, .bytes = bytes_, .max_size = max, .min_size = min, \
	  .type = which##_TYPE, __VA_ARGS__ }
static const struct store_stat two_tables[] = {
	ROW(SHORT, 3, 3, 30, 10, 10, .live = 0),
	ROW(SHORT, 3, 1, 30, 10, 10, .live = 2, .live_bytes = 20, .api = 15, .reading = 3),
	ROW(SHORT, 3, 2, 21, 10, 1, .live = 1, .live_bytes = 1, .size_step = 9, .api = 4,
	    .reading = 11),
	ROW(SHORT, 4, 1, 40, 10, 10, .abandoned = 3, .abandoned_bytes = 30),
	ROW(SHORT, 4, 2, 19, 9, 0, .abandoned = 2, .abandoned_bytes = 1),
	ROW(SHORT, 2, 2, INT64_MAX, INT64_MAX, 0, .live = 0),
	ROW(LONG, 2, 2, 0, 0, 0, .tag = 1),
	ROW(LONG, 2, 2, 0, 0, 0, .reallocs = 1),
	ROW(LONG, 2, 2, 0, 0, 0, .reused = 1),
	ROW(LONG, 2, 2, 0, 0, 0, .released = 1),
	ROW(LONG, 1, 2, 0, 5, 0, .inherited = 2, .inherited_bytes = 10, .inherited_frees = 1),
	ROW(LONG, 2, 1, 0, 0, 0, .live = 0), /* does not add up */
	ROW(LONG, 2, 2, 0, 0, 0, .live_bytes = 1),
	ROW(LONG, 2, 0, 0, 0, 0, .live = 1, .abandoned = 1),
	ROW(LONG, 2, 2, (uint64_t)INT64_MAX + 1, 0, 0, .live = 0),
};
#undef ROW
/* clang-format on */
enum { TWO_TABLES = sizeof(two_tables) / sizeof(*two_tables), OTHER_PROCESS = 9 };

static void put_two_tables(struct store *store)
{
	for (uint32_t i = 0; i < TWO_TABLES; i++) {
		struct store_stat row = two_tables[i];

		row.process = OTHER_PROCESS;
		row.stack = 100 + i;
		row.vtable = i % 2;
		must(store_put_stat(store, &row));
	}
}

static void too_late(const char *name, struct shiny_err *err)
{
	check(name, err && strstr(err->message, "after statistics"), "it is taken");
	shiny_err_free(err);
}

static void test_two_tables(void)
{
	struct store *store;
	char sql[512];

	must(store_create(path, true, false, &store));
	put_two_tables(store);
	too_late("a stack after statistics", store_put_stack(store, 1, (uint32_t[]){ 1 }, 1));
	too_late("lines after statistics",
		store_put_lines(store, 1, &(struct store_frame_line){ .function = "late" }, 1));
	too_late("a wrapper after statistics", store_put_wrapper(store, 1));
	must(store_finish(store, NULL));
	must(store_open(path, &store));
	expect(store, "rows are in the table that has their columns",
	       "SELECT (SELECT COUNT(*) || ' ' || MIN(type) || ' ' || MAX(type) FROM "
	       "stat_short) || ', ' || "
	       "(SELECT COUNT(*) || ' ' || MIN(type) || ' ' || MAX(type) FROM stat_long)",
	       "6 1 1, 9 2 2");
	for (uint32_t i = 0; i < TWO_TABLES; i++) {
		struct row_column columns[ROW_COLUMNS];
		struct store_stat row = two_tables[i];
		size_t count = row_columns(STORE_ROW_STAT, columns), wrong = 0;

		row.process = OTHER_PROCESS;
		row.stack = 100 + i;
		row.vtable = i % 2;
		for (size_t c = 0; c < count; c++) {
			snprintf(sql, sizeof(sql),
				 "SELECT %s = %" PRId64 " FROM stat WHERE stack = %u",
				 columns[c].name, row_number(&columns[c], &row), row.stack);
			wrong += strcmp(one_text(store, sql), "1") != 0;
		}
		check("a row of stat is as it was put", wrong == 0, "another number");
	}
	store_close(store);
	unlink(path);
}

/* The example that each view's documentation ends with is a statement that works. */
static void test_examples(struct store *store)
{
	struct query *query;
	bool row = true;
	int ran = 0;

	must(store_query(store, "SELECT text FROM documentation WHERE kind = 'view' AND name = ''",
			 &query));
	for (must(query_step(query, &row)); row; must(query_step(query, &row))) {
		const char *example = strstr(query_text(query, 0), "Example: ");
		struct query *tried;
		bool found = true;

		if (!example) {
			check("every view has an example", false, query_text(query, 0));
			continue;
		}
		must(store_query(store, example + 9, &tried));
		while (found)
			must(query_step(tried, &found));
		query_end(tried);
		ran++;
	}
	query_end(query);
	check("the examples of the views run", ran > 15, "too few views");
}

static void test_finished(void)
{
	struct store *store;
	struct shiny_err *err;
	const uint32_t events = 600000;

	must(store_create(path, false, true, &store));
	put_recorded(store);
	put_sums(store);
	put_events(store, events);
	must(store_finish(store, NULL));
	check("one file remains", files_in_directory() == 1, "there are companions");
	chmod(path, 0400);
	must(store_open(path, &store));
	check("a finished session is complete", store_complete(store), "it says not");
	expect(store, "the last value of a key counts",
	       "SELECT value FROM v_session WHERE key = 'size'", "8");
	expect(store, "processes",
	       "SELECT group_concat(name || role || pid || ':' || allocs || ':' || lost || ':' || "
	       "threads || ':' || live_bytes) FROM v_processes",
	       "prog101:281:3:1:4294968975,progrenderer102:280:0:1:1680");
	expect(store, "file names of modules", "SELECT group_concat(name) FROM v_modules",
	       "prog,libc.so.6,stripped.so");
	expect(store, "types",
	       "SELECT group_concat(COALESCE(type, '-') || ' ' || source || ' ' || "
	       "COALESCE(certainty, '-') || ' ' || allocs || ' ' || stacks, ', ')"
	       " FROM v_types",
	       "- none - 61 2, Shape symbol high 240 3, int site high 120 1, "
	       "stripped.so!vtable+0x20 label label 140 2");
	expect(store, "how a type is known",
	       "SELECT container || ' ' || form || ' ' || rule || ' ' || confidence || ' ' || "
	       "class_bytes FROM v_types "
	       "WHERE type = 'int'",
	       "std::vector<int, std::allocator<int>> buffer allocator exact 4");
	expect(store, "a label is not a type",
	       "SELECT typed_allocs || ' ' || vptr_allocs FROM v_processes WHERE process = 2",
	       "180 190");
	expect(store, "lifetimes of a type",
	       "SELECT group_concat(COALESCE(type, '-') || bin || ':' || count, ' ') FROM "
	       "v_lifetimes WHERE bin = 12",
	       "Shape12:3");
	expect(store, "types of a process",
	       "SELECT allocs FROM v_process_types WHERE process = 2 AND type = 'Shape'", "120");
	expect(store, "a site is beyond library and inlined code",
	       "SELECT function || source || line FROM v_sites JOIN stack k USING (site) WHERE "
	       "k.id = 1",
	       "push(std::vector<int>&)a.cc12");
	expect(store, "a nameless function is a site, named after its caller",
	       "SELECT label FROM v_sites JOIN stack k USING (site) WHERE k.id = 2",
	       "stripped.so+0x1234 \xe2\x86\x90 main");
	expect(store, "if all names above are boring, the next place above is",
	       "SELECT s.frame || ' ' || (s.above IS NULL) FROM stack k JOIN site s ON s.id = "
	       "k.site WHERE k.id = 12",
	       "7 1");
	expect(store, "stacks of one line share a site",
	       "SELECT function || line || ' ' || stacks || ' ' || allocs || ' ' || "
	       "peak_bytes_at_most "
	       "FROM v_sites JOIN stack k USING (site) WHERE k.id = 4",
	       "main40 2 140 120");
	expect(store, "another line is another site",
	       "SELECT stacks FROM v_sites JOIN stack k USING (site) WHERE k.id = 5", "1");
	expect(store, "all boring: the innermost",
	       "SELECT label FROM v_sites JOIN stack k USING (site) WHERE k.id = 6", "strdup");
	expect(store, "a longer name is another function",
	       "SELECT label FROM v_sites JOIN stack k USING (site) WHERE k.id = 7",
	       "mallocator(int)");
	expect(store, "no stack", "SELECT allocs FROM v_sites WHERE site IS NULL", "1");
	expect(store, "an id that is missing is NULL",
	       "SELECT count(*) || ' ' || count(CASE WHEN 0 IN (site, frame0, frame1, frame5, "
	       "tail) THEN 1 END) FROM stack",
	       "34 0");
	expect(store, "no stack waits for the end any more", "SELECT count(*) FROM stack_waiting",
	       "0");
	expect(store, "sites hold every allocation", "SELECT SUM(allocs) FROM v_sites", "561");
	expect(store, "so do their types", "SELECT SUM(allocs) FROM v_site_types", "561");
	expect(store, "rendered stacks", "SELECT text FROM v_stacks WHERE stack = 1",
	       "void std::vector<int, A<int> >::grow<int>(int&&) < push(std::vector<int>&) < main");
	expect(store, "a deep stack, in order",
	       "SELECT count(*) || ' ' || group_concat(frame) FROM (SELECT frame FROM "
	       "v_stack_frames WHERE stack = 8 "
	       "AND depth = 0 ORDER BY level)",
	       "40 "
	       "1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4,5,6,1,2,3,4");
	expect(store, "tails are shared",
	       "SELECT (SELECT tail FROM stack WHERE id = 8) = (SELECT tail FROM stack WHERE id = "
	       "9)",
	       "1");
	expect(store, "the site of boring frames lies outwards",
	       "SELECT (SELECT site FROM stack WHERE id = 10) = (SELECT site FROM stack WHERE id = "
	       "5)",
	       "1");
	expect(store, "wrappers by name, and one that was found",
	       "SELECT COUNT(*) FROM stack WHERE id BETWEEN 40 AND 45 AND "
	       "site = (SELECT site FROM stack WHERE id = 5)",
	       "6");
	expect(store, "an empty stack has no frames and no site",
	       "SELECT (SELECT count(*) FROM v_stack_frames WHERE stack = 11) || "
	       "(SELECT site IS NULL FROM stack WHERE id = 11)",
	       "01");
	expect(store, "a site's statistics are those of its stacks",
	       "SELECT group_concat(x || ' ' || y) FROM (SELECT (SELECT SUM(allocs) || ' ' || "
	       "SUM(frees) || ' ' || SUM(live_bytes) || ' ' || MIN(min_size) || ' ' || "
	       "MAX(max_size) FROM stat s WHERE s.process = 1 AND s.stack IN (3, 4)) AS x, "
	       "(SELECT SUM(allocs) || ' ' || SUM(frees) || ' ' || SUM(live_bytes) || ' ' || "
	       "MIN(min_size) || ' ' || MAX(max_size) FROM site_stat s "
	       "WHERE s.process = 1 AND s.site = (SELECT site FROM stack WHERE id = 4)) AS y)",
	       "70 28 420 3 20 70 28 420 3 20");
	expect(store, "all blocks are in them",
	       "SELECT (SELECT SUM(allocs) FROM stat) = (SELECT SUM(allocs) FROM site_stat)", "1");
	expect(store, "wrappers of allocation are not sites",
	       "SELECT count(*) || ' ' || COALESCE(group_concat((SELECT n.name FROM frame_line l "
	       "JOIN "
	       "function n ON n.id = l.function WHERE l.frame = k.frame0)), '') FROM stack k WHERE "
	       "id BETWEEN 20 AND 30 AND site <> "
	       "(SELECT site FROM stack WHERE id = 5)",
	       "0 ");
	expect(store, "names that look like them are",
	       "SELECT count(DISTINCT site) FROM stack WHERE id BETWEEN 31 AND 35 AND site <> "
	       "(SELECT site FROM stack WHERE id = 5)",
	       "5");
	expect(store, "lifetimes are added up a site",
	       "SELECT group_concat(count || ':' || bytes || ':' || censored, ' ') FROM (SELECT * "
	       "FROM "
	       "v_site_lifetimes WHERE bin = 13 ORDER BY site IS NULL, censored)",
	       "7:20:0 100:1:1 200:1:0");
	expect(store, "losses", "SELECT group_concat(name || count) FROM v_losses", "DROPPED3");
	expect(store, "pages", "SELECT used FROM v_pages", "0.25");
	expect(store, "strings are stored once",
	       "SELECT count(*) FROM function WHERE name = 'main'", "1");
	test_columns(store);
	test_documentation(store);
	test_references(store);
	test_examples(store);

	expect_events(store, "all events", 0, 0, UINT64_MAX, 0, events, 0, events - 1);
	expect_events(store, "events of a process", 2, 0, UINT64_MAX, 0, events / 2, events / 2,
		      events - 1);
	expect_events(store, "events of a time", 0, 262000, 263000, 0, 1001, 262000, 263000);
	expect_events(store, "of both", 1, 299990, 300010, 0, 10, 299990, 299999);
	expect_events(store, "no events", 3, 0, UINT64_MAX, 0, 0, 0, 0);
	expect_events(store, "stop early", 0, 100, UINT64_MAX, 5, 5, 100, 104);
	err = store_query(store, "SELECT x FROM nowhere", &(struct query *){ NULL });
	check("a wrong query is an error", err && strstr(err->message, "nowhere"),
	      err ? err->message : "it is not");
	shiny_err_free(err);
	store_close(store);
	check("reading leaves no trace", files_in_directory() == 1, "there are companions");
	unlink(path);

	must(store_create(path, false, false, &store));
	put_events(store, 10);
	must(store_finish(store, NULL));
	must(store_open(path, &store));
	err = store_each_event(store, 0, 0, UINT64_MAX, tally_event, &(struct tally){ 0 });
	check("without events, says so",
	      err && strstr(err->message, "holds no events") && err->advice, "it does not");
	shiny_err_free(err);
	store_close(store);
	unlink(path);
}

int main(void)
{
	if (!fixture_begin())
		return 1;
	test_finished();
	test_two_tables();
	return fixture_end();
}
