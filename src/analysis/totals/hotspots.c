/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "hotspots.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../query/type_name.h"

/* Retained blocks get a row from this many blocks or bytes on: below are buffers and tables made
 * once. */
enum { STAY_BLOCKS = 16, STAY_BYTES = 64 << 10 };

#define YOUNG_SHARE 100 /* one hundredth of the session */

/* The site of the folded row. */
#define STARTUP_SITE "-1"

/* SQL of the sites whose whole stack lies in these libraries: no other frame was to be found
 * (site_index.c). */
#define STARTUP_SQL                                                                             \
	"SELECT b.site FROM site_stat b JOIN site c ON c.id = b.site JOIN module m ON "           \
	"m.id = c.module WHERE m.path GLOB '*/libc.so*' OR m.path GLOB '*/ld-linux*' OR m.path " \
	"GLOB '*/libstdc++.so*' OR m.path GLOB '*/libc++.so*' GROUP BY b.site "                  \
	"HAVING MAX(SUM(b.at_peak_bytes), SUM(b.live_bytes)) <= %5$d * COUNT(DISTINCT b.process)"

/* SQL of a block's type and call site, for rows named r with columns site and type. */
#define NAMES_SQL                                                                             \
	"y.name, y.container, y.form, y.confidence, y.or_derived, "                           \
	"COALESCE((SELECT label FROM v_site_names WHERE site = r.site), '(no stack)'), "        \
	"o.path, i.line"
#define NAMES_JOIN_SQL                                                                          \
	"LEFT JOIN type y ON y.id = r.type LEFT JOIN site i ON i.id = r.site LEFT JOIN source " \
	"o ON o.id = i.source"

/* SQL of the variances of a part of a row's blocks and of their bytes, of which the sums are not in
 * the file: as of any such part of all that the row has. */
#define PART_SQL(blocks, bytes)                                                               \
	", (SELECT CAST(" blocks " * TOTAL(t.allocs_variance) / MAX(TOTAL(t.allocs), 1) AS "     \
	"INTEGER) " OF_ROW_SQL "), (SELECT CAST(" bytes " * TOTAL(t.bytes_variance) / "          \
	"MAX(TOTAL(t.bytes), 1) AS INTEGER) " OF_ROW_SQL ")"
#define OF_ROW_SQL "FROM site_stat t WHERE t.site = r.site AND t.type = r.type"

/* Reads rows of a query: blocks, bytes, allocs, ended, site, type, then NAMES_SQL, and the
 * variances of blocks and bytes. */
static struct shiny_err *read_rows(struct store *store, const char *select,
				   struct hotspot_rows *out, uint32_t (*keys)[2])
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, select, &q);

	QUERY_EACH (q, err) {
		struct hotspot_row *r = rows_push(&out->rows, &out->count, &out->room, sizeof(*r));

		r->type = query_copy(q, 6);
		r->container = query_copy(q, 7);
		r->form = query_copy(q, 8);
		r->confidence = query_copy(q, 9);
		r->label = query_copy(q, 11);
		r->file = query_copy(q, 12);
		r->held = (struct estimated){ (uint64_t)query_number(q, 0),
					      (uint64_t)query_number(q, 1),
					      (uint64_t)query_number(q, 14),
					      (uint64_t)query_number(q, 15) };
		r->allocs = (uint64_t)query_number(q, 2);
		r->ended = (uint64_t)query_number(q, 3);
		keys[out->count - 1][0] = (uint32_t)query_number(q, 4);
		keys[out->count - 1][1] = (uint32_t)query_number(q, 5);
		r->or_derived = query_number(q, 10) != 0;
		r->line = (uint32_t)query_number(q, 13);
		r->startup = query_number(q, 4) < 0;
	}
	return err;
}

static struct shiny_err *load_rows(struct store *store, struct hotspot_rows *out,
				   uint32_t (*keys)[2], const char *format, ...) SHINY_PRINTF(4, 5);
static struct shiny_err *load_rows(struct store *store, struct hotspot_rows *out,
				   uint32_t (*keys)[2], const char *format, ...)
{
	struct shiny_err *err;
	va_list args;
	char *select;

	va_start(args, format);
	select = mem_format_list(format, args);
	va_end(args);
	err = read_rows(store, select, out, keys);
	free(select);
	return err;
}

