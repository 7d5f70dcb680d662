/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unrecorded.c: see unrecorded.h.
 *
 * The reason why a program has no ring is best found while it runs: /proc shows its file, even in
 * another root directory, whether its environment loads the library, and whether it can access the
 * library and the session directory. After its end, the file that exec was given still shows its
 * kind. And the process that started it has checked the library's path
 * (interpose/hook/hooks_exec.c).
 *
 * The text of a link is foreign: it is cut to its maximal length, control characters become '?',
 * and a directory full of links costs a bounded number of rows; further ones are only counted.
 */
#define _GNU_SOURCE
#include "unrecorded.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/program.h"
#include "../../base/text.h"
#include "../proc/errands.h"
#include "../proc/proc.h"
#include "starts.h"

enum { MOST = 10000, INTERPRETERS = 5, ENVIRONMENT_ROOM = 256 * 1024 };

static const struct {
	const char *word, *text;
	bool choice;
} reasons[] = {
#define CHOICE true
#define MISSED false
#define SHINY_UNRECORDED(name, word, weight, text) { word, text, weight },
#include <shiny/wire/unrecorded_reason.def>
#undef SHINY_UNRECORDED
#undef CHOICE
#undef MISSED
};

/* The contents of a link; the pointers lead into `line`. */
struct said {
	char line[SHINY_UNRECORDED_MAX];
	enum shiny_unrecorded why;
	uint32_t pid, parent_pid; /* in the namespace of the program */
	const char *detail, *executable;
};

