/* SPDX-License-Identifier: Apache-2.0 */
/*
 * every_call.c: fails the library's system calls, the first, the second, … one a run, and looks
 * whether the program notices.
 *
 * Runs: test. The library makes its calls directly (interpose/core/sys.h), so an interposed wrapper
 * would not see them: this program traces its target and refuses a call where the instruction
 * pointer lies in libshiny.so. Whatever fails, the target must print the same and end with the same
 * status. A first run with nothing refused shows that there are calls, and that they make a ring.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_CALLS = 15, OUTPUT = 256 };

static char library[4096], session[] = "/tmp/shiny-fault.XXXXXX";
static int failures;

/* ---- the target: threads, a fork, blocks that move ---- */

static void *churn(void *seed)
{
	uintptr_t sum = 0;
	char *block = NULL;

	for (unsigned i = 1; i < 200; i++) {
		block = realloc(block, i * 37);
		memset(block, (int)(uintptr_t)seed, i * 37);
		sum += (unsigned char)block[i * 36];
		free(malloc(i));
	}
	free(block);
	return (void *)sum;
}

static int target(void)
{
	pthread_t thread;
	void *sum;
	int status;
	pid_t child;

	pthread_create(&thread, NULL, churn, (void *)7);
	pthread_join(thread, &sum);
	child = fork();
	if (child == 0)
		_exit((int)(uintptr_t)churn((void *)1) & 0x7f);
	if (waitpid(child, &status, 0) != child)
		return 1;
	/* nothing but that child may turn up */
	errno = 0;
	printf("sum %zu child %x others %d errno %d\n", (size_t)sum, status, wait(NULL), errno);
	return 3;
}

/* ---- the tracer ---- */

struct run {
	char output[OUTPUT];
	int status;
	unsigned calls; /* the library's */
	long refused;   /* number of the call that was refused, -1: none */
};

/* Whether `at` lies in a mapping of the library in that process. */
static bool in_library(pid_t pid, uintptr_t at)
{
	static pid_t known;
	static uintptr_t low, high;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	if (known == pid && at >= low && at < high)
		return true;
	if (known == pid && high)
		return false;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	known = pid;
	low = high = 0;
	while (maps && getline(&line, &room, maps) > 0) {
		uintptr_t from, to;
		char flags[5];

		if (strstr(line, "libshiny.so") &&
		    sscanf(line, "%zx-%zx %4s", &from, &to, flags) == 3 && flags[2] == 'x') {
			low = from;
			high = to;
		}
	}
	if (maps)
		fclose(maps);
	free(line);
	return high && at >= low && at < high;
}

static void run(struct run *r, unsigned refuse, int error)
{
	struct user_regs_struct regs;
	bool entering = true, refusing = false;
	int pipes[2], status;
	ssize_t n;
	pid_t pid;

	memset(r, 0, sizeof *r);
	r->refused = -1;
	if (pipe(pipes) != 0)
		exit(77);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		close(pipes[0]);
		close(pipes[1]);
		setenv("LD_PRELOAD", library, 1);
		setenv("SHINY_SESSION", session, 1);
		setenv("SHINY_CTL", "/bin/true", 1);
		setenv("SHINY_RING", "1m", 1);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl("/proc/self/exe", "every_call", "target", (char *)NULL);
		_exit(126);
	}
	close(pipes[1]);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
		printf("# no ptrace here\n");
		exit(77);
	}
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status) == (SIGTRAP | 0x80) || WSTOPSIG(status) == SIGTRAP
				     ? 0
				     : WSTOPSIG(status);

		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			ptrace(PTRACE_GETREGS, pid, NULL, &regs);
			if (entering && in_library(pid, regs.rip) && ++r->calls == refuse) {
				r->refused = (long)regs.orig_rax;
				regs.orig_rax = (unsigned long long)-1;
				ptrace(PTRACE_SETREGS, pid, NULL, &regs);
				refusing = true;
			} else if (!entering && refusing) {
				regs.rax = (unsigned long long)-(long)error;
				ptrace(PTRACE_SETREGS, pid, NULL, &regs);
				refusing = false;
			}
			entering = !entering;
		}
		ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)signal);
	}
	r->status = status;
	for (size_t used = 0;
	     used < OUTPUT - 1 && (n = read(pipes[0], r->output + used, OUTPUT - 1 - used)) > 0;)
		used += (size_t)n;
	close(pipes[0]);
}

/* Removes what the run left; how many rings there were. */
static unsigned sweep(void)
{
	DIR *dir = opendir(session);
	struct dirent *entry;
	unsigned rings = 0;

	while (dir && (entry = readdir(dir))) {
		rings += strncmp(entry->d_name, "ring.", 5) == 0;
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	return rings;
}

int main(int argc, char **argv)
{
	static const int errors[] = { ENOMEM, EPERM };
	struct run plain, bent;
	char *slash;

	if (argc == 2 && strcmp(argv[1], "target") == 0)
		return target();
	if (readlink("/proc/self/exe", library, sizeof library - 32) < 0 || !mkdtemp(session))
		return 77;
	for (int up = 0; up < 3 && (slash = strrchr(library, '/')); up++)
		*slash = 0;
	strcat(library, "/libshiny.so");
	if (access(library, R_OK) != 0) {
		printf("not ok every_call: %s is not there\n", library);
		return 1;
	}
	run(&plain, 0, 0);
	if (sweep() != 1 || plain.calls < LEAST_CALLS || plain.status != 3 << 8 ||
	    !strstr(plain.output, "sum ") || !strstr(plain.output, "others -1")) {
		printf("not ok undisturbed: status %x, %u calls, output %s\n", plain.status,
		       plain.calls, plain.output);
		return 1;
	}
	printf("ok undisturbed\n");
	for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
		unsigned before = (unsigned)failures;

		for (unsigned n = 1; n <= plain.calls; n++) {
			run(&bent, n, errors[e]);
			sweep();
			if (bent.status != plain.status || strcmp(bent.output, plain.output) != 0) {
				printf("not ok refused/%s: call %u (system call %ld): status %x, "
				       "output %s\n",
				       strerrorname_np(errors[e]), n, bent.refused, bent.status,
				       bent.output);
				failures++;
			}
		}
		if ((unsigned)failures == before)
			printf("ok refused/%s\n", strerrorname_np(errors[e]));
	}
	sweep();
	rmdir(session);
	return failures != 0;
}
