/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c: see recover.h.
 *
 * A sidecar that was killed, or had no room left, leaves a file with the events up to its last
 * commit, and the modules, frames, stacks, vtables, threads and processes that these name; every
 * total, type, site and name is missing, as those are written at the end. So recovery applies the
 * events once more, to registries and aggregates like the sidecar's, and writes the missing end.
 * The clock is the file's own: a tick is a nanosecond. Mappings of modules and the memory beside
 * malloc stay missing, as no commit has them. The file itself is only read.
 *
 * Its sidecar may still write it. So one transaction looks up the last block and reads the tables;
 * in it no row and no block up to this one has a dangling reference. The blocks are read after it.
 * (They take too long for the transaction: a writer that ends meanwhile could not empty its log.) A
 * dangling reference is damage, read as none, and counted.
 *
 * Reading again takes only new rows and blocks, as ids and blocks only grow. A process's row can
 * change as well: a process ends, gets a role, or turns out to be a fork. A fork must be applied at
 * its time: if later events have been read, everything must be read anew. Rows that no count
 * depends on (threads, marks, notes, unrecorded programs) are copied at the end.
 *
 * A file that keeps its last events only (SHINY_KEEP) has checkpoints: the sums up to a moment,
 * with which the recovery begins, and the blocks that lived then, which are in these sums already.
 * The file is read as it was at one moment, as the writer deletes what it no longer keeps. Where it
 * has moved on, between two readings, to a checkpoint behind the events that were read, everything
 * must be read anew, too.
 */
#define _GNU_SOURCE
#include "recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../store/contents.h"
#include "intake/apply_block.h"
#include "output/finish.h"
#include "process/inheritance.h"
#include "recovery_tables.h"
#include "session_setup.h"

/* ---- the events ---- */

static void end_block(struct recovery *recovery, struct process *p, const struct event *e)
{
	enum block_end how = e->api == EVENT_END_REUSED	    ? END_REUSED
			     : e->api == EVENT_END_RELEASED ? END_RELEASED
							    : END_FREED;
	struct entry old;

	if (registry_remove(&p->registry, e->address, &old))
		apply_block_ended(&recovery->session->output, &recovery->stream, &old, how,
				  e->time);
	else
		p->noticed.unknown_frees++;
}

static void move_block(struct recovery *recovery, struct process *p, const struct event *e,
		       struct entry *entry)
{
	struct entry *there = registry_find(&p->registry, e->old_address), old = { 0 };

	if (there && (there->flags & ENTRY_API) == SHINY_API_COLLECTED) { /* resized, or moved */
		struct entry object = *there;

		stats_resize(&p->stats, there, entry->size, e->time, e->time);
		registry_remove(&p->registry, object.address, &old);
		object.address = e->address;
		object.size = entry->size;
		registry_put(&p->registry, &object, &old);
		return;
	}
	if (e->old_address && registry_remove(&p->registry, e->old_address, &old)) {
		entry->vtable = old.vtable;
		entry->flags |= old.flags & ENTRY_OF_VTABLE;
		apply_block_ended(&recovery->session->output, &recovery->stream, &old, END_FREED,
				  e->time);
	}
	entry->flags |= ENTRY_REALLOC;
	apply_block_began(&recovery->session->output, &recovery->stream, entry, e->time);
}

static void read_type(struct output *output, struct process *p, const struct event *e)
{
	struct entry *entry = registry_find(&p->registry, e->address);

	if (!entry || !e->vtable || e->vtable > output->ids.vtables.count)
		return;
	apply_reading(entry, e->vtable, e->api);
}

/* Applies what happened. */
static void happen(struct recovery *recovery, struct process *p, const struct event *e)
{
	struct session *session = recovery->session;

	total_until(&session->output.total, e->time);
	total_until(&session->output.second, e->time);
	if (p->stats.live.left)
		total_returns(p->stats.total, &p->stats.live, e->time, p->replaced);
	if (e->time > session->people.next_fork || p->pending)
		process_take_over(session, e->time > p->fork_at ? e->time : p->fork_at + 1);
	recovery->until = e->time > recovery->until ? e->time : recovery->until;
	session->output.total_events++;
	p->events++;
	p->last = e->time > p->last ? e->time : p->last;
}