static char *cut_line(char **at)
{
	char *line = *at, *end = strchr(line, '\n');

	*at = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

static void make_printable(char *text)
{
	for (char *at = text; *at;) {
		uint32_t point;
		size_t bytes = text_decode(at, &point);

		if (point == TEXT_INVALID || point < 0x20 || (point >= 0x7f && point < 0xa0))
			memset(at, '?', bytes);
		at += bytes;
	}
}

static bool read_link(int directory, const char *name, struct said *out)
{
	char *at = out->line, *word;
	ssize_t length = readlinkat(directory, name, out->line, sizeof(out->line) - 1);
	unsigned long pid = strtoul(name + strlen(SHINY_UNRECORDED_PREFIX), NULL, 10);
	unsigned long parent_pid;

	if (length < 0)
		return false;
	out->line[length] = '\0';
	word = cut_line(&at);
	out->why = SHINY_UNRECORDED_UNKNOWN;
	for (unsigned i = 0; i < SHINY_UNRECORDED_REASONS; i++)
		if (!strcmp(word, reasons[i].word))
			out->why = i;
	parent_pid = strtoul(cut_line(&at), NULL, 10);
	out->detail = cut_line(&at);
	out->executable = at;
	out->pid = pid <= INT_MAX ? (uint32_t)pid : 0;
	out->parent_pid = parent_pid <= INT_MAX ? (uint32_t)parent_pid : 0;
	return true;
}

static char *words(enum shiny_unrecorded why, const char *detail)
{
	return *detail ? mem_format("%s: %s", reasons[why].text, detail)
		       : mem_text(reasons[why].text);
}

/* Returns when the link was created, in ns of the session, by the file system's clock. */
static uint64_t made_at(const struct output *output, int directory, const char *name)
{
	struct stat st;
	uint64_t wall;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	wall = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
	return wall > output->start_realtime ? wall - output->start_realtime : 0;
}

static void put(struct output *output, enum shiny_unrecorded why, const char *detail,
		struct store_unrecorded *row)
{
	char *text, *executable;

	if (output->unrecorded++ >= MOST) {
		output->noticed.unnamed_programs++;
		return;
	}
	text = words(why, detail);
	executable = mem_text(row->executable);
	make_printable(text);
	make_printable(executable);
	row->executable = executable;
	row->name = text_base(executable);
	row->reason = reasons[why].word;
	row->text = text;
	row->choice = reasons[why].choice;
	OUTPUT_PUT(output, store_put_unrecorded, row);
	free(text);
	free(executable);
}

void unrecorded_take(struct people *people, struct output *output, int directory, const char *name)
{
	uint64_t ns = made_at(output, directory, name), now = ticks_now(&output->ticks);
	struct said said;
	bool got = read_link(directory, name, &said);
	uint32_t parent;

	unlinkat(directory, name, 0);
	if (!got)
		return;
	parent = starts_parent(people, said.pid, now);
	starts_answered(people, said.pid);
	put(output, said.why, said.detail,
	    &(struct store_unrecorded){
		    .parent = parent ? parent : starts_parent(people, said.parent_pid, now),
		    .pid = said.pid,
		    .executable = said.executable,
		    .time = ns });
}

/* ---- programs that leave no link ---- */

/* Returns the reason that the file shows, with `detail` in words ("" none).
 * SHINY_UNRECORDED_UNKNOWN: the file could be recorded. */
static enum shiny_unrecorded look_at_file(const char *path, char *detail, size_t room)
{
	struct program_look look;
	struct shiny_err *err = program_look(path, &look);

	*detail = '\0';
	if (err) {
		shiny_err_free(err);
		return SHINY_UNRECORDED_NOT_A_PROGRAM;
	}
	for (unsigned n = 0; look.kind == PROGRAM_SCRIPT && n < INTERPRETERS; n++) {
		snprintf(detail, room, "of its interpreter %s", look.interpreter);
		err = program_look(look.interpreter, &look);
		if (err) {
			shiny_err_free(err);
			return SHINY_UNRECORDED_NOT_A_PROGRAM;
		}
	}
	if (look.kind == PROGRAM_FOREIGN)
		return look.bits32 ? SHINY_UNRECORDED_BITS32 : SHINY_UNRECORDED_MACHINE;
	if (look.kind == PROGRAM_STATIC)
		return look.go ? SHINY_UNRECORDED_GO : SHINY_UNRECORDED_STATIC;
	if (look.kind == PROGRAM_OTHER || look.kind == PROGRAM_SCRIPT)
		return SHINY_UNRECORDED_NOT_A_PROGRAM;
	if (look.kind == PROGRAM_ELF &&
	    strcmp(text_base(look.interpreter), "ld-linux-x86-64.so.2")) {
		snprintf(detail, room, "its loader is %s", look.interpreter);
		return SHINY_UNRECORDED_LIBC;
	}
	*detail = '\0';
	return look.privileged ? SHINY_UNRECORDED_PRIVILEGED : SHINY_UNRECORDED_UNKNOWN;
}

/* Finds the path by which a process's environment loads the library. PROC_UNKNOWN: it has no
 * environment, or not yet. */
static enum proc_answer library_of(uint32_t pid, char *out, size_t room)
{
	static const char name[] = "LD_PRELOAD=", library[] = "libshiny.so";
	char *text = mem_alloc(ENVIRONMENT_ROOM);
	ssize_t length = proc_read(pid, "environ", text, ENVIRONMENT_ROOM);
	bool found = false;

	for (ssize_t at = 0; at < length && !found; at += (ssize_t)strlen(text + at) + 1) {
		char *save = NULL;

		if (strncmp(text + at, name, sizeof(name) - 1))
			continue;
		for (char *path = strtok_r(text + at + sizeof(name) - 1, " :", &save);
		     path && !found; path = strtok_r(NULL, " :", &save))
			if ((found = !strcmp(text_base(path), library)))
				snprintf(out, room, "%s", path);
		if (found)
			program_preloaded(out);
		break;
	}
	free(text);
	return found ? PROC_YES : length > 0 ? PROC_NO : PROC_UNKNOWN;
}

static bool is_there(uint32_t pid, const char *path)
{
	char *below = mem_format("/proc/%u/root%s", pid, path);
	bool there = *path != '/' || access(below, F_OK) == 0;

	free(below);
	return there;
}

/* True if a user of these ids has the permissions `bits` (4 read, 1 search) for an existing
 * file. */
static bool may(const char *path, unsigned long uid, unsigned long gid, unsigned bits)
{
	struct stat st;
	unsigned shift;

	if (stat(path, &st))
		return false;
	shift = st.st_uid == uid ? 6 : st.st_gid == gid ? 3 : 0;
	return uid == 0 || (st.st_mode >> shift & bits) == bits;
}

static bool may_reach(const char *path, unsigned long uid, unsigned long gid, unsigned bits)
{
	char above[PATH_MAX];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		if (!may(above, uid, gid, 1))
			return false;
	}
	return may(path, uid, gid, bits);
}

