/* SPDX-License-Identifier: Apache-2.0 */
/* mappings_sample.c: see mappings_sample.h. */
#define _GNU_SOURCE
#include "mappings_sample.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "../proc/proc.h"
#include "../state/session.h"
#include "mappings_state.h"
#include "residency.h"

#define MS UINT64_C(1000000)

static uint64_t cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- when ---- */

static void earn(struct mappings_watch *watch, const struct people *people, uint64_t wall)
{
	uint64_t share = people->running.count && people->running.at[0]->ring->sample
				 ? MEMORY_SHARE_SAMPLED
				 : MEMORY_SHARE;

	if (watch->credit_wall)
		watch->credit += (int64_t)((wall - watch->credit_wall) / share);
	if (watch->credit > MEMORY_CREDIT)
		watch->credit = MEMORY_CREDIT;
	watch->credit_wall = wall;
}

static void spend(struct mappings_watch *watch, uint64_t cost)
{
	watch->credit -= (int64_t)cost;
	watch->cost += cost;
	if (cost > watch->longest)
		watch->longest = cost;
}

/* True if `a` should be sampled before `b`: one never sampled first, then the one that has waited
 * longest. */
static bool comes_first(const struct mappings *a, const struct mappings *b)
{
	return !a->samples != !b->samples ? !a->samples : a->due < b->due;
}

/*
 * True if most of the ring's chunks are taken, so that its threads may be waiting for the sidecar.
 * A sample needs the lock of the program's memory map, and waiting threads may keep its holder from
 * the processor.
 */
static bool is_pressed(const struct ring_file *a)
{
	return a->busy[0] > a->present[0] / 4 * 3 || a->busy[1] > a->present[1] / 4 * 3;
}

static struct process *choose(const struct people *people, uint64_t wall)
{
	struct process *chosen = NULL;

	for (size_t i = 0; i < people->running.count; i++) {
		struct process *p = people->running.at[i];

		if (!p->gone && p->pid && !p->pending && wall >= p->memory->due &&
		    !is_pressed(p->ring) && (!chosen || comes_first(p->memory, chosen->memory)))
			chosen = p;
	}
	return chosen;
}

/* True if the list is this process's: its pid may have been reused, or it may run another program
 * after exec. */
static bool is_its_own(const struct process *p, const struct smaps *smaps)
{
	uint64_t device = (uint64_t)major(p->ring->device) << 20 | minor(p->ring->device);
	struct pollfd wait = { .fd = p->pidfd, .events = POLLIN };

	if (p->pidfd >= 0 && poll(&wait, 1, 0) == 1)
		return false;
	for (size_t i = 0; i < smaps->areas.count; i++)
		if (smaps->areas.at[i].inode == p->ring->inode &&
		    smaps->areas.at[i].device == device)
			return true;
	return false;
}

/* Returns the ns until the next sample; the first ones are early, for short processes. */
static uint64_t until_next(const struct mappings_watch *watch, unsigned samples)
{
	static const uint64_t early[] = { 100 * MS, 400 * MS };
	uint64_t next =
		samples - 1 < sizeof(early) / sizeof(*early) ? early[samples - 1] : watch->period;

	return next < watch->period ? next : watch->period;
}

/* Reads /proc/PID/stat, which costs a hundredth of the list. False: the process has ended. */
static bool read_stillness(const struct process *p, struct stillness *out)
{
	unsigned long long minor, major, bytes, pages;
	char text[1024], *at;

	if (proc_read(p->pid, "stat", text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%*u %llu %llu",
		   &minor, &major, &bytes, &pages) != 4)
		return false;
	*out = (struct stillness){ minor, major, bytes, pages, p->events };
	return true;
}

/* Repeats the last sample if the process has no new page faults, sizes and records since; false: it
 * has. */
static bool sample_again(struct mappings_watch *watch, struct output *output, struct process *p)
{
	struct mappings *m = p->memory;

	if (!read_stillness(p, &watch->sample_still))
		memset(&watch->sample_still, 0xff, sizeof(watch->sample_still));
	if (!m->seen.process || memcmp(&watch->sample_still, &m->before, sizeof(m->before)))
		return false;
	m->seen.time = ticks_ns(&output->ticks, ticks_now(&output->ticks));
	OUTPUT_PUT(output, store_put_memory, &m->seen);
	watch->samples++;
	return true;
}

/* ---- questions to /proc, asked in the errands' thread ---- */

static void read_list(struct errand *errand)
{
	struct mappings_sample *sample = (struct mappings_sample *)errand;
	struct smaps *smaps = &sample->smaps;
	uint64_t began = cpu_ns();

	sample->totals = false;
	sample->error = smaps_read(smaps, sample->pid);
	if (sample->error == EACCES || sample->error == EPERM) {
		smaps->areas.count = 0;
		smaps->rss = smaps->pss = smaps->private = smaps->swap = 0;
		sample->totals = smaps_totals(sample->pid, &smaps->rss, &smaps->swap);
	}
	sample->cost += cpu_ns() - began;
}

