/* SPDX-License-Identifier: Apache-2.0 */
/* recovery_tables.c: see recovery_tables.h. */
#include "recovery_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/sample_weight.h>

#include "../base/cleanup.h"
#include "../store/contents.h"
#include "../store/event_names.h"
#include "output/carried_sums.h"
#include "process/inheritance.h"
#include "process/lifecycle.h"
#include "vm/mappings_state.h"

typedef void row_fn(struct recovery *recovery, const struct query *row);

/* Calls `each` for the rows of `sql`, whose ?1, if any, is `known`: the number of rows read
 * before. */
static struct shiny_err *each_row(struct recovery *recovery, const char *sql, size_t known,
				  row_fn *each)
{
	AUTO_QUERY struct query *query = NULL;
	struct shiny_err *err = NULL;

	SHINY_TRY(store_query(recovery->from, sql, &query));
	query_bind_number(query, 1, (int64_t)known);
	QUERY_EACH (query, err)
		each(recovery, query);
	return err;
}

static void take_module(struct recovery *recovery, const struct query *row)
{
	const char *hex = query_verbatim(row, 1);
	uint8_t id[SHINY_BUILD_ID_MAX];
	uint32_t bytes = 0;
	unsigned byte;

	for (; bytes < sizeof(id) && sscanf(hex + 2 * bytes, "%2x", &byte) == 1; bytes++)
		id[bytes] = (uint8_t)byte;
	ids_module(&recovery->session->output.ids, query_verbatim(row, 0), id, bytes);
}

static void take_frame(struct recovery *recovery, const struct query *row)
{
	struct ids *ids = &recovery->session->output.ids;

	ids_frame(ids, query_id(row, 0, ids->modules.count + 1), (uint64_t)query_number(row, 1));
}

/* The row tells a kind and a given name from a vtable. The end of a recording, which may have been
 * reached, writes the final source of a kind. */
static void take_vtable(struct recovery *recovery, const struct query *row)
{
	struct ids *ids = &recovery->session->output.ids;
	enum sym_vtable_source source = sym_vtable_source_of(query_verbatim(row, 2));
	uint32_t module = query_id(row, 0, ids->modules.count + 1);
	const char *given = query_verbatim(row, 3);

	if (!module && *given)
		ids_given(ids, source, given);
	else
		ids_vtable(ids, module, (uint64_t)query_number(row, 1),
			   source == SYM_VTABLE_KIND || source == SYM_VTABLE_TEXT ||
				   source == SYM_VTABLE_ISA);
}

static void take_tail(struct recovery *recovery, const struct query *row)
{
	size_t limit = recovery->session->output.ids.frames.count + 1,
	       id = recovery->tails.count + 1;
	struct tail *tail = vec_push(&recovery->tails);

	for (int i = 0; i < 6; i++)
		tail->frames[i] = query_id(row, i, limit);
	tail->next = query_id(row, 6, id); /* lower than its own id, so that a chain ends */
}

static void take_stack(struct recovery *recovery, const uint32_t part[7])
{
	uint32_t frames[SHINY_FRAMES_MAX + 6],
		count = 0, limit = (uint32_t)recovery->session->output.ids.frames.count;
	uint32_t next = part[6];

	for (int i = 0; i < 6; i++)
		frames[count++] = part[i];
	for (; next && next <= recovery->tails.count && count <= SHINY_FRAMES_MAX;
	     next = recovery->tails.at[next - 1].next)
		for (int i = 0; i < 6 && count < sizeof(frames) / sizeof(*frames); i++)
			frames[count++] = recovery->tails.at[next - 1].frames[i];
	while (count && !frames[count - 1])
		count--;
	for (uint32_t i = 0; i < count; i++)
		if (!frames[i] || frames[i] > limit)
			count = i; /* a damaged file */
	ids_stack(&recovery->session->output.ids, frames,
		  count < SHINY_FRAMES_MAX ? count : SHINY_FRAMES_MAX);
}

/* Takes several stacks, packed into one value. */
static void take_stacks(struct recovery *recovery, const struct query *row)
{
	uint32_t part[7];
	size_t bytes;
	const char *data = query_blob(row, 0, &bytes);

	for (; bytes >= sizeof(part); data += sizeof(part), bytes -= sizeof(part)) {
		memcpy(part, data, sizeof(part));
		take_stack(recovery, part);
	}
}

