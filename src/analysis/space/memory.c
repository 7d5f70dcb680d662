/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../../store/contents.h"
#include "../../store/event_names.h"
#include "../replay/replay.h"
#include "../query/type_name.h"

/* The owners of one process (?1) at one of its samples (?2): view v_memory for one moment. */
static const char owners_sql[] =
	"SELECT CASE WHEN b.malloc THEN 'malloc' ELSE g.owner END AS owner, "
	"CASE WHEN b.malloc AND g.owner <> 'malloc' THEN g.owner ELSE COALESCE(g.detail, '') END "
	"AS detail, COUNT(DISTINCT g.id), "
	"SUM(CASE WHEN b.malloc THEN COALESCE(r.committed, 0) ELSE g.end_address - g.start_address "
	"- COALESCE((SELECT y.committed FROM residency y "
	"WHERE y.segment = g.id AND y.malloc = 1 AND y.ns <= ?2 ORDER BY y.ns DESC LIMIT 1), 0) "
	"END), "
	"SUM(COALESCE(r.committed, 0)), SUM(COALESCE(r.rss, 0)) AS rss, SUM(COALESCE(r.pss, 0)), "
	"SUM(COALESCE(r.private, 0)), "
	"SUM(COALESCE(r.swap, 0)), SUM(COALESCE(r.live_blocks, 0)), SUM(COALESCE(r.live_bytes, 0)) "
	"FROM segment g CROSS JOIN (SELECT 0 AS malloc UNION ALL SELECT 1) b "
	"LEFT JOIN residency r ON r.segment = g.id AND r.malloc = b.malloc AND "
	"r.ns = (SELECT MAX(x.ns) FROM residency x WHERE x.segment = g.id AND x.malloc = b.malloc "
	"AND x.ns <= ?2) "
	"WHERE g.process = ?1 AND g.born_ns <= ?2 AND (g.ended_ns = 0 OR g.ended_ns > ?2) AND "
	"(b.malloc = 0 OR r.committed > 0 OR r.rss > 0) "
	"GROUP BY 1, 2";

static void add_sums(struct memory_sums *to, const struct memory_sums *more)
{
	to->segments += more->segments;
	to->reserved += more->reserved;
	to->committed += more->committed;
	to->rss += more->rss;
	to->pss += more->pss;
	to->private += more->private;
	to->swap += more->swap;
	to->live_blocks += more->live_blocks;
	to->live_bytes += more->live_bytes;
}

/* Returns the owner with this name; NULL: there is none. */
static struct memory_owner *find_owner(const struct memory_process *p, const char *name)
{
	for (size_t i = 0; i < p->owner_count; i++)
		if (strcmp(p->owners[i].owner, name) == 0)
			return &p->owners[i];
	return NULL;
}

unsigned memory_heap(const char *owner)
{
	unsigned api = SHINY_API_COLLECTED;

	if (strcmp(owner, "malloc") == 0)
		return SHINY_API_MALLOC;
	if (strcmp(owner, "oilpan") == 0)
		return SHINY_API_COLLECTED;
	do
		api++;
	while (api < SHINY_APIS && strcmp(owner, api_name(api)) != 0);
	return api;
}

uint64_t memory_owner_total(const struct memory_process *p, const char *owner)
{
	const struct memory_owner *found = find_owner(p, owner);

	return found ? found->sums.rss : 0;
}

static void add_detail(struct memory_process *p, const char *owner, const char *detail,
		       const struct memory_sums *sums)
{
	struct memory_owner *o = find_owner(p, owner);
	struct memory_detail *d;

	if (!o) {
		o = rows_push(&p->owners, &p->owner_count, &p->owner_room, sizeof(*o));
		o->owner = mem_text(owner);
	}
	d = rows_push(&o->details, &o->count, &o->room, sizeof(*d));
	*d = (struct memory_detail){ mem_text(detail), *sums };
	add_sums(&o->sums, sums);
}

ORDER_BY(by_owner, struct memory_owner,
	 ORDER_DOWN(sums.rss) ?: ORDER_DOWN(sums.reserved) ?: ORDER_TEXT(owner))

ORDER_BY(by_detail, struct memory_detail, ORDER_DOWN(sums.rss) ?: ORDER_TEXT(detail))

