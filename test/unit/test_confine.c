/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_confine.c: what a process may do in each role once it is confined, and what not; what is
 * there already: other threads, a filter of somebody else's that kills for asking.
 *
 * Each deed is done by a child of its own, first as it is, so that a kernel or container that
 * refuses it anyway proves nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../src/base/confine.h"
#include "../../src/sidecar/proc/proc.h"
#include "check.h"

static int abi; /* of Landlock here */
static int opened = -1; /* for writing, before anybody is confined */
static pid_t other; /* a process that is not confined */
static long word = 42;

/* ---- deeds: 0, or the error ---- */

static int result(long got)
{
	return got < 0 ? errno : 0;
}

static int made(const char *path)
{
	return result(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int start_program(void)
{
	char *arguments[] = { "true", NULL };

	return result(execv("/bin/true", arguments));
}
static int start_memory(void)
{
	char *arguments[] = { "true", NULL };
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	return result(syscall(SYS_execveat, fd, "", arguments, NULL, AT_EMPTY_PATH));
}
static int inet(void) { return result(socket(AF_INET, SOCK_STREAM, 0)); }
static int local(void) { return result(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int packets(void) { return result(socket(AF_PACKET, SOCK_DGRAM, 0)); }
static int pair(void)
{
	int ends[2];

	return result(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
}
static int make_elsewhere(void) { return made("elsewhere/new"); }
static int write_elsewhere(void)
{
	return result(open("elsewhere/old", O_WRONLY | O_CLOEXEC));
}
static int cut_elsewhere(void) { return result(truncate("elsewhere/old", 0)); }
static int remove_elsewhere(void) { return result(unlink("elsewhere/gone")); }
static int link_elsewhere(void) { return result(symlink("/", "elsewhere/link")); }
static int read_elsewhere(void)
{
	return result(open("elsewhere/old", O_RDONLY | O_CLOEXEC)) | result(access("/", R_OK));
}
static int write_opened(void) { return write(opened, "x", 1) == 1 ? 0 : errno; }
static int write_null(void) { return result(open("/dev/null", O_RDWR | O_CLOEXEC)); }
static int write_named(void)
{
	return result(open("elsewhere/named", O_WRONLY | O_TRUNC | O_CLOEXEC));
}
static int replace_in_output(void)
{
	return made("output/new") | result(rename("output/new", "output/old")) |
	       result(unlink("output/old"));
}
static int make_directory_in_output(void) { return result(mkdir("output/directory", 0700)); }
static int make_tree(void)
{
	return result(mkdir("tree/a", 0700)) | made("tree/a/b") | result(unlink("tree/a/b")) |
	       result(rmdir("tree/a"));
}
static int tidy(void) { return result(unlink("tidied/old")); }
static int make_in_tidied(void) { return made("tidied/new"); }
static int change_mode(void) { return result(chmod("output/mode", 0644)); }
static int change_own_mode(void) { return result(fchmod(opened, 0600)); }
static int new_namespace(void) { return result(unshare(CLONE_NEWUSER)); }
static int clone_namespace(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return result(pid);
}
/* of a kind that there is not */
static int mount_something(void) { return result(mount("none", "tree", "nothing", 0, NULL)); }
static int type_for_user(void)
{
	/* without the filter: no terminal */
	return ioctl(opened, TIOCSTI, "x") && errno == ENOTTY ? 0 : errno;
}
static int other_abi(void)
{
	/* x32: kernels without it have no such call either */
	return syscall(0x40000000 | SYS_getpid) < 0 ? errno : 0;
}
static void *nothing(void *context) { return context; }
static int start_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) | pthread_join(thread, NULL);
}
static int start_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 || waitpid(pid, NULL, 0) != pid ? errno : 0;
}
static int signal_other(void) { return result(kill(other, 0)); }
static int seize(void) { return result(ptrace(PTRACE_SEIZE, other, NULL, NULL)); }
static int attach(void) { return result(ptrace(PTRACE_ATTACH, other, NULL, NULL)); }
static int read_memory(void)
{
	long copy = 0;
	struct iovec here = { &copy, sizeof(copy) }, there = { &word, sizeof(word) };

	return process_vm_readv(other, &here, 1, &there, 1, 0) < 0 ? errno : copy != word;
}
static int write_memory(void)
{
	struct iovec here = { &word, sizeof(word) };

	return result(process_vm_writev(other, &here, 1, &here, 1, 0));
}
static int read_maps(void)
{
	char path[64], target[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)other);
	return result(readlink(path, target, sizeof(target)));
}

/* Who may do it: a bit a role; SERVERS: where a debuginfod server is named. */
enum {
	R = 1 << CONFINE_READER,
	N = 1 << CONFINE_NAMER,
	B = 1 << CONFINE_BROWSER,
	S = 1 << CONFINE_SIDECAR,
	EACH = R | N | B | S
};
static const struct deed {
	const char *name;
	int (*run)(void);
	unsigned allowed, with_servers;
	int abi; /* 0: seccomp refuses it; else Landlock, from this ABI on, where it has places */
} deeds[] = {
	{ "start a program", start_program, 0, 0, 0 },
	{ "start a program by its descriptor", start_memory, 0, 0, 0 },
	{ "a socket of the internet", inet, B, N | B | S, 0 },
	{ "a local socket", local, B, N | B | S, 0 },
	{ "a socket for packets", packets, 0, 0, 0 },
	{ "a pair of sockets", pair, EACH, EACH, 0 },
	{ "make a file elsewhere", make_elsewhere, S, S, 1 },
	{ "write a file elsewhere", write_elsewhere, S, S, 1 },
	{ "cut a file elsewhere", cut_elsewhere, S, S, 3 },
	{ "remove a file elsewhere", remove_elsewhere, S, S, 1 },
	{ "make a link elsewhere", link_elsewhere, S, S, 1 },
	{ "read elsewhere", read_elsewhere, EACH, EACH, 0 },
	{ "write what is open", write_opened, EACH, EACH, 0 },
	{ "write /dev/null", write_null, EACH, EACH, 0 },
	{ "write a named file", write_named, EACH, EACH, 0 },
	{ "replace a file beside the output", replace_in_output, EACH, EACH, 0 },
	{ "make a directory beside the output", make_directory_in_output, S, S, 1 },
	{ "make a tree in a cache", make_tree, EACH, EACH, 0 },
	{ "remove a log", tidy, EACH, EACH, 0 },
	{ "make a file beside a log", make_in_tidied, S, S, 1 },
	{ "change a mode by name", change_mode, 0, 0, 0 },
	{ "change the mode of what is open", change_own_mode, EACH, EACH, 0 },
	{ "unshare", new_namespace, 0, 0, 0 },
	{ "clone into a namespace", clone_namespace, 0, 0, 0 },
	{ "mount", mount_something, 0, 0, 0 },
	{ "type for the user", type_for_user, 0, 0, 0 },
	{ "another ABI", other_abi, 0, 0, 0 },
	{ "start a thread", start_thread, EACH, EACH, 0 },
	{ "start a child", start_child, EACH, EACH, 0 },
	{ "signal others", signal_other, S, S, 6 },
	{ "seize a process", seize, S, S, 0 },
	{ "attach to a process", attach, 0, 0, 0 },
	{ "read a process's memory", read_memory, S, S, 0 },
	{ "write a process's memory", write_memory, 0, 0, 0 },
	{ "look into a process", read_maps, S, S, 1 },
};
enum { DEEDS = sizeof(deeds) / sizeof(*deeds) };
static const char *const role_names[CONFINE_ROLES] = {
	[CONFINE_READER] = "reader",
	[CONFINE_NAMER] = "namer",
	[CONFINE_BROWSER] = "browser",
	[CONFINE_SIDECAR] = "sidecar",
};

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		must(shiny_err_os(errno, "cannot make %s", path));
	close(fd);
}

