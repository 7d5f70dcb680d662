/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: see commit.h. */
#include "commit.h"

#include <errno.h>
#include <unistd.h>

#include "intake/drain.h"
#include "output/counter_rows.h"
#include "output/finish.h"
#include "ring/heartbeat.h"
#include "ring/torn.h"
#include "vm/mappings.h"

/* Pages of a mapped file were not there: whose they were shows in the sizes. */
static void count_torn_rings(struct session *session)
{
	uint64_t pages = torn_pages();

	if (pages == session->torn_pages)
		return;
	session->torn_pages = pages;
	for (size_t i = 0; i < session->rings.count; i++) {
		struct ring_file *a = session->rings.at[i];

		if (a->torn || !a->header || !ring_torn(a))
			continue;
		a->torn = true;
		session->noticed.torn++;
	}
}

void commit_session(struct session *session)
{
	count_torn_rings(session);
	session_flush_events(session);
	for (size_t i = 0; i < session->streams.count; i++)
		if (session->streams.at[i]->changed)
			session_put_stream(session, session->streams.at[i], 0);
	session_beat(session);
	finish_write_new(session);
	counter_rows_write(session);
	memory_write(session);
	session_beat(session);
	drain_mark_taken(session);
	if (session->store && !session->err)
		session_fail(session, store_commit(session->store));
	if (!session->err)
		drain_mark_committed(session);
}

unsigned commit_rings_waiting(const struct session *session)
{
	unsigned count = 0;

	for (size_t i = 0; i < session->present.count && !session->options->leftover; i++)
		count += session->present.at[i]->over && session->present.at[i]->header;
	return count;
}

void commit_release_rings(struct session *session)
{
	for (size_t i = session->present.count; i-- > 0;) {
		struct ring_file *a = session->present.at[i];

		if (!a->over || !a->header || session->err || session->options->leftover)
			continue;
		if (!session->options->keep_rings && (unlink(a->path) == 0 || errno == ENOENT))
			session->present.at[i] = session->present.at[--session->present.count];
		heartbeat_remove(session->heartbeat, a);
		ring_release(a);
	}
}
