/* SPDX-License-Identifier: Apache-2.0 */
#include "page_data.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/attribute/groups.h"
#include "../analysis/coverage.h"
#include "../analysis/totals/losses.h"
#include "../analysis/totals/processes.h"
#include "../base/cleanup.h"
#include "../base/hash.h"
#include "../base/row_order.h"

enum { PAGE_PROCESSES = 1000 }; /* up to this many are named even without a row */

/* ---- samples ---- */

/* Returns the largest share of the session that the sample has, over all measures. */
static double weigh(const struct profile *p, const struct profile_sample *sample)
{
	double most = 0;

	for (int measure = 0; measure < MEASURES; measure++) {
		double all = (double)profile_total(p, (enum profile_measure)measure);
		double part = (double)profile_weight(sample, (enum profile_measure)measure);

		if (all > 0 && part / all > most)
			most = part / all;
	}
	return most;
}

ORDER_BY(by_weight, double, ORDER_VALUES(*b, *a))

/* Returns the weight up to which samples are folded, so that at most `most` stay; -1: none is
 * folded. */
static double fold_weight(const double *weights, size_t count, size_t most)
{
	double *sorted, limit;

	if (count <= most)
		return -1;
	sorted = mem_zero(count, sizeof(*sorted));
	memcpy(sorted, weights, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_weight);
	limit = sorted[most];
	free(sorted);
	return limit;
}

static uint32_t component_of(const struct groups *g, const struct profile_sample *sample)
{
	uint32_t group = sample->stack < g->of_count ? g->of[sample->stack] : 0;

	if (!(group & COMPONENT_ASK_TYPE))
		return group;
	if (sample->type < g->of_type_count && g->of_type[sample->type])
		return g->of_type[sample->type];
	return group & ~COMPONENT_ASK_TYPE;
}

static uint32_t add_row(struct page_samples *s, struct hash_table *table,
			const struct page_sample *key)
{
	uint64_t hash = hash_keys(hash_keys(key->process, key->type),
				  hash_keys(key->component, (uint64_t)key->stack << 2 | key->fold));
	uint32_t at = hash_table_find(
		table, hash, i,
		s->rows.at[i].process == key->process && s->rows.at[i].type == key->type &&
			s->rows.at[i].component == key->component &&
			s->rows.at[i].fold == key->fold && s->rows.at[i].stack == key->stack);

	if (at == HASH_NONE) {
		at = (uint32_t)s->rows.count;
		*vec_push(&s->rows) = *key;
		hash_table_add(table, hash, at);
	}
	return at;
}

static void add_sums(struct page_sample *row, const struct profile_sample *from)
{
	sums_add(&row->sums, &from->sums);
	row->peak += from->peak;
	row->peak_bytes += from->peak_bytes;
}

static struct page_sample without_stack(const struct page_samples *s,
					const struct profile_sample *from)
{
	return (struct page_sample){ .process = from->process,
				     .type = from->type,
				     .component = component_of(&s->components, from),
				     .fold = FOLD_STACK };
}

/*
 * For each sample: true if its process, type and component have no row of their own. The weight of
 * such a row sums all its samples, those with stacks too: so a smaller limit folds the same rows
 * and more.
 */
static bool *find_light(const struct profile *p, const struct page_samples *s, size_t most)
{
	struct page_samples all = { 0 };
	struct hash_table table = { 0 };
	uint32_t *of = mem_zero(p->sample_count + 1, sizeof(*of));
	bool *light = mem_zero(p->sample_count + 1, sizeof(*light));
	double *weights, limit;

	for (size_t i = 0; i < p->sample_count; i++) {
		struct page_sample key = without_stack(s, &p->samples[i]);

		of[i] = add_row(&all, &table, &key);
		add_sums(&all.rows.at[of[i]], &p->samples[i]);
	}
	weights = mem_zero(all.rows.count + 1, sizeof(*weights));
	for (size_t i = 0; i < all.rows.count; i++) {
		const struct page_sample *row = &all.rows.at[i];

		weights[i] = weigh(p, &(struct profile_sample){ .sums = row->sums,
								.peak = row->peak,
								.peak_bytes = row->peak_bytes });
	}
	limit = fold_weight(weights, all.rows.count, most);
	for (size_t i = 0; i < p->sample_count; i++)
		light[i] = weights[of[i]] <= limit;
	hash_table_deinit(&table);
	free(all.rows.at);
	free(weights);
	free(of);
	return light;
}

