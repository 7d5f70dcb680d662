/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reports.c: the analyses over a session of which every number is written down here.
 *
 *   process 1 "prog"                    stack 1: main (a.c:10)  ← of prog     stack 3: none
 *   └─ process 2 role "helper"          stack 2: helper() (b.c:20) inlined into main (a.c:11)
 *
 * and of a second session, in which a process forks, and the child execs at once:
 *
 *   process 1 "sh"                       stack 1: xmalloc (w.c:5) ← run (a.c:30)
 *   ├─ process 2 "sh", replaced          stack 2: xmalloc (w.c:5) ← run (a.c:40)
 *   └─ process 3 "true"
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/totals/losses.h"
#include "../../src/analysis/query/block_query.h"
#include "../../src/analysis/query/type_origins.h"
#include "../../src/analysis/totals/processes.h"
#include "../../src/analysis/totals/sites.h"
#include "../../src/analysis/totals/totals.h"
#include "../../src/analysis/attribute/tree.h"
#include "../../src/analysis/totals/types.h"
#include "check.h"

static void put_stat(struct store *s, uint32_t process, uint32_t stack, uint32_t vtable,
		     uint32_t type, uint8_t reading, uint64_t allocs, uint64_t frees, uint64_t each,
		     uint64_t inherited)
{
	uint64_t live = allocs + inherited - frees;

	must(store_put_stat(s, &(struct store_stat){
				       .process = process,
				       .stack = stack,
				       .vtable = vtable,
				       .reading = reading,
				       .allocs = allocs,
				       .frees = frees,
				       .bytes = allocs * each,
				       .live = live,
				       .live_bytes = live * each,
				       .inherited = inherited,
				       .inherited_bytes = inherited * each,
				       .max_size = each,
				       .min_size = each,
				       .type = type,
			       }));
}

/* Of process 2, which exec replaced: nothing of it lives. */
static void put_gone(struct store *s, uint32_t stack, uint32_t type, uint64_t allocs, uint64_t each,
		     uint64_t inherited)
{
	must(store_put_stat(s, &(struct store_stat){
				       .process = 2,
				       .stack = stack,
				       .allocs = allocs,
				       .bytes = allocs * each,
				       .abandoned = allocs + inherited,
				       .abandoned_bytes = (allocs + inherited) * each,
				       .inherited = inherited,
				       .inherited_bytes = inherited * each,
				       .max_size = each,
				       .min_size = each,
				       .type = type,
			       }));
}

enum { WIDGET = 1, WIDGET_TOO, GADGET, INTS, INTS_LOOSE, LABEL };

static void put_type(struct store *s, uint32_t id, const char *name, const char *container,
		     const char *form, const char *rule, const char *confidence, uint64_t bytes,
		     bool or_derived)
{
	must(store_put_type(s, &(struct store_type){ .id = id,
						     .name = name,
						     .container = container,
						     .form = form,
						     .rule = rule,
						     .confidence = confidence,
						     .source = "site",
						     .bytes = bytes,
						     .or_derived = or_derived }));
}

