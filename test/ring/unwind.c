/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c: stacks as the inside walks them, against the stacks that glibc's backtrace() prints.
 *
 * Libraries are compiled here (fixtures/walks.c) with and without frame pointers, and their
 * functions of all shapes call each other at random; at the bottom both ways of walking are
 * compared, frame by frame: by rows, and by what si_stack_id has put into the stream. Then: at
 * every single instruction of some libc functions, from a signal handler, on both kinds of stack;
 * in a library that takes the place of one that is gone; and with .eh_frame bytes and rows that are
 * rubbish.
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../interpose/boot/boot.h"
#include "../../interpose/unwind/bare_code.h"
#include "../../interpose/unwind/cfi.h"
#include "../../interpose/hook/record_event.h"
#include "../../interpose/unwind/stack.h"
#include "../../interpose/record/thread.h"
#include "../../interpose/unwind/unwind.h"
#include "../lib/random.h"
#include "../unit/check.h"
#include "fixtures/walks.h"

void si_boot_test_constructor(void);

#define FP ((const uintptr_t *)__builtin_frame_address(0))

static const char *mode;

static void result(const char *name, bool good, const char *why)
{
	char full[200];

	snprintf(full, sizeof(full), "%s/%s", mode, name);
	check(full, good, why);
}

/* ---- both walks of one stack ---- */

enum { TRUTH = 400, IDS = (SI_CACHE_WAYS << SI_CACHE_BITS) + 1 };

static struct {
	uint64_t walks, frames, whole, cut;
	unsigned beyond; /* frames that backtrace() tells outside of the last that is told */
	char wrong[4096];
} seen;

static struct {
	uint32_t count;
	uintptr_t frames[SHINY_FRAMES_MAX];
} defined[IDS];

static void disagree(const char *how, void **truth, unsigned truths, const uintptr_t *frames,
		     uint32_t count)
{
	size_t used;

	if (seen.wrong[0])
		return;
	used = (size_t)snprintf(seen.wrong, sizeof(seen.wrong), "%s, after %lu walks: ", how,
				seen.walks);
	for (unsigned i = 0; i < truths || i < count; i++) {
		void *at = i < truths ? truth[i] : (void *)frames[i];
		Dl_info info = { 0 };

		dladdr(at, &info);
		used += (size_t)snprintf(seen.wrong + used, sizeof(seen.wrong) - used,
					 "\n#   %2u %p %p %s", i, i < truths ? truth[i] : NULL,
					 i < count ? (void *)frames[i] : NULL,
					 info.dli_sname ? info.dli_sname : "?");
		if (used >= sizeof(seen.wrong))
			break;
	}
}

/* Whether the two agree on all that was told; an interrupted address is told as one more. */
static bool agree(void **truth, unsigned truths, const uintptr_t *frames, uint32_t count,
		  uintptr_t interrupted)
{
	if (count > truths || count == 0)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		bool here = interrupted && (uintptr_t)truth[i] == interrupted;

		if (frames[i] != (uintptr_t)truth[i] + here)
			return false;
		if (here)
			interrupted = 0; /* the same address may call, further out */
	}
	return true;
}

/* The stack outside of the caller. `interrupted`: the address in it that is no return address, or
 * 0. */
static __attribute__((noinline)) void compare_walks(const uintptr_t *fp, uint32_t depth,
						    uintptr_t interrupted)
{
	uintptr_t frames[SHINY_FRAMES_MAX];
	void *buffer[TRUTH], **truth = buffer;
	unsigned truths = (unsigned)backtrace(buffer, TRUTH), wanted;
	struct si_writer *w;
	struct si_walked walked;
	uint32_t count, id;
	bool cut;

	while (truths && (uintptr_t)*truth != fp[1]) {
		truth++;
		truths--;
	}
	wanted = truths - seen.beyond < depth ? truths - seen.beyond : depth;
	/* on a stack that is not the thread's own, the immediate caller is all that is told */
	if (!si_stack_has_room(fp))
		wanted = depth = 1;
	w = si_enter_any(fp);
	if (!w) {
		disagree("no stream", truth, truths, NULL, 0);
		return;
	}
	count = si_unwind_walk(w, fp, depth, frames, &walked, false);
	cut = walked.cut;
	w->defined = 0;
	id = si_stack_id(w, fp, depth, si_process.slot < 0);
	if (w->defined) {
		defined[id].count = w->defined;
		memcpy(defined[id].frames, w->frames, w->defined * sizeof(*w->frames));
	}
	si_leave(w);
	seen.walks++;
	seen.frames += count;
	seen.whole += count == wanted;
	seen.cut += cut;
	if (!agree(truth, truths, frames, count, interrupted))
		disagree("rows", truth, truths, frames, count);
	else if (count != wanted && !cut)
		disagree("rows end early and don't say so", truth, truths, frames, count);
	else if (!id || !agree(truth, truths, defined[id].frames, defined[id].count, interrupted) ||
		 defined[id].count != count)
		disagree("stream", truth, truths, defined[id].frames, id ? defined[id].count : 0);
}

