/* SPDX-License-Identifier: Apache-2.0 */
#include "suppressions.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/glob.h"
#include "../../base/mem.h"
#include "../../base/rule_lines.h"
#include "../../base/text.h"

/* Functions that allocate memory which a library keeps for itself. */
static const char *const kept[] = {
	"^_IO_file_doallocate",
	"^_IO_wfile_doallocate",
	"^_dl_allocate_tls",
	"^__new_exitfn",
	"^__cxa_get_globals",
	"^setlocale$",
	"^_nl_*",
	"^__gconv*",
	"^tzset",
	"^__tz*",
	"^__nss_*",
	"^_dl_new_object",
	"^_dl_map_object",
	"^_dl_check_map_versions",
	"^_dl_important_hwcaps",
};

struct suppression_finder {
	struct suppressions out;
	char **patterns; /* for text_matches() */
	size_t count, room;
	char **modules;  /* modules of libraries, from table boring: a name, or a prefix and * */
	size_t module_count, module_room;
};

/* LeakSanitizer's patterns match anywhere, unless ^ or $ anchors them. */
static char *pattern_of(const char *text)
{
	size_t length = strlen(text);
	bool from_start = *text == '^', to_end = length && text[length - 1] == '$';

	return mem_format("%s%.*s%s", from_start ? "" : "*",
			  (int)(length - from_start - (to_end && length > from_start)),
			  text + from_start, to_end ? "" : "*");
}

static void add(char ***list, size_t *count, size_t *room, char *text)
{
	*list = mem_reach(*list, room, *count, sizeof(**list), 16);
	(*list)[(*count)++] = text;
}

static struct shiny_err *read_patterns(const char *path, struct suppression_finder *s)
{
	struct rule_lines lines;
	struct shiny_err *err = NULL;

	SHINY_TRY(rule_lines_open(path, "suppressions", &lines));
	for (char *line; !err && (line = rule_lines_next(&lines));) {
		if (strncmp(line, "leak:", 5) == 0 && line[5])
			add(&s->patterns, &s->count, &s->room, pattern_of(line + 5));
		else
			err = shiny_err_advise(
				rule_lines_wrong(&lines, "no suppression of leaks: %.80s", line),
				"a line is leak:PATTERN, or a comment that begins with #");
	}
	free(lines.text);
	return err;
}

static bool is_suppressed(const struct suppression_finder *s, const struct query *q)
{
	for (size_t i = 0; i < s->count; i++)
		for (int column = 1; column <= 3; column++)
			if (!query_is_null(q, column) &&
			    text_matches(s->patterns[i], query_text(q, column)))
				return true;
	return false;
}

/* Checks each frame once, then marks the stacks that have a suppressed one. */
static struct shiny_err *find_stacks(struct store *store, struct suppression_finder *s)
{
	struct query *q = NULL;
	size_t frame_count = store_ids(store, "frame");
	bool *frames = mem_zero(frame_count, sizeof(*frames)), any = false;
	struct shiny_err *err =
		store_query(store, "SELECT frame, function, source, path FROM v_frames", &q);

	QUERY_EACH (q, err)
		if (is_suppressed(s, q))
			any = frames[query_id(q, 0, frame_count)] = true;
	query_end(q);
	q = NULL;
	frames[0] = false;
	if (!err && any)
		err = store_query(store, "SELECT DISTINCT stack, frame FROM v_stack_frames", &q);
	if (any)
		QUERY_EACH (q, err)
			if (frames[query_id(q, 1, frame_count)])
				s->out.stacks[query_id(q, 0, s->out.stack_count)] = true;
	query_end(q);
	free(frames);
	return err;
}

static bool is_library(const struct suppression_finder *s, const char *path)
{
	const char *name = text_base(path);

	for (size_t i = 0; i < s->module_count; i++)
		if (glob_matches(s->modules[i], name))
			return true;
	return false;
}

/* A call site in a library means that the whole stack is in libraries (src/store/site_index.c). */
static struct shiny_err *find_libraries(struct store *store, struct suppression_finder *s)
{
	struct query *q = NULL;
	struct shiny_err *err =
		store_query(store, "SELECT pattern FROM boring WHERE kind = 'module'", &q);

	QUERY_EACH (q, err)
		add(&s->modules, &s->module_count, &s->module_room, mem_text(query_text(q, 0)));
	query_end(q);
	q = NULL;
	if (!err)
		err = store_query(store,
				  "SELECT k.id, m.path FROM site i JOIN module m ON m.id = "
				  "i.module JOIN stack k ON k.site = i.id",
				  &q);
	QUERY_EACH (q, err)
		if (is_library(s, query_text(q, 1)))
			s->out.stacks[query_id(q, 0, s->out.stack_count)] = true;
	query_end(q);
	return err;
}

struct shiny_err *suppressions_load(struct store *store, const char *path, bool libraries,
				    struct suppressions *out)
{
	struct suppression_finder s = { 0 };
	struct shiny_err *err = path ? read_patterns(path, &s) : NULL;

	s.out.stack_count = store_ids(store, "stack");
	s.out.stacks = mem_zero(s.out.stack_count, sizeof(*s.out.stacks));
	for (size_t i = 0; libraries && i < sizeof(kept) / sizeof(*kept); i++)
		add(&s.patterns, &s.count, &s.room, pattern_of(kept[i]));
	if (!err && s.count)
		err = find_stacks(store, &s);
	if (!err && libraries)
		err = find_libraries(store, &s);
	s.out.stacks[0] = false; /* blocks without a stack are never suppressed */
	for (size_t i = 0; i < s.count; i++)
		free(s.patterns[i]);
	for (size_t i = 0; i < s.module_count; i++)
		free(s.modules[i]);
	free(s.patterns);
	free(s.modules);
	if (err) {
		suppressions_deinit(&s.out);
		return err;
	}
	*out = s.out;
	return NULL;
}

void suppressions_deinit(struct suppressions *suppressions)
{
	free(suppressions->stacks);
	*suppressions = (struct suppressions){ 0 };
}