static void make_session(const char *path)
{
	struct store_frame_line outer[] = {{"main", "/src/a.c", 10, false}};
	struct store_frame_line inner[] = { { "helper()", "/src/b.c", 20, true },
					    { "main", "/src/a.c", 11, false } };
	uint32_t one[] = {1}, two[] = {2};
	struct store *s;

	must(store_create(path, true, true, &s));
	must(store_put_number(s, "started_ns", 1000000000));
	must(store_put_number(s, "duration_ns", 2000000000));
	must(store_put_process(s, &(struct store_process){ .id = 1,
							   .pid = 100,
							   .namespace_pid = 100,
							   .name = "prog",
							   .role = "",
							   .executable = "/bin/prog",
							   .command = "prog -x",
							   .start = 0,
							   .end = 2000000000,
							   .ending = "exited",
							   .attach = "symbols",
							   .attach_text = "",
							   .events = 10 }));
	must(store_put_process(s, &(struct store_process){ .id = 2,
							   .parent = 1,
							   .pid = 101,
							   .namespace_pid = 1,
							   .name = "prog",
							   .role = "helper",
							   .executable = "/bin/prog",
							   .command = "prog",
							   .start = 1000000000,
							   .end = 2000000000,
							   .ending = "killed",
							   .attach = "none",
							   .attach_text = "why not",
							   .events = 5 }));
	must(store_put_thread(s, &(struct store_thread){
					 .id = 1, .process = 1, .tid = 100, .name = "prog" }));
	must(store_put_module(s, &(struct store_module){ .id = 1,
							 .path = "/bin/prog",
							 .build_id = "ab",
							 .symbols = "dwarf",
							 .debug_file = NULL,
							 .note = "" }));
	must(store_put_frame(s, 1, 1, 0x1000, outer, 1));
	must(store_put_frame(s, 2, 1, 0x2000, inner, 2));
	must(store_put_stack(s, 1, one, 1));
	must(store_put_stack(s, 2, two, 1));
	must(store_put_vtable(s, &(struct store_vtable){ .id = 1,
							 .module = 1,
							 .vaddr = 0x3000,
							 .source = "symbol",
							 .type = "Widget",
							 .class_bytes = 48 }));
	must(store_put_vtable(s, &(struct store_vtable){ .id = 2,
							 .module = 1,
							 .vaddr = 0x3100,
							 .source = "symbol",
							 .type = "Widget",
							 .class_bytes = 48 }));
	must(store_put_vtable(s, &(struct store_vtable){ .id = 3,
							 .module = 1,
							 .vaddr = 0x4000,
							 .source = "rtti",
							 .type = "Gadget",
							 .class_bytes = 0 }));
	put_type(s, WIDGET, "Widget", NULL, "object", "both", "exact", 48, false);
	put_type(s, WIDGET_TOO, "Widget", NULL, "object", "constructor", "exact", 48, false);
	put_type(s, GADGET, "Gadget", NULL, "object", "vptr", "high", 0, false);
	put_type(s, INTS, "int", "std::vector<int, std::allocator<int>>", "buffer", "allocator",
		 "medium", 4, false);
	put_type(s, INTS_LOOSE, "int", NULL, "array", "variable", "low", 4, true);
	put_type(s, LABEL, "storage of Pool", NULL, "object", "none", "label", 0, false);
	put_stat(s, 1, 1, 1, WIDGET, SHINY_VPTR_SETTLED, 10, 4, 48, 0); /* live 6, 288 B */
	put_stat(s, 1, 1, 2, WIDGET_TOO, SHINY_VPTR_FREE, 5, 5, 48, 0);
	put_stat(s, 1, 2, 3, GADGET, SHINY_VPTR_EXIT, 3, 0, 1000, 0);   /* live 3, 3000 B */
	put_stat(s, 1, 2, 0, 0, 0, 20, 20, 8, 0);
	put_stat(s, 2, 1, 1, WIDGET, SHINY_VPTR_SETTLED, 1, 2, 48, 6);  /* live 5, 240 B */
	put_stat(s, 2, 0, 0, 0, 0, 7, 0, 100, 0);                  /* live 7, 700 B, no stack */
	must(store_put_peak(s, &(struct store_peak){ .process = 1,
						     .stack = 1,
						     .peak_blocks = 9,
						     .peak_bytes = 432,
						     .peak_time = 5 }));
	must(store_put_peak(s, &(struct store_peak){ .process = 2,
						     .stack = 1,
						     .peak_blocks = 6,
						     .peak_bytes = 288,
						     .peak_time = 6 }));
	/* the peak: 5000 + 800 at 1.2 s, when the helper's last value still stands */
	must(store_put_bucket(
		s, &(struct store_bucket){
			   .process = 1, .start = 0, .length = 100000000, .live_bytes = 4000 }));
	must(store_put_bucket(s, &(struct store_bucket){ .process = 2,
							 .start = 1000000000,
							 .length = 100000000,
							 .live_bytes = 800 }));
	must(store_put_bucket(s, &(struct store_bucket){ .process = 1,
							 .start = 1100000000,
							 .length = 100000000,
							 .live_bytes = 5000 }));
	must(store_put_bucket(s, &(struct store_bucket){ .process = 1,
							 .start = 1900000000,
							 .length = 100000000,
							 .live_bytes = 3288 }));
	must(store_put_counter(s, 1, "DROPPED_FULL", "loss", 4,
			       "events dropped: the ring was full"));
	must(store_put_counter(s, 2, "DROPPED_FULL", "loss", 3,
			       "events dropped: the ring was full"));
	must(store_put_counter(s, 1, "WAITED_FULL", "note", 9, "waits"));
	must(store_finish(s, NULL));
}

