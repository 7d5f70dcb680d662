/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_filter.c: which blocks --tag and --between mean, and what marks say, of a session that is
 * written down: two processes, the second forked, three tags, marks of which two have the same
 * name.
 */
#include <stdio.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/attribute/groups.h"
#include "../../src/analysis/compare/subset.h"
#include "../../src/analysis/time/marks.h"
#include "session_writer.h"

static char path[64];

enum { LOAD = 1, PARSE = 2, LOAD_LATE = 3, ALL_NS = 1000 };

static void put(struct store *s, uint64_t time, uint32_t process, uint8_t kind, uint64_t address,
		uint64_t size, uint64_t old, uint32_t tag)
{
	put_event(s, (struct event){ .time = time,
				     .address = address,
				     .size = size,
				     .old_address = old,
				     .process = process,
				     .thread = process,
				     .kind = kind,
				     .tag = tag });
}

static void write_session(void)
{
	static const struct { uint64_t time; const char *name;
	} marks[] = {
		{ 250, "half#1" }, { 100, "start" },	  { 500, "frame" },
		{ 300, "frame" },  { 900, "done..well" },
	};
	struct store *s = session_begin(path, ALL_NS);

	put_process(s, (struct store_process){ .id = 1, .pid = 11, .name = "p", .end = ALL_NS });
	put_process(s, (struct store_process){ .id = 2,
					       .parent = 1,
					       .pid = 12,
					       .name = "p",
					       .start = 400,
					       .end = 700,
					       .forked = 400,
					       .early = true });
	must(store_put_tag(s, LOAD, "load"));
	must(store_put_tag(s, PARSE, "parse"));
	must(store_put_tag(s, LOAD_LATE, "load late"));
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		must(store_put_mark(s, &(struct store_mark){ .process = 1,
							     .thread = 1,
							     .time = marks[i].time,
							     .name = marks[i].name }));
	put(s, 50, 1, EVENT_ALLOC, 0x1000, 10, 0, 0);
	put(s, 150, 1, EVENT_ALLOC, 0x2000, 20, 0, LOAD);
	put(s, 200, 1, EVENT_ALLOC, 0x3000, 40, 0, PARSE);
	put(s, 300, 1, EVENT_ALLOC, 0x4000, 80, 0, LOAD);         /* at a mark: behind it */
	put(s, 350, 1, EVENT_REALLOC, 0x5000, 160, 0x3000, LOAD); /* parse's block ends */
	put(s, 450, 2, EVENT_FREE, 0x2000, 0, 0, 0);              /* the child's copy */
	put(s, 460, 2, EVENT_ALLOC, 0x6000, 320, 0, LOAD_LATE);
	put(s, 600, 1, EVENT_FREE, 0x4000, 0, 0, 0);
	put(s, 800, 1, EVENT_ALLOC, 0x7000, 640, 0, 0);
	must(store_finish(s, NULL));
}

/* ---- what is told ---- */

struct told {
	uint64_t births, bytes, deaths, freed, left;
};

static void on_birth(void *context, const struct replay_process *process, const struct life *life)
{
	((struct told *)context)->births++;
	((struct told *)context)->bytes += life->size;
}

static void on_death(void *context, const struct replay_process *process, const struct life *life,
		     const struct life_death *death)
{
	((struct told *)context)->deaths++;
	((struct told *)context)->freed += death->end == LIFE_FREED;
}

static uint64_t on_moment(void *context, const struct replay *replay, uint64_t moment)
{
	replay_each(&replay->processes[0], life)((struct told *)context)->left++;
	return UINT64_MAX;
}

static struct told tell(struct store *s, const struct filter *filter)
{
	struct told told = { 0 };
	struct replay_observer observer = { .context = &told,
					    .birth = on_birth,
					    .death = on_death,
					    .moment = on_moment,
					    .first_moment = 950 };

	must(replay_run(s, filter, &observer, 1, NULL));
	return told;
}

static struct told with(struct store *s, const char *tags, const char *between)
{
	struct filter filter = { 0 };
	struct told told;

	must(filter_resolve(s, NULL, &filter));
	if (tags)
		must(filter_tags(s, tags, &filter));
	if (between)
		must(filter_between(s, between, &filter));
	told = tell(s, &filter);
	filter_deinit(&filter);
	return told;
}

static void refuses(struct store *s, const char *name, const char *tags, const char *between)
{
	struct filter filter = { 0 };
	struct shiny_err *err;

	must(filter_resolve(s, NULL, &filter));
	err = tags ? filter_tags(s, tags, &filter) : filter_between(s, between, &filter);
	number(name, err ? err->code : 0, SHINY_ERR_USAGE);
	shiny_err_free(err);
	filter_deinit(&filter);
}

