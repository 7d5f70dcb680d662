/* SPDX-License-Identifier: Apache-2.0 */
/* session_process.c: see session_process.h. */
#include "session_process.h"

#include <poll.h>
#include <unistd.h>

#include "../proc/proc.h"
#include "../ring/ring_file.h"

bool process_early(const struct process *p)
{
	if (p->within)
		p = p->within;
	return p->end && (p->replaced || p->stats.live.gone);
}

/* Returns the process's slot; NULL: it has lost it. */
static const struct shiny_process *slot_of(const struct process *p)
{
	const struct shiny_process *slot = p->closed ? NULL : &p->ring->processes[p->slot];

	if (slot && __atomic_load_n(&slot->generation, __ATOMIC_RELAXED) != p->generation) {
		p->ring->lies = true; /* a slot may not be reused before process_close */
		return NULL;
	}
	return slot;
}

void process_load_counters(struct process *p)
{
	const struct shiny_process *from = slot_of(p);

	if (from)
		ring_take_counters(p->ring, from->counters, p->counters);
}

void process_read_counters(struct process *p)
{
	const struct shiny_process *from = slot_of(p);

	if (!from)
		return;
	process_load_counters(p);
	p->said_end = __atomic_load_n(&from->exit_at, __ATOMIC_ACQUIRE); /* [slot] */
	if (p->said_end)
		p->said = (int)(__atomic_load_n(&from->exit_status, __ATOMIC_RELAXED) & 0xff) << 8;
}

/* Neither source may have an answer between the process's end and its parent's wait(): called again
 * later. */
void process_read_status(struct process *p)
{
	struct pollfd wait = { .fd = p->pidfd, .events = POLLIN };

	if (p->pidfd < 0 || p->status >= 0 || poll(&wait, 1, 0) != 1)
		return; /* an image that exec replaced has not exited */
	p->status = proc_exit_status(p->pid, p->pidfd);
	if (p->status < 0)
		return;
	close(p->pidfd);
	p->pidfd = -1;
}

void process_thread_name(const struct process *p, uint32_t tid, char *out, size_t room)
{
	bool listed;
	uint32_t thread = p->pid && !p->gone
				  ? proc_thread(p->pid, tid, p->pid == p->namespace_pid, &listed)
				  : 0;

	out[0] = '\0';
	if (thread)
		proc_thread_name(p->pid, thread, out, room);
}

bool process_thread_alive(const struct process *p, uint32_t tid)
{
	bool listed = false;

	if (!p->pid || p->wanderer || proc_thread(p->pid, tid, p->pid == p->namespace_pid, &listed))
		return true;
	return !listed;
}