static void test_types(struct store *s)
{
	struct filter all, helper;
	struct types t;

	must(filter_resolve(s, NULL, &all));
	must(filter_resolve(s, "helper", &helper));
	must(types_load(s, &all, TYPES_BY_BLOCK, NULL, ORDER_LIVE, &t));
	number("types_rows", t.count, 3);
	text_is("types_first", t.rows[0].type, "Gadget");
	text_is("types_first_rule", t.rows[0].rules, "vptr");
	text_is("types_first_confidence", t.rows[0].confidence, "high");
	text_is("types_second", t.rows[1].type, NULL);
	number("types_untyped_live", t.rows[1].sums.live_bytes, 700);
	text_is("types_third", t.rows[2].type, "Widget"); /* two rules, one name */
	text_is("types_third_rules", t.rows[2].rules, "both, constructor");
	number("types_allocs", t.rows[2].sums.allocs, 16);
	number("types_frees", t.rows[2].sums.frees, 11);
	number("types_live_bytes", t.rows[2].sums.live_bytes, 528);
	number("types_at_least", t.rows[2].at_least, 5);
	number("types_class", t.rows[2].class_bytes, 48);
	number("types_processes", t.rows[2].processes, 2);
	number("types_total", t.total.allocs, 46);
	number("types_typed", t.typed_allocs, 19);
	number("types_level_exact", t.levels[LEVEL_EXACT].sums.allocs, 16);
	number("types_level_high", t.levels[LEVEL_HIGH].sums.live_bytes, 3000);
	number("types_level_none", t.levels[LEVEL_NONE].sums.allocs, 27);
	types_deinit(&t);
	must(types_load(s, &helper, TYPES_BY_BLOCK, NULL, ORDER_ALLOCS, &t));
	number("types_scope_rows", t.count, 2);
	text_is("types_scope_first", t.rows[0].type, NULL);
	number("types_scope_inherited", t.rows[1].sums.inherited, 6);
	types_deinit(&t);
	must(types_load(s, &all, TYPES_BY_BLOCK, "W*t", ORDER_LIVE, &t));
	number("types_match", t.count, 1);
	types_deinit(&t);
	filter_deinit(&all);
	filter_deinit(&helper);
}

/* ---- the second session ---- */

static void make_exec_session(const char *path)
{
	struct store_frame_line wrapper[] = {{"xmalloc", "/src/w.c", 5, false}};
	struct store_frame_line run30[] = { { "run", "/src/a.c", 30, false } },
				run40[] = { { "run", "/src/a.c", 40, false } };
	struct event events[] = {
		{ .time = 10,
		  .address = 0x1000,
		  .size = 100,
		  .process = 1,
		  .thread = 1,
		  .stack = 1,
		  .kind = EVENT_ALLOC },
		{ .time = 20, .address = 0x1000, .process = 1, .thread = 1, .kind = EVENT_FREE },
		{ .time = 30,
		  .address = 0x1000,
		  .size = 64,
		  .process = 1,
		  .thread = 1,
		  .stack = 2,
		  .kind = EVENT_ALLOC },
		{ .time = 40,
		  .address = 0x2000,
		  .size = 8,
		  .process = 1,
		  .thread = 1,
		  .stack = 1,
		  .kind = EVENT_ALLOC },
		{ .time = 50,
		  .address = 0x3000,
		  .size = 16,
		  .old_address = 0x2000,
		  .process = 1,
		  .thread = 1,
		  .stack = 1,
		  .kind = EVENT_REALLOC },
	};
	struct store *s;

	must(store_create(path, true, true, &s));
	for (uint32_t id = 1; id <= 3; id++)
		must(store_put_process(s, &(struct store_process){ .id = id,
								   .parent = id > 1,
								   .pid = id < 3 ? 100 + id : 102,
								   .name = id < 3 ? "sh" : "true",
								   .role = "",
								   .executable = "",
								   .command = "",
								   .ending = id == 2 ? "replaced"
										     : "exited",
								   .attach = "symbols",
								   .attach_text = "",
								   .end = 1000 }));
	must(store_put_thread(s, &(struct store_thread){
					 .id = 1, .process = 1, .tid = 101, .name = "sh" }));
	must(store_put_module(s, &(struct store_module){ .id = 1,
							 .path = "/bin/sh",
							 .build_id = "",
							 .symbols = "dwarf",
							 .note = "" }));
	must(store_put_frame(s, 1, 1, 0x1000, wrapper, 1));
	must(store_put_frame(s, 2, 1, 0x2000, run30, 1));
	must(store_put_frame(s, 3, 1, 0x3000, run40, 1));
	must(store_put_stack(s, 1, (uint32_t[]){1, 2}, 2));
	must(store_put_stack(s, 2, (uint32_t[]){1, 3}, 2));
	put_type(s, WIDGET, "std::_Rb_tree_node<int>",
		 "std::set<int, std::less<int>, std::allocator<int>>", "node", "allocator", "exact",
		 40, false);
	put_type(s, INTS, "int", "std::vector<int, std::allocator<int>>", "buffer", "allocator",
		 "medium", 4, false);
	put_type(s, INTS_LOOSE, "int", NULL, "array", "variable", "low", 4, true);
	put_type(s, LABEL, "in run()", NULL, "object", "none", "label", 0, false);
	put_stat(s, 1, 1, 0, INTS, 0, 4, 1, 16, 0);       /* live 3, 48 B */
	put_stat(s, 1, 2, 0, INTS_LOOSE, 0, 1, 0, 64, 0); /* live 1, 64 B */
	put_gone(s, 1, INTS, 1, 16, 3);                   /* gone 4, 64 B */
	put_gone(s, 2, INTS_LOOSE, 0, 64, 1);             /* gone 1, 64 B */
	put_stat(s, 3, 0, 0, LABEL, 0, 2, 1, 10, 0);      /* live 1, 10 B */
	must(store_put_events(s, events, sizeof(events) / sizeof(*events)));
	must(store_finish(s, NULL));
}

