/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_asked.c: see snapshot_asked.h. */
#define _GNU_SOURCE
#include "snapshot_asked.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot_ask.h"

void snapshot_queue_all(struct snapshot_queue *queue, const struct people *people)
{
	struct snapshot_asker *first = &queue->askers.at[0];

	first->all = false;
	for (size_t i = people->running.count; i-- > 0;)
		if (people->running.at[i]->pid && !people->running.at[i]->gone)
			*vec_push(&first->pids) = people->running.at[i]->pid;
}

void snapshot_queue_take(struct snapshot_queue **queue, int directory, const char *file)
{
	int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct snapshot_asker asker = { 0 };
	char text[32] = "";
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	uint32_t pid = (uint32_t)strtoul(text, NULL, 10);

	if (fd >= 0)
		close(fd);
	unlinkat(directory, file, 0);
	asker.by = (uint32_t)strtoul(file + strlen(SNAPSHOT_ASK_PREFIX), NULL, 10);
	if (got <= 0)
		return;
	if (pid)
		*vec_push(&asker.pids) = pid;
	else
		asker.all = true;
	asker.since = ticks_wall_ns();
	if (!*queue)
		*queue = mem_zero(1, sizeof(**queue));
	*vec_push(&(*queue)->askers) = asker;
}

static void say(struct snapshot_queue *queue, const char *line)
{
	for (; *line; line++)
		*vec_push(&queue->askers.at[0].answer) = *line;
}

void snapshot_queue_refuse(struct snapshot_queue *queue, uint32_t pid, struct shiny_err *err)
{
	char *line = mem_format("%" PRIu32 "\t0\t%s%s%s\n", pid, err->message,
				err->advice ? "; " : "", err->advice ? err->advice : "");

	say(queue, line);
	free(line);
	shiny_err_free(err);
}

void snapshot_queue_say(struct snapshot_queue *queue, const struct store_snapshot *r, uint32_t pid)
{
	char *line = mem_format("%" PRIu32 "\t1\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
				"\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
				"\n",
				pid, r->id, r->blocks, r->bytes, r->edges, r->roots, r->copied,
				r->unread, r->stopped, r->took);

	say(queue, line);
	free(line);
}

void snapshot_queue_answer(struct snapshot_queue *queue, const char *directory)
{
	struct snapshot_asker *asker = &queue->askers.at[0];
	char *final = mem_format("%s/" SNAPSHOT_SAID_PREFIX "%" PRIu32, directory, asker->by);
	char *temporary = mem_format("%s/.said.%" PRIu32, directory, asker->by);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool whole = fd >= 0 && write(fd, asker->answer.at, asker->answer.count) ==
					(ssize_t)asker->answer.count;

	if (fd >= 0)
		close(fd);
	if (!whole || rename(temporary, final) != 0)
		unlink(temporary); /* the asking process times out, and reports that */
	free(final);
	free(temporary);
	free(asker->pids.at);
	free(asker->answer.at);
	memmove(asker, asker + 1, --queue->askers.count * sizeof(*asker));
}

