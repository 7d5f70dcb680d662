/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notices.c: see notices.h.
 *
 * Every started program creates a ring, or is not recorded. A start is pending until either is
 * known. A ring answers it that has its pid, began later, and whose program exec was given by the
 * same path (an unrecorded program may become a recorded one, without a notice, under the same
 * pid). If the start's pid is unknown, as libc does not reveal that of system and popen, a ring of
 * a child of the announcing process answers it; or, for an exec, a ring with the same parent. While
 * the program runs, /proc says why it has no ring; once it has ended, its file does.
 */
#define _GNU_SOURCE
#include "notices.h"

#include <string.h>

#include "../../base/text.h"
#include "../proc/proc.h"
#include "lifecycle.h"
#include "starts.h"
#include "unrecorded.h"

#define MS UINT64_C(1000000)

enum { PENDING_MOST = 20000, DISORDER = 64 };

/* Copies a whole notice; false: it is being written, or was overwritten. */
static bool copy_notice(const struct ring_file *ring, uint64_t number, struct shiny_notice *out)
{
	const struct shiny_notice *from = &ring->notices[(number - 1) % SHINY_NOTICES];

	if (__atomic_load_n(&from->number, __ATOMIC_ACQUIRE) != number) /* [notice] */
		return false;
	memcpy(out, (const void *)from, sizeof(*out));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == number; /* [notice] */
}

/* True if the process has our pid namespace. */
static bool counts_as_we_do(const struct process *p)
{
	return p && p->pid == p->namespace_pid;
}

static void take_start(struct people *people, struct output *output, struct ring_file *ring,
		       uint64_t number, const struct shiny_notice *n)
{
	size_t bytes = n->path_bytes < SHINY_NOTICE_PATH ? n->path_bytes : SHINY_NOTICE_PATH;
	struct start *start;

	if (people->starts.count >= PENDING_MOST) {
		output->noticed.unnamed_programs++;
		return;
	}
	start = vec_push(&people->starts);
	*start = (struct start){ .ring = ring,
				 .number = number,
				 .time = n->time,
				 .pid = n->pid,
				 .flags = n->flags,
				 .state = n->state,
				 .slot = n->slot,
				 .generation = n->generation,
				 .cut = n->path_bytes > SHINY_NOTICE_PATH,
				 .exec = n->kind == SHINY_NOTICE_EXEC };
	start->path = mem_alloc(bytes + 1);
	memcpy(start->path, n->path, bytes);
	start->path[bytes] = '\0';
}

/* Stores the exit status of a child: found by its pid if its parent has our namespace, else by its
 * own innermost pid. */
static void take_ending(const struct people *people, const struct ring_file *ring,
			const struct shiny_notice *n)
{
	const struct process *from = roster_find(&people->roster, ring, n->slot, n->generation);
	struct process *found = NULL;

	if (!from || counts_as_we_do(from))
		found = roster_before(&people->roster, n->pid, n->time, from);
	for (size_t i = 0; from && !counts_as_we_do(from) && i < people->all.count; i++) {
		struct process *p = people->all.at[i];

		if (p->namespace_pid == n->pid && p != from && p->start <= n->time &&
		    (!found || p->start > found->start))
			found = p;
	}
	if (found && found->told < 0)
		found->told = n->status;
}

void notices_read(struct session *session, struct ring_file *ring)
{
	uint64_t until, number;

	if (!ring->header)
		return;
	until = __atomic_load_n(&ring->header->notices, __ATOMIC_ACQUIRE);
	if (until == ring->notices_read)
		return;
	if (until < ring->notices_read || until > ring_most_counted(ring)) {
		ring->lies = true;
		return;
	}
	if (!ring->over)
		process_scan(session, ring); /* the processes of a notice had their slots before
		                              * it */
	if (until > ring->notices_read + SHINY_NOTICES) {
		session->output.noticed.unnamed_programs +=
			until - SHINY_NOTICES - ring->notices_read;
		ring->notices_read = until - SHINY_NOTICES;
	}
	for (number = ring->notices_read + 1; number <= until; number++) {
		struct shiny_notice n;

		if (!copy_notice(ring, number, &n)) {
			if (++ring->notice_tries < 50)
				break; /* it is being written */
			session->output.noticed.unnamed_programs++;
		} else if (n.kind == SHINY_NOTICE_EXEC || n.kind == SHINY_NOTICE_SPAWN) {
			take_start(&session->people, &session->output, ring, number, &n);
		} else if (n.kind == SHINY_NOTICE_ENDED) {
			take_ending(&session->people, ring, &n);
		}
		ring->notices_read = number;
		ring->notice_tries = 0;
	}
}

/* ---- which ring answers which start ---- */

/* Compares two paths of which either may have lost its beginning. */
static bool same_end(const char *a, bool a_cut, const char *b, bool b_cut)
{
	size_t x = strlen(a), y = strlen(b), least = x < y ? x : y;

	if (!a_cut && !b_cut)
		return !strcmp(a, b);
	return (x == least || !b_cut) && (y == least || !a_cut) &&
	       !memcmp(a + x - least, b + y - least, least);
}

