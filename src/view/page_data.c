/* SPDX-License-Identifier: Apache-2.0 */
#include "page_data.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/attribute/groups.h"
#include "../analysis/totals/processes.h"
#include "../base/cleanup.h"
#include "../base/hash.h"

struct page_node { /* of the tree of stacks, from the outermost function */
	uint32_t parent, line;
};
struct page_nodes {
	struct hash_table table;
	VEC(struct page_node) rows; /* [0] is the root */
};

/* ---- samples ---- */

/* How much of the session a sample is, by the measure by which it is most. */
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

static int by_weight(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a < b) - (a > b);
}

/* What a sample must weigh to keep its stack. */
static double least_weight(const struct profile *p, size_t most)
{
	double *weights = mem_zero(p->sample_count + 1, sizeof(*weights)), least = 0;

	if (p->sample_count > most) {
		for (size_t i = 0; i < p->sample_count; i++)
			weights[i] = weigh(p, &p->samples[i]);
		qsort(weights, p->sample_count, sizeof(*weights), by_weight);
		least = weights[most];
	}
	free(weights);
	return least;
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
				  hash_keys(key->component, key->merged ? 0 : key->stack + 1));
	uint32_t at = hash_table_find(
		table, hash, i,
		s->rows.at[i].process == key->process && s->rows.at[i].type == key->type &&
			s->rows.at[i].component == key->component &&
			s->rows.at[i].merged == key->merged && s->rows.at[i].stack == key->stack);

	if (at == HASH_NONE) {
		at = (uint32_t)s->rows.count;
		*vec_push(&s->rows) = *key;
		hash_table_add(table, hash, at);
	}
	return at;
}

struct shiny_err *page_samples_load(struct store *store, const struct profile *p, size_t most,
				    struct page_samples *out)
{
	struct page_samples s = { 0 };
	struct hash_table table = { 0 };
	double least = least_weight(p, most);
	struct shiny_err *err = groups_load(store, GROUP_COMPONENT, false, &s.components);

	if (err)
		return err;
	s.kept = mem_zero(p->sample_count + 1, sizeof(*s.kept));
	s.kept[0] = add_row(&s, &table, &(struct page_sample){ .merged = true });
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct profile_sample *from = &p->samples[i];
		bool merged = least > 0 && weigh(p, from) <= least;
		struct page_sample key = { .process = from->process,
					   .type = from->type,
					   .component = component_of(&s.components, from),
					   .stack = merged ? 0 : from->stack,
					   .merged = merged };
		struct page_sample *row;

		s.kept[i + 1] = add_row(&s, &table, &key);
		s.merged += merged;
		row = &s.rows.at[s.kept[i + 1]];
		sums_add(&row->sums, &from->sums);
		row->peak += from->peak;
		row->peak_bytes += from->peak_bytes;
	}
	hash_table_deinit(&table);
	*out = s;
	return NULL;
}

void page_samples_deinit(struct page_samples *s)
{
	free(s->rows.at);
	free(s->kept);
	groups_deinit(&s->components);
}

/* ---- columns ---- */

static uint32_t add_node(struct page_nodes *n, uint32_t parent, uint32_t line)
{
	uint64_t hash = hash_keys(parent, line);
	uint32_t at = hash_table_find(&n->table, hash, i,
				      n->rows.at[i].parent == parent && n->rows.at[i].line == line);

	if (at == HASH_NONE) {
		at = (uint32_t)n->rows.count;
		*vec_push(&n->rows) = (struct page_node){ parent, line };
		hash_table_add(&n->table, hash, at);
	}
	return at;
}

/* The innermost function's node of each sample: `nodes[i]`. */
static void grow_tree(const struct profile *p, const struct page_samples *s, struct page_nodes *n,
		      uint32_t *nodes)
{
	struct path_walk walk = { 0 };

	*vec_push(&n->rows) = (struct page_node){ 0, 0 };
	for (size_t i = 0; i < s->rows.count; i++) {
		stack_paths_walk(&p->code, s->rows.at[i].stack, &walk);
		nodes[i] = 0;
		for (size_t k = walk.count; k--;)
			nodes[i] = add_node(n, nodes[i], walk.at[k]);
	}
	free(walk.at);
}

