/* SPDX-License-Identifier: Apache-2.0 */
/* inquiry.c: see inquiry.h. */
#define _GNU_SOURCE
#include "inquiry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../proc/errands.h"
#include "../proc/proc.h"
#include "answers.h"
#include "ending.h"
#include "identity.h"
#include "starts.h"

/*
 * Finds the predecessor of an image after exec: the earlier image of its pid, or, for a child's
 * first image, its parent. The parent's pid that the ring has is right even if both have ended, but
 * not in another pid namespace. `certain`: the pid is proven; a likely pid ends no earlier process.
 */
static void come_from(struct people *people, struct output *output, struct process *p, bool certain)
{
	uint32_t parent_pid = 0;
	struct process *before =
		p->forked ? NULL : roster_before(&people->roster, p->pid, p->start, p);

	if (p->forked || !p->pid)
		return;
	if (before)
		process_read_counters(before);
	/* else that one has ended, and its pid was reused */
	if (before && !before->said_end && before->status < 0) {
		if (certain) {
			before->replaced = true;
			process_end_at(people, output, before, p->start);
		}
	} else {
		parent_pid = p->pid == p->namespace_pid ? p->ring->parent_pid : proc_parent(p->pid);
		before = roster_before(&people->roster, parent_pid, p->start, p);
	}
	p->parent_id = before ? before->id : starts_parent(people, parent_pid, p->start);
}

/* True if another process of the ring has this pid by now: two may have been searched at one
 * time. */
static bool is_another(const struct people *people, const struct process *p, uint32_t pid)
{
	for (size_t i = 0; i < people->running.count; i++) {
		const struct process *other = people->running.at[i];

		if (other != p && other->ring == p->ring && other->pid == pid && !other->gone)
			return true;
	}
	return false;
}

static void locate(struct people *people, struct output *output, struct process *p,
		   struct identity *found, bool first)
{
	struct ring_file *ring = p->ring;
	struct process *parent =
		p->forked ? roster_find(&people->roster, ring, p->parent_slot, p->parent_generation)
			  : NULL;
	enum proc_answer answer = found->answer == PROC_YES && is_another(people, p, found->pid)
					  ? PROC_UNKNOWN
					  : found->answer;

	if (answer == PROC_UNKNOWN) {
		if (!p->pid)
			roster_name(&people->roster, p, found->answer == PROC_YES ? 0 : found->pid);
		p->wanderer = true;
		come_from(people, output, p, false);
		return;
	}
	p->wanderer = false;
	if (answer == PROC_NO) {
		if (first && p->namespace_pid > 1 &&
		    (parent ? parent->pid == parent->namespace_pid
			    : !ring->pid_namespace ||
				      ring->pid_namespace == people->pid_namespace))
			roster_name(&people->roster, p,
				    p->namespace_pid); /* it has ended; only its pid is known */
		come_from(people, output, p, true);
		if (p->forked || !ring_held(ring))
			process_end(people, output, p);
		return;
	}
	roster_name(&people->roster, p, found->pid);
	if (!p->namespace_pid)
		p->namespace_pid = found->innermost;
	come_from(people, output, p, true);
	if (!p->gone && !p->closed) {
		p->pidfd = found->pidfd;
		found->pidfd = -1;
	}
	if (found->ended)
		process_end(people, output, p);
}

static void set_text(char **to, const char *text)
{
	if (*to && !strcmp(*to, text))
		return;
	free(*to);
	*to = mem_text(text);
}

/* Takes the process's description of itself; true: it has changed. A zygote's child sets its
 * command line some time after the fork. */
static bool describe(struct process *p, const struct proc_about *about)
{
	bool changed = about->role[0] &&
		       (strcmp(p->role, about->role) || strcmp(p->purpose, about->purpose));

	if (changed) {
		set_text(&p->role, about->role);
		set_text(&p->purpose, about->purpose);
	}
	if (p->forked && about->command[0] && strcmp(p->command, about->command)) {
		set_text(&p->command, about->command);
		changed = true;
	}
	return changed;
}