static struct shiny_err *load_roles(struct store *store, const struct filter *filter,
				    struct hotspot_roles *out)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = query_format(store, &q,
					     "SELECT COALESCE(NULLIF(s.role, ''), s.name), "
					     "COUNT(*), SUM(s.live), SUM(s.live_bytes), "
					     "MAX(s.peak_bytes), SUM(s.allocs), "
					     "SUM(s.at_peak_bytes) FROM v_processes s "
					     "WHERE %s GROUP BY 1 ORDER BY 4 DESC, 6 DESC",
					     filter->where);

	QUERY_EACH (q, err) {
		struct hotspot_role *role =
			rows_push(&out->rows, &out->count, &out->room, sizeof(*role));

		role->name = query_copy(q, 0);
		role->processes = (uint64_t)query_number(q, 1);
		role->blocks = (uint64_t)query_number(q, 2);
		role->bytes = (uint64_t)query_number(q, 3);
		role->peak_bytes = (uint64_t)query_number(q, 4);
		role->allocs = (uint64_t)query_number(q, 5);
		role->at_peak_bytes = (uint64_t)query_number(q, 6);
	}
	return err;
}

/* Loads the rows with the most of a sum, such as live_bytes, and of its blocks. */
static struct shiny_err *load_held(struct store *store, const struct filter *filter,
				   const char *blocks, const char *bytes, struct hotspot_rows *out,
				   uint32_t (*keys)[2])
{
	return load_rows(
		store, out, keys,
		"SELECT r.held, r.bytes, r.allocs, r.ended, r.site, r.type, " NAMES_SQL
		", r.spread, r.bytes_spread FROM (SELECT s.place AS site, s.kind AS type, "
		"SUM(s.%1$s) AS held, "
		"SUM(s.%2$s) AS bytes, SUM(s.allocs + s.inherited) AS allocs, SUM(s.frees) "
		"AS ended, SUM(s.%1$s_variance) AS spread, SUM(s.%2$s_variance) AS bytes_spread "
		"FROM (SELECT *, CASE WHEN site IN (" STARTUP_SQL ") THEN " STARTUP_SITE
		" ELSE site END AS place, CASE WHEN site IN (" STARTUP_SQL
		") THEN 0 ELSE type END AS kind FROM site_stat) s "
		"WHERE %3$s GROUP BY 1, 2 HAVING held > 0 ORDER BY 4 DESC, 3 DESC LIMIT %4$d) r "
		NAMES_JOIN_SQL " ORDER BY r.bytes DESC, r.held DESC",
		blocks, bytes, filter_blocks(filter), HOTSPOTS_MOST, STARTUP_MOST);
}

static struct shiny_err *load_short_lived(struct store *store, const struct filter *filter,
					  uint64_t young, struct hotspot_rows *out,
					  uint32_t (*keys)[2])
{
	return load_rows(
		store, out, keys,
		"SELECT r.young, r.bytes, r.allocs, r.ended, r.site, r.type, " NAMES_SQL
		PART_SQL("r.young", "r.bytes") " FROM (SELECT s.site AS site, s.type AS type, "
		"SUM(s.count) FILTER (WHERE NOT s.censored AND s.bin < %" PRIu64
		") AS young, SUM(s.bytes) FILTER (WHERE NOT s.censored AND s.bin < %" PRIu64 ") "
		"AS bytes, SUM(s.count) AS allocs, SUM(s.count) FILTER (WHERE NOT s.censored) AS "
		"ended FROM lifetime s WHERE %s GROUP BY s.site, s.type "
		"HAVING young > 0 ORDER BY young DESC LIMIT %d) r " NAMES_JOIN_SQL
		" ORDER BY r.young DESC, r.bytes DESC",
		young, young, filter->where, HOTSPOTS_MOST);
}

/* The sum must not be named as a column that it sums: HAVING would take that column, of any row. */
static struct shiny_err *load_retained(struct store *store, const struct filter *filter,
				       uint64_t duration, struct hotspot_rows *out,
				       uint32_t (*keys)[2])
{
	return load_rows(
		store, out, keys,
		"SELECT r.stay, r.late_bytes, r.allocs, r.ended, r.site, r.type, " NAMES_SQL
		PART_SQL("r.stay", "r.late_bytes") " FROM (SELECT s.site AS site, s.type AS type, "
		"SUM(s.count) FILTER (WHERE s.late) AS stay, SUM(s.bytes) FILTER (WHERE s.late) AS "
		"late_bytes, SUM(s.count) AS allocs, "
		"SUM(s.count) FILTER (WHERE NOT s.censored) AS ended FROM (SELECT s.*, s.censored "
		"AND NOT p.early AND "
		"(2 << s.bin) <= (COALESCE(NULLIF(p.end_ns, 0), %" PRIu64
		") - p.start_ns) / 2 AS late FROM lifetime s JOIN process p ON p.id = s.process "
		"WHERE %s) s GROUP BY s.site, s.type HAVING (stay >= %d OR late_bytes >= %d) AND "
		"2 * COALESCE(ended, 0) < SUM(s.count) ORDER BY 4 DESC LIMIT %d) r " NAMES_JOIN_SQL
		" ORDER BY r.late_bytes DESC, r.stay DESC",
		duration, filter->where, STAY_BLOCKS, STAY_BYTES, HOTSPOTS_MOST);
}

