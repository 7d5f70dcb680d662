/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags.c: tags of threads, and streams that say them: pushed and popped at random, in handlers that
 * interrupt records, inherited, by forked children, over many chunks. A child process does it and
 * keeps a book of the tag that each of its blocks must have; the test reads the ring that is left
 * behind.
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/wait.h>

#include "../../interpose/record/chunk.h"
#include "../../interpose/hook/record_event.h"
#include "../../interpose/hook/hooks.h"
#include "../../interpose/record/tag.h"
#include "../../interpose/record/thread.h"
#include "../unit/check.h"
#include "reader.h"

void si_boot_test_constructor(void);

enum { THREADS = 6, STEPS = 60000, NAMES = 40, BLOCKS = 1 << 20, SPREAD = 8 };
static const uint64_t ghost = UINT64_C(0x100000000); /* nobody's addresses */

struct tag_book {
	_Atomic uint32_t blocks;
	uint8_t name[BLOCKS]; /* of the block's tag; 0 none */
};
static struct tag_book *book;

#define FP ((const uintptr_t *)__builtin_frame_address(0))

static const char *spell(unsigned name, char out[16])
{
	snprintf(out, 16, "tag %u", name);
	return out;
}

/* ---- in the child ---- */

struct shadow {
	uint64_t seed;
	unsigned depth, inherited;
	uint8_t at[SI_TAG_DEPTH];
};

static unsigned now(const struct shadow *s)
{
	return s->depth ? s->at[s->depth - 1] : s->inherited;
}

static uint32_t draw(struct shadow *s)
{
	s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(s->seed >> 33);
}

static __attribute__((noinline)) void make_block(const struct shadow *s)
{
	uint32_t block = book->blocks++;

	if (block >= BLOCKS)
		abort();
	book->name[block] = (uint8_t)now(s);
	si_event_alloc(FP, (void *)(uintptr_t)(ghost + (uint64_t)block * SPREAD), 100,
		       SHINY_API_MALLOC);
}

static void push(struct shadow *s, unsigned name)
{
	char text[16];

	if (s->depth == SI_TAG_DEPTH)
		return;
	s->at[s->depth++] = (uint8_t)name;
	si_tag_push(FP, spell(name, text));
}

static void pop(struct shadow *s)
{
	if (!s->depth)
		return;
	s->depth--;
	si_tag_pop(FP);
}

/* What a handler does that interrupts a record: it uses another stream, and leaves the thread's
 * tags as they were. */
static __attribute__((noinline)) void interrupted(struct shadow *s, unsigned depth)
{
	struct si_writer *w = si_enter(FP);

	if (!w)
		abort();
	make_block(s);
	if (s->depth < SI_TAG_DEPTH) {
		push(s, 1 + draw(s) % NAMES);
		make_block(s);
		if (depth && draw(s) % 2)
			interrupted(s, depth - 1);
		make_block(s);
		pop(s);
	}
	make_block(s);
	si_leave(w);
}

static void some_steps(struct shadow *s, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		switch (draw(s) % 16) {
		case 0: case 1: case 2:
			push(s, 1 + draw(s) % NAMES);
			break;
		case 3: case 4: case 5:
			pop(s);
			break;
		case 6:
			if (draw(s) % 8 == 0)
				interrupted(s, 4);
			break;
		default:
			make_block(s);
		}
}

static void *heir(void *argument)
{
	struct shadow s = *(struct shadow *)argument;

	s.inherited = now(&s);
	s.depth = 0;
	some_steps(&s, STEPS / 4);
	return NULL;
}

static void *worker(void *argument)
{
	struct shadow s = { .seed = (uintptr_t)argument + 1 };
	pthread_t thread;

	some_steps(&s, STEPS);
	if (si_hook_pthread_create(&thread, NULL, heir, &s) == 0)
		pthread_join(thread, NULL);
	some_steps(&s, 100);
	return NULL;
}

