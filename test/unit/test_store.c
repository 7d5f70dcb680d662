/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store.c: what is put into a session is found in its views; events are found by process and
 * time; a recording that was killed can be read up to its last commit, and reading leaves no trace
 * in the directory.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "../../src/store/row_columns.h"
#include "../../src/store/store.h"
#include "check.h"

static char directory[] = "/tmp/test_store.XXXXXX", path[sizeof(directory) + 16];

static const char *one_text(struct store *store, const char *sql)
{
	static char answer[1000];
	struct query *query;
	bool row = false;

	must(store_query(store, sql, &query));
	must(query_step(query, &row));
	snprintf(answer, sizeof(answer), "%s", row ? query_text(query, 0) : "(no row)");
	query_end(query);
	return answer;
}

static void expect(struct store *store, const char *name, const char *sql, const char *want)
{
	const char *got = one_text(store, sql);
	char why[1100];

	snprintf(why, sizeof(why), "wanted %s, got %s", want, got);
	check(name, strcmp(got, want) == 0, why);
}

static void put_recorded(struct store *store)
{
	must(store_put_text(store, "host", "here"));
	must(store_put_number(store, "size", 7));
	must(store_put_number(store, "size", 8));
	for (uint32_t id = 1; id <= 2; id++) {
		struct store_process p = { .id = id,
					   .parent = id - 1,
					   .pid = 100 + id,
					   .name = "prog",
					   .role = id == 2 ? "renderer" : "",
					   .executable = "/bin/prog",
					   .command = "prog -x",
					   .start = id,
					   .end = 1000,
					   .ending = "exited",
					   .attach = "symbols",
					   .events = 5 };
		must(store_put_process(store, &p));
		must(store_put_thread(
			store, &(struct store_thread){
				       .id = id, .process = id, .tid = 100 + id, .name = "main" }));
	}
	must(store_put_module(store, &(struct store_module){ .id = 1,
							     .path = "/bin/prog",
							     .build_id = "abcd",
							     .symbols = "dwarf" }));
	must(store_put_module(store, &(struct store_module){ .id = 2,
							     .path = "/usr/lib/libc.so.6",
							     .symbols = "dynsym" }));
	must(store_put_module(store, &(struct store_module){ .id = 3,
							     .path = "/lib/stripped.so",
							     .symbols = "none",
							     .note = "no names" }));
	must(store_put_mapping(
		store,
		&(struct store_mapping){
			.process = 1, .module = 1, .start = 4096, .end = 8192, .loaded = 1 }));

	/* a vector's growth inlined into push; strdup in libc; a function without a name; two lines
	 * of one function */
	struct store_frame_line grow[] = {
		{ .function = "void std::vector<int, A<int> >::grow<int>(int&&)",
		  .file = "vector",
		  .line = 9,
		  .inlined = true },
		{ .function = "push(std::vector<int>&)", .file = "a.cc", .line = 12 },
	};
	must(store_put_frame(store, 1, 1, 0x100, NULL, 0));
	must(store_put_lines(store, 1, grow, 2)); /* named later */
	must(store_put_frame(store, 2, 2, 0x200, &(struct store_frame_line){ .function = "strdup" },
			     1));
	must(store_put_frame(store, 3, 3, 0x1234, NULL, 0));
	must(store_put_frame(
		store, 4, 1, 0x400,
		&(struct store_frame_line){ .function = "main", .file = "a.cc", .line = 40 }, 1));
	must(store_put_frame(
		store, 5, 1, 0x500,
		&(struct store_frame_line){ .function = "main", .file = "a.cc", .line = 50 }, 1));
	must(store_put_frame(store, 6, 1, 0x600,
			     &(struct store_frame_line){
				     .function = "mallocator(int)", .file = "a.cc", .line = 60 },
			     1));
	must(store_put_stack(store, 1, (uint32_t[]){ 1, 4 }, 2));
	must(store_put_stack(store, 2, (uint32_t[]){ 2, 3, 4 }, 3));
	must(store_put_stack(store, 3, (uint32_t[]){ 2, 4 }, 2));
	must(store_put_stack(store, 4, (uint32_t[]){ 4 }, 1));
	must(store_put_stack(store, 5, (uint32_t[]){ 5 }, 1));
	must(store_put_stack(store, 6, (uint32_t[]){ 2 }, 1));
	must(store_put_stack(store, 7, (uint32_t[]){ 6, 5 }, 2));
	/* deep ones: 8 has 40 frames, 9 another innermost one and then the same, 10 only boring
	 * ones but for the 14th */
	uint32_t deep[40];
	for (uint32_t i = 0; i < 40; i++)
		deep[i] = 1 + i * 7 % 6;
	must(store_put_stack(store, 8, deep, 40));
	deep[0] = 6;
	must(store_put_stack(store, 9, deep, 40));
	for (uint32_t i = 0; i < 13; i++)
		deep[i] = 2;
	deep[13] = 5;
	must(store_put_stack(store, 10, deep, 40));
	must(store_put_stack(store, 11, NULL, 0));
	/* wrappers around malloc, from many programs, and what only looks like one; all called by
	 * main in line 50 */
	static const char *const wrappers[] = {
		"xmalloc",
		"xrealloc",
		"sh_xmalloc",
		"g_malloc0_n",
		"CRYPTO_zalloc",
		"uv__realloc",
		"PyMem_RawMalloc",
		"llvm::User::operator new(unsigned long, unsigned int)",
		"llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long)",
		"v8::internal::AllocAtLeastWithRetry(unsigned long)",
		"my::Thing::operator new[](unsigned long)"
	};
	static const char *const sites[] = { "my::operator newish(int)", "malloc_stats",
					     "xml_parse", "call(my::operator new_tag)",
					     "safe_mallocator" };
	for (uint32_t i = 0; i < 16; i++) {
		const char *name = i < 11 ? wrappers[i] : sites[i - 11];

		must(store_put_frame(store, 20 + i, 1, 0x2000 + i,
				     &(struct store_frame_line){
					     .function = name, .file = "b.cc", .line = i },
				     1));
		must(store_put_stack(store, 20 + i, (uint32_t[]){ 20 + i, 5 }, 2));
	}
	/* likewise: by name, and one that was found */
	static const char *const more[] = { "luaC_newobj", "os::malloc(unsigned long, MEMFLAGS)",
					    "alloc::raw_vec::finish_grow", "ngx_palloc_large",
					    "__rust_alloc", "my_own" };
	for (uint32_t i = 0; i < 6; i++) {
		must(store_put_frame(store, 40 + i, 1, 0x3000 + i,
				     &(struct store_frame_line){
					     .function = more[i], .file = "b.cc", .line = i },
				     1));
		must(store_put_stack(store, 40 + i, (uint32_t[]){ 40 + i, 5 }, 2));
	}
	must(store_put_wrapper(store, 45));
	must(store_put_vtable(store, &(struct store_vtable){ .id = 1,
							     .module = 1,
							     .vaddr = 16,
							     .source = "symbol",
							     .type = "Shape",
							     .class_bytes = 24 }));
	must(store_put_vtable(store, &(struct store_vtable){ .id = 2,
							     .module = 3,
							     .vaddr = 32,
							     .source = "label",
							     .type = "stripped.so!vtable+0x20" }));
	must(store_put_type(store, &(struct store_type){ .id = 1,
							 .name = "Shape",
							 .form = "object",
							 .rule = "vptr",
							 .confidence = "exact",
							 .source = "symbol",
							 .bytes = 24 }));
	must(store_put_type(store, &(struct store_type){ .id = 2,
							 .name = "stripped.so!vtable+0x20",
							 .form = "object",
							 .rule = "vptr",
							 .confidence = "label",
							 .source = "label" }));
	must(store_put_type(store, &(struct store_type){
					   .id = 3,
					   .name = "int",
					   .container = "std::vector<int, std::allocator<int>>",
					   .form = "buffer",
					   .rule = "allocator",
					   .confidence = "exact",
					   .source = "site",
					   .bytes = 4 }));
}

