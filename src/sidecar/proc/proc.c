/* SPDX-License-Identifier: Apache-2.0 */
/* proc.c: see proc.h. */
#define _GNU_SOURCE
#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../base/confine.h"
#include "../../base/mem.h"
#include "../../base/text.h"

static int proc_open(uint32_t pid, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_all(int fd, char *out, size_t room)
{
	size_t length = 0;
	ssize_t got;

	if (fd < 0)
		return -1;
	while (length < room - 1 && (got = read(fd, out + length, room - 1 - length)) > 0)
		length += (size_t)got;
	close(fd);
	out[length] = '\0';
	return (ssize_t)length;
}

ssize_t proc_read(uint32_t pid, const char *name, char *out, size_t room)
{
	return read_all(proc_open(pid, name), out, room);
}

enum proc_answer proc_maps_file(uint32_t pid, dev_t device, ino_t inode, const char *path)
{
	char needle[64], *line = NULL;
	size_t room = 0;
	ssize_t length;
	int fd = proc_open(pid, "maps");
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	enum proc_answer answer = PROC_NO;
	bool any = false;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return access("/proc/self/maps", R_OK) == 0 && fd < 0 && proc_started(pid) == 0
			       ? PROC_NO
			       : PROC_UNKNOWN;
	}
	snprintf(needle, sizeof(needle), " %02x:%02x %ju ", major(device), minor(device),
		 (uintmax_t)inode);
	while (answer == PROC_NO && (length = getline(&line, &room, file)) > 0) {
		any = true;
		if (strstr(line, needle) || strstr(line, path))
			answer = PROC_YES;
	}
	free(line);
	fclose(file);
	/* an empty map is a zombie's, or may be opened but not read */
	return any ? answer : PROC_UNKNOWN;
}

void proc_mapped_path(uint32_t pid, uint64_t address, char *path, size_t room)
{
	int fd = proc_open(pid, "maps");
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	size_t line_room = 0;
	char *line = NULL;
	ssize_t length;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((length = getline(&line, &line_room, file)) > 0) {
		uint64_t start, end;
		char *at;

		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2 || address < start ||
		    address >= end)
			continue;
		at = strchr(line, '/');
		if (at)
			snprintf(path, room, "%s", at);
		break;
	}
	free(line);
	fclose(file);
}

bool proc_is_zombie(uint32_t pid)
{
	char text[1024], *at;

	return proc_read(pid, "stat", text, sizeof(text)) > 0 && (at = strrchr(text, ')')) &&
	       !strncmp(at, ") Z", 3);
}

uint32_t proc_parent(uint32_t pid)
{
	char text[1024], *at;
	unsigned parent;

	if (proc_read(pid, "stat", text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1, " %*c %u", &parent) != 1)
		return 0;
	return parent;
}

