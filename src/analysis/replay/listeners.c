/* SPDX-License-Identifier: Apache-2.0 */
/* listeners.c: see listeners.h. */
#include "listeners.h"

#include <stdlib.h>

#include "../../base/mem.h"

void listeners_init(struct listeners *l, struct replay_observer *observers, size_t count)
{
	*l = (struct listeners){ .observers = observers,
				 .observer_count = count,
				 .births = mem_zero(count + 1, sizeof(*l->births)),
				 .deaths = mem_zero(count + 1, sizeof(*l->deaths)),
				 .by_stack = mem_zero(count + 1, sizeof(*l->by_stack)),
				 .by_place = mem_zero(count + 1, sizeof(*l->by_place)),
				 .only_moments = true,
				 .untyped = true };
	for (const struct replay_observer *o = observers; o < observers + count; o++) {
		l->only_moments &= !o->birth && !o->death && !o->resize && !o->move && !o->vtable &&
				   !o->stray && !o->map && !o->fork && !o->constructor;
		l->untyped &= o->untyped;
		if (o->birth)
			l->births[l->birth_count++] = (struct birth_call){ o->birth, o->context };
		if (o->death)
			l->deaths[l->death_count++] = (struct death_call){ o->death, o->context };
		if (o->by_stack)
			l->by_stack[l->by_stack_count++] = o->by_stack;
		if (o->by_place)
			l->by_place[l->by_place_count++] = o->by_place;
	}
}

void listeners_deinit(struct listeners *l)
{
	free(l->births);
	free(l->deaths);
	free(l->by_stack);
	free(l->by_place);
	*l = (struct listeners){ 0 };
}
