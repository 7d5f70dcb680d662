/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_names.h: how right the names, places and labels are that code without symbols gives: of a
 * file that has symbols, at each call of an allocation function, and weighted by the blocks that a
 * session counted there.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_JUDGE_NAMES_H
#define SHINY_JUDGE_NAMES_H

#include <stdint.h>

#include "../../symbolizer/sym.h"
#include "../analysis/query/module_query.h"

enum judged_kind {
	JUDGED_NAME,      /* ~file.cc:Function, against the functions there */
	JUDGED_FILE,      /* against the source files of these functions */
	JUDGED_DIRECTORY,
	JUDGED_DOUBTED,   /* files that are said with a mark: they are right less often */
	JUDGED_STRING,    /* labels, against the type */
	JUDGED_ARRAY,
	JUDGED_NODE,
	JUDGED_STORAGE,
	JUDGED_CALLBACK,
	JUDGED_COUNTED, /* reference-counted objects, and of a fixed size */
	JUDGED_OBJECT,
	JUDGED_KINDS
};
struct judged_count {
	uint64_t said, checked, right; /* checked: where the debug information knows */
};
struct judged {
	struct judged_count calls, blocks; /* blocks that these calls made */
};

extern const char *const judged_names[JUDGED_KINDS]; /* "name", "map node" */

/* `options` are those that find the debug information; `calls` is what the file's calls made. */
SHINY_MUST_CHECK struct shiny_err *judge_file(const struct sym_options *options, const char *path,
					      const char *build_id,
					      const struct module_calls *calls,
					      struct judged out[JUDGED_KINDS]);

#endif