static void put_sums(struct store *store)
{
	for (uint32_t stack = 1; stack <= 7; stack++)
		for (uint32_t process = 1; process <= 2; process++)
			must(store_put_stat(store, &(struct store_stat){
							   .process = process,
							   .stack = stack,
							   .vtable = stack % 3,
							   .reading = stack == 4 ? 3 : 0,
							   .size_step = 4,
							   .api = 4,
							   .type = stack == 6 ? 3 : stack % 3,
							   .allocs = 10 * stack,
							   .frees = 4 * stack,
							   .bytes = 100 * stack,
							   .live = 6 * stack,
							   .live_bytes = 60 * stack,
							   .max_size = 20,
							   .min_size = stack }));
	must(store_put_stat(store, &(struct store_stat){ .process = 1,
							 .allocs = 1,
							 .bytes = UINT32_MAX,
							 .live = 1,
							 .live_bytes = UINT32_MAX }));
	must(store_put_lifetime(
		store,
		&(struct store_lifetime){
			.process = 1, .stack = 1, .type = 1, .bin = 12, .count = 3, .bytes = 30 }));
	/* stacks 3 and 4 are of one site; bin 13 is theirs together, alive and dead apart */
	for (uint32_t stack = 3; stack <= 4; stack++)
		must(store_put_lifetime(store, &(struct store_lifetime){ .process = 1,
									 .stack = stack,
									 .bin = 13,
									 .count = stack,
									 .bytes = 10 }));
	must(store_put_lifetime(store, &(struct store_lifetime){ .process = 1,
								 .stack = 3,
								 .bin = 13,
								 .censored = true,
								 .count = 100,
								 .bytes = 1 }));
	must(store_put_lifetime(
		store, &(struct store_lifetime){
			       .process = 1, .stack = 0, .bin = 13, .count = 200, .bytes = 1 }));
	must(store_put_peak(store, &(struct store_peak){ .process = 1,
							 .stack = 4,
							 .peak_blocks = 2,
							 .peak_bytes = 50,
							 .peak_time = 9 }));
	must(store_put_peak(store, &(struct store_peak){ .process = 1,
							 .stack = 3,
							 .peak_blocks = 2,
							 .peak_bytes = 70,
							 .peak_time = 9 }));
	must(store_put_bucket(
		store,
		&(struct store_bucket){
			.process = 1, .start = 0, .length = 100, .allocs = 5, .live_bytes = 77 }));
	must(store_put_page(store,
			    &(struct store_page){
				    .process = 1, .page = 16, .blocks = 3, .live_bytes = 1024 }));
	must(store_put_counter(store, 1, "DROPPED", "loss", 3, "why"));
	must(store_put_counter(store, 1, "WAITED", "note", 4, "waits"));
	must(store_put_note(store, 0, "hello"));
}

