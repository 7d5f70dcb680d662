/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c: see loop.h. */
#define _GNU_SOURCE
#include "loop.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "access/accesses.h"
#include "commit.h"
#include "intake/drain.h"
#include "intake/pace.h"
#include "new_rings.h"
#include "output/resolve_ahead.h"
#include "proc/errands.h"
#include "proc/proc.h"
#include "process/lifecycle.h"
#include "process/notices.h"
#include "ring_end.h"
#include "round.h"
#include "snapshot_requests.h"
#include "stop.h"

#define MS UINT64_C(1000000)

/*
 * Asks the programs to flush their nurseries: blocks that are in one when their process is killed
 * have no type. Once a second is enough for long lives; 50 ms and a quarter of a second after a
 * start of a ring or process serve short ones.
 */
static void ask_for_flush(struct rings *rings, uint64_t wall)
{
	for (size_t i = 0; i < rings->present.count; i++) {
		struct ring_file *a = rings->present.at[i];

		if (a->over)
			continue;
		if (a->newcomer) {
			a->newcomer = false;
			a->flush_step = 200 * MS;
			if (!a->flush_at || a->flush_at > wall + 50 * MS)
				a->flush_at = wall + 50 * MS; /* never later than planned, as
							       * processes may start all the time */
		}
		if (wall < a->flush_at)
			continue;
		__atomic_add_fetch(&a->header->flush, 1, __ATOMIC_RELAXED); /* [ctl] */
		a->flush_at = wall + a->flush_step;
		a->flush_step = 1000 * MS;
	}
}

/*
 * Returns the largest share of a ring's bytes that its writers have claimed since the last scan, in
 * 1/256. The share in use does not matter: thousands of idle threads with a chunk each are no
 * reason to hurry.
 */
static unsigned pressure(const struct rings *rings)
{
	unsigned most = 0;

	for (size_t i = 0; i < rings->present.count; i++) {
		const struct ring_file *a = rings->present.at[i];
		unsigned share = a->over ? 0 : (unsigned)(a->turnover * 256 / a->bytes);

		most = share > most ? share : most;
	}
	return most;
}

/* True if more than a quarter of the small or the large chunks are in use. */
static bool is_crowded(const struct ring_file *ring, int large)
{
	uint32_t count = large ? ring->chunks.count - ring->chunks.smalls : ring->chunks.smalls;

	return ring->busy[large] > count / 4;
}

/* Sleeps until the next round; true: the launcher has hung up. After that its pipe is no longer
 * polled, as it would end every sleep at once. */