static void count_pages(struct errand *errand)
{
	struct mappings_sample *sample = (struct mappings_sample *)errand;
	uint64_t began = cpu_ns();

	for (size_t i = 0; i < sample->shared.count; i++) {
		struct shared_area *area = &sample->shared.at[i];

		area->counted = smaps_count_pages(sample->pid, &sample->bounds.at[area->first],
						  area->ranges, &sample->counts.at[area->first]);
	}
	sample->cost += cpu_ns() - began;
}

/* Takes the list, which has been read. */
static void listed(struct session *session, struct errand *errand)
{
	struct mappings_watch *watch = session ? session->people.memory : NULL;
	const struct mappings_sample *sample = (const struct mappings_sample *)errand;

	if (!watch)
		return;
	if (watch->sampled &&
	    (sample->error ? sample->totals : is_its_own(watch->sampled, &sample->smaps))) {
		watch->sample_state = SAMPLE_LISTED;
		watch->sample_ended = ticks_now(&session->output.ticks);
		return;
	}
	spend(watch, sample->cost);
	watch->sampled = NULL;
	watch->sample_state = SAMPLE_NONE;
}

static void counted(struct session *session, struct errand *errand)
{
	(void)errand;
	if (!session)
		return;
	session->people.memory->sample_state = SAMPLE_COUNTED;
	session->people.memory->sample_ended = ticks_now(&session->output.ticks);
}

static void ask(struct session *session, void (*run)(struct errand *),
		void (*end)(struct session *, struct errand *))
{
	struct errand *errand = &session->people.memory->sample.errand;

	*errand = (struct errand){ .run = run, .end = end };
	if (errands_do(session->people.errands, errand))
		end(session, errand);
}

void mappings_take_sample(struct session *session)
{
	struct mappings_watch *watch = session->people.memory;
	uint64_t wall = ticks_wall_ns(), began;
	struct process *p;

	if (!watch->period || session->options->leftover || session->output.ticks.foreign ||
	    !session->output.store)
		return;
	earn(watch, &session->people, wall);
	p = watch->credit > 0 && watch->sample_state == SAMPLE_NONE ? choose(&session->people, wall)
								    : NULL;
	if (!p)
		return;
	began = cpu_ns();
	p->memory->samples++;
	p->memory->due = wall + until_next(watch, p->memory->samples);
	if (sample_again(session->people.memory, &session->output, p)) {
		spend(watch, cpu_ns() - began);
		return;
	}
	watch->sample_began = ticks_now(&session->output.ticks);
	watch->flux.count = 0;
	watch->sampled = p;
	watch->sample_state = SAMPLE_ASKED;
	watch->sample.pid = p->pid;
	watch->sample.cost = 0;
	watch->sample_cost = cpu_ns() - began;
	ask(session, read_list, listed);
}

static void note_refused(struct output *output, struct process *p)
{
	if (p->memory->refused)
		return;
	p->memory->refused = true;
	OUTPUT_PUT(output, store_put_note, p->id,
		   "its memory could not be looked into: /proc/PID/smaps "
		   "is refused to this user; of what "
		   "is resident only the sum is known");
}

/* Applies the list, and asks for the pages of areas that hold several segments. */
static void take_list(struct session *session, struct process *p, uint64_t now)
{
	struct mappings_watch *watch = session->people.memory;
	struct mappings_sample *sample = &watch->sample;

	sample->shared.count = sample->bounds.count = sample->counts.count = 0;
	watch->sample_state = SAMPLE_COUNTED;
	if (sample->error) {
		note_refused(&session->output, p);
		return;
	}
	residency_observe(session->people.memory, p, now);
	if (!sample->shared.count)
		return;
	watch->sample_state = SAMPLE_COUNTING;
	ask(session, count_pages, counted);
}

void mappings_take(struct session *session, uint64_t now)
{
	struct mappings_watch *watch = session->people.memory;
	struct process *p = watch->sampled;
	uint64_t began = cpu_ns();

	if (session->rings.behind && now < watch->sample_ended)
		return; /* the calls up to the list's moment are not applied yet */
	if (p && watch->sample_state == SAMPLE_LISTED)
		take_list(session, p, now);
	if (p && watch->sample_state == SAMPLE_COUNTED) {
		residency_count(watch, p);
		watch->samples++;
		watch->sample_cost += watch->sample.cost + cpu_ns() - began;
		residency_put(session->people.memory, &session->output, p, now);
		spend(watch, watch->sample_cost);
		watch->sampled = NULL;
	}
	if (!watch->sampled && watch->sample_state != SAMPLE_ASKED &&
	    watch->sample_state != SAMPLE_COUNTING)
		watch->sample_state = SAMPLE_NONE;
}
