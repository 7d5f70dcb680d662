/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructed.c: see constructed.h.
 *
 * An object is known by its address and class: a class and its base at offset 0 share the address.
 * An object keeps the number of the block around it, and one bit a block says that it ended, so no
 * block needs to know its objects.
 */
#include "constructed.h"

#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../base/hash.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../../sidecar/state/objects.h"

struct object {
	uint64_t address; /* 0: the cell is empty */
	uint32_t class, thread;
	uint64_t block; /* number of the block around it; 0: none */
	bool old;       /* the block was copied by a fork */
};
struct bits {
	uint64_t *at;
	size_t words;
};
struct state { /* state of a process */
	bool begun;
	struct objects blocks;
	struct object *cells; /* open addressing; a power of two, or none */
	size_t room, count;
	struct bits ended, old_ended; /* bits by block number; copied blocks keep their parent's
				       * numbers */
};
struct mapped {
	uint32_t process;
	uint64_t start, end, loaded, unloaded;
};

struct constructed_finder {
	struct constructed_row *rows; /* class id - 1 → row */
	size_t row_count;
	struct state *states; /* process id - 1 → state */
	size_t state_count;
	VEC(struct mapped) mapped;
	char **callers; /* stack id → functions at its innermost call, one a line, or NULL */
	size_t caller_count;
	uint64_t allocations, deallocations;
};

/* ---- tables ---- */

static void set_bit(struct bits *b, uint64_t n)
{
	b->at = mem_reach(b->at, &b->words, n / 64, sizeof(*b->at), 64);
	b->at[n / 64] |= UINT64_C(1) << (n % 64);
}

static bool has_bit(const struct bits *b, uint64_t n)
{
	return n / 64 < b->words && b->at[n / 64] >> (n % 64) & 1;
}

static struct object *cell_of(const struct state *s, uint64_t address, uint32_t class)
{
	size_t i = hash_pair(address, class) & (s->room - 1);

	while (s->cells[i].address &&
	       (s->cells[i].address != address || s->cells[i].class != class))
		i = (i + 1) & (s->room - 1);
	return &s->cells[i];
}

static struct object *find_object(const struct state *s, uint64_t address, uint32_t class)
{
	struct object *cell = s->count ? cell_of(s, address, class) : NULL;

	return cell && cell->address ? cell : NULL;
}

static void put_object(struct state *s, const struct object *object)
{
	if ((s->count + 1) * 4 > s->room * 3) {
		struct object *old = s->cells;
		size_t room = s->room;

		s->room = room ? room * 2 : 256;
		s->cells = mem_zero(s->room, sizeof(*s->cells));
		for (size_t i = 0; i < room; i++)
			if (old[i].address)
				*cell_of(s, old[i].address, old[i].class) = old[i];
		free(old);
	}
	s->count++;
	*cell_of(s, object->address, object->class) = *object;
}

static void take_object(struct state *s, struct object *cell)
{
	hash_take_out(s->cells, s->room - 1, cell, address, other,
		      hash_pair(other->address, other->class) & (s->room - 1));
	s->count--;
}

/* ---- blocks ---- */

static bool was_freed(const struct state *s, const struct object *object)
{
	return object->block && has_bit(object->old ? &s->old_ended : &s->ended, object->block);
}

static uint64_t bytes_of(const struct life *life)
{
	return life->size ? life->size : 1;
}

/* Returns the process's state; its first event loads the blocks there are. */
static struct state *state_of(struct constructed_finder *f, const struct replay_process *p)
{
	struct state *s = &f->states[p->id - 1];

	if (!s->begun) {
		s->begun = true;
		replay_each(p, life)
			objects_add(&s->blocks, life->address & ~UINT64_C(7), bytes_of(life));
	}
	return s;
}

