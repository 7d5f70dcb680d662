/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_make: writes a session of any number of events whose every number is known, and prints
 * them: for tests of what reading a large one costs, and whether it is still right. Usage:
 * session_make FILE EVENTS. Lines: "total KEY VALUE"; "type NAME" and "site NAME", each with
 * blocks, bytes, live, live_bytes, destroyed, persistent, elsewhere, temporary as `shinyctl types`,
 * `sites` and `lifetimes` call them.
 *
 * Runs: CLI, in tests. Allocates: about 400 bytes a live block and 150 MB; only the file grows with
 * EVENTS. Threads: one.
 *
 * Its parts are in made/: what the program can do (plan.h), what it does (program.h), the account
 * of that (books.h), the file (session.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "made/books.h"
#include "made/plan.h"
#include "made/program.h"
#include "made/session.h"

int main(int argc, char **argv)
{
	uint64_t events;

	if (argc != 3 || (events = strtoull(argv[2], NULL, 10)) < 1000) {
		fprintf(stderr, "usage: session_make FILE EVENTS, at least 1000\n");
		return 2;
	}
	plans_make();
	books_begin(events);
	session_begin(argv[1]);
	program_run(events);
	session_end();
	books_print();
	return fflush(stdout) == 0 ? 0 : 4;
}
