/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.c: the sidecar's loop.
 *
 * Runs: sidecar. Signals: SIGTERM and SIGINT ask it to end; SIGHUP is ignored. Allocates: yes.
 * Threads: one; resolve_ahead.c, answers.c and errands.c make others.
 *
 * A round: T = now; look for new rings, processes and chunks; merge and apply everything up to T
 * (order.h); give chunks back. Rounds come every 2 to 20 ms, the closer the fuller the rings are.
 *
 * A ring ends when an exclusive lock on it succeeds (wire.h): then nobody maps it, and what is
 * drained after that is all there will ever be. That takes a few rounds, which all rings have in
 * common: a thousand short processes must not mean a thousand times as many rounds over those that
 * live. The session is over when all rings are, the launcher's pipe has hung up, and a last look at
 * the directory finds nothing new. Between exec and the new image's constructor a program holds no
 * ring: without a launcher a second of grace covers that, with one a tenth, and none when no
 * process is left that was started with the library preloaded.
 *
 * Writing the end of a session takes seconds where there is much to name. Who begins meanwhile
 * finds that in the lock's file (wire.h), allocates all of its ring at once and leaves it to us: it
 * gets a session of its own afterwards (sidecar_run_late), whose name has a number.
 *
 * An existing output file is never overwritten without `force`: a fixed name is refused before
 * anything is read; a pattern's (%p, %t) comes from the program, when it may be too late to ask, so
 * the next free name.2, name.3, … is taken.
 */
#define _GNU_SOURCE
#include "sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../base/text.h"
#include "process/notices.h"
#include "proc/proc.h"
#include "state/session.h"
#include "ring/torn.h"
#include "process/unrecorded.h"

#define MS UINT64_C(1000000)
#define BEAT_RECORDS 65536
#define ROOM_RECORDS 4096
enum { AHEAD = 12 };

static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
	asked_to_end = asked_to_end ? 2 : 1;
}

/* Asked to end more than once: waits for nobody else. */
static bool sidecar_hurried(void)
{
	return asked_to_end > 1;
}

void session_fail(struct session *session, struct shiny_err *err)
{
	if (!session->err)
		session->err = err;
	else
		shiny_err_free(err);
}

void session_flush_events(struct session *session)
{
	if (session->event_count && !session->err)
		session_fail(session, store_put_events(session->store, session->events,
						       session->event_count));
	session->event_count = 0;
}

/* ---- the output's name ---- */

static const char *pattern_of(const struct sidecar_options *options)
{
	static const struct {
#define SHINY_ENV(name, field, type, text, allowed) const char *field;
#include <shiny/wire/variables.def>
#undef SHINY_ENV
	} standard = {
#define SHINY_ENV(name, field, type, text, allowed) .field = text,
#include <shiny/wire/variables.def>
#undef SHINY_ENV
	};

	return options->out ? options->out : standard.out;
}

static char *expand(const char *pattern, const struct ring_file *ring, uint32_t pid)
{
	char *text = mem_text(""), *more, part[256];

	for (const char *at = pattern; *at; at++) {
		part[0] = *at;
		part[1] = '\0';
		if (*at == '%' && at[1]) {
			time_t seconds = (time_t)(ring->start_realtime / 1000000000);
			struct tm local;

			switch (*++at) {
			case 'e':
				snprintf(part, sizeof(part), "%s", text_base(ring->executable));
				break;
			case 'p':
				snprintf(part, sizeof(part), "%" PRIu32, pid);
				break;
			case 't':
				localtime_r(&seconds, &local);
				strftime(part, sizeof(part), "%Y%m%d-%H%M%S", &local);
				break;
			case 'h':
				if (gethostname(part, sizeof(part)))
					snprintf(part, sizeof(part), "host");
				part[sizeof(part) - 1] = '\0';
				break;
			case '%':
				break;
			default:
				snprintf(part, sizeof(part), "%%%c", *at);
			}
		}
		more = mem_format("%s%s", text, part);
		free(text);
		text = more;
	}
	return text;
}

static struct shiny_err *exists_error(const char *path)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "%s: exists already, nothing was written", path),
				"give another name with --out, or --force to overwrite it");
}

static struct shiny_err *create_store(struct session *session, const struct ring_file *ring,
				      uint32_t pid)
{
	const char *pattern = pattern_of(session->options);
	char *path = expand(pattern, ring, pid), *base = mem_text(path);
	size_t length = strlen(base);
	bool suffix = length > 6 && !strcmp(base + length - 6, ".shiny");
	struct shiny_err *err;

	if (suffix)
		base[length - 6] = '\0';
	for (unsigned n = 2;
	     !session->options->force && (session->options->numbered || strchr(pattern, '%')) &&
	     access(path, F_OK) == 0;
	     n++) {
		free(path);
		path = mem_format("%s.%u%s", base, n, suffix ? ".shiny" : "");
	}
	free(base);
	session->path = path;
	err = store_create(path, session->options->force, session->options->with_events,
			   &session->store);
	if (err)
		session->store = NULL;
	else if (!session->options->leftover && !session->options->no_site_types)
		session->warm = warm_start(&session->symbols);
	return err;
}

