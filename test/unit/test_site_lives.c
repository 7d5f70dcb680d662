/* SPDX-License-Identifier: Apache-2.0 */
/* test_site_lives.c: which call sites have the most short lives, objects that a collector made and
 * equals included; their lifetimes are those that all sites' lifetimes have of them. */
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/time/site_lives.h"
#include "../../src/base/mem.h"
#include "session_writer.h"

enum { DURATION = 10000, SITES = 6, SHORT = 10, MIDDLE = 2000, TAIL = 8000 };
/* by site: blocks with each lifetime; those of site 4 are objects */
static const unsigned lives_of[SITES + 1][POPULATIONS] = {
	{ 0 }, { 5, 0, 1 }, { 3, 4, 0 }, { 3, 0, 0 }, { 4, 0, 0 }, { 1, 0, 2 }, { 0, 0, 3 },
};
static char path[64];
static struct store *session;

static void put_lives(uint32_t site, enum population population)
{
	static const uint64_t ages[POPULATIONS] = { SHORT, MIDDLE, TAIL };
	static uint64_t address;

	for (unsigned i = 0; i < lives_of[site][population]; i++) {
		struct event e = { .time = 100,
				   .address = address += 64,
				   .size = 8,
				   .process = 1,
				   .thread = 1,
				   .stack = site,
				   .kind = EVENT_ALLOC,
				   .api = site == 4 ? SHINY_API_COLLECTED : SHINY_API_MALLOC };

		put_event(session, e);
		e.kind = EVENT_FREE;
		e.time += ages[population];
		put_event(session, e);
	}
}

static void make_session(void)
{
	char name[16];

	session = session_begin(path, DURATION);
	put_program(session);
	put_process(session, (struct store_process){ .id = 1 });
	for (uint32_t site = 1; site <= SITES; site++) {
		snprintf(name, sizeof(name), "site%u", site);
		put_site(session, site, name);
	}
	for (uint32_t site = 1; site <= SITES; site++)
		must(store_put_stat(session, &(struct store_stat){ .process = 1, .stack = site }));
	for (unsigned p = 0; p < POPULATIONS; p++)
		for (uint32_t site = 1; site <= SITES; site++)
			put_lives(site, (enum population)p);
	must(store_finish(session, NULL));
	must(store_open(path, &session));
}

/* `wanted`: a bit a site. */
static void shortest(const struct site_lives *lives, size_t most, unsigned wanted)
{
	bool *is = site_lives_shortest(lives, most);

	for (uint32_t site = 1; site <= SITES; site++)
		checkf("one of the shortest", is[lives->sites.of[site]] == (wanted >> site & 1),
		       "the %zu shortest, site %u", most, site);
	free(is);
}

static void rows_of_some(const struct site_lives *lives, const struct filter *all)
{
	bool *is = site_lives_shortest(lives, 3);
	struct lifetimes some, whole;

	must(lifetimes_load(session, all, GROUP_SITE, NULL, LIFETIMES_BY_SHORT, false, false,
			    &whole));
	must(lifetimes_load_sites(session, all, is, LIFETIMES_BY_SHORT, false, false, &some));
	number("rows of all", whole.count, SITES);
	number("rows of some", some.count, 4);
	for (size_t i = 0; i < some.count; i++) {
		const struct lifetime_row *a = &some.rows[i], *b = &whole.rows[i];

		checkf("the same row",
		       !strcmp(a->name, b->name) && a->began.blocks == b->began.blocks &&
			       a->population[POPULATION_SHORT] ==
				       b->population[POPULATION_SHORT] &&
			       distribution_quantile(&a->ages, 0.5) ==
				       distribution_quantile(&b->ages, 0.5),
		       "row %zu: %s, %s", i, a->name, b->name);
	}
	lifetimes_deinit(&some);
	lifetimes_deinit(&whole);
	free(is);
}

int main(void)
{
	struct site_lives lives;
	struct filter all;

	snprintf(path, sizeof(path), "/tmp/shiny-test-lives-%d.shiny", (int)getpid());
	make_session();
	must(filter_resolve(session, NULL, &all));
	must(site_lives_load(session, &all, false, false, &lives));
	shortest(&lives, 1, 1 << 1);
	shortest(&lives, 2, 1 << 1 | 1 << 4);
	shortest(&lives, 3, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4); /* two are third */
	shortest(&lives, 9, 0x3e); /* one has none */
	number("usual of site 1", site_lives_usual(&lives, lives.sites.of[1]), POPULATION_SHORT);
	number("usual of site 2", site_lives_usual(&lives, lives.sites.of[2]), POPULATION_MIDDLE);
	number("usual of site 5", site_lives_usual(&lives, lives.sites.of[5]), POPULATION_TAIL);
	number("objects", lives.objects, 4);
	rows_of_some(&lives, &all);
	site_lives_deinit(&lives);
	filter_deinit(&all);
	store_close(session);
	unlink(path);
	return failures != 0;
}