/* ---- functions of all shapes ---- */

static uint32_t depth_now;
static void *libraries[3];

static void probe(struct walks *w)
{
	compare_walks(FP, depth_now, 0);
}

static bool take_shapes(struct walks *w, void *library)
{
	walks_shape *const *shapes = dlsym(library, "walks_shapes");

	for (unsigned i = 0; shapes && i < WALKS_SHAPES; i++)
		w->shapes[w->count++] = shapes[i];
	return shapes != NULL;
}

static void walk_with(struct walks *w, void *library, unsigned rounds)
{
	walks_shape *const *start = dlsym(library, "walks_start");

	for (unsigned i = 0; i < rounds; i++) {
		w->left = i % 23;
		depth_now = i % 3 == 0 ? 16 : i % 3 == 1 ? 64 : 1 + i % 64;
		(*start)(w);
	}
}

/* `share`: of a thousand walks, how many must have told all. */
static void finish(const char *name, unsigned share)
{
	char why[sizeof(seen.wrong) + 100];

	if (seen.wrong[0])
		result(name, false, seen.wrong);
	else if (seen.walks == 0 || seen.whole * 1000 < seen.walks * share) {
		snprintf(why, sizeof(why), "of %lu walks %lu reached the end and %lu were cut",
			 seen.walks, seen.whole, seen.cut);
		result(name, false, why);
	} else {
		result(name, true, "");
		printf("# %lu walks, %lu frames, %lu cut\n", seen.walks, seen.frames, seen.cut);
	}
	seen.walks = seen.frames = seen.whole = seen.cut = 0;
	seen.wrong[0] = 0;
}

static void shapes(unsigned rounds)
{
	static const char *const names[] = { "no frame pointers", "frame pointers", "both" };

	for (unsigned which = 0; which < 3; which++) {
		struct walks w = { .seed = 88172645463325252u + which, .probe = probe };

		if (which != 1)
			take_shapes(&w, libraries[0]);
		if (which != 0)
			take_shapes(&w, libraries[1]);
		walk_with(&w, libraries[which == 1], rounds);
		finish(names[which], 1000);
	}
}

static void *in_thread(void *unused)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	struct walks w = { .seed = 4711, .probe = probe };

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	si_stack_is((uintptr_t)low, (uintptr_t)low + bytes, (uintptr_t)low);
	take_shapes(&w, libraries[0]);
	take_shapes(&w, libraries[1]);
	walk_with(&w, libraries[0], 3000);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	unsigned beyond = seen.beyond;

	seen.beyond = 0;
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	seen.beyond = beyond;
	finish("thread", 1000);
}

/* ---- signal handlers ---- */

static void interrupted(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	compare_walks(FP, 64, (uintptr_t)c->uc_mcontext.gregs[REG_RIP]);
}

static void raising(struct walks *w)
{
	raise(SIGUSR1);
}

/* One more instruction, and one more signal. */
enum { TRAP = 0x100 };

static void steps(int number, siginfo_t *info, void *context)
{
	static uint64_t trapped;
	ucontext_t *c = context;

	/* each fiftieth, and the next ones to it: all instructions come round, as this is not a
	 * divisor of a loop's length for long */
	if (trapped++ % 53 < 3)
		compare_walks(FP, 64, (uintptr_t)c->uc_mcontext.gregs[REG_RIP]);
}