static void confine_as(int role)
{
	static const struct confine_place places[] = {
		{ "elsewhere/named", CONFINE_WRITE }, { "output", CONFINE_MAKE },
		{ "tree", CONFINE_TREE },	      { "tidied", CONFINE_TIDY },
		{ "not there", CONFINE_TREE },	      { NULL, CONFINE_TREE },
	};

	confine((enum confine_role)role, places, sizeof(places) / sizeof(*places));
}

/* What a child says that does it; `role` -1: as it is. 0: it is done, else the error. */
static int try(const struct deed *deed, int role)
{
	int *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	pid_t pid;
	int status, got;

	put("elsewhere/gone");
	put("tidied/old");
	*said = 0; /* what starts a program says no more */
	pid = fork();
	if (pid == 0) {
		if (role >= 0)
			confine_as(role);
		*said = deed->run();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	got = WIFEXITED(status) ? *said : -1;
	munmap(said, sizeof(*said));
	unlink("elsewhere/new");
	unlink("elsewhere/link");
	unlink("tidied/new");
	rmdir("output/directory");
	return got;
}

static void check_deed(const struct deed *deed, int role, bool servers)
{
	char name[128];
	bool may = (servers ? deed->with_servers : deed->allowed) >> role & 1;
	int bare = try(deed, -1), got;

	snprintf(name, sizeof(name), "%s%s: %s", role_names[role], servers ? ", servers" : "",
		 deed->name);
	if (bare == EPERM || bare == EACCES) {
		printf("skip %s: refused without us: %s\n", name, strerror(bare));
		return;
	}
	if (deed->abi > abi) {
		printf("skip %s: needs Landlock ABI %d, here is %d\n", name, deed->abi, abi);
		return;
	}
	got = try(deed, role);
	if (may)
		checkf(name, got == bare, "it says %s", strerror(got));
	else if (deed->run == other_abi)
		checkf(name, got == ENOSYS, "it says %s", strerror(got));
	else
		checkf(name, got == EPERM || got == EACCES, "it says %s",
		       got ? strerror(got) : "that it is done");
}

/* ---- what is there already ---- */

static long status_number(const char *file, const char *key)
{
	char text[4096], *at;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	close(fd);
	text[bytes > 0 ? bytes : 0] = '\0';
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static int gates[2];
static void *wait_at_gate(void *context)
{
	char byte;

	return read(gates[0], &byte, 1) < 0 ? context : NULL;
}

/* 0: good; else which is not. */
static int confine_with_thread(void)
{
	char path[64];
	pthread_t thread;

	if (pipe(gates) || pthread_create(&thread, NULL, wait_at_gate, NULL))
		return 1;
	confine_as(CONFINE_SIDECAR);
	/* threads have the pids behind the process's */
	for (pid_t tid = getpid(), left = 2; left; tid++) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
		if (access(path, F_OK) != 0)
			continue;
		left--;
		if (status_number(path, "\nSeccomp:") != 2 ||
		    status_number(path, "\nNoNewPrivs:") != 1)
			return 2;
	}
	return write(gates[1], "", 1) == 1 && pthread_join(thread, NULL) == 0 ? 0 : 3;
}

/* A filter of somebody else's, that kills for all that confine() calls. */
static void be_filtered(void)
{
	static const unsigned calls[] = { SYS_prctl, SYS_seccomp, 444, 445, 446 };
	struct sock_filter steps[2 * sizeof(calls) / sizeof(*calls) + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
	};
	struct sock_fprog filter = { .filter = steps, .len = 1 };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		steps[filter.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   calls[i], 0, 1);
		steps[filter.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	steps[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(77);
}

static int confine_filtered(void)
{
	char text[200];

	be_filtered();
	confine_as(CONFINE_READER);
	if (confine_has_filter() || made("elsewhere/new"))
		return 1;
	return !confine_describe(text, sizeof(text)) && strstr(text, "filter is in force") ? 0 : 2;
}

/* `other` has no filter, and a child that gives itself one has. */
static int compare_filters(void)
{
	int pipes[2];
	pid_t filtered;
	char byte;
	int bad;

	if (pipe(pipes))
		return 1;
	filtered = fork();
	if (filtered == 0) {
		be_filtered();
		if (write(pipes[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	if (read(pipes[0], &byte, 1) != 1)
		return 2;
	bad = proc_filtered_as_we((uint32_t)other) ? 0 : 3;
	confine_as(CONFINE_SIDECAR);
	bad = !bad && !confine_has_filter() ? 4 : bad;
	bad = !bad && !proc_filtered_as_we((uint32_t)other) ? 5 : bad;
	bad = !bad && proc_filtered_as_we((uint32_t)filtered) ? 6 : bad;
	kill(filtered, SIGKILL);
	return bad;
}

static void in_child(const char *name, int (*run)(void))
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(run());
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	checkf(name, WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", (unsigned)status);
}

/* No claim: a figure of this machine. */
static uint64_t confine_ns(int role)
{
	uint64_t *least = mmap(NULL, sizeof(*least), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec a, b;

	*least = UINT64_MAX;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			uint64_t ns;

			clock_gettime(CLOCK_MONOTONIC, &a);
			confine_as(role);
			clock_gettime(CLOCK_MONOTONIC, &b);
			ns = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000 +
			     (uint64_t)(b.tv_nsec - a.tv_nsec);
			*least = ns < *least ? ns : *least;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return *least;
}

int main(void)
{
	static const char *const directories[] = { "elsewhere", "output", "tree", "tidied" };
	static const char *const files[] = { "elsewhere/old", "elsewhere/named", "output/mode" };
	const char *place = getenv("SHINY_TEST_TMP");
	char text[200];

	if (!place || chdir(place) != 0)
		must(shiny_err(SHINY_ERR_OTHER, "no SHINY_TEST_TMP"));
	if (!confine_describe(text, sizeof(text)) && strncmp(text, "none:", 5) == 0) {
		printf("skip: %s\n", text);
		return 77;
	}
	printf("here: %s\n", text);
	unsetenv("DEBUGINFOD_URLS");
	abi = (int)syscall(444, NULL, 0, 1);
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		mkdir(directories[i], 0700);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		put(files[i]);
	opened = open("elsewhere/opened", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	other = fork();
	if (other == 0)
		for (;;)
			pause();
	for (int role = 0; role < CONFINE_ROLES; role++)
		for (size_t i = 0; i < DEEDS; i++)
			check_deed(&deeds[i], role, false);
	setenv("DEBUGINFOD_URLS", " http://127.0.0.1:1", 1);
	for (int role = 0; role < CONFINE_ROLES; role++)
		for (size_t i = 0; i < DEEDS; i++)
			if (deeds[i].with_servers != deeds[i].allowed || deeds[i].run == packets)
				check_deed(&deeds[i], role, true);
	setenv("DEBUGINFOD_URLS", " ", 1);
	check_deed(&deeds[2], CONFINE_NAMER, false);
	in_child("threads that are there are confined, too", confine_with_thread);
	in_child("nothing is asked beneath somebody else's filter", confine_filtered);
	in_child("our own filter is not taken for one of the program's", compare_filters);
	kill(other, SIGKILL);
	for (int role = 0; role < CONFINE_ROLES; role++)
		printf("confined as %s in %.0f us\n", role_names[role],
		       (double)confine_ns(role) / 1e3);
	return failures != 0;
}
