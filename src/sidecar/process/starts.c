/* SPDX-License-Identifier: Apache-2.0 */
/* starts.c: see starts.h. */
#include "starts.h"

#include <stdlib.h>
#include <string.h>

#include "../proc/proc.h"

enum { ANCESTORS = 16 };

const struct process *starts_teller(const struct session *session, const struct start *start)
{
	return roster_find(&session->roster, start->ring, start->slot, start->generation);
}

static uint32_t id_of(const struct process *p)
{
	return p ? p->id : 0;
}

uint32_t starts_teller_id(const struct session *session, const struct start *start)
{
	return id_of(starts_teller(session, start));
}

void starts_forget(struct session *session, size_t i)
{
	free(session->starts.at[i].path);
	free(session->starts.at[i].executable);
	free(session->starts.at[i].detail);
	memmove(&session->starts.at[i], &session->starts.at[i + 1],
		(session->starts.count - i - 1) * sizeof(*session->starts.at));
	session->starts.count--;
}

void starts_forget_all(struct session *session)
{
	while (session->starts.count)
		starts_forget(session, session->starts.count - 1);
	free(session->starts.at);
}

void starts_answered(struct session *session, uint32_t pid)
{
	for (size_t i = session->starts.count; pid && i-- > 0;)
		if (session->starts.at[i].pid == pid) {
			starts_forget(session, i);
			return;
		}
}

uint32_t starts_parent(struct session *session, uint32_t pid, uint64_t time)
{
	for (unsigned n = 0; pid > 1 && n < ANCESTORS; n++) {
		const struct process *p = roster_before(&session->roster, pid, time, NULL);

		if (p)
			return p->id;
		for (size_t i = session->starts.count; i-- > 0;)
			if (session->starts.at[i].pid == pid && session->starts.at[i].time <= time)
				return starts_teller_id(session, &session->starts.at[i]);
		pid = proc_parent(pid);
	}
	return 0;
}
