/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "site_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/text.h"

/* How a site's row answers to a text; smaller is better. */
enum rank { RANK_ID, RANK_WHOLE, RANK_NAME, RANK_PART, RANK_NO };

/* Meanings that a text may have. */
struct wish {
	const char *text;
	uint32_t id;         /* "#12", else 0 */
	char *front;         /* of "front:line" and "front+0x…"; NULL */
	uint32_t line;
	uint64_t offset;     /* of "front+0x…" */
	bool at_offset;
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

static struct shiny_err *wish_read(const char *text, struct wish *out)
{
	const char *colon = strrchr(text, ':'), *plus = strrchr(text, '+');
	uint64_t number = 0;

	*out = (struct wish){.text = text};
	if (*text == '#' && number_of(text + 1, 10, &number) && number <= UINT32_MAX)
		out->id = (uint32_t)number;
	else if (plus && strncmp(plus, "+0x", 3) == 0 && number_of(plus + 3, 16, &out->offset))
		out->at_offset = true;
	else if (colon && colon > text && colon[-1] != ':' && number_of(colon + 1, 10, &number) &&
		 number <= UINT32_MAX)
		out->line = (uint32_t)number;
	if (out->at_offset || out->line) {
		out->front = strndup(text, (size_t)((out->at_offset ? plus : colon) - text));
		if (!out->front)
			return SHINY_NO_MEMORY;
	}
	return NULL;
}

/* Is it the function's name: whole; without its arguments; or a part of it? */
static enum rank name_rank(const char *wanted, const char *name)
{
	size_t length = strlen(wanted);
	const char *found;

	if (!*name)
		return RANK_NO;
	if (strcmp(wanted, name) == 0)
		return RANK_WHOLE;
	/* "f" is "ns::f(int)" and "f<int>(int)", not "off(int)" */
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

/* Row: site, function, source, line, module, … */
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

static struct shiny_err *take_place(struct site_matches *out, const struct query *q, uint32_t frame)
{
	struct site_match *row = rows_push(&out->rows, &out->count, &out->room, sizeof(*row));

	if (!row || !copy_column(q, 1, &row->label) || !copy_column(q, 2, &row->file) ||
	    !copy_column(q, 4, &row->module))
		return SHINY_NO_MEMORY;
	if (!row->label &&
	    asprintf(&row->label, "%s+0x%" PRIx64, row->module ? text_base(row->module) : "",
		     (uint64_t)query_number(q, 5)) < 0) {
		row->label = NULL;
		return SHINY_NO_MEMORY;
	}
	row->site = (uint32_t)query_number(q, 0);
	row->frame = frame;
	row->line = (uint32_t)query_number(q, 3);
	row->allocs = (uint64_t)query_number(q, 6);
	row->weight = (uint64_t)query_number(q, 7);
	return NULL;
}

static int heaviest_place(const void *left, const void *right)
{
	const struct site_match *a = left, *b = right;

	return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1)
				      : (a->site > b->site) - (a->site < b->site);
}

#define PLACE_COLUMNS "i.id, n.name, o.path, i.line, m.path, f.vaddr, g.allocs, g.weight"
#define PLACE_JOINS                                                                                \
	"JOIN site i ON i.id = g.site LEFT JOIN function n ON n.id = i.function LEFT JOIN source " \
	"o ON o.id = i.source "                                                                    \
	"LEFT JOIN module m ON m.id = i.module LEFT JOIN frame f ON f.id = i.frame"

/* Sites by name, file or id. */
static struct shiny_err *find_named(struct store *store, const struct filter *filter,
				    const struct wish *wish, struct site_matches *out)
{
	enum rank best = RANK_PART;
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT " PLACE_COLUMNS
			     " FROM (SELECT s.site AS site, SUM(s.allocs) AS allocs, "
			     "SUM(s.allocs + s.inherited) AS weight FROM site_stat s WHERE s.site "
			     "AND %s GROUP BY s.site) g " PLACE_JOINS,
			     filter->where);

	while (!err && !(err = query_step(q, &row)) && row) {
		enum rank rank = rank_of(wish, q);

		if (rank > best)
			continue;
		if (rank < best) {
			site_matches_deinit(out);
			*out = (struct site_matches){ 0 };
		}
		best = rank;
		err = take_place(out, q, 0);
	}
	query_end(q);
	return err;
}

