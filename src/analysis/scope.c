/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "scope.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"

struct shiny_err *query_format(struct store *store, struct query **out, const char *format, ...)
{
	struct shiny_err *err;
	char *sql = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&sql, format, args) < 0)
		sql = NULL;
	va_end(args);
	if (!sql)
		return SHINY_NO_MEMORY;
	err = store_query(store, sql, out);
	free(sql);
	return err;
}

/* Whether the process in the current row (id, pid, namespace pid, role, name) is meant. Exact without wildcards. */
static bool meant(const struct query *q, const char *which)
{
	if (strncmp(which, "id:", 3) == 0)
		return strtoll(which + 3, NULL, 10) == query_number(q, 0);
	if (*which && strspn(which, "0123456789") == strlen(which))
		return strtoll(which, NULL, 10) == query_number(q, 1);
	for (int column = 3; column <= 4; column++)
		if (strpbrk(which, "*?") ? text_matches(which, query_text(q, column)) : strcmp(which, query_text(q, column)) == 0)
			return true;
	return false;
}

static struct shiny_err *nothing_matches(struct store *store, const char *which)
{
	struct query *q = NULL;
	char *list = NULL;
	struct shiny_err *err = store_query(store, "SELECT group_concat(w, ', ') FROM (SELECT DISTINCT COALESCE(NULLIF(role, ''), name) AS w "
						   "FROM process ORDER BY w LIMIT 12)", &q);
	bool row = false;

	if (!err)
		err = query_step(q, &row);
	if (!err && row)
		list = strdup(query_text(q, 0));
	query_end(q);
	if (err) {
		free(list);
		return err;
	}
	err = shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "--process '%s': no process of this session matches", which),
			       "there are: %s; or a pid, or id:N", list ? list : "none");
	free(list);
	return err;
}

struct shiny_err *scope_resolve(struct store *store, const char *which, struct scope *out)
{
	struct query *q = NULL;
	struct shiny_err *err;
	size_t size = 0, count = 0;
	char *where = NULL;
	bool row = false;
	FILE *text = open_memstream(&where, &size);

	if (!text)
		return SHINY_NO_MEMORY;
	err = store_query(store, "SELECT id, pid, namespace_pid, role, name FROM process ORDER BY id", &q);
	if (which)
		fputs("s.process IN (", text);
	while (!err && !(err = query_step(q, &row)) && row) {
		if (which && !meant(q, which))
			continue;
		if (which)
			fprintf(text, "%s%" PRId64, count ? "," : "", query_number(q, 0));
		count++;
	}
	query_end(q);
	fputs(which ? ")" : "1", text);
	if (fclose(text) != 0 && !err)
		err = SHINY_NO_MEMORY;
	if (!err && which && !count)
		err = nothing_matches(store, which);
	if (err) {
		free(where);
		return err;
	}
	*out = (struct scope){.where = where, .processes = count};
	return NULL;
}

void scope_deinit(struct scope *scope)
{
	free(scope->where);
	free(scope->tags);
}

void sums_read(struct sums *sums, const struct query *query, int first)
{
	*sums = (struct sums){
		.allocs = (uint64_t)query_number(query, first), .reallocs = (uint64_t)query_number(query, first + 1),
		.frees = (uint64_t)query_number(query, first + 2), .bytes = (uint64_t)query_number(query, first + 3),
		.live = (uint64_t)query_number(query, first + 4), .live_bytes = (uint64_t)query_number(query, first + 5),
		.inherited = (uint64_t)query_number(query, first + 6), .inherited_bytes = (uint64_t)query_number(query, first + 7),
		.gone = (uint64_t)query_number(query, first + 8), .gone_bytes = (uint64_t)query_number(query, first + 9),
	};
}

void sums_add(struct sums *to, const struct sums *more)
{
	to->allocs += more->allocs;
	to->reallocs += more->reallocs;
	to->frees += more->frees;
	to->bytes += more->bytes;
	to->live += more->live;
	to->live_bytes += more->live_bytes;
	to->inherited += more->inherited;
	to->inherited_bytes += more->inherited_bytes;
	to->gone += more->gone;
	to->gone_bytes += more->gone_bytes;
}

uint64_t sums_by(const struct sums *sums, enum order order, uint64_t peak)
{
	switch (order) {
	case ORDER_BYTES:
		return sums->bytes;
	case ORDER_ALLOCS:
		return sums->allocs;
	case ORDER_FREES:
		return sums->frees;
	case ORDER_PEAK:
		return peak;
	default:
		return sums->live_bytes;
	}
}

void *rows_push(void *rows_pointer, size_t *count, size_t *room, size_t size)
{
	void **rows = rows_pointer;

	if (*count == *room) {
		size_t more = *room ? *room * 2 : 64;
		void *bigger = reallocarray(*rows, more, size);

		if (!bigger)
			return NULL;
		*rows = bigger;
		*room = more;
	}
	return memset((char *)*rows + (*count)++ * size, 0, size);
}

bool copy_column(const struct query *query, int column, char **out)
{
	*out = NULL;
	if (query_is_null(query, column))
		return true;
	*out = strdup(query_text(query, column));
	return *out != NULL;
}

struct shiny_err *session_duration(struct store *store, uint64_t *ns)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err = store_query(store, "SELECT value FROM session WHERE key = 'duration_ns'", &q);

	if (!err)
		err = query_step(q, &row);
	*ns = !err && row ? (uint64_t)query_number(q, 0) : 0;
	query_end(q);
	return err;
}