static int child(void)
{
	struct shadow s = { .seed = 99 };
	pthread_t threads[THREADS];

	si_boot_test_constructor();
	for (uintptr_t i = 0; i < THREADS; i++)
		si_hook_pthread_create(&threads[i], NULL, worker, (void *)i);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	push(&s, 7);
	some_steps(&s, 5000);
	if (fork() == 0) {
		some_steps(&s, 5000); /* with its parent's tags */
		_exit(0);
	}
	wait(NULL);
	some_steps(&s, 100);
	return 0;
}

/* ---- the test ---- */

enum { PROCESSES = 256 };

struct reading {
	uint8_t names[PROCESSES][SI_TAGS]; /* by a process's slot and index */
	uint64_t seen, wrong, tagged;
};

static void see_name(void *context, const struct rd_event *e)
{
	struct reading *reading = context;
	const struct shiny_tag *tag = e->payload;
	char text[SHINY_TAG_NAME_MAX + 1] = "";

	if (e->kind != SHINY_REC_TAG_NAME || tag->index >= SI_TAGS ||
	    tag->name_bytes > SHINY_TAG_NAME_MAX)
		return;
	memcpy(text, tag + 1, tag->name_bytes);
	reading->names[e->process][tag->index] = (uint8_t)strtoul(text + 4, NULL, 10);
}

static void see_block(void *context, const struct rd_event *e)
{
	struct reading *reading = context;
	uint64_t block = (e->address - ghost) / SPREAD;
	uint8_t name;

	if (e->kind != SHINY_REC_ALLOC || e->address < ghost || block >= book->blocks)
		return;
	/* a child knows what its parent has told */
	name = reading->names[e->process][e->tag] ? reading->names[e->process][e->tag]
						  : reading->names[0][e->tag];
	reading->seen++;
	reading->tagged += book->name[block] != 0;
	reading->wrong += e->tag ? name != book->name[block] || !name : book->name[block] != 0;
}

static char directory[] = "/tmp/shiny-tags.XXXXXX";

int main(int argc, char **argv)
{
	static struct reading reading;
	char file[64], path[512];
	struct rd r;
	int fd, status = -1;
	pid_t pid;

	if (argc == 1 && !mkdtemp(directory))
		return 77;
	snprintf(file, sizeof(file), "%s/book", argc > 1 ? argv[1] : directory);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*book)) != 0)
		return 77;
	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (book == MAP_FAILED)
		return 77;
	if (argc > 1)
		return child();
	pid = fork();
	if (pid == 0) {
		char session[64], *arguments[] = { argv[0], directory, NULL };
		char *environment[] = { session, (char *)(uintptr_t) "SHINY_COLLECT=off",
					(char *)(uintptr_t) "SHINY_RING=64m",
					(char *)(uintptr_t) "SHINY_TYPES=off", NULL };

		snprintf(session, sizeof(session), "SHINY_SESSION=%s", directory);
		execve("/proc/self/exe", arguments, environment);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	number("the child's end", (uint64_t)status, 0);
	if (rd_find(directory, path, sizeof(path)) && rd_open(&r, path)) {
		bool good = rd_walk(&r, see_name, &reading) && rd_walk(&r, see_block, &reading);

		check("the ring's invariants", good, r.error);
		checkf("every block is there", reading.seen == book->blocks && reading.seen > STEPS,
		       "%" PRIu64, reading.seen);
		number("every block has its tag", reading.wrong, 0);
		checkf("most have one", reading.tagged > reading.seen / 2, "%" PRIu64,
		       reading.tagged);
		checkf("names are told once a process",
		       r.count[SHINY_REC_TAG_NAME] >= NAMES &&
			       r.count[SHINY_REC_TAG_NAME] < 2 * NAMES + THREADS * NAMES / 4,
		       "%" PRIu64, r.count[SHINY_REC_TAG_NAME]);
		printf("# %llu blocks, %llu changes of a tag\n", (unsigned long long)reading.seen,
		       (unsigned long long)r.count[SHINY_REC_TAG]);
		rd_close(&r);
		unlink(path);
	} else {
		check("the ring", false, "there is none");
	}
	unlink(file);
	rmdir(directory);
	return failures != 0;
}
