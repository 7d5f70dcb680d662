/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hostile.c: sessions with well-packed events that no program can have caused, each in a few
 * kilobytes: blocks beyond any address space, blocks that cover all of one, millions of events and
 * of copies by forks. Each analysis ends in an error that says so, or in numbers, within seconds
 * and within the memory that the header of its module states.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/analysis/time/activity.h"
#include "../../src/analysis/attribute/mismatches.h"
#include "../../src/analysis/totals/hotspots.h"
#include "../../src/analysis/space/pages.h"
#include "../../src/analysis/space/pooling.h"
#include "../../src/analysis/compare/subset.h"
#include "session_writer.h"

#ifdef __SANITIZE_ADDRESS__
enum { RUN_SECONDS = 60, RUN_KB = 3 << 20 };
#else
enum { RUN_SECONDS = 30, RUN_KB = 1 << 20 }; /* 7 s on an idle machine */
#endif

static char path[64];

/* ---- analyses ---- */

static struct shiny_err *on_pages(struct store *s, const struct filter *all)
{
	struct pages pages;
	struct shiny_err *err = pages_load(s, all,
					   &(struct pages_ask){ .at = PAGES_AT_PEAK,
								.under = 512,
								.points = 10,
								.history = true },
					   &pages);

	if (!err)
		pages_deinit(&pages);
	return err;
}

static struct shiny_err *on_pooling(struct store *s, const struct filter *all)
{
	struct pooling_constants constants;
	struct pooling pooling;
	struct shiny_err *err;

	must(pooling_parse(NULL, &constants));
	err = pooling_load(s, all, &constants, NULL, POOLING_TYPES, &pooling);
	if (!err)
		pooling_deinit(&pooling);
	return err;
}

static struct shiny_err *on_activity(struct store *s, const struct filter *all)
{
	struct activity activity;
	struct shiny_err *err = activity_load(s, all, 0, ACTIVITY_PHASE_ROWS, &activity);

	if (!err)
		activity_deinit(&activity);
	return err;
}

static struct shiny_err *on_mismatches(struct store *s, const struct filter *all)
{
	struct mismatches mismatches;
	struct shiny_err *err = mismatches_load(s, all, false, &mismatches);

	if (!err)
		mismatches_deinit(&mismatches);
	return err;
}

static struct shiny_err *on_subset(struct store *s, const struct filter *all)
{
	struct store *subset;
	struct shiny_err *err = subset_open(s, all, SUBSET_ALL, NULL, &subset);

	if (!err)
		store_close(subset);
	return err;
}

static const struct analysis {
	const char *name;
	struct shiny_err *(*see)(struct store *s, const struct filter *all);
} analyses[] = {
	{ "pages", on_pages },		 { "pooling", on_pooling }, { "activity", on_activity },
	{ "mismatches", on_mismatches }, { "subset", on_subset },
};
enum { ANALYSES = sizeof(analyses) / sizeof(*analyses) };

/* Exit status: 0 numbers came out, 4 an error of the file, 5 another. */
static int see(const struct analysis *analysis)
{
	struct filter all;
	struct store *s;
	struct shiny_err *err;

	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	err = analysis->see(s, &all);
	return !err								      ? 0
	       : strstr(err->message, "damaged") || strstr(err->message, "more work") ? 4
										      : 5;
}

/* Each of the analyses named in `which` in a process of its own. It must not take the file, or
 * `takes` it. */
static void look(const char *name, const char *which, bool takes)
{
	size_t words = 1;

	for (const char *at = which; (at = strchr(at, ' ')); at++)
		words++;
	for (size_t i = 0; i < ANALYSES; i++) {
		if (!strstr(which, analyses[i].name))
			continue;
		words--;
		char label[100];
		int status;
		struct rusage usage;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (!child) {
			setrlimit(RLIMIT_CPU, &(struct rlimit){ RUN_SECONDS, RUN_SECONDS });
			_exit(see(&analyses[i]));
		}
		wait4(child, &status, 0, &usage);
		snprintf(label, sizeof(label), "%s/%s", name, analyses[i].name);
		if (WIFSIGNALED(status))
			checkf(label, false,
			       WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
				       ? "it takes more than %d s"
				       : "signal %d",
			       WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
				       ? RUN_SECONDS
				       : WTERMSIG(status));
		else if (usage.ru_maxrss > RUN_KB)
			checkf(label, false, "it takes %ld MB", usage.ru_maxrss >> 10);
		else
			checkf(label, WEXITSTATUS(status) == (takes ? 0 : 4), "exit status %d",
			       WEXITSTATUS(status));
	}
	if (words)
		checkf(name, false, "an analysis of \"%s\" is none", which);
}

