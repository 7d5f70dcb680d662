/* SPDX-License-Identifier: Apache-2.0 */
#include "site_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "type_name.h"

/* The ranks of a match between a site and a text; smaller is better. */
enum rank { RANK_ID, RANK_WHOLE, RANK_NAME, RANK_PART, RANK_NO };

/* The readings of a text. */
struct wish {
	const char *text;
	uint32_t id;         /* of "#12", else 0 */
	char *front;         /* of "front:line" and "front+0x…", else NULL */
	uint32_t line;
	uint64_t offset;     /* of "front+0x…" */
	bool at_offset;
	const char *above; /* of "front+0x… ← above", else NULL */
};

static bool number_of(const char *text, int base, uint64_t *out)
{
	char *end;

	if (!*text ||
	    strspn(text, base == 16 ? "0123456789abcdefABCDEF" : "0123456789") != strlen(text))
		return false;
	*out = strtoull(text, &end, base);
	return !*end;
}

static void wish_read(const char *text, struct wish *out)
{
	static const char arrow[] = " \xe2\x86\x90 ";
	const char *colon = strrchr(text, ':'), *above = strstr(text, arrow),
		   *plus = strrchr(text, '+');
	uint64_t number = 0;

	*out = (struct wish){.text = text};
	if (above) {
		AUTO_FREE char *front = mem_format("%.*s", (int)(above - text), text);

		wish_read(front, out);
		out->text = text;
		out->above = above + strlen(arrow);
		return;
	}
	if (*text == '#' && number_of(text + 1, 10, &number) && number <= UINT32_MAX)
		out->id = (uint32_t)number;
	else if (plus && strncmp(plus, "+0x", 3) == 0 && number_of(plus + 3, 16, &out->offset))
		out->at_offset = true;
	else if (colon && colon > text && colon[-1] != ':' && number_of(colon + 1, 10, &number) &&
		 number <= UINT32_MAX)
		out->line = (uint32_t)number;
	if (out->at_offset || out->line)
		out->front =
			mem_format("%.*s", (int)((out->at_offset ? plus : colon) - text), text);
}

/* Ranks a function's name: whole, without its arguments, or a part of it. */
static enum rank name_rank(const char *wanted, const char *name)
{
	size_t length = strlen(wanted);
	const char *found;

	if (!*name)
		return RANK_NO;
	if (strcmp(wanted, name) == 0)
		return RANK_WHOLE;
	/* "f" matches "ns::f(int)" and "f<int>(int)", not "off(int)" */
	for (found = strstr(name, wanted); found && length; found = strstr(found + 1, wanted))
		if ((found == name || strchr(": *&", found[-1])) &&
		    (!found[length] || strchr("(<[@", found[length])))
			return RANK_NAME;
	return text_matches(wanted, name) ? RANK_PART : RANK_NO;
}

static enum rank file_rank(const char *wanted, const char *path)
{
	size_t length = strlen(wanted), bytes = strlen(path);

	if (!bytes)
		return RANK_NO;
	if (strcmp(wanted, path) == 0)
		return RANK_WHOLE;
	if (bytes > length && path[bytes - length - 1] == '/' &&
	    strcmp(path + bytes - length, wanted) == 0)
		return RANK_NAME;
	return strpbrk(wanted, "*?") &&
			       (text_matches(wanted, path) || text_matches(wanted, text_base(path)))
		       ? RANK_PART
		       : RANK_NO;
}

/* Ranks a row (site, function, source, line, module, …). */
static enum rank rank_of(const struct wish *wish, const struct query *q)
{
	enum rank function, file;

	if (wish->id)
		return query_number(q, 0) == wish->id ? RANK_ID : RANK_NO;
	if (wish->at_offset)
		return RANK_NO;
	if (!wish->line)
		return name_rank(wish->text, query_text(q, 1));
	if (query_number(q, 3) != wish->line)
		return RANK_NO;
	function = name_rank(wish->front, query_text(q, 1));
	file = file_rank(wish->front, query_text(q, 2));
	return function < file ? function : file;
}

static void add_match(struct site_matches *out, const struct query *q, uint32_t frame)
{
	struct site_match *row = rows_push(&out->rows, &out->count, &out->room, sizeof(*row));

	row->label = query_copy(q, 8);
	row->file = query_copy(q, 2);
	row->module = query_copy(q, 4);
	row->site = (uint32_t)query_number(q, 0);
	row->frame = frame;
	row->line = (uint32_t)query_number(q, 3);
	row->allocs = (uint64_t)query_number(q, 6);
	row->weight = (uint64_t)query_number(q, 7);
}

ORDER_BY(heaviest_place, struct site_match, ORDER_DOWN(weight) ?: ORDER_UP(site))

#define PLACE_COLUMNS \
	"i.id, n.name, o.path, i.line, m.path, f.vaddr, g.allocs, g.weight, l.label, l.above"
#define PLACE_JOINS                                                                                \
	"JOIN site i ON i.id = g.site LEFT JOIN function n ON n.id = i.function LEFT JOIN source " \
	"o ON o.id = i.source "                                                                    \
	"LEFT JOIN module m ON m.id = i.module LEFT JOIN frame f ON f.id = i.frame "               \
	"LEFT JOIN v_site_names l ON l.site = i.id"

