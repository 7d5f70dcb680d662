/* SPDX-License-Identifier: Apache-2.0 */
/* starts.c: see starts.h. */
#include "starts.h"

#include <stdlib.h>
#include <string.h>

#include "../proc/proc.h"

enum { ANCESTORS = 16 };

const struct process *starts_teller(const struct people *people, const struct start *start)
{
	return roster_find(&people->roster, start->ring, start->slot, start->generation);
}

static uint32_t id_of(const struct process *p)
{
	return p ? p->id : 0;
}

uint32_t starts_teller_id(const struct people *people, const struct start *start)
{
	return id_of(starts_teller(people, start));
}

void starts_forget(struct people *people, size_t i)
{
	free(people->starts.at[i].path);
	free(people->starts.at[i].executable);
	free(people->starts.at[i].detail);
	memmove(&people->starts.at[i], &people->starts.at[i + 1],
		(people->starts.count - i - 1) * sizeof(*people->starts.at));
	people->starts.count--;
}

void starts_forget_all(struct people *people)
{
	while (people->starts.count)
		starts_forget(people, people->starts.count - 1);
	free(people->starts.at);
}

void starts_answered(struct people *people, uint32_t pid)
{
	for (size_t i = people->starts.count; pid && i-- > 0;)
		if (people->starts.at[i].pid == pid) {
			starts_forget(people, i);
			return;
		}
}

uint32_t starts_parent(const struct people *people, uint32_t pid, uint64_t time)
{
	for (unsigned n = 0; pid > 1 && n < ANCESTORS; n++) {
		const struct process *p = roster_before(&people->roster, pid, time, NULL);

		if (p)
			return p->id;
		for (size_t i = people->starts.count; i-- > 0;)
			if (people->starts.at[i].pid == pid && people->starts.at[i].time <= time)
				return starts_teller_id(people, &people->starts.at[i]);
		pid = proc_parent(pid);
	}
	return 0;
}
