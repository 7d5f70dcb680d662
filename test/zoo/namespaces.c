/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Chromium's zygote and its renderers do, without Chromium: a process made by raw clone in
 * user, pid, mount and net namespaces of its own, which makes two more, each number 1 of yet
 * another pid namespace; these chroot into a directory that is empty and gone, start threads, put
 * all of them behind a seccomp filter, start more, and then everybody allocates.
 *
 * The filter allows what a thread and malloc need. What looks for files, sockets or processes gets
 * EPERM; anything else ends the process at once, and a line of the test that must stay true is that
 * the recorded program is killed exactly where the bare one is: nowhere.
 */
// zoo: user=nobody number=unsaid
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

enum {
	BEFORE = 2,
	AFTER = 2,
	ROUNDS = 300,
	BLOCKS = 50,
	RENDERERS = 2,
	NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET
};

static pthread_barrier_t locked_up;
static int out; /* opened before anything is locked up */
static int directory;

/* ---- the filter ---- */

#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(call, why) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (why))

static int lock_up(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(mprotect),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(futex),
		ALLOW(write),
		ALLOW(read),
		ALLOW(set_robust_list),
		ALLOW(rseq),
		ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW(gettid),
		ALLOW(getpid),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(clock_nanosleep),
		ALLOW(clock_gettime),
		ALLOW(sched_yield),
		ALLOW(sched_getaffinity),
		ALLOW(restart_syscall),
		REFUSE(clone3, ENOSYS),
		REFUSE(openat, EPERM),
		REFUSE(open, EPERM),
		REFUSE(socket, EPERM),
		REFUSE(fork, EPERM),
		REFUSE(vfork, EPERM),
		REFUSE(readlink, EPERM),
		REFUSE(readlinkat, EPERM),
		REFUSE(execve, EPERM),
		REFUSE(getcwd, EPERM),
		/* threads, and no processes */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		/* process_vm_readv, perf_event_open, userfaultfd, timer_create, membarrier, msync,
		 * ptrace, prctl, … */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof code / sizeof code[0], code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			    &filter);
}

/* ---- a renderer ---- */

static void churn(size_t size)
{
	void *block[BLOCKS];

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < BLOCKS; i++)
			block[i] = shiny_zoo_alloc(size + i);
		for (size_t i = 0; i < BLOCKS; i++)
			zoo_free(block[i]);
	}
	shiny_zoo_alloc(100 * size);
}

static void *work(void *size)
{
	churn((size_t)size);
	pthread_barrier_wait(&locked_up);
	churn((size_t)size + 3); /* a thread from before, behind the filter like everybody */
	return NULL;
}

static void *work_late(void *size)
{
	churn((size_t)size);
	return NULL;
}

/* What this process is called where /proc was mounted, which is outside. */
static int outer_pid(void)
{
	char text[16] = "";

	return readlink("/proc/self", text, sizeof text - 1) > 0 ? atoi(text) : 0;
}

static void say(const char *name, int outer)
{
	char line[256];
	int length = snprintf(line, sizeof line,
			      "truth process=%s pid=%d outer_pid=%d allocs=%lu frees=%lu bytes=%lu "
			      "live=%lu live_bytes=%lu\n",
			      name, (int)getpid(), outer, zoo.allocs, zoo.frees, zoo.bytes,
			      zoo.live, zoo.live_bytes);

	if (write(out, line, (size_t)length) != length)
		_exit(98);
}

static int enter_empty(void *unused)
{
	_exit(syscall(SYS_fchdir, directory) || syscall(SYS_chroot, ".") || unused);
}

/* By a child that shares memory and root with us, and whose thread storage is zeros: Chromium's
 * zygote does it so. */
static int leave_file_system(void)
{
	static char stack[65536] __attribute__((aligned(16))),
		storage[65536] __attribute__((aligned(16)));
	int status;
	pid_t pid = clone(enter_empty, stack + sizeof stack,
			  CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_SETTLS | SIGCHLD, NULL, NULL,
			  storage + sizeof storage / 2, NULL);

	return pid < 0 || waitpid(pid, &status, 0) != pid || status || close(directory);
}

/* Who wants to look at us while we live keeps our input open. */
static void wait_for_end(void)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return (int)syscall(SYS_capset, &header, none);
}

static int renderer(int number, int said)
{
	static const char *const names[RENDERERS] = { "renderer1", "renderer2" };
	size_t size = 16 + 40 * (size_t)number;
	pthread_t thread[BEFORE + AFTER];
	int outer = outer_pid();

	zoo_forked();
	if (leave_file_system() || drop_capabilities())
		return 90;
	pthread_barrier_init(&locked_up, NULL, BEFORE + 1);
	for (size_t i = 0; i < BEFORE; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(size + i)))
			return 91;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || lock_up())
		return 92;
	if (syscall(SYS_openat, -1, "/", 0, 0) != -1 || errno != EPERM ||
	    syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != -1)
		return 93;
	pthread_barrier_wait(&locked_up);
	for (size_t i = BEFORE; i < BEFORE + AFTER; i++)
		if (pthread_create(&thread[i], NULL, work_late, (void *)(size + 7 * i)))
			return 94;
	churn(size + 5);
	for (size_t i = 0; i < BEFORE + AFTER; i++)
		pthread_join(thread[i], NULL);
	say(names[number], outer);
	if (write(said, "", 1) != 1)
		return 95;
	wait_for_end();
	return 0;
}

/* ---- who makes whom ---- */

/* A child that no handler of libc's hears of. */
static pid_t make(int flags)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD | flags, 0, 0, 0, 0);
}

/* All of them number 1 of their own, all alive at once. The second one is let go first: the order
 * in which they were made says nothing. */
static int zygote(void)
{
	int result = 0, status, gate[RENDERERS][2], said[RENDERERS][2], outer = outer_pid();
	pid_t pid[RENDERERS];
	char go;

	zoo_forked();
	churn(500);
	for (int i = 0; i < RENDERERS; i++) {
		if (pipe(gate[i]) || pipe(said[i]))
			return 80;
		pid[i] = make(CLONE_NEWPID);
		if (pid[i] < 0)
			return 77;
		if (pid[i] == 0) {
			close(gate[i][1]);
			if (read(gate[i][0], &go, 1) != 1)
				_exit(89);
			_exit(renderer(i, said[i][1]));
		}
		close(gate[i][0]);
		close(said[i][1]);
	}
	for (int i = RENDERERS; i-- > 0;)
		if (write(gate[i][1], "", 1) != 1 || read(said[i][0], &go, 1) != 1)
			return 81;
	for (int i = 0; i < RENDERERS; i++) {
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	churn(700);
	say("zygote", outer);
	return result;
}

int main(void)
{
	char name[] = "/tmp/zoo-empty.XXXXXX";
	int status;
	pid_t pid;

	out = dup(1);
	if (!mkdtemp(name) || (directory = open(name, O_RDONLY | O_DIRECTORY)) < 0 || rmdir(name))
		return 1;
	shiny_zoo_alloc(64);
	pid = make(NAMESPACES);
	if (pid < 0) {
		printf("no namespaces for this user: %s\n", strerror(errno));
		return 77;
	}
	if (pid == 0)
		_exit(zygote());
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	say("outside", (int)getpid());
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
