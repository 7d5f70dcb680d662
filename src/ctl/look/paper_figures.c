/* SPDX-License-Identifier: Apache-2.0 */
#include "paper_figures.h"

#include <stdlib.h>
#include <string.h>

#include "../../analysis/replay/replay_together.h"
#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"

void paper_deinit(struct paper *paper)
{
	for (size_t i = 0; i < paper->count; i++) {
		struct paper_file *f = &paper->files[i];

		diagnose_forget(&f->known);
		lifetimes_deinit(&f->lifetimes);
		sizes_deinit(&f->sizes);
		diagnose_deinit(&f->diagnoses);
		paper_access_deinit(&f->access);
		free(f->roles);
		free(f->moments);
	}
	free(paper->files);
}

/* ---- loading ---- */

static struct paper_role role_of(const struct streams *s, const struct streams_row *row)
{
	return (struct paper_role){ .name = row->name ? row->name : "all",
				    .sums = *row,
				    .constructions = streams_constructions(s, row),
				    .destructions = streams_destructions(s, row) };
}

static void add_roles(struct paper_file *f)
{
	const struct streams *s = &f->known.streams;

	f->all = role_of(s, &s->total);
	f->role_count = s->count;
	f->shown_roles = s->count + (s->count > 1);
	f->roles = mem_zero(s->count + 1, sizeof(*f->roles));
	for (size_t i = 0; i < s->count; i++)
		f->roles[i] = role_of(s, &s->rows[i]);
	f->roles[s->count] = f->all;
}

static void add_top(struct paper_top *top, const struct lifetimes *l, enum population p)
{
	for (size_t i = 0; i < l->count; i++) {
		uint64_t blocks = l->rows[i].population[p];
		size_t at = top->count;

		if (!blocks)
			continue;
		while (at && top->rows[at - 1].blocks < blocks)
			at--;
		if (at == PAPER_TYPES)
			continue;
		top->count += top->count < PAPER_TYPES;
		memmove(&top->rows[at + 1], &top->rows[at],
			(top->count - at - 1) * sizeof(*top->rows));
		top->rows[at] = (struct paper_type){ l->rows[i].name, blocks };
	}
}

static void add_pools(struct paper_file *f)
{
	const struct pooling *p = &f->known.pooling;

	for (unsigned i = 0; i <= PAGES_BUCKETS; i++) {
		const struct pooling_row *row = i < PAGES_BUCKETS ? &p->sizes[i].all : &p->total;

		f->pools[i] = (struct paper_pool){
			.size = i < PAGES_BUCKETS ? pages_bucket_names[i] : "all",
			.row = *row,
			.reclaimable = pooling_reclaimable(row, &row->without),
			.pooled_reclaimable = pooling_reclaimable(row, &row->with)
		};
	}
}

static void add_moments(struct paper_file *f)
{
	const struct activity *a = &f->known.activity;

	f->moment_count = a->total.count;
	f->moments = mem_zero(a->total.count + 1, sizeof(*f->moments));
	for (size_t i = 0; i < a->total.count; i++)
		f->moments[i] = (struct paper_moment){ (a->total.first + i + 1) * a->interval,
						       a->total.points[i] };
}

struct figures_ask {
	struct store *store;
	const struct filter *filter;
	bool full_names;
	struct paper_file *figures;
};

static struct shiny_err *ask_lifetimes(void *context)
{
	const struct figures_ask *ask = context;

	return lifetimes_load(ask->store, ask->filter, GROUP_TYPE, NULL, LIFETIMES_BY_BLOCKS,
			      ask->full_names, true, &ask->figures->lifetimes);
}

static struct shiny_err *ask_sizes(void *context)
{
	const struct figures_ask *ask = context;

	return sizes_load(ask->store, ask->filter, NULL, SIZES_BY_BLOCKS, ask->full_names, true,
			  &ask->figures->sizes);
}

static struct shiny_err *ask_diagnoses(void *context)
{
	const struct figures_ask *ask = context;

	unsigned flags = DIAGNOSE_HISTORY | DIAGNOSE_TYPES | DIAGNOSE_PROGRESS |
			 (ask->full_names ? DIAGNOSE_FULL_NAMES : 0);

	return diagnose_load(ask->store, ask->filter, flags, &ask->figures->known,
			     &ask->figures->diagnoses);
}

