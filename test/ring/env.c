/* SPDX-License-Identifier: Apache-2.0 */
/* env.c: the SHINY_* parser: defaults, units, ranges, and the one line that each mistake gets.
 * Runs: test. */
#include <stdio.h>
#include <string.h>

#include "../../interpose/core/env.h"
#include "../unit/check.h"

static char notes[512];
static struct si_env env;

static void parse(const char *a, const char *b)
{
	char *environment[] = { "PATH=/bin",	      "SHIN", "SHINY", (char *)(uintptr_t)a,
				(char *)(uintptr_t)b, NULL };
	struct si_text text;

	si_text_init(&text, notes, sizeof(notes));
	si_env_parse(environment, &env, &text);
}

int main(void)
{
	parse(NULL, NULL);
	check("defaults",
	      env.depth == 16 && env.ring == 64 << 20 && env.free_depth == 1 && env.collect == 0 &&
		      env.types == 0 && env.debug == 0 && strcmp(env.follow, "*") == 0 &&
		      strcmp(env.out, "%e.%p.shiny") == 0 && !notes[0],
	      notes);
	parse("SHINY_DEPTH=64", "SHINY_RING=1G");
	check("values", env.depth == 64 && env.ring == UINT64_C(1) << 30 && !notes[0], notes);
	parse("SHINY_DEPTH=65", "SHINY_RING=5g");
	check("ranges",
	      env.depth == 16 && env.ring == 64 << 20 &&
		      strstr(notes, "SHINY_DEPTH=65: not one of 1..64; used 16\n") &&
		      strstr(notes, "SHINY_RING=5g: not one of 1m..4g; used 64m\n"),
	      notes);
	parse("SHINY_DEPTH=", "SHINY_RING=18446744073709551617");
	check("not numbers",
	      env.depth == 16 && env.ring == 64 << 20 && strstr(notes, "SHINY_DEPTH=:") &&
		      strstr(notes, "SHINY_RING=1844"),
	      notes);
	parse("SHINY_ON_FULL=drop", "SHINY_COLLECT=of");
	check("choices",
	      env.on_full == 1 && env.collect == 0 &&
		      strstr(notes, "SHINY_COLLECT=of: not one of auto|off; used auto\n"),
	      notes);
	parse("SHINY_DETPH=3", "SHINY_TYPE=off");
	check("unknown names",
	      strstr(notes,
		     "SHINY_DETPH: no such variable, ignored; did you mean SHINY_DEPTH?\n") &&
		      strstr(notes,
			     "SHINY_TYPE: no such variable, ignored; did you mean SHINY_TYPES?\n"),
	      notes);
	parse("SHINY_ARENA=2m", NULL);
	check("old name",
	      env.ring == 2 << 20 && strcmp(notes, "SHINY_ARENA: an old name, read for now; its "
						   "new name is SHINY_RING\n") == 0,
	      notes);
	parse("SHINY_ARENA=2q", NULL);
	check("old name, no size",
	      env.ring == 64 << 20 && strstr(notes, "SHINY_RING=2q: not one of 1m..4g; used 64m\n"),
	      notes);
	parse("SHINY_RING=4m", "SHINY_ARENA=2m");
	check("old name beside the new one",
	      env.ring == 4 << 20 &&
		      strstr(notes, "SHINY_ARENA: ignored, as its new name is set: SHINY_RING\n"),
	      notes);
	parse("SHINY_ARENA=2m", "SHINY_RING=4m");
	check("old name before the new one",
	      env.ring == 4 << 20 && strstr(notes, "SHINY_ARENA: ignored"), notes);
	parse("SHINY_A_NAME_THAT_IS_LONGER_THAN_ANY_BUFFER_FOR_NAMES_COULD_POSSIBLY_BE=1", NULL);
	check("long name", strstr(notes, "no such variable") != NULL, notes);
	check("follow",
	      si_env_matches("*", "a") && si_env_matches("x,chrom*um", "chromium") &&
		      !si_env_matches("chrom", "chromium") && si_env_matches("a*b*c,z", "aXbYc") &&
		      !si_env_matches("a*b*c", "aXbY") && !si_env_matches("", "a"),
	      notes);
	return failures != 0;
}
