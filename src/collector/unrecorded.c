/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unrecorded.c: see unrecorded.h.
 *
 * What a link says is a stranger's: it is cut where it must end, what a terminal would obey becomes '?', and a directory that somebody
 * fills with links costs a bounded number of rows; the rest is counted.
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

#include "../base/text.h"

enum { MOST = 10000 };

static const struct {
	const char *word, *text;
	bool choice;
} reasons[] = {
#define CHOICE true
#define MISSED false
#define SHINY_UNRECORDED(name, word, weight, text) { word, text, weight },
#include <shiny/unrecorded.def>
#undef SHINY_UNRECORDED
#undef CHOICE
#undef MISSED
};

/* What a link says: `line` keeps the text that the pointers lead into. */
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
	ssize_t length = readlinkat(directory, name, out->line, sizeof out->line - 1);
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
	make_printable(out->line + (out->detail - out->line));
	make_printable(at);
	out->pid = pid <= INT_MAX ? (uint32_t)pid : 0;
	out->parent_pid = parent_pid <= INT_MAX ? (uint32_t)parent_pid : 0;
	return true;
}

static char *words(enum shiny_unrecorded why, const char *detail)
{
	return *detail ? mem_format("%s: %s", reasons[why].text, detail) : mem_text(reasons[why].text);
}

/* When the link was made: only the file system says. */
static uint64_t made_at(const struct session *session, int directory, const char *name)
{
	struct stat st;
	uint64_t wall;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	wall = (uint64_t)st.st_ctim.tv_sec * 1000000000u + (uint64_t)st.st_ctim.tv_nsec;
	return wall > session->start_realtime ? wall - session->start_realtime : 0;
}

void unrecorded_take(struct session *session, int directory, const char *name)
{
	uint64_t ns = made_at(session, directory, name), now = ticks_now(&session->ticks);
	struct said said;
	bool got = read_link(directory, name, &said);
	const struct process *before;
	char *text;

	unlinkat(directory, name, 0);
	if (!got)
		return;
	if (session->unrecorded++ >= MOST) {
		session->noticed.unnamed_programs++;
		return;
	}
	before = process_before(session, said.pid, now, NULL);
	if (!before)
		before = process_before(session, said.parent_pid, now, NULL);
	text = words(said.why, said.detail);
	session_fail(session, store_put_unrecorded(session->store, &(struct store_unrecorded){
		.parent = before ? before->id : 0, .pid = said.pid, .executable = said.executable,
		.name = text_base(said.executable), .reason = reasons[said.why].word, .text = text,
		.choice = reasons[said.why].choice, .time = ns }));
	free(text);
}

char *unrecorded_first(const char *directory)
{
	DIR *handle = opendir(directory);
	const struct dirent *entry;
	char *first = NULL, *why;
	struct said said;

	while (handle && !first && (entry = readdir(handle))) {
		if (strncmp(entry->d_name, SHINY_UNRECORDED_PREFIX, strlen(SHINY_UNRECORDED_PREFIX)) ||
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