/* Returns why a process that should load the library cannot reach it or the session directory. */
static enum shiny_unrecorded unreachable(uint32_t pid, const char *ring, const char *library)
{
	char status[4096], *at, *directory = mem_text(ring), *slash = strrchr(directory, '/');
	unsigned long uid = 0, gid = 0;
	enum shiny_unrecorded why = SHINY_UNRECORDED_UNKNOWN;

	if (slash)
		*slash = '\0';
	if (proc_read(pid, "status", status, sizeof(status)) > 0) {
		if ((at = strstr(status, "\nUid:")))
			sscanf(at + 5, "%*u %lu", &uid);
		if ((at = strstr(status, "\nGid:")))
			sscanf(at + 5, "%*u %lu", &gid);
	}
	if (!may_reach(library, uid, gid, 4))
		why = SHINY_UNRECORDED_UNREADABLE;
	else if (!is_there(pid, directory) || !may_reach(directory, uid, gid, 5))
		why = SHINY_UNRECORDED_NO_DIRECTORY;
	free(directory);
	return why;
}

/* Returns the reason that the starting process noticed; UNKNOWN: it noticed none. */
static enum shiny_unrecorded look_at_flags(uint32_t flags)
{
	return flags & SHINY_NOTICE_NO_LIBRARY	? SHINY_UNRECORDED_NO_LIBRARY :
	       flags & SHINY_NOTICE_UNREADABLE	? SHINY_UNRECORDED_UNREADABLE :
	       flags & SHINY_NOTICE_FILTERED	? SHINY_UNRECORDED_FILTERED :
	       flags & (SHINY_NOTICE_PRELOADS | SHINY_NOTICE_UNREAD) ? SHINY_UNRECORDED_UNKNOWN :
						  SHINY_UNRECORDED_CLEARED;
}

/* A question to /proc about a running program; an errand (errands.h), as the kernel reads the
 * environment under the process's lock. */
struct program_inquiry {
	struct errand errand;
	const struct ring_file *teller; /* the ring with the notice; used by the loop only */
	uint64_t number;            /* number of the notice */
	uint32_t pid, flags;
	char *ring;                /* path of that ring */
	dev_t device;
	ino_t inode;                /* of that ring, with `device` */

	bool seen;
	enum shiny_unrecorded why;
	char executable[PATH_MAX], detail[512];
};

/* Looks at the program's own environment, which the kernel shows a moment later than its file. */
static enum shiny_unrecorded look_at_process(const struct program_inquiry *q)
{
	char library[PATH_MAX];

	switch (library_of(q->pid, library, sizeof(library))) {
	case PROC_NO:
		return SHINY_UNRECORDED_CLEARED;
	case PROC_YES:
		return is_there(q->pid, library) ? unreachable(q->pid, q->ring, library)
						 : SHINY_UNRECORDED_NO_LIBRARY;
	default:
		return SHINY_UNRECORDED_UNKNOWN;
	}
}

static bool has_ended(uint32_t pid)
{
	return !proc_started(pid) || proc_is_zombie(pid);
}

