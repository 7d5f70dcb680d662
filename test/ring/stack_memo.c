/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_memo.c: a walk that is not made again (interpose/unwind/stack_memo.h) must be the one that
 * would have been made.
 *
 * Two ways. On a stack of our own, of chains of random shape, whose words, rows, end, stream and
 * ids are changed one at a time: whatever is answered is what a walk made then and there finds, and
 * nothing behind the stack's end is read. And with functions that really call each other, from the
 * same place under different callers, at any depth, after a longjmp, on the stack of a thread that
 * is gone: against glibc's backtrace().
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../interpose/boot/boot.h"
#include "../../interpose/unwind/stack.h"
#include "../../interpose/record/thread.h"
#include "../lib/random.h"
#include "../unit/check.h"

void si_boot_test_constructor(void);

#define FP ((const uintptr_t *)__builtin_frame_address(0))

/* ---- a stack of our own ---- */

enum { WORDS = 2048, PCS = 48, ROUNDS = 400000, LINKS = 24, ROOM = 84 };

static uintptr_t pc_of(uint64_t number)
{
	return 65536 + number % PCS * 16;
}

/* Frames from `fp` outwards, of the sizes and callers that `shape` says: the same for the same
 * shape. */
static void chain(const uintptr_t *stack, uintptr_t *fp, uint64_t shape)
{
	for (unsigned i = 0; i < LINKS; i++) {
		uintptr_t *next = fp + 2 + (shape >> i) % 4 * 2;

		/* no address: the end of a walk by frame pointers */
		fp[1] = shape % 5 == 3 && i == 9 ? shape % 4096 : pc_of(shape >> i % 8 * 4);
		if (next + 2 > stack + WORDS) {
			fp[0] = shape % 3 ? 0 : 12345;
			return;
		}
		fp[0] = (uintptr_t)next;
		fp = next;
	}
}

/* The same without frame pointers: frames of four words, which rows describe from rsp and from
 * rbp. */
static void sized_chain(const uintptr_t *stack, uintptr_t *fp, uint64_t shape)
{
	uintptr_t *rsp = fp + 2;

	fp[0] = (uintptr_t)rsp;
	fp[1] = pc_of(shape);
	for (unsigned i = 0; i < LINKS && rsp + 4 <= stack + WORDS; i++, rsp += 4) {
		rsp[2] = (uintptr_t)(rsp + 4);
		rsp[3] = pc_of(shape >> i % 8 * 4);
	}
}

static bool sized; /* frames are so, and most rows */

static uint64_t some_row(uint64_t r)
{
	static const uint64_t rows[] = { SI_ROW(SI_ROW_BARE, 16, 16),
					 SI_ROW_FP,
					 SI_ROW_FP,
					 SI_ROW(SI_ROW_BARE, 16, 16),
					 SI_ROW_FP,
					 SI_ROW_FP | SI_ROW_MIXED,
					 SI_ROW(SI_ROW_SP, 32, 16),
					 SI_ROW(SI_ROW_BP, 32, 16),
					 SI_ROW(SI_ROW_NOWHERE, 0, 0),
					 SI_ROW(SI_ROW_END, 0, 0),
					 SI_ROW(SI_ROW_STOP, 0, 0) };

	if (sized && r % 8)
		return SI_ROW(r / 8 % 2 ? SI_ROW_SP : SI_ROW_BP, 32, 16);
	return rows[r % 4 ? r / 4 % 5 : r / 4 % (sizeof(rows) / sizeof(*rows))];
}

static struct {
	uint64_t asked, answered, wrong;
	unsigned worst; /* what had changed before the first wrong answer */
} told;

