/* SPDX-License-Identifier: Apache-2.0 */
/* apply.c: see apply.h. */
#include "apply.h"

#include <string.h>

#include "../process/inheritance.h"
#include "apply_block.h"
#include "apply_map.h"
#include "apply_object.h"
#include "apply_pool.h"

/* Applies what a record's time alone implies: ends, forks and counts. */
static inline void apply_time(struct session *session, const struct stream *s)
{
	struct process *p = s->process;

	total_until(&session->output.total, s->head.time);
	if (p->stats.live.left)
		total_returns(&session->output.total, &p->stats.live, s->head.time,
			      p->replaced);
	if (s->head.time > session->people.next_fork || p->pending)
		process_take_over(session,
				  s->head.time > p->fork_at ? s->head.time : p->fork_at + 1);
	if (s->head.time < session->output.applied_until)
		p->noticed.late++;
	p->events++;
	session->output.total_events++;
	if (s->head.time > p->last)
		p->last = s->head.time;
}

/* ---- the program's own calls (shiny.h) ---- */

static void apply_tag(struct stream *s)
{
	uint64_t index = s->head.size & ((1 << SHINY_LEVEL_SHIFT) - 1);

	s->level = (uint8_t)(s->head.size >> SHINY_LEVEL_SHIFT);
	s->tag = index ? indices_get(&s->process->tags, index) : 0;
	if (index && !s->tag)
		s->process->noticed.unnamed_tags++;
}

/* True if the `bytes` of a name are in the `room` bytes of a payload, and have no zero; else the
 * record is counted. */
static bool has_name(const struct stream *s, const char *name, uint32_t bytes, size_t room)
{
	bool good = bytes && bytes <= room && !memchr(name, 0, bytes);

	s->process->noticed.bad_records += !good;
	return good;
}

/* Reads the name in the payload at the head and terminates it. False: it is malformed. */
static bool read_name(const struct stream *s, uint32_t *index, char name[SHINY_TAG_NAME_MAX + 1])
{
	struct {
		struct shiny_tag tag;
		char name[SHINY_TAG_NAME_MAX];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in));

	if (!has_name(s, in.name, in.tag.name_bytes, bytes - sizeof(in.tag)))
		return false;
	*index = in.tag.index;
	memcpy(name, in.name, in.tag.name_bytes);
	name[in.tag.name_bytes] = '\0';
	return true;
}

static void apply_tag_name(struct output *output, struct stream *s)
{
	char name[SHINY_TAG_NAME_MAX + 1];
	uint32_t index;

	if (read_name(s, &index, name) &&
	    (!index || !indices_set(&s->process->tags, index, output_tag(output, name))))
		s->process->noticed.bad_records++;
}

static void apply_mark(struct output *output, struct stream *s)
{
	char name[SHINY_TAG_NAME_MAX + 1];
	uint32_t index;

	if (read_name(s, &index, name))
		OUTPUT_PUT(output, store_put_mark,
			   &(struct store_mark){ .process = s->process->id,
						 .thread = s->thread.id,
						 .time = apply_ns(output, s),
						 .name = name });
}

/* ---- classes, which begin and end no block: only readers of the event stream use them ---- */

static void apply_class(struct output *output, struct stream *s)
{
	struct {
		struct shiny_class class;
		char name[SHINY_CLASS_NAME_MAX];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in));
	struct process *p = s->process;
	const struct mapping *m;

	if (in.class.name_bytes > bytes - sizeof(in.class) ||
	    memchr(in.name, 0, in.class.name_bytes)) {
		p->noticed.bad_records++;
		return;
	}
	m = space_find(&p->space, in.class.place);
	if (!indices_set(&p->classes, in.class.index,
			 classes_id(&output->classes, m ? m->module : 0, &in.class, in.name)))
		p->noticed.bad_records++;
}

/* `kind`: EVENT_CONSTRUCT or EVENT_DESTROY. */
static void apply_constructor(struct output *output, struct stream *s, uint8_t kind)
{
	struct process *p = s->process;
	uint32_t class = indices_get(&p->classes, s->head.size);
	struct event *e;

	if (!class) { /* the index's definition was lost */
		p->noticed.bad_records++;
		return;
	}
	e = apply_emit(output, s, apply_ns(output, s), kind);
	e->size = 0;
	e->vtable = class;
	e->stack = apply_stack_id(s, s->head.stack);
}

/* ---- types by the program's run time ---- */

static void apply_type_name(struct output *output, struct stream *s)
{
	static const enum sym_vtable_source sources[SHINY_RUN_TIMES] = {
		[SHINY_RUN_TIME_GOBJECT] = SYM_VTABLE_G_TYPE,
		[SHINY_RUN_TIME_PYTHON] = SYM_VTABLE_OB_TYPE,
		[SHINY_RUN_TIME_TALLOC] = SYM_VTABLE_TEXT,
		[SHINY_RUN_TIME_OBJC] = SYM_VTABLE_ISA,
		[SHINY_RUN_TIME_GNUSTEP] = SYM_VTABLE_ISA,
	};
	struct {
		struct shiny_type_name type;
		char name[SHINY_TYPE_NAME_MAX + 1];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in));
	struct process *p = s->process;

	if (!has_name(s, in.name, in.type.name_bytes, bytes - sizeof(in.type)))
		return;
	if (in.type.run_time >= SHINY_RUN_TIMES) {
		p->noticed.bad_records++;
		return;
	}
	in.name[in.type.name_bytes] = '\0';
	key_ids_set(&p->type_names, in.type.key,
		    ids_given(&output->ids, sources[in.type.run_time], in.name));
}