static struct shiny_err *load_owners(struct store *store, struct memory_process *p)
{
	const struct memory_sums none = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, owners_sql, &q);

	if (!err) {
		query_bind_number(q, 1, p->id);
		query_bind_number(q, 2, (int64_t)p->time);
	}
	QUERY_EACH (q, err) {
		struct memory_sums sums = {
			.segments = (uint64_t)query_number(q, 2),
			.reserved = (uint64_t)query_number(q, 3),
			.committed = (uint64_t)query_number(q, 4),
			.rss = (uint64_t)query_number(q, 5),
			.pss = (uint64_t)query_number(q, 6),
			.private = (uint64_t)query_number(q, 7),
			.swap = (uint64_t)query_number(q, 8),
			.live_blocks = (uint64_t)query_number(q, 9),
			.live_bytes = (uint64_t)query_number(q, 10),
		};

		add_detail(p, query_text(q, 0), query_text(q, 1), &sums);
	}
	if (err)
		return err;
	if (!find_owner(p, "unclassified")) /* listed always, also when it is 0 */
		add_detail(p, "unclassified", "", &none);
	for (size_t i = 0; i < p->owner_count; i++)
		qsort(p->owners[i].details, p->owners[i].count, sizeof(*p->owners[i].details),
		      by_detail);
	qsort(p->owners, p->owner_count, sizeof(*p->owners), by_owner);
	return NULL;
}

static struct shiny_err *load_samples(struct store *store, const struct filter *filter,
				      enum memory_moment moment, uint64_t time,
				      struct memory_history *out)
{
	struct memory_process *p = NULL;
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		query_format(store, &q,
			     "SELECT s.process, p.pid, COALESCE(NULLIF(p.role, ''), p.name, "
			     "'(unknown)'), s.ns, s.areas, s.rss, s.pss, s.private, s.swap, "
			     "s.live_blocks, s.live_bytes FROM memory s LEFT JOIN process p ON "
			     "p.id = s.process WHERE %s ORDER BY s.process, s.ns",
			     filter->where);

	QUERY_EACH (q, err) {
		uint32_t id = (uint32_t)query_number(q, 0);
		uint64_t at = (uint64_t)query_number(q, 3), rss = (uint64_t)query_number(q, 5);
		struct memory_sample *sample;

		if (!p || p->id != id) {
			p = rows_push(&out->processes, &out->count, &out->room, sizeof(*p));
			p->name = mem_text(query_text(q, 2));
			p->id = id;
			p->pid = (uint32_t)query_number(q, 1);
			p->time = UINT64_MAX;
		}
		sample = rows_push(&p->samples, &p->sample_count, &p->sample_room, sizeof(*sample));
		*sample = (struct memory_sample){ at, rss };
		if (p->time != UINT64_MAX && ((moment == MEMORY_AT && at > time) ||
					      (moment == MEMORY_PEAK && rss <= p->sums.rss)))
			continue;
		if (moment == MEMORY_AT && at > time)
			continue;
		p->time = at;
		p->areas = (uint64_t)query_number(q, 4);
		p->sums = (struct memory_sums){ .rss = rss,
						.pss = (uint64_t)query_number(q, 6),
						.private = (uint64_t)query_number(q, 7),
						.swap = (uint64_t)query_number(q, 8),
						.live_blocks = (uint64_t)query_number(q, 9),
						.live_bytes = (uint64_t)query_number(q, 10) };
	}
	return err;
}

ORDER_BY(by_rss, struct memory_process, ORDER_DOWN(sums.rss) ?: ORDER_UP(id))

static void process_deinit(struct memory_process *p)
{
	for (size_t i = 0; i < p->owner_count; i++) {
		for (size_t k = 0; k < p->owners[i].count; k++)
			free(p->owners[i].details[k].detail);
		free(p->owners[i].details);
		free(p->owners[i].owner);
	}
	free(p->owners);
	free(p->samples);
	free(p->name);
}

static struct shiny_err *load_facts(struct store *store, struct memory_history *out)
{
	SHINY_TRY(contents_number(store, "memory_period_ns", &out->period));
	SHINY_TRY(contents_number(store, "memory_cost_ns", &out->cost));
	return contents_number(store, "duration_ns", &out->duration);
}

struct shiny_err *memory_load(struct store *store, const struct filter *filter,
			      enum memory_moment moment, uint64_t time, struct memory_history *out)
{
	SHINY_CLEANUP(memory_deinit) struct memory_history memory = { 0 };
	size_t kept = 0;
	struct shiny_err *err = load_samples(store, filter, moment, time, &memory);