/* live, gone and gone_bytes of a public view, added up */
static void sum_of(struct store *s, const char *view)
{
	struct query *q = NULL;
	char sql[200], label[64], got[64];
	bool row = false;

	snprintf(sql, sizeof(sql),
		 "SELECT SUM(live) || ' ' || SUM(live_bytes) || ' ' || SUM(abandoned) || ' ' || "
		 "SUM(abandoned_bytes) FROM %s",
		 view);
	must(store_query(s, sql, &q));
	must(query_step(q, &row));
	snprintf(label, sizeof(label), "gone_%s", view);
	snprintf(got, sizeof(got), "%s", query_text(q, 0));
	text_is(label, got, "5 122 5 128");
	query_end(q);
}

/* A process that exec replaced has nothing that lives, in every report and view alike. */
static void test_gone(struct store *s)
{
	static const char *const views[] = { "v_processes", "v_types",	    "v_process_types",
					     "v_sites",	    "v_site_types", "v_stacks" };
	struct processes processes;
	struct totals totals;
	struct tree_node root;
	struct sites sites;
	struct types types;
	struct filter all;

	must(filter_resolve(s, NULL, &all));
	must(totals_load(s, &all, &totals));
	number("gone_summary_live", totals.sums.live, 5);
	number("gone_summary_live_bytes", totals.sums.live_bytes, 122);
	number("gone_summary", totals.sums.abandoned, 5);
	number("gone_summary_bytes", totals.sums.abandoned_bytes, 128);
	number("gone_balance", totals.sums.allocs + totals.sums.inherited,
	       totals.sums.frees + totals.sums.live + totals.sums.abandoned);
	totals_deinit(&totals);
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
		sum_of(s, views[i]);
	must(processes_load(s, NULL, &processes));
	number("gone_process_live", processes.rows[1].sums.live, 0);
	number("gone_process_live_bytes", processes.rows[1].sums.live_bytes, 0);
	number("gone_process", processes.rows[1].sums.abandoned, 5);
	number("gone_process_first_live", processes.rows[0].sums.live, 4);
	processes_deinit(&processes);
	must(types_load(s, &all, TYPES_BY_BLOCK, NULL, ORDER_LIVE, &types));
	number("gone_types_total", types.total.live_bytes, 122);
	number("gone_types_typed", types.typed_live_bytes, 112);
	number("gone_types_level", types.levels[LEVEL_MEDIUM].sums.live_bytes, 48);
	types_deinit(&types);
	must(sites_load(s, &all, SITES_BY_LINE, NULL, ORDER_LIVE, true, &sites));
	number("gone_sites_total", sites.total.live_bytes, 122);
	sites_deinit(&sites);
	must(tree_load(s, &all, TREE_LIVE, GROUP_TYPE, NULL, 0, false, &root));
	number("gone_tree", root.value, 122);
	tree_deinit(&root);
	filter_deinit(&all);
}

