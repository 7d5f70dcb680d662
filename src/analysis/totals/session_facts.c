/* SPDX-License-Identifier: Apache-2.0 */
#include "session_facts.h"

#include <stdlib.h>

#include "../../base/mem.h"

/* COUNT(*) of a whole table would read its pages past the reader's account (guard.h), and a damaged
 * table has no end. */
static const char contents[] =
	"SELECT 'processes', COUNT(id) FROM process WHERE NOT within"
	" UNION ALL SELECT 'threads', COUNT(id) FROM thread"
	" UNION ALL SELECT 'modules', COUNT(id) FROM module"
	" UNION ALL SELECT 'stacks', COUNT(id) FROM stack"
	" UNION ALL SELECT 'frames', COUNT(id) FROM frame"
	" UNION ALL SELECT 'sites', COUNT(DISTINCT NULLIF(site, 0)) FROM site_stat"
	" UNION ALL SELECT 'vtables', COUNT(id) FROM vtable"
	" UNION ALL SELECT 'events kept', COALESCE(SUM(count), 0) FROM events";
static const char names[] = "SELECT CASE symbols"
			    " WHEN 'dwarf' THEN 'modules with functions, files and lines'"
			    " WHEN 'symtab' THEN 'modules with functions'"
			    " WHEN 'dynsym' THEN 'modules with exported functions only'"
			    " WHEN 'none' THEN 'modules without names'"
			    " ELSE 'modules whose file is ' || symbols END, COUNT(*)"
			    " FROM v_modules GROUP BY symbols ORDER BY 2 DESC";

static const struct {
	int columns;
	const char *sql;
} queries[FACTS] = {
	[FACT_KEYS] = { 3, "SELECT key, value, typeof(value) FROM v_session ORDER BY key" },
	[FACT_CONTENTS] = { 2, contents },
	[FACT_NAMES] = { 2, names },
	[FACT_MODULES] = { 5, "SELECT path, build_id, symbols, debug_file, note FROM v_modules"
			      " ORDER BY path" },
	[FACT_UNRECORDED] = { 3, "SELECT name, COUNT(*), text FROM unrecorded"
				 " GROUP BY choice, name, text ORDER BY choice, 2 DESC, 1" },
	[FACT_NOTES] = { 3, "SELECT process, process_name, text FROM v_notes" },
	[FACT_COUNTED] = { 2, "SELECT COALESCE(MAX(text), name), " STORE_SUM("count")
			      " FROM v_counters WHERE weight <> 'loss' GROUP BY name"
			      " HAVING total(count) > 0 ORDER BY 2 DESC" },
	[FACT_SCHEMA] = { 1, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
			     " ORDER BY type = 'view', rowid" },
};

struct shiny_err *session_fact_load(struct store *store, enum session_fact fact,
				    struct session_facts *out)
{
	struct query *q = NULL;
	struct shiny_err *err = store_query(store, queries[fact].sql, &q);

	QUERY_EACH (q, err) {
		struct fact_row *row = vec_push(&out->of[fact]);

		*row = (struct fact_row){ 0 };
		for (int i = 0; i < queries[fact].columns; i++) {
			row->numbers[i] = query_number(q, i);
			row->texts[i] = fact == FACT_MODULES && query_is_null(q, i)
						? NULL
						: mem_text(query_text(q, i));
		}
	}
	query_end(q);
	return err;
}

void session_facts_deinit(struct session_facts *facts)
{
	for (int fact = 0; fact < FACTS; fact++) {
		for (size_t i = 0; i < facts->of[fact].count; i++)
			for (int column = 0; column < FACT_COLUMNS; column++)
				free(facts->of[fact].at[i].texts[column]);
		free(facts->of[fact].at);
	}
}
