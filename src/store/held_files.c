/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_files.c: a list of the files that stores have open, each with the descriptors that wait for
 * closing. A process has few stores, so a linear search is enough.
 */
#include "held_files.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/mem.h"

struct held_fd {
	struct held_fd *next;
	int fd;
};
struct held_file {
	struct held_file *next;
	dev_t device;
	ino_t inode;
	unsigned stores;
	struct held_fd *waiting; /* to be closed with the last store */
};

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct held_file *held_files;

/* Returns the link to the file's entry, or to the NULL at the end. */
static struct held_file **find_link(int fd, struct stat *st)
{
	struct held_file **link = &held_files;

	if (fstat(fd, st) != 0)
		*st = (struct stat){ 0 };
	while (*link && ((*link)->device != st->st_dev || (*link)->inode != st->st_ino))
		link = &(*link)->next;
	return link;
}

static void wait_for_stores(struct held_file *file, int fd)
{
	struct held_fd *waiting = mem_zero(1, sizeof(*waiting));

	flock(fd, LOCK_UN); /* the flock belongs to the descriptor, and ends now as with close */
	*waiting = (struct held_fd){ file->waiting, fd };
	file->waiting = waiting;
}

static void remove_file(struct held_file **link)
{
	struct held_file *file = *link;

	while (file->waiting) {
		struct held_fd *next = file->waiting->next;

		close(file->waiting->fd);
		free(file->waiting);
		file->waiting = next;
	}
	*link = file->next;
	free(file);
}

void held_files_enter(int fd)
{
	struct held_file **link;
	struct stat st;

	pthread_mutex_lock(&held_lock);
	link = find_link(fd, &st);
	if (!*link) {
		*link = mem_zero(1, sizeof(**link));
		(*link)->device = st.st_dev;
		(*link)->inode = st.st_ino;
	}
	(*link)->stores++;
	pthread_mutex_unlock(&held_lock);
}

void held_files_leave(int fd)
{
	struct held_file **link;
	struct stat st;

	pthread_mutex_lock(&held_lock);
	link = find_link(fd, &st);
	wait_for_stores(*link, fd);
	if (--(*link)->stores == 0)
		remove_file(link);
	pthread_mutex_unlock(&held_lock);
}

void held_files_close(int fd)
{
	struct held_file **link;
	struct stat st;

	pthread_mutex_lock(&held_lock);
	link = find_link(fd, &st);
	if (*link)
		wait_for_stores(*link, fd);
	else
		close(fd);
	pthread_mutex_unlock(&held_lock);
}