/* ---- rings ---- */

/* A process that calls exec makes a ring of the same pid, and under the same name once the one
 * before has been removed. */
static bool known(const struct session *session, const char *path)
{
	for (size_t i = 0; i < session->present.count; i++)
		if (!strcmp(session->present.at[i]->path, path))
			return true;
	return false;
}

static struct shiny_err *take_ring(struct session *session, struct ring_file *ring)
{
	bool foreign = memcmp(ring->boot_id, session->boot_id, sizeof(ring->boot_id)) != 0;

	if (!session->ticks_known) {
		ticks_init(&session->ticks, ring->clock, ring->start_ticks, ring->start_boottime,
			   ring->ticks_per_second, foreign);
		session->ticks_known = true;
		session->start_realtime = ring->start_realtime;
	} else if (ring->clock != session->ticks.kind || foreign != session->ticks.foreign) {
		struct shiny_err *err =
			shiny_err(SHINY_ERR_OTHER,
				  "%s: its clock is %" PRIu32 "%s, the session's %" PRIu32 "%s",
				  ring->path, ring->clock, foreign ? " of another boot" : "",
				  session->ticks.kind,
				  session->ticks.foreign ? " of another boot" : "");
		ring_close(ring);
		return err;
	}
	/* [ctl] */
	__atomic_store_n(&ring->header->sidecar_pid, (uint32_t)getpid(), __ATOMIC_RELAXED);
	/* [ctl] */
	__atomic_store_n(&ring->header->sidecar_beat, ticks_now(&session->ticks), __ATOMIC_RELAXED);
	*vec_push(&session->rings) = ring;
	*vec_push(&session->present) = ring;
	return NULL;
}

struct refusal {
	char *path;
	uint64_t since; /* wall ns */
	bool told;
	bool there; /* at the last look */
};
struct directory {
	const char *path;
	int lock; /* taken by us; -1: by who called us */
	int held; /* the lock's file */
	uint64_t scanned;
	unsigned making; /* rings that the last look found unfinished */
	VEC(struct refusal) unready; /* rings that cannot be read, yet or ever */
};

static struct refusal *unready_of(struct directory *dir, const char *path, uint64_t wall)
{
	struct refusal *r;

	for (size_t i = 0; i < dir->unready.count; i++)
		if (!strcmp(dir->unready.at[i].path, path))
			return &dir->unready.at[i];
	r = vec_push(&dir->unready);
	*r = (struct refusal){ .path = mem_text(path), .since = wall };
	return r;
}

/* What has become readable, or has gone: another ring may get the name. */
static void forget_refusals(struct directory *dir)
{
	for (size_t i = dir->unready.count; i-- > 0;)
		if (!dir->unready.at[i].there) {
			free(dir->unready.at[i].path);
			dir->unready.at[i] = dir->unready.at[--dir->unready.count];
		}
}

static int by_start(const void *a, const void *b)
{
	const struct ring_file *x = *(struct ring_file *const *)a,
			       *y = *(struct ring_file *const *)b;

	return (x->start_ticks > y->start_ticks) - (x->start_ticks < y->start_ticks);
}

/* A mark from outside (wire.h): its file goes once it is in the session. */
static void take_mark(struct session *session, int directory, const char *file)
{
	char name[SHINY_TAG_NAME_MAX + 1] = "";
	uint64_t boottime = strtoull(file + strlen(SHINY_MARK_PREFIX), NULL, 10),
		 start = session->ticks.read_boottime;
	int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, name, sizeof(name) - 1) : -1;

	if (fd >= 0)
		close(fd);
	unlinkat(directory, file, 0);
	if (bytes > 0 && name[0])
		session_fail(session,
			     store_put_mark(session->store,
					    &(struct store_mark){
						    .time = boottime > start ? boottime - start : 0,
						    .name = name }));
}

/* New rings of the directory, and marks. One that is refused becomes a note, or the error, if no
 * other ring is there. */
static struct shiny_err *look_around(struct session *session, struct directory *dir)
{
	VEC(struct ring_file *) fresh = { 0 };
	struct shiny_err *first = NULL;
	uint64_t wall = ticks_wall_ns();
	struct dirent *entry;
	DIR *handle = opendir(dir->path);