/* Lines that nodes have, numbered anew, and their texts. */
static void put_tree(struct json *json, const struct profile *p, const struct page_nodes *n)
{
	uint32_t *number = mem_zero(p->code.functions.count + 1, sizeof(*number));
	VEC(uint32_t) lines = { 0 };
	struct texts texts = { 0 };

	texts_put(&texts, "");
	json_array_line(json, "node_parent");
	for (size_t i = 0; i < n->rows.count; i++)
		json_number(json, NULL, n->rows.at[i].parent);
	json_end(json);
	json_array_line(json, "node_line");
	for (size_t i = 0; i < n->rows.count; i++) {
		uint32_t line = n->rows.at[i].line;

		if (i && !number[line]) {
			*vec_push(&lines) = line;
			number[line] = (uint32_t)lines.count;
		}
		json_number(json, NULL, i ? number[line] : 0);
	}
	json_end(json);
	json_array_line(json, "lines"); /* function, file, line of each; [0] is line 1 */
	for (size_t i = 0; i < lines.count; i++) {
		const struct path_function *line = &p->code.functions.at[lines.at[i]];

		json_number(json, NULL, texts_put(&texts, profile_text(p, line->name)));
		json_number(json, NULL, texts_put(&texts, profile_text(p, line->file)));
		json_number(json, NULL, line->line);
	}
	json_end(json);
	json_array(json, "texts");
	for (size_t i = 0; i < texts.count; i++)
		json_text(json, NULL, texts.at[i]);
	json_end(json);
	texts_deinit(&texts);
	free(number);
	free(lines.at);
}

static struct shiny_err *put_processes(struct json *json, struct store *store)
{
	struct processes processes = { 0 };

	SHINY_TRY(processes_load(store, &processes));
	json_array(json, "processes");
	for (size_t i = 0; i < processes.count; i++) {
		const struct process_row *row = &processes.rows[i];

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
	return NULL;
}

/* Types and components by their ids, and what is said of types. */
static struct shiny_err *put_names(struct json *json, struct store *store, const struct profile *p,
				   const struct page_samples *s)
{
	struct query *q = NULL;
	bool row = false;
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
	while (!err && !(err = query_step(q, &row)) && row) {
		json_array_line(json, NULL);
		json_number(json, NULL, query_id(q, 0, p->type_limit));
		json_text(json, NULL, query_text(q, 1));
		json_text(json, NULL, query_text(q, 2));
		json_number(json, NULL, (uint64_t)query_number(q, 3));
		json_end(json);
	}
	json_end(json);
	query_end(q);
	return err;
}

/* Call sites: of each sample the id, and each site's name. */
static struct shiny_err *put_sites(struct json *json, struct store *store,
				   const struct profile *p, const struct page_samples *s)
{
	struct groups sites = { 0 };

	SHINY_TRY(groups_load(store, GROUP_SITE, false, &sites));
	json_array_line(json, "sample_site");
	for (size_t i = 0; i < s->rows.count; i++) {
		uint32_t stack = s->rows.at[i].stack;

		json_number(json, NULL, stack < sites.of_count ? sites.of[stack] : 0);
	}
	json_end(json);
	json_array(json, "sites");
	for (size_t i = 0; i < sites.count; i++)
		json_text(json, NULL, sites.names[i]);
	json_end(json);
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
	struct page_nodes n = { 0 };
	uint32_t *nodes = mem_zero(s->rows.count + 1, sizeof(*nodes));
	struct shiny_err *err;

	json_number(json, "merged", s->merged);
	PUT_COLUMN(json, "sample_process", s, process);
	PUT_COLUMN(json, "sample_type", s, type);
	PUT_COLUMN(json, "sample_component", s, component);
	PUT_COLUMN(json, "sample_merged", s, merged);
	PUT_COLUMN(json, "sample_allocs", s, sums.allocs);
	PUT_COLUMN(json, "sample_bytes", s, sums.bytes);
	PUT_COLUMN(json, "sample_live", s, sums.live);
	PUT_COLUMN(json, "sample_live_bytes", s, sums.live_bytes);
	PUT_COLUMN(json, "sample_peak", s, peak);
	PUT_COLUMN(json, "sample_peak_bytes", s, peak_bytes);
	grow_tree(p, s, &n, nodes);
	json_array_line(json, "sample_node");
	for (size_t i = 0; i < s->rows.count; i++)
		json_number(json, NULL, nodes[i]);
	json_end(json);
	put_tree(json, p, &n);
	err = put_processes(json, store);
	if (!err)
		err = put_names(json, store, p, s);
	if (!err)
		err = put_sites(json, store, p, s);
	hash_table_deinit(&n.table);
	free(n.rows.at);
	free(nodes);
	return err;
}

void page_cells_put(struct json *json, const char *key, const struct cube_cells *cells, bool lives)
{
	json_array_line(json, key);
	for (size_t i = 0; i < cells->rows.count; i++) {
		const struct cube_cell *cell = &cells->rows.at[i];

		json_number(json, NULL, cell->sample);
		json_number(json, NULL, cell->interval);
		if (lives) {
			json_number(json, NULL, cell->bin);
			json_number(json, NULL, cell->end);
		}
		json_signed(json, NULL, cell->blocks);
		json_signed(json, NULL, cell->bytes);
	}
	json_end(json);
}
