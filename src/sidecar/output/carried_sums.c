/* SPDX-License-Identifier: Apache-2.0 */
/* carried_sums.c: see carried_sums.h. */
#include "carried_sums.h"

#include <stddef.h>
#include <stdlib.h>

/* A walk over the sums: it packs them into `out`, or, where that is NULL, unpacks them. */
struct sums_walk {
	struct session *session;
	struct carried_bytes *out;
	const uint8_t *at, *end; /* what is left to unpack */
	bool wrong;
};

static uint64_t get(struct sums_walk *w)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (w->at == w->end)
			break;
		value |= (uint64_t)(*w->at & 0x7f) << shift;
		if (!(*w->at++ & 0x80))
			return value;
	}
	w->wrong = true;
	return 0;
}

/* Packs the value and returns it, or returns the one that is unpacked. */
static uint64_t pass(struct sums_walk *w, uint64_t value)
{
	if (!w->out)
		return get(w);
	for (uint64_t rest = value; true; rest >>= 7) {
		*vec_push(&w->out->bytes) = (uint8_t)(rest | (rest > 0x7f ? 0x80 : 0));
		if (rest <= 0x7f)
			return value;
	}
}
#define PASS(w, member) ((member) = (__typeof__(member))pass(w, (uint64_t)(member)))

/* Passes ticks, as ns. */
static void pass_time(struct sums_walk *w, uint64_t *ticks)
{
	uint64_t ns = pass(w, *ticks && w->out ? ticks_ns(&w->session->output.ticks, *ticks) : 0);

	if (!w->out)
		*ticks = ns;
}

/* Passes the id of a row, of `most`. */
static uint32_t pass_id(struct sums_walk *w, uint32_t id, size_t most)
{
	uint64_t value = pass(w, id);

	w->wrong |= value > most;
	return w->wrong ? 0 : (uint32_t)value;
}

/* Passes a number of things that take a byte each at least. */
static size_t pass_count(struct sums_walk *w, size_t count)
{
	uint64_t value = pass(w, count);

	if (w->out)
		return count;
	w->wrong |= value > (uint64_t)(w->end - w->at);
	return w->wrong ? 0 : (size_t)value;
}

static void pass_bins(struct sums_walk *w, struct bins *bins)
{
	uint64_t first = pass(w, bins->first), count = pass(w, bins->count);

	if (!w->out) {
		w->wrong |= first > STORE_LIFETIME_BINS || count > STORE_LIFETIME_BINS - first;
		count = w->wrong ? 0 : count;
		bins->first = (uint8_t)first;
		bins->count = (uint8_t)count;
		bins->at = count ? mem_zero(count, sizeof(*bins->at)) : NULL;
	}
	for (unsigned i = 0; i < count; i++) {
		PASS(w, bins->at[i].count);
		PASS(w, bins->at[i].bytes);
	}
}

static void pass_rare(struct sums_walk *w, struct tally_rare *rare)
{
#define MEMBER(name, kind, how, ...) SUM_##how(PASS(w, rare->name);)
	SUMS_EACH(MEMBER, MEMBER)
#undef MEMBER
	PASS(w, rare->reused);
	PASS(w, rare->released);
	PASS(w, rare->live);
	PASS(w, rare->live_bytes);
	pass_bins(w, &rare->living);
}

static void pass_tally(struct sums_walk *w, struct tally *s)
{
	PASS(w, s->second_word);
	PASS(w, s->complete);
	PASS(w, s->last_size);
	PASS(w, s->settled);
	PASS(w, s->allocs);
	PASS(w, s->bytes);
	PASS(w, s->dying);
	PASS(w, s->size_step);
	PASS(w, s->max_size);
	PASS(w, s->min_size);
	PASS(w, s->at_peak);
	PASS(w, s->at_peak_bytes);
	PASS(w, s->peak_round);
	pass_bins(w, &s->ended);
	if (pass(w, s->rare != NULL))
		pass_rare(w, stats_rare(s));
}

static size_t tally_count(const struct site_stats *site)
{
	size_t count = 0;

	for (const struct tally *s = site ? site->stats : NULL; s; s = s->next)
		count++;
	return count;
}

static void pass_site(struct sums_walk *w, struct stats *stats, struct site_stats *site)
{
	const struct ids *ids = &w->session->output.ids;
	uint32_t stack = pass_id(w, site ? site->stack : 0, ids->stacks.count),
		 tag = pass_id(w, site ? site->tag : 0, w->session->output.tags.count);
	size_t count = pass_count(w, tally_count(site));
	struct tally *s = site ? site->stats : NULL;

	if (!w->out) {
		uint32_t at = stats_site(stats, stack);

		site = &stats->sites.at[tag ? stats_tagged(stats, at, tag) : at];
	}
	PASS(w, site->api);
	PASS(w, site->live_blocks);
	PASS(w, site->live_bytes);
	PASS(w, site->peak_blocks);
	PASS(w, site->peak_bytes);
	pass_time(w, &site->peak_time);
	for (size_t i = 0; i < count && !w->wrong; i++) {
		uint32_t vtable = pass_id(w, s ? s->vtable : 0, ids->vtables.count);

		if (!w->out)
			s = stats_tally(stats, site, vtable);
		pass_tally(w, s);
		s = s->next;
	}
}

