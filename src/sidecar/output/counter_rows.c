/* SPDX-License-Identifier: Apache-2.0 */
/* counter_rows.c: see counter_rows.h. */
#include "counter_rows.h"

#include "../../base/capped.h"

static void put_counter(struct output *output, uint32_t process, const char *name, uint64_t count,
			struct sidecar_summary *out)
{
	const struct loss_kind *kind = loss_kind(name);

	if (!count)
		return;
	OUTPUT_PUT(output, store_put_counter, process, name, kind->loss ? "loss" : "note", count,
		   kind->text);
	if (out && kind->loss)
		loss_add(&out->lost, name, count);
}

static void put_counters(struct output *output, uint32_t process,
			 const uint64_t inside[SHINY_COUNTERS], const struct noticed *noticed,
			 struct sidecar_summary *out)
{
#define SHINY_COUNTER(name, weight, text, advice) \
	put_counter(output, process, #name, inside[SHINY_COUNT_##name], out);
#include <shiny/wire/counters.def>
#undef SHINY_COUNTER
#define SHINY_NOTICED(name, field, weight, unit, text, advice) \
	put_counter(output, process, #name, noticed->field, out);
#include "../../store/noticed.def"
#undef SHINY_NOTICED
}

/* Returns the sum of all counters. Counters only grow: if the sum is the same, so is each. */
static uint64_t sum_of(const uint64_t inside[SHINY_COUNTERS], const struct noticed *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SHINY_COUNTERS; i++)
		sum = capped_sum(sum, inside[i]);
#define SHINY_NOTICED(name, field, weight, unit, text, advice) \
	sum = capped_sum(sum, n->field);
#include "../../store/noticed.def"
#undef SHINY_NOTICED
	return sum;
}

static void put_changed(struct output *output, uint32_t process,
			const uint64_t inside[SHINY_COUNTERS], const struct noticed *noticed,
			uint64_t *written)
{
	uint64_t sum = sum_of(inside, noticed);

	if (sum == *written)
		return;
	*written = sum;
	put_counters(output, process, inside, noticed, NULL);
}

/* Counts each lying ring once, for its first process. */
static void count_lies(const struct rings *rings, const struct people *people,
		       struct output *output)
{
	for (size_t i = 0; i < rings->all.count; i++) {
		struct ring_file *ring = rings->all.at[i];
		struct noticed *noticed = &output->noticed;

		if (!ring->lies || ring->lie_told)
			continue;
		for (size_t k = people->all.count; k-- > 0;)
			if (people->all.at[k]->ring == ring)
				noticed = &people->all.at[k]->noticed;
		noticed->lying++;
		ring->lie_told = true;
	}
}

/* Returns the sidecar's counts of no process; adds those of the library outside of process slots to
 * `inside`. */
static struct noticed of_session(const struct rings *rings, const struct people *people,
				 struct output *output, uint64_t inside[SHINY_COUNTERS])
{
	struct noticed noticed;

	for (size_t i = 0; i < rings->all.count; i++)
		if (rings->all.at[i]->header && !rings->all.at[i]->over)
			ring_read_counters(rings->all.at[i]);
	count_lies(rings, people, output);
	noticed = output->noticed;
	for (size_t i = 0; i < rings->all.count; i++) {
		const struct ring_file *ring = rings->all.at[i];

		noticed.bad_records += ring->bad_chunks;
		for (unsigned c = 0; c < SHINY_COUNTERS; c++)
			inside[c] = capped_sum(inside[c], ring->counters[c]);
	}
	return noticed;
}

void counter_rows_write(const struct rings *rings, const struct people *people,
			struct output *output)
{
	uint64_t inside[SHINY_COUNTERS] = { 0 };
	struct noticed noticed;

	if (!output->store)
		return;
	for (size_t i = 0; i < people->all.count; i++)
		process_load_counters(people->all.at[i]);
	noticed = of_session(rings, people, output, inside);
	for (size_t i = 0; i < people->all.count; i++) {
		struct process *p = people->all.at[i];

		put_changed(output, p->id, p->counters, &p->noticed, &p->counted);
	}
	put_changed(output, 0, inside, &noticed, &output->counted);
}

void counter_rows_finish(const struct rings *rings, const struct people *people,
			 struct output *output, struct sidecar_summary *out)
{
	uint64_t inside[SHINY_COUNTERS] = { 0 };
	struct noticed noticed = of_session(rings, people, output, inside);

	for (size_t i = 0; i < people->all.count; i++) {
		const struct process *p = people->all.at[i];

		put_counters(output, p->id, p->counters, &p->noticed, out);
	}
	put_counters(output, 0, inside, &noticed, out);
}
