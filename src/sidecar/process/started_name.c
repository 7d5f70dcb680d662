/* SPDX-License-Identifier: Apache-2.0 */
/*
 * started_name.c: see started_name.h.
 *
 * The first word of a command line can be anything ("-bash", "nginx: master process"), so it counts
 * only if a link of this name leads to the executable: the word itself as a path, or a link in a
 * directory of PATH.
 */
#include "started_name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

static bool leads_to(const char *path, const struct stat *file)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode) && !stat(path, &st) &&
	       st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

static bool in_path(const char *name, const struct stat *file)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *text = mem_text(path && *path ? path : USUAL_PATH);
	char *rest = text, *directory;

	while ((directory = strsep(&rest, ":")) != NULL) {
		AUTO_FREE char *whole = mem_format("%s/%s", directory, name);

		if (*directory == '/' && leads_to(whole, file))
			return true;
	}
	return false;
}

char *started_name(const char *executable, const char *command)
{
	AUTO_FREE char *word = mem_text(command);
	const char *own = text_base(executable), *name;
	struct stat file;

	word[strcspn(word, " ")] = '\0';
	name = text_base(word);
	if (*name && strcmp(name, own) != 0 && *executable == '/' && !stat(executable, &file) &&
	    (*word == '/' ? leads_to(word, &file) : in_path(name, &file)))
		return mem_text(name);
	return mem_text(own);
}