static const struct type_row *row_named(const struct types *types, const char *name,
					const char *confidence)
{
	for (size_t i = 0; i < types->count; i++) {
		const struct type_row *row = &types->rows[i];

		if ((name ? row->name && strcmp(row->name, name) == 0 : !row->name) &&
		    (!confidence || (row->confidence && strcmp(row->confidence, confidence) == 0)))
			return row;
	}
	printf("not ok row: there is no %s\n", name ? name : "(null)");
	exit(1);
}

static void test_groupings(struct store *s)
{
	const struct type_row *row;
	struct filter all;
	struct types t;

	must(filter_resolve(s, NULL, &all));
	must(types_load(s, &all, TYPES_BY_BLOCK, NULL, ORDER_LIVE, &t));
	number("by_block", t.count, 3);
	row = row_named(&t, "int", "medium");
	text_is("by_block_container", row->container, "std::vector<int, std::allocator<int>>");
	text_is("by_block_form", row->form, "buffer");
	number("by_block_derived", row_named(&t, "int", "low")->or_derived, 1);
	types_deinit(&t);
	/* the vector's storage counts as int */
	must(types_load(s, &all, TYPES_BY_TYPE, NULL, ORDER_LIVE, &t));
	number("by_type", t.count, 2);
	row = row_named(&t, "int", NULL);
	number("by_type_allocs", row->sums.allocs, 6);
	text_is("by_type_agreed", row->confidence, NULL);
	types_deinit(&t);
	/* and as the vector's */
	must(types_load(s, &all, TYPES_BY_CONTAINER, NULL, ORDER_LIVE, &t));
	number("by_container",
	       row_named(&t, "std::vector<int, std::allocator<int>>", NULL)->sums.allocs, 5);
	number("by_container_none", row_named(&t, NULL, NULL)->sums.allocs, 3);
	types_deinit(&t);
	must(types_load(s, &all, TYPES_BY_RULE, NULL, ORDER_LIVE, &t));
	number("by_rule", row_named(&t, "variable", NULL)->sums.allocs, 1);
	types_deinit(&t);
	must(types_load(s, &all, TYPES_BY_CONFIDENCE, NULL, ORDER_LIVE, &t));
	number("by_confidence", row_named(&t, "label", NULL)->sums.allocs, 2);
	types_deinit(&t);
	must(types_load(s, &all, TYPES_BY_MODULE, NULL, ORDER_LIVE, &t));
	number("by_module", row_named(&t, "/bin/sh", NULL)->sums.allocs, 6);
	types_deinit(&t);
	/* a short name finds the long one */
	must(types_load(s, &all, TYPES_BY_BLOCK, "std::vector<int>", ORDER_LIVE, &t));
	number("types_match_short", t.count, 1);
	types_deinit(&t);
	filter_deinit(&all);
}

static size_t found(struct store *s, const struct filter *filter, const char *text, uint32_t *site)
{
	struct site_matches places;
	size_t count;

	must(site_query_find(s, filter, text, &places));
	count = places.count;
	*site = count ? places.rows[0].site : 0;
	site_matches_deinit(&places);
	return count;
}

