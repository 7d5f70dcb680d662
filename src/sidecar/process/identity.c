/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c: see identity.h.
 *
 * Problem. A slot holds the pid that the process itself sees, which is 1 in every sandboxed
 * renderer, and several of them run at once. Confusing two of them does harm: the sidecar takes
 * chunks from a process that has ended, and would take them from a live one.
 *
 * Approach. The process maps the ring and has that innermost pid; so do its siblings, and children
 * of them that have no slot yet. Each process stores its slot's number at an address that the
 * header has, in a page that the kernel wipes in its children (wire.h), and /proc/PID/mem shows it:
 * proof, either way. If the memory is not readable (yama's ptrace_scope, the setuid sandbox), the
 * parent and the start must fit, and only one process may fit; else the answer is unknown, and the
 * search is repeated. If the one that fits is a sibling of a dead process, the only harm is that
 * the dead one's chunks are taken late.
 *
 * A process that does not know its pid (interpose/record/tid.c: one without that system call) is
 * searched among all processes.
 *
 * Rejected: the order in which siblings were forked (the second may allocate first:
 * test/zoo/namespaces.c), their names (they belong to the program).
 */
#define _GNU_SOURCE
#include "identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ring/ring_file.h"
#include "../ring/ticks.h"
#include "../state/people.h"

#define MS UINT64_C(1000000)
#define CLOCK_STEP (30 * MS) /* /proc counts in ticks of 10 ms */
#define CLOCK_DOUBT (20000 * MS)

enum likeness { LIKE_OTHER, LIKE_HIDDEN, LIKE_FITTING, LIKE_PROVEN };

struct search {
	const struct identity *of;
	uint32_t proven, fitting; /* pids; 0: none */
	unsigned fit, hidden; /* counts of pids */
};

void identity_begin(struct identity *identity, const struct people *people,
		    const struct ticks *ticks, const struct process *p,
		    const struct process *parent)
{
	const struct ring_file *ring = p->ring;
	uint64_t zero = ticks->read_boottime;
	/* The child of a process in our own namespace is in it too, or starts a namespace as its
	 * number 1; the child of a process in another one is not. */
	bool told = p->namespace_pid > 1 && parent && parent->pid,
	     ours = told && parent->pid == parent->namespace_pid;

	/* The ring of an image after exec names its namespace: if it is ours, a process that has
	 * ended is not searched in all of /proc. */
	ours |= !p->forked && people->pid_namespace && ring->pid_namespace == people->pid_namespace;
	*identity = (struct identity){ .slot = p->slot,
				       .generation = p->generation,
				       .namespace_pid = p->namespace_pid,
				       .parent = parent && !parent->gone ? parent->pid : 0,
				       .ours = ours,
				       .elsewhere = p->namespace_pid <= 1 || told,
				       .device = ring->device,
				       .inode = ring->inode,
				       .self_at = ring->self_at,
				       .path = mem_text(ring->path),
				       .executable = mem_text(ring->executable),
				       .answer = PROC_UNKNOWN,
				       .pidfd = -1 };
	/* born between its parent's last record before the fork and its own claim */
	identity->until = zero + ticks_ns(ticks, p->start) + CLOCK_STEP;
	if (p->forked && p->fork_at)
		identity->from = zero + ticks_ns(ticks, p->fork_at);
	identity->from -= identity->from < CLOCK_STEP ? identity->from : CLOCK_STEP;
	for (size_t i = 0; i < people->running.count; i++) {
		const struct process *other = people->running.at[i];

		if (other != p && other->ring == ring && other->pid && !other->gone)
			*vec_push(&identity->taken) = other->pid;
	}
}

void identity_deinit(struct identity *identity)
{
	free(identity->taken.at);
	free(identity->path);
	free(identity->executable);
}

static bool is_taken(const struct identity *of, uint32_t pid)
{
	for (size_t i = 0; i < of->taken.count; i++)
		if (of->taken.at[i] == pid)
			return true;
	return false;
}

static bool started_then(const struct identity *of, uint32_t pid)
{
	uint64_t started = proc_started(pid);

	return !started || (started >= of->from && started <= of->until);
}

/*
 * The same with a tolerance, as a wrong no would take chunks from a live process: on a busy machine
 * the conversion of ticks can be wrong by the time between two readings.
 */
static bool started_about_then(const struct identity *of, uint32_t pid)
{
	uint64_t started = proc_started(pid);

	return !started ||
	       (started + CLOCK_DOUBT >= of->from && started <= of->until + CLOCK_DOUBT);
}

static enum likeness compare(const struct identity *of, uint32_t pid)
{
	struct shiny_self self;
	enum proc_answer maps;

	/*
	 * this process maps the ring, too, and so do its threads, one of which may have the pid
	 * that a program has in another namespace; and a process without a pid must be a child of
	 * its parent, or run the ring's executable
	 */
	if (is_taken(of, pid) || pid == (uint32_t)getpid() || proc_is_thread(pid) ||
	    (!of->namespace_pid && (!of->parent || proc_parent(pid) != of->parent) &&
	     !proc_runs(pid, of->executable)))
		return LIKE_OTHER;
	maps = proc_maps_file(pid, of->device, of->inode, of->path);
	if (maps == PROC_NO)
		return LIKE_OTHER;
	if (maps == PROC_YES && of->self_at && proc_memory(pid, of->self_at, &self, sizeof(self)))
		return self.slot == of->slot && self.generation == of->generation ? LIKE_PROVEN
										  : LIKE_OTHER;
	/* another user's process may be hidden, but its start is always known */
	if (!of->namespace_pid && !started_about_then(of, pid))
		return LIKE_OTHER;
	/*
	 * A sibling that is just ending has neither map nor memory, and would fit any process
	 * without a pid. One with a map whose memory is not readable may be the process.
	 */
	if (!of->namespace_pid && proc_maps_file(pid, of->device, of->inode, of->path) != PROC_YES)
		return proc_is_zombie(pid) ? LIKE_OTHER : LIKE_HIDDEN;
	if (!started_then(of, pid))
		return LIKE_OTHER;
	if (of->parent && proc_parent(pid) == of->parent)
		return LIKE_FITTING;
	if (maps == PROC_YES)
		return of->parent ? LIKE_HIDDEN : LIKE_FITTING;
	/* it has no map any more; a zombie of another pid is not worth waiting for */
	if (proc_is_zombie(pid))
		return pid == of->namespace_pid ? LIKE_FITTING : LIKE_OTHER;
	return LIKE_HIDDEN;
}

static bool consider(void *context, uint32_t pid)
{
	struct search *s = context;

	switch (compare(s->of, pid)) {
	case LIKE_PROVEN:
		s->proven = pid;
		return false;
	case LIKE_FITTING:
		s->fit++;
		s->fitting = pid;
		break;
	case LIKE_HIDDEN:
		s->hidden++;
		break;
	case LIKE_OTHER:
		break;
	}
	return true;
}

static enum proc_answer search(struct identity *identity)
{
	struct search s = { .of = identity };

	if (identity->ours || !identity->elsewhere) {
		consider(&s, identity->namespace_pid);
		if (s.fit || s.hidden)
			identity->pid = identity->namespace_pid; /* likeliest, if /proc is hidden */
	}
	if (!s.proven && !s.fit && !identity->ours) {
		s.hidden = 0;
		if (!proc_each_named(identity->namespace_pid, consider, &s))
			return PROC_UNKNOWN;
	}
	if (s.proven || (s.fit == 1 && (!s.hidden || identity->parent))) {
		identity->pid = s.proven ? s.proven : s.fitting;
		return PROC_YES;
	}
	return s.fit || s.hidden ? PROC_UNKNOWN : PROC_NO;
}

void identity_find(struct identity *identity)
{
	identity->answer = search(identity);
	if (identity->answer != PROC_YES)
		return;
	identity->pidfd = (int)syscall(SYS_pidfd_open, identity->pid, 0);
	identity->ended = identity->pidfd < 0 && errno == ESRCH;
	if (!identity->namespace_pid)
		identity->innermost = proc_namespace_pid(identity->pid);
}
