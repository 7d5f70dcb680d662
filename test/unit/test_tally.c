/* SPDX-License-Identifier: Apache-2.0 */
/* test_tally.c: rows of statistics, and two of them added up: what is rare is counted in its own
 * part, which a row without it does not have. A process of few stacks is small in a session of
 * many. */
#include "../../src/sidecar/state/stats.h"
#include "check.h"

static struct stats stats;

static struct tally *row_of(uint32_t vtable)
{
	struct tally *s = stats.sites.at[0].stats;

	while (s && s->vtable != vtable)
		s = s->next;
	return s;
}

static void ends(uint32_t vtable, uint32_t flags, enum block_end how)
{
	struct entry entry = { .size = 32, .flags = flags & 0xffff, .vtable = vtable };

	if (!(flags & ENTRY_INHERITED))
		stats_begin(&stats, &entry, 1);
	stats_end(&stats, &entry, how, 2, 1);
}

static void stays(uint32_t vtable, uint32_t flags)
{
	struct entry entry = { .size = 32, .flags = flags & 0xffff, .vtable = vtable };

	if (!(flags & ENTRY_INHERITED))
		stats_begin(&stats, &entry, 1);
	stats_live(&stats, &entry, 8);
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		abort();
	fclose(file);
	return pages;
}

static void few_of_many(struct total *total)
{
	long before = resident_pages(), more;
	struct stats few, child;
	uint32_t last;

	stats_init(&few, total, 0);
	stats_init(&child, total, 0);
	for (uint32_t i = 1; i <= 10; i++)
		stats_site(&few, i * 1000000);
	last = stats_site(&few, 10000000);
	number("a stack has one site", few.sites.count, 11);
	number("it is the stack's", few.sites.at[last].stack, 10000000);
	check("with a tag it is another one", stats_tagged(&few, last, 5) != last, "it is not");
	number("without the tag it is the same", stats_site(&few, 10000000), last);
	stats_clone_sites(&child, &few);
	number("a child has them", child.sites.count, few.sites.count);
	number("at the same indices", stats_site(&child, 10000000), last);
	more = resident_pages() - before;
	checkf("their memory is of their own stacks", more < 1024, "it is %ld pages", more);
	stats_deinit(&few);
	stats_deinit(&child);
}

int main(void)
{
	const struct tally_rare *rare;
	struct tally *to, *from;
	struct total total;

	total_init(&total);
	few_of_many(&total);
	stats_init(&stats, &total, 0);
	ends(1, 0, END_FREED);
	to = row_of(1);
	check("what is not rare takes no more", !to->rare, "it has the part");
	number("nothing rare", tally_rare(to)->reallocs, 0);
	ends(2, ENTRY_REALLOC, END_FREED);
	ends(2, 0, END_REUSED);
	ends(2, 0, END_RELEASED);
	ends(2, ENTRY_INHERITED, END_FREED);
	stays(2, ENTRY_INHERITED);
	stays(2, 0);
	from = row_of(2);
	number("ended", tally_frees(from), 4);

	stats_merge(to, from);
	rare = tally_rare(to);
	number("blocks", to->allocs, 5);
	number("ended, of both", tally_frees(to), 5);
	number("by realloc", rare->reallocs, 1);
	number("reused", rare->reused, 1);
	number("released", rare->released, 1);
	number("inherited", rare->inherited, 2);
	number("their bytes", rare->inherited_bytes, 64);
	number("inherited, ended", rare->inherited_frees, 1);
	number("alive", rare->living.count == 1 ? rare->living.at[0].count : 0, 1);
	check("nothing is left", !from->rare, "the part is");
	from->ended = (struct bins){ 0 };
	stats_deinit(&stats);
	total_deinit(&total);
	return failures != 0;
}
