/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <math.h>

#include <shiny/wire/wire.h>

struct plan plans[STACKS + 1];
struct routine routines[ROUTINES];
uint32_t steps[ROUTINES * 8];

static uint64_t state = 20261121;

/* S. Vigna's splitmix64 */
static uint64_t draw(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint32_t chance_below(uint32_t limit)
{
	return (uint32_t)((draw() >> 32) * limit >> 32);
}

bool chance_one_in(uint32_t n)
{
	return chance_below(n) == 0;
}

uint64_t chance_about(double mean)
{
	return 1 +
	       (uint64_t)(-log((double)((draw() >> 11) + 1) / (double)(UINT64_C(1) << 53)) * mean);
}

void plans_make(void)
{
	static const struct { uint8_t made, freed;
	} calls[] = {
		{ SHINY_API_NEW, SHINY_API_DELETE },
		{ SHINY_API_MALLOC, SHINY_API_FREE },
		{ SHINY_API_NEW_ARRAY, SHINY_API_DELETE_ARRAY },
		{ SHINY_API_CALLOC, SHINY_API_FREE },
	};
	uint32_t used = 0;

	for (uint32_t i = 1; i <= STACKS; i++) {
		struct plan *p = &plans[i];
		uint32_t kind = chance_below(4), chance = chance_below(100);

		p->type = 1 + (i < TYPES ? i : chance_below(TYPES)) % TYPES;
		p->varies = p->type % 10 >= 7;
		p->size = 8 * (1 + (uint32_t)chance_about(8 + p->type % 16));
		p->stays = chance < 60	 ? FEW_EVENTS
			   : chance < 90 ? SOME_EVENTS
			   : chance < 98 ? MANY_EVENTS
					 : OFTEN_FOR_EVER;
		p->grows = p->varies && chance_one_in(6);
		p->api = p->grows ? SHINY_API_MALLOC : calls[kind].made;
		p->freed = p->grows ? SHINY_API_FREE : calls[kind].freed;
		p->untyped = p->type % VPTR_EVERY == 0 && chance_one_in(3);
	}
	for (uint32_t i = 0; i < ROUTINES; i++) {
		routines[i] = (struct routine){ used, 1 + chance_below(8),
						chance_below(1 + chance_below(ROUTINES)) };
		for (uint32_t k = 0; k < routines[i].count; k++)
			steps[used + k] =
				1 + (used + k < STACKS ? used + k : chance_below(STACKS)) % STACKS;
		used += routines[i].count;
	}
}
