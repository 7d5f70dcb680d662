/* SPDX-License-Identifier: Apache-2.0 */
#include "module_query.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../base/mem.h"
#include "filter.h"

/* Reads rows of path, build-id and weight. Ends `q`; passes `err` on. */
static struct shiny_err *read_rows(struct query *q, struct shiny_err *err, struct module_rows *out)
{
	SHINY_CLEANUP(module_rows_deinit) struct module_rows rows = { 0 };

	QUERY_EACH (q, err) {
		*vec_push(&rows) = (struct module_row){
			.path = mem_text(query_text(q, 0)),
			.build_id = mem_text(query_text(q, 1)),
			.weight = (uint64_t)query_number(q, 2),
		};
	}
	query_end(q);
	if (!err)
		*out = shiny_steal(rows);
	return err;
}

struct shiny_err *modules_by_sites(struct store *store, struct module_rows *out)
{
	struct query *q = NULL;
	struct shiny_err *err =
		store_query(store,
			    "SELECT m.path, m.build_id, (SELECT COUNT(*) FROM site i"
			    " WHERE i.module = m.id) AS sites FROM module m"
			    " ORDER BY sites DESC, m.path",
			    &q);

	return read_rows(q, err, out);
}

struct shiny_err *modules_by_type(struct store *store, const char *type, struct module_rows *out)
{
	struct query *q = NULL;
	struct shiny_err *err =
		store_query(store,
			    "SELECT m.path, m.build_id, COALESCE(u.n, 0) FROM module m LEFT JOIN"
			    " (SELECT i.module AS module, SUM(s.allocs) AS n FROM site_stat s"
			    " JOIN type y ON y.id = s.type JOIN site i ON i.id = s.site"
			    " WHERE y.name = ? GROUP BY i.module) u ON u.module = m.id"
			    " ORDER BY COALESCE(u.n, 0) DESC, m.symbols = 'dwarf' DESC, m.id",
			    &q);

	if (!err)
		query_bind_text(q, 1, type);
	return read_rows(q, err, out);
}

struct shiny_err *module_of_id(struct store *store, uint32_t id, struct module_rows *out)
{
	struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q, "SELECT path, build_id, 0 FROM module WHERE id = %" PRIu32,
			     id);

	return read_rows(q, err, out);
}

struct shiny_err *module_of_vtable(struct store *store, uint32_t vtable, uint32_t *module,
				   uint64_t *vaddr, bool *kind, char **given)
{
	AUTO_QUERY struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT module, vaddr, type, source IN ('text', 'kind', 'pool') "
			     "OR (source = 'isa' AND module > 0) FROM vtable "
			     "WHERE id = %" PRIu32,
			     vtable);

	if (!err)
		err = query_step(q, &row);
	if (!err) {
		*module = row ? (uint32_t)query_number(q, 0) : 0;
		*vaddr = row ? (uint64_t)query_number(q, 1) : 0;
		*kind = row && query_number(q, 3);
		*given = row && !*module && query_text(q, 2) ? mem_text(query_text(q, 2)) : NULL;
	}
	return err;
}

void module_rows_deinit(struct module_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->at[i].path);
		free(rows->at[i].build_id);
	}
	free(rows->at);
	*rows = (struct module_rows){ 0 };
}

struct shiny_err *module_calls(struct store *store, const char *path, const char *build_id,
			       struct module_calls *out)
{
	SHINY_CLEANUP(module_calls_deinit) struct module_calls calls = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		store_query(store,
			    "SELECT f.vaddr, SUM(s.allocs) FROM module m"
			    " JOIN frame f ON f.module = m.id JOIN stack k ON k.frame0 = f.id"
			    " JOIN stat s ON s.stack = k.id"
			    " WHERE m.path = ? AND m.build_id = ?"
			    " GROUP BY f.vaddr ORDER BY f.vaddr",
			    &q);

	if (!err) {
		query_bind_text(q, 1, path);
		query_bind_text(q, 2, build_id);
	}
	QUERY_EACH (q, err)
		*vec_push(&calls.rows) = (struct call_blocks){
			(uint64_t)query_number(q, 0), (uint64_t)query_number(q, 1)
		};
	if (!err)
		*out = shiny_steal(calls);
	return err;
}

void module_calls_deinit(struct module_calls *calls)
{
	free(calls->rows.at);
}