static void pass_bucket(struct sums_walk *w, struct bucket *b)
{
	if (!PASS(w, b->touched))
		return;
	PASS(w, b->allocs);
	PASS(w, b->frees);
	PASS(w, b->alloc_bytes);
	PASS(w, b->free_bytes);
	PASS(w, b->live_blocks);
	PASS(w, b->live_bytes);
	PASS(w, b->most_bytes);
}

static void pass_buckets(struct sums_walk *w, struct stats *stats)
{
	size_t count = pass_count(w, stats->bucket_count);

	PASS(w, stats->bucket_first);
	PASS(w, stats->bucket_ns);
	if (!w->out) {
		w->wrong |= count > BUCKETS_MAX || !stats->bucket_ns;
		if (w->wrong) {
			stats->bucket_ns = 1;
			return;
		}
		stats->buckets = mem_zero(count + 1, sizeof(*stats->buckets));
		stats->bucket_room = count + 1;
		stats->bucket_count = count;
	}
	for (size_t i = 0; i < count; i++)
		pass_bucket(w, &stats->buckets[i]);
}

static void pass_process(struct sums_walk *w, struct process *p)
{
	struct total_part *live = &p->stats.live;
	size_t count = pass_count(w, p->stats.sites.count);

	PASS(w, p->events);
	pass_time(w, &p->last);
	PASS(w, p->settled);
	PASS(w, live->blocks);
	PASS(w, live->bytes);
	pass_time(w, &live->left_at);
	PASS(w, live->left);
	PASS(w, live->gone);
#define SHINY_NOTICED(name, field, weight, unit, text, advice) PASS(w, p->noticed.field);
#include "../../store/noticed.def"
#undef SHINY_NOTICED
	pass_buckets(w, &p->stats);
	for (size_t i = 0; i < count && !w->wrong; i++)
		pass_site(w, &p->stats, w->out ? &p->stats.sites.at[i] : NULL);
}

static void pass_peak(struct sums_walk *w, struct total_peak *peak)
{
	PASS(w, peak->blocks);
	PASS(w, peak->bytes);
	pass_time(w, &peak->time);
}

/* Passes the process whose part it is. */
static void pass_part(struct sums_walk *w, struct total_part **part)
{
	const struct process *p =
		w->out && *part ? (const struct process *)((const char *)*part -
							   offsetof(struct process, stats.live))
				: NULL;
	uint32_t id = pass_id(w, p ? p->id : 0, w->session->people.all.count);

	if (!w->out)
		*part = id ? &w->session->people.all.at[id - 1]->stats.live : NULL;
}

/* Moments that are not applied yet follow from the rows of the processes. */
static void pass_total(struct sums_walk *w, struct total *total)
{
	size_t count = pass_count(w, total->leavers.count);

	PASS(w, total->blocks);
	PASS(w, total->bytes);
	pass_peak(w, &total->peak);
	pass_time(w, &total->newest);
	pass_time(w, &total->peak_newest);
	PASS(w, total->round);
	PASS(w, total->counted);
	PASS(w, total->rise);
	for (size_t i = 0; i < count && !w->wrong; i++) {
		struct total_leaver *leaver =
			w->out ? &total->leavers.at[i] : vec_push(&total->leavers);

		pass_part(w, &leaver->part);
		PASS(w, leaver->goes);
		PASS(w, leaver->followed);
		pass_peak(w, &leaver->most);
		if (!leaver->part) {
			w->wrong = true;
			total->leavers.count--;
		}
	}
}

static void walk(struct sums_walk *w, struct process *process)
{
	struct output *output = &w->session->output;

	if (process) {
		pass_process(w, process);
		return;
	}
	PASS(w, output->allocs);
	PASS(w, output->frees);
	PASS(w, output->total_events);
	pass_total(w, &output->total);
	pass_total(w, &output->second);
}

void carried_pack(struct session *session, struct process *process, struct carried_bytes *out)
{
	struct sums_walk w = { .session = session, .out = out };

	out->bytes.count = 0;
	walk(&w, process);
}

bool carried_unpack(struct session *session, struct process *process, const void *data,
		    size_t bytes)
{
	struct sums_walk w = { .session = session,
			  .at = data,
			  .end = (const uint8_t *)data + bytes };

	walk(&w, process);
	return !w.wrong && w.at == w.end;
}