struct shiny_err *paper_figures_load(struct store *store, const struct filter *filter,
				     bool full_names, struct paper_file *out)
{
	struct figures_ask ask = { store, filter, full_names, out };
	const struct replay_task tasks[] = { { ask_diagnoses, &ask },
					     { ask_lifetimes, &ask },
					     { ask_sizes, &ask } };

	SHINY_TRY(replay_together(tasks, sizeof(tasks) / sizeof(*tasks)));
	SHINY_TRY(paper_access_load(store, filter, full_names, &out->access));
	add_roles(out);
	for (enum population p = 0; p < POPULATIONS; p++)
		add_top(&out->top[p], &out->lifetimes, p);
	add_pools(out);
	add_moments(out);
	return NULL;
}

struct shiny_err *paper_streams_load(struct store *store, const struct filter *filter,
				     struct paper_file *out)
{
	SHINY_TRY(streams_load(store, filter, true, &out->known.streams));
	add_roles(out);
	return NULL;
}

/* ---- fields ---- */

FIELD_GETTER(get_ratio, struct paper_role, real,
	     r->sums.allocations ? (double)r->constructions / (double)r->sums.allocations : 0)
FIELD_GETTER(get_session, struct paper_file, text, text_base(r->file))
FIELD_GETTER(get_utilization, struct pages, real, pages_utilization(&r->total))
FIELD_SKIP(has_no_blocks, struct sizes_octave, !r->sums.blocks)
FIELD_SKIP(knows_no_zombies, struct pages, !r->touched.processes)
FIELD_SKIP(has_no_accesses, struct paper_access, !r->cold.recorded && !r->pages_recorded)

static void get_mean(const void *row, struct field_value *out)
{
	const struct sizes_octave *octave = row;

	field_set_real(out, distribution_geometric_mean(&octave->ages));
	out->blank = !octave->ages.ended;
}

static void get_nothing(const void *row, struct field_value *out)
{
	(void)row;
	field_set_text(out, NULL);
}

static struct shiny_err *put_lifetimes(const void *part, struct json *json, const char *key,
				       void *context)
{
	const struct answer lifetimes = { .fields = lifetimes_fields, .result = part };

	(void)context;
	return answer_json_list(&lifetimes, "histogram", json, key);
}

static struct shiny_err *put_sets(const void *part, struct json *json, const char *key,
				  void *context)
{
	const struct pages *pages = part;

	(void)context;
	json_object_line(json, key);
	for (unsigned set = 1; set < PAGE_SETS; set++)
		json_number(json, page_set_names[set], pages->total.ever[set]);
	json_end(json);
	return NULL;
}

/* clang-format off */
#define ROLE struct paper_role
static const struct field role_fields[] = {
	{ FIELD_TEXT("name", ROLE, name), FIELD_NAME, .title = "role",
	  .help = "the role of the processes, or their program; all" },
	{ FIELD_COUNT("processes", ROLE, sums.processes), .help = "their number" },
	{ FIELD_COUNT("allocations", ROLE, sums.allocations), .help = "blocks of malloc" },
	{ FIELD_COUNT("deallocations", ROLE, sums.deallocations), .help = "blocks that ended" },
	{ FIELD_COUNT("collected", ROLE, sums.collected),
	  .help = "objects of a garbage collector" },
	{ FIELD_COUNT("finalized", ROLE, sums.finalized), .help = "those that ended" },
	{ FIELD_COUNT("constructions", ROLE, constructions), .help = "objects that began" },
	{ FIELD_COUNT("destructions", ROLE, destructions), .help = "objects that ended" },
	{ FIELD_WORKED_OUT("ratio", REAL, get_ratio), .title = "constructions/allocation",
	  .column_only = true },
	FIELD_LAST
};
#define ROLE_COLUMNS \
	" processes/1 allocations deallocations constructions destructions ratio/2"

#define FILE_ struct paper_file
static const struct field f6_fields[] = {
	{ FIELD_FLAG("constructors_recorded", FILE_, known.streams.recorded),
	  .help = "false: constructions and destructions are lower bounds" },
	{ FIELD_OBJECT("all", FILE_, all, role_fields), .help = "all processes" },
	{ FIELD_ROWS("roles", FILE_, roles, role_count, role_fields),
	  .help = "processes of one role" },
	FIELD_LAST
};
static const struct field top_fields[] = {
	{ FIELD_TEXT("type", struct paper_type, name), .help = "the type" },
	{ FIELD_COUNT("blocks", struct paper_type, blocks),
	  .help = "its blocks in the population" },
	FIELD_LAST
};
#define TOP(name, which, text) \
	{ FIELD_FIRST(name, FILE_, top[which].rows, top[which].count, top_fields), .help = text }