	dir->scanned = wall;
	dir->making = 0;
	for (size_t i = 0; i < session->present.count; i++) {
		if (!session->present.at[i]->over)
			process_scan(session, session->present.at[i]); /* whom the directory's files
									  name as parents */
		/* what a ring answers was said before it was made */
		notices_read(session, session->present.at[i]);
	}
	session->looked = session->ticks_known ? ticks_now(&session->ticks) : 0;
	if (!handle)
		return errno == ENOENT && session->rings.count
			       ? NULL
			       : shiny_err_os(errno, "cannot read the session directory %s",
					      dir->path);
	for (size_t i = 0; i < dir->unready.count; i++)
		dir->unready.at[i].there = false;
	while ((entry = readdir(handle))) {
		struct ring_file *ring = NULL;
		struct shiny_err *err = NULL;
		struct refusal *refusal = NULL;
		char *path;

		if (!strncmp(entry->d_name, SHINY_MARK_PREFIX, strlen(SHINY_MARK_PREFIX)) &&
		    session->store)
			take_mark(session, dirfd(handle), entry->d_name);
		if (!strncmp(entry->d_name, SHINY_UNRECORDED_PREFIX,
			     strlen(SHINY_UNRECORDED_PREFIX)) &&
		    session->store)
			unrecorded_take(session, dirfd(handle), entry->d_name);
		if (strncmp(entry->d_name, SHINY_RING_PREFIX, strlen(SHINY_RING_PREFIX)))
			continue;
		path = mem_format("%s/%s", dir->path, entry->d_name);
		for (size_t i = 0; i < dir->unready.count; i++)
			if (!strcmp(dir->unready.at[i].path, path))
				refusal = &dir->unready.at[i];
		if (refusal)
			refusal->there = true;
		if (!known(session, path) && !(refusal && refusal->told)) {
			err = ring_open(path,
					!session->options->leftover &&
						!(refusal && wall - refusal->since > 5000 * MS),
					&ring);
			if (ring) {
				*vec_push(&fresh) = ring;
				if (refusal)
					refusal->there = false;
			} else {
				refusal = unready_of(dir, path, wall);
				refusal->there = true;
				refusal->told = err;
				dir->making += !err;
			}
		}
		if (err && session->store) {
			session_fail(session, store_put_note(session->store, 0, err->message));
			shiny_err_free(err);
		} else if (err && !first) {
			first = err;
		} else {
			shiny_err_free(err);
		}
		free(path);
	}
	closedir(handle);
	forget_refusals(dir);
	/* the session's time starts with its earliest ring */
	if (fresh.count)
		qsort(fresh.at, fresh.count, sizeof(*fresh.at), by_start);
	for (size_t i = 0; i < fresh.count; i++) {
		struct shiny_err *err = take_ring(session, fresh.at[i]);

		if (!err && !session->store)
			err = create_store(session, session->rings.at[0],
					   session->rings.at[0]->pid);
		if (err && !session->store) { /* no output: nothing can be done for any of them */
			shiny_err_free(first);
			first = err;
			for (size_t k = i + 1; k < fresh.count; k++)
				ring_close(fresh.at[k]);
			break;
		}
		if (err) {
			session_fail(session, store_put_note(session->store, 0, err->message));
			shiny_err_free(err);
		}
	}
	free(fresh.at);
	if (first && session->store) { /* found before there was a place to write it */
		session_fail(session, store_put_note(session->store, 0, first->message));
		shiny_err_free(first);
		first = NULL;
	}
	return first;
}

/* ---- rounds ---- */

/* Milliseconds until some ring is full; 0 when no program maps one. */
static uint64_t least_time_left(const struct session *session)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *ring = session->present.at[i];
		uint64_t left = ring->over || ring->ending ? UINT64_MAX : drain_time_left(ring);

		least = left < least ? left : least;
	}
	return least < UINT64_MAX ? least : 0;
}

static uint64_t key_of(const struct stream *s)
{
	bool ending = s->head.kind == SHINY_REC_FREE || s->head.kind == SHINY_REC_REALLOC_BEGIN;

	return s->head.time * 2 + !ending;
}

void session_beat(struct session *session)
{
	uint64_t now = ticks_now(&session->ticks);

	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *a = session->present.at[i];

		if (!a->over)
			__atomic_store_n(&a->header->sidecar_beat, now,
					 __ATOMIC_RELAXED); /* [ctl] */
	}
}

/* A low priority makes even a part of a merge long. */
static void look_for_room(struct session *session)
{
	for (size_t i = 0; i < session->present.count; i++)
		if (!session->present.at[i]->over)
			drain_grow(session->present.at[i]);
	priority_follow(&session->priority, least_time_left(session));
}

/* In the middle of a long merge: what cannot wait for its end, since processes are born, fill their
 * rings and die meanwhile. */
static void attend(struct session *session)
{
	session_beat(session);
	for (size_t i = 0; i < session->present.count; i++)
		if (!session->present.at[i]->over)
			process_scan(session, session->present.at[i]);
	look_for_room(session);
	process_watch(session, ticks_wall_ns());
}

/* Fetches what this stream's record AHEAD of the next one will look up: far enough to arrive, near
 * enough to stay. */
