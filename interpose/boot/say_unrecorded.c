/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say_unrecorded.c: see say_unrecorded.h.
 *
 * The problem. A program that cannot be recorded has no ring to say so in, and the reason is often
 * a limit: no file may have a byte (RLIMIT_FSIZE), no descriptor may be opened (RLIMIT_NOFILE), no
 * memory mapped.
 *
 * The approach. A symbolic link: one system call, no descriptor, no bytes of a file, no mode; a
 * reader gets all of it at once. Its text (wire.h) says why; the file system says when it was
 * created and by whom.
 */
#include "say_unrecorded.h"

#include "../core/sys.h"

enum { TRIES = 64 };

static void add_line(struct si_text *t, const char *line)
{
	size_t n = 0;

	while (line[n] && line[n] != '\n')
		n++;
	si_text_bytes(t, line, n);
	si_text_bytes(t, "\n", 1);
}

void si_unrecorded(const char *directory, enum shiny_unrecorded why, const char *executable,
		   const char *detail)
{
	static const char *const words[] = {
#define SHINY_UNRECORDED(name, word, weight, text) word,
#include <shiny/wire/unrecorded_reason.def>
#undef SHINY_UNRECORDED
	};
	char target[SHINY_UNRECORDED_MAX], path[SHINY_PATH_MAX];
	uint32_t pid = si_sys_getpid();
	struct si_text t;

	if (!directory[0])
		return;
	si_text_init(&t, target, sizeof(target));
	add_line(&t, words[why]);
	si_text_number(&t, (uint64_t)si_sys(SYS_getppid, 0, 0, 0));
	add_line(&t, "");
	add_line(&t, detail);
	si_text_add(&t, executable);
	for (unsigned n = 0; n < TRIES; n++) {
		si_text_init(&t, path, sizeof(path));
		si_text_add(&t, directory);
		si_text_add(&t, "/" SHINY_UNRECORDED_PREFIX);
		si_text_number(&t, pid);
		si_text_add(&t, ".");
		si_text_number(&t, n);
		if (si_sys(SYS_symlinkat, target, AT_FDCWD, path) != -EEXIST)
			return;
	}
}
