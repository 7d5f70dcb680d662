/* SPDX-License-Identifier: Apache-2.0 */
/* test_total.c: which processes are gone, and the peak, of sessions of a few processes. */
#include <string.h>

#include "../../src/sidecar/state/stats.h"
#include "check.h"

static struct total total;
static uint64_t clock_now;

static void begin(struct stats *stats)
{
	stats_init(stats, &total, 0);
	total_begins(&total, ++clock_now);
}

static void makes_at(struct stats *stats, uint64_t bytes, uint64_t time, bool replaced)
{
	total_until(&total, time);
	if (stats->live.left)
		total_returns(&total, &stats->live, time, replaced);
	stats->live.blocks++;
	stats->live.bytes += bytes;
	total_raise(&total, 1, bytes, time);
}

static void makes(struct stats *stats, uint64_t bytes)
{
	makes_at(stats, bytes, ++clock_now, false);
}

static void frees(struct stats *stats, uint64_t bytes)
{
	total_until(&total, ++clock_now);
	stats->live.blocks--;
	stats->live.bytes -= bytes;
	total_lower(&total, 1, bytes);
}

static void end(struct stats *stats)
{
	total_ends(&total, &stats->live, ++clock_now, false);
}

static void finish(const char *name, uint64_t peak)
{
	total_until(&total, UINT64_MAX);
	number(name, total_highest(&total).bytes, peak);
	total_deinit(&total);
	clock_now = 0;
}

/* A large command, then small ones: nobody held both. */
static void script(void)
{
	struct stats shell, large, small, last;

	begin(&shell);
	makes(&shell, 1000);
	begin(&large);
	makes(&large, 1000000);
	end(&large);
	begin(&small);
	makes(&small, 300);
	number("script/the large one is gone", large.live.gone, 1);
	end(&small);
	begin(&last);
	makes(&last, 300);
	number("script/the small one is gone", small.live.gone, 1);
	end(&last);
	makes(&shell, 5000); /* no process begins: the last command is the session's */
	frees(&shell, 5000);
	end(&shell);
	number("script/the last one is not", last.live.gone, 0);
	finish("script/peak", 1001000);
	number("script/nor the shell", shell.live.gone, 0);
	stats_deinit(&shell);
	stats_deinit(&large);
	stats_deinit(&small);
	stats_deinit(&last);
}

/* What a browser does when it closes: pages end, a spare renderer begins, others go on for a
 * while. */
static void browser(void)
{
	struct stats main_one, page, spare;

	begin(&main_one);
	begin(&page);
	makes(&main_one, 60000);
	makes(&page, 50000);
	end(&page);
	begin(&spare);
	makes(&spare, 700);
	makes(&main_one, 1000);
	end(&spare);
	end(&main_one);
	finish("browser/peak, with what has ended", 60000 + 50000 + 700 + 1000);
	number("browser/the page", page.live.gone, 0);
	stats_deinit(&main_one);
	stats_deinit(&page);
	stats_deinit(&spare);
}

/* A child that ends with nothing; a server that goes on and grows. */
static void server(void)
{
	struct stats one, child, later;

	begin(&one);
	makes(&one, 1000);
	begin(&child);
	makes(&child, 500);
	end(&child);
	makes(&one, 2000); /* more than the child had, but no process begins */
	number("server/not gone yet", child.live.gone, 0);
	begin(&later);
	makes(&later, 1);
	number("server/gone", child.live.gone, 1);
	makes(&child, 10); /* a word from behind its end: it is there */
	number("server/back", child.live.gone || child.live.left, 0);
	finish("server/peak", 1000 + 2000 + 1 + 510);
	stats_deinit(&one);
	stats_deinit(&child);
	stats_deinit(&later);
}

/* Records from before an end that are read long after it: the process is gone for what follows. */
static void late(const char *name, bool replaced, uint64_t peak)
{
	struct stats shell, command, next;
	uint64_t time;

	begin(&shell);
	makes(&shell, 1000);
	begin(&command);
	makes(&command, 300);
	time = clock_now;
	total_ends(&total, &command.live, ++clock_now, replaced);
	makes(&shell, 10);
	makes_at(&command, 40, time, replaced);
	makes_at(&command, 50, time, replaced);
	begin(&next);
	makes(&next, 5000);
	number("late/it has ended", command.live.left, 1);
	number("late/it is gone", command.live.gone, 1);
	finish(name, peak);
	stats_deinit(&shell);
	stats_deinit(&command);
	stats_deinit(&next);
}

int main(void)
{
	total_init(&total);
	script();
	browser();
	server();
	late("late/peak", false, 6010);
	late("late/peak behind exec", true, 6010);
	return failures != 0;
}
