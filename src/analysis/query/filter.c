/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/glob.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../../store/contents.h"

struct shiny_err *query_format(struct store *store, struct query **out, const char *format, ...)
{
	struct shiny_err *err;
	va_list args;
	char *sql;

	va_start(args, format);
	sql = mem_format_list(format, args);
	va_end(args);
	err = store_query(store, sql, out);
	free(sql);
	return err;
}

/* True if `which` selects the process of the current row (id, pid, namespace pid, role, name).
 * Without wildcards it must match exactly. */
static bool meant(const struct query *q, const char *which)
{
	if (strncmp(which, "id:", 3) == 0)
		return strtoll(which + 3, NULL, 10) == query_number(q, 0);
	if (*which && strspn(which, "0123456789") == strlen(which))
		return strtoll(which, NULL, 10) == query_number(q, 1);
	for (int column = 3; column <= 4; column++)
		if (glob_matches(which, query_text(q, column)))
			return true;
	return false;
}

static struct shiny_err *nothing_matches(struct store *store, const char *which)
{
	AUTO_QUERY struct query *q = NULL;
	char *list = NULL;
	struct shiny_err *err = store_query(store,
					    "SELECT group_concat(w, ', ') FROM (SELECT DISTINCT "
					    "COALESCE(NULLIF(role, ''), name) AS w "
					    "FROM process ORDER BY w LIMIT 12)",
					    &q);
	bool row = false;

	if (!err)
		err = query_step(q, &row);
	if (!err && row)
		list = mem_text(query_text(q, 0));
	if (err) {
		free(list);
		return err;
	}
	err = shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
					 "--process '%s': no process of this session matches",
					 which),
			       "there are: %s; or a pid, or id:N", list ? list : "none");
	free(list);
	return err;
}

static struct shiny_err *no_heap(struct store *store, const char *heap)
{
	AUTO_QUERY struct query *q = NULL;
	AUTO_FREE char *list = NULL;
	bool row = false;

	SHINY_TRY(store_query(store,
			      "SELECT group_concat(heap, ', ') FROM (SELECT DISTINCT heap FROM "
			      "process WHERE within ORDER BY heap)",
			      &q));
	SHINY_TRY(query_step(q, &row));
	list = row ? query_copy(q, 0) : NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
					  "--heap '%s': this session has no such objects", heap),
				"there are those of: %s", list ? list : "none");
}

/* The rows of table process are of two levels: the second one's objects lie in blocks of the first.
 * `heap`: NULL: the first; or the kind of pools whose objects are meant. */
static struct shiny_err *resolve(struct store *store, const char *which, const char *heap,
				 struct filter *out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;
	size_t size = 0, count = 0, of_heap = 0, of_level = 0, all = 0;
	char *where = NULL;
	FILE *text = mem_stream_open(&where, &size);

	err = store_query(store,
			  "SELECT id, pid, namespace_pid, role, name, heap, within FROM process "
			  "ORDER BY id",
			  &q);
	fputs("s.process IN (", text);
	QUERY_EACH (q, err) {
		all++;
		if (!query_number(q, 6) != !heap)
			continue;
		of_level++;
		if (heap && !glob_matches(heap, query_verbatim(q, 5)))
			continue;
		of_heap++;
		if (which && !meant(q, which))
			continue;
		fprintf(text, "%s%" PRId64, count ? "," : "", query_number(q, 0));
		count++;
	}
	fputs(")", text);
	mem_stream_close(text);
	if (!err && heap && !of_heap)
		err = no_heap(store, heap);
	else if (!err && which && !count)
		err = nothing_matches(store, which);
	if (err) {
		free(where);
		return err;
	}
	if (!which && count == all)
		strcpy(where, "1");
	*out = (struct filter){ .where = where,
				.processes = count,
				.level = heap ? 2 : 1,
				.whole = count == of_level };
	return NULL;
}

struct shiny_err *filter_resolve(struct store *store, const char *which, struct filter *out)
{
	return resolve(store, which, NULL, out);
}

void filter_deinit(struct filter *filter)
{
	free(filter->where);
	free(filter->blocks);
	free(filter->tags);
	*filter = (struct filter){ 0 };
}

/* ---- tags and marks ---- */

/* Returns an error that lists the names in table tag or mark. */
static struct shiny_err *no_such(struct store *store, const char *table, const char *name)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;
	AUTO_FREE char *list = NULL;

	err = query_format(store, &q,
			   "SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM %s "
			   "ORDER BY id LIMIT 12)",
			   table);
	if (!err && !(err = query_step(q, &row)) && row)
		list = query_copy(q, 0);
	if (!err)
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE, "this session has no %s '%s'", table, name),
			"there are: %s", list ? list : "none; a program sets them with shiny.h");
	return err;
}

struct shiny_err *filter_tags(struct store *store, const char *names, struct filter *filter)
{
	struct query *q = NULL;
	char *copy = mem_text(names), *save = NULL, *condition = NULL;
	bool any = false;
	struct shiny_err *err = NULL;
	size_t size = 0;
	FILE *list = mem_stream_open(&condition, &size);

