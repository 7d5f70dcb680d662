/* SPDX-License-Identifier: Apache-2.0 */
/* commit.c: see commit.h. */
#include "commit.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/text.h"
#include "intake/drain.h"
#include "intake/uncommitted.h"
#include "output/checkpoint.h"
#include "output/counter_rows.h"
#include "output/finish.h"
#include "process/ending.h"
#include "ring/heartbeat.h"
#include "ring/ring_chunks.h"
#include "ring/torn.h"
#include "stop.h"
#include "vm/mappings.h"

/* Counts the rings whose files lost pages under the mapping; the files' sizes show which. */
static void count_torn_rings(struct rings *rings, struct output *output)
{
	uint64_t pages = torn_pages();

	if (pages == rings->torn_pages)
		return;
	rings->torn_pages = pages;
	for (size_t i = 0; i < rings->all.count; i++) {
		struct ring_file *a = rings->all.at[i];

		if (a->torn || !a->header || !ring_torn(a))
			continue;
		a->torn = true;
		output->noticed.torn++;
	}
}

void commit_session(struct session *session)
{
	struct output *output = &session->output;
	struct rings *rings = &session->rings;

	count_torn_rings(rings, output);
	output_flush_events(output);
	for (size_t i = 0; i < rings->streams.count; i++) {
		struct stream *s = rings->streams.at[i];

		if (s->thread.changed)
			output_put_thread(output, s->process, &s->thread, 0);
	}
	rings_beat(rings, &output->ticks);
	finish_write_new(output);
	counter_rows_write(rings, &session->people, output);
	mappings_write(&session->people, output);
	checkpoint_take(session);
	if (output->store && output->applied_until != UINT64_MAX) {
		OUTPUT_PUT(output, store_put_number, "started_boottime_ns",
			   output->ticks.read_boottime);
		OUTPUT_PUT(output, store_put_number, "committed_ns",
			   ticks_ns(&output->ticks, output->applied_until));
	}
	rings_beat(rings, &output->ticks);
	drain_mark_taken(rings);
	if (output->store && !output->err)
		output_fail(output, store_commit(output->store));
	if (output->err)
		return;
	drain_mark_committed(rings);
	process_free_slots(&session->people);
	session->committed = output->total_events;
	session->write_tries = 0;
}

/* True if at least an eighth of the chunks that its programs may fill is free. */
static bool has_room(struct ring_file *ring)
{
	uint64_t busy, present;

	ring_each_chunk(ring, NULL, NULL);
	ring_grow(ring);
	busy = ring->busy[0] * (uint64_t)SHINY_SMALL_BYTES +
	       ring->busy[1] * (uint64_t)SHINY_CHUNK_BYTES;
	present = ring->present[0] * (uint64_t)SHINY_SMALL_BYTES +
		  ring->present[1] * (uint64_t)SHINY_CHUNK_BYTES;
	return busy * 8 <= present * 7;
}

/* Returns how often to try a write that fails with `error`: while the rings of running programs
 * have room, without limit, so that the user can free space; else for two seconds; for a moment, if
 * a program would wait meanwhile. */
static unsigned most_tries(const struct rings *rings, int error)
{
	enum { TRIES_FULL = 3, TRIES_ENDED = 20 };
	bool used = false;

	for (size_t i = 0; i < rings->present.count; i++) {
		struct ring_file *ring = rings->present.at[i];

		if (ring->over || !ring->header || !ring_held(ring))
			continue;
		used = true;
		if (!has_room(ring))
			return TRIES_FULL;
	}
	return used && error != EIO ? UINT_MAX : TRIES_ENDED;
}

bool commit_try_again(void *context, int error)
{
	static const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	struct session *session = context;

	session->given_up = session->given_up || stop_asked() ||
			    session->write_tries >= most_tries(&session->rings, error);
	if (session->given_up)
		return false;
	session->write_tries++;
	rings_beat(&session->rings, &session->output.ticks);
	nanosleep(&pause, NULL);
	return true;
}

bool commit_holds_all(const struct session *session)
{
	for (size_t i = 0; i < session->rings.present.count; i++)
		if (!session->rings.present.at[i]->over)
			return false;
	return session->committed && !session->rings.uncommitted.count;
}

struct shiny_err *commit_failed(struct session *session, const char *directory,
				struct shiny_err *err)
{
	AUTO_FREE char *path = text_shell(session->output.path), *rings = text_shell(directory);
	AUTO_FREE char *whole = mem_format("%s.whole", session->output.path);
	AUTO_FREE char *behind = mem_format("%s.rest", session->output.path);
	AUTO_FREE char *to_whole = text_shell(whole), *to_rest = text_shell(behind);
	const char *lost = "";
	bool rest = !commit_holds_all(session);

	drain_take_back(&session->rings);
	store_abandon(session->output.store);
	session->output.store = NULL;
	if (session->committed && !session->options->with_events)
		lost = "with --no-events, what was read before the last commit is lost; ";
	else if (session->committed && !rest)
		return shiny_err_advise(
			err, "all events are in %s, not finished: shinyctl collect %s --out %s",
			path, path, to_whole);
	else if (session->committed)
		return shiny_err_advise(
			err,
			"free some space, or name files elsewhere; the first %" PRIu64
			" events: shinyctl collect %s --out %s ; what came after them, from %s: "
			"shinyctl collect %s --out %s",
			session->committed, path, to_whole, rings, rings, to_rest);
	store_remove(session->output.path); /* a new file without a commit is of no use */
	return shiny_err_advise(err,
				"%sfree some space, or name a file elsewhere; what is kept in %s: "
				"shinyctl collect %s --out %s",
				lost, rings, rings, path);
}

/* The number of ended rings, which are removed once they are committed. */
static unsigned rings_waiting(const struct session *session)
{
	unsigned count = 0;

	for (size_t i = 0; i < session->rings.present.count && !session->options->leftover; i++)
		count += session->rings.present.at[i]->over && session->rings.present.at[i]->header;
	return count;
}

bool commit_is_due(const struct session *session)
{
	enum { RINGS = 4, SLOTS = 64 /* a quarter of the least that a ring has */ };

	return rings_waiting(session) >= RINGS || session->people.slots_due.count >= SLOTS ||
	       session->rings.uncommitted_bytes >= UNCOMMITTED_MOST;
}

void commit_release_rings(struct session *session)
{
	struct rings *rings = &session->rings;

	for (size_t i = rings->present.count; i-- > 0;) {
		struct ring_file *a = rings->present.at[i];

		if (!a->over || !a->header || session->output.err || session->options->leftover)
			continue;
		if (!session->options->keep_rings && (unlink(a->path) == 0 || errno == ENOENT))
			rings->present.at[i] = rings->present.at[--rings->present.count];
		heartbeat_remove(rings->heartbeat, a);
		ring_release(a);
	}
}