/* One of the things that a walk, or its id, depends on. */
static void change(struct si_writer *w, uintptr_t *stack, uintptr_t *fp, unsigned what)
{
	uint64_t r = next_random();

	switch (what) {
	case 0: /* a return address */
		fp[1 + r % 40 * 2] = pc_of(r >> 16);
		break;
	case 1: /* a frame is skipped */
		if ((uintptr_t)fp < fp[0] && fp[0] < (uintptr_t)(stack + WORDS - 2))
			fp[0] = *(uintptr_t *)fp[0];
		break;
	case 2: /* an address leads astray */
		si_row_doubt(pc_of(r), si_modules_generation,
			     r & 1 << 20 ? SI_ROW(SI_ROW_STOP, 0, 0) : some_row(r >> 24));
		break;
	case 3: /* another thread's stack, which ends earlier; behind it there is nothing to read */
		si_tls.stack_high = (uintptr_t)(stack + (r & 1 ? WORDS : WORDS / 2));
		break;
	case 4: /* ids were lost */
		si_writer_salt(w);
		break;
	case 5: /* an id has another meaning */
		r = (r % 8 ? si_stack_memo_slot(w, fp)->id - 1 : r >> 8) &
		    ((w->cache_mask + 1) * SI_CACHE_WAYS - 1);
		for (uint64_t n = next_random() % 4 ? 1 : 256; n > 0; n--)
			si_stack_memo_void(w, (uint32_t)(r / SI_CACHE_WAYS));
		w->cache[r] = next_random();
		break;
	case 6: /* modules have changed */
		__atomic_store_n(&si_modules_generation, si_modules_generation + 1,
				 __ATOMIC_RELEASE);
		__atomic_fetch_add(&si_rows_epoch, 1, __ATOMIC_RELEASE);
		for (unsigned i = 0; i < PCS; i++)
			si_row_store(pc_of(i), si_modules_generation, some_row(next_random()));
		break;
	/* any word; what may be taken for a return address is none of the stack's, or its row would
	 * push out another one */
	default:
		r = r >> 8;
		fp[r % 48] = r % 2 || r & 1 << 20 ? next_random() | UINT64_C(1) << 63
						  : (uintptr_t)(stack + ((r >> 24) % WORDS & ~1u));
	}
}

static void ask(struct si_writer *w, const uintptr_t *fp, uint32_t depth, unsigned changed)
{
	uintptr_t frames[SHINY_FRAMES_MAX];
	struct si_walked walked;
	uint32_t count, made, answer;

	/* a walk may find that an address leads astray, or make a row: what counts is what it would
	 * find afterwards */
	answer = si_stack_memo_find(w, fp, depth);
	count = si_stack_walk(w, fp, depth, frames, &walked);
	made = si_stack_find(w, si_stack_key(w, frames, count));
	told.asked++;
	told.answered += answer != 0;
	if (answer && answer != made) {
		if (!told.wrong++)
			told.worst = changed;
	}
	si_stack_id(w, fp, depth, 0);
}

static void any_stack(const char *as_walked, const char *answers)
{
	uintptr_t *stack =
		mmap(NULL, WORDS * 8 + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t low = si_tls.stack_low, high = si_tls.stack_high;
	uint64_t generation = si_modules_generation;
	const char *lengthy = getenv("SHINY_TEST_LONG");
	unsigned rounds = lengthy && *lengthy == '1' ? ROUNDS : ROUNDS / 4;
	struct si_writer *w = si_enter_any(FP);

	check("any stack/stream", w != NULL, "no stream");
	if (!w)
		return;
	memset(&told, 0, sizeof(told));
	stack += 512;
	mprotect(stack, WORDS * 8, PROT_READ | PROT_WRITE);
	/* its frames may lie at its very beginning */
	si_stack_is((uintptr_t)stack, (uintptr_t)(stack + WORDS), (uintptr_t)stack - SI_WALK_ROOM);
	for (unsigned i = 0; i < PCS; i++)
		si_row_store(pc_of(i), si_modules_generation, some_row(next_random()));
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t r = next_random();
		uintptr_t *fp =
			stack + (r % 2 ? 2 + r / 4 % 8 * 2
				       : (r % 4 ? WORDS : WORDS / 2) - ROOM - r / 4 % 16 * 2);
		unsigned changed = 99;

		if (r >> 20 & 1)
			si_tls.stack_high = (uintptr_t)(stack + WORDS);
		(sized ? sized_chain : chain)(stack, fp,
					      (r >> 24) % 5 * UINT64_C(0x1234567890abcd));
		/* the other thread's: what lies behind its end can't be read */
		if (si_tls.stack_high < (uintptr_t)(stack + WORDS))
			mprotect(stack + WORDS / 2, WORDS / 2 * 8, PROT_NONE);
		if (si_tls.stack_high >= (uintptr_t)(fp + ROOM))
			ask(w, fp, r >> 40 & 1 ? 16 : 2 + (uint32_t)(r >> 41) % 20, 98);
		mprotect(stack + WORDS / 2, WORDS / 2 * 8, PROT_READ | PROT_WRITE);
		if ((r >> 50) % 8 == 0) {
			changed = (unsigned)(r >> 53) % 8;
			change(w, stack, fp, changed);
		}
		if (si_tls.stack_high < (uintptr_t)(stack + WORDS))
			mprotect(stack + WORDS / 2, WORDS / 2 * 8, PROT_NONE);
		if (si_tls.stack_high >= (uintptr_t)(fp + ROOM))
			ask(w, fp, 16, changed);
		mprotect(stack + WORDS / 2, WORDS / 2 * 8, PROT_READ | PROT_WRITE);
	}
	si_stack_is(low, high, low);
	__atomic_store_n(&si_modules_generation, generation, __ATOMIC_RELEASE);
	__atomic_fetch_add(&si_rows_epoch, 1, __ATOMIC_RELEASE);
	si_writer_salt(w);
	si_leave(w);
	checkf(as_walked, told.wrong == 0,
	       "%lu of %lu answers are not what a walk finds; the first after change %u",
	       told.wrong, told.answered, told.worst);
	checkf(answers,
	       told.answered * 8 > told.asked || si_settings.unwind == SI_UNWIND_FP,
	       "only %lu of %lu were answered", told.answered, told.asked);
	printf("# %lu of %lu walks were not made again\n", told.answered, told.asked);
}