static void put_session(struct store *store)
{
	put_recorded(store);
	put_sums(store);
}

/* Time i, process 1 for the first half and 2 for the other. */
static void put_events(struct store *store, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct event e = { .time = i,
				   .kind = EVENT_ALLOC,
				   .api = 1,
				   .address = 4096 + i * 16,
				   .size = i % 50,
				   .stack = i % 7,
				   .process = i < count / 2 ? 1 : 2,
				   .thread = 1 };

		must(store_put_events(store, &e, 1));
	}
}

struct tally {
	uint64_t count, first, last, stop_at;
};

static bool tally_event(void *context, const struct event *event)
{
	struct tally *t = context;

	if (!t->count++)
		t->first = event->time;
	t->last = event->time;
	return t->count != t->stop_at;
}

static void expect_events(struct store *store, const char *name, uint32_t process, uint64_t from,
			  uint64_t to, uint64_t stop_at, uint64_t count, uint64_t first,
			  uint64_t last)
{
	struct tally t = { .stop_at = stop_at };
	char why[200];

	must(store_each_event(store, process, from, to, tally_event, &t));
	snprintf(why, sizeof(why), "%" PRIu64 " events from %" PRIu64 " to %" PRIu64, t.count,
		 t.first, t.last);
	check(name, t.count == count && t.first == first && t.last == last, why);
}

