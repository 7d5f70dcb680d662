/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_eval.c: rules as they are understood: selectors, measures, units, changes; what keeps
 * to them; and where a wrong one is wrong. Lifetimes that are known to within a range. */
#include <stdbool.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/compare/check_eval.h"
#include "../../src/base/mem.h"
#include "session_writer.h"

/* The rule's parts as a text: "each type(a) site(b) bytes <= base +5% +64". */
static char *spell(const struct check_rule *r)
{
	char *text = mem_text(r->each ? "each " : ""), *all;

	for (size_t i = 0; i < r->selector_count; i++) {
		char *more = mem_format("%s%s(%s) ", text, breakdown_names[r->selectors[i].by],
					r->selectors[i].pattern);

		free(text);
		text = more;
	}
	if (r->tags) {
		char *more = mem_format("%stag(%s) ", text, r->tags);

		free(text);
		text = more;
	}
	if (r->between) {
		char *more = mem_format("%sbetween(%s) ", text, r->between);

		free(text);
		text = more;
	}
	all = mem_format("%s%s %s %s%g%% %g", text, check_measures[r->measure].name,
			 check_ops[r->op], r->relative ? "base " : "", r->share * 100, r->amount);
	free(text);
	return all;
}

static void means(const char *rule, const char *meaning)
{
	struct check_rules rules = { 0 };
	struct shiny_err *err = check_rules_add(&rules, rule);
	char *text = err ? mem_text(err->message) : spell(&rules.at[0]);

	text_is(rule, text, meaning);
	free(text);
	shiny_err_free(err);
	check_rules_deinit(&rules);
}

static void understood(void)
{
	means("live_bytes<=24MB", "live_bytes <= 0% 2.51658e+07");
	means("leaks==0", "leaks == 0% 0");
	means("  allocs  <  1.5k  ", "allocs < 0% 1500");
	means("lifetime>=10ms", "lifetime >= 0% 1e+07");
	means("duration != 2 s", "rule 'duration != 2 s', column 15: 's' is too much");
	means("type(net::*).bytes +5%", "type(net::*) bytes <= base 5% 0");
	means("type(net::*).bytes+5%+64KB", "type(net::*) bytes <= base 5% 65536");
	means("bytes -10% + 1k", "bytes <= base -10% 1024");
	means("allocs == +0", "allocs == base 0% 0");
	means("allocs >= -5", "allocs >= base 0% -5");
	means("each type(*).live_bytes<1m", "each type(*) live_bytes < 0% 1.04858e+06");
	means("role(renderer).component(blink).type(a).site(b).live > 3",
	      "role(renderer) component(blink) type(a) site(b) live > 0% 3");
	means("site(operator()(int) const).allocs<=1",
	      "site(operator()(int) const) allocs <= 0% 1");
	means("site(\"a) (b.c\").allocs<=1", "site(a) (b.c) allocs <= 0% 1");
	means("mismatches==0", "mismatches == 0% 0");
	means("tag(startup).live_bytes<=1k", "tag(startup) live_bytes <= 0% 1024");
	means("between(load..idle).allocs +5%", "between(load..idle) allocs <= base 5% 0");
	means("between(a b..).type(c).tag(d,-).live<1",
	      "type(c) tag(d,-) between(a b..) live < 0% 1");
	means("each tag(*).type(*).live<1", "each type(*) tag(*) live < 0% 1");
	means("between(..2s).duration<1s", "between(..2s) duration < 0% 1e+09");
	means("tag(a).growing==0", "tag(a) growing == 0% 0");
	means("size<=9223372036854775808", "size <= 0% 9.22337e+18");
}