uint64_t proc_started(uint32_t pid)
{
	char text[1024], *at;
	unsigned long long started;

	if (proc_read(pid, "stat", text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')) ||
	    sscanf(at + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &started) != 1)
		return 0;
	return (uint64_t)started * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Returns the last number of the NSpid line, or 0. */
static uint32_t innermost(const char *status)
{
	const char *at = strstr(status, "\nNSpid:");
	uint32_t pid = 0;

	if (!at)
		return 0;
	for (at += 7; *at && *at != '\n';) {
		char *end;
		unsigned long value = strtoul(at, &end, 10);

		if (end == at)
			break;
		pid = (uint32_t)value;
		at = end;
	}
	return pid;
}

/* Returns the number in a line of /proc/PID/status, or 0. */
static uint32_t status_number(uint32_t pid, const char *line)
{
	char status[4096];
	const char *at;

	if (proc_read(pid, "status", status, sizeof(status)) <= 0)
		return 0;
	at = strstr(status, line);
	return at ? (uint32_t)strtoul(at + strlen(line), NULL, 10) : 0;
}

uint32_t proc_tracer(uint32_t pid)
{
	return status_number(pid, "\nTracerPid:");
}

bool proc_is_thread(uint32_t pid)
{
	uint32_t process = status_number(pid, "\nTgid:");

	return process && process != pid;
}

uint32_t proc_namespace_pid(uint32_t pid)
{
	char status[4096];

	return proc_read(pid, "status", status, sizeof(status)) > 0 ? innermost(status) : 0;
}

/*
 * Reads a thread's seccomp mode and its number of filters (Linux 5.9). False: unreadable, or an
 * older kernel and a mode other than none, which cannot be compared.
 */
static bool read_filters(uint32_t pid, const char *name, long *mode, long *count)
{
	char status[4096], *at;

	*mode = *count = -1;
	if (proc_read(pid, name, status, sizeof(status)) <= 0)
		return false;
	*mode = 0; /* a kernel without seccomp has no such line */
	if ((at = strstr(status, "\nSeccomp:")))
		*mode = strtol(at + 9, NULL, 10);
	if ((at = strstr(status, "\nSeccomp_filters:")))
		*count = strtol(at + 17, NULL, 10);
	if (*mode == 0)
		*count = 0;
	return *mode == 0 || (*mode > 0 && *count >= 0);
}

/* Reads the filters that this process started with: had there been any, it would have no filter of
 * its own (confine.h). */
static bool read_our_filters(long *mode, long *count)
{
	*mode = *count = 0;
	return confine_has_filter() || read_filters((uint32_t)getpid(), "status", mode, count);
}

bool proc_filtered_as_we(uint32_t pid)
{
	long our_mode, our_count, mode, count;
	char path[64], name[64];
	struct dirent *entry;
	bool looked = false;
	bool same = read_our_filters(&our_mode, &our_count);
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	dir = same ? opendir(path) : NULL;
	while (dir && same && (entry = readdir(dir))) {
		uint32_t thread = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!thread)
			continue;
		snprintf(name, sizeof(name), "task/%" PRIu32 "/status", thread);
		looked = true;
		/* a thread that has ended meanwhile does not count */
		same = !read_filters(pid, name, &mode, &count)
			       ? mode < 0
			       : mode == our_mode && count == our_count;
	}
	if (dir)
		closedir(dir);
	return same && looked;
}

bool proc_runs(uint32_t pid, const char *executable)
{
	static const char deleted[] = " (deleted)";
	char path[64], name[4096];
	ssize_t length;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return errno == EACCES;
	name[length] = '\0';
	bytes = strlen(text_base(executable));
	return !strncmp(text_base(name), text_base(executable), bytes) &&
	       (!text_base(name)[bytes] || !strcmp(text_base(name) + bytes, deleted));
}

bool proc_memory(uint32_t pid, uint64_t address, void *out, size_t bytes)
{
	int fd = proc_open(pid, "mem");
	bool got = fd >= 0 && address <= INT64_MAX &&
		   pread(fd, out, bytes, (off_t)address) == (ssize_t)bytes;

	if (fd >= 0)
		close(fd);
	return got;
}

bool proc_each_named(uint32_t namespace_pid, bool (*each)(void *, uint32_t), void *context)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool more = true;

	while (dir && more && (entry = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (pid && (!namespace_pid || proc_namespace_pid(pid) == namespace_pid))
			more = each(context, pid);
	}
	if (dir)
		closedir(dir);
	return dir != NULL;
}

/* True if the process has an executable: ended processes and kernel threads have none. */
static bool has_executable(uint32_t pid)
{
	char path[64], target[1];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
	return readlink(path, target, sizeof(target)) > 0;
}

static bool is_preloaded(uint32_t pid, const char *session, char *text, size_t room)
{
	static const char preload[] = "LD_PRELOAD=", of[] = "SHINY_SESSION=";
	ssize_t length = proc_read(pid, "environ", text, room);
	bool loads = false, belongs = false;

	if (!length)
		return has_executable(pid);
	for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1) {
		if (!strncmp(text + at, preload, sizeof(preload) - 1))
			loads = strstr(text + at, "libshiny.so") != NULL;
		if (!strncmp(text + at, of, sizeof(of) - 1))
			belongs = !strcmp(text + at + sizeof(of) - 1, session);
	}
	return loads && belongs;
}