static int files_in_directory(void)
{
	DIR *dir = opendir(directory);
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

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
			 "'%s' NOT IN ('mark', 'unrecorded')",
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

static const struct store_stat two_tables[] = {
	{ .allocs = 3, .frees = 3, .bytes = 30, .max_size = 10, .min_size = 10,
	  .type = SHORT_TYPE },
	{ .allocs = 3, .frees = 1, .bytes = 30, .live = 2, .live_bytes = 20, .max_size = 10,
	  .min_size = 10, .api = 15, .reading = 3, .type = SHORT_TYPE },
	{ .allocs = 3, .frees = 2, .bytes = 21, .live = 1, .live_bytes = 1, .max_size = 10,
	  .min_size = 1, .size_step = 9, .api = 4, .reading = 11, .type = SHORT_TYPE },
	{ .allocs = 4, .frees = 1, .bytes = 40, .abandoned = 3, .abandoned_bytes = 30,
	  .max_size = 10, .min_size = 10, .type = SHORT_TYPE },
	{ .allocs = 4, .frees = 2, .bytes = 19, .abandoned = 2, .abandoned_bytes = 1,
	  .max_size = 9, .type = SHORT_TYPE },
	{ .allocs = 2, .frees = 2, .bytes = INT64_MAX, .max_size = INT64_MAX, .type = SHORT_TYPE },
	{ .allocs = 2, .frees = 2, .tag = 1, .type = LONG_TYPE },
	{ .allocs = 2, .frees = 2, .reallocs = 1, .type = LONG_TYPE },
	{ .allocs = 2, .frees = 2, .reused = 1, .type = LONG_TYPE },
	{ .allocs = 2, .frees = 2, .released = 1, .type = LONG_TYPE },
	{ .allocs = 1, .inherited = 2, .inherited_bytes = 10, .inherited_frees = 1, .frees = 2,
	  .max_size = 5, .type = LONG_TYPE },
	{ .allocs = 2, .frees = 1, .type = LONG_TYPE }, /* does not add up */
	{ .allocs = 2, .frees = 2, .live_bytes = 1, .type = LONG_TYPE },
	{ .allocs = 2, .live = 1, .abandoned = 1, .type = LONG_TYPE },
	{ .allocs = 2, .frees = 2, .bytes = (uint64_t)INT64_MAX + 1, .type = LONG_TYPE },
};
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
	put_session(store);
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
	expect(store, "a nameless function is a site",
	       "SELECT label FROM v_sites JOIN stack k USING (site) WHERE k.id = 2",
	       "stripped.so+0x1234");
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
	       "33 0");
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

/* By another name a session has its log as well, or that is not beside it is said. */
static void test_links(const char *when)
{
	char link_path[80], name[100];
	struct store *store = NULL;
	struct shiny_err *err;

	snprintf(link_path, sizeof(link_path), "%s/link", directory);
	if (symlink(strrchr(path, '/') + 1, link_path) != 0)
		exit(1);
	snprintf(name, sizeof(name), "%s, through a symbolic link", when);
	must(store_open(link_path, &store));
	expect_events(store, name, 0, 0, UINT64_MAX, 0, 300000, 0, 299999);
	store_close(store);
	unlink(link_path);
	if (link(path, link_path) != 0)
		exit(1);
	snprintf(name, sizeof(name), "%s, a hard link says what it lacks", when);
	store = NULL;
	err = store_open(link_path, &store);
	check(name, err && strstr(err->message, "hard link"), err ? err->message : "it is read");
	shiny_err_free(err);
	store_close(store);
	unlink(link_path);
}

/* A writer killed in the middle: the file holds what was committed, whether or not its log is still
 * beside it. */
