/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_live.c: rings that are lied into while the sidecar reads them. Three processes to a round: a
 * sidecar; an honest program with a ring of its own, whose every allocation is counted; and an
 * attacker of the same user, who maps another ring of the session and writes what it likes where it
 * likes, by aim and at random, cuts it short, and fills the directory with what is no ring. The
 * sidecar has to end by itself, with a session in which the honest program's numbers are right; it
 * may not crash, take more than 20 s of processor time or 1 GB, or send a signal to any process
 * that a ring names. The sequence is the same each time, the times at which it strikes are not.
 *
 *   fuzz_live [SECONDS]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/sidecar/sidecar.h"
#include "../../src/store/store.h"
#include "../unit/ring_writer.h"
#include "../unit/check.h"
#include "victim.h"

enum {
	SECONDS = 8,
	LONG_SECONDS = 60,
	ROUND_MS = 400,
	PATIENCE_MS = 10000,
	RUN_SECONDS = 20,
	RUN_KB = 1 << 20,
	EVENTS_A_ROUND = 20000,
	STREAMS = 3
};

static char directory[64], session_path[96], honest_path[96], victim_path[96];
static const long between_strikes = 100000; /* ns */

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* As a program that runs: the lock on its ring is held for as long. */
static int hold(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_SH) != 0)
		exit(3);
	return fd;
}

/* ---- who records honestly ---- */

/* Blocks that it made; all but some are freed. Runs until `end` (CLOCK_MONOTONIC ms). */
static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t record_honestly(struct shiny_header *h, uint64_t end)
{
	struct writer w = writer_make(h, 0, 0);
	uint64_t frames[2] = { 0x500010, 0x500020 }, n = 2, made = 0;

	shiny_threads(h)[0].tid = (uint32_t)getpid(); /* it lives: nobody takes its chunks */
	put_module(&w, 1, 0x500000, 0x600000, "/nowhere/synthetic");
	put_stack(&w, 2, 1, frames, 2);
	while (made < EVENTS_A_ROUND && (made < 100 || now_ms() < end)) {
		uint64_t address = 0x10000 + made % 64 * 16;

		n = __rdtsc() - h->start_ticks > n ? __rdtsc() - h->start_ticks : n;
		if (made >= 64)
			while (!put_event(&w, ++n, SHINY_REC_FREE, address, 0, 0, SHINY_API_FREE) &&
			       now_ms() < end + PATIENCE_MS)
				nap(1000000);
		while (!put_event(&w, ++n, SHINY_REC_ALLOC, address, 16, 1, SHINY_API_MALLOC) &&
		       now_ms() < end + PATIENCE_MS)
			nap(1000000);
		if (++made % 500 == 0)
			nap(1000000);
	}
	writer_seal(&w);
	/* [slot] */
	__atomic_store_n(&shiny_threads(h)[0].state, SHINY_SLOT_DONE, __ATOMIC_RELEASE);
	return made;
}

/* ---- who lies ---- */

static volatile sig_atomic_t told_to_end;

static void on_term(int number)
{
	(void)number;
	told_to_end = 1;
}

/* A word that is aimed at: a slot, a state, a chunk's header, a record, the header's counts. */
static uint64_t *aim(struct shiny_header *h, const struct shiny_header *shape)
{
	uint64_t at, chunks = shape->chunks, smalls = shape->smalls;

	switch (next_random() % 12) {
	case 0:
		at = next_random() % sizeof(*h);
		break;
	case 1:
		at = offsetof(struct shiny_header, recording) / 8 * 8 + next_random() % 128;
		break;
	case 2 ... 3:
		at = shape->processes_at + next_random() % 8 * sizeof(struct shiny_process) +
		     next_random() % 56;
		break;
	case 4 ... 5:
		at = shape->threads_at + next_random() % 8 * sizeof(struct shiny_thread) +
		     next_random() % 64;
		break;
	case 6 ... 7:
		at = shape->states_at + next_random() % chunks * 8;
		break;
	case 8:
		at = shape->notices_at + next_random() % 4 * sizeof(struct shiny_notice) +
		     next_random() % sizeof(struct shiny_notice);
		break;
	case 9:
		at = shape->smalls_at + next_random() % smalls * SHINY_SMALL_BYTES +
		     next_random() % 64;
		break;
	case 10:
		at = shape->smalls_at + next_random() % smalls * SHINY_SMALL_BYTES +
		     next_random() % SHINY_SMALL_BYTES;
		break;
	default:
		at = shape->chunks_at + next_random() % (chunks - smalls) * SHINY_CHUNK_BYTES +
		     next_random() % 4096;
		break;
	}
	return (uint64_t *)((char *)h + at / 8 * 8);
}