static void take_thread(struct recovery *recovery, const struct query *row)
{
	struct store_thread thread = {
		.id = (uint32_t)query_number(row, 0),
		.process = (uint32_t)query_number(row, 1),
		.tid = (uint32_t)query_number(row, 2),
		.creator = (uint32_t)query_number(row, 3),
		.name = query_verbatim(row, 4),
		.start = (uint64_t)query_number(row, 5),
		.end = (uint64_t)query_number(row, 6),
		.nested = query_number(row, 7),
	};

	recovery->session->rings.threads++;
	OUTPUT_PUT(&recovery->session->output, store_put_thread, &thread);
}

static void take_tag(struct recovery *recovery, const struct query *row)
{
	output_tag(&recovery->session->output, query_verbatim(row, 0));
}

static void take_mark(struct recovery *recovery, const struct query *row)
{
	struct store_mark mark = { .process = (uint32_t)query_number(row, 0),
				   .thread = (uint32_t)query_number(row, 1),
				   .time = (uint64_t)query_number(row, 2),
				   .name = query_verbatim(row, 3) };

	OUTPUT_PUT(&recovery->session->output, store_put_mark, &mark);
}

static void take_rate(struct recovery *recovery, const struct query *row)
{
	struct store_sample_rate rate = { .time = (uint64_t)query_number(row, 0),
					  .mean = (uint64_t)query_number(row, 1) };

	OUTPUT_PUT(&recovery->session->output, store_put_sample_rate, &rate);
}

static void take_unrecorded(struct recovery *recovery, const struct query *row)
{
	struct store_unrecorded program = {
		.parent = (uint32_t)query_number(row, 0),
		.pid = (uint32_t)query_number(row, 1),
		.name = query_verbatim(row, 2),
		.executable = query_verbatim(row, 3),
		.reason = query_verbatim(row, 4),
		.text = query_verbatim(row, 5),
		.choice = query_number(row, 6),
		.time = (uint64_t)query_number(row, 7),
	};

	OUTPUT_PUT(&recovery->session->output, store_put_unrecorded, &program);
}

static void take_note(struct recovery *recovery, const struct query *row)
{
	OUTPUT_PUT(&recovery->session->output, store_put_note, (uint32_t)query_number(row, 0),
		   query_verbatim(row, 1));
}

/* Creates a ring, which here stands for the facts that its processes have in common. */
static struct ring_file *ring_of(struct rings *rings, const struct query *row)
{
	static const char *const attach[] = { "none", "symbols", "partition_alloc", "entries" };
	struct ring_file *ring = mem_zero(1, sizeof(*ring));

	ring->fd = -1;
	ring->over = true;
	ring->sample = (uint64_t)query_number(row, 18);
	if (ring->sample > SHINY_SAMPLE_MOST)
		ring->sample = SHINY_SAMPLE_MOST;
	for (uint32_t i = 0; i < sizeof(attach) / sizeof(*attach); i++)
		if (!strcmp(query_verbatim(row, 6), attach[i]))
			ring->attach = i;
	snprintf(ring->attach_text, sizeof(ring->attach_text), "%s", query_verbatim(row, 7));
	snprintf(ring->executable, sizeof(ring->executable), "%s", query_verbatim(row, 4));
	*vec_push(&rings->all) = ring;
	return ring;
}

static struct process *parent_of(const struct people *people, const struct process *p)
{
	uint32_t id = p->parent_id;

	return p->fork_at && id && id < p->id ? people->all.at[id - 1] : NULL;
}

/* Creates a process with the facts that its row has from the start. If it is a fork of a known
 * process, it inherits from it. */
static struct process *add_process(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	struct people *people = &session->people;
	struct process *p = mem_zero(1, sizeof(*p)), *parent;
	uint32_t within;

	*vec_push(&people->all) = p;
	p->id = (uint32_t)people->all.count;
	p->slot = p->id;
	p->generation = 1;
	p->parent_id = (uint32_t)query_number(row, 1);
	p->pid = (uint32_t)query_number(row, 2);
	p->namespace_pid = (uint32_t)query_number(row, 3);
	p->pidfd = p->status = p->said = p->told = -1;
	p->executable = mem_text(query_verbatim(row, 4));
	p->command = mem_text(query_verbatim(row, 5));
	p->start = p->last = (uint64_t)query_number(row, 11);
	p->fork_at = (uint64_t)query_number(row, 15);
	parent = parent_of(people, p);
	if (parent) {
		p->forked = p->pending = true;
		p->parent_slot = p->parent_id;
		p->parent_generation = 1;
		recovery->behind |= p->fork_at < recovery->until;
		if (p->fork_at < people->next_fork)
			people->next_fork = p->fork_at;
	}
	p->ring = parent ? parent->ring : ring_of(&session->rings, row);
	within = (uint32_t)query_number(row, 16);
	p->within = within && within < p->id ? people->all.at[within - 1] : NULL;
	for (unsigned api = 0; p->within && api < SHINY_APIS; api++)
		if (!strcmp(query_verbatim(row, 17), api_name(api)))
			p->heap = (uint8_t)api;
	registry_init(&p->registry);
	stats_init(&p->stats, p->within ? &session->output.second : &session->output.total,
		   p->ring->sample);
	total_begins(p->stats.total, p->start);
	p->memory = mappings_create(people->memory, p->id);
	process_enlist(people, p);
	return p;
}

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = mem_text(value);
}