static inline __attribute__((always_inline)) void prefetch(const struct stream *s)
{
	if (s->chunk >= 0)
		registry_prefetch(&s->process->registry, decode_peek(&s->cursor, AHEAD));
}

/* Merges and applies what is published, up to `until`. */
static void merge(struct session *session, uint64_t until)
{
	struct order *order = &session->order;
	uint64_t applied = 0;
	struct stream *s;

	for (size_t i = 0; i < session->streams.count; i++) {
		s = session->streams.at[i];
		if ((s->has_head || drain_pull(session, s)) && s->head.time <= until)
			order_add(order, key_of(s), s);
	}
	while ((s = order_first(order))) {
		uint64_t limit = order_limit(order), key;
		bool more;

		do {
			apply_record(session, s);
			s->has_head = false;
			if (++applied % BEAT_RECORDS == 0)
				attend(session);
			else if (session->priority.low && applied % ROOM_RECORDS == 0)
				look_for_room(session);
			prefetch(s);
			more = drain_pull(session, s) && s->head.time <= until;
			key = key_of(s);
		} while (more && key <= limit);
		if (more) {
			order_change_first(order, key);
		} else {
			order_remove_first(order);
		}
	}
	process_take_over(session, until);
	if (until > session->applied_until)
		session->applied_until = until;
}

/*
 * The number of records applied: of those that lie before the last look around. A ring that
 * appeared behind it would otherwise be told behind records that come after its own; what is live
 * over all processes is known for each moment only in the order of time.
 */
static uint64_t round_of(struct session *session)
{
	uint64_t before = session->total_events, now;

	ticks_calibrate(&session->ticks, session->applied_until);
	errands_take(session->errands, session);
	memory_look(session);
	now = session->ticks.foreign ? UINT64_MAX / 4 : session->looked;
	session_beat(session);
	for (size_t i = 0; i < session->present.count; i++) {
		if (session->present.at[i]->over)
			continue;
		process_scan(session, session->present.at[i]);
		drain_scan(session, session->present.at[i]);
		/* [ctl] */
		if (!__atomic_load_n(&session->present.at[i]->header->recording, __ATOMIC_RELAXED))
			session->paused = true;
	}
	process_look_for_ends(session);
	merge(session, now);
	memory_take(session, now);
	drain_end_streams(session);
	/* who is closed leaves its place to the last */
	for (size_t i = session->running.count; i-- > 0;) {
		struct process *p = session->running.at[i];

		if (p->gone && !p->pending && drain_idle(p->ring, p))
			process_close(session, p);
	}
	for (; session->settled < session->ended.count; session->settled++) {
		struct process *p = session->ended.at[session->settled];

		if (ticks_wall_ns() - p->closed_wall <= 2500 * MS)
			break;
		process_settle(session, p);
	}
	return session->total_events - before;
}

/* ---- a ring's end ---- */

static uint64_t events_of(const struct session *session, const struct ring_file *ring)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < session->running.count; i++)
		if (session->running.at[i]->ring == ring)
			sum += session->running.at[i]->events;
	return sum;
}

static bool is_empty(const struct session *session, const struct ring_file *ring)
{
	for (size_t i = 0; i < session->streams.count; i++)
		if (session->streams.at[i]->ring == ring)
			return false;
	return !ring->busy[0] && !ring->busy[1];
}

/*
 * Nobody maps it any more: what is there is all there will be. True: it is drained. The first round
 * since may have begun before that; the second sees all chunks that are left, and one that finds
 * none is the last. Two show a gap in their numbers, the third takes what lies behind it; a damaged
 * ring is given up after 64, or when nothing has come out of it for four.
 */
static bool is_drained(const struct session *session, struct ring_file *ring)
{
	uint64_t events;

	ring->rounds++;
	if (ring->rounds < 2)
		return false;
	if (is_empty(session, ring))
		return true;
	events = events_of(session, ring);
	ring->quiet = events != ring->seen ? 0 : ring->quiet + 1;
	ring->seen = events;
	return ring->quiet == 4 || ring->rounds == 64;
}

static void close_ring(struct session *session, struct ring_file *ring)
{
	ring->over = true;
	ring_read_counters(ring);
	for (size_t i = session->running.count; i-- > 0;)
		if (session->running.at[i]->ring == ring)
			process_close(session, session->running.at[i]);
	if (ring->busy[0] + ring->busy[1])
		for (uint32_t i = 0; i < ring->chunks.count; i++) {
			unsigned phase = SHINY_CHUNK_PHASE(
				__atomic_load_n(&ring->chunks.states[i], __ATOMIC_RELAXED));

			if (!ring->owners[i] && phase != SHINY_CHUNK_FREE &&
			    phase != SHINY_CHUNK_ABSENT)
				ring->bad_chunks++;
		}
	for (size_t i = session->streams.count; i-- > 0;)
		if (session->streams.at[i]->ring == ring) { /* only a lying ring gets here */
			struct stream *s = session->streams.at[i];

			s->process->noticed.bad_records++;
			apply_stream_end(session, s);
			stream_put(session, s, s->cursor.last);
			session->streams.at[i] = session->streams.at[--session->streams.count];
			stream_destroy(s);
		}
}

