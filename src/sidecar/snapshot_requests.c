/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_requests.c: see snapshot_requests.h. */
#define _GNU_SOURCE
#include "snapshot_requests.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "commit.h"
#include "../base/cleanup.h"
#include "../base/worker_thread.h"
#include "new_rings.h"
#include "round.h"
#include "snapshot/edge_scan.h"
#include "snapshot/snapshot_asked.h"

static const uint64_t peak_step = 1 << 20; /* bytes; or a quarter of the last peak, if that is
                                            * more */
/* ns to catch up with the records: while the program runs, and while it is stopped */
static const uint64_t names_patience = UINT64_C(5000000000),
	running_patience = UINT64_C(60000000000), stopped_patience = UINT64_C(2000000000);

/* A process and its highest snapshot so far. */
struct peak_taken {
	uint32_t process;
	uint64_t bytes; /* live bytes at that snapshot */
};

struct snapshot_taker {
	uint32_t taken;          /* the last id */
	bool at_peaks;           /* SHINY_SNAPSHOT has "peak" */
	VEC(struct peak_taken) peaks;
	/* of the snapshot under way */
	struct edge_scan scan;
	struct store_snapshot row;
	uint32_t pid;
	bool asked;     /* an asker waits for it */
	uint64_t begun; /* wall ns */
	pthread_t thread;
	bool running, finished; /* finished: atomic; set last by the thread */
};

/* ---- taking one ---- */

static void *find_edges(void *context)
{
	struct snapshot_taker *s = context;

	edge_scan_run(&s->scan);
	__atomic_store_n(&s->finished, true, __ATOMIC_RELEASE);
	return NULL;
}

struct block_taker {
	struct ids *ids;
	struct process *process;
	struct edge_scan *scan;
};

/* Adds a block with its vtable, from the copy if it is still unknown: the library reads most vptrs
 * only at a block's end. */
static void take_block(void *context, const struct entry *entry)
{
	struct block_taker *t = context;
	uint64_t vptr = entry->vtable ? 0 : memory_copy_word(&t->scan->copy, entry->address);

	if ((entry->flags & ENTRY_API) == SHINY_API_COLLECTED) {
		uint64_t *first = &t->scan->collected_first, *last = &t->scan->collected_last;

		*first = !*first || entry->address < *first ? entry->address : *first;
		*last = entry->address > *last ? entry->address : *last;
	}
	*vec_push(&t->scan->blocks) =
		(struct snapshot_block){ entry->address, entry->size,
					 t->process->stats.sites.at[entry->site].stack,
					 vptr ? space_vtable(&t->process->space, t->ids, vptr)
					      : entry->vtable };
}