/* A stack of one frame is that frame's alone, however near others lie; and it is found again. */
static void one_frame(void)
{
	enum { SITES = 256 };
	uint32_t ids[SITES], same = 0, lost = 0;
	uintptr_t stack[2] = { 0, 0 };
	struct si_writer *w = si_enter_any(FP);

	check("one frame/stream", w != NULL, "no stream");
	if (!w)
		return;
	for (unsigned i = 0; i < SITES; i++) {
		stack[1] = 65536 + i;
		w->defined = 0;
		ids[i] = si_stack_id(w, stack, 1, 0);
		if (!ids[i] || w->defined != 1 || w->frames[0] != stack[1])
			same++;
	}
	/* the one that was defined last has pushed out no other since */
	w->defined = 0;
	lost = si_stack_id(w, stack, 1, 0) != ids[SITES - 1] || w->defined;
	si_writer_salt(w);
	si_leave(w);
	checkf("one frame/its own", same == 0, "%u of %u were taken for another", same, SITES);
	check("one frame/found again", !lost, "it was defined anew");
}

/* ---- the sum of a walk's words ---- */

enum { SUMMED = 28 };

static uint64_t sum_of(const uintptr_t *word)
{
	struct si_memo_sum sum = { 0 };

	for (unsigned i = 0; i < SUMMED; i += SI_STACK_MEMO_LANES)
		si_memo_sum_add(&sum, word[i], word[i + 1], word[i + 2], word[i + 3]);
	return si_memo_sum_end(&sum);
}

/* Stacks that differ as one program's do: another caller, and a frame that lies a few words from
 * where it lay. */
static void sums(void)
{
	enum { TRIES = 1000000 };
	unsigned equal = 0;

	for (unsigned n = 0; n < TRIES; n++) {
		uintptr_t word[SUMMED], at = 0x7f0000000000 + next_random() % (1 << 24) * 4096;
		uint64_t sum;

		for (unsigned i = 0; i < SUMMED; i += 2) {
			word[i] = pc_of(next_random());
			word[i + 1] = at += 16 + next_random() % 8 * 8;
		}
		sum = sum_of(word);
		for (unsigned changes = 1 + n % 3; changes > 0; changes--) {
			unsigned i = (unsigned)random_below(SUMMED);

			word[i] += 8 + random_below(64) * 8;
		}
		equal += sum_of(word) == sum;
	}
	checkf("sums/differ", equal == 0, "%u of %u", equal, TRIES);
}

/* ---- functions that call each other ---- */

static struct {
	uint32_t count;
	uintptr_t frames[SHINY_FRAMES_MAX];
} defined[(SI_CACHE_WAYS << SI_CACHE_BITS) + 1];
static uint64_t compared, answered, wrong;
static uint32_t depth_now = 16;

static __attribute__((noinline)) void leaf(void)
{
	void *buffer[64], **truth = buffer;
	unsigned truths = (unsigned)backtrace(buffer, 64);
	const uintptr_t *fp = FP;
	struct si_writer *w = si_enter_any(fp);
	uint32_t id, last;

	while (truths && (uintptr_t)*truth != fp[1]) {
		truth++;
		truths--;
	}
	if (!w)
		return;
	answered += si_stack_memo_find(w, fp, depth_now) != 0;
	w->defined = 0;
	id = si_stack_id(w, fp, depth_now, 0);
	if (w->defined) {
		defined[id].count = w->defined;
		memcpy(defined[id].frames, w->frames, w->defined * sizeof(*w->frames));
	}
	si_leave(w);
	compared++;
	last = id ? defined[id].count : 0;
	if (last == 0 || last > truths || (last < depth_now && truths > last + 3))
		wrong++;
	else
		for (uint32_t i = 0; i < last; i++)
			if (defined[id].frames[i] != (uintptr_t)truth[i]) {
				wrong++;
				break;
			}
}