	filter->tag_count = store_ids(store, "tag");
	filter->tags = mem_zero(filter->tag_count, sizeof(*filter->tags));
	for (char *name = strtok_r(copy, ",", &save); !err && name;
	     name = strtok_r(NULL, ",", &save)) {
		bool found = strcmp(name, "-") == 0;

		filter->tags[0] |= found;
		q = NULL;
		err = store_query(store, "SELECT id, name FROM tag", &q);
		QUERY_EACH (q, err) {
			uint32_t id = query_id(q, 0, filter->tag_count);
			const char *tag = query_verbatim(q, 1);

			if (id && glob_matches(name, tag))
				found = filter->tags[id] = true;
		}
		query_end(q);
		if (!err && !found)
			err = no_such(store, "tag", name);
		any = true;
	}
	if (!err && !any)
		err = no_such(store, "tag", names);
	fprintf(list, "(%s) AND s.tag IN (", filter->where);
	any = false;
	for (size_t i = 0; !err && i < filter->tag_count; i++)
		if (filter->tags[i]) {
			fprintf(list, "%s%zu", any ? "," : "", i);
			any = true;
		}
	fputs(")", list);
	free(copy);
	mem_stream_close(list);
	if (err) {
		free(condition);
		return err;
	}
	filter->blocks = condition;
	return NULL;
}

/* Finds the `nth` mark (from 1) of a name at or after `from`. *found: it exists. */
static struct shiny_err *find_mark(struct store *store, const char *name, uint64_t nth,
				   uint64_t from, bool *found, uint64_t *at)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err;

	*found = false;
	if (!nth)
		return NULL;
	err = store_query(
		store,
		"SELECT ns FROM mark WHERE name = ? AND ns >= ? ORDER BY ns, id LIMIT 1 OFFSET ?",
		&q);
	if (!err) {
		query_bind_text(q, 1, name);
		query_bind_number(q, 2, (int64_t)from);
		query_bind_number(q, 3, (int64_t)(nth - 1));
		err = query_step(q, &row);
	}
	if (!err && row) {
		*found = true;
		*at = (uint64_t)query_number(q, 0);
	}
	return err;
}

/* Finds a mark by its name, or by name and number; else reads a time. */
static struct shiny_err *find_moment(struct store *store, const char *text, uint64_t from,
				     uint64_t *at)
{
	const char *number = strrchr(text, '#');
	bool found;
	struct shiny_err *err = find_mark(store, text, 1, from, &found, at);
	char *name;
	uint64_t n;

	if (!err && !found && number && units_parse_count(number + 1, &n)) {
		name = mem_format("%.*s", (int)(number - text), text);
		err = find_mark(store, name, n, 0, &found, at);
		free(name);
	}
	if (!err && !found)
		found = units_parse_time(text, at);
	if (!err && !found && from) /* there is one, but before `from`: the caller reports that */
		err = find_mark(store, text, 1, 0, &found, at);
	return err || found ? err : no_such(store, "mark", text);
}

struct shiny_err *filter_reaches(struct store *store, const char *option, uint64_t time)
{
	uint64_t from, duration;

	SHINY_TRY(contents_kept(store, &from, &duration));
	if (time >= from)
		return NULL;
	return shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
					  "%s: %s after the start is before the events that were "
					  "kept (SHINY_KEEP)",
					  option, units_time(UNITS_BUF, time)),
				"they begin %s after the start", units_time(UNITS_BUF, from));
}

struct shiny_err *filter_between(struct store *store, const char *range, struct filter *filter)
{
	const char *dots = strstr(range, "..");
	struct shiny_err *err = NULL;
	char *from;

	if (!dots)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE,
						  "--between '%s': it takes FROM..TO", range),
					"each of them the name of a mark, or a time such as 2.5s: "
					"'load..shown', '..1s', 'shown..'");
	from = mem_format("%.*s", (int)(dots - range), range);
	if (*from)
		err = find_moment(store, from, 0, &filter->from);
	if (!err && dots[2]) {
		/* FROM and TO are one name: from each mark to the next */
		err = find_moment(store, dots + 2, filter->from + (*from != 0), &filter->to);
		if (!err && filter->to <= filter->from)
			err = shiny_err(SHINY_ERR_USAGE,
					"--between '%s': its end is not behind its beginning",
					range);
	}
	if (!err && (*from || dots[2]))
		err = filter_reaches(store, "--between", *from ? filter->from : filter->to);
	free(from);
	return err;
}

struct shiny_err *filter_load(struct store *store, const struct filter_names *names,
			      struct filter *out)
{
	SHINY_CLEANUP(filter_deinit) struct filter filter = { 0 };
	struct shiny_err *err = resolve(store, names->process, names->heap, &filter);

	if (!err && names->tags)
		err = filter_tags(store, names->tags, &filter);
	if (!err && names->between)
		err = filter_between(store, names->between, &filter);
	if (err)
		return err;
	*out = shiny_steal(filter);
	return NULL;
}

/* ---- sums ---- */

void *rows_push(void *rows_pointer, size_t *count, size_t *room, size_t size)
{
	void **rows = rows_pointer;

	if (*count == *room) {
		*room = *room ? *room * 2 : 64;
		*rows = mem_resize(*rows, *room, size);
	}
	return memset((char *)*rows + (*count)++ * size, 0, size);
}

char *query_copy(const struct query *query, int column)
{
	return query_is_null(query, column) ? NULL : mem_text(query_text(query, column));
}

struct shiny_err *session_duration(struct store *store, uint64_t *ns)
{
	return contents_number(store, "duration_ns", ns);
}