static void wrong(void)
{
	means("", "rule '', column 1: the measure is missing, such as live_bytes");
	means("+5%", "rule '+5%', column 1: a measure comes here, such as live_bytes");
	means("alocs<=1",
	      "rule 'alocs<=1', column 1: there is no measure 'alocs'; the nearest is allocs");
	means("xyzzyplugh<=1", "rule 'xyzzyplugh<=1', column 1: there is no measure 'xyzzyplugh'; "
			       "`shinyctl help check` lists them");
	means("allocs", "rule 'allocs', column 7: the comparison is missing, such as <=24MB, or "
			"+5% against a base");
	means("allocs 5", "rule 'allocs 5', column 8: a comparison comes here: <= < >= > == != and "
			  "a value, or a change against the base such as +5%");
	means("allocs=5", "rule 'allocs=5', column 7: a comparison is one of <= < >= > == !=");
	means("allocs<=5MB",
	      "rule 'allocs<=5MB', column 9: allocs takes a number such as 1500 or 2k here");
	means("allocs +5%%", "rule 'allocs +5%%', column 11: '%' is too much");
	means("allocs +1.2.3%", "rule 'allocs +1.2.3%', column 9: no percentage");
	means("allocs +",
	      "rule 'allocs +', column 9: allocs takes a number such as 1500 or 2k here");
	means("type(é).live==x",
	      "rule 'type(é).live==x', column 15: live takes a number such as 1500 or 2k here");
	means("type(a).type(b).type(c).type(d).type(e).live<=1",
	      "rule 'type(a).type(b).type(c).type(d).type(e).live<=1', column 33: more than 4 "
	      "selectors");
	means("tag(a).tag(b).live<=1", "rule 'tag(a).tag(b).live<=1', column 8: a second tag()");
	means("between(a).live<=1",
	      "rule 'between(a).live<=1', column 9: between() takes FROM..TO, each the name of a "
	      "mark or a time, such as load..idle");
	means("between().live<=1", "rule 'between().live<=1', column 9: between() means nothing");
	means("tag().live<=1", "rule 'tag().live<=1', column 5: tag() means nothing; * means all");
	means("tag(a).lost==0", "rule 'tag(a).lost==0', column 8: lost is of the whole session: no "
				"tag() can stand in front of it");
	means("between(a..b).lost==0", "rule 'between(a..b).lost==0', column 15: lost is of the "
				       "whole session: no between() can stand in front of it");
	means("tag(a).duration<=1s", "rule 'tag(a).duration<=1s', column 8: duration is of the "
				     "whole session: no tag() can stand in front of it");
	means("each tag(a).live<=1", "rule 'each tag(a).live<=1', column 13: 'each' needs a "
				     "selector, such as each type(*).live");
	means("tga(a).live<=1",
	      "rule 'tga(a).live<=1', column 1: there is no selector 'tga'; the nearest is tag");
	means("size<=99999999999999999999",
	      "rule 'size<=99999999999999999999', column 7: size takes a size such as 24MB here");
	means("each lost==0",
	      "rule 'each lost==0', column 6: 'each' needs a selector, such as each type(*).lost");
}

static bool holds(const char *text, double value, double base)
{
	struct check_rules rules = { 0 };
	bool good;

	must(check_rules_add(&rules, text));
	good = check_holds(&rules.at[0], value, base);
	check_rules_deinit(&rules);
	return good;
}

static void kept(void)
{
	check_that("at the limit", holds("allocs<=100", 100, 0) && !holds("allocs<=100", 101, 0) &&
					   !holds("allocs<100", 100, 0) &&
					   holds("allocs<100", 99, 0));
	check_that("from below", holds("allocs>=100", 100, 0) && !holds("allocs>=100", 99, 0) &&
					 !holds("allocs>100", 100, 0) &&
					 holds("allocs>100", 101, 0));
	check_that("equal", holds("allocs==7", 7, 0) && !holds("allocs==7", 8, 0) &&
				    holds("allocs!=7", 8, 0) && !holds("allocs!=7", 7, 0));
	check_that("5 % of 60 is 3", holds("allocs +5%", 63, 60) && !holds("allocs +5%", 64, 60) &&
					     holds("allocs >= +5%", 63, 60) &&
					     holds("allocs == +5%", 63, 60));
	check_that("5 % of 30 is 1.5",
		   holds("allocs +5%", 31, 30) && !holds("allocs +5%", 32, 30) &&
			   !holds("allocs >= +5%", 31, 30) && holds("allocs >= +5%", 32, 30));
	check_that("a share of nothing is nothing", !holds("bytes +5%", 1, 0) &&
							    holds("bytes +5%+1", 1, 0) &&
							    holds("bytes +5%", 0, 0));
	check_that("at least that much less",
		   holds("bytes -10%", 90, 100) && !holds("bytes -10%", 91, 100));
	check_that("much",
		   holds("bytes +0", 0x1p60, 0x1p60) && !holds("bytes +1%", 1.02 * 0x1p60, 0x1p60));
}

/* ---- lifetimes ---- */

enum { MS = 1000000, BLOCKS = 2000 };

static void event_at(struct store *s, uint64_t time, uint8_t kind, uint64_t address, uint32_t stack)
{
	put_event(s, (struct event){ .time = time,
				     .address = address,
				     .size = 32,
				     .process = 1,
				     .thread = 1,
				     .stack = stack,
				     .kind = kind });
}

/* Sites first() and second(), whose blocks live that long each, and up to 20 us longer. */
static struct store *session_of_lives(const char *path, const unsigned ms[2])
{
	static const char *const names[] = { "first", "second" };
	struct store *s = session_begin(path, UINT64_C(10000) * MS);

	put_process(s, (struct store_process){ .id = 1, .end = UINT64_C(10000) * MS });
	put_program(s);
	for (uint32_t site = 1; site <= 2; site++)
		put_site(s, site, names[site - 1]);
	for (uint32_t site = 1; site <= 2; site++) {
		must(store_put_stat(s, &(struct store_stat){ .process = 1,
							     .stack = site,
							     .allocs = BLOCKS,
							     .frees = BLOCKS,
							     .bytes = 32 * BLOCKS,
							     .min_size = 32,
							     .max_size = 32,
							     .api = SHINY_API_NEW }));
		for (uint64_t i = 0; i < BLOCKS; i++)
			event_at(s, site * UINT64_C(4000) * MS + i * 100, EVENT_ALLOC,
				 0x10000 + 64 * i, site);
		for (uint64_t i = 0; i < BLOCKS; i++)
			event_at(s, (site * UINT64_C(4000) + ms[site - 1]) * MS + i * 110,
				 EVENT_FREE, 0x10000 + 64 * i, 0);
	}
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	return s;
}