static void trap(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP) : "memory", "cc");
	else
		__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP) : "memory", "cc");
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void stepping(struct walks *w)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2 };
	char text[100], *end;

	trap(true);
	qsort(numbers, 6, sizeof(*numbers), by_number);
	strtod("3.25e7", &end);
	sprintf(text, "%d %s %g", numbers[0], "text", 1.5);
	trap(false);
}

static void signals(int flags, const char *raised, const char *stepped)
{
	struct sigaction action = { .sa_sigaction = interrupted,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | flags };
	struct walks w = { .seed = 99, .probe = raising };

	take_shapes(&w, libraries[0]);
	sigaction(SIGUSR1, &action, NULL);
	walk_with(&w, libraries[0], 300);
	finish(raised, 1000);
	action.sa_sigaction = steps;
	action.sa_flags = SA_SIGINFO | flags;
	sigaction(SIGTRAP, &action, NULL);
	w.probe = stepping;
	walk_with(&w, libraries[0], 12);
	/* the stubs through which libraries are called have rows of no kind that is known */
	finish(stepped, 950);
}

static void alternate(void)
{
	size_t bytes = 256 * 1024;
	stack_t stack = { .ss_size = bytes,
			  .ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	signals(0, "interrupted", "every instruction");
	sigaltstack(&stack, NULL);
	signals(SA_ONSTACK, "alternate stack", "every instruction, alternate stack");
}

/* ---- a library in the place of another ---- */

static void replaced(const char *directory)
{
	char path[300];
	void *base[2] = { NULL, NULL };

	for (unsigned i = 0; i < 40; i++) {
		struct walks w = { .seed = i, .probe = probe };
		struct link_map *map;
		void *library;

		snprintf(path, sizeof(path), "%s/other%u.so", directory, i % 2);
		si_event_modules_changing();
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library || !take_shapes(&w, library)) {
			result("replaced", false, dlerror());
			return;
		}
		dlinfo(library, RTLD_DI_LINKMAP, &map);
		base[i % 2] = (void *)map->l_addr;
		walk_with(&w, library, 60);
		si_event_modules_changed();
		dlclose(library);
		si_event_modules_changed();
	}
	result("replaced at the same address", base[0] == base[1],
	       "the loader has put them apart: nothing was tested");
	finish("replaced", 1000);
}

/* ---- rubbish ---- */

static bool sound(uint64_t row)
{
	uint64_t cfa = SI_ROW_CFA(row), saved = SI_ROW_SAVED(row);

	switch (SI_ROW_KIND(row)) {
	case SI_ROW_SP:
	case SI_ROW_BP:
		return cfa >= 8 && cfa <= SI_CFA_MAX && cfa % 8 == 0 && saved >= 8 &&
		       saved % 8 == 0 && (SI_ROW_KIND(row) == SI_ROW_BP || saved <= cfa);
	case SI_ROW_REALIGN:
	case SI_ROW_SIGNAL:
	case SI_ROW_BARE:
	case SI_ROW_END:
	case SI_ROW_STOP:
		return true;
	default:
		return false;
	}
}

/* Copies of `pc`'s segment, cut short and with bytes changed; the sanitizer sees any read beyond
 * the copy's ends. */