static void test_killed(void)
{
	int ready[2];
	char byte;

	if (pipe(ready) != 0)
		exit(1);
	pid_t child = fork();
	if (child == 0) {
		struct store *store;

		must(store_create(path, false, true, &store));
		put_recorded(store);
		put_events(store, 300000);
		must(store_commit(store));
		must(store_put_text(store, "after", "the commit"));
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	check("the writer got there", read(ready[0], &byte, 1) == 1, "it died");
	close(ready[0]);

	struct store *store;
	must(store_open(path, &store));
	check("a live recording can be read", !store_complete(store), "it says complete");
	expect_events(store, "and has what was committed", 0, 0, UINT64_MAX, 0, 300000, 0, 299999);
	store_close(store);
	test_links("live");
	struct shiny_err *err = store_create(path, true, true, &store);
	check("a live recording is not replaced", err && strstr(err->message, "being recorded"),
	      "it is");
	shiny_err_free(err);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	test_links("killed");
	int files = files_in_directory();
	check("the kill left companions", files > 1, "no log: this test proves nothing");
	chmod(directory, 0500);
	must(store_open(path, &store));
	check("a killed recording is not complete", !store_complete(store), "it says so");
	expect(store, "what was committed is there", "SELECT count(*) FROM process", "2");
	expect(store, "what was not is not", "SELECT count(*) FROM session WHERE key = 'after'",
	       "0");
	expect(store, "rows that are put together are there, and stacks, packed",
	       "SELECT (SELECT count(*) FROM frame) || ' ' || (sum(length(data)) / 28) || ' ' || "
	       "group_concat(first) FROM stack_waiting",
	       "28 33 1,20,40");
	expect(store, "a stack's frames and its tail",
	       "SELECT hex(substr(data, 1, 12)) || ' ' || hex(substr(data, 7 * 28 + 1, 4)) || ' ' "
	       "|| (substr(data, 7 * 28 + 25, 4) <> x'00000000') FROM stack_waiting WHERE first = "
	       "1",
	       "010000000400000000000000 01000000 1");
	expect_events(store, "so are its events", 0, 0, UINT64_MAX, 0, 300000, 0, 299999);
	store_close(store);
	chmod(directory, 0700);
	check("reading it changes nothing", files_in_directory() == files, "files came or went");
	must(store_open(path, &store));
	expect(store, "so it can be read again", "SELECT count(*) FROM process", "2");
	store_close(store);

	/* --force, over the left-behind file and its log */
	must(store_create(path, true, true, &store));
	must(store_finish(store, NULL));
	must(store_open(path, &store));
	expect(store, "--force replaces all of it", "SELECT count(*) FROM process", "0");
	store_close(store);
	check("and its log", files_in_directory() == 1, "companions remain");
	unlink(path);
}

static void refused(const char *name, const char *want)
{
	struct store *store = NULL;
	struct shiny_err *err = store_open(path, &store);
	char why[600];

	snprintf(why, sizeof(why), "wanted ...%s..., got %s", want,
		 err ? err->message : "a session");
	check(name, err && strstr(err->message, want) && strstr(err->message, path), why);
	if (err)
		printf("# %s | %s\n", err->message, err->advice ? err->advice : "");
	shiny_err_free(err);
	store_close(store);
}

static void write_file(const char *text, size_t bytes)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0)
		exit(1);
}