static void lie(struct shiny_header *h, const struct shiny_header *shape, const uint32_t *pids)
{
	struct shiny_process *p =
		(struct shiny_process *)((char *)h + shape->processes_at) + next_random() % 8;
	struct shiny_thread *t =
		(struct shiny_thread *)((char *)h + shape->threads_at) + next_random() % 8;
	uint64_t *state =
			 (uint64_t *)((char *)h + shape->states_at) + next_random() % shape->chunks,
		 *word = aim(h, shape);

	switch (next_random() % 16) {
	/* a process that is its own ancestor, of somebody else's pid, forked in the future */
	case 0:
		p->generation += (uint32_t)(next_random() % 3);
		p->parent_slot = (int32_t)(next_random() % 9) - 1;
		p->parent_generation = (uint32_t)(next_random() % 3);
		p->pid = pids[next_random() % 4];
		p->fork_at = next_random() % 2 ? UINT64_MAX - next_random() % 9
					       : h->start_ticks + next_random() % 100000;
		p->state = SHINY_SLOT_LIVE;
		break;
	case 1:
		p->exec = (uint32_t)(next_random() % 3);
		p->exit_at = next_random() % 2 ? next_random() : h->start_ticks + 5;
		p->exit_status = (uint32_t)next_random();
		p->state = (uint32_t)(next_random() % 6);
		break;
	case 2:
		t->generation += (uint32_t)(next_random() % 3);
		t->process_slot = (uint32_t)(next_random() % 9);
		t->tid = pids[next_random() % 4];
		t->creator = (uint32_t)(next_random() % 12);
		t->nested = (uint32_t)(next_random() % 2);
		t->state = (uint32_t)(next_random() % 5);
		break;
	case 3: /* full of what it was full of before, under another name and number */
		*state = SHINY_CHUNK_STATE(next_random() % 4, next_random() % 8, next_random() % 4 ? next_random() % 50 : next_random());
		break;
	case 4: {
		struct shiny_chunks chunks = { .small = (char *)h + shape->smalls_at,
					       .large = (char *)h + shape->chunks_at,
					       .smalls = shape->smalls };
		struct shiny_chunk *c =
			shiny_chunk_at(&chunks, (uint32_t)(next_random() % shape->chunks));

		c->thread_slot = (uint32_t)(next_random() % 8);
		c->thread_generation = (uint32_t)(next_random() % 4);
		c->process_slot = (uint32_t)(next_random() % 8);
		c->process_generation = (uint32_t)(next_random() % 4);
		c->base = h->start_ticks + next_random() % 1000000;
		for (int i = 0; i < 40; i++)
			((uint64_t *)c->records)[next_random() % 100] =
				next_random() % 2 ? next_random()
						  : hurtful[next_random() % HURTFUL];
		break;
	}
	case 5:
		h->counters[next_random() % SHINY_COUNTERS] = next_random();
		p->counters[next_random() % SHINY_COUNTERS] =
			next_random() % 2 ? next_random() : hurtful[next_random() % HURTFUL];
		h->self_at = next_random();
		break;
	case 6:
		h->processes_used = h->threads_used = h->processes_ready = h->threads_ready =
			(uint32_t)next_random();
		break;
	case 7:
		h->notices = next_random() % 2 ? next_random() : h->notices + 1;
		break;
	case 8 ... 10:
		*word = hurtful[next_random() % HURTFUL];
		break;
	case 11 ... 12:
		*word ^= UINT64_C(1) << next_random() % 64;
		break;
	case 13:
		*word += next_random() % 5 - 2;
		break;
	default:
		*word = next_random();
		break;
	}
}

