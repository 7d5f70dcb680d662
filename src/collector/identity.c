/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c: see identity.h.
 *
 * Problem. A slot holds the pid that the process sees itself, which is 1 in every sandboxed renderer, and several of them run at once.
 * Taking one for the other is no blemish: the sidecar takes chunks from a process that has ended, and would take them from one that lives.
 *
 * Approach. The process maps the arena and has that innermost pid; that leaves its siblings, and children of them that have not taken
 * a slot yet. Each process keeps its slot's number where the header says, in a page that the kernel wipes in its children (wire.h), and
 * /proc/PID/mem shows it: proof, either way. Where memory is not to be read (yama's ptrace_scope, the setuid sandbox), the parent and the
 * start must fit, and there must be one such process only; else it is not known, and asked again. Should that one be a sibling of one
 * that is dead, nothing worse happens than that the dead one's chunks are taken late.
 *
 * A process that does not know its number either (interpose/tid.c: one that the kernel was not
 * asked to tell) is looked for among all.
 *
 * Rejected: the order in which siblings were forked (the second may allocate first: test/zoo/namespaces.c), their names (they
 * belong to the program).
 */
#include "identity.h"

#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum likeness { LIKE_OTHER, LIKE_HIDDEN, LIKE_FITTING, LIKE_PROVEN };

struct search {
	const struct session *session;
	const struct process *process;
	uint32_t parent; /* pid, 0 unknown */
	uint32_t proven, fitting; /* pids */
	unsigned fit, hidden; /* how many */
};

/* Another living process of the same arena has this pid already. */
static bool is_taken(const struct search *s, uint32_t pid)
{
	for (size_t i = 0; i < s->session->running.count; i++) {
		const struct process *p = s->session->running.at[i];

		if (p != s->process && p->arena == s->process->arena && p->pid == pid && !p->gone)
			return true;
	}
	return false;
}

/* Born between its parent's last record before the fork and its own claim. /proc counts in ticks of 10 ms. */
static bool started_then(const struct search *s, uint32_t pid)
{
	const struct process *p = s->process;
	uint64_t started = proc_started(pid), zero = s->session->ticks.read_boottime;

	if (!started)
		return true;
	return started <= zero + ticks_ns(&s->session->ticks, p->start) + 30 * MS &&
	       (!p->forked || !p->fork_at || started + 30 * MS >= zero + ticks_ns(&s->session->ticks, p->fork_at));
}

static enum likeness compare(const struct search *s, uint32_t pid)
{
	const struct arena *arena = s->process->arena;
	struct shiny_self self;
	enum proc_answer maps;

	/*
	 * we map the arena, too; and of all processes of the machine a forked one without a number
	 * is its parent's child, or runs what that runs
	 */
	if (is_taken(s, pid) || pid == (uint32_t)getpid() ||
	    (!s->process->namespace_pid && (!s->parent || proc_parent(pid) != s->parent) && !proc_runs(pid, arena->executable)))
		return LIKE_OTHER;
	/* of what a stranger runs nothing may be known to us, but anybody may know when it started */
	if (!s->process->namespace_pid && !started_then(s, pid))
		return LIKE_OTHER;
	maps = proc_maps_file(pid, arena->device, arena->inode, arena->path);
	if (maps == PROC_NO)
		return LIKE_OTHER;
	if (maps == PROC_YES && arena->self_at && proc_memory(pid, arena->self_at, &self, sizeof self))
		return self.slot == s->process->slot && self.generation == s->process->generation ? LIKE_PROVEN : LIKE_OTHER;
	/*
	 * A sibling that is just ending has neither map nor memory, and would fit whoever has no number
	 * either. One that has both, and only its memory is not ours to read, may be the one.
	 */
	if (!s->process->namespace_pid && proc_maps_file(pid, arena->device, arena->inode, arena->path) != PROC_YES)
		return proc_is_zombie(pid) ? LIKE_OTHER : LIKE_HIDDEN;
	if (!started_then(s, pid))
		return LIKE_OTHER;
	if (s->parent && proc_parent(pid) == s->parent)
		return LIKE_FITTING;
	if (maps == PROC_YES)
		return s->parent ? LIKE_HIDDEN : LIKE_FITTING;
	if (proc_is_zombie(pid)) /* it has no map any more; that of a stranger is not worth waiting for */
		return pid == s->process->namespace_pid ? LIKE_FITTING : LIKE_OTHER;
	return LIKE_HIDDEN;
}

static bool consider(void *context, uint32_t pid)
{
	struct search *s = context;

	switch (compare(s, pid)) {
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

enum proc_answer identity_find(const struct session *session, const struct process *process, const struct process *parent, uint32_t *pid)
{
	struct search s = { .session = session, .process = process, .parent = parent && !parent->gone ? parent->pid : 0 };
	/* The child of a process in our own namespace is there too, or starts a namespace as its number 1; that of another's is not. */
	bool told = process->namespace_pid > 1 && parent && parent->pid, ours = told && parent->pid == parent->namespace_pid;

	/* An image that exec made says where it is: one that is gone by now is not looked for in all of /proc. */
	ours |= !process->forked && session->pid_namespace &&
		process->arena->pid_namespace == session->pid_namespace;

	*pid = 0;
	if (ours || (process->namespace_pid > 1 && !told)) {
		consider(&s, process->namespace_pid);
		if (s.fit || s.hidden)
			*pid = process->namespace_pid; /* where we may not look, it is the likeliest */
	}
	if (!s.proven && !s.fit && !ours) {
		s.hidden = 0;
		if (!proc_each_named(process->namespace_pid, consider, &s))
			return PROC_UNKNOWN;
	}
	if (s.proven || (s.fit == 1 && (!s.hidden || s.parent))) {
		*pid = s.proven ? s.proven : s.fitting;
		return PROC_YES;
	}
	return s.fit || s.hidden ? PROC_UNKNOWN : PROC_NO;
}