/* Makes or changes the file at `path` as another program would. */
static void execute(const char *statement)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, statement, NULL, NULL, NULL) != SQLITE_OK)
		printf("# failed: %s: %s\n", statement, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void test_refusals(void)
{
	struct store *store;
	struct shiny_err *err;
	struct stat st;

	refused("missing", "No such file");
	write_file("", 0);
	refused("empty", "empty");
	write_file("hello, this is a text file that is no session\n", 46);
	refused("text", "not a session file");
	err = store_create(path, false, true, &store);
	check("an existing file is not replaced",
	      err && strstr(err->message, "exists already") && stat(path, &st) == 0 &&
		      st.st_size == 46,
	      "it was");
	shiny_err_free(err);
	chmod(path, 0);
	if (geteuid() != 0)
		refused("unreadable", "Permission denied");
	unlink(path);
	execute("CREATE TABLE t(a)");
	refused("another database", "not a session");
	unlink(path);
	mkdir(path, 0700);
	refused("directory", "directory");
	err = store_create(path, true, true, &store);
	check("a directory is not replaced", err && strstr(err->message, "directory"), "it was");
	shiny_err_free(err);
	rmdir(path);
	if (mkfifo(path, 0600) == 0)
		refused("fifo", "not a regular file");
	unlink(path);

	must(store_create(path, false, true, &store));
	put_session(store);
	put_events(store, 100000);
	must(store_finish(store, NULL));
	if (stat(path, &st) != 0 || truncate(path, st.st_size / 2) != 0)
		exit(1);
	refused("cut in half", "truncated");
	if (truncate(path, 60) != 0)
		exit(1);
	refused("cut in the header", "not a session file");
	unlink(path);
	must(store_create(path, false, true, &store));
	must(store_finish(store, NULL));
	execute("PRAGMA user_version = 99");
	refused("newer", "format 99");
	execute("PRAGMA user_version = 10");
	refused("older", "it has format 10, and this shinyctl reads format");
	unlink(path);
	err = store_create("/nonexistent/x.shiny", false, true, &store);
	check("no directory", err && strstr(err->message, "/nonexistent/x.shiny") && err->advice,
	      "no such error");
	shiny_err_free(err);
}

/* Reads the file again and again, as somebody does who waits for a session, until it is killed. */
static pid_t start_reader(const char *file)
{
	pid_t child = fork();

	while (child == 0) {
		sqlite3 *db = NULL;

		if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
			sqlite3_exec(db,
				     "BEGIN; SELECT COUNT(*) FROM sqlite_master; SELECT COUNT(*) "
				     "FROM session; COMMIT",
				     NULL, NULL, NULL);
		sqlite3_close(db);
		usleep(500);
	}
	return child;
}

/* Readers never make a recording fail, neither when it begins nor when it ends. */
static void test_watched(void)
{
	struct shiny_err *err = NULL;
	pid_t readers[3];

	for (size_t i = 0; i < 3; i++)
		readers[i] = start_reader(path);
	for (int round = 0; round < 60 && !err; round++) {
		struct store *store;

		err = store_create(path, false, false, &store);
		if (!err)
			err = store_finish(store, NULL);
		unlink(path);
	}
	check("readers that come at any moment", !err, err ? err->message : "");
	shiny_err_free(err);
	for (size_t i = 0; i < 3; i++) {
		kill(readers[i], SIGKILL);
		waitpid(readers[i], NULL, 0);
	}
}

/* Whether this process holds an fcntl lock on the file, as the kernel says. */
static bool we_lock(const char *file)
{
	AUTO_FCLOSE FILE *locks = fopen("/proc/locks", "r");
	char line[256];
	struct stat st;
	bool found = false;

	if (!locks || stat(file, &st) != 0)
		exit(1);
	while (fgets(line, sizeof(line), locks)) {
		unsigned long inode;
		int pid;

		found = found ||
			(sscanf(line, "%*s POSIX %*s %*s %d %*x:%*x:%lu", &pid, &inode) == 2 &&
			 pid == getpid() && inode == st.st_ino);
	}
	return found;
}

static bool exists_with(const char *suffix)
{
	char name[sizeof(path) + 8];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return access(name, F_OK) == 0;
}

/* A reader of a live session keeps SQLite's lock on it, whatever else its process opens there. */
static void test_locks_of_readers(void)
{
	struct store *first, *second;
	int made[2], done[2];
	pid_t writer;
	int status = 0;
	char byte = 0;

	if (pipe(made) != 0 || pipe(done) != 0)
		exit(1);
	writer = fork();
	if (writer == 0) {
		struct store *store;

		close(done[1]);
		must(store_create(path, false, false, &store));
		must(store_put_text(store, "host", "here"));
		must(store_commit(store));
		if (write(made[1], &byte, 1) != 1 || read(done[0], &byte, 1) < 0)
			_exit(1);
		must(store_finish(store, NULL));
		_exit(0);
	}
	close(done[0]);
	if (writer < 0 || read(made[0], &byte, 1) != 1)
		exit(1);
	must(store_open(path, &first));
	check("a reader's lock", we_lock(path), "it is not there");
	check("is written", store_is_written(path), "it says no");
	check("a reader's lock, asked whether it is written", we_lock(path), "it is lost");
	must(store_open(path, &second));
	store_close(second);
	check("a reader's lock, opened twice", we_lock(path), "it is lost");
	must(store_open_again(first, &second));
	store_close(first);
	check("a reader's lock, the other one closed", we_lock(path), "it is lost");
	close(done[1]);
	check("finished beside a reader", waitpid(writer, &status, 0) == writer && !status,
	      "the writer failed");
	expect(second, "the reader after the end", "SELECT value FROM session WHERE key = 'host'",
	       "here");
	store_close(second);
	check("no reader", !we_lock(path), "there is a lock");
	check("no log stays", !exists_with("-wal") && !exists_with("-shm"), "it is there");
	must(store_open(path, &first));
	check("finished beside a reader, complete", store_complete(first), "it is not");
	store_close(first);
	close(made[0]);
	close(made[1]);
	unlink(path);
}

enum { SOMEBODY = 65534, ROUNDS = 20 };

/*
 * Root reads the file as it begins to have a log: SQLite then makes the log's companion, and gives
 * it to the file's owner afterwards. Here it takes its time between the two. False: the writer was
 * faster.
 */
static bool read_as_root(pid_t writer, const char *companion)
{
	siginfo_t ended = { 0 };
	int fd;

	while (access(path, F_OK) != 0 &&
	       waitid(P_PID, (id_t)writer, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       !ended.si_pid)
		sched_yield();
	fd = open(companion, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return false;
	usleep(100000);
	if (fchown(fd, SOMEBODY, SOMEBODY) != 0)
		exit(1);
	close(fd);
	return true;
}

static void test_root_reads(void)
{
	char companion[sizeof(path) + 8];
	bool met = false;
	int status = 0;

	if (getuid() != 0) {
		printf("skip root reads: only root can give files away\n");
		return;
	}
	snprintf(companion, sizeof(companion), "%s-shm", path);
	if (chown(directory, SOMEBODY, SOMEBODY) != 0)
		exit(1);
	for (int round = 0; round < ROUNDS && !met && !status; round++) {
		pid_t writer = fork();

		if (writer == 0) {
			struct store *store;

			if (setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0)
				_exit(1);
			usleep(10000);
			must(store_create(path, false, false, &store));
			must(store_finish(store, NULL));
			_exit(0);
		}
		met = read_as_root(writer, companion);
		waitpid(writer, &status, 0);
		unlink(path);
	}
	check("a recording that root reads as it begins", status == 0, "it failed");
	if (!met)
		printf("skip root came in time: the log was there each time, so it proved "
		       "nothing\n");
}

enum { LATER_US = 300000 };

/* SQLite's exclusive lock: https://www.sqlite.org/fileformat.html section 1.1, and "File Locking
 * And Concurrency" in its documentation. */
static bool lock_pages(int fd, short kind)
{
	struct flock bytes = { .l_type = kind,
			       .l_whence = SEEK_SET,
			       .l_start = 0x40000000,
			       .l_len = 512 };

	return fcntl(fd, F_SETLK, &bytes) == 0;
}

/* Writes the session `whole` to the descriptor as SQLite does: its first page, the rest a while
 * later, and lets nobody read in between. */
static bool write_slowly(const char *whole, int to)
{
	enum { PAGE = 4096 };
	int from = open(whole, O_RDONLY);
	struct stat st;
	bool ok = from >= 0 && fstat(from, &st) == 0 && st.st_size > PAGE &&
		  lock_pages(to, F_WRLCK) && sendfile(to, from, NULL, PAGE) == PAGE;

	if (!ok)
		return false;
	usleep(LATER_US);
	return sendfile(to, from, NULL, (size_t)st.st_size) == st.st_size - PAGE &&
	       lock_pages(to, F_UNLCK);
}

/* A file that gets its tables, and many rows, while a reader waits for them: what it may hold goes
 * by its size then, not by that at the reader's first look, and half of it is not a cut file. */
static void test_grows(void)
{
	enum { FRAMES = 100000 };
	char whole[sizeof(directory) + 16];
	struct store *store;
	struct shiny_err *err;
	int begun[2], read_it[2], status = 0;
	char byte = 0;
	pid_t writer;

	snprintf(whole, sizeof(whole), "%s/whole", directory);
	must(store_create(whole, false, false, &store));
	for (uint32_t id = 1; id <= FRAMES; id++)
		must(store_put_frame(store, id, 0, id, NULL, 0));
	must(store_finish(store, NULL));
	if (pipe(begun) != 0 || pipe(read_it) != 0)
		exit(1);
	writer = fork();
	if (writer == 0) {
		int to = open(path, O_RDWR | O_CREAT, 0600);

		close(read_it[1]);
		if (flock(to, LOCK_EX) != 0 || write(begun[1], &byte, 1) != 1)
			_exit(1);
		usleep(LATER_US);
		_exit(!write_slowly(whole, to) || read(read_it[0], &byte, 1) != 0);
	}
	close(read_it[0]);
	if (writer < 0 || read(begun[0], &byte, 1) != 1)
		exit(1);
	err = store_open(path, &store);
	check("a session that grows while it is waited for", !err, err ? err->message : "");
	if (!err)
		store_close(store);
	shiny_err_free(err);
	close(read_it[1]);
	check("its writer", waitpid(writer, &status, 0) == writer && !status, "it failed");
	unlink(path);
	unlink(whole);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	/* characters that mean something in a URI */
	snprintf(path, sizeof(path), "%s/a%%b?c#.shiny", directory);
	test_finished();
	test_two_tables();
	test_killed();
	test_refusals();
	test_watched();
	test_locks_of_readers();
	test_root_reads();
	test_grows();
	rmdir(directory);
	return failures != 0;
}
