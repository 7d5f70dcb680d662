/* SPDX-License-Identifier: Apache-2.0 */
/* confine.c: see confine.h. */
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* Numbers that the headers of Debian 12 do not have. */
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_removexattrat
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

enum files { PLACES, ANYWHERE };
enum leave { NO, DEBUGINFOD, YES };
static const struct {
	enum files files;
	enum leave network, processes;
} roles[CONFINE_ROLES] = {
#define CONFINE_ROLE(id, where, sockets, others) \
	[CONFINE_##id] = { .files = where, .network = sockets, .processes = others },
#include "confine.def"
};

enum whose { ALL, NETWORK, PROCESSES };
static const struct {
	uint32_t call;
	enum whose whose;
} denied[] = {
#define CONFINE_DENY(name, of) { SYS_##name, of },
#include "confine.def"
};
enum { DENIED = sizeof(denied) / sizeof(*denied) };

static bool filtered;

enum obstacle { NONE, SANITIZER, FILTER, UNKNOWN };

/* Reads a file, as a seccomp filter may kill for prctl(PR_GET_SECCOMP). */
static enum obstacle find_obstacle(void)
{
	char status[4096];
	AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd >= 0 ? read(fd, status, sizeof(status) - 1) : -1;
	const char *mode;

	if (SANITIZED)
		return SANITIZER;
	if (bytes <= 0)
		return UNKNOWN;
	status[bytes] = '\0';
	mode = strstr(status, "\nSeccomp:");
	if (!mode && bytes == sizeof(status) - 1) /* a user of hundreds of groups */
		return UNKNOWN;
	return mode && strtol(mode + strlen("\nSeccomp:"), NULL, 10) ? FILTER : NONE;
}

/* ---- Landlock: Documentation/userspace-api/landlock.rst of the kernel ---- */

#define BIT(n) (UINT64_C(1) << (n))
enum { LANDLOCK_VERSION = 1, BENEATH = 1 }; /* flag of create_ruleset, kind of a rule */
/* Rights to files, by the kernel's numbers. Those to read files and directories (2, 3) are not
 * restricted. */
enum {
	F_EXECUTE = BIT(0),
	F_WRITE = BIT(1),
	F_REMOVE_DIRECTORY = BIT(4),
	F_REMOVE = BIT(5),
	F_MAKE_DIRECTORY = BIT(7),
	F_MAKE = BIT(8),
	F_FIRST = (BIT(13) - 1) & ~(BIT(2) | BIT(3)), /* of ABI 1 */
	F_REFER = BIT(13),                            /* ABI 2: to another directory */
	F_TRUNCATE = BIT(14),                         /* ABI 3 */
	F_CONTROL = BIT(15),                          /* ABI 5: ioctl of devices */
	TCP = BIT(0) | BIT(1),                        /* ABI 4: bind, connect */
	SCOPED = BIT(0) | BIT(1),                     /* ABI 6: abstract sockets, signals */
};

struct ruleset {
	uint64_t files, network, scoped;
};
struct rule {
	uint64_t files;
	int32_t parent;
} __attribute__((packed));

static const uint64_t rights[CONFINE_RIGHTS] = {
	[CONFINE_WRITE] = F_WRITE | F_TRUNCATE | F_CONTROL,
	[CONFINE_TIDY] = F_REMOVE,
	[CONFINE_MAKE] = F_WRITE | F_TRUNCATE | F_CONTROL | F_MAKE | F_REMOVE,
	[CONFINE_TREE] = F_WRITE | F_TRUNCATE | F_CONTROL | F_MAKE | F_REMOVE | F_REFER |
			 F_MAKE_DIRECTORY | F_REMOVE_DIRECTORY,
};

/* Returns the ABI; 0 if the kernel has no Landlock or it is switched off. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static void allow(int ruleset, const struct confine_place *place, uint64_t handled)
{
	AUTO_CLOSE int at = place->path ? open(place->path, O_PATH | O_CLOEXEC) : -1;
	struct rule rule = { .files = rights[place->right] & handled, .parent = at };

	if (at >= 0 && rule.files)
		syscall(SYS_landlock_add_rule, ruleset, BENEATH, &rule, 0);
}

static void restrict_files(const struct confine_place *places, size_t count, bool network)
{
	static const struct confine_place null = { "/dev/null", CONFINE_WRITE };
	int abi = landlock_abi();
	struct ruleset set = {
		.files = F_FIRST | (abi >= 2 ? F_REFER : 0) | (abi >= 3 ? F_TRUNCATE : 0) |
			 (abi >= 5 ? F_CONTROL : 0),
		.network = abi >= 4 && !network ? TCP : 0,
		.scoped = abi >= 6 ? SCOPED : 0,
	};
	AUTO_CLOSE int ruleset =
		abi ? (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0) : -1;

	if (ruleset < 0)
		return;
	allow(ruleset, &null, set.files);
	for (size_t i = 0; i < count; i++)
		allow(ruleset, &places[i], set.files);
	syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* ---- seccomp ---- */

enum { X32 = 0x40000000, MOST = 2 * DENIED + 64 };

struct program {
	struct sock_filter at[MOST];
	unsigned short count;
};

#define LOAD(member) \
	((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
				      offsetof(struct seccomp_data, member)))
/* The next `skip` instructions run only if the accumulator meets the test. */
#define UNLESS(test, value, skip) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (uint32_t)(value), 0, skip))
#define GIVE(action) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action))
#define ALLOWED GIVE(SECCOMP_RET_ALLOW)
#define REFUSED(error) GIVE(SECCOMP_RET_ERRNO | (error))

static void add(struct program *program, struct sock_filter step)
{
	program->at[program->count++] = step;
}

/* Ends the call with `end` if the accumulator meets the test. */
static void add_test(struct program *program, unsigned test, uint64_t value,
		     struct sock_filter end)
{
	add(program, UNLESS(test, value, 1));
	add(program, end);
}

/* Allows `call` if the low half of its argument is one of `values` (`listed`) or none of them. */
static void add_choice(struct program *program, long call, int argument, const uint32_t *values,
		       size_t count, bool listed)
{
	struct sock_filter load = LOAD(args[0]);

	load.k += (uint32_t)argument * sizeof(uint64_t);
	add(program, UNLESS(BPF_JEQ, call, 2 + 2 * count));
	add(program, load);
	for (size_t i = 0; i < count; i++)
		add_test(program, BPF_JEQ, values[i], listed ? ALLOWED : REFUSED(EPERM));
	add(program, listed ? REFUSED(EPERM) : ALLOWED);
}

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static void make_program(struct program *program, bool network, bool processes)
{
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	/* the only requests of a snapshot; none changes a process */
	static const uint32_t traces[] = { PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_GETREGS,
					   PTRACE_DETACH };
	/* they type into the user's terminal */
	static const uint32_t terminals[] = { TIOCSTI, TIOCLINUX };

	program->count = 0;
	add(program, LOAD(arch));
	add(program, UNLESS(BPF_JEQ, AUDIT_ARCH_X86_64, 1));
	add(program, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
	add(program, REFUSED(EPERM));
	add(program, LOAD(nr));
	add_test(program, BPF_JGE, X32, REFUSED(ENOSYS));
	for (size_t i = 0; i < DENIED; i++)
		if (denied[i].whose == ALL || (denied[i].whose == NETWORK && !network) ||
		    (denied[i].whose == PROCESSES && !processes))
			add_test(program, BPF_JEQ, denied[i].call, REFUSED(EPERM));
	add_test(program, BPF_JEQ, SYS_clone3, REFUSED(ENOSYS)); /* its flags cannot be seen */
	add(program, UNLESS(BPF_JEQ, SYS_clone, 3));
	add(program, LOAD(args[0]));
	add_test(program, BPF_JSET,
		 CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC |
			 CLONE_NEWUTS | CLONE_NEWCGROUP,
		 REFUSED(EPERM));
	add(program, LOAD(nr));
	add_choice(program, SYS_socket, 0, families, COUNT(families), true);
	add_choice(program, SYS_ptrace, 0, traces, COUNT(traces), true);
	add_choice(program, SYS_ioctl, 1, terminals, COUNT(terminals), false);
	add(program, ALLOWED);
}

static void restrict_calls(bool network, bool processes)
{
	struct program program;
	struct sock_fprog filter = { .filter = program.at };

	make_program(&program, network, processes);
	filter.len = program.count;
	/* SPEC_ALLOW: kernels before 5.16 would add slow mitigations, which are meant for JITs */
	filtered = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			   SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			   &filter) == 0;
}

/* ---- Landlock and seccomp together ---- */

void confine(enum confine_role role, const struct confine_place *places, size_t count)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	bool network = roles[role].network == YES ||
		       (roles[role].network == DEBUGINFOD && servers &&
			servers[strspn(servers, " ")]);

	if (find_obstacle() != NONE || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return;
	if (roles[role].files == PLACES)
		restrict_files(places, count, network);
	restrict_calls(network, roles[role].processes == YES);
}

bool confine_has_filter(void)
{
	return filtered;
}

bool confine_describe(char *text, size_t room)
{
	static const char *const reasons[] = {
		[SANITIZER] = "shinyctl was built with a sanitizer, which traces it",
		[FILTER] = "a seccomp filter is in force already, which may punish asking for more",
		[UNKNOWN] = "/proc/self/status cannot be read, so it is not known whether a "
			    "seccomp filter is in force",
	};
	enum obstacle obstacle = find_obstacle();
	uint32_t action = SECCOMP_RET_ERRNO;
	int abi = obstacle ? 0 : landlock_abi();
	bool calls = !obstacle &&
		     syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;

	if (obstacle)
		snprintf(text, room, "none: %s", reasons[obstacle]);
	else if (abi && calls)
		snprintf(text, room, "Landlock ABI %d, seccomp", abi);
	else if (abi)
		snprintf(text, room, "Landlock ABI %d; the kernel has no seccomp filters", abi);
	else
		snprintf(text, room, "%s the kernel has no Landlock",
			 calls ? "seccomp;" : "none: the kernel has no seccomp filters, and");
	return abi && calls;
}
