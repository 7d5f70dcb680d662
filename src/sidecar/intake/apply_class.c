/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_class.c: see apply_class.h. Classes begin and end no block; only readers of the event
 * stream use them.
 */
#include "apply_class.h"

#include <string.h>

#include "apply_event.h"

void apply_class(struct output *output, struct stream *s)
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

void apply_constructor(struct output *output, struct stream *s, uint8_t kind)
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