static void test_tags(struct store *s)
{
	struct filter filter = { 0 };
	struct groups groups;

	number("all/births", with(s, NULL, NULL).births, 7);
	number("all/deaths", with(s, NULL, NULL).deaths, 11);
	number("load/bytes", with(s, "load", NULL).bytes, 20 + 80 + 160);
	number("load/freed", with(s, "load", NULL).freed, 2); /* in the child, and in the parent */
	number("load/left", with(s, "load", NULL).left, 2);
	number("parse/deaths", with(s, "parse", NULL).deaths, 1);
	number("a list/bytes", with(s, "parse,load late", NULL).bytes, 40 + 320);
	number("wildcards/bytes", with(s, "load*", NULL).bytes, 20 + 80 + 160 + 320);
	number("none/bytes", with(s, "-", NULL).bytes, 10 + 640);
	number("none and one/bytes", with(s, "-,parse", NULL).bytes, 10 + 640 + 40);
	refuses(s, "unknown", "loads", NULL);
	refuses(s, "one of two unknown", "load,loads", NULL);
	refuses(s, "empty", "", NULL);
	must(filter_resolve(s, "12", &filter));
	must(filter_tags(s, "load,-", &filter));
	text_is("condition", filter_blocks(&filter), "(s.process IN (2)) AND s.tag IN (0,1)");
	text_is("condition without tags", filter.where, "s.process IN (2)");
	filter_deinit(&filter);
	must(groups_load(s, GROUP_TAG, false, &groups));
	number("groups/count", groups.count, 4);
	text_is("groups/none", groups.names[0], "(no tag)");
	text_is("groups/of parse", groups.names[groups.of[PARSE]], "parse");
	groups_deinit(&groups);
}

static void test_between(struct store *s)
{
	number("marks/bytes", with(s, NULL, "start..frame").bytes, 20 + 40);
	number("marks/deaths", with(s, NULL, "start..frame").deaths, 3); /* the child's copy too */
	number("from the beginning/bytes", with(s, NULL, "..frame").bytes, 10 + 20 + 40);
	number("to the end/bytes", with(s, NULL, "frame..").bytes, 80 + 160 + 320 + 640);
	number("the same name/bytes", with(s, NULL, "frame..frame").bytes, 80 + 160 + 320);
	number("numbered/bytes", with(s, NULL, "frame#2..").bytes, 640);
	number("a name with #/bytes", with(s, NULL, "half#1..frame").bytes, 0);
	number("a time/bytes", with(s, NULL, "0.00000015s..frame#2").bytes,
	       20 + 40 + 80 + 160 + 320);
	number("everything/bytes", with(s, NULL, "..").bytes, 10 + 20 + 40 + 80 + 160 + 320 + 640);
	number("both/bytes", with(s, "load", "frame..frame").bytes, 80 + 160);
	refuses(s, "backwards", NULL, "frame#2..start");
	refuses(s, "no range", NULL, "frame");
	refuses(s, "unknown mark", NULL, "frame..frames");
	refuses(s, "third of two", NULL, "frame#3..");
	refuses(s, "zeroth", NULL, "frame#0..");
	refuses(s, "nothing in it", NULL, "..0s");
}

static void test_marks(struct store *s)
{
	/* at, live then, bytes until the next, peak */
	static const uint64_t want[][4] = {
		{ 0, 0, 10, 10 },
		{ 100, 10, 60, 70 },
		{ 250, 70, 0, 70 },
		{ 300, 70, 560, 270 + 320 },
		{ 500, 270 + 320, 640, 10 + 20 + 160 + 640 },
		{ 900, 830, 0, 830 },
	};
	struct filter filter = { 0 };
	struct marks marks;

	must(filter_resolve(s, NULL, &filter));
	must(marks_load(s, &filter, false, &marks));
	number("marks/count", marks.count, sizeof(want) / sizeof(*want));
	for (size_t i = 0; i < marks.count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "marks/%zu", i);
		number(name, marks.rows[i].time, want[i][0]);
		number(name, marks.rows[i].live_bytes, want[i][1]);
		number(name, marks.rows[i].bytes, want[i][2]);
		number(name, marks.rows[i].peak_bytes, want[i][3]);
	}
	number("marks/live at the end", marks.live_bytes, 830);
	marks_deinit(&marks);
	must(filter_tags(s, "load", &filter));
	must(marks_load(s, &filter, false, &marks));
	/* the child's copies stand apart */
	number("marks/of a tag", marks.rows[4].live_bytes, 20 + 80 + 160);
	number("marks/of a tag at the end", marks.live_bytes, 20 + 160);
	marks_deinit(&marks);
	filter_deinit(&filter);
}

static uint64_t sum(struct store *s, const char *table)
{
	char sql[64];
	struct query *q;
	uint64_t bytes;
	bool row;

	snprintf(sql, sizeof(sql), "SELECT COALESCE(SUM(bytes), 0) FROM %s", table);
	must(store_query(s, sql, &q));
	must(query_step(q, &row));
	bytes = (uint64_t)query_number(q, 0);
	query_end(q);
	return bytes;
}

/* Stores of two tags' sums stand beside each other and the session's own, which has none. */
static void test_subset(struct store *s)
{
	static const struct {
		const char *tag;
		uint64_t bytes;
	} want[] = { { "load", 260 }, { "parse", 40 } };
	struct store *subsets[2];

	for (int i = 0; i < 2; i++) {
		struct filter filter = { 0 };

		must(filter_resolve(s, NULL, &filter));
		must(filter_tags(s, want[i].tag, &filter));
		must(subset_open(s, &filter, SUBSET_ALL, NULL, &subsets[i]));
		filter_deinit(&filter);
	}
	for (int i = 0; i < 2; i++) {
		number("subset/stat", sum(subsets[i], "stat"), want[i].bytes);
		number("subset/site_stat", sum(subsets[i], "site_stat"), want[i].bytes);
		store_close(subsets[i]);
	}
	number("subset/the session's own sums stay", sum(s, "stat"), 0);
}

int main(void)
{
	struct store *s;

	snprintf(path, sizeof(path), "/tmp/test_filter.%d.shiny", (int)getpid());
	write_session();
	must(store_open(path, &s));
	test_tags(s);
	test_between(s);
	test_marks(s);
	test_subset(s);
	store_close(s);
	unlink(path);
	return failures != 0;
}