/* A question to /proc about a process. */
struct inquiry {
	struct errand errand;
	struct process *process; /* used by the loop only */
	bool first;
	bool lost;               /* its pid is searched */
	struct identity identity;
	uint32_t pid;            /* the known pid, or the one to guess; 0 unknown */
	bool execed;             /* asks whether it still maps the ring */
	dev_t device;
	ino_t inode;
	char *path, *name;
	bool chromium;

	bool described;
	enum proc_answer maps;
	struct proc_about about;
};

static void inquire(struct errand *errand)
{
	struct inquiry *q = (struct inquiry *)errand;
	uint32_t pid = q->pid;

	if (q->lost) {
		identity_find(&q->identity);
		if (q->identity.answer == PROC_YES || !pid)
			pid = q->identity.pid;
	}
	if (!pid)
		return;
	if (q->execed)
		q->maps = proc_maps_file(pid, q->device, q->inode, q->path);
	proc_describe(pid, q->name, q->chromium, &q->about);
	q->described = true;
}

static void inquiry_free(struct inquiry *q)
{
	if (q->lost && q->identity.pidfd >= 0)
		close(q->identity.pidfd);
	if (q->lost)
		identity_deinit(&q->identity);
	free(q->path);
	free(q->name);
	free(q);
}

/* Takes an answer and frees it. True: the process's row must be written. */
static bool inquired(struct people *people, struct output *output, struct inquiry *q)
{
	struct process *p = q->process;
	uint32_t pid = p->pid;
	bool changed = false;

	p->inquired = false;
	if (q->lost)
		locate(people, output, p, &q->identity, q->first);
	if (p->pid && !p->wanderer && !p->gone)
		answers_put(people->answers, &p->ring->processes[p->slot], p->pid);
	if (q->described && q->maps == PROC_NO && p->pid)
		process_end(people, output, p);
	if (q->described && p->pid && !p->gone)
		changed = describe(p, &q->about);
	changed = changed || p->pid != pid;
	inquiry_free(q);
	return changed;
}

static void inquired_late(struct session *session, struct errand *errand)
{
	struct inquiry *q = (struct inquiry *)errand;
	const struct process *p = q->process;
	bool lost = q->lost;

	if (!session)
		inquiry_free(q);
	else if (inquired(&session->people, &session->output, q) || lost)
		output_put_process(&session->output, p);
}

static struct inquiry *inquiry_of(const struct people *people, const struct ticks *ticks,
				  struct process *p)
{
	struct inquiry *q = mem_zero(1, sizeof(*q));

	*q = (struct inquiry){ .errand = { .run = inquire, .end = inquired_late },
			       .process = p,
			       .first = !p->looks,
			       .lost = !p->pid || p->wanderer,
			       .pid = p->pid,
			       .maps = PROC_UNKNOWN,
			       .chromium =
				       p->ring->attach == SHINY_ATTACH_PARTITION && !p->forked };
	q->name = mem_text(p->name);
	if (q->lost)
		identity_begin(&q->identity, people, ticks, p,
			       p->forked ? roster_find(&people->roster, p->ring, p->parent_slot,
						       p->parent_generation)
					 : NULL);
	if (process_called_exec(p)) {
		q->execed = true;
		q->path = mem_text(p->ring->path);
		q->device = p->ring->device;
		q->inode = p->ring->inode;
	}
	return q;
}

void process_inquire(struct session *session, struct process *p, uint64_t wall)
{
	struct output *output = &session->output;
	struct people *people = &session->people;
	struct inquiry *q;

	/* finding one in another pid namespace walks through all of /proc, and there may be
	 * hundreds */
	if (!output->ticks.foreign)
		rings_beat(&session->rings, &output->ticks);
	p->looked_wall = wall;
	if (p->inquired || p->gone || output->ticks.foreign)
		return;
	/* Answer it first: its memory is read to prove its identity, which may block until its
	 * threads have been answered. */
	if (!p->pid && p->namespace_pid && people->pid_namespace &&
	    p->ring->pid_namespace == people->pid_namespace)
		answers_put(people->answers, &p->ring->processes[p->slot], p->namespace_pid);
	q = inquiry_of(people, &output->ticks, p);
	p->looks++;
	p->inquired = true;
	if (errands_do(people->errands, &q->errand) && inquired(people, output, q) && p->looks > 1)
		output_put_process(output, p); /* in case the sidecar is killed: recover.h */
}
