/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that forbids itself one system call, by a filter that ends the process at it, and then
 * does one thing that is hooked: `forbid INSTALL CALL...`, where CALL is a number; for each, and
 * for each thing, a child, and a line that says how it ended. What is given to exec lies on the
 * heap. CALL/PART: only each third thing, from PART on. Nothing is forbidden where INSTALL is
 * `none`, or `thread`: there another thread does it.
 */
// build: -Wl,-z,now -lstdc++
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <shiny/shiny.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "e2e/forbid.h"

void *_Znwm(size_t bytes);
void _ZdlPv(void *block);

static char *copy(const char *text)
{
	return strcpy(malloc(strlen(text) + 1), text);
}

/* ---- what is done ---- */

static void do_malloc(void)
{
	static void *volatile block[512];

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 512; i++)
			block[i] = malloc((size_t)(16 + i * (round % 9)));
		for (int i = 0; i < 512; i++)
			free(block[i]);
	}
	block[0] = realloc(malloc(100), 3000000);
	free(block[0]);
	free(calloc(10, 100));
	free(aligned_alloc(64, 640));
	_ZdlPv(_Znwm(50));
}

static void *thread(void *argument)
{
	do_malloc();
	pthread_setname_np(pthread_self(), "named");
	return argument;
}

static void do_thread(void)
{
	pthread_t one;

	if (pthread_create(&one, NULL, thread, NULL) || pthread_join(one, NULL))
		_exit(40);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		_exit(41);
	return status;
}

static void ended(int status)
{
	if (WIFSIGNALED(status))
		_exit(50 + WTERMSIG(status));
	if (WEXITSTATUS(status))
		_exit(WEXITSTATUS(status));
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		do_malloc();
		_exit(7);
	}
	ended(wait_for(pid));
}

static void do_waits(void)
{
	siginfo_t info = { 0 };
	int status;

	for (int way = 0; way < 4; way++) {
		pid_t pid = fork();

		if (pid == 0)
			_Exit(0);
		if (way == 0)
			wait(&status);
		else if (way == 1)
			wait3(&status, 0, NULL);
		else if (way == 2)
			wait4(pid, &status, 0, NULL);
		else
			waitid(P_PID, (id_t)pid, &info, WEXITED);
	}
}

static void do_raw_clone(void)
{
	pid_t pid = (pid_t)forbid_raw(SYS_clone, SIGCHLD, 0, 0, 0);

	if (pid == 0) {
		do_malloc();
		_exit(8);
	}
	ended(wait_for(pid));
}

static void do_vfork(void)
{
	char *path = copy("/nonexistent/program"), *argv[] = { path, NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		execv(path, argv);
		_exit(9);
	}
	ended(wait_for(pid));
}

static int in_clone(void *argument)
{
	execv(argument, (char *[]){ argument, NULL });
	_exit(10);
}

static void do_clone(void)
{
	static char stack[65536];

	ended(wait_for(clone(in_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
			     copy("/nonexistent/program"))));
}

static char *old_variable; /* one that libc has put into `environ` */

/* The environment is one of the heap's, too. */
static char **heap_environment(void)
{
	char **environment = malloc(4 * sizeof *environment), *preload = getenv("LD_PRELOAD");
	int n = 0;

	environment[n++] = old_variable ? old_variable : copy("SOME=thing");
	if (preload) {
		environment[n] = malloc(strlen(preload) + 20);
		sprintf(environment[n++], "LD_PRELOAD=%s", preload);
	}
	environment[n] = NULL;
	return environment;
}

static void exec_all(const char *file)
{
	char *path = copy(file), **argv = malloc(3 * sizeof *argv);
	char **environment = heap_environment();

	argv[0] = path;
	argv[1] = copy("argument");
	argv[2] = NULL;
	execv(path, argv);
	execve(path, argv, environment);
	execvp(path, argv);
	execvpe(path, argv, environment);
	execl(path, path, argv[1], NULL);
	execlp(path, path, argv[1], NULL);
	execle(path, path, argv[1], NULL, environment);
	fexecve(-1, argv, environment);
	execveat(AT_FDCWD, path, argv, environment, 0);
}

static void do_exec_failing(void)
{
	exec_all("/nonexistent/program");
}

static void do_exec(void)
{
	exec_all("/bin/true");
	_exit(42);
}

static void do_exec_by_descriptor(void)
{
	fexecve(open("/bin/true", O_RDONLY), (char *[]){ copy("true"), NULL }, heap_environment());
	_exit(43);
}

static void do_spawn(void)
{
	char *argv[] = { copy("/bin/true"), NULL };
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, heap_environment()))
		_exit(44);
	ended(wait_for(pid));
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, heap_environment()))
		_exit(45);
	ended(wait_for(pid));
	argv[0] = copy("/nonexistent/program");
	posix_spawn(&pid, argv[0], NULL, NULL, argv, heap_environment());
}