/* Loads the end of the bin with the median of the blocks that ended. */
static struct shiny_err *load_median(struct store *store, const struct filter *filter,
				     struct hotspot_row *row, const uint32_t key[2])
{
	AUTO_QUERY struct query *q = NULL;
	uint64_t seen = 0;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT s.bin, SUM(s.count) FROM lifetime s WHERE s.site = %" PRIu32
			     " AND s.type = %" PRIu32
			     " AND NOT s.censored AND %s GROUP BY s.bin ORDER BY s.bin",
			     key[0], key[1], filter->where);

	QUERY_EACH (q, err) {
		if (2 * seen >= row->ended)
			break;
		seen += (uint64_t)query_number(q, 1);
		row->median_ns = query_number(q, 0) >= 0 && query_number(q, 0) < 63
					 ? 2ull << query_number(q, 0)
					 : UINT64_MAX;
	}
	return err;
}

static struct shiny_err *load_sums(struct store *store, const struct filter *filter, uint64_t young,
				   struct hotspots *out)
{
	struct query *q = NULL;
	bool row = false;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT SUM(s.count), SUM(s.count) FILTER (WHERE NOT s.censored), "
			     "SUM(s.count) FILTER "
			     "(WHERE NOT s.censored AND s.bin < %" PRIu64
			     "), SUM(s.bytes) FILTER (WHERE NOT s.censored AND s.bin < %" PRIu64
			     ") FROM lifetime s WHERE %s",
			     young, young, filter->where);

	if (!err && !(err = query_step(q, &row)) && row) {
		out->blocks = (uint64_t)query_number(q, 0);
		out->ended = (uint64_t)query_number(q, 1);
		out->short_lived_blocks = (uint64_t)query_number(q, 2);
		out->short_lived_bytes = (uint64_t)query_number(q, 3);
	}
	query_end(q);
	q = NULL;
	if (!err)
		err = query_format(store, &q,
				   "SELECT COUNT(*), SUM(s.live_bytes) FROM page s WHERE %s",
				   filter->where);
	if (!err && !(err = query_step(q, &row)) && row) {
		out->pages = (uint64_t)query_number(q, 0);
		out->pages_bytes = (uint64_t)query_number(q, 1);
	}
	query_end(q);
	return err;
}

struct shiny_err *hotspots_load(struct store *store, const struct filter *filter, uint64_t duration,
				bool all, struct hotspots *out)
{
	SHINY_CLEANUP(hotspots_deinit) struct hotspots hotspots = { .short_lived_ns = 1 };
	uint32_t keys[HOTSPOTS_MOST][2];
	uint64_t young = 0; /* a power of two */
	struct shiny_err *err;

	err = load_held(store, filter, "at_peak", "at_peak_bytes", &hotspots.at_peak, keys);
	if (!err)
		err = load_held(store, filter, "live", "live_bytes", &hotspots.live, keys);
	for (; hotspots.short_lived_ns * 2 <= duration / YOUNG_SHARE; young++)
		hotspots.short_lived_ns *= 2;
	if (!err && all)
		err = load_roles(store, filter, &hotspots.roles);
	if (!err && all)
		err = load_sums(store, filter, young, &hotspots);
	if (!err && all)
		err = load_retained(store, filter, duration, &hotspots.retained, keys);
	if (!err && all)
		err = load_short_lived(store, filter, young, &hotspots.short_lived, keys);
	for (size_t i = 0; !err && i < hotspots.short_lived.count; i++)
		err = load_median(store, filter, &hotspots.short_lived.rows[i], keys[i]);
	if (err)
		return err;
	*out = shiny_steal(hotspots);
	return NULL;
}

static void rows_deinit(struct hotspot_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->rows[i].type);
		free(rows->rows[i].container);
		free(rows->rows[i].form);
		free(rows->rows[i].confidence);
		free(rows->rows[i].label);
		free(rows->rows[i].file);
	}
	free(rows->rows);
}

void hotspots_deinit(struct hotspots *hotspots)
{
	rows_free(hotspots->roles.rows, hotspots->roles.count, name);
	rows_deinit(&hotspots->at_peak);
	rows_deinit(&hotspots->live);
	rows_deinit(&hotspots->short_lived);
	rows_deinit(&hotspots->retained);
}