	if (!err)
		err = load_facts(store, &memory);
	for (size_t i = 0; i < memory.count; i++) {
		struct memory_process p = memory.processes[i];

		if (!err && p.time != UINT64_MAX)
			err = load_owners(store, &p);
		if (err || p.time == UINT64_MAX) { /* no sample by then */
			process_deinit(&p);
			continue;
		}
		for (size_t k = 0; k < p.owner_count; k++) {
			p.sums.segments += p.owners[k].sums.segments;
			p.sums.reserved += p.owners[k].sums.reserved;
			p.sums.committed += p.owners[k].sums.committed;
		}
		memory.processes[kept++] = p;
	}
	memory.count = kept;
	if (err)
		return err;
	memory.unseen = filter->processes > kept ? filter->processes - kept : 0;
	if (kept)
		qsort(memory.processes, kept, sizeof(*memory.processes), by_rss);
	*out = shiny_steal(memory);
	return NULL;
}

void memory_deinit(struct memory_history *memory)
{
	for (size_t i = 0; i < memory->count; i++)
		process_deinit(&memory->processes[i]);
	free(memory->processes);
}

/* ---- the tree ---- */

/* The heaps: malloc's, that of the garbage collector, those beside them. */
enum { HEAPS = SHINY_APIS - SHINY_API_COLLECTED + 1 };

static unsigned heap_of(unsigned api)
{
	return api < SHINY_API_COLLECTED ? 0 : api - SHINY_API_COLLECTED + 1;
}

/* Live blocks at the time of a process's sample, by type. */
struct live_type {
	uint32_t type; /* id of table type; 0: unknown */
	uint64_t bytes[HEAPS];
};
struct live {
	uint32_t process;
	uint64_t moment;
	VEC(struct live_type) types;
	uint64_t bytes[HEAPS];
};
struct memory_count {
	struct live *replay;
	size_t live_count;
	uint64_t *moments; /* ascending, each once */
	size_t moment_count, next;
	uint32_t *index; /* type id → index of the current process's rows + 1 */
	size_t types;
};

static void count_live(struct memory_count *c, struct live *live, const struct replay_process *p,
		       const struct life *life)
{
	uint64_t bytes = life->size * replay_weight(p, life);
	uint32_t type = replay_type(p, life);
	unsigned heap = heap_of(life->api);

	type = type < c->types ? type : 0;
	if (!c->index[type]) {
		*vec_push(&live->types) = (struct live_type){ .type = type };
		c->index[type] = (uint32_t)live->types.count;
	}
	live->types.at[c->index[type] - 1].bytes[heap] += bytes;
	live->bytes[heap] += bytes;
}

static uint64_t at_moment(void *context, const struct replay *replay, uint64_t moment)
{
	struct memory_count *c = context;

	for (size_t i = 0; i < c->live_count; i++) {
		struct live *live = &c->replay[i];
		const struct replay_process *p =
			live->process && live->process <= replay->process_count
				? &replay->processes[live->process - 1]
				: NULL;

		if (live->moment != moment || !p)
			continue;
		memset(c->index, 0, c->types * sizeof(*c->index));
		replay_each(p, life) count_live(c, live, p, life);
	}
	return ++c->next < c->moment_count ? c->moments[c->next] : UINT64_MAX;
}

/* Fills in `lives`, one for each process. */
static struct shiny_err *count_lives(struct store *store, struct live *replay, size_t count)
{
	struct memory_count c = { .replay = replay,
				  .live_count = count,
				  .moments = mem_alloc((count + 1) * sizeof(*c.moments)) };
	struct replay_observer observer = { .context = &c, .moment = at_moment };
	struct filter all = { 0 };
	struct shiny_err *err;

	for (size_t i = 0; i < count; i++)
		c.moments[i] = replay[i].moment;
	qsort(c.moments, count, sizeof(*c.moments), order_numbers);
	for (size_t i = 0; i < count; i++)
		if (!c.moment_count || c.moments[c.moment_count - 1] != c.moments[i])
			c.moments[c.moment_count++] = c.moments[i];
	observer.first_moment = c.moments[0];
	c.types = store_ids(store, "type");
	c.index = mem_zero(c.types, sizeof(*c.index));
	err = filter_resolve(store, NULL, &all);
	if (!err)
		err = replay_run(store, &all, &observer, 1, NULL);
	filter_deinit(&all);
	free(c.index);
	free(c.moments);
	return err;
}