static void take_process(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	uint32_t id = query_id(row, 0, session->people.all.count + 1);
	struct process *p = id ? session->people.all.at[id - 1] : add_process(recovery, row);
	const char *ending = query_verbatim(row, 13);
	bool ended = p->end != 0;

	p->parent_id = (uint32_t)query_number(row, 1);
	recovery->behind |= !p->forked && parent_of(&session->people, p);
	set_text(&p->name, query_verbatim(row, 8));
	set_text(&p->role, query_verbatim(row, 9));
	set_text(&p->purpose, query_verbatim(row, 10));
	p->end = (uint64_t)query_number(row, 12);
	p->replaced = !strcmp(ending, "replaced");
	p->gone = p->closed = p->end != 0;
	if (!query_is_null(row, 14))
		p->status = !strcmp(ending, "killed") ? (int)query_number(row, 14)
						      : (int)query_number(row, 14) << 8;
	if (p->end && !ended)
		total_ends(p->stats.total, &p->stats.live, p->end, p->replaced);
}

/* Takes the time of a memory sample: the process ran then, whether or not it allocated. */
static void take_sample(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	uint32_t id = query_id(row, 0, session->people.all.count + 1);
	struct process *p = id ? session->people.all.at[id - 1] : NULL;
	uint64_t time = (uint64_t)query_number(row, 1);

	if (p && !p->end && time > p->last)
		p->last = time;
	if (p && time > recovery->until)
		recovery->until = time;
}