static void finish(const char *name)
{
	checkf(name, compared && !wrong && answered,
	       "%lu of %lu stacks are wrong; %lu were not walked again", wrong, compared, answered);
	compared = answered = wrong = 0;
}

/* No call is the last thing that a function does, or it would be a jump. */
#define PLAIN __attribute__((noinline))

static volatile unsigned sink;

/* All callers have a frame of the same size, so what they call lies at the same place. */
static PLAIN void middle(void)
{
	leaf();
	sink++;
}

#define CALLER(n)                         \
	static PLAIN void caller##n(void) \
	{                                 \
		middle();                 \
		sink += n;                \
	}
CALLER(1) CALLER(2) CALLER(3) CALLER(4)
static void (*const callers[])(void) = { caller1, caller2, caller3, caller4 };

static PLAIN void deeper(unsigned n, uint64_t way)
{
	if (n == 0)
		callers[way % 4]();
	else if (way >> n & 1)
		deeper(n - 1, way);
	else
		deeper(n - 1, way); /* from another address */
	sink++;
}

static jmp_buf back;

static PLAIN void thrower(unsigned which)
{
	callers[which]();
	longjmp(back, 1);
}

static PLAIN void catcher(unsigned which)
{
	for (volatile unsigned i = 0; i < 2; i++)
		if (setjmp(back) == 0)
			thrower(which);
	for (unsigned i = 0; i < 4; i++)
		callers[(which + 1) % 4]();
	sink++;
}

/* So deep that the walks end before libc's start code, which keeps no frame pointers. */
static PLAIN void far_down(unsigned n, void (*run)(uintptr_t), uintptr_t argument)
{
	if (n)
		far_down(n - 1, run, argument);
	else
		run(argument);
	sink++;
}

static PLAIN void thrice(uintptr_t which)
{
	for (volatile unsigned i = 0; i < 3; i++) /* one call, not three in a row */
		callers[which % 4]();
	sink++;
}

static void *in_thread(void *which)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	si_stack_is((uintptr_t)low, (uintptr_t)low + bytes, (uintptr_t)low);
	far_down(16, thrice, (uintptr_t)which);
	return NULL;
}

static PLAIN void real_calls(uintptr_t unused)
{
	for (unsigned i = 0; i < 4000; i++)
		callers[i / 4 % 4]();
	finish("other callers, the same place");
	for (unsigned i = 0; i < 20000; i++) {
		depth_now = i % 3 ? 16 : 2 + i % 14;
		deeper(i % 5 ? 4 : i % 30, next_random() % 64);
	}
	depth_now = 16;
	finish("recursion");
	for (unsigned i = 0; i < 2000; i++)
		catcher(i / 6 % 4);
	finish("longjmp");
	for (uintptr_t i = 0; i < 200; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, in_thread, (void *)i) == 0)
			pthread_join(thread, NULL);
	}
	finish("threads on one stack after the other");
}

static void child(void)
{
	si_boot_test_constructor();
	one_frame();
	far_down(16, real_calls, 0);
	any_stack("any stack/as walked", "any stack/answers");
	if (si_settings.unwind != SI_UNWIND_FP) {
		sized = true;
		any_stack("frames by size/as walked", "frames by size/answers");
	}
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/shiny-kept-walk.XXXXXX", session[100], command[100], unwind[40];
	static const char *const modes[] = { "auto", "fp", "rows" };

	if (argc == 2) {
		child();
		return failures != 0;
	}
	if (!mkdtemp(directory))
		return 1;
	sums();
	for (unsigned i = 0; i < 3; i++) {
		char *arguments[] = { argv[0], (char *)(uintptr_t)modes[i], NULL };
		char *environment[] = { session, unwind, (char *)"SHINY_COLLECT=off",
					(char *)"SHINY_RING=256m", NULL };
		int status = -1;
		pid_t pid;

		printf("# %s\n", modes[i]);
		fflush(stdout);
		snprintf(session, sizeof(session), "SHINY_SESSION=%s", directory);
		snprintf(unwind, sizeof(unwind), "SHINY_UNWIND=%s", modes[i]);
		pid = fork();
		if (pid == 0) {
			execve("/proc/self/exe", arguments, environment);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		check(modes[i], status == 0, "it ended with a failure");
	}
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return (system(command) != 0 || failures != 0);
}
