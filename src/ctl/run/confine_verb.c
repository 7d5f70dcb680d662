/* SPDX-License-Identifier: Apache-2.0 */
/* confine_verb.c: see confine_verb.h. */
#include "confine_verb.h"

#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../symbolizer/elf/cache_file.h"
#include "../../../symbolizer/elf/fetch.h"
#include "../../base/mem.h"

/* Options that name a file to write. */
static const enum option_id outputs[] = { OPT_OUT, OPT_OUTPUT, OPT_SUMMARY, OPT_JUNIT,
					  OPT_MARKDOWN };

/* The list owns its paths. */
struct places {
	VEC(struct confine_place) list;
};

/* Adds `path`, which it takes over; NULL: nothing. */
static void add(struct places *places, char *path, enum confine_right right)
{
	if (path)
		*vec_push(&places->list) = (struct confine_place){ path, right };
}

static void add_directory_of(struct places *places, const char *file, enum confine_right right)
{
	char *copy = mem_text(file);

	add(places, mem_text(dirname(copy)), right);
	free(copy);
}

/* Also adds the file itself: a link, or a descriptor's name, may lie elsewhere. */
static void add_output(struct places *places, const char *file)
{
	add(places, mem_text(file), CONFINE_WRITE);
	add_directory_of(places, file, CONFINE_MAKE);
}

/* Adds a session's log and index: while it is recorded, a reader locks the index, and the last
 * reader removes both. */
static void add_session(struct places *places, const char *file)
{
	char *real = realpath(file, NULL), *log = real ? mem_format("%s-wal", real) : NULL;

	if (log && access(log, F_OK) == 0) {
		add(places, mem_format("%s-shm", real), CONFINE_WRITE);
		add_directory_of(places, real, CONFINE_TIDY);
	}
	free(log);
	free(real);
}

/* True if the verb writes a file next to its last operand, a session. */
static bool writes_beside(const struct options *options)
{
	return !options->given[OPT_OUT] && !options->given[OPT_OUTPUT] &&
	       (options->verb == VERB_HTML || options->given[OPT_HTML_PAGE] ||
		options->verb == VERB_COLLECT || options->verb == VERB_DEVTOOLS);
}

void confine_verb(const struct options *options, enum confine_role role,
		  const struct confine_place *more, size_t count)
{
	struct places places = { 0 };

	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++)
		if (options->given[outputs[i]])
			add_output(&places, options->text[outputs[i]]);
	for (size_t i = 0; i < options->operand_count; i++)
		add_session(&places, options->operands[i]);
	if (options->given[OPT_BASE])
		add_session(&places, options->text[OPT_BASE]);
	if (writes_beside(options))
		add_directory_of(&places, options->operands[options->operand_count - 1],
				 CONFINE_MAKE);
	if (role == CONFINE_NAMER) {
		add(&places, cache_file_place(), CONFINE_TREE);
		add(&places, fetch_place(), CONFINE_TREE);
	}
	for (size_t i = 0; i < count; i++)
		add(&places, more[i].path ? mem_text(more[i].path) : NULL, more[i].right);
	confine(role, places.list.at, places.list.count);
	for (size_t i = 0; i < places.list.count; i++)
		free((char *)(uintptr_t)places.list.at[i].path);
	free(places.list.at);
}