/* Takes counters that no event can restore: the library's, and lost or unknown chunks. */
static void take_counter(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	uint32_t id = query_id(row, 0, session->people.all.count + 1);
	struct process *p = id ? session->people.all.at[id - 1] : NULL;
	struct noticed *noticed = p ? &p->noticed : &session->output.noticed;
	uint64_t count = (uint64_t)query_number(row, 2), *inside;
	const char *name = query_verbatim(row, 1);

	if (!p && !session->rings.all.count)
		return;
	inside = p ? p->counters : session->rings.all.at[0]->counters;

#define SHINY_COUNTER(name_, weight, text, advice) \
	if (!strcmp(name, #name_))                 \
		inside[SHINY_COUNT_##name_] = count;
#include <shiny/wire/counters.def>
#undef SHINY_COUNTER
#define SHINY_NOTICED(name_, field, weight, unit, text, advice)                                   \
	if ((LOSS_##unit == LOSS_CHUNKS || LOSS_##unit == LOSS_UNKNOWN) && !strcmp(name, #name_)) \
		noticed->field = count;
#include "../store/noticed.def"
#undef SHINY_NOTICED
}

/* A query for the new rows of a table, of which `known` are read already. */
struct table_reading {
	const char *sql;
	size_t known;
	row_fn *each;
};

static struct shiny_err *take_each(struct recovery *recovery, const struct table_reading *readings,
				   size_t count)
{
	struct shiny_err *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		err = each_row(recovery, readings[i].sql, readings[i].known, readings[i].each);
	return err;
}

/* Takes the sums of one process, which has its parent's blocks among those that are carried. */
static void take_sums(struct recovery *recovery, const struct query *row)
{
	struct session *session = recovery->session;
	int64_t id = query_number(row, 0);
	struct process *p = NULL;
	const void *data;
	size_t bytes;

	if (id < 0 || (uint64_t)id > session->people.all.count)
		return; /* a damaged file */
	if (id) {
		p = session->people.all.at[id - 1];
		p->pending = false;
	}
	data = query_blob(row, 1, &bytes);
	if (!carried_unpack(session, p, data, bytes))
		session->output.noticed.astray++;
}

/* The sums have what began before the checkpoint. */
static void drop_beginnings(struct total *total, uint64_t until)
{
	size_t left = 0;

	total->next = UINT64_MAX;
	for (size_t i = 0; i < total->moments.count; i++) {
		struct total_moment *moment = &total->moments.at[i];

		if (!moment->part && moment->time <= until)
			continue;
		total->next = moment->time < total->next ? moment->time : total->next;
		total->moments.at[left++] = *moment;
	}
	total->moments.count = left;
}

static struct shiny_err *read_base(struct recovery *recovery, struct store_checkpoint *base)
{
	SHINY_TRY(contents_number(recovery->from, "keep_ns", &recovery->keep));
	SHINY_TRY(contents_number(recovery->from, "kept_checkpoint", &base->number));
	SHINY_TRY(contents_number(recovery->from, "kept_block", &base->block));
	return contents_number(recovery->from, "kept_from_ns", &base->time);
}

static struct shiny_err *take_base(struct recovery *recovery)
{
	struct session *session = recovery->session;

	SHINY_TRY(read_base(recovery, &recovery->base));
	if (!recovery->base.number)
		return NULL;
	recovery->until = recovery->base.time;
	SHINY_TRY(each_row(recovery,
			   "SELECT process, data FROM kept WHERE checkpoint = ?1 ORDER BY process",
			   recovery->base.number, take_sums));
	drop_beginnings(&session->output.total, recovery->base.time);
	drop_beginnings(&session->output.second, recovery->base.time);
	process_take_over(session, 0); /* finds the earliest fork that is still to come */
	return NULL;
}

/* Sets `behind` if the file begins with a checkpoint behind the events that were read. */
static struct shiny_err *look_for_base(struct recovery *recovery)
{
	struct store_checkpoint now;

	SHINY_TRY(read_base(recovery, &now));
	recovery->behind |= now.number != recovery->base.number &&
			    now.block > recovery->block + 1;
	recovery->base = now;
	return NULL;
}

struct shiny_err *recovery_take_tables(struct recovery *recovery)
{
	const struct ids *ids = &recovery->session->output.ids;
	const struct table_reading readings[] = {
		{ "SELECT path, build_id FROM module WHERE id > ?1 ORDER BY id", ids->modules.count,
		  take_module },
		{ "SELECT module, vaddr FROM frame WHERE id > ?1 ORDER BY id", ids->frames.count,
		  take_frame },
		{ "SELECT module, vaddr, source, type FROM vtable WHERE id > ?1 ORDER BY id",
		  ids->vtables.count, take_vtable },
		{ "SELECT frame0, frame1, frame2, frame3, frame4, frame5, tail FROM stack_tail "
		  "WHERE id > ?1 ORDER BY id",
		  recovery->tails.count, take_tail },
		{ "SELECT data FROM stack_waiting WHERE first > ?1 ORDER BY first",
		  ids->stacks.count, take_stacks },
		{ "SELECT id, parent, pid, namespace_pid, executable, command, attach, "
		  "attach_text, name, role, purpose, start_ns, end_ns, ending, status, forked_ns, "
		  "within, heap, sample "
		  "FROM process ORDER BY id",
		  0, take_process },
		{ "SELECT process, MAX(ns) FROM memory GROUP BY process", 0, take_sample },
		{ "SELECT process, name, count FROM counter", 0, take_counter },
		{ "SELECT name FROM tag WHERE id > ?1 ORDER BY id",
		  recovery->session->output.tags.count, take_tag },
	};

	SHINY_TRY(take_each(recovery, readings, sizeof(readings) / sizeof(*readings)));
	return recovery->block ? look_for_base(recovery) : take_base(recovery);
}

struct shiny_err *recovery_copy_tables(struct recovery *recovery)
{
	const struct table_reading readings[] = {
		{ "SELECT id, process, tid, creator, name, start_ns, end_ns, nested FROM thread "
		  "WHERE process <= ?1 ORDER BY id",
		  recovery->session->people.all.count, take_thread },
		{ "SELECT process, thread, ns, name FROM mark WHERE process <= ?1 ORDER BY id",
		  recovery->session->people.all.count, take_mark },
		{ "SELECT ns, mean FROM sample_rate ORDER BY id", 0, take_rate },
		{ "SELECT parent, pid, name, executable, reason, text, choice, ns FROM unrecorded",
		  0, take_unrecorded },
		{ "SELECT process, text FROM note WHERE process <= ?1",
		  recovery->session->people.all.count, take_note },
	};

	return take_each(recovery, readings, sizeof(readings) / sizeof(*readings));
}