/* Files a block that lived at the checkpoint. */
static void carry(struct process *p, const struct event *e, struct entry *entry)
{
	struct entry old;

	if (e->kind == EVENT_REALLOC)
		entry->flags |= ENTRY_REALLOC;
	if (e->api & EVENT_INHERITED)
		entry->flags |= ENTRY_INHERITED;
	if (!p->settled && e->address && !registry_put(&p->registry, entry, &old))
		p->noticed.refused++;
}

static bool replay_event(void *context, const struct event *e)
{
	struct recovery *recovery = context;
	struct session *session = recovery->session;
	struct process *p = e->process && e->process <= session->people.all.count
				    ? session->people.all.at[e->process - 1]
				    : NULL;
	uint64_t allocs = session->output.allocs, frees = session->output.frees;
	struct entry entry;

	if (!p || session->output.err)
		return !session->output.err;
	if (!event_is_carried(e))
		happen(recovery, p, e);
	recovery->stream.process = p;
	recovery->stream.head.time = e->time;
	if (session->output.store)
		OUTPUT_PUT(&session->output, store_put_events, e, 1);
	entry = (struct entry){
		.address = e->address,
		.birth = e->time,
		.size = e->size & EVENT_BLOCK_MOST,
		.flags = (e->api & ENTRY_API) | (unsigned)e->level << ENTRY_LEVEL_SHIFT,
		.site = stats_site(&p->stats,
				   e->stack <= session->output.ids.stacks.count ? e->stack : 0),
		.vtable = e->kind == EVENT_ALLOC && e->vtable <= session->output.ids.vtables.count
				  ? e->vtable
				  : 0
	};
	if (e->tag && e->tag <= session->output.tags.count)
		entry.site = stats_tagged(&p->stats, entry.site, e->tag);
	if (event_is_carried(e) && e->kind != EVENT_VPTR) {
		carry(p, e, &entry);
		return true;
	}
	switch (e->kind) {
	case EVENT_ALLOC:
		apply_block_began(&session->output, &recovery->stream, &entry, e->time);
		break;
	case EVENT_FREE:
		end_block(recovery, p, e);
		break;
	case EVENT_REALLOC:
		move_block(recovery, p, e, &entry);
		break;
	case EVENT_VPTR:
		read_type(&session->output, p, e);
		break;
	default:
		break;
	}
	if (p->within) {
		session->output.allocs = allocs;
		session->output.frees = frees;
	}
	return true;
}

/* ---- reading and finishing ---- */

struct recovery *recovery_create(const struct sidecar_options *options, const char *file)
{
	struct recovery *recovery = mem_zero(1, sizeof(*recovery));

	recovery->file = file;
	recovery->session = session_create(options, 0);
	/* as for another boot: there is no "now" */
	recovery->session->output.ticks = (struct ticks){ .kind = SHINY_CLOCK_MONOTONIC,
							  .foreign = true,
							  .settled = true,
							  .rate = UINT64_C(1) << 32 };
	recovery->session->output.ticks_known = true;
	return recovery;
}

/* Removes an output file that is not finished. */
static void drop_out(struct output *output)
{
	store_abandon(output->store);
	unlink(output->path);
	output->store = NULL;
}

void recovery_destroy(struct recovery *recovery)
{
	if (recovery->session->output.store)
		drop_out(&recovery->session->output);
	free(recovery->tails.at);
	session_destroy(recovery->session);
	free(recovery);
}

static struct shiny_err *open_from(struct recovery *recovery)
{
	struct shiny_err *err = store_open(recovery->file, &recovery->from);

	if (!err && store_complete(recovery->from))
		err = shiny_err(SHINY_ERR_OTHER,
				"%s: its recording was finished, nothing is to be recovered",
				recovery->file);
	return err;
}

static void close_from(struct recovery *recovery)
{
	store_close(recovery->from);
	recovery->from = NULL;
}