/* ---- one record ---- */

/* Applies records of collected objects, classes, tags and marks: all but the allocators'. */
static void apply_other(struct output *output, struct stream *s)
{
	switch (s->head.kind) {
	case SHINY_REC_OBJECT:
		apply_object(output, s);
		break;
	case SHINY_REC_FINALIZED:
		apply_finalized(output, s);
		break;
	case SHINY_REC_SWEPT:
		apply_swept(output, s);
		break;
	case SHINY_REC_MOVED: /* decoded like a wide event: the old and the new address */
		apply_moved(output, s, s->head.address, s->head.size);
		break;
	case SHINY_REC_RESIZED:
		apply_resized(output, s);
		break;
	case SHINY_REC_DROPPED:
		apply_dropped(output, s);
		break;
	case SHINY_REC_OBJECT_KINDS:
		apply_object_kinds(s);
		break;
	case SHINY_REC_CLASS:
		apply_class(output, s);
		break;
	case SHINY_REC_CONSTRUCTED:
		apply_constructor(output, s, EVENT_CONSTRUCT);
		break;
	case SHINY_REC_DESTROYED:
		apply_constructor(output, s, EVENT_DESTROY);
		break;
	case SHINY_REC_TYPE_NAME:
		apply_type_name(output, s);
		break;
	case SHINY_REC_ENGINE_MEMORY:
		key_ids_set(&s->process->engine_memory, s->head.address, 1);
		break;
	case SHINY_REC_TAG:
		apply_tag(s);
		break;
	case SHINY_REC_TAG_NAME:
		apply_tag_name(output, s);
		break;
	case SHINY_REC_MARK:
		apply_mark(output, s);
		break;
	default:
		break;
	}
}

/* True if a record that an earlier sidecar has applied must be applied again: definitions must,
 * events must not, as they are in that session. */
static bool is_defined_here(unsigned kind)
{
	switch (kind) {
	case SHINY_REC_STACK:
	case SHINY_REC_STACK_LIKE:
	case SHINY_REC_MODULE:
	case SHINY_REC_MODULE_GONE:
	case SHINY_REC_MAP:
	case SHINY_REC_OBJECT_KINDS:
	case SHINY_REC_CLASS:
	case SHINY_REC_TYPE_NAME:
	case SHINY_REC_ENGINE_MEMORY:
	case SHINY_REC_TAG:
	case SHINY_REC_TAG_NAME:
	case SHINY_REC_LOSS:
	case SHINY_REC_POOL:
	case SHINY_REC_POOL_NAME:
		return true;
	default:
		return false;
	}
}

/* Returns the time, in ticks, up to which the stream's records after its head need only themselves:
 * no fork and no end of a process lies between. 0: there are none. */
static inline uint64_t run_end(const struct session *session, const struct stream *s,
			       uint64_t until)
{
	const struct process *p = s->process;

	if (p->pending || p->stats.live.left || s->head.time <= session->output.applied_until)
		return 0;
	if (until > session->people.next_fork)
		until = session->people.next_fork;
	if (until > session->output.total.next)
		until = session->output.total.next;
	return until < session->rings.latest ? until : session->rings.latest;
}

/* True if the record is about the second level. */
static inline bool is_second(const struct raw *raw)
{
	switch (raw->kind) {
	case SHINY_REC_ALLOC:
	case SHINY_REC_FREE:
	case SHINY_REC_REALLOC_BEGIN:
	case SHINY_REC_REALLOC_DONE:
	case SHINY_REC_REALLOC_FAILED:
		return SHINY_POOL_APIS >> raw->api & 1;
	default:
		return raw->kind >= SHINY_REC_POOL && raw->kind <= SHINY_REC_POOL_ENDS;
	}
}

size_t apply_record(struct session *session, struct stream *s, uint64_t until, size_t most)
{
	if (s->cursor.position <= s->chunks.taken && !is_defined_here(s->head.kind)) /* [taken] */
		return 1;
	apply_time(session, s);
	if (__builtin_expect(is_second(&s->head), 0)) {
		apply_pool(session, s);
		return 1;
	}
	switch (s->head.kind) {
	case SHINY_REC_ALLOC:
	case SHINY_REC_FREE:
		return apply_blocks(&session->output, s, run_end(session, s, until), most);
	case SHINY_REC_REALLOC_BEGIN:
		apply_realloc_begin(&session->output, s);
		break;
	case SHINY_REC_REALLOC_DONE:
		apply_realloc_done(&session->output, s);
		break;
	case SHINY_REC_REALLOC_FAILED:
		apply_realloc_failed(s);
		break;
	case SHINY_REC_VPTR:
		apply_vptr(&session->output, s);
		break;
	case SHINY_REC_NAMED:
		apply_named(&session->output, s);
		break;
	case SHINY_REC_TYPED:
		apply_typed(&session->output, s);
		break;
	case SHINY_REC_STACK:
	case SHINY_REC_STACK_LIKE:
		s->process->noticed.bad_records += !stream_stacks_define(
			&s->stacks, &s->head, &s->process->space, &session->output.ids);
		break;
	case SHINY_REC_MODULE:
		apply_module(session->people.errands, &session->output, s);
		break;
	case SHINY_REC_MODULE_GONE: /* decoded like a wide event, but for its name */
		space_remove(&s->process->space, s->head.address, s->head.size, s->head.time);
		break;
	case SHINY_REC_MAP:
		apply_map(session->people.memory, &session->output, s);
		break;
	case SHINY_REC_LOSS:
		stream_stacks_forget(&s->stacks);
		break;
	default:
		apply_other(&session->output, s);
		break;
	}
	return 1;
}