/* What is no ring, under a ring's name, and no mark, under a mark's. */
static void litter(unsigned n)
{
	static const char *const targets[] = { "/etc/passwd", "/dev/zero", "/dev/full", "loop",
					       "/proc/self/mem" };
	char path[160], ring[160];
	int fd;

	snprintf(path, sizeof(path), "%s/%s%u.%u", directory,
		 next_random() % 3 ? SHINY_RING_PREFIX : SHINY_MARK_PREFIX, 900000 + n % 300,
		 n % 7);
	snprintf(ring, sizeof(ring), "%s/%s%u.0", directory, SHINY_RING_PREFIX, 800000 + n % 300);
	switch (next_random() % 8) {
	case 0:
		(void)!symlink(targets[next_random() % 5], path);
		break;
	case 1:
		mkfifo(path, 0600);
		break;
	case 2:
		mkdir(path, 0700);
		break;
	case 3: /* a sparse one, of a terabyte */
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0) {
			(void)!ftruncate(fd, next_random() % 2 ? INT64_C(1) << 40 : 70000);
			close(fd);
		}
		break;
	case 4:
		(void)!link(victim_path, ring); /* the same ring twice */
		break;
	case 5:
		rename(path, ring);
		break;
	case 6:
		unlink(path);
		rmdir(path);
		break;
	default:
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		for (int i = 0; fd >= 0 && i < 100; i++)
			(void)!write(fd, "\033[2J\n\xff mark of somebody", 24);
		if (fd >= 0)
			close(fd);
		break;
	}
}

static void attack(struct shiny_header *h, const struct shiny_header *shape, const uint32_t *pids)
{
	bool cuts = next_random() % 3 == 0, litters = next_random() % 2;
	struct sigaction action = { .sa_handler = SIG_DFL };
	unsigned n = 0;

	action.sa_handler = on_term;
	sigaction(SIGTERM, &action, NULL);
	while (!told_to_end) {
		for (uint64_t i = next_random() % 30; i; i--)
			lie(h, shape, pids);
		if (litters && next_random() % 4 == 0)
			litter(n++);
		nap(between_strikes);
		if (cuts && n++ > 40) {
			(void)!truncate(victim_path,
					(off_t)(next_random() % 2
							? next_random() % shape->ring_bytes
							: next_random() % 8192));
			while (!told_to_end) /* what it maps would be a SIGBUS for it, too */
				nap(1000000);
		}
	}
	_exit(0);
}

/* ---- a round ---- */

static struct worst { double seconds; long kb; uint64_t rounds, torn, lies; } worst;

static void remove_everything(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf '%s' '%s'*", directory, session_path);
	if (system(command) != 0)
		exit(3);
}

static uint64_t ask_number(struct store *store, const char *sql)
{
	struct query *q = NULL;
	bool row = false;
	uint64_t number = UINT64_MAX;

	must(store_query(store, sql, &q));
	must(query_step(q, &row));
	if (row)
		number = (uint64_t)query_number(q, 0);
	query_end(q);
	return number;
}