/* After a round. True: some rings end, and another round shall come soon. */
static bool end_rings(struct session *session, struct directory *dir)
{
	bool some = false;

	for (size_t i = 0; i < session->present.count; i++) {
		struct ring_file *ring = session->present.at[i];

		if (ring->over || (!ring->ending && ring_held(ring)))
			continue;
		ring->ending = true;
		process_scan(session, ring);
		notices_read(session, ring);
		for (size_t n = 0; n < session->running.count; n++)
			if (session->running.at[n]->ring == ring)
				process_read_counters(session->running.at[n]);
		drain_reap(ring, NULL); /* also streams that a scan has just found */
		if (is_drained(session, ring)) {
			close_ring(session, ring);
		} else {
			some = true;
		}
		/* its last records are later than the last look, which rounds go up to */
		dir->scanned = 0;
	}
	return some;
}

/*
 * A process may be killed at any moment, and what is in its nursery then has no type: each second
 * is enough for long lives, 50 ms and a quarter of a second after a ring's or a process's start for
 * short ones.
 */
static void ask_for_flush(struct session *session, uint64_t wall)
{
	for (size_t i = 0; i < session->present.count; i++) {
		struct ring_file *a = session->present.at[i];

		if (a->over)
			continue;
		if (a->newcomer) {
			a->newcomer = false;
			a->flush_step = 200 * MS;
			if (!a->flush_at || a->flush_at > wall + 50 * MS)
				a->flush_at =
					wall + 50 * MS; /* never later than it would have been:
							   processes may come all the time */
		}
		if (wall < a->flush_at)
			continue;
		__atomic_add_fetch(&a->header->flush, 1, __ATOMIC_RELAXED); /* [ctl] */
		a->flush_at = wall + a->flush_step;
		a->flush_step = 1000 * MS;
	}
}

/*
 * How much of a ring's bytes its writers have taken since the scan before, at most, in 1/256. Not
 * how much they hold: thousands of idle threads with a chunk each are no reason to hurry.
 */
static unsigned pressure(const struct session *session)
{
	unsigned most = 0;

	for (size_t i = 0; i < session->present.count; i++) {
		const struct ring_file *a = session->present.at[i];
		unsigned share = a->over ? 0 : (unsigned)(a->turnover * 256 / a->bytes);

		most = share > most ? share : most;
	}
	return most;
}

/* More than a quarter of the small or the large chunks are in use. */
static bool is_crowded(const struct ring_file *ring, int large)
{
	uint32_t count = large ? ring->chunks.count - ring->chunks.smalls : ring->chunks.smalls;

	return ring->busy[large] > count / 4;
}

/* Sleeps until the next round; true: the launcher has hung up. Once it has, its pipe would end
 * every sleep at once. */