static void mutated(const char *name, uintptr_t pc, unsigned rounds)
{
	struct si_cfi_view view, copied;
	enum { CHANGES = 6, NEAR = 4096 };
	uint64_t kinds[SI_ROW_NOWHERE + 1] = { 0 }, bad = 0;
	size_t bytes;
	uint8_t *copy;
	const uint8_t *from;
	char why[200];

	if (si_module_view(pc, &view) == SI_CODE_NONE || !view.table) {
		result(name, false, "no unwind information");
		return;
	}
	/* the tables come last in their segment: a page in front of them is enough to fall into */
	from = (const uint8_t *)(view.table - view.low > NEAR ? view.table - NEAR : view.low);
	bytes = (size_t)(view.high - (uintptr_t)from);
	for (unsigned i = 0; i < rounds; i++) {
		size_t have = i % 8 ? bytes : next_random() % (bytes + 1);
		size_t table = view.table - (uintptr_t)from, at[CHANGES];
		unsigned changes = 1 + i % CHANGES;
		static size_t had;
		static uint8_t *kept;

		if (i == 0 || have != had) {
			free(i ? kept : NULL);
			kept = malloc(have + 1);
			memcpy(kept, from, have);
			had = have;
		}
		copy = kept;
		copied = (struct si_cfi_view){ .table = (uintptr_t)copy + table,
					       .low = (uintptr_t)copy,
					       .high = (uintptr_t)copy + have };
		for (unsigned n = 0; n < changes && have > table; n++) {
			/* mostly in the entries, now and then in the table's own head */
			at[n] = next_random() % 16 == 0 ? table + next_random() % 16
							: table + next_random() % (have - table);
			if (at[n] < have)
				copy[at[n]] =
					next_random() % 2
						? (uint8_t)next_random()
						: (uint8_t)(copy[at[n]] ^ 1 << next_random() % 8);
		}
		for (unsigned n = 0; n < 8; n++) {
			struct si_cfi found =
				si_cfi_find(&copied, (uintptr_t)copy + (pc - (uintptr_t)from) -
							     2048 + next_random() % 4096);

			bad += !sound(found.row);
			if (sound(found.row))
				kinds[SI_ROW_KIND(found.row)]++;
		}
		for (unsigned n = 0; n < changes && have > table; n++)
			if (at[n] < have)
				copy[at[n]] = from[at[n]];
		if (i + 1 == rounds) {
			free(kept);
			kept = NULL;
		}
	}
	snprintf(why, sizeof(why),
		 "%lu rows are unsound; of %lu by rsp, %lu by rbp, %lu bare, %lu stop", bad,
		 kinds[SI_ROW_SP], kinds[SI_ROW_BP], kinds[SI_ROW_BARE], kinds[SI_ROW_STOP]);
	result(name, bad == 0 && kinds[SI_ROW_SP] && kinds[SI_ROW_STOP] && kinds[SI_ROW_BARE], why);
	printf("# %s\n", why);
}

/* Any rows, on a stack of any words, with unreadable memory right behind its end. */
static void any_rows(void)
{
	enum { WORDS = 4096 / 8 * 4, PCS = 64, ROUNDS = 200000 };
	uint64_t generation = si_modules_generation, told = 0, rows[PCS];
	uintptr_t *stack =
		mmap(NULL, WORDS * 8 + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t low = si_tls.stack_low, high = si_tls.stack_high, frames[SHINY_FRAMES_MAX];
	struct si_writer *w = si_enter_any(FP);
	struct si_walked walked;
	bool more = false;
	/* the addresses lie in one page, every other one behind a call */
	static uint8_t code[4096];
	const uintptr_t first = (uintptr_t)code + 16;

	for (unsigned i = 0; i < PCS; i += 2)
		code[16 + i * 16 - 5] = 0xe8;
	si_bare_code.run[0].start = (uintptr_t)code;
	stack += 512;
	mprotect(stack, WORDS * 8, PROT_READ | PROT_WRITE);
	si_stack_is((uintptr_t)stack, (uintptr_t)(stack + WORDS), (uintptr_t)stack);
	for (unsigned i = 0; i < ROUNDS && w; i++) {
		uintptr_t *fp =
			stack + (i % 5 ? next_random() % 64 : WORDS - 2 - next_random() % 32);
		uint32_t count;

		for (unsigned n = 0; n < 16; n++) {
			uint64_t r = next_random();

			stack[r % 8 ? r % 256 : WORDS - 1 - r % 64] =
				r & 3 << 24   ? first + (r >> 30) % PCS * 16
				: r & 1 << 21 ? (uintptr_t)(stack + (r >> 30) % WORDS)
				: r & 1 << 22 ? (uintptr_t)(stack + WORDS) - r % 32
					      : next_random();
		}
		for (unsigned n = 0; n < 4; n++) {
			uint64_t r = next_random(), saved = 8 + r % 16 * 8,
				 cfa = r & 256 ? saved + (r >> 10) % 64 * 8
					       : next_random() % SI_CFA_MAX & ~7u;
			unsigned kind =
				r & 3 << 16 ? SI_ROW_SP : 1 + (unsigned)(r >> 40) % SI_ROW_STOP;

			rows[(r >> 20) % PCS] =
				kind == SI_ROW_SP ? SI_ROW(kind, cfa < saved ? saved : cfa, saved)
				: kind == SI_ROW_REALIGN
					? SI_ROW(kind,
						 (uint32_t)(int32_t)(8 * (int)((r >> 50) % 16) -
								     64),
						 0)
					: SI_ROW(kind, cfa + 8, saved);
			si_row_store(first + (r >> 20) % PCS * 16, generation,
				     rows[(r >> 20) % PCS]);
		}
		fp[1] = first + next_random() % PCS * 16;
		/* the page is bare code or is not */
		si_bare_code.run[0].bytes = i % 3 ? 4096 : 0;
		count = si_unwind_walk(w, fp, 1 + i % 64, frames, &walked, i % 2);
		more |= count > 4;
		told += count;
		if (count > 1 + i % 64) {
			result("any rows", false, "more frames than asked for");
			break;
		}
	}
	si_stack_is(low, high, low);
	if (w)
		si_leave(w);
	result("any rows", w && more, "no walk went anywhere");
	printf("# %lu frames\n", told);
}

/* ---- */

static void child(const char *directory)
{
	char path[300];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/walks%u.so", directory, i);
		libraries[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!libraries[i]) {
			result("libraries", false, dlerror());
			return;
		}
	}
	si_boot_test_constructor();
	seen.beyond = 2; /* __libc_start_main, _start */
	shapes(6000);
	threads();
	alternate();
	replaced(directory);
	if (strcmp(mode, "rows") == 0)
		return;
	mutated("mutated library",
		(uintptr_t) * (walks_shape *const *)dlsym(libraries[0], "walks_start"), 60000);
	mutated("mutated libc", (uintptr_t)dlsym(RTLD_DEFAULT, "__libc_start_main"), 2000);
	any_rows();
}