/* Sites that are reached through a function that is not anybody's site: a wrapper, a function of
 * the library. */
static struct shiny_err *find_through(struct store *store, const struct filter *filter,
				      const struct wish *wish, struct site_matches *out)
{
	char *frames = NULL;
	size_t size = 0, count = 0;
	FILE *list = open_memstream(&frames, &size);
	enum rank best = RANK_PART;
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		list ? store_query(store,
				   "SELECT l.frame, n.name, o.path, l.line FROM frame_line l LEFT "
				   "JOIN function n ON "
				   "n.id = l.function LEFT JOIN source o ON o.id = l.source",
				   &q)
		     : SHINY_NO_MEMORY;

	while (!err && !(err = query_step(q, &row)) && row) {
		enum rank rank = rank_of(wish, q);

		if (rank > best)
			continue;
		if (rank < best) { /* what was found so far is only a part of a name */
			rewind(list);
			count = 0;
		}
		best = rank;
		fprintf(list, "%s%" PRId64, count++ ? "," : "", query_number(q, 0));
	}
	query_end(q);
	q = NULL;
	if (list && fclose(list) != 0 && !err)
		err = SHINY_NO_MEMORY;
	if (!err && count)
		err = query_format(store, &q,
				   "SELECT " PLACE_COLUMNS
				   " FROM (SELECT x.site AS site, SUM(s.allocs) AS allocs, "
				   "SUM(s.allocs + s.inherited) AS weight FROM stat s JOIN stack x "
				   "ON x.id = s.stack WHERE x.site AND %s AND (x.frame0 IN (%.*s) "
				   "OR x.frame1 IN (%.*s)) GROUP BY x.site) g " PLACE_JOINS,
				   filter->where, (int)size, frames, (int)size, frames);
	while (q && !err && !(err = query_step(q, &row)) && row)
		err = take_place(out, q, 0);
	query_end(q);
	free(frames);
	return err;
}

/* Stacks whose innermost frame, or whose site's frame, is at this offset of the module. */
static struct shiny_err *find_offset(struct store *store, const struct filter *filter,
				     const struct wish *wish, struct site_matches *out)
{
	struct query *q = NULL;
	bool row = false;
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
		while (!err && !(err = query_step(q, &row)) && row)
			if (file_rank(wish->front, query_text(q, 9)) != RANK_NO)
				err = take_place(out, q, (uint32_t)query_number(q, 8));
		query_end(q);
		q = NULL;
	}
	return err;
}