/* What the session says of the honest program, whose pid no other ring of it has. */
static bool numbers_right(uint64_t made)
{
	struct store *store = NULL;
	struct shiny_err *err = store_open(session_path, &store);
	uint64_t allocs, frees;

	if (err) {
		printf("# %s\n", err->message);
		shiny_err_free(err);
		return false;
	}
	allocs = ask_number(store, "SELECT COALESCE(SUM(s.allocs), 0) FROM stat s JOIN process p "
				   "ON p.id = s.process WHERE p.executable = '/nowhere/honest'");
	frees = ask_number(store, "SELECT COALESCE(SUM(s.frees), 0) FROM stat s JOIN process p ON "
				  "p.id = s.process WHERE p.executable = '/nowhere/honest'");
	if (ask_number(store, "SELECT COUNT(*) FROM counter c JOIN process p ON p.id = c.process "
			      "WHERE c.name = 'LYING' AND p.executable = '/nowhere/honest'")) {
		printf("# the honest program is said to lie\n");
		allocs = 0;
	}
	/* an overflow ends this program */
	(void)ask_number(store, "SELECT COALESCE(SUM(count), 0) FROM counter");
	worst.lies += ask_number(store, "SELECT COUNT(*) FROM counter WHERE name = 'LYING'");
	worst.torn += ask_number(store,
				 "SELECT COALESCE(SUM(count), 0) FROM counter WHERE name = 'TORN'");
	if (allocs != made) {
		struct query *q = NULL;
		bool row = true;

		must(store_query(store,
				 "SELECT process, name, count FROM counter UNION ALL SELECT "
				 "process, text, 0 FROM note",
				 &q));
		for (must(query_step(q, &row)); row; must(query_step(q, &row)))
			printf("# process %" PRId64 ": %s %" PRId64 "\n", query_number(q, 0),
			       query_text(q, 1), query_number(q, 2));
		query_end(q);
	}
	store_close(store);
	if (allocs == made && frees == made - 64)
		return true;
	printf("# the honest program made %" PRIu64 " blocks; the session says %" PRIu64
	       ", freed %" PRIu64 "\n",
	       made, allocs, frees);
	return false;
}

static pid_t begin_sidecar(int *program_gone, const int held[2])
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		exit(3);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct sidecar_options options = { .directory = directory,
						   .out = session_path,
						   .force = true,
						   .with_events = true,
						   .launcher_fd = ends[0],
						   .lock_fd = -1,
						   .guests_fd = -1,
						   .memory_period = 50,
						   .no_site_types = true };
		struct sidecar_summary summary;
		struct shiny_err *err;

		close(ends[1]);
		close(held[0]); /* a lock is everybody's who has the descriptor */
		close(held[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setrlimit(RLIMIT_CPU, &(struct rlimit){ RUN_SECONDS, RUN_SECONDS });
		err = sidecar_run(&options, &summary);
		if (err)
			printf("# %s\n", err->message);
		fflush(stdout);
		_exit(err ? 5 : 0);
	}
	close(ends[0]);
	*program_gone = ends[1];
	return child;
}

static const char *wait_for_sidecar(pid_t sidecar)
{
	struct rusage usage;
	int status;
	double seconds;
	uint64_t end = now_ms() + 60000;

	while (wait4(sidecar, &status, WNOHANG, &usage) == 0) {
		if (now_ms() > end) {
			kill(sidecar, SIGKILL);
			waitpid(sidecar, &status, 0);
			return "it does not end";
		}
		nap(2000000);
	}
	seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	worst.seconds = seconds > worst.seconds ? seconds : worst.seconds;
	worst.kb = usage.ru_maxrss > worst.kb ? usage.ru_maxrss : worst.kb;
	return WIFSIGNALED(status)	  ? "it is ended by a signal"
	       : WEXITSTATUS(status) == 5 ? "it makes no session"
	       : WEXITSTATUS(status)	  ? "a sanitizer ends it"
	       : usage.ru_maxrss > RUN_KB ? "it takes more than 1 GB"
					  : NULL;
}