static bool pause_for(const struct session *session, uint64_t ns, bool hung_up)
{
	struct pollfd wait = { .fd = session->options->launcher_fd, .events = 0 };
	struct timespec time = { .tv_nsec = (long)ns };

	return ppoll(&wait, hung_up ? 0 : 1, &time, NULL) == 1 &&
	       wait.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* Its last words, if any. */
static void hear_launcher(struct session *session)
{
	struct sidecar_ended ended;

	if (read(session->options->launcher_fd, &ended, sizeof(ended)) == sizeof(ended))
		session->launched = ended;
}

static bool all_over(const struct session *session)
{
	for (size_t i = 0; i < session->present.count; i++)
		if (!session->present.at[i]->over)
			return false;
	return true;
}

static void commit(struct session *session)
{
	session_flush_events(session);
	for (size_t i = 0; i < session->streams.count; i++)
		if (session->streams.at[i]->changed)
			stream_put(session, session->streams.at[i], 0);
	session_beat(session);
	finish_write_new(session);
	memory_write(session);
	session_beat(session);
	if (session->store && !session->err)
		session_fail(session, store_commit(session->store));
}

/* Pages of a mapped file were not there: whose they were shows in the sizes. */
static void look_at_torn(struct session *session)
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

static unsigned waiting_to_go(const struct session *session)
{
	unsigned count = 0;

	for (size_t i = 0; i < session->present.count && !session->options->leftover; i++)
		count += session->present.at[i]->over && session->present.at[i]->header;
	return count;
}

/* Rings that are over and safe in the session file go at once: a build of a thousand processes
 * would fill the tmpfs with them. */
static void release_rings(struct session *session)
{
	for (size_t i = session->present.count; i-- > 0;) {
		struct ring_file *a = session->present.at[i];

		if (!a->over || !a->header || session->err || session->options->leftover)
			continue;
		if (!session->options->keep_rings && (unlink(a->path) == 0 || errno == ENOENT))
			session->present.at[i] = session->present.at[--session->present.count];
		ring_release(a);
	}
}

/*
 * Those who come from now on have to do without us, or are served again. Where that cannot be
 * written, they wait in vain, and say so.
 */
static void say_finishing(struct session *session, const struct directory *dir, bool finishing)
{
	ssize_t done = finishing ? pwrite(dir->held, "f", 1, 0) : ftruncate(dir->held, 0);

	(void)done;
	guests_admit(session->guests, !finishing);
}

struct comers {
	struct errand errand;
	bool any;
};

static void look_for_comers(struct errand *errand)
{
	((struct comers *)errand)->any = proc_any_preloaded();
}

/* Somebody may be about to make a ring. */
static bool any_comes(struct session *session)
{
	struct comers *comers = mem_zero(1, sizeof(*comers));
	bool any;

	comers->errand = (struct errand){ .run = look_for_comers, .end = errand_drop };
	if (!errands_do(session->errands, &comers->errand))
		return true;
	any = comers->any;
	free(comers);
	return any;
}

static struct shiny_err *serve(struct session *session, struct directory *dir)
{
	const struct sidecar_options *options = session->options;
	uint64_t interval = 2 * MS, committed = ticks_wall_ns(), watched = 0, threads_looked = 0,
		 idle_since = 0;
	bool hung_up = options->launcher_fd < 0, some_end;
	struct shiny_err *err;

	while (!asked_to_end && !session->err) {
		uint64_t wall = ticks_wall_ns(), grace, applied, soon;

		if (wall - dir->scanned >= 5 * MS || !session->looked) {
			err = look_around(session, dir);
			if (err)
				return err;
		}
		some_end = false;
		if (session->looked) {
			applied = round_of(session);
			notices_settle(session, dir->making ? 0 : dir->scanned, false);
			if (wall - watched >= 10 * MS) {
				process_watch(session, wall);
				watched = wall;
			}
			ask_for_flush(session, wall);
			if (wall - threads_looked >= 1000 * MS) {
				for (size_t i = 0; i < session->present.count; i++) {
					struct ring_file *a = session->present.at[i];

					if (!a->over &&
					    (is_crowded(a, 0) || is_crowded(a, 1) ||
					     ring_threads_used(a) > a->thread_count / 2))
						drain_reap_threads(session, a);
				}
				threads_looked = wall;
			}
			look_at_torn(session);
			some_end = end_rings(session, dir);
			priority_follow(&session->priority, least_time_left(session));
			if (session->warm)
				warm_offer(session->warm, &session->ids);
			if (wall - committed >= 1000 * MS || waiting_to_go(session) >= 4) {
				commit(session);
				release_rings(session);
				committed = wall;
			}
			if (pressure(session) > 48 || applied > 200000)
				interval = 0;
			else if (pressure(session) > 16 || applied > 20000)
				interval = 2 * MS;
			else
				interval = interval < 18 * MS ? interval + 2 * MS : 20 * MS;
		} else {
			interval = 5 * MS;
		}
		if (!all_over(session) || !hung_up) {
			idle_since = 0;
		} else {
			grace = options->leftover	   ? 0
				: options->launcher_fd < 0 ? 1000 * MS
				: any_comes(session)	   ? 100 * MS
							   : 0;
			if (!idle_since)
				idle_since = wall;
			if (wall - idle_since >= grace) {
				/* whoever did not see it has a ring by now: look */
				say_finishing(session, dir, true);
				err = look_around(session, dir);
				if (err || (all_over(session) && !dir->making))
					return err;
				say_finishing(session, dir, false);
				idle_since = 0;
			}
			interval = interval && interval < 5 * MS ? interval : 5 * MS;
		}
		if (some_end && interval > MS)
			soon = MS;
		else
			soon = interval;
		if ((soon || !hung_up) && pause_for(session, soon, hung_up)) {
			hung_up = true;
			hear_launcher(session);
		}
	}
	return NULL;
}

/* ---- beginning and end ---- */

enum { LOCK_TRIES = 5 };
static const struct timespec lock_pause = { .tv_nsec = 2 * MS };

struct shiny_err *sidecar_lock(const char *directory, int *out)
{
	char *path = mem_format("%s/%s", directory, SHINY_SIDECAR_LOCK);
	struct shiny_err *err = NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool locked = false;

	/* whoever only asks whether there is a sidecar holds the lock for a moment */
	for (int i = 0; fd >= 0 && !locked && i < LOCK_TRIES; i++)
		if (!(locked = !flock(fd, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK)
			nanosleep(&lock_pause, NULL);
	if (locked && ftruncate(fd, 0)) /* of one that was killed */
		locked = false;
	if (fd < 0)
		err = shiny_err_os(errno, "cannot open the session directory %s", directory);
	else if (!locked)
		err = errno == EWOULDBLOCK
			      ? shiny_err_advise(
					shiny_err(
						SHINY_ERR_OTHER,
						"%s: another sidecar serves this session directory",
						directory),
					"wait for it: it ends by itself and writes the session "
					"file")
			      : shiny_err_os(errno, "cannot lock %s", path);
	free(path);
	if (!err)
		*out = fd;
	else if (fd >= 0)
		close(fd);
	return err;
}

static void read_boot_id(uint8_t *out)
{
	char text[64] = "";
	unsigned n = 0;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (file && fgets(text, sizeof(text), file))
		for (char *at = text; at[0] && at[1] && n < 16; at += *at == '-' ? 1 : 2) {
			unsigned byte;

			if (*at != '-' && sscanf(at, "%2x", &byte) == 1)
				out[n++] = (uint8_t)byte;
		}
	if (file)
		fclose(file);
}

/* A ring that this session has neither served nor refused. */
static bool is_news(const struct session *session, const struct directory *dir, const char *file)
{
	char *path = mem_format("%s/%s", dir->path, file);
	bool news = !strncmp(file, SHINY_RING_PREFIX, strlen(SHINY_RING_PREFIX)) &&
		    !known(session, path);

	for (size_t i = 0; i < dir->unready.count; i++)
		news = news && !(dir->unready.at[i].told && !strcmp(dir->unready.at[i].path, path));
	free(path);
	return news;
}

/* What was worked out of programs whose user has no cache (src/ctl/prepare.h). */
static void remove_probes(const char *directory)
{
	static const char *const levels[] = { "shiny/probe", "shiny" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		char *path = mem_format("%s/%s", directory, levels[i]);
		DIR *handle = opendir(path);
		struct dirent *entry;

		while (handle && (entry = readdir(handle)))
			unlinkat(dirfd(handle), entry->d_name, 0);
		if (handle)
			closedir(handle);
		rmdir(path);
		free(path);
	}
}

/*
 * True: there are rings that came while the session was being finished. Who finds the lock gone
 * starts a sidecar of its own, and who found it held has made its ring before
 * (interpose/boot/launch.c): so first the lock goes, then we look for rings.
 */
static bool remove_all(struct session *session, const struct directory *dir)
{
	char *lock = mem_format("%s/%s", dir->path, SHINY_SIDECAR_LOCK);
	bool late = false;
	struct dirent *entry;
	DIR *handle;

	for (size_t i = session->present.count; i-- > 0;) {
		const struct ring_file *a = session->present.at[i];

		if (a->over && (unlink(a->path) == 0 || errno == ENOENT))
			session->present.at[i] = session->present.at[--session->present.count];
	}
	unlink(lock);
	free(lock);
	remove_probes(dir->path);
	handle = opendir(dir->path);
	while (handle && (entry = readdir(handle)))
		late = late || is_news(session, dir, entry->d_name);
	if (handle)
		closedir(handle);
	rmdir(dir->path); /* stays where something else lies in it */
	return late;
}

void session_destroy(struct session *session)
{
	guests_stop(session->guests);
	answers_stop(session->answers);
	if (!errands_stop(session->errands))
		session->memory = NULL; /* a look of it is under way, for ever */
	sym_destroy(warm_take(session->warm, NULL, 0, false));
	for (size_t i = 0; i < session->streams.count; i++)
		stream_destroy(session->streams.at[i]);
	for (size_t i = 0; i < session->processes.count; i++)
		process_destroy(session->processes.at[i]);
	for (size_t i = 0; i < session->rings.count; i++)
		ring_close(session->rings.at[i]);
	free(session->streams.at);
	free(session->processes.at);
	notices_forget(session);
	free(session->running.at);
	free(session->ended.at);
	roster_deinit(&session->roster);
	free(session->rings.at);
	free(session->present.at);
	memory_watch_destroy(session->memory);
	order_deinit(&session->order);
	total_deinit(&session->total);
	ids_deinit(&session->ids);
	classes_deinit(&session->classes);
	intern_deinit(&session->tags);
	ticks_deinit(&session->ticks);
	free(session->path);
	free(session);
}

static struct shiny_err *nothing_recorded(const char *directory)
{
	static const char advice[] =
		"`shinyctl doctor PROGRAM` says why a program cannot be recorded";
	char *first = unrecorded_first(directory);
	struct shiny_err *err;

	err = first ? shiny_err(SHINY_ERR_OTHER, "%s: nothing was recorded: %s", directory, first)
		    : shiny_err(
			      SHINY_ERR_OTHER,
			      "%s: no ring: no program that loads libshiny.so ran in this session",
			      directory);
	free(first);
	return shiny_err_advise(err, advice);
}

/*
 * Told to end: what there is by now is taken, of rings too that nobody has looked at yet. Programs
 * that still run go on, and that what they will do is not here is a loss.
 */
static void end_early(struct session *session, struct directory *dir)
{
	do {
		session_fail(session, look_around(session, dir));
		round_of(session);
	} while (end_rings(session, dir) && !session->err);
	for (size_t i = 0; i < session->present.count; i++)
		session->noticed.told_to_end += !session->present.at[i]->over;
}

static struct shiny_err *run(struct session *session, struct directory *dir,
			     struct sidecar_summary *out)
{
	struct sidecar_summary summary = { 0 };
	struct store_totals totals;
	struct shiny_err *err = serve(session, dir);

	say_finishing(session, dir, true);
	priority_follow(&session->priority, 0);

	if (!err && !session->store && session->err)
		return session->err;
	if (err) {
		shiny_err_free(session->err);
		store_abandon(session->store);
		return err;
	}
	if (!session->store)
		return nothing_recorded(dir->path);
	if (asked_to_end)
		end_early(session, dir);
	errands_take_last(session->errands, session);
	notices_settle(session, 0, true);
	look_at_torn(session);
	commit(session);
	if (!session->err)
		finish_session(session, &summary);
	if (session->err) {
		store_abandon(session->store);
		return session->err;
	}
	err = store_finish(session->store, &totals);
	if (err)
		return err;
	summary.sites = totals.sites;
	summary.types = totals.types;
	if (!session->options->keep_rings)
		summary.late = remove_all(session, dir) && !asked_to_end;
	snprintf(summary.path, sizeof(summary.path), "%s", session->path);
	*out = summary;
	return NULL;
}

struct shiny_err *sidecar_run(const struct sidecar_options *options, struct sidecar_summary *out)
{
	struct session *session = mem_zero(1, sizeof(*session));
	struct directory dir = { .path = options->directory, .lock = -1 };
	struct sigaction end = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN },
			 was_term, was_int, was_hup, was_bus;
	const char *pattern = pattern_of(options);
	struct shiny_err *err = NULL;
	struct stat namespace;

	session->options = options;
	session->symbols = (struct sym_options){ .debug_dirs = options->debug_dirs,
						 .type_rules = options->type_rules,
						 .cache_dir = options->type_cache,
						 .no_cache = options->no_type_cache,
						 .progress = options->progress,
						 .stop = sidecar_hurried };
	priority_init(&session->priority);
	session->memory = memory_watch_create(options->memory_period);
	if (!options->leftover)
		session->answers = answers_start();
	if (!options->leftover)
		session->errands = errands_start();
	session->next_fork = UINT64_MAX;
	total_init(&session->total);
	read_boot_id(session->boot_id);
	if (options->guests_fd > 0)
		session->guests =
			guests_start(options->directory, options->guests_fd, session->boot_id);
	if (stat("/proc/self/ns/pid", &namespace) == 0)
		session->pid_namespace = namespace.st_ino;
	if (!options->force && !options->numbered && !strchr(pattern, '%') &&
	    access(pattern, F_OK) == 0)
		err = exists_error(pattern);
	if (!err)
		err = options->lock_fd ? NULL : sidecar_lock(dir.path, &dir.lock);
	dir.held = options->lock_fd ? options->lock_fd : dir.lock;
	if (!err) {
		asked_to_end = 0;
		sigaction(SIGTERM, &end, &was_term);
		/* Ctrl-C is meant for the program; its end is ours */
		sigaction(SIGINT, &ignore, &was_int);
		sigaction(SIGHUP, &ignore, &was_hup);
		torn_begin(&was_bus);
		err = run(session, &dir, out);
		sigaction(SIGTERM, &was_term, NULL);
		sigaction(SIGINT, &was_int, NULL);
		sigaction(SIGHUP, &was_hup, NULL);
		torn_end(&was_bus);
	}
	if (err) /* nobody drains these rings any more: writers need not wait */
		for (size_t i = 0; i < session->rings.count; i++)
			if (session->rings.at[i]->header)
				__atomic_store_n(&session->rings.at[i]->header->sidecar_beat, 0,
						 __ATOMIC_RELAXED); /* [ctl] */
	if (dir.lock >= 0)
		close(dir.lock);
	for (size_t i = 0; i < dir.unready.count; i++)
		free(dir.unready.at[i].path);
	free(dir.unready.at);
	session_destroy(session);
	return err;
}

struct shiny_err *sidecar_run_late(const struct sidecar_options *options,
				   struct sidecar_summary *summary)
{
	struct sidecar_options late = *options;
	struct shiny_err *err;
	int lock;

	*summary = (struct sidecar_summary){ 0 };
	late.launcher_fd = -1;
	late.guests_fd = -1; /* closed with the first session */
	late.force = late.leftover = false;
	late.numbered = true;
	err = sidecar_lock(options->directory, &lock);
	if (err) { /* another sidecar has it, or the directory is gone by now */
		shiny_err_free(err);
		return NULL;
	}
	late.lock_fd = lock;
	err = sidecar_run(&late, summary);
	close(lock);
	return err;
}
