/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes of the caller's stack each function that is hooked writes to when it is called for
 * the first time in a process: `stack OP...`, or all of them; a line `OP STACK BYTES` for a
 * thread's own stack, for one that only the program knows (a coroutine's), and for a thread's that
 * is nearly used up. `stack small` calls what a coroutine may, on a stack of 4 KiB with nothing
 * below it.
 */
// build: -Wl,-z,now
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <shiny/shiny.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

enum { PAINT = 0xA5, DEEP = 96 << 10, NEAR = 256, PAGE = 4096 };

static void *kept[64];
static void *(*in_module)(size_t); /* of a module that nobody has met */
static void *volatile escaped; /* so that no call is left out */

/* ---- what is called ---- */

static void op_malloc(void)
{
	escaped = malloc(100);
}

static void op_free(void)
{
	free(kept[0]);
}

static void op_calloc(void)
{
	escaped = calloc(3, 100);
}

static void op_realloc(void)
{
	kept[1] = realloc(kept[1], 300);
}

static void op_memalign(void)
{
	if (posix_memalign(&kept[2], 64, 100))
		abort();
}

/* Through many chunks, with every entry of the nursery pushed out. */
static void op_churn(void)
{
	for (int i = 0; i < 60000; i++) {
		void **at = &kept[3 + i % 60];

		free(*at);
		*at = malloc(16 + (size_t)i * 7 % 500);
	}
}

/* One caller above the other, sixteen deep. */
static int __attribute__((noinline)) deep(int n)
{
	char text[40];

	if (n == 0) {
		escaped = malloc(100);
		return 1;
	}
	return deep(n - 1) + snprintf(text, sizeof text, "%d", n);
}

static void op_deep(void)
{
	deep(20);
}

static void op_module(void)
{
	escaped = in_module(100);
}

static void op_mmap(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at, 4096, PROT_READ);
	madvise(at, 4096, MADV_DONTNEED);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, 4096, "named");
	munmap(at, 4096);
}

static void op_tags(void)
{
	shiny_tag_push("a tag of the program's");
	escaped = malloc(100);
	shiny_tag_pop();
	shiny_mark("a mark of the program's");
}

static void *nothing(void *argument)
{
	return argument;
}

static void op_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
}

static void op_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static char *const arguments[] = { (char *)"/nonexistent/program", NULL };

static void op_exec(void)
{
	execve(arguments[0], arguments, environ);
}

static void op_execl(void)
{
	execl(arguments[0], arguments[0], "one", "two", NULL);
}

/* More variables than such a stack could point to. */
static void op_exec_many(void)
{
	static char *many[4096];

	for (int i = 0; i < 4095; i++)
		many[i] = (char *)"SOME=thing";
	many[0] = (char *)"LD_PRELOAD=libshiny.so";
	execve(arguments[0], arguments, many);
}

static void op_spawn(void)
{
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, (char *[]){ (char *)"true", NULL },
			environ) == 0)
		waitpid(pid, NULL, 0);
}

static void op_system(void)
{
	if (system(":"))
		abort();
}

static void op_dlopen(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW);

	if (handle)
		dlclose(handle);
}

static void op_syscall(void)
{
	syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static const struct op {
	const char *name;
	void (*call)(void);
} ops[] = { { "malloc", op_malloc },	 { "free", op_free },
	    { "calloc", op_calloc },	 { "realloc", op_realloc },
	    { "memalign", op_memalign }, { "churn", op_churn },
	    { "deep", op_deep },	 { "module", op_module },
	    { "mmap", op_mmap },	 { "tags", op_tags },
	    { "thread", op_thread },	 { "fork", op_fork },
	    { "exec", op_exec },	 { "execl", op_execl },
	    { "exec_many", op_exec_many }, { "spawn", op_spawn },
	    { "system", op_system },	 { "dlopen", op_dlopen },
	    { "syscall", op_syscall } };
enum { OPS = sizeof ops / sizeof *ops };

/* ---- where ---- */

static const struct op *op;
static size_t room; /* that may be painted */
static size_t used;

static __attribute__((noinline)) void measure(void)
{
	uint8_t *frame = __builtin_frame_address(0), *low = frame - room;
	volatile uint8_t *at = low;

	memset(low, PAINT, room - NEAR);
	op->call();
	while (*at == PAINT)
		at++;
	used = (size_t)(frame - (uint8_t *)(uintptr_t)at);
}

static void *in_thread(void *unused)
{
	room = DEEP;
	measure();
	return unused;
}

static ucontext_t back, there;

static void in_coroutine(void)
{
	measure();
	swapcontext(&there, &back);
}

static void on_stack(char *stack, size_t bytes, void (*entry)(void))
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = bytes;
	makecontext(&there, entry, 0);
	swapcontext(&back, &there);
}

/* With less than a walk needs; what lies below is the guard. */
static void *at_the_end(void *unused)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;
	uint8_t *frame = __builtin_frame_address(0);

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	room = 2048 - 512;
	memset(__builtin_alloca((size_t)(frame - (uint8_t *)low) - 2048), 1, 1);
	measure();
	return unused;
}

static void run(const char *where)
{
	static char stack[DEEP + 4096];
	pthread_t thread;

	if (!strcmp(where, "coroutine")) {
		room = DEEP;
		on_stack(stack, sizeof stack, in_coroutine);
	} else {
		pthread_create(&thread, NULL, strcmp(where, "thread") ? at_the_end : in_thread,
			       NULL);
		pthread_join(thread, NULL);
	}
	printf("%s %s %zu\n", op->name, where, used);
	fflush(stdout);
}

static void small(void)
{
	for (int i = 0; i < 20; i++)
		for (unsigned o = 0; o < OPS && strcmp(ops[o].name, "fork"); o++)
			if (!strstr("deep thread free", ops[o].name))
				ops[o].call();
	swapcontext(&there, &back);
}

static int on_small(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	mprotect(pages, PAGE, PROT_NONE);
	on_stack(pages + PAGE, PAGE, small);
	puts("done");
	return 0;
}

int main(int count, char **names)
{
	static const char *const places[] = { "thread", "coroutine", "end" };
	char path[4096];

	/* beside the program */
	snprintf(path, sizeof path, "%s.so", names[0]);
	in_module = (void *(*)(size_t))dlsym(dlopen(path, RTLD_NOW), "stack_allocate");
	if (!in_module)
		return 2;
	for (int i = 0; i < 64; i++)
		kept[i] = malloc(100);
	if (count > 1 && !strcmp(names[1], "small"))
		return on_small();
	for (unsigned o = 0; o < OPS; o++)
		for (unsigned place = 0; place < 3; place++) {
			pid_t pid;
			int status;

			op = &ops[o];
			/* libc itself needs more there */
			if (place == 2 && o > 5)
				continue;
			pid = fork();
			if (pid == 0) {
				run(places[place]);
				_exit(0);
			}
			if (waitpid(pid, &status, 0) != pid || status)
				printf("%s %s ended %x\n", op->name, places[place],
				       (unsigned)status);
			fflush(stdout);
		}
	return 0;
}