static bool pause_for(const struct session *session, uint64_t ns, bool hung_up)
{
	struct pollfd wait = { .fd = session->options->launcher_fd, .events = 0 };
	struct timespec time = { .tv_nsec = (long)ns };

	return ppoll(&wait, hung_up ? 0 : 1, &time, NULL) == 1 &&
	       wait.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* Reads the launcher's last message, if it sent one. */
static void hear_launcher(struct session *session)
{
	struct sidecar_ended ended;

	if (read(session->options->launcher_fd, &ended, sizeof(ended)) == sizeof(ended))
		session->people.launched = ended;
}

static bool all_over(const struct rings *rings)
{
	for (size_t i = 0; i < rings->present.count; i++)
		if (!rings->present.at[i]->over)
			return false;
	return true;
}

struct comers {
	struct errand errand;
	const char *session;
	uint32_t since;
	bool any;
};

static void look_for_comers(struct errand *errand)
{
	struct comers *comers = (struct comers *)errand;

	comers->any = proc_any_preloaded(comers->session, comers->since);
}

/*
 * Returns the least pid that a process of this session can have, or 0: unknown. Only descendants of
 * the first program know its directory, and they have later pids if the pids have not wrapped
 * around since, which takes longer than a second; after an exec the program itself keeps its pid.
 */
static uint32_t first_pid(const struct session *session, const struct directory *dir)
{
	const struct ring_file *first = session->rings.all.count ? session->rings.all.at[0] : NULL;
	struct timespec now;

	if (!first || !directory_is_programs(&session->rings, dir) ||
	    !session->people.pid_namespace ||
	    first->pid_namespace != session->people.pid_namespace ||
	    clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec - first->start_boottime <
			       1000 * MS
		       ? first->pid
		       : 0;
}

/* True if a process may be about to create a ring. */
static bool any_comes(struct session *session, const struct directory *dir)
{
	struct comers *comers = mem_zero(1, sizeof(*comers));
	bool any;

	comers->errand = (struct errand){ .run = look_for_comers, .end = errand_drop };
	comers->session = session->options->directory; /* outlives all sessions */
	comers->since = first_pid(session, dir);
	if (!errands_do(session->people.errands, &comers->errand))
		return true;
	any = comers->any;
	free(comers);
	return any;
}

/* The loop's own state. Times are wall ns. */
struct loop {
	struct session *session;
	struct directory *dir;
	uint64_t interval;
	uint64_t committed, watched, threads_looked; /* times of the last commit, process_watch and
						      * check of threads */
	uint64_t idle_since;			     /* 0: some ring is not over */
	bool hung_up;				     /* the launcher has hung up */
};

/* Reaps threads that ended without leaving their slots, in rings whose slots or chunks are getting
 * scarce. */
static void look_for_dead_threads(struct rings *rings)
{
	for (size_t i = 0; i < rings->present.count; i++) {
		struct ring_file *a = rings->present.at[i];

		if (!a->over && (is_crowded(a, 0) || is_crowded(a, 1) ||
				 ring_threads_used(a) > a->thread_count / 2))
			drain_reap_threads(rings, a);
	}
}

static uint64_t next_interval(const struct loop *loop, uint64_t applied)
{
	unsigned pressed = pressure(&loop->session->rings);

	if (pressed > 48 || applied > 200000)
		return 0;
	if (pressed > 16 || applied > 20000)
		return 2 * MS;
	return loop->interval < 18 * MS ? loop->interval + 2 * MS : 20 * MS;
}

/* Runs a round and the periodic duties around it. True: some rings end. */
static bool work(struct loop *loop, uint64_t wall)
{
	struct session *session = loop->session;
	uint64_t applied = round_run(session);
	bool some_end;

	notices_settle(session, directory_has_more(loop->dir) ? 0 : loop->dir->scanned, false);
	if (wall - loop->watched >= 10 * MS) {
		process_watch(session, wall);
		loop->watched = wall;
	}
	ask_for_flush(&session->rings, wall);
	if (wall - loop->threads_looked >= 1000 * MS) {
		look_for_dead_threads(&session->rings);
		loop->threads_looked = wall;
	}
	some_end = ring_end_check(session, loop->dir);
	snapshots_serve(session, loop->dir);
	accesses_serve(session->accesses, &session->output, &session->people);
	pace_follow(&session->rings);
	if (session->ahead)
		resolve_ahead_offer(session->ahead, &session->output.ids);
	if (wall - loop->committed >= 1000 * MS || commit_is_due(session)) {
		commit_session(session);
		commit_release_rings(session);
		loop->committed = wall;
	}
	loop->interval = next_interval(loop, applied);
	return some_end;
}

/* Returns the ns that a session waits for a first program, or for further ones when all of its
 * programs have ended. A first one that somebody starts by hand can take seconds. */
static uint64_t grace_of(struct session *session, const struct directory *dir)
{
	bool launched = session->options->launcher_fd >= 0;

	if (session->options->leftover)
		return 0;
	if ((launched || directory_is_programs(&session->rings, dir)) && !any_comes(session, dir))
		return 0;
	if (launched)
		return 100 * MS;
	return session->rings.all.count ? 1000 * MS : 10000 * MS;
}

/* True: the session is over, or fails. */
static bool is_over(struct loop *loop, uint64_t wall, struct shiny_err **err)
{
	struct session *session = loop->session;

	if (!all_over(&session->rings) || !loop->hung_up) {
		loop->idle_since = 0;
		return false;
	}
	if (!loop->idle_since)
		loop->idle_since = wall;
	if (wall - loop->idle_since >= grace_of(session, loop->dir)) {
		/* a program that did not see that has a ring by now */
		directory_say_finishing(&session->rings, loop->dir, true);
		do
			*err = new_rings_take(session, loop->dir);
		while (!*err && loop->dir->look);
		if (*err || (all_over(&session->rings) && !loop->dir->making))
			return true;
		directory_say_finishing(&session->rings, loop->dir, false);
		loop->idle_since = 0;
	}
	if (!loop->interval || loop->interval > 5 * MS)
		loop->interval = 5 * MS;
	return false;
}

struct shiny_err *loop_serve(struct session *session, struct directory *dir)
{
	struct loop loop = { .session = session,
			     .dir = dir,
			     .interval = 2 * MS,
			     .committed = ticks_wall_ns(),
			     .hung_up = session->options->launcher_fd < 0 };
	struct shiny_err *err = NULL;

	while (!stop_asked() && !session->output.err) {
		uint64_t wall = ticks_wall_ns(), soon;
		bool some_end = false;

		if (wall - dir->scanned >= 5 * MS || !session->rings.looked) {
			err = new_rings_take(session, dir);
			if (err)
				return err;
		}
		if (session->rings.looked)
			some_end = work(&loop, wall);
		else
			loop.interval = dir->look ? 0 : 5 * MS;
		if (is_over(&loop, wall, &err))
			return err;
		soon = some_end && loop.interval > MS ? MS : loop.interval;
		if ((soon || !loop.hung_up) && pause_for(session, soon, loop.hung_up)) {
			loop.hung_up = true;
			hear_launcher(session);
		}
	}
	return NULL;
}