/* Finds sites by name, file or id. */
static struct shiny_err *find_named(struct store *store, const struct filter *filter,
				    const struct wish *wish, struct site_matches *out)
{
	enum rank best = RANK_PART;
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT " PLACE_COLUMNS
			     " FROM (SELECT s.site AS site, SUM(s.allocs) AS allocs, "
			     "SUM(s.allocs + s.inherited) AS weight FROM site_stat s WHERE s.site "
			     "AND %s GROUP BY s.site) g " PLACE_JOINS,
			     filter->where);

	QUERY_EACH (q, err) {
		enum rank rank = rank_of(wish, q);

		if (rank > best)
			continue;
		if (rank < best) {
			site_matches_deinit(out);
			*out = (struct site_matches){ 0 };
		}
		best = rank;
		add_match(out, q, 0);
	}
	return err;
}

/* Finds sites that are reached through a function that is no site itself: a wrapper, or a library's
 * function. */
static struct shiny_err *find_through(struct store *store, const struct filter *filter,
				      const struct wish *wish, struct site_matches *out)
{
	AUTO_FREE char *frames = NULL;
	size_t size = 0, count = 0;
	FILE *list = mem_stream_open(&frames, &size);
	enum rank best = RANK_PART;
	struct query *q = NULL;
	struct shiny_err *err = store_query(
		store,
		"SELECT l.frame, n.name, o.path, l.line FROM frame_line l LEFT JOIN function n ON "
		"n.id = l.function LEFT JOIN source o ON o.id = l.source",
		&q);

	QUERY_EACH (q, err) {
		enum rank rank = rank_of(wish, q);

		if (rank > best)
			continue;
		if (rank < best) { /* earlier results match less well */
			rewind(list);
			count = 0;
		}
		best = rank;
		fprintf(list, "%s%" PRId64, count++ ? "," : "", query_number(q, 0));
	}
	query_end(q);
	q = NULL;
	mem_stream_close(list);
	if (!err && count)
		err = query_format(store, &q,
				   "SELECT " PLACE_COLUMNS
				   " FROM (SELECT x.site AS site, SUM(s.allocs) AS allocs, "
				   "SUM(s.allocs + s.inherited) AS weight FROM stat s JOIN stack x "
				   "ON x.id = s.stack WHERE x.site AND %s AND (x.frame0 IN (%.*s) "
				   "OR x.frame1 IN (%.*s)) GROUP BY x.site) g " PLACE_JOINS,
				   filter->where, (int)size, frames, (int)size, frames);
	if (q)
		QUERY_EACH (q, err)
			add_match(out, q, 0);
	query_end(q);
	return err;
}

/* Finds stacks whose innermost frame, or site's frame, is at this offset of the module. */
static struct shiny_err *find_offset(struct store *store, const struct filter *filter,
				     const struct wish *wish, struct site_matches *out)
{
	struct query *q = NULL;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT " PLACE_COLUMNS
		", g.frame, h.path FROM (SELECT x.site AS site, e.id AS frame, "
		"e.module AS home, SUM(s.allocs) AS allocs, SUM(s.allocs + s.inherited) AS weight "
		"FROM frame e JOIN stack x ON x.frame0 = e.id "
		"JOIN stat s ON s.stack = x.id WHERE e.vaddr = %" PRId64
		" AND %s GROUP BY x.site, e.id) g JOIN module h ON h.id = g.home " PLACE_JOINS,
		(int64_t)wish->offset, filter->where);

	for (int inner = 1; inner >= 0 && !err && !out->count; inner--) {
		if (!inner)
			err = query_format(
				store, &q,
				"SELECT " PLACE_COLUMNS
				", 0, m.path FROM (SELECT s.site AS site, SUM(s.allocs) AS allocs, "
				"SUM(s.allocs + s.inherited) AS weight FROM site_stat s WHERE "
				"s.site AND %s GROUP BY s.site) g " PLACE_JOINS
				" WHERE f.vaddr = %" PRId64,
				filter->where, (int64_t)wish->offset);
		QUERY_EACH (q, err)
			if (file_rank(wish->front, query_text(q, 11)) != RANK_NO &&
			    (!wish->above || name_rank(wish->above, query_text(q, 9)) != RANK_NO))
				add_match(out, q, (uint32_t)query_number(q, 10));
		query_end(q);
		q = NULL;
	}
	return err;
}

struct shiny_err *site_query_find(struct store *store, const struct filter *filter,
				  const char *text, struct site_matches *out)
{
	SHINY_CLEANUP(site_matches_deinit) struct site_matches places = { 0 };
	struct wish wish = { 0 };
	struct shiny_err *err;

	wish_read(text, &wish);
	err = wish.at_offset ? find_offset(store, filter, &wish, &places)
			     : find_named(store, filter, &wish, &places);
	if (!err && !places.count && !wish.at_offset && !wish.id)
		err = find_through(store, filter, &wish, &places);
	free(wish.front);
	if (err)
		return err;
	if (places.count)
		qsort(places.rows, places.count, sizeof(*places.rows), heaviest_place);
	*out = shiny_steal(places);
	return NULL;
}

void site_matches_deinit(struct site_matches *places)
{
	for (size_t i = 0; i < places->count; i++) {
		free(places->rows[i].label);
		free(places->rows[i].file);
		free(places->rows[i].module);
	}
	free(places->rows);
}
