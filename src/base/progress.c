/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"
#include "units.h"

enum { FIRST_AFTER = 1000000000, AGAIN_AFTER = 200000000 };

static void begin_line(void)
{
	char home[TERMINAL_SEQUENCE], erase[TERMINAL_SEQUENCE];

	fprintf(stderr, "%s%s", terminal_sequence(home, "\033[G"),
		terminal_sequence(erase, "\033[K"));
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void progress_begin(struct progress *progress, const char *what, bool enabled)
{
	*progress = (struct progress){.what = what, .off = !enabled};
	if (progress->off)
		return;
	progress->terminal = isatty(STDERR_FILENO) == 1;
	progress->started = now();
}

void progress_set(struct progress *progress, uint64_t done, uint64_t total)
{
	uint64_t t;

	if (progress->off || (progress->shown && !progress->terminal))
		return;
	t = now();
	if (progress->shown ? t - progress->shown < AGAIN_AFTER
			    : t - progress->started < FIRST_AFTER)
		return;
	progress->shown = t;
	if (progress->terminal)
		begin_line();
	if (!progress->terminal)
		fprintf(stderr, "shinyctl: %s ...\n", progress->what);
	else if (total)
		fprintf(stderr, "shinyctl: %s: %s of %s (%d %%)", progress->what,
			units_count(UNITS_BUF, done), units_count(UNITS_BUF, total),
			(int)(100.0 * (double)done / (double)total));
	else
		fprintf(stderr, "shinyctl: %s: %s", progress->what, units_count(UNITS_BUF, done));
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (!progress->off && progress->shown && progress->terminal) {
		begin_line();
		fflush(stderr);
	}
	progress->off = true;
}