static void on_fork(void *context, const struct replay_process *parent,
		    const struct replay_process *child)
{
	struct constructed_finder *f = context;
	const struct state *from = &f->states[parent->id - 1];
	struct state *s = state_of(f, child);

	for (size_t i = 0; i < from->room; i++) {
		struct object object = from->cells[i];

		if (!object.address || was_freed(from, &object))
			continue;
		object.old = object.block != 0;
		f->rows[object.class - 1].inherited++;
		put_object(s, &object);
	}
}

static void constructed_on_birth(void *context, const struct replay_process *p,
				 const struct life *life)
{
	struct constructed_finder *f = context;
	bool begun = f->states[p->id - 1].begun;
	struct state *s = state_of(f, p);

	f->allocations++;
	if (begun)
		objects_add(&s->blocks, life->address & ~UINT64_C(7), bytes_of(life));
}

static void constructed_on_death(void *context, const struct replay_process *p,
				 const struct life *life, const struct life_death *death)
{
	struct constructed_finder *f = context;
	struct state *s;

	if (death->end == LIFE_NEVER)
		return;
	s = state_of(f, p);
	f->deallocations += death->end == LIFE_FREED || death->end == LIFE_REALLOCED;
	objects_remove(&s->blocks, life->address & ~UINT64_C(7));
	set_bit(life->inherited ? &s->old_ended : &s->ended, life->number);
}

static void put_again(struct constructed_finder *f, const struct replay_process *p,
		      const struct life *life, uint64_t address)
{
	struct state *s = state_of(f, p);

	if (!s->begun)
		return;
	objects_remove(&s->blocks, address & ~UINT64_C(7));
	objects_add(&s->blocks, life->address & ~UINT64_C(7), bytes_of(life));
}

static void on_move(void *context, const struct replay_process *p, const struct life *life,
		    uint64_t before)
{
	put_again(context, p, life, before);
}

static void constructed_on_resize(void *context, const struct replay_process *p,
				  const struct life *life, uint64_t before)
{
	(void)before;
	put_again(context, p, life, life->address);
}

/* ---- objects ---- */

static bool in_module(const struct constructed_finder *f, const struct event *e)
{
	for (size_t i = 0; i < f->mapped.count; i++) {
		const struct mapped *m = &f->mapped.at[i];

		if (m->process == e->process && e->address - m->start < m->end - m->start &&
		    e->time >= m->loaded && (!m->unloaded || e->time <= m->unloaded))
			return true;
	}
	return false;
}

static enum constructed_place place_of(struct constructed_finder *f, struct state *s,
				       const struct replay_process *p, const struct event *e,
				       struct constructed_row *row, struct object *object)
{
	uint64_t start;
	const struct life *life;

	if (e->api & SHINY_THIS_ON_STACK)
		return PLACE_STACK;
	start = objects_find(&s->blocks, e->address, e->address + 1);
	life = start ? replay_find(p, start) : NULL;
	if (life && e->address - life->address < bytes_of(life)) {
		object->block = life->number;
		object->old = life->inherited;
		row->fitting +=
			row->bytes && row->bytes <= life->size - (e->address - life->address);
		return e->address == life->address ? PLACE_START : PLACE_INSIDE;
	}
	return in_module(f, e) ? PLACE_STATIC : PLACE_ELSEWHERE;
}

/* True if the stack's call is in a constructor of the class: "a::B::B(int)" or "a::B<int>::B()" of
 * "a::B", "a::B<int>". */
static bool called_by_constructor(const struct constructed_finder *f, uint32_t stack,
				  const char *class)
{
	const char *line = stack < f->caller_count ? f->callers[stack] : NULL, *base = class, *next;
	unsigned depth = 0;
	size_t bytes = strlen(class), base_bytes;

	for (const char *c = class; *c; c++) {
		depth += *c == '<' || *c == '(';
		depth -= (*c == '>' || *c == ')') && depth;
		if (!depth && c[0] == ':' && c[1] == ':')
			base = c + 2;
	}
	base_bytes = strcspn(base, "<");
	for (; line && *line; line = *next ? next + 1 : next) {
		const char *rest = line + bytes + 2;

		next = line + strcspn(line, "\n");
		if ((size_t)(next - line) < bytes + 2 + base_bytes || strncmp(line, class, bytes) ||
		    strncmp(line + bytes, "::", 2))
			continue;
		if (!strncmp(rest, base, base_bytes) &&
		    (rest[base_bytes] == '(' || rest[base_bytes] == '<' ||
		     rest[base_bytes] == '[' || rest + base_bytes == next))
			return true;
	}
	return false;
}

