/* SPDX-License-Identifier: Apache-2.0 */
#include "session_facts.h"

/* COUNT(*) of a whole table would read its pages past the reader's account (guard.h), and a damaged
 * table has no end. */
static const char contents[] =
	"SELECT 'processes', COUNT(id) FROM process"
	" UNION ALL SELECT 'threads', COUNT(id) FROM thread"
	" UNION ALL SELECT 'modules', COUNT(id) FROM module"
	" UNION ALL SELECT 'stacks', COUNT(id) FROM stack"
	" UNION ALL SELECT 'frames', COUNT(id) FROM frame"
	" UNION ALL SELECT 'sites', COUNT(DISTINCT NULLIF(site, 0)) FROM site_stat"
	" UNION ALL SELECT 'vtables', COUNT(id) FROM vtable"
	" UNION ALL SELECT 'events kept', COALESCE(SUM(count), 0) FROM events";
static const char names[] = "SELECT COUNT(*), CASE symbols"
			    " WHEN 'dwarf' THEN 'modules with functions, files and lines'"
			    " WHEN 'symtab' THEN 'modules with functions'"
			    " WHEN 'dynsym' THEN 'modules with exported functions only'"
			    " WHEN 'none' THEN 'modules without names'"
			    " ELSE 'modules whose file is ' || symbols END"
			    " FROM v_modules GROUP BY symbols ORDER BY 1 DESC";

static const char *const queries[FACTS] = {
	[FACT_KEYS] = "SELECT key, value, typeof(value) FROM v_session ORDER BY key",
	[FACT_CONTENTS] = contents,
	[FACT_NAMES] = names,
	[FACT_MODULES] = "SELECT path, build_id, symbols, debug_file, note FROM v_modules"
			 " ORDER BY path",
	[FACT_UNRECORDED] = "SELECT name, COUNT(*), text FROM unrecorded"
			    " GROUP BY choice, name, text ORDER BY choice, 2 DESC, 1",
	[FACT_NOTES] = "SELECT process, process_name, text FROM v_notes",
	[FACT_COUNTED] = "SELECT " STORE_SUM("count") ", COALESCE(MAX(text), name) FROM v_counters"
			 " WHERE weight <> 'loss' GROUP BY name HAVING total(count) > 0"
			 " ORDER BY 1 DESC",
	[FACT_SCHEMA] = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
			" ORDER BY type = 'view', rowid",
};

struct shiny_err *session_fact_rows(struct store *store, enum session_fact fact, struct query **out)
{
	return store_query(store, queries[fact], out);
}
