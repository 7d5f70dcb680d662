/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_names.h: measures how right the names, places and labels are that code without symbols
 * gives, on a file with symbols, at each call of an allocation function, and weighted by a
 * session's blocks there.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_JUDGE_NAMES_H
#define SHINY_JUDGE_NAMES_H

#include <stdint.h>

#include "../../../symbolizer/sym.h"
#include "../../analysis/query/module_query.h"

enum judged_kind {
	JUDGED_NAME,      /* ~Function, checked against the functions there */
	JUDGED_GUESS,     /* names with a mark of doubt */
	JUDGED_FILE,      /* checked against the source files of these functions */
	JUDGED_DIRECTORY,
	JUDGED_DOUBTED,   /* files with a mark of doubt: they are right less often */
	JUDGED_STRING,    /* labels, checked against the type */
	JUDGED_ARRAY,
	JUDGED_NODE,
	JUDGED_STORAGE,
	JUDGED_CALLBACK,
	JUDGED_COUNTED, /* reference-counted objects, and those of a fixed size */
	JUDGED_OBJECT,
	JUDGED_KINDS
};
struct judged_count {
	uint64_t said, checked, right; /* checked: the debug information knows the answer */
};
struct judged {
	const char *path, *evidence; /* of the file; "name", "map node" */
	struct judged_count calls, blocks; /* blocks of these calls */
	bool weighted; /* there is a session, and the blocks are known */
};

/* Judges a file, whose `path` must outlive the result. `options` find its debug information;
 * `calls` has the blocks of its calls. */
SHINY_MUST_CHECK struct shiny_err *judge_file(const struct sym_options *options, const char *path,
					      const char *build_id,
					      const struct module_calls *calls,
					      struct judged out[JUDGED_KINDS]);

#endif
