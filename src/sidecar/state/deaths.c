/* SPDX-License-Identifier: Apache-2.0 */
/* deaths.c: see deaths.h. */
#include "deaths.h"

#include <stdlib.h>

#include "../../base/mem.h"

static const int64_t span = 2000000000; /* ns */

static struct death *latest_part(const struct deaths *d)
{
	return d->parts[(d->first + d->used - 1) % DEATHS_PARTS];
}

__attribute__((noinline, cold)) void deaths_begin_part(struct deaths *d, uint64_t time,
						       const struct ticks *clock)
{
	struct death *oldest = d->parts[d->first];
	uint64_t end = d->used ? oldest[DEATHS_PART - 1].time : time;
	bool old = ticks_scale(clock, (int64_t)(time - end)) >= span;

	if (d->used == DEATHS_PARTS || old) {
		if (end > d->lost)
			d->lost = end;
		d->first = (d->first + 1) % DEATHS_PARTS;
		d->parts[(d->first + d->used - 1) % DEATHS_PARTS] = oldest;
	} else {
		d->parts[(d->first + d->used++) % DEATHS_PARTS] =
			mem_alloc(DEATHS_PART * sizeof(struct death));
	}
	d->next = latest_part(d);
	d->end = d->next + DEATHS_PART;
}

void deaths_each(const struct deaths *d, death_fn *each, void *context)
{
	size_t count = d->used ? (size_t)(d->next - latest_part(d)) : 0;

	for (unsigned part = d->used; part-- > 0; count = DEATHS_PART)
		for (const struct death *at = d->parts[(d->first + part) % DEATHS_PARTS];
		     count-- > 0;)
			if (!each(context, &at[count]))
				return;
}

void deaths_deinit(struct deaths *d)
{
	for (unsigned i = 0; i < d->used; i++)
		free(d->parts[(d->first + i) % DEATHS_PARTS]);
	*d = (struct deaths){ .lost = d->lost };
}