static void add_rows(const struct profile *p, const struct page_limits *limits,
		     struct page_samples *s)
{
	struct hash_table table = { 0 };
	double *weights = mem_zero(p->sample_count + 1, sizeof(*weights)), limit;
	bool *light = find_light(p, s, limits->rows);

	for (size_t i = 0; i < p->sample_count; i++)
		weights[i] = weigh(p, &p->samples[i]);
	limit = fold_weight(weights, p->sample_count, limits->stacks);
	s->kept = mem_zero(p->sample_count + 1, sizeof(*s->kept));
	s->kept[0] = add_row(s, &table, &(struct page_sample){ .fold = FOLD_STACK });
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct profile_sample *from = &p->samples[i];
		struct page_sample key = without_stack(s, from);

		if (weights[i] > limit) {
			key.stack = from->stack;
			key.fold = FOLD_NONE;
		} else if (light[i]) {
			key = (struct page_sample){ .fold = FOLD_ALL };
		}
		s->folded[key.fold]++;
		s->kept[i + 1] = add_row(s, &table, &key);
		add_sums(&s->rows.at[s->kept[i + 1]], from);
	}
	hash_table_deinit(&table);
	free(weights);
	free(light);
}

struct shiny_err *page_samples_load(struct store *store, const struct profile *p,
				    const struct page_limits *limits, struct page_samples *out)
{
	struct page_samples s = { 0 };

	SHINY_TRY(groups_load(store, GROUP_COMPONENT, false, &s.components));
	add_rows(p, limits, &s);
	*out = s;
	return NULL;
}

uint32_t *page_samples_fold(struct page_samples *s, const struct profile *p,
			    const struct page_limits *limits)
{
	struct page_samples coarse = { .components = s->components };
	uint32_t *into = mem_zero(s->rows.count, sizeof(*into));

	add_rows(p, limits, &coarse);
	for (size_t i = 0; i <= p->sample_count; i++)
		into[s->kept[i]] = coarse.kept[i];
	free(s->rows.at);
	free(s->kept);
	*s = coarse;
	return into;
}

void page_samples_deinit(struct page_samples *s)
{
	free(s->rows.at);
	free(s->kept);
	groups_deinit(&s->components);
}

/* ---- columns ---- */

/* Puts all processes; if they are more than PAGE_PROCESSES, only those of rows. */
static struct shiny_err *put_processes(struct json *json, struct store *store,
				       const struct page_samples *s)
{
	struct processes processes = { 0 };
	size_t limit = store_ids(store, "process");
	bool *named = mem_zero(limit + 1, sizeof(*named));
	struct shiny_err *err = processes_load(store, NULL, &processes);

	if (err) {
		free(named);
		return err;
	}
	for (size_t i = 0; i < s->rows.count; i++)
		if (s->rows.at[i].process <= limit)
			named[s->rows.at[i].process] = true;
	json_number(json, "process_count", processes.count);
	json_array(json, "processes");
	for (size_t i = 0; i < processes.count; i++) {
		const struct process_row *row = &processes.rows[i];

		if (processes.count > PAGE_PROCESSES && !(row->id <= limit && named[row->id]))
			continue;
		json_object_line(json, NULL);
		json_number(json, "id", row->id);
		json_number(json, "pid", row->pid);
		json_text(json, "name", *row->role ? row->role : row->name);
		json_text(json, "ending", row->ending);
		json_number(json, "start_ns", row->start);
		json_number(json, "end_ns", row->end);
		json_number(json, "peak_bytes", row->peak_bytes);
		json_end(json);
	}
	json_end(json);
	processes_deinit(&processes);
	free(named);
	return NULL;
}

/* Puts the names of types and components by id, and the facts about types. */
static struct shiny_err *put_names(struct json *json, struct store *store, const struct profile *p,
				   const struct page_samples *s)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;

	json_array(json, "types");
	for (size_t i = 0; i < p->type_limit; i++)
		json_text(json, NULL, profile_text(p, p->types[i]));
	json_end(json);
	json_array(json, "components");
	for (size_t i = 0; i < s->components.count; i++)
		json_text(json, NULL, s->components.names[i]);
	json_end(json);
	err = store_query(store, "SELECT id, confidence, rule, bytes FROM type", &q);
	json_array(json, "type_facts");
	QUERY_EACH (q, err) {
		json_array_line(json, NULL);
		json_number(json, NULL, query_id(q, 0, p->type_limit));
		json_text(json, NULL, query_text(q, 1));
		json_text(json, NULL, query_text(q, 2));
		json_number(json, NULL, (uint64_t)query_number(q, 3));
		json_end(json);
	}
	json_end(json);
	return err;
}

