/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_client.c: see snapshot_client.h. */
#define _GNU_SOURCE
#include "snapshot_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../sidecar/snapshot/snapshot_ask.h"
#include "sessions.h"

static const struct timespec pause_between = { .tv_nsec = 5000000 };

enum { LOOKS_APART = 100 }; /* polls between two checks for a sidecar */

static struct shiny_err *put_question(int at, const char *directory, pid_t pid)
{
	AUTO_FREE char *temporary = mem_format(".ask.%d", (int)getpid());
	AUTO_FREE char *final = mem_format(SNAPSHOT_ASK_PREFIX "%d", (int)getpid());
	AUTO_CLOSE int fd = openat(at, temporary,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0 && dprintf(fd, "%d\n", (int)pid) > 0 && renameat(at, temporary, at, final) == 0)
		return NULL;
	return shiny_err_os(errno, "cannot ask the sidecar of %s", directory);
}

static char *read_whole(int fd)
{
	VEC(char) text = { 0 };
	char buffer[4096];
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; i < got; i++)
			*vec_push(&text) = buffer[i];
	*vec_push(&text) = '\0';
	return text.at;
}

struct shiny_err *snapshot_ask(const char *directory, pid_t pid, char **answer)
{
	AUTO_FREE char *said = mem_format(SNAPSHOT_SAID_PREFIX "%d", (int)getpid());
	AUTO_FREE char *asked = mem_format(SNAPSHOT_ASK_PREFIX "%d", (int)getpid());
	AUTO_FREE struct session_directory *look = mem_zero(1, sizeof(*look));
	AUTO_CLOSE int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return shiny_err_advise(shiny_err_os(errno, "cannot open the session directory %s",
						     directory),
					"`shinyctl collect` lists the session directories");
	if (!sessions_look(directory, look) || !look->used || !look->collected)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "%s: nothing is being recorded there", directory),
					"`shinyctl collect` lists the session directories");
	SHINY_TRY(put_question(at, directory, pid));
	for (unsigned i = 1;; i++) {
		AUTO_CLOSE int fd = openat(at, said, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (fd >= 0) {
			*answer = read_whole(fd);
			unlinkat(at, said, 0);
			return NULL;
		}
		if (i % LOOKS_APART == 0 && (!sessions_look(directory, look) || !look->collected))
			break;
		nanosleep(&pause_between, NULL);
	}
	unlinkat(at, asked, 0);
	return shiny_err(SHINY_ERR_OTHER, "%s: the sidecar ended before it answered", directory);
}