static void construct(struct constructed_finder *f, struct state *s, const struct replay_process *p,
		      const struct event *e, struct constructed_row *row)
{
	struct object *there = find_object(s, e->address, e->vtable),
		      fresh = { .address = e->address, .class = e->vtable, .thread = e->thread };

	row->constructions++;
	if (there && there->thread == e->thread && !was_freed(s, there) &&
	    called_by_constructor(f, e->stack, row->name)) {
		row->delegated++;
		return;
	}
	if (there) {
		if (was_freed(s, there))
			row->freed++;
		else
			row->reused++;
		take_object(s, there);
	}
	row->places[place_of(f, s, p, e, row, &fresh)]++;
	if (fresh.address)
		put_object(s, &fresh);
}

static void on_constructor(void *context, const struct replay_process *p, const struct event *e)
{
	struct constructed_finder *f = context;
	struct constructed_row *row;
	struct object *there;
	struct state *s;

	if (!e->vtable || e->vtable > f->row_count)
		return;
	row = &f->rows[e->vtable - 1];
	s = state_of(f, p);
	if (e->kind == EVENT_CONSTRUCT) {
		construct(f, s, p, e, row);
		return;
	}
	row->destructions++;
	there = find_object(s, e->address, e->vtable);
	if (!there || was_freed(s, there)) {
		row->stray++;
		return;
	}
	row->destroyed++;
	take_object(s, there);
}

static void end_all(struct constructed_finder *f)
{
	for (size_t i = 0; i < f->state_count; i++) {
		const struct state *s = &f->states[i];

		for (size_t k = 0; k < s->room; k++) {
			const struct object *object = &s->cells[k];

			if (!object->address)
				continue;
			if (was_freed(s, object))
				f->rows[object->class - 1].freed++;
			else
				f->rows[object->class - 1].persistent++;
		}
	}
}

/* ---- loading ---- */

static struct shiny_err *load_classes(struct store *store, struct constructed_finder *f)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;

	f->row_count = store_ids(store, "class") - 1;
	f->rows = mem_zero(f->row_count + 1, sizeof(*f->rows));
	if (!f->row_count)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER, "no constructors were recorded"),
					"record with SHINY_CTORS='NAMESPACE::*', the names of the "
					"classes; the executable needs symbols");
	err = store_query(
		store,
		"SELECT id, name, bytes, constructors, destructors, unpatched, inlined FROM class",
		&q);
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, f->row_count + 1);
		struct constructed_row *r = &f->rows[id - 1];

		if (!id)
			continue;
		free(r->name);
		r->name = mem_text(query_text(q, 1));
		r->bytes = (uint64_t)query_number(q, 2);
		r->constructors = (uint64_t)query_number(q, 3);
		r->destructors = (uint64_t)query_number(q, 4);
		r->unpatched = (uint64_t)query_number(q, 5);
		r->inlined = query_number(q, 6);
	}
	for (size_t i = 0; i < f->row_count; i++)
		if (!f->rows[i].name)
			f->rows[i].name = mem_text("");
	return err;
}

static struct shiny_err *load_mappings(struct store *store, struct constructed_finder *f)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store,
		"SELECT process, start_address, end_address, loaded_ns, unloaded_ns FROM mapping",
		&q);

	QUERY_EACH (q, err)
		*vec_push(&f->mapped) =
			(struct mapped){ (uint32_t)query_number(q, 0), (uint64_t)query_number(q, 1),
					 (uint64_t)query_number(q, 2), (uint64_t)query_number(q, 3),
					 (uint64_t)query_number(q, 4) };
	return err;
}