static void do_system(void)
{
	ended(system("exit 3"));
}

static void do_popen(void)
{
	FILE *pipe = popen("exit 4", "r");

	if (!pipe)
		_exit(46);
	ended(pclose(pipe));
}

static void do_dlopen(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW);

	do_malloc();
	dlclose(handle);
	handle = dlmopen(LM_ID_BASE, "libm.so.6", RTLD_NOW);
	dlclose(handle);
}

/* Read-only references of a module's own scope. */
static void do_dlopen_deep(void)
{
	void *handle = dlopen(forbid_library, RTLD_NOW | RTLD_DEEPBIND);
	void (*allocate)(void) = (void (*)(void))dlsym(handle, "forbid_allocate");

	if (!allocate)
		_exit(47);
	allocate();
}

static void do_mappings(void)
{
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(at, 4096, PROT_READ);
	pkey_mprotect(at, 4096, PROT_READ | PROT_WRITE, -1);
	madvise(at, 4096, MADV_DONTNEED);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, 4096, "named");
	at = mremap(at, 8192, 16384, MREMAP_MAYMOVE);
	munmap(at, 16384);
}

static void do_break(void)
{
	sbrk(8192);
	sbrk(-8192);
	brk(sbrk(0));
}

static void do_prctl(void)
{
	char name[16];

	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "renamed");
}

static void do_syscall(void)
{
	syscall(SYS_getuid);
	syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static void do_tags(void)
{
	shiny_tag_push("a tag");
	do_malloc();
	shiny_tag_pop();
	shiny_mark("a mark");
}

static void do_user(void)
{
	if (setuid(getuid()) || setresuid(getuid(), getuid(), getuid()))
		_exit(48);
	do_spawn();
	do_system();
}

static void do_exit(void)
{
	do_malloc();
	exit(5);
}

static void do_quick_exit(void)
{
	quick_exit(6);
}

static void do_nothing(void)
{
}

static const struct {
	const char *name;
	void (*call)(void);
} things[] = {
	{ "malloc", do_malloc },
	{ "thread", do_thread },
	{ "fork", do_fork },
	{ "waits", do_waits },
	{ "raw-clone", do_raw_clone },
	{ "vfork", do_vfork },
	{ "clone", do_clone },
	{ "exec-failing", do_exec_failing },
	{ "exec", do_exec },
	{ "fexecve", do_exec_by_descriptor },
	{ "spawn", do_spawn },
	{ "system", do_system },
	{ "popen", do_popen },
	{ "dlopen", do_dlopen },
	{ "dlopen-deep", do_dlopen_deep },
	{ "mappings", do_mappings },
	{ "break", do_break },
	{ "prctl", do_prctl },
	{ "syscall", do_syscall },
	{ "tags", do_tags },
	{ "user", do_user },
	{ "exit", do_exit },
	{ "quick_exit", do_quick_exit },
	{ "_exit", do_nothing },
};
enum { THINGS = sizeof things / sizeof *things };

/* By the library's constructor, when the loader has done with it. */
static void from_constructor(const char *call)
{
	setenv("FORBID_CALL", call, 1);
	do_dlopen_deep();
}

/* A variable that was set long ago, on a page with nothing newer. */
static void set_variable(void)
{
	void *volatile after;

	setenv("OLD", "variable", 1);
	old_variable = getenv("OLD") - strlen("OLD=");
	after = malloc(65536);
	for (int i = 0; i < 20; i++)
		do_malloc();
	free(after);
}

static void *call(void *argument)
{
	set_variable();
	((void (*)(void))argument)();
	_exit(1);
}

static void in_thread(void (*thing)(void))
{
	pthread_t other;

	if (pthread_create(&other, NULL, call, (void *)thing))
		_exit(49);
	pthread_join(other, NULL);
}

static void one(const char *install, const char *call, unsigned thing)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!strcmp(install, "constructor"))
			from_constructor(call);
		else if (!strcmp(install, "thread"))
			in_thread(things[thing].call);
		else if (strcmp(install, "none") && forbid_call(install, atoi(call)))
			_exit(97);
		things[thing].call();
		_exit(1);
	}
	status = wait_for(pid);
	printf("%s %s %s %s %d\n", install, call, things[thing].name,
	       WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(int count, char **words)
{
	snprintf(forbid_library, sizeof forbid_library, "%s.so", words[0]);
	for (int i = 2; i < count; i++) {
		const char *part = strchr(words[i], '/');

		for (unsigned thing = 0; thing < THINGS; thing++)
			if (strcmp(words[1], "constructor") ? !part || thing % 3 == part[1] - '0'
							    : thing + 1 == THINGS)
				one(words[1], words[i], thing);
	}
	return 0;
}