static void look_at_program(struct errand *errand)
{
	struct program_inquiry *q = (struct program_inquiry *)errand;
	char path[64];
	ssize_t length;

	/* a process that has announced exec still runs the old image */
	if (proc_maps_file(q->pid, q->device, q->inode, q->ring) != PROC_NO)
		return;
	snprintf(path, sizeof(path), "/proc/%u/exe", q->pid);
	length = readlink(path, q->executable, sizeof(q->executable) - 1);
	if (length <= 0)
		return;
	q->executable[length] = '\0';
	q->why = look_at_file(path, q->detail, sizeof(q->detail));
	if (q->why == SHINY_UNRECORDED_NOT_A_PROGRAM && has_ended(q->pid))
		return; /* its file could not be opened any more: nothing was seen */
	q->seen = true;
	if (q->why == SHINY_UNRECORDED_UNKNOWN)
		q->why = look_at_flags(q->flags);
	if (q->why != SHINY_UNRECORDED_UNKNOWN)
		return;
	q->why = look_at_process(q);
	if (has_ended(q->pid))
		q->why = SHINY_UNRECORDED_UNKNOWN; /* it has ended meanwhile, and files may have
		                                    * been removed */
}

static void looked_at_program(struct session *session, struct errand *errand)
{
	struct program_inquiry *q = (struct program_inquiry *)errand;

	for (size_t i = 0; session && q->seen && i < session->people.starts.count; i++) {
		struct start *start = &session->people.starts.at[i];

		if (start->ring != q->teller || start->number != q->number)
			continue;
		free(start->executable);
		free(start->detail);
		start->executable = mem_text(q->executable);
		start->detail = mem_text(q->detail);
		start->why = q->why;
	}
	free(q->ring);
	free(q);
}

void unrecorded_look(struct session *session, const struct start *start)
{
	struct program_inquiry *q = mem_zero(1, sizeof(*q));

	q->errand = (struct errand){ .run = look_at_program, .end = looked_at_program };
	q->teller = start->ring;
	q->number = start->number;
	q->pid = start->pid;
	q->flags = start->flags;
	q->ring = mem_text(start->ring->path);
	q->device = start->ring->device;
	q->inode = start->ring->inode;
	if (errands_do(session->people.errands, &q->errand))
		looked_at_program(session, &q->errand);
}

void unrecorded_put(struct output *output, const struct start *start, uint32_t parent)
{
	char detail[512] = "", found[PROGRAM_PATH] = "";
	enum shiny_unrecorded why = start->why;
	const char *executable = start->path[0] ? start->path : "(unknown)";
	struct shiny_err *err;

	if (start->executable) {
		if (start->path[0] != '/')
			executable = start->executable;
		snprintf(detail, sizeof(detail), "%s", start->detail);
	} else {
		/* a descriptor is that of the program, and here another one */
		err = start->cut || !strncmp(start->path, "/dev/fd/", 8)
			      ? NULL
			      : program_find(start->path, found);
		if (!err && found[0]) {
			executable = found;
			why = look_at_file(found, detail, sizeof(detail));
		}
		shiny_err_free(err);
	}
	if (why == SHINY_UNRECORDED_UNKNOWN)
		why = look_at_flags(start->flags);
	put(output, why, detail,
	    &(struct store_unrecorded){ .parent = parent,
					.pid = start->pid,
					.executable = executable,
					.time = ticks_ns(&output->ticks, start->time) });
}

char *unrecorded_first(const char *directory)
{
	DIR *handle = opendir(directory);
	const struct dirent *entry;
	char *first = NULL, *why;
	struct said said;

	while (handle && !first && (entry = readdir(handle))) {
		if (strncmp(entry->d_name, SHINY_UNRECORDED_PREFIX,
			    strlen(SHINY_UNRECORDED_PREFIX)) ||
		    !read_link(dirfd(handle), entry->d_name, &said))
			continue;
		why = words(said.why, said.detail);
		first = mem_format("%s: %s", said.executable, why);
		free(why);
	}
	if (handle)
		closedir(handle);
	return first;
}