/* Puts the call sites of the rows, renumbered: the number of each row's site, and each site's
 * name. */
static struct shiny_err *put_sites(struct json *json, struct store *store,
				   const struct profile *p, const struct page_samples *s)
{
	struct groups sites = { 0 };
	uint32_t *number;
	VEC(uint32_t) used = { 0 };

	SHINY_TRY(groups_load(store, GROUP_SITE, false, &sites));
	number = mem_zero(sites.count + 1, sizeof(*number));
	json_array_line(json, "sample_site");
	for (size_t i = 0; i < s->rows.count; i++) {
		uint32_t stack = s->rows.at[i].stack;
		uint32_t site = stack < sites.of_count ? sites.of[stack] : 0;

		if (!number[site]) {
			*vec_push(&used) = site;
			number[site] = (uint32_t)used.count;
		}
		json_number(json, NULL, number[site] - 1);
	}
	json_end(json);
	json_array(json, "sites");
	for (size_t i = 0; i < used.count; i++)
		json_text(json, NULL, sites.names[used.at[i]]);
	json_end(json);
	free(used.at);
	free(number);
	groups_deinit(&sites);
	return NULL;
}

#define PUT_COLUMN(json, key, samples, member)                           \
	do {                                                             \
		json_array_line(json, key);                              \
		for (size_t i_ = 0; i_ < (samples)->rows.count; i_++)    \
			json_number(json, NULL, (samples)->rows.at[i_].member); \
		json_end(json);                                          \
	} while (0)

struct shiny_err *page_samples_put(struct json *json, struct store *store, const struct profile *p,
				   const struct page_samples *s)
{
	json_number(json, "folded_stacks", s->folded[FOLD_STACK]);
	json_number(json, "folded_rows", s->folded[FOLD_ALL]);
	PUT_COLUMN(json, "sample_process", s, process);
	PUT_COLUMN(json, "sample_type", s, type);
	PUT_COLUMN(json, "sample_component", s, component);
	PUT_COLUMN(json, "sample_fold", s, fold);
	PUT_COLUMN(json, "sample_allocs", s, sums.allocs);
	PUT_COLUMN(json, "sample_bytes", s, sums.bytes);
	PUT_COLUMN(json, "sample_live", s, sums.live);
	PUT_COLUMN(json, "sample_live_bytes", s, sums.live_bytes);
	PUT_COLUMN(json, "sample_peak", s, peak);
	PUT_COLUMN(json, "sample_peak_bytes", s, peak_bytes);
	SHINY_TRY(put_processes(json, store, s));
	SHINY_TRY(put_names(json, store, p, s));
	return put_sites(json, store, p, s);
}

/* Encodes a cell as a difference from the one before it; `before` of the first is all zeros. */
typedef int64_t cell_code_fn(const struct cube_cell *cell, const struct cube_cell *before);

static void put_cells(struct json *json, const char *key, const struct cube_cells *cells,
		      cell_code_fn *code)
{
	static const struct cube_cell none;
	const struct cube_cell *before = &none;

	json_array_line(json, key);
	for (size_t i = 0; i < cells->count; i++) {
		json_signed(json, NULL, code(&cells->at[i], before));
		before = &cells->at[i];
	}
	json_end(json);
}

static int64_t sample_step(const struct cube_cell *cell, const struct cube_cell *before)
{
	return (int64_t)cube_cell_sample(cell) - cube_cell_sample(before);
}

/* Cells of one sample are sorted by maker and interval: differences are small. */
static int64_t maker_step(const struct cube_cell *cell, const struct cube_cell *before)
{
	bool same = cube_cell_sample(cell) == cube_cell_sample(before);

	return cube_cell_maker(cell) - (same ? cube_cell_maker(before) : 0);
}

static int64_t interval_step(const struct cube_cell *cell, const struct cube_cell *before)
{
	bool same = cube_cell_sample(cell) == cube_cell_sample(before);

	return cube_cell_interval(cell) - (same ? cube_cell_interval(before) : 0);
}

static int64_t bin_code(const struct cube_cell *cell, const struct cube_cell *before)
{
	(void)before;
	return cube_cell_bin(cell);
}

static int64_t end_code(const struct cube_cell *cell, const struct cube_cell *before)
{
	(void)before;
	return cube_cell_end(cell);
}

static int64_t blocks_code(const struct cube_cell *cell, const struct cube_cell *before)
{
	(void)before;
	return cell->blocks;
}