static void test_places(struct store *s)
{
	uint32_t first, second, got;
	struct blocks_found blocks;
	struct type_origins origins;
	struct site_match place = { 0 };
	struct filter all;
	char id[16];

	must(filter_resolve(s, NULL, &all));
	number("place_function", found(s, &all, "run", &got), 2);
	number("place_line", found(s, &all, "a.c:30", &first), 1);
	number("place_function_line", found(s, &all, "run:40", &second), 1);
	number("place_different", first != second, 1);
	number("place_path", found(s, &all, "/src/a.c:30", &got), 1);
	number("place_path_site", got, first);
	snprintf(id, sizeof(id), "#%u", second);
	number("place_id", found(s, &all, id, &got), 1);
	number("place_id_site", got, second);
	/* boring, so no site: those that it leads to */
	number("place_wrapper", found(s, &all, "xmalloc", &got), 2);
	number("place_wrapper_line", found(s, &all, "w.c:5", &got), 2);
	number("place_offset", found(s, &all, "sh+0x1000", &got), 2);
	number("place_offset_site", found(s, &all, "sh+0x2000", &got), 1);
	number("place_offset_other_module", found(s, &all, "bash+0x2000", &got), 0);
	number("place_none", found(s, &all, "walk", &got), 0);
	number("place_no_line", found(s, &all, "a.c:31", &got), 0);

	place.site = first;
	must(origins_load(s, &all, &place, 0, 0, &origins));
	number("origin", origins.count, 1);
	number("origin_stack", origins.rows[0].stack, 1);
	text_is("origin_type", origins.rows[0].name, "int");
	number("origin_allocs", origins.rows[0].sums.allocs, 5);
	origins_deinit(&origins);

	must(blocks_find(s, &all, 0x1000, &blocks)); /* the second block at that address, live */
	number("block", blocks.count, 1);
	number("block_size", blocks.rows[0].size, 64);
	number("block_live", blocks.rows[0].ended, 0);
	number("block_stack", blocks.rows[0].stack, 2);
	blocks_deinit(&blocks);
	must(blocks_find(s, &all, 0x2004, &blocks)); /* inside of one that a realloc ended */
	number("block_inside", blocks.count ? blocks.rows[0].address : 0, 0x2000);
	number("block_ended", blocks.count ? blocks.rows[0].ended : 0, 50);
	blocks_deinit(&blocks);
	must(blocks_find(s, &all, 0x3010, &blocks)); /* just behind one */
	number("block_none", blocks.count, 0);
	blocks_deinit(&blocks);
	filter_deinit(&all);
}

static void test_sites(struct store *s)
{
	struct filter all;
	struct sites t;
	struct stack_lines lines;

	must(filter_resolve(s, NULL, &all));
	must(sites_load(s, &all, SITES_BY_LINE, NULL, ORDER_LIVE, true, &t));
	number("sites_rows", t.count, 3);
	text_is("sites_first", t.rows[0].label, "helper()");
	text_is("sites_first_file", t.rows[0].file, "/src/b.c");
	number("sites_first_line", t.rows[0].line, 20);
	check_that("sites_minority", !t.rows[0].type && t.rows[0].types == 1); /* 3 of 23 blocks */
	number("sites_first_stack", t.rows[0].stack, 2);
	text_is("sites_second", t.rows[1].label, "(no stack)");
	text_is("sites_third", t.rows[2].label, "main");
	number("sites_third_peak", t.rows[2].peak_bytes, 720);
	number("sites_third_allocs", t.rows[2].sums.allocs, 16);
	number("sites_third_types", t.rows[2].types, 1);
	text_is("sites_third_type", t.rows[2].type, "Widget");
	number("sites_total", t.total.bytes, 10 * 48 + 5 * 48 + 3000 + 160 + 48 + 700);
	sites_deinit(&t);
	must(sites_load(s, &all, SITES_BY_MODULE, NULL, ORDER_ALLOCS, true, &t));
	number("sites_modules", t.count, 2);
	text_is("sites_module", t.rows[0].label, "/bin/prog");
	number("sites_module_allocs", t.rows[0].sums.allocs, 39);
	sites_deinit(&t);
	must(sites_load(s, &all, SITES_BY_FILE, "b.c", ORDER_LIVE, true, &t));
	number("sites_file_match", t.count, 1);
	text_is("sites_file", t.rows[0].label, "/src/b.c");
	sites_deinit(&t);
	filter_deinit(&all);
	must(stack_load(s, 2, &lines));
	number("stack_lines", lines.count, 2);
	text_is("stack_inner", lines.rows[0].label, "helper()");
	number("stack_inlined", lines.rows[0].inlined, 1);
	text_is("stack_outer", lines.rows[1].label, "main");
	stack_deinit(&lines);
}