/* True if the ring's program is the one that exec was given. */
static bool same_program(const struct start *start, const struct ring_file *ring)
{
	bool cut = strlen(ring->started_as) + 1 >= sizeof(ring->started_as);
	const char *argument = ring->command + strlen(ring->command) + 1;

	if (!ring->started_as[0] || (start->flags & SHINY_NOTICE_UNREAD && !start->path[0]))
		return true;
	if (start->flags & SHINY_NOTICE_BY_DESCRIPTOR)
		return !strncmp(ring->started_as, "/dev/fd/", 8);
	if (!start->cut && !strchr(start->path, '/')) /* looked up on PATH */
		return !strcmp(text_base(ring->started_as), start->path) ||
		       (argument < ring->command + sizeof(ring->command) &&
			!strcmp(text_base(argument), start->path));
	if (same_end(start->path, start->cut, ring->started_as, cut))
		return true;
	/* a script without #!: execvp gives it to a shell */
	return !strcmp(text_base(ring->started_as), "sh") &&
	       argument < ring->command + sizeof(ring->command) &&
	       !strcmp(text_base(argument), text_base(start->path));
}

static bool started_again(const struct people *people, const struct start *start, uint64_t until)
{
	for (size_t i = 0; i < people->starts.count; i++) {
		const struct start *s = &people->starts.at[i];

		if (s->pid == start->pid && s->time > start->time && s->time <= until &&
		    s->state != SHINY_NOTICE_FAILED)
			return true;
	}
	return false;
}

/*
 * True if the ring may be of the announcing process after exec. A child of a raw clone does not
 * know its pid when it calls exec; if it has no slot yet, its parent seems to announce the exec.
 * The image keeps its parent: one without a number if it has its own pid namespace, and an unknown
 * one if the parent has ended.
 */
static bool continues(const struct people *people, const struct process *teller,
		      const struct ring_file *ring)
{
	const struct process *parent =
		teller->forked ? roster_find(&people->roster, teller->ring, teller->parent_slot,
					     teller->parent_generation)
			       : NULL;

	return ring->pid_namespace != teller->ring->pid_namespace ||
	       (teller->forked && (!parent || parent->gone ||
				   ring->parent_pid == parent->namespace_pid));
}

static bool answers(const struct people *people, const struct start *start,
		    const struct ring_file *ring)
{
	const struct process *from;

	if (ring->told || ring->start_ticks < start->time || !same_program(start, ring))
		return false;
	if (start->pid)
		return ring->pid == start->pid && !started_again(people, start, ring->start_ticks);
	from = starts_teller(people, start);
	return from && (ring->parent_pid == from->namespace_pid ||
			(start->exec && continues(people, from, ring)));
}

static bool answered(const struct people *people, const struct rings *rings,
		     const struct start *start)
{
	unsigned older = 0; /* rings are nearly in the order of their starts */
	struct ring_file *first = NULL;

	for (size_t i = rings->all.count; i-- > 0 && older < DISORDER;) {
		struct ring_file *ring = rings->all.at[i];

		if (answers(people, start, ring) &&
		    (!first || ring->start_ticks < first->start_ticks))
			first = ring;
		older = ring->start_ticks < start->time ? older + 1 : 0;
	}
	if (first)
		first->told = true;
	return first;
}

static void refresh(struct start *start)
{
	const struct shiny_notice *n;

	if (!start->ring->header || start->state != SHINY_NOTICE_BEGUN)
		return;
	n = &start->ring->notices[(start->number - 1) % SHINY_NOTICES];
	if (__atomic_load_n(&n->number, __ATOMIC_ACQUIRE) == start->number) { /* [notice] */
		uint32_t state = __atomic_load_n(&n->state, __ATOMIC_ACQUIRE),
			 pid = __atomic_load_n(&n->pid, __ATOMIC_RELAXED);

		if (__atomic_load_n(&n->number, __ATOMIC_ACQUIRE) != start->number)
			return;
		start->state = state;
		start->pid = pid;
	}
}

static uint64_t patience(const struct start *start)
{
	return start->looks < 5 ? 20 * MS : start->looks < 20 ? 200 * MS : 2000 * MS;
}

/* True if the program has ended, and the directory has been read since. */
static bool is_over(struct session *session, struct start *start, uint64_t scanned)
{
	uint64_t wall = ticks_wall_ns();

	if (!start->pid || !counts_as_we_do(starts_teller(&session->people, start)))
		return false;
	if (start->gone_wall)
		return scanned > start->gone_wall;
	if (start->looked_wall && wall - start->looked_wall < patience(start))
		return false;
	start->looked_wall = wall;
	start->looks++;
	if (!proc_started(start->pid) || proc_is_zombie(start->pid))
		start->gone_wall = wall;
	else
		unrecorded_look(session, start);
	return false;
}

void notices_settle(struct session *session, uint64_t scanned, bool last)
{
	for (size_t i = 0; i < session->people.starts.count;) {
		struct start *start = &session->people.starts.at[i];

		refresh(start);
		if (start->state != SHINY_NOTICE_FAILED &&
		    !answered(&session->people, &session->rings, start)) {
			if (!is_over(session, start, scanned) && !last) {
				i++;
				continue;
			}
			unrecorded_put(&session->output, start,
				       starts_teller_id(&session->people, start));
		}
		starts_forget(&session->people, i);
	}
}