static const struct field f7_fields[] = {
	{ FIELD_COUNT("blocks", FILE_, lifetimes.total.began.blocks), .help = "all blocks" },
	{ FIELD_COUNT("destroyed", FILE_, lifetimes.total.destroyed), .help = "state D" },
	{ FIELD_COUNT("reused", FILE_, lifetimes.total.reused), .help = "state R" },
	{ FIELD_COUNT("persistent", FILE_, lifetimes.total.persistent), .help = "state P" },
	{ FIELD_GROUP(FILE_, access, paper_z_fields) },
	{ FIELD_PUT("lifetimes", FILE_, lifetimes, put_lifetimes),
	  .help = "from_ns, ended, censored and survival, as the histogram of lifetimes" },
	TOP("short", POPULATION_SHORT, "a type with most of the blocks that lived shortly"),
	TOP("middle", POPULATION_MIDDLE, "of those that lived up to half of the session"),
	TOP("tail", POPULATION_TAIL, "of those that lived longer"),
	FIELD_LAST
};
#define OCTAVE struct sizes_octave
static const struct field f8_fields[] = {
	{ FIELD_BYTES("up_to", OCTAVE, up_to), .title = "size up to",
	  .help = "the largest size" },
	{ FIELD_COUNT("blocks", OCTAVE, sums.blocks), .help = "blocks of that size" },
	{ FIELD_BAR("bar", OCTAVE, sums.blocks, FILE_, sizes.total.sums.blocks) },
	{ FIELD_WORKED_OUT("geometric_mean_ns", TIME, get_mean), .title = "lived, geometric mean",
	  .help = "the geometric mean of the lifetimes of those that ended" },
	{ FIELD_COUNT("persistent", OCTAVE, ages.censored), .help = "those that did not" },
	FIELD_LAST
};
#define PAGES struct pages
static const struct field page_zombies_fields[] = {
	{ FIELD_COUNT("blocks", PAGES, total.zombies), .help = "untouched blocks" },
	{ FIELD_BYTES("bytes", PAGES, total.zombie_bytes), .help = "their bytes" },
	{ FIELD_COUNT("pages", PAGES, total.fates[PAGE_ZOMBIE]),
	  .help = "pages with nothing else" },
	{ FIELD_COUNT("ranges", PAGES, total.fate_ranges[PAGE_ZOMBIE]),
	  .help = "ranges of 2 MiB with nothing else" },
	FIELD_LAST
};
static const struct field f9_fields[] = {
	{ FIELD_TIME("at_ns", PAGES, time), .help = "the moment of most live bytes" },
	{ FIELD_COUNT("pages", PAGES, total.pages), .help = "pages with a live byte" },
	{ FIELD_WORKED_OUT("utilization", REAL, get_utilization),
	  .help = "live bytes as a share of the pages' bytes" },
	{ FIELD_COUNT("pinned", PAGES, total.pinned),
	  .help = "pages that a single block or a few bytes keep" },
	{ FIELD_SAME_OBJECT("zombies", page_zombies_fields), .skip = knows_no_zombies,
	  .help = "state Z; null: not known" },
	{ .key = "sets", .kind = FIELD_KIND_PUT, .put = put_sets,
	  .help = "pages by the states of what lay on them" },
	FIELD_LAST
};
#define POOL struct paper_pool
static const struct field f10_fields[] = {
	{ FIELD_TEXT("size", POOL, size), .tint = TINT_NAME, .help = "sizes, or all" },
	{ FIELD_COUNT("blocks", POOL, row.blocks), .help = "blocks of these sizes" },
	{ FIELD_COUNT("calls", POOL, row.without.calls), .help = "calls of the allocator" },
	{ FIELD_COUNT("pooled_calls", POOL, row.with.calls), .title = "with pools",
	  .help = "the same with pools" },
	{ FIELD_COUNT("cycles", POOL, row.without.cycles), .help = "cycles of these calls" },
	{ FIELD_COUNT("pooled_cycles", POOL, row.with.cycles), .title = "with pools",
	  .help = "the same with pools" },
	{ FIELD_COUNT("reclaimable", POOL, reclaimable), .title = "reclaimable pages",
	  .help = "pages that are free at the end" },
	{ FIELD_COUNT("pooled_reclaimable", POOL, pooled_reclaimable), .title = "with pools",
	  .help = "the same with pools" },
	FIELD_LAST
};
#define MOMENT struct paper_moment
static const struct field f11_fields[] = {
	{ FIELD_TIME("time_ns", MOMENT, time), .help = "the end of the interval" },
	{ FIELD_COUNT("objects", MOMENT, at.live.blocks), .help = "live blocks" },
	{ FIELD_COUNT("types", MOMENT, at.types), .help = "their types" },
	{ FIELD_COUNT("pages", MOMENT, at.pages), .help = "their pages" },
	{ FIELD_COUNT("lines", MOMENT, at.lines), .help = "their cache lines" },
	FIELD_LAST
};
#define SYMPTOM(name, which) \
	{ FIELD_WORD(name, struct diagnoses, at[SYMPTOM_##which].verdict, verdict_names), \
	  .help = "yes, no or unknown" }
static const struct field f14_fields[] = {
	SYMPTOM("churn", CHURN),
	SYMPTOM("growth", GROWTH),
	SYMPTOM("utilization", UTILIZATION),
	SYMPTOM("hardware", HARDWARE),
	SYMPTOM("spikes", SPIKES),
	FIELD_LAST
};

static const struct field f6_file_fields[] = {
	{ FIELD_TEXT("file", FILE_, file), .help = "the session" },
	{ FIELD_SAME_OBJECT("F6", f6_fields), .spread = true, .help = "the four streams" },
	FIELD_LAST
};
const struct field paper_file_fields[] = {
	{ FIELD_SAME(f6_file_fields) },
	{ FIELD_ROWS("streams", FILE_, roles, shown_roles, role_fields), .column_only = true,
	  .shows = "name" ROLE_COLUMNS },
	{ FIELD_SAME_OBJECT("F7", f7_fields), .spread = true, .help = "lifetimes" },
	{ FIELD_ARRAY("F8", FILE_, sizes.octaves, f8_fields), .skip = has_no_blocks,
	  .shows = "up_to blocks bar geometric_mean_ns persistent",
	  .help = "lifetime by size: an octave of sizes" },
	{ FIELD_OBJECT("F9", FILE_, known.pages, f9_fields), .spread = true, .help = "pages" },
	{ FIELD_ARRAY("F10", FILE_, pools, f10_fields),
	  .shows = "size blocks/1 calls pooled_calls cycles/2 pooled_cycles/2 reclaimable "
		   "pooled_reclaimable",
	  .help = "pools by size, a model" },
	{ FIELD_ROWS("F11", FILE_, moments, moment_count, f11_fields),
	  .help = "what is live over time: an interval" },
	{ FIELD_OBJECT("F12", FILE_, access, paper_in_use_fields), .spread = true,
	  .skip = has_no_accesses, .help = "what is in use; null: not recorded" },
	{ FIELD_WORKED_OUT("F13", TEXT, get_nothing), .help = "null: hardware is not recorded" },
	{ FIELD_OBJECT("F14", FILE_, diagnoses, f14_fields), .help = "the verdicts of diagnose" },
	FIELD_LAST
};
const struct field paper_fields[] = {
	{ FIELD_ROWS("files", struct paper, files, count, paper_file_fields), .spread = true,
	  .help = "the session" },
	FIELD_LAST
};

static const struct field session_fields[] = { /* a session as a row of F6 */
	{ FIELD_WORKED_OUT("session", TEXT, get_session), FIELD_NAME },
	{ FIELD_GROUP(FILE_, all, role_fields) },
	FIELD_LAST
};
const struct field paper_several_fields[] = {
	{ FIELD_ROWS("files", struct paper, files, count, f6_file_fields), .spread = true,
	  .help = "a session" },
	{ FIELD_ROWS("sessions", struct paper, files, count, session_fields), .column_only = true,
	  .shows = "session" ROLE_COLUMNS },
	FIELD_LAST
};
/* clang-format on */