static void test_processes(struct store *s)
{
	struct processes p;
	char branch[64];

	must(processes_load(s, NULL, &p));
	number("processes", p.count, 2);
	number("process_depth", p.rows[1].depth, 1);
	text_is("process_role", p.rows[1].role, "helper");
	text_is("process_why", p.rows[1].attach_text, "why not");
	number("process_lost", p.rows[1].lost, 3);
	number("process_live", p.rows[0].sums.live_bytes, 3288);
	processes_branch(&p.rows[1], branch, sizeof(branch));
	text_is("process_branch", branch, "└─ ");
	processes_deinit(&p);
}

static void test_tree(struct store *s)
{
	struct tree_node root;
	struct filter all;

	must(filter_resolve(s, NULL, &all));
	must(tree_load(s, &all, TREE_LIVE, GROUP_TYPE, NULL, 0, false, &root));
	number("tree_total", root.value, 4228);
	number("tree_processes", root.count, 2);
	text_is("tree_process", root.children[0].name, "prog, pid 100");
	number("tree_process_value", root.children[0].value, 3288);
	text_is("tree_module", root.children[0].children[0].name, "prog");
	text_is("tree_leaf", root.children[0].children[0].children[0].name, "Gadget");
	tree_deinit(&root);
	must(tree_load(s, &all, TREE_ALLOCS, GROUP_SITE, NULL, 0.3, false, &root));
	number("tree_allocs", root.value, 46);
	text_is("tree_site", root.children[0].children[0].children[0].name,
		"helper() (/src/b.c:20)");
	tree_deinit(&root);
	/* both processes fold */
	must(tree_load(s, &all, TREE_LIVE, GROUP_TYPE, NULL, 0.99, false, &root));
	number("tree_fold", root.count, 1);
	number("tree_folded", root.children[0].folded, 2);
	number("tree_fold_value", root.children[0].value, 4228);
	tree_deinit(&root);
	must(tree_load(s, &all, TREE_PEAK, GROUP_SITE, NULL, 0, false, &root));
	number("tree_peak", root.value, 720);
	tree_deinit(&root);
	filter_deinit(&all);
}

static void test_summary(struct store *s)
{
	struct totals totals;
	struct losses losses;
	struct filter all, none;
	struct shiny_err *err;

	must(filter_resolve(s, NULL, &all));
	must(totals_load(s, &all, &totals));
	text_is("summary_program", totals.program, "prog");
	number("summary_duration", totals.duration, 2000000000);
	number("summary_allocs", totals.sums.allocs, 46);
	number("summary_balance", totals.sums.allocs + totals.sums.inherited,
	       totals.sums.frees + totals.sums.live);
	number("summary_types", totals.types, 2);
	number("summary_vtables", totals.vtables, 3);
	number("summary_sites", totals.sites, 2);
	number("summary_typed", totals.typed_allocs, 19);
	number("summary_peak", totals.peak_bytes, 5800);
	number("summary_peak_at", totals.peak_at, 1200000000);
	totals_deinit(&totals);
	filter_deinit(&all);
	must(losses_load(s, &losses));
	number("lost", losses.lost, 7);
	number("losses", losses.count, 2);
	number("loss_first", losses.rows[0].loss, 1);
	number("complete", losses.incomplete, 0);
	losses_deinit(&losses);
	err = filter_resolve(s, "nobody", &none);
	number("scope_none", err ? (uint64_t)err->code : 0, SHINY_ERR_USAGE);
	text_is("scope_none_advice", err ? err->advice : "",
		"there are: helper, prog; or a pid, or id:N");
	shiny_err_free(err);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take the lines before it along */
	char path[64] = "/tmp/shiny-test-XXXXXX";
	const char *place = getenv("SHINY_TEST_TMP");
	char *file = NULL;
	struct store *s;
	int fd = -1;

	if (!place) {
		fd = mkstemp(path);
		if (fd < 0 || asprintf(&file, "%s.shiny", path) < 0)
			return 1;
		close(fd);
		unlink(path);
	} else if (asprintf(&file, "%s/reports.shiny", place) < 0) {
		return 1;
	}
	make_session(file);
	must(store_open(file, &s));
	test_types(s);
	test_sites(s);
	test_processes(s);
	test_tree(s);
	test_summary(s);
	store_close(s);
	unlink(file);
	make_exec_session(file);
	must(store_open(file, &s));
	test_gone(s);
	test_groupings(s);
	test_places(s);
	store_close(s);
	unlink(file);
	free(file);
	return failures != 0;
}