/* Returns twice the size of a block if it divides the bytes, else twice the bytes, plus 1. */
static int64_t code_of(const struct cube_cell *cell)
{
	return cell->blocks && cell->bytes % cell->blocks == 0 ? cell->bytes / cell->blocks * 2
							       : cell->bytes * 2 + 1;
}

/* Blocks of a sample mostly have one size: 0 means the same code as the cell before. */
static int64_t size_code(const struct cube_cell *cell, const struct cube_cell *before)
{
	int64_t code = code_of(cell);

	if (code == code_of(before))
		return 0;
	return code >= 0 ? code + 2 : code;
}

/* Puts rows of two ids and a name, [id, name, other id], for ids that are `used`. */
static struct shiny_err *put_named(struct json *json, const char *key, struct store *store,
				   const char *sql, const bool *used, uint64_t limit)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, sql, &q);

	json_array(json, key);
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, limit);

		if (!used[id])
			continue;
		json_array_line(json, NULL);
		json_number(json, NULL, id);
		json_text(json, NULL, query_text(q, 1));
		json_number(json, NULL, (uint64_t)query_number(q, 2));
		json_end(json);
	}
	json_end(json);
	return err;
}

struct shiny_err *page_makers_put(struct json *json, struct store *store,
				  const struct page_cube *cube)
{
	size_t threads = store_ids(store, "thread"), tags = store_ids(store, "tag");
	AUTO_FREE bool *thread = mem_zero(threads + 1, sizeof(*thread));
	AUTO_FREE bool *tag = mem_zero(tags + 1, sizeof(*tag));

	json_array_line(json, "makers"); /* thread and tag of each maker */
	for (size_t i = 0; i < cube->makers.count; i++) {
		const struct cube_maker *maker = &cube->makers.at[i];

		if (maker->thread <= threads)
			thread[maker->thread] = true;
		if (maker->tag <= tags)
			tag[maker->tag] = true;
		json_number(json, NULL, maker->thread);
		json_number(json, NULL, maker->tag);
	}
	json_end(json);
	json_bool(json, "makers_folded", cube->makers_folded);
	SHINY_TRY(put_named(json, "threads", store,
			    "SELECT id, coalesce(name, ''), process FROM thread", thread,
			    threads));
	return put_named(json, "tags", store, "SELECT id, name, 0 FROM tag", tag, tags);
}

void page_cells_put(struct json *json, const char *key, const struct cube_cells *cells, bool lives)
{
	json_object(json, key);
	put_cells(json, "sample", cells, sample_step);
	put_cells(json, "maker", cells, maker_step);
	put_cells(json, "interval", cells, interval_step);
	if (lives) {
		put_cells(json, "bin", cells, bin_code);
		put_cells(json, "end", cells, end_code);
	}
	put_cells(json, "blocks", cells, blocks_code);
	put_cells(json, "size", cells, size_code);
	json_end(json);
}

/* Puts what was not seen: rows without a count. */
static void put_unseen(struct json *json, const struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->count; i++) {
		const struct finding *row = &coverage->rows[i];

		if (row->state == FINDING_OK || strcmp(row->name, "lost") == 0)
			continue;
		json_object_line(json, NULL);
		json_text(json, "name", row->name);
		json_bool(json, "loss", false);
		json_text(json, "text", row->text);
		json_text(json, "advice", row->advice);
		json_end(json);
	}
}

struct shiny_err *page_losses_put(struct json *json, struct store *store)
{
	SHINY_CLEANUP(losses_deinit) struct losses losses = { 0 };
	SHINY_CLEANUP(coverage_deinit) struct coverage coverage = { 0 };

	SHINY_TRY(losses_load(store, &losses));
	SHINY_TRY(coverage_load(store, &coverage));
	json_number(json, "sample", losses.sample);
	json_number(json, "sample_changes", losses.sample_changes);
	json_number(json, "kept_from_ns", losses.kept_from);
	json_number(json, "lost", losses.lost);
	json_bool(json, "complete", !losses.incomplete);
	json_array(json, "losses");
	for (size_t i = 0; i < losses.count; i++) {
		json_object_line(json, NULL);
		json_text(json, "name", losses.rows[i].name);
		json_bool(json, "loss", losses.rows[i].loss);
		json_number(json, "count", losses.rows[i].count);
		json_text(json, "text", losses.rows[i].text);
		json_text(json, "advice", losses.rows[i].advice);
		json_end(json);
	}
	put_unseen(json, &coverage);
	json_end(json);
	return NULL;
}