struct shiny_err *site_query_find(struct store *store, const struct filter *filter,
				  const char *text, struct site_matches *out)
{
	struct site_matches places = { 0 };
	struct wish wish = { 0 };
	struct shiny_err *err = wish_read(text, &wish);

	if (!err)
		err = wish.at_offset ? find_offset(store, filter, &wish, &places)
				     : find_named(store, filter, &wish, &places);
	if (!err && !places.count && !wish.at_offset && !wish.id)
		err = find_through(store, filter, &wish, &places);
	free(wish.front);
	if (err) {
		site_matches_deinit(&places);
		return err;
	}
	if (places.count)
		qsort(places.rows, places.count, sizeof(*places.rows), heaviest_place);
	*out = places;
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

/* ---- blocks ---- */

struct block_search {
	uint64_t address;
	struct blocks_found found;
	bool no_memory;
};

static struct block_found *block_of(struct block_search *search, uint32_t process)
{
	for (size_t i = 0; i < search->found.count; i++)
		if (search->found.rows[i].process == process)
			return &search->found.rows[i];
	return NULL;
}

static void end_block(struct block_search *search, const struct event *event, uint64_t address)
{
	struct block_found *block = block_of(search, event->process);

	if (block && !block->ended && block->address == address) {
		block->ended = event->time ? event->time : 1;
		block->end_thread = event->thread;
	}
}

/* A collected object that still holds the address is the one that it was. */
static bool resized(struct block_search *search, const struct event *event)
{
	struct block_found *block = block_of(search, event->process);

	if (!block || block->ended || block->address != event->old_address ||
	    search->address < event->address ||
	    search->address - event->address >= (event->size ? event->size : 1))
		return false;
	block->address = event->address;
	block->size = event->size;
	return true;
}

static bool see(void *context, const struct event *event)
{
	struct block_search *search = context;
	struct block_found *block;

	if (event->kind == EVENT_VPTR) {
		block = block_of(search, event->process);
		if (block && !block->ended && block->address == event->address) {
			block->vtable = event->vtable;
			block->reading = event->api;
		}
		return true;
	}
	if (event->kind == EVENT_REALLOC && event->api == SHINY_API_COLLECTED &&
	    resized(search, event))
		return true;
	if (event->kind == EVENT_REALLOC)
		end_block(search, event, event->old_address);
	if (event->kind == EVENT_FREE)
		end_block(search, event, event->address);
	if (event->kind != EVENT_ALLOC && event->kind != EVENT_REALLOC)
		return true;
	if (search->address < event->address ||
	    search->address - event->address >= (event->size ? event->size : 1))
		return true;
	block = block_of(search, event->process);
	if (!block)
		block = rows_push(&search->found.rows, &search->found.count, &search->found.room,
				  sizeof(*block));
	if (!block) {
		search->no_memory = true;
		return false;
	}
	*block = (struct block_found){.process = event->process, .stack = event->stack, .thread = event->thread, .address = event->address,
				      .size = event->size, .born = event->time, .api = event->api};
	return true;
}

static int live_then_latest(const void *left, const void *right)
{
	const struct block_found *a = left, *b = right;

	if (!a->ended != !b->ended)
		return a->ended ? 1 : -1;
	return a->born != b->born ? (a->born < b->born ? 1 : -1)
				  : (a->process > b->process) - (a->process < b->process);
}

struct shiny_err *blocks_find(struct store *store, const struct filter *filter, uint64_t address,
			      struct blocks_found *out)
{
	struct block_search search = { .address = address };
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = NULL;

	/* one replay for all processes, else one for each: a session of a hundred processes is
	 * asked about one of them as a rule */
	if (strcmp(filter->where, "1") == 0) {
		err = store_each_event(store, 0, 0, UINT64_MAX, see, &search);
	} else {
		err = query_format(
			store, &q,
			"SELECT s.process FROM (SELECT id AS process FROM process) s WHERE %s",
			filter->where);
		while (!err && !(err = query_step(q, &row)) && row)
			err = store_each_event(store, (uint32_t)query_number(q, 0), 0, UINT64_MAX,
					       see, &search);
		query_end(q);
	}
	if (!err && search.no_memory)
		err = SHINY_NO_MEMORY;
	if (err) {
		blocks_deinit(&search.found);
		return err;
	}
	if (search.found.count)
		qsort(search.found.rows, search.found.count, sizeof(*search.found.rows),
		      live_then_latest);
	*out = search.found;
	return NULL;
}

void blocks_deinit(struct blocks_found *blocks)
{
	free(blocks->rows);
}

/* ---- where blocks come from ---- */

static int heaviest_origin(const void *left, const void *right)
{
	const struct type_origin *a = left, *b = right;
	uint64_t x = a->sums.allocs + a->sums.inherited, y = b->sums.allocs + b->sums.inherited;

	return x != y ? (x < y ? 1 : -1) : (a->type > b->type) - (a->type < b->type);
}

static struct shiny_err *add_origin(struct type_origins *out, const struct query *q)
{
	uint32_t type = (uint32_t)query_number(q, 2);
	struct type_origin *row = NULL;
	struct sums sums;

	sums_read(&sums, q, 14);
	for (size_t i = 0; i < out->count && !row; i++)
		if (out->rows[i].type == type)
			row = &out->rows[i];
	if (!row) { /* rows come heaviest first: this one stands for its type */
		row = rows_push(&out->rows, &out->count, &out->room, sizeof(*row));
		if (!row || !copy_column(q, 8, &row->name) || !copy_column(q, 9, &row->container) ||
		    !copy_column(q, 10, &row->form) || !copy_column(q, 11, &row->rule) ||
		    !copy_column(q, 12, &row->confidence))
			return SHINY_NO_MEMORY;
		row->stack = (uint32_t)query_number(q, 0);
		row->vtable = (uint32_t)query_number(q, 1);
		row->type = type;
		row->reading = (uint8_t)query_number(q, 3);
		row->api = (uint8_t)query_number(q, 4);
		row->least = row->least_of_all = (uint64_t)query_number(q, 5);
		row->most = row->most_of_all = (uint64_t)query_number(q, 6);
		row->step = (uint64_t)query_number(q, 7);
		row->or_derived = query_number(q, 13) != 0;
	}
	row->stacks++;
	row->least_of_all = (uint64_t)query_number(q, 5) < row->least_of_all
				    ? (uint64_t)query_number(q, 5)
				    : row->least_of_all;
	row->most_of_all = (uint64_t)query_number(q, 6) > row->most_of_all
				   ? (uint64_t)query_number(q, 6)
				   : row->most_of_all;
	sums_add(&row->sums, &sums);
	return NULL;
}

struct shiny_err *origins_load(struct store *store, const struct filter *filter,
			       const struct site_match *place, uint32_t stack, uint32_t vtable,
			       struct type_origins *out)
{
	struct type_origins origins = { 0 };
	struct query *q = NULL;
	char where[128];
	bool row = false;
	struct shiny_err *err;

	/* of several processes, the row of the heaviest one stands for all: SQLite takes bare
	 * columns beside MAX() from it */

	if (stack)
		snprintf(where, sizeof(where), "s.stack = %" PRIu32 " AND s.vtable = %" PRIu32,
			 stack, vtable);
	else if (place->frame)
		snprintf(where, sizeof(where), "x.site = %" PRIu32 " AND x.frame0 = %" PRIu32,
			 place->site, place->frame);
	else
		snprintf(where, sizeof(where), "x.site = %" PRIu32, place->site);
	err = query_format(
		store, &q,
		"SELECT s.stack, s.vtable, s.type, s.reading, s.api, s.min_size, s.max_size, "
		"s.size_step, y.name, y.container, y.form, y.rule, y.confidence, "
		"y.or_derived, " SUMS_SQL
		", MAX(s.allocs + s.inherited) FROM stat s JOIN stack x ON x.id = s.stack LEFT "
		"JOIN type y ON y.id = s.type WHERE %s AND %s "
		"GROUP BY s.stack, s.vtable, s.type ORDER BY SUM(s.allocs + s.inherited) DESC, "
		"s.stack",
		where, filter->where);
	while (!err && !(err = query_step(q, &row)) && row)
		err = add_origin(&origins, q);
	query_end(q);
	if (err) {
		origins_deinit(&origins);
		return err;
	}
	if (origins.count)
		qsort(origins.rows, origins.count, sizeof(*origins.rows), heaviest_origin);
	*out = origins;
	return NULL;
}

void origins_deinit(struct type_origins *origins)
{
	for (size_t i = 0; i < origins->count; i++) {
		free(origins->rows[i].name);
		free(origins->rows[i].container);
		free(origins->rows[i].form);
		free(origins->rows[i].rule);
		free(origins->rows[i].confidence);
	}
	free(origins->rows);
}

struct shiny_err *stack_calls_load(struct store *store, uint32_t stack, struct stack_calls *out)
{
	struct stack_calls calls = { 0 };
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = query_format(
		store, &q,
		"SELECT f.module, f.vaddr FROM v_stack_frames r JOIN frame f ON f.id = r.frame "
		"WHERE r.stack = %" PRIu32 " AND r.depth = 0 ORDER BY r.level",
		stack);

	while (!err && !(err = query_step(q, &row)) && row) {
		struct stack_call *call =
			rows_push(&calls.rows, &calls.count, &calls.room, sizeof(*call));

		if (!call) {
			err = SHINY_NO_MEMORY;
			break;
		}
		call->module = (uint32_t)query_number(q, 0);
		call->vaddr = (uint64_t)query_number(q, 1);
	}
	query_end(q);
	if (err) {
		stack_calls_deinit(&calls);
		return err;
	}
	*out = calls;
	return NULL;
}

void stack_calls_deinit(struct stack_calls *calls)
{
	free(calls->rows);
}