static bool is_file(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

static void take_space(const struct output *output, const struct process *p, struct edge_scan *scan)
{
	for (size_t i = 0; i < p->space.live.count; i++) {
		const struct mapping *m = &p->space.live.at[i];

		const char *path = output->ids.modules.at[m->module - 1].path;

		if (is_file(path, "libshiny.so"))
			*vec_push(&scan->own) = (struct scan_own){ m->start, m->end };
		else
			*vec_push(&scan->modules) =
				(struct scan_module){ m->start, m->end, m->bias, m->module,
						      is_file(path, "libc.so.6") };
	}
	for (unsigned i = 0; i < SHINY_OWN && p->ring->header; i++)
		*vec_push(&scan->own) = (struct scan_own){
			__atomic_load_n(&p->ring->header->own[i].start, __ATOMIC_RELAXED),
			__atomic_load_n(&p->ring->header->own[i].end, __ATOMIC_RELAXED)
		};
}

/*
 * Applies everything that the process has written to its rings, and all earlier records of others:
 * after a start of many programs that takes many rounds. False: it took longer than `patience` ns,
 * so a snapshot would lack blocks.
 */
static bool drain(struct session *session, struct directory *dir, uint64_t patience)
{
	uint64_t until = ticks_wall_ns() + patience;

	output_fail(&session->output, new_rings_take(session, dir));
	while (!session->output.err && (round_run(session) || round_is_held_back(&session->rings) ||
					session->rings.behind)) {
		if (ticks_wall_ns() > until)
			return false;
		if (session->rings.behind && commit_is_due(session)) /* a round stops there */
			commit_session(session);
	}
	return !session->output.err;
}

static struct shiny_err *too_late(void)
{
	return shiny_err(SHINY_ERR_OTHER,
			 "the sidecar is too far behind to know all of its blocks: try again");
}

static struct shiny_err *hold_and_copy(struct session *session, struct directory *dir,
				       struct process *p, struct snapshot_taker *s)
{
	struct tracee tracee = { 0 };
	struct shiny_err *err = NULL;
	uint64_t stopped;

	priority_follow(&session->rings.priority, 0); /* ordinary until the next round, as the
						       * program waits */
	stopped = ticks_wall_ns();
	SHINY_TRY(tracee_stop(p->pid, &tracee));
	if (!drain(session, dir, stopped_patience))
		err = too_late();
	s->row.time = ticks_ns(&session->output.ticks, ticks_now(&session->output.ticks));
	if (!err)
		err = memory_copy_take(p->pid, &s->scan.copy);
	s->scan.thread_count = tracee.threads.count;
	s->scan.threads = mem_zero(tracee.threads.count, sizeof(*s->scan.threads));
	memcpy(s->scan.threads, tracee.threads.at,
	       tracee.threads.count * sizeof(*s->scan.threads));
	tracee_release(&tracee);
	s->row.stopped = ticks_wall_ns() - stopped;
	return err;
}

static struct process *find_running(const struct people *people, uint32_t pid)
{
	for (size_t i = 0; i < people->running.count; i++)
		if (people->running.at[i]->pid == pid && !people->running.at[i]->gone)
			return people->running.at[i];
	return NULL;
}

static struct shiny_err *begin(struct session *session, struct directory *dir, struct process *p,
			       const char *cause)
{
	struct snapshot_taker *s = session->snapshots;
	uint32_t pid = p->pid;
	struct shiny_err *err;

	s->pid = pid;
	s->begun = ticks_wall_ns();
	s->row = (struct store_snapshot){ .process = p->id, .cause = cause };
	s->asked = false;
	SHINY_TRY(memory_copy_prepare(pid, &s->scan.copy));
	/* drain now, so that less is left while the process is stopped */
	err = drain(session, dir, running_patience) ? hold_and_copy(session, dir, p, s)
						    : too_late();
	if (!err) {
		struct block_taker taker = { &session->output.ids, p, &s->scan };

		registry_each(&p->registry, take_block, &taker);
		take_space(&session->output, p, &s->scan);
		s->finished = false;
		s->running = thread_start(&s->thread, find_edges, s);
		if (!s->running)
			err = shiny_err(SHINY_ERR_OTHER, "cannot start a thread");
	}
	if (err)
		edge_scan_deinit(&s->scan);
	return err;
}

/* ---- the result ---- */

static void put_roots(struct session *session, const struct snapshot_taker *s)
{
	for (size_t i = 0; i < s->scan.roots.count; i++) {
		const struct scan_root *r = &s->scan.roots.at[i];
		struct store_root row = { .snapshot = s->row.id,
					  .id = (uint32_t)i + 1,
					  .kind = root_kind_name(r->kind),
					  .module = r->module,
					  .vaddr = r->vaddr,
					  .tid = r->tid };

		OUTPUT_PUT(&session->output, store_put_root, &row);
		if (r->kind == ROOT_VARIABLE)
			*vec_push(&session->output.variables) = row;
	}
}

static void end_one(struct session *session)
{
	struct snapshot_taker *s = session->snapshots;
	struct edge_scan *scan = &s->scan;

	pthread_join(s->thread, NULL);
	s->running = false;
	s->row.id = ++s->taken;
	s->row.blocks = scan->blocks.count;
	s->row.bytes = scan->bytes;
	s->row.roots = scan->roots.count;
	s->row.edges = scan->packed.edges;
	s->row.copied = scan->copy.used;
	s->row.unread = scan->copy.unread;
	s->row.took = ticks_wall_ns() - s->begun;
	session->output.has_snapshots = true;
	OUTPUT_PUT(&session->output, store_put_snapshot, &s->row);
	put_roots(session, s);
	OUTPUT_PUT(&session->output, snapshot_put_parts, s->row.id, &scan->packed);
	if (s->asked)
		snapshot_queue_say(session->asked, &s->row, s->pid);
	edge_scan_deinit(scan);
}

/* True if its pid is still being searched (inquiry.h): on a busy machine that can take longer than
 * the program takes to its first mark, or to tell its pid to an asker. */
static bool is_unnamed(const struct process *p)
{
	return !p->pid && !p->wanderer && !p->gone && !p->closed;
}

static bool is_any_unnamed(const struct people *people)
{
	for (size_t i = 0; i < people->running.count; i++)
		if (is_unnamed(people->running.at[i]))
			return true;
	return false;
}

/* Returns the next requested process; NULL: none for now. Answers askers that have all
 * snapshots. */
static struct process *next_asked(struct snapshot_queue *queue, const struct people *people,
				  const char *directory)
{

	while (queue && queue->askers.count) {
		struct snapshot_asker *first = &queue->askers.at[0];
		bool may_come =
			ticks_wall_ns() - first->since < names_patience && is_any_unnamed(people);
		struct process *p;
		uint32_t pid;

		if (first->all && may_come)
			return NULL;
		if (first->all)
			snapshot_queue_all(queue, people);
		if (!first->pids.count) {
			snapshot_queue_answer(queue, directory);
			continue;
		}
		pid = first->pids.at[first->pids.count - 1];
		p = find_running(people, pid);
		if (!p && may_come)
			return NULL;
		first->pids.count--;
		if (p)
			return p;
		snapshot_queue_refuse(queue, pid,
				      shiny_err(SHINY_ERR_OTHER,
						"process %" PRIu32
						" is not being recorded in this session",
						pid));
	}
	return NULL;
}

static void refuse_rest(struct snapshot_queue *queue, const struct people *people,
			const char *directory)
{

	while (queue && queue->askers.count) {
		struct snapshot_asker *first = &queue->askers.at[0];

		if (first->all)
			snapshot_queue_all(queue, people);
		while (first->pids.count)
			snapshot_queue_refuse(queue, first->pids.at[--first->pids.count],
					      shiny_err(SHINY_ERR_OTHER,
							"the recording has ended"));
		snapshot_queue_answer(queue, directory);
	}
}

/* Begins the next requested snapshot; false: none has begun. */
static bool serve_asked(struct session *session, struct directory *dir)
{
	struct shiny_err *err;
	struct process *p;

	while (!session->output.err &&
	       (p = next_asked(session->asked, &session->people, dir->path))) {
		uint32_t pid = p->pid;

		err = begin(session, dir, p, "asked");
		if (!err) {
			session->snapshots->asked = true;
			return true;
		}
		snapshot_queue_refuse(session->asked, pid, err);
	}
	return false;
}

/* ---- moments: SHINY_SNAPSHOT ---- */

/* Begins a snapshot that no asker waits for: a refusal becomes a note. */
static bool begin_at_moment(struct session *session, struct directory *dir, struct process *p,
			    const char *cause)
{
	struct shiny_err *err = begin(session, dir, p, cause);

	if (!err)
		return true;
	OUTPUT_PUT(&session->output, store_put_note, p->id, err->message);
	shiny_err_free(err);
	return false;
}

/* Serves a process whose thread waits in its exit or at a mark. */
static bool serve_waiting(struct session *session, struct directory *dir)
{
	for (size_t i = 0; i < session->people.running.count && !session->output.err; i++) {
		struct process *p = session->people.running.at[i];
		struct shiny_header *h = p->ring->header;
		struct shiny_process *slot = &p->ring->processes[p->slot];
		uint32_t wanted;
		bool exits, begun;

		if (p->gone || p->closed || !h || is_unnamed(p))
			continue;
		wanted = __atomic_load_n(&slot->snapshots_wanted, __ATOMIC_ACQUIRE); /* [ctl] */
		if (wanted == __atomic_load_n(&slot->snapshots_taken, __ATOMIC_RELAXED))
			continue;
		/* [slot]; an exiting process sets exit_at first */
		exits = __atomic_load_n(&slot->exit_at, __ATOMIC_ACQUIRE) != 0;
		begun = begin_at_moment(session, dir, p, exits ? "exit" : "mark");
		__atomic_store_n(&slot->snapshots_taken, wanted, __ATOMIC_RELEASE); /* [ctl] */
		__atomic_fetch_add(&h->given, 1, __ATOMIC_RELEASE); /* [give] */
		if (begun)
			return true;
	}
	return false;
}

static uint64_t *peak_of(struct snapshot_taker *s, uint32_t process)
{
	for (size_t i = 0; i < s->peaks.count; i++)
		if (s->peaks.at[i].process == process)
			return &s->peaks.at[i].bytes;
	*vec_push(&s->peaks) = (struct peak_taken){ .process = process };
	return &s->peaks.at[s->peaks.count - 1].bytes;
}

static bool serve_peaks(struct session *session, struct directory *dir)
{
	struct snapshot_taker *s = session->snapshots;

	for (size_t i = 0; i < session->people.running.count && !session->output.err && s->at_peaks;
	     i++) {
		struct process *p = session->people.running.at[i];
		uint64_t *last, step;

		if (p->gone || p->closed || p->pending || is_unnamed(p))
			continue;
		last = peak_of(s, p->id);
		step = *last / 4 > peak_step ? *last / 4 : peak_step;
		if (p->stats.live.bytes < *last + step)
			continue;
		/* the peak may be over */
		if (!drain(session, dir, running_patience) || p->stats.live.bytes < *last + step)
			continue;
		*last = p->stats.live.bytes;
		if (begin_at_moment(session, dir, p, "peak"))
			return true;
	}
	return false;
}

/* Creates the taker; notes unknown words of SHINY_SNAPSHOT. */
static struct snapshot_taker *make_taker(struct session *session)
{
	struct snapshot_taker *s = mem_zero(1, sizeof(*s));
	char *words = mem_text(session->options->snapshot ? session->options->snapshot : "");
	char *rest = words, *word;

	while ((word = strsep(&rest, ","))) {
		if (!strcmp(word, "peak")) {
			s->at_peaks = true;
		} else if (*word && strcmp(word, "exit") != 0 && strncmp(word, "mark:", 5) != 0) {
			char *note = mem_format("SHINY_SNAPSHOT: not exit, peak or mark:NAME: '%s'",
						word);

			OUTPUT_PUT(&session->output, store_put_note, 0, note);
			free(note);
		}
	}
	free(words);
	return s;
}

void snapshots_serve(struct session *session, struct directory *dir)
{
	if (!session->output.store)
		return;
	if (!session->snapshots)
		session->snapshots = make_taker(session);
	if (session->snapshots->running) {
		if (!__atomic_load_n(&session->snapshots->finished, __ATOMIC_ACQUIRE))
			return;
		end_one(session);
	}
	if (!serve_asked(session, dir) && !serve_waiting(session, dir))
		serve_peaks(session, dir);
}

void snapshots_end(struct session *session, struct directory *dir)
{
	if (session->snapshots && session->snapshots->running)
		end_one(session);
	refuse_rest(session->asked, &session->people, dir->path);
	if (session->asked)
		free(session->asked->askers.at);
	free(session->asked);
	if (session->snapshots)
		free(session->snapshots->peaks.at);
	free(session->snapshots);
	session->asked = NULL;
	session->snapshots = NULL;
}