/* ---- sessions ---- */

static struct store *begin(void)
{
	struct store *s = session_begin(path, UINT64_C(1) << 40);

	put_program(s);
	put_site(s, 1, "work");
	put_type(s, (struct store_type){ .id = 1, .name = "Thing" });
	put_process(s, (struct store_process){ .id = 1 });
	return s;
}

static void put_block(struct store *s, uint64_t time, uint64_t address, uint64_t size)
{
	put_event(s, (struct event){ .time = time,
				     .address = address,
				     .size = size,
				     .process = 1,
				     .thread = 1,
				     .stack = 1,
				     .kind = EVENT_ALLOC });
}

static void one_block(const char *name, uint64_t address, uint64_t size)
{
	struct store *s = begin();

	put_block(s, 1, address, size);
	must(store_finish(s, NULL));
	look(name, "pages pooling activity mismatches subset", false);
}

/* Each of them ends where the next begins. */
static void large_blocks(void)
{
	struct store *s = begin();

	for (uint64_t i = 0; i < 1000; i++)
		put_block(s, 1 + i, 4096 + (i << 47), UINT64_C(1) << 47);
	must(store_finish(s, NULL));
	look("blocks of 128 TiB", "pooling subset", false);
}

static void scattered_blocks(void)
{
	struct store *s = begin();

	for (uint64_t i = 1; i <= 700000; i++)
		put_block(s, i, i << 22, 16);
	must(store_finish(s, NULL));
	look("a block every 4 MiB", "pages activity", false);
}

static void many_events(void)
{
	struct store *s = begin();

	for (uint64_t i = 1; i <= 10000000; i++) {
		put_block(s, 2 * i, 4096, 16);
		put_event(s, (struct event){ .time = 2 * i + 1,
					     .address = 4096,
					     .process = 1,
					     .thread = 1,
					     .stack = 1,
					     .kind = EVENT_FREE });
	}
	must(store_finish(s, NULL));
	look("twenty million events", "mismatches", false);
}

static void many_forks(void)
{
	struct store *s = begin();

	for (uint32_t i = 2; i < 1000; i++)
		put_process(s,
			    (struct store_process){ .id = i, .parent = 1, .forked = 1000000 + i });
	for (uint64_t i = 1; i <= 40000; i++)
		put_block(s, i, i << 12, 16);
	must(store_finish(s, NULL));
	look("forks of a large heap", "mismatches activity", false);
}

/* No moment looks through all of them. */
static void many_ends(void)
{
	struct store *s = begin();

	for (uint32_t i = 2; i < 100000; i++)
		put_process(s, (struct store_process){
				       .id = i, .start = i, .end = 1000 + i, .early = true });
	put_block(s, 1, 4096, 16);
	must(store_finish(s, NULL));
	look("ends of many processes", "pages pooling activity", true);
}

/* Of a bin that no time has. */
static void wrong_bin(void)
{
	struct store *s = begin();
	struct filter all;
	struct hotspots hotspots;

	must(store_put_lifetime(
		s,
		&(struct store_lifetime){
			.process = 1, .stack = 1, .type = 1, .bin = 0, .count = 10, .bytes = 10 }));
	must(store_put_lifetime(s, &(struct store_lifetime){ .process = 1,
							     .stack = 1,
							     .type = 1,
							     .bin = 200,
							     .count = 90,
							     .bytes = 10 }));
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &all));
	must(hotspots_load(s, &all, 1000000, true, &hotspots));
	number("a wrong bin/rows", hotspots.short_lived.count, 1);
	number("a wrong bin/typical",
	       hotspots.short_lived.count ? hotspots.short_lived.rows[0].median_ns : 0, UINT64_MAX);
	hotspots_deinit(&hotspots);
	filter_deinit(&all);
	store_close(s);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/test_hostile_%d.shiny", (int)getpid());
	one_block("a block of 2^62 bytes", 4096, UINT64_C(1) << 62);
	one_block("a block that wraps", -UINT64_C(4096), 1 << 20);
	one_block("a block at 2^57", UINT64_C(1) << 57, 16);
	large_blocks();
	scattered_blocks();
	many_events();
	many_forks();
	many_ends();
	wrong_bin();
	unlink(path);
	return failures != 0;
}