/* The first round has no attacker. NULL, or what is wrong. */
static const char *run_round(bool attacked)
{
	struct shiny_header *honest, *victim, shape;
	uint32_t pids[4];
	const char *wrong;
	uint64_t made, random = next_random();
	int held[2], program_gone, status;
	pid_t bystander, attacker = 0, sidecar;

	remove_everything();
	mkdir(directory, 0700);
	honest = ring_make(honest_path, 16, 8);
	victim = ring_make(victim_path, 16, 8);
	if (!honest || !victim)
		exit(3);
	snprintf(honest->executable, sizeof(honest->executable), "/nowhere/honest");
	honest->ticks_per_second = victim->ticks_per_second = 0; /* the sidecar measures it */
	if (attacked && next_random() % 4 == 0) { /* the session's clock is the liar's */
		victim->start_ticks -= 1000;
		victim->ticks_per_second = hurtful[next_random() % HURTFUL];
		victim->start_boottime += next_random() % 2 ? 0 : hurtful[next_random() % HURTFUL];
	} else {
		victim->start_ticks += 1000;
	}
	honest->pid = (uint32_t)getpid();
	process_make(honest, 0, -1, 0);
	shiny_processes(honest)[0].pid = (uint32_t)getpid();
	process_make(victim, 0, -1, 0);
	shape = *victim;
	fflush(stdout);
	bystander = fork();
	if (!bystander) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	pids[0] = (uint32_t)bystander;
	pids[1] = 1;
	pids[2] = (uint32_t)getpid();
	pids[3] = 0xffffffff;
	held[0] = hold(honest_path);
	held[1] = hold(victim_path);
	sidecar = begin_sidecar(&program_gone, held);
	if (attacked && (attacker = fork()) == 0) {
		close(program_gone);
		close(held[0]);
		close(held[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		random_state = random | 1;
		attack(victim, &shape, pids);
	}
	made = record_honestly(honest, now_ms() + ROUND_MS);
	if (attacker > 0) {
		kill(attacker, SIGTERM);
		waitpid(attacker, &status, 0);
	}
	close(program_gone);
	close(held[0]);
	close(held[1]);
	munmap(honest, shape.ring_bytes);
	munmap(victim, shape.ring_bytes);
	wrong = wait_for_sidecar(sidecar);
	if (!wrong && !numbers_right(made))
		wrong = "the honest program's numbers are wrong";
	if (waitpid(bystander, &status, WNOHANG) != 0)
		wrong = "a process that a ring names has ended";
	kill(bystander, SIGKILL);
	waitpid(bystander, &status, 0);
	worst.rounds++;
	return wrong;
}

int main(int argc, char **argv)
{
	const char *lengthy = getenv("SHINY_TEST_LONG"), *wrong;
	int seconds = argc > 1			   ? atoi(argv[1])
		      : lengthy && *lengthy == '1' ? LONG_SECONDS
						   : SECONDS,
	    findings = 0;
	uint64_t end = now_ms() + (uint64_t)seconds * 1000;

	snprintf(directory, sizeof(directory), "/dev/shm/shiny-fuzz-live-%d", (int)getpid());
	if (access("/dev/shm", W_OK) != 0)
		snprintf(directory, sizeof(directory), "/tmp/shiny-fuzz-live-%d", (int)getpid());
	snprintf(session_path, sizeof(session_path), "/tmp/shiny-fuzz-live-%d.shiny",
		 (int)getpid());
	snprintf(honest_path, sizeof(honest_path), "%s/" SHINY_RING_PREFIX "1.0", directory);
	snprintf(victim_path, sizeof(victim_path), "%s/" SHINY_RING_PREFIX "2.0", directory);
	if (getenv("FUZZ_SEED"))
		random_state = strtoull(getenv("FUZZ_SEED"), NULL, 10) * 2 + 1;
	for (uint64_t round = 0; (round < 2 || now_ms() < end) && findings < 10; round++) {
		wrong = run_round(round != 0);
		if (!wrong)
			continue;
		printf("not ok live/%" PRIu64 ": %s\n", round, wrong);
		findings++;
	}
	remove_everything();
	printf("# %" PRIu64 " rounds, %" PRIu64
	       " rings cut short, %" PRIu64
	       " known to lie; a sidecar took at most %.2f s and %ld MB\n",
	       worst.rounds, worst.torn, worst.lies, worst.seconds, worst.kb >> 10);
	if (!findings)
		printf("ok fuzz_live\n");
	return findings != 0;
}