static void judged(struct store *base, struct store *new, const char *rule, enum check_state state,
		   bool divided)
{
	struct store *const stores[] = { base, new };
	const struct filter_names names = { 0 };
	const struct check_options options = { 0 };
	struct check_rules rules = { 0 };
	struct check_results results;

	must(check_rules_add(&rules, rule));
	must(check_eval(stores, &names, &rules, &options, &results));
	text_is(rule, check_states[results.at[0].state], check_states[state]);
	check(rule, results.at[0].divided == divided, "divided, or not");
	check_results_deinit(&results);
	check_rules_deinit(&rules);
}

/* 940 and 1000 ms are in one bin, whose middle is 973. */
static void lifetimes(void)
{
	char path[64], slower_path[64];
	struct store *s, *slower;

	snprintf(path, sizeof(path), "/tmp/shiny-test-check-%d.shiny", (int)getpid());
	snprintf(slower_path, sizeof(slower_path), "/tmp/shiny-test-check-%d-2.shiny",
		 (int)getpid());
	s = session_of_lives(path, (const unsigned[]){ 940, 1000 });
	slower = session_of_lives(slower_path, (const unsigned[]){ 960, 1000 });
	judged(NULL, s, "site(first).lifetime<=941ms", CHECK_HOLDS, false);
	judged(NULL, s, "site(first).lifetime>=941ms", CHECK_FAILS, false);
	judged(NULL, s, "site(second).lifetime>=1s", CHECK_HOLDS, false);
	judged(NULL, s, "site(second).lifetime<1s", CHECK_FAILS, false);
	judged(NULL, s, "each site(*).lifetime<=1001ms", CHECK_HOLDS, false);
	judged(NULL, s, "each site(*).lifetime>=1s", CHECK_FAILS, false);
	judged(NULL, s, "lifetime<=960ms", CHECK_HOLDS, true);
	judged(NULL, s, "lifetime>960ms", CHECK_HOLDS, true);
	judged(NULL, s, "lifetime==960ms", CHECK_HOLDS, true);
	judged(NULL, s, "lifetime<=939ms", CHECK_FAILS, false);
	judged(s, slower, "site(first).lifetime +3%", CHECK_HOLDS, false);
	judged(s, slower, "site(first).lifetime +1%", CHECK_FAILS, false);
	judged(slower, s, "site(first).lifetime -1%", CHECK_HOLDS, false);
	store_close(s);
	store_close(slower);
	unlink(path);
	unlink(slower_path);
}

/* ---- samples ---- */

/* Ten blocks of a sample, each for 100: the number of such is 5.1 to 17.7 draws, by the quantiles
 * of a gamma distribution of shape 10.5. */
static void estimates(void)
{
	char path[64];
	struct store *s;

	snprintf(path, sizeof(path), "/tmp/shiny-test-check-%d.shiny", (int)getpid());
	s = session_begin(path, 1000);
	put_process(s, (struct store_process){ .id = 1, .end = 1000, .sample = 4096 });
	put_program(s);
	put_site(s, 1, "drawn");
	must(store_put_stat(s, &(struct store_stat){ .process = 1,
						     .stack = 1,
						     .allocs = 1000,
						     .allocs_variance = 1000 * 99,
						     .frees = 1000,
						     .bytes = 32000,
						     .bytes_variance = 97,
						     .min_size = 32,
						     .max_size = 32,
						     .api = SHINY_API_NEW }));
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	judged(NULL, s, "allocs<=1000", CHECK_HOLDS, true);
	judged(NULL, s, "allocs<=600", CHECK_HOLDS, true);
	judged(NULL, s, "allocs<=450", CHECK_FAILS, false);
	judged(NULL, s, "allocs>=1600", CHECK_HOLDS, true);
	judged(NULL, s, "each site(*).allocs>=1900", CHECK_FAILS, false);
	judged(NULL, s, "bytes<=19k", CHECK_HOLDS, true);
	judged(NULL, s, "bytes<=15k", CHECK_FAILS, false);
	judged(NULL, s, "live==0", CHECK_HOLDS, true);
	judged(NULL, s, "live<=300", CHECK_HOLDS, false);
	judged(NULL, s, "size<=32", CHECK_UNKNOWN, false);
	judged(s, s, "allocs +1%", CHECK_HOLDS, true);
	store_close(s);
	unlink(path);
}

int main(void)
{
	understood();
	estimates();
	wrong();
	kept();
	lifetimes();
	return failures != 0;
}