/* Returns the newest pid of a process or thread; 0: unknown. */
static uint32_t newest_pid(void)
{
	char text[128], *at;
	ssize_t length = read_all(open("/proc/loadavg", O_RDONLY | O_CLOEXEC), text, sizeof(text));

	return length > 0 && (at = strrchr(text, ' ')) ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

static bool is_our_thread(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%" PRIu32, pid);
	return access(path, F_OK) == 0;
}

enum { ENVIRONMENT_ROOM = 1 << 20 }; /* only as much as the longest environment is touched */

static bool any_listed(const char *session, char *text)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool found = !dir;

	while (dir && !found && (entry = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		found = pid && is_preloaded(pid, session, text, ENVIRONMENT_ROOM) &&
			!is_our_thread(pid);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool proc_any_preloaded(const char *session, uint32_t since)
{
	enum { FEW = 256 }; /* about the number of processes on an idle machine */
	uint32_t newest = since ? newest_pid() : 0;
	char *text = mem_alloc(ENVIRONMENT_ROOM);
	bool found = false;

	if (newest < since || newest - since > FEW || !newest)
		found = any_listed(session, text);
	else
		for (uint32_t pid = since; pid <= newest && !found; pid++)
			found = is_preloaded(pid, session, text, ENVIRONMENT_ROOM) &&
				!is_our_thread(pid);
	free(text);
	return found;
}

uint32_t proc_thread(uint32_t pid, uint32_t tid, bool same_namespace, bool *listed)
{
	char path[64], name[64], status[4096];
	uint32_t found = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	if (same_namespace) {
		size_t length = strlen(path);

		*listed = access(path, R_OK | X_OK) == 0;
		snprintf(path + length, sizeof(path) - length, "/%" PRIu32, tid);
		return access(path, F_OK) == 0 ? tid : 0;
	}
	dir = opendir(path);
	*listed = dir != NULL;
	while (dir && !found && (entry = readdir(dir))) {
		uint32_t thread = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!thread)
			continue;
		snprintf(name, sizeof(name), "task/%" PRIu32 "/status", thread);
		if (proc_read(pid, name, status, sizeof(status)) > 0 && innermost(status) == tid)
			found = thread;
	}
	if (dir)
		closedir(dir);
	return found;
}

void proc_thread_name(uint32_t pid, uint32_t thread, char *out, size_t room)
{
	char name[64];
	ssize_t length;

	snprintf(name, sizeof(name), "task/%" PRIu32 "/comm", thread);
	length = proc_read(pid, name, out, room);
	if (length <= 0)
		out[0] = '\0';
	else if (out[length - 1] == '\n')
		out[length - 1] = '\0';
}

/* struct pidfd_info of <linux/pidfd.h>, newer than the headers of Debian 12 */
struct exit_info {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define GET_EXIT_INFO _IOWR(0xFF, 11, struct exit_info)
#define HAS_EXIT UINT64_C(8)

int proc_exit_status(uint32_t pid, int pidfd)
{
	struct exit_info info = { .mask = HAS_EXIT };
	char text[1024], *at;
	int status;

	if (ioctl(pidfd, GET_EXIT_INFO, &info) == 0 && info.mask & HAS_EXIT)
		return info.exit_code;
	/* not reaped yet, hence still the same process: the last field is its exit status */
	if (proc_read(pid, "stat", text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')) ||
	    strncmp(at, ") Z", 3) || !(at = strrchr(text, ' ')) || sscanf(at, "%d", &status) != 1)
		return -1;
	return status;
}

/* Copies the value of `--option=`, anywhere in the text: a zygote's children write their command
 * line as one string with spaces. */
static bool option_value(const char *text, size_t length, const char *option, char *out,
			 size_t room)
{
	const char *at = memmem(text, length, option, strlen(option));
	size_t n = 0;

	if (!at)
		return false;
	for (at += strlen(option); at < text + length && *at && *at != ' ' && n + 1 < room; at++)
		out[n++] = *at;
	out[n] = '\0';
	return n > 0;
}

/* Switches that tell a renderer's purpose. */
static const struct { const char *option, *purpose;
} purposes[] = {
	{ "--extension-process", "extension" },	      { "--top-chrome-webui", "top-chrome-webui" },
	{ "--instant-process", "instant" },	      { "--pdf-renderer", "pdf" },
	{ "--isolated-context", "isolated-context" }, { "--isolated-app", "isolated-app" },
};

static bool has_option(const char *text, size_t length, const char *option)
{
	size_t n = strlen(option);
	const char *at = text, *end = text + length;

	for (; (at = memmem(at, (size_t)(end - at), option, n)); at += n)
		if ((at == text || at[-1] == ' ' || !at[-1]) &&
		    (at + n == end || at[n] == ' ' || !at[n]))
			return true;
	return false;
}

void proc_describe(uint32_t pid, const char *name, bool chromium, struct proc_about *out)
{
	static const char *const known[] = { "renderer", "gpu-process", "zygote",   "utility",
					     "broker",	 "ppapi",	"extension" };
	char command[16384], type[64];
	ssize_t length = proc_read(pid, "cmdline", command, sizeof(command));
	size_t bytes = length > 0 ? (size_t)length : 0;

	out->role[0] = out->purpose[0] = out->command[0] = '\0';
	if (strstr(name, "crashpad"))
		snprintf(out->role, sizeof(out->role), "crashpad-handler");
	while (bytes && (!command[bytes - 1] || command[bytes - 1] == ' '))
		bytes--;
	for (size_t i = 0; i < bytes && i < sizeof(out->command) - 1; i++) {
		out->command[i] = command[i] ? command[i] : ' ';
		out->command[i + 1] = '\0';
	}
	if (!bytes || out->role[0])
		return;
	if (!option_value(command, bytes, "--type=", type, sizeof(type))) {
		if (chromium)
			snprintf(out->role, sizeof(out->role), "browser");
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(type, known[i]))
			snprintf(out->role, sizeof(out->role), "%s", type);
	if (!strcmp(type, "utility") &&
	    option_value(command, bytes, "--utility-sub-type=", out->purpose, sizeof(out->purpose)))
		snprintf(out->role, sizeof(out->role), "utility:%.*s",
			 (int)strcspn(out->purpose, "."), out->purpose);
	if (!strcmp(type, "zygote") && has_option(command, bytes, "--no-zygote-sandbox"))
		snprintf(out->purpose, sizeof(out->purpose), "no-zygote-sandbox");
	for (size_t i = 0; !strcmp(type, "renderer") && i < sizeof(purposes) / sizeof(*purposes);
	     i++)
		if (has_option(command, bytes, purposes[i].option))
			snprintf(out->purpose, sizeof(out->purpose), "%s", purposes[i].purpose);
}