static bool compile(const char *directory, const char *output, const char *flags)
{
	const char *cc = getenv("CC");
	char command[800];

	snprintf(command, sizeof(command),
		 "%s -O2 -g -fPIC -shared -Itest/ring/fixtures %s test/ring/fixtures/walks.c -o "
		 "%s/%s",
		 cc && *cc ? cc : "cc", flags, directory, output);
	return system(command) == 0;
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/shiny-unwind.XXXXXX", session[100], unwind[40], command[100],
	     size[] = "SHINY_RING=64m";
	static const char *const modes[] = { "auto", "rows" };

	if (argc == 3) {
		mode = argv[1];
		child(argv[2]);
		return failures != 0;
	}
	mode = "setup";
	if (!mkdtemp(directory))
		return 1;
	if (!compile(directory, "walks0.so", "-fomit-frame-pointer") ||
	    !compile(directory, "walks1.so", "-fno-omit-frame-pointer") ||
	    !compile(directory, "other0.so", "-fomit-frame-pointer -DSIZE=40") ||
	    !compile(directory, "other1.so", "-fomit-frame-pointer -DSIZE=64")) {
		result("compile", false, "the libraries could not be compiled");
		return 1;
	}
	for (unsigned i = 0; i < 2; i++) {
		char *arguments[] = { argv[0], (char *)(uintptr_t)modes[i], directory, NULL };
		char *environment[] = {
			session, unwind, (char *)"SHINY_COLLECT=off", (char *)"LD_BIND_NOW=1",
			size,	 NULL
		};
		int status = -1;
		pid_t pid;

		snprintf(session, sizeof(session), "SHINY_SESSION=%s/%s", directory, modes[i]);
		snprintf(unwind, sizeof(unwind), "SHINY_UNWIND=%s", modes[i]);
		mkdir(session + sizeof("SHINY_SESSION=") - 1, 0700);
		pid = fork();
		if (pid == 0) {
			execve("/proc/self/exe", arguments, environment);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		mode = modes[i];
		result("ran", status == 0, "it ended with a failure");
	}
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return (system(command) != 0 || failures != 0);
}