struct shiny_err *recovery_read(struct recovery *recovery, bool *behind)
{
	struct shiny_err *err = open_from(recovery);
	uint64_t last = 0, astray = 0;

	if (!err)
		err = store_hold(recovery->from);
	if (!err)
		err = contents_last_block(recovery->from, &last);
	if (!err)
		err = contents_number(recovery->from, "committed_ns", &recovery->committed);
	if (!err)
		err = recovery_take_tables(recovery);
	if (!err && !recovery->keep)
		err = store_release(recovery->from);
	if (!err && !recovery->behind)
		err = store_each_event_between(recovery->from, recovery->block, last, replay_event,
					       recovery);
	if (!err)
		err = store_astray(recovery->from, false, &astray);
	if (astray > recovery->session->output.noticed.astray)
		recovery->session->output.noticed.astray = astray;
	recovery->block = last;
	close_from(recovery);
	*behind = recovery->behind;
	return err;
}

static struct shiny_err *put_rest(struct recovery *recovery, struct sidecar_summary *summary)
{
	struct session *session = recovery->session;
	struct shiny_err *err = open_from(recovery);
	uint64_t until;
	char text[256];

	if (!err)
		err = recovery_copy_tables(recovery);
	close_from(recovery);
	if (err)
		return err;
	process_take_over(session, UINT64_MAX);
	until = recovery->committed > recovery->until ? recovery->committed : recovery->until;
	session->output.applied_until = until;
	if (!session->rings.all.count)
		return shiny_err(SHINY_ERR_OTHER,
				 "nothing was committed before the recording ended");
	snprintf(text, sizeof(text), "%s, until %.3f s after its start",
		 session->options->growing ? "the recording goes on: this is a dump"
					   : "the recording did not finish: this is what it had "
					     "committed",
		 (double)until / 1e9);
	OUTPUT_PUT(&session->output, store_put_note, 0, text);
	session->output.noticed.cut_short = !session->options->growing;
	if (recovery->base.number) {
		OUTPUT_PUT(&session->output, store_put_number, "kept_from_ns", recovery->base.time);
		OUTPUT_PUT(&session->output, store_put_number, "keep_ns", recovery->keep);
	}
	finish_session(session, summary);
	err = session->output.err;
	session->output.err = NULL;
	return err;
}

static struct shiny_err *open_out(struct recovery *recovery)
{
	const struct sidecar_options *options = recovery->session->options;
	size_t length = strlen(recovery->file);
	bool named = length > 6 && !strcmp(recovery->file + length - 6, ".shiny");

	recovery->session->output.path =
		options->out ? mem_text(options->out)
			     : mem_format("%.*s.recovered.shiny", (int)(length - (named ? 6 : 0)),
					  recovery->file);
	return store_create(recovery->session->output.path, options->force, options->with_events,
			    &recovery->session->output.store);
}

struct shiny_err *recovery_finish(struct recovery *recovery, struct sidecar_summary *out)
{
	struct session *session = recovery->session;
	struct sidecar_summary summary = { 0 };
	struct store_totals totals = { 0 };
	struct shiny_err *err = session->output.store ? NULL : open_out(recovery);

	if (err)
		return err;
	err = put_rest(recovery, &summary);
	if (err)
		return err;
	err = store_finish(session->output.store, &totals);
	session->output.store = NULL;
	if (err)
		return err;
	summary.sites = totals.sites;
	summary.types = totals.types;
	summary.log_left = totals.log_left;
	snprintf(summary.path, sizeof(summary.path), "%s", session->output.path);
	*out = summary;
	return NULL;
}

struct shiny_err *sidecar_recover(const struct sidecar_options *options, const char *file,
				  struct sidecar_summary *out)
{
	struct recovery *recovery = recovery_create(options, file);
	struct shiny_err *err = open_from(recovery);
	bool behind;

	close_from(recovery);
	if (!err)
		err = open_out(recovery); /* events are copied as they are read */
	if (!err)
		err = recovery_read(recovery, &behind);
	if (!err)
		err = recovery_finish(recovery, out);
	recovery_destroy(recovery);
	return err;
}