/* Loads the function at the innermost return address of each stack, and the functions inlined
 * there. */
static struct shiny_err *load_callers(struct store *store, struct constructed_finder *f)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err;

	f->caller_count = store_ids(store, "stack");
	f->callers = mem_zero(f->caller_count, sizeof(*f->callers));
	err = store_query(store,
			  "SELECT s.id, group_concat(u.name, char(10)) FROM stack s JOIN "
			  "frame_line l ON l.frame = s.frame0 "
			  "JOIN function u ON u.id = l.function GROUP BY s.id",
			  &q);
	QUERY_EACH (q, err) {
		char **text = &f->callers[query_id(q, 0, f->caller_count)];

		free(*text);
		*text = mem_text(query_verbatim(q, 1)); /* lines, never printed */
	}
	return err;
}

static void add_up(struct constructed_row *total, const struct constructed_row *r)
{
	total->constructions += r->constructions;
	total->destructions += r->destructions;
	total->delegated += r->delegated;
	for (int i = 0; i < PLACES; i++)
		total->places[i] += r->places[i];
	total->fitting += r->fitting;
	total->destroyed += r->destroyed;
	total->reused += r->reused;
	total->freed += r->freed;
	total->persistent += r->persistent;
	total->inherited += r->inherited;
	total->stray += r->stray;
	total->constructors += r->constructors;
	total->destructors += r->destructors;
	total->unpatched += r->unpatched;
	total->inlined += r->inlined > 0 ? r->inlined : 0;
}

ORDER_BY(by_constructions, struct constructed_row, ORDER_DOWN(constructions) ?: ORDER_TEXT(name))

static void deliver(struct constructed_finder *f, const char *match, struct constructed *out)
{
	*out = (struct constructed){
		.rows = mem_zero(f->row_count + 1, sizeof(*out->rows)),
		.allocations = f->allocations,
		.deallocations = f->deallocations
	};
	for (size_t i = 0; i < f->row_count; i++) {
		struct constructed_row *r = &f->rows[i];

		if (match && *match && !text_matches(match, r->name))
			continue;
		add_up(&out->total, r);
		out->rows[out->count++] = *r;
		r->name = NULL;
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_constructions);
}

struct shiny_err *constructed_load(struct store *store, const struct filter *filter,
				   const char *match, bool progress, struct constructed *out)
{
	struct constructed_finder f = { 0 };
	struct replay_observer observer = { .context = &f,
					    .birth = constructed_on_birth,
					    .death = constructed_on_death,
					    .resize = constructed_on_resize,
					    .move = on_move,
					    .fork = on_fork,
					    .constructor = on_constructor };
	struct shiny_err *err = load_classes(store, &f);

	if (!err)
		err = load_mappings(store, &f);
	if (!err)
		err = load_callers(store, &f);
	f.state_count = store_ids(store, "process") - 1;
	f.states = mem_zero(f.state_count + 1, sizeof(*f.states));
	if (!err)
		err = replay_run(store, filter, &observer, 1,
				 progress ? "following objects" : NULL);
	if (!err) {
		end_all(&f);
		deliver(&f, match, out);
	}
	for (size_t i = 0; i < f.state_count; i++) {
		objects_deinit(&f.states[i].blocks);
		free(f.states[i].cells);
		free(f.states[i].ended.at);
		free(f.states[i].old_ended.at);
	}
	for (size_t i = 0; i < f.caller_count; i++)
		free(f.callers[i]);
	for (size_t i = 0; i < f.row_count; i++)
		free(f.rows[i].name);
	free(f.states);
	free(f.callers);
	free(f.rows);
	free(f.mapped.at);
	return err;
}

void constructed_deinit(struct constructed *c)
{
	rows_free(c->rows, c->count, name);
	*c = (struct constructed){ 0 };
}