static struct shiny_err *type_names(struct store *store, bool full, char ***names, size_t *count)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT id, name, container, form, confidence, or_derived FROM type", &q);

	*count = store_ids(store, "type");
	*names = mem_zero(*count, sizeof(**names));
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, *count);

		if (id && !(*names)[id])
			(*names)[id] = type_name_block(&(struct type_text){
				.type = query_text(q, 1),
				.container = query_is_null(q, 2) ? NULL : query_text(q, 2),
				.form = query_text(q, 3),
				.confidence = query_text(q, 4),
				.derived = query_number(q, 5) != 0,
				.full = full });
	}
	return err;
}

/* Adds an owner's node with its live blocks by type, and the rest. */
static void add_live(struct tree_node *owner, uint64_t rss, const struct live *live, unsigned api,
		     char *const *names, size_t name_count)
{
	bool objects = api == SHINY_API_COLLECTED;
	struct tree_node *blocks = tree_child(owner, objects ? "live objects" : "live blocks"),
			 *rest;
	unsigned heap = heap_of(api);
	uint64_t bytes = live->bytes[heap] < rss ? live->bytes[heap] : rss;

	blocks->value = bytes;
	/* blocks never touched are not resident, and nothing says which those are: types would not
	 * add up */
	for (size_t i = 0; bytes == live->bytes[heap] && i < live->types.count; i++) {
		const struct live_type *t = &live->types.at[i];
		const char *name =
			t->type < name_count && names[t->type] ? names[t->type] : "(type unknown)";

		if (t->bytes[heap])
			tree_child(blocks, name)->value += t->bytes[heap];
	}
	rest = tree_child(owner, objects ? "not live: garbage, free memory and the heap's own data"
				      : "not live: free memory and metadata of the allocator");
	rest->value = rss - bytes;
	rest->kept = true;
}

static void add_details(struct tree_node *node, const struct memory_owner *owner)
{
	for (size_t i = 0; i < owner->count; i++) {
		const struct memory_detail *d = &owner->details[i];

		tree_child(node, *d->detail ? d->detail : "(other)")->value += d->sums.rss;
	}
}

static void add_process(struct tree_node *root, const struct memory_process *p,
			const struct live *live, const char *match, char *const *names,
			size_t name_count)
{
	char *name = mem_format("%s, pid %" PRIu32, p->name, p->pid);
	struct tree_node *process = NULL;

	for (size_t i = 0; i < p->owner_count; i++) {
		const struct memory_owner *o = &p->owners[i];
		bool unclassified = strcmp(o->owner, "unclassified") == 0;
		unsigned api = memory_heap(o->owner);
		struct tree_node *node;

		if ((match && !text_matches(match, o->owner)) || (!o->sums.rss && !unclassified))
			continue;
		process = process ? process : tree_child(root, name);
		node = tree_child(process, o->owner);
		node->value = o->sums.rss;
		node->kept = unclassified;
		process->value += o->sums.rss;
		root->value += o->sums.rss;
		if (api < SHINY_APIS && live->bytes[heap_of(api)])
			add_live(node, o->sums.rss, live, api, names, name_count);
		else if (memory_has_details(o))
			add_details(node, o);
	}
	free(name);
}

struct shiny_err *memory_tree(struct store *store, const struct memory_history *memory,
			      const char *match, double threshold, bool full,
			      struct tree_node *root)
{
	struct live *replay = mem_zero(memory->count + 1, sizeof(*replay));
	SHINY_CLEANUP(tree_deinit) struct tree_node tree = { .name = mem_text("all processes") };
	char **names = NULL;
	size_t name_count = 0;
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < memory->count; i++)
		replay[i] = (struct live){ .process = memory->processes[i].id,
					   .moment = memory->processes[i].time };
	if (memory->count)
		err = count_lives(store, replay, memory->count);
	if (!err)
		err = type_names(store, full, &names, &name_count);
	for (size_t i = 0; !err && i < memory->count; i++)
		add_process(&tree, &memory->processes[i], &replay[i], match, names, name_count);
	tree_arrange(&tree, threshold);
	for (size_t i = 0; i < memory->count; i++)
		free(replay[i].types.at);
	free(replay);
	for (size_t i = 0; i < name_count; i++)
		free(names[i]);
	free(names);
	if (err)
		return err;
	*root = shiny_steal(tree);
	return NULL;
}
