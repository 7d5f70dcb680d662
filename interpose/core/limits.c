/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c: see limits.h.
 *
 * The kernel counts our mappings as the program's: under a limit on address space or data, it would
 * get ENOMEM earlier than without us, so we step aside, however large the limit is. Limits on files
 * do less harm: we open and close all files in the constructor, where a soft limit can be raised
 * and restored before the program's first instruction. A file longer than the hard limit on file
 * sizes cannot be created (SIGXFSZ); the ring is then cut to that size.
 *
 * The sidecar is a process of the same user: where few processes are allowed, the program has one
 * less. It also uses memory, so in a small memory cgroup the kernel might kill the program for it.
 *
 * A seccomp filter that exec has handed down may end the program at our first call. The loader has
 * just opened, read and closed files, so those calls are allowed, and /proc/self/status shows the
 * filters. If process number 1 has as many filters, they are the container's and apply to every
 * process; such filters refuse calls and do not kill. If this program has more, they are meant for
 * it.
 *
 * Not covered: a limit that the program sets later by setrlimit counts our mappings too (header.own
 * says how much that is); a library that does not fit into the address space at all is reported by
 * the loader.
 */
#include "limits.h"

#include <sys/resource.h>

#include <shiny/wire/wire.h>

#include "sys.h"

enum {
	PROCESSES = 256,      /* the least number of processes: with fewer the program is not
	                       * recorded */
	FILES = 24,           /* descriptors that the sidecar needs */
	RING_LEAST = 2 << 20,
};
#define CGROUP_LEAST (UINT64_C(256) << 20)

struct limit {
	uint64_t soft, hard;
};
static struct limit file_size = { UINT64_MAX, UINT64_MAX }, files;
static bool lifted_size, lifted_files;

static struct limit ask(int which)
{
	struct limit limit = { UINT64_MAX, UINT64_MAX };

	si_sys6(SYS_prlimit64, 0, which, 0, (long)&limit, 0, 0);
	return limit;
}

static bool set(int which, struct limit limit)
{
	return si_sys6(SYS_prlimit64, 0, which, (long)&limit, 0, 0, 0) == 0;
}

/* Returns the number behind `key` in a text, or `otherwise`. */
static uint64_t number_after(const char *text, const char *key, uint64_t otherwise)
{
	size_t bytes = 0;

	while (key[bytes])
		bytes++;
	for (; *text; text++) {
		uint64_t n = 0;

		if (!si_same(text, key, bytes))
			continue;
		for (text += bytes; *text == ' ' || *text == '\t'; text++)
			;
		if (*text < '0' || *text > '9')
			return otherwise;
		for (; *text >= '0' && *text <= '9'; text++)
			n = n > UINT64_MAX / 16 ? n : n * 10 + (uint64_t)(*text - '0');
		return n;
	}
	return otherwise;
}

bool si_limits_filtered(void)
{
	char text[4096];
	uint64_t own;

	if (si_sys_read_file("/proc/self/status", text, sizeof(text)) <= 0 ||
	    number_after(text, "\nSeccomp:", 0) == 0)
		return false;
	own = number_after(text, "\nSeccomp_filters:", UINT64_MAX);
	return si_sys_read_file("/proc/1/status", text, sizeof(text)) <= 0 ||
	       own > number_after(text, "\nSeccomp_filters:", 0);
}

/*
 * Returns the least limit, in bytes, of a cgroup and those above it. `root` is the mount point,
 * `line` the remainder of a line of /proc/self/cgroup. In a container that line is "/": only the
 * root of all cgroups lacks the limit's file.
 */
static uint64_t cgroup_limit(const char *root, const char *line, const char *name)
{
	uint64_t least = UINT64_MAX, found;
	char path[SHINY_PATH_MAX], text[64];
	struct si_text t;
	size_t bytes = 0;

	while (line[bytes] && line[bytes] != '\n')
		bytes++;
	for (;;) {
		while (bytes && line[bytes - 1] == '/')
			bytes--;
		si_text_init(&t, path, sizeof(path));
		si_text_add(&t, root);
		si_text_bytes(&t, line, bytes);
		si_text_add(&t, name);
		text[0] = '\n';
		found = si_sys_read_file(path, text + 1, sizeof(text) - 1) > 0
				? number_after(text, "\n", UINT64_MAX)
				: UINT64_MAX;
		least = found < least ? found : least;
		if (!bytes)
			return least;
		while (bytes && line[bytes - 1] != '/')
			bytes--;
	}
}

/* Returns the limit of the memory cgroup, version 1 or 2, in bytes; UINT64_MAX: none. */
static uint64_t cgroup_bytes(void)
{
	uint64_t least = UINT64_MAX, found;
	char text[2048];

	if (si_sys_read_file("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return least;
	for (const char *line = text; *line; line++) {
		if (line != text && line[-1] != '\n')
			continue;
		for (; *line && *line != ':'; line++)
			;
		found = UINT64_MAX;
		if (si_same(line, "::", 2))
			found = cgroup_limit("/sys/fs/cgroup", line + 2, "/memory.max");
		else if (si_same(line, ":memory:", 8))
			found = cgroup_limit("/sys/fs/cgroup/memory", line + 8,
					     "/memory.limit_in_bytes");
		least = found < least ? found : least;
		if (!*line)
			break;
	}
	return least;
}

static bool too_small(struct si_text *why, const char *name, uint64_t limit)
{
	si_text_add(why, name);
	si_text_add(why, " is limited to ");
	si_text_number(why, limit);
	return false;
}

bool si_limits_enter(struct si_text *why)
{
	struct limit space = ask(RLIMIT_AS), data = ask(RLIMIT_DATA), processes = ask(RLIMIT_NPROC);
	uint64_t group;

	if (space.soft != UINT64_MAX)
		return too_small(why, "address space (ulimit -v)", space.soft);
	if (data.soft != UINT64_MAX)
		return too_small(why, "data (ulimit -d)", data.soft);
	if (processes.soft < PROCESSES && si_sys(SYS_geteuid, 0, 0, 0) != 0)
		return too_small(why, "the number of processes (ulimit -u)", processes.soft);
	group = cgroup_bytes();
	if (group < CGROUP_LEAST)
		return too_small(why, "the memory cgroup", group);
	file_size = ask(RLIMIT_FSIZE);
	files = ask(RLIMIT_NOFILE);
	if (file_size.hard < RING_LEAST)
		return too_small(why, "the size of files (ulimit -f)", file_size.hard);
	if (files.hard < FILES)
		return too_small(why, "the number of open files (ulimit -n)", files.hard);
	lifted_size = file_size.soft < file_size.hard &&
		      set(RLIMIT_FSIZE, (struct limit){ file_size.hard, file_size.hard });
	lifted_files = files.soft < files.hard &&
		       set(RLIMIT_NOFILE, (struct limit){ files.hard, files.hard });
	return true;
}

void si_limits_leave(void)
{
	if (lifted_size)
		set(RLIMIT_FSIZE, file_size);
	if (lifted_files)
		set(RLIMIT_NOFILE, files);
	lifted_size = lifted_files = false;
}

uint64_t si_limits_ring(uint64_t wanted)
{
	return wanted < file_size.hard ? wanted : file_size.hard;
}
