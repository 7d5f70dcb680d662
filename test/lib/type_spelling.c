/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_spelling: prints type names, one a line on standard input, the way sessions spell them, for
 * tests that know them from elsewhere.
 *
 * Runs: CLI, in tests. Allocates: yes. Threads: one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "../../symbolizer/dwarf/die_normalize.h"
#include "../../symbolizer/elf/symbol_names.h"

int main(void)
{
	struct names names = { 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		const char *spelled;

		line[strcspn(line, "\n")] = 0;
		spelled = die_normalize(&names, names_text(&names, line));
		puts(spelled ? spelled : line);
	}
	names_deinit(&names);
	free(line);
	return 0;
}
