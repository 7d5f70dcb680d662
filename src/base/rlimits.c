/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rlimits.c: see rlimits.h.
 *
 * A shell that tries a program with a stack of 64 KiB, or files of one megabyte, sets that limit
 * for the launcher and the sidecar too. They raise their soft limits; where the hard limit of the
 * stack is small as well, a thread does the work, whose stack is ordinary memory.
 */
#define _GNU_SOURCE
#include "rlimits.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	STACK = 8 << 20,
	LEAST_STACK = 4 << 20,
	LEAST_FILE = 2 << 20,
	LEAST_FILES = 24,
	LEAST_PROCESSES = 256,
	LEAST_CGROUP = 256 << 20
};

static const int lifted[] = { RLIMIT_STACK, RLIMIT_FSIZE, RLIMIT_NOFILE,
			      RLIMIT_CPU,   RLIMIT_AS,	  RLIMIT_DATA };
enum { LIFTED = sizeof(lifted) / sizeof(*lifted) };
static struct rlimit kept[LIFTED];
static bool keeps;

struct call {
	int (*work)(int, char **);
	int argc, result;
	char **argv;
};

static void *run_call(void *context)
{
	struct call *call = context;

	call->result = call->work(call->argc, call->argv);
	return NULL;
}

int rlimits_with_stack(int (*work)(int, char **), int argc, char **argv)
{
	struct call call = { .work = work, .argc = argc, .argv = argv };
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	struct rlimit stack, files;
	bool threaded;

	for (unsigned i = 0; i < LIFTED; i++)
		getrlimit((__rlimit_resource_t)lifted[i], &kept[i]);
	keeps = true;
	stack = kept[0];
	files = kept[2];
	if (stack.rlim_cur < STACK) {
		stack.rlim_cur = stack.rlim_max < STACK ? stack.rlim_max : STACK;
		setrlimit(RLIMIT_STACK, &stack);
	}
	files.rlim_cur = files.rlim_max; /* the launcher's pipes */
	setrlimit(RLIMIT_NOFILE, &files);
	/* libc gave threads the soft limit that was in force when the program started */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_setattr_default_np(&attr);
	if (stack.rlim_cur >= LEAST_STACK) {
		pthread_attr_destroy(&attr);
		return work(argc, argv);
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	threaded = pthread_create(&thread, &attr, run_call, &call) == 0;
	pthread_attr_destroy(&attr);
	if (!threaded)
		return work(argc, argv);
	pthread_sigmask(SIG_SETMASK, &all, NULL); /* the worker thread takes the signals */
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return call.result;
}

void rlimits_raise(void)
{
	for (unsigned i = 0; i < LIFTED; i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)lifted[i], &limit) != 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		if (lifted[i] == RLIMIT_STACK && limit.rlim_cur > STACK)
			continue; /* nothing needs more, and unlimited lays memory out in another
				     way */
		setrlimit((__rlimit_resource_t)lifted[i], &limit);
	}
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGXCPU, SIG_IGN);
}

void rlimits_restore(void)
{
	for (unsigned i = 0; keeps && i < LIFTED; i++)
		setrlimit((__rlimit_resource_t)lifted[i], &kept[i]);
}

/* Returns the smallest memory limit, in bytes, of this process's cgroup (of either version) and
 * those above it; as interpose/core/limits.c does. */
static uintmax_t cgroup_bytes(void)
{
	static const struct {
		const char *controller, *root, *name;
	} versions[] = {
		{ "", "/sys/fs/cgroup", "memory.max" },
		{ "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes" },
	};
	char line[4096], path[sizeof(line) + 64];
	uintmax_t least = UINTMAX_MAX, found;
	FILE *list = fopen("/proc/self/cgroup", "re");

	while (list && fgets(line, sizeof(line), list)) {
		char *controller = strchr(line, ':'),
		     *group = controller ? strchr(controller + 1, ':') : NULL;

		if (!group)
			continue;
		*controller++ = *group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		for (unsigned i = 0; i < sizeof(versions) / sizeof(*versions); i++)
			for (char *end = group + strlen(group);
			     end && strcmp(controller, versions[i].controller) == 0;
			     end = strrchr(group, '/')) {
				FILE *file;

				*end = '\0';
				snprintf(path, sizeof(path), "%s%s/%s", versions[i].root, group,
					 versions[i].name);
				file = fopen(path, "re");
				if (file && fscanf(file, "%ju", &found) == 1 && found < least)
					least = found;
				if (file)
					fclose(file);
			}
	}
	if (list)
		fclose(list);
	return least;
}

static const char *find_obstacle(char *text, size_t room)
{
	static const struct {
		int which;
		rlim_t least;
		bool hard, everybody;
		const char *name;
	} rules[] = {
		{ RLIMIT_AS, RLIM_INFINITY, false, true, "address space (ulimit -v)" },
		{ RLIMIT_DATA, RLIM_INFINITY, false, true, "data (ulimit -d)" },
		{ RLIMIT_NPROC, LEAST_PROCESSES, false, false,
		  "the number of processes (ulimit -u)" },
		{ RLIMIT_FSIZE, LEAST_FILE, true, true, "the size of files (ulimit -f)" },
		{ RLIMIT_NOFILE, LEAST_FILES, true, true, "the number of open files (ulimit -n)" },
	};

	for (unsigned i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct rlimit limit;
		rlim_t value;

		if ((!rules[i].everybody && geteuid() == 0) ||
		    getrlimit((__rlimit_resource_t)rules[i].which, &limit) != 0)
			continue;
		value = rules[i].hard ? limit.rlim_max : limit.rlim_cur;
		if (value >= rules[i].least)
			continue;
		snprintf(text, room, "%s is limited to %ju", rules[i].name, (uintmax_t)value);
		return text;
	}
	if (cgroup_bytes() < LEAST_CGROUP) {
		snprintf(text, room, "the memory cgroup is limited to %ju", cgroup_bytes());
		return text;
	}
	return NULL;
}

bool rlimits_run_alone(char **arguments)
{
	char why[128];

	if (!find_obstacle(why, sizeof(why)))
		return true;
	fprintf(stderr, "shinyctl: %s is not recorded: %s\n", arguments[0], why);
	rlimits_restore();
	execvp(arguments[0], arguments);
	return false;
}
