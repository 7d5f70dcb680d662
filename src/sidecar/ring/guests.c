/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guests.c: see guests.h; interpose/boot/guest.c says what it is for.
 *
 * A guest gets the descriptor of a file that the sidecar creates in its directory: the rest of the
 * sidecar sees a ring that is being created. The lock on it is taken here and belongs to the open
 * file that the guest maps; the sidecar's own descriptor is closed.
 *
 * The socket's name is public (/proc/net/unix), so any process may connect. A connection with a
 * wrong key is closed; one that sends nothing occupies one of a few places, and loses it to the
 * next connection. A guest that knows the key can do what any program of the session can do: write
 * lies into its own ring.
 *
 * It has a thread of its own, because the loop may be busy for seconds and a program's start waits
 * for the answer.
 */
#define _GNU_SOURCE
#include "guests.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/worker_thread.h"

enum { STOP, LISTEN, FIRST, PLACES = 64, TRIES = 64, BACKLOG = 128 };

struct guests {
	pthread_t thread;
	pthread_mutex_t lock; /* guards `admits`; held while a file is created */
	bool admits;
	int directory;
	char *key;
	uint8_t boot_id[16];
	struct pollfd at[PLACES]; /* STOP, LISTEN, and connections without a message yet, the oldest
	                           * first */
	nfds_t count;
};

/* Returns the key in a directory's name; NULL: it has none, and admits no guests. */
static const char *key_of(const char *directory)
{
	const char *name = text_base(directory), *first = strchr(name, '.'),
		   *last = strrchr(name, '.');

	return first && first != last ? last + 1 : NULL;
}

int guests_listen(const char *directory)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = text_base(directory), *key = key_of(directory);
	int fd, length;

	if (!key)
		return -1;
	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, SHINY_GUESTS "%.*s",
			  (int)(key - 1 - name), name);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 &&
	    (length >= (int)sizeof(address.sun_path) - 1 ||
	     bind(fd, (struct sockaddr *)&address,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) ||
	     listen(fd, BACKLOG))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Creates an empty ring file, locked as its program locks it; returns a descriptor, or -1. `pid`,
 * as we see it, only names the file. */
static int make_ring(const struct guests *guests, int pid)
{
	char name[64];
	int fd;

	for (unsigned n = 0; n < TRIES; n++) {
		snprintf(name, sizeof(name), SHINY_RING_PREFIX "%d.%u", pid, n);
		fd = openat(guests->directory, name,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static void pass(struct guests *guests, int to, int fd)
{
	struct iovec data = { guests->boot_id, sizeof(guests->boot_id) };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	/* a guest that has hung up has no ring: its file's lock is then free */
	sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer(struct guests *guests, int from)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	char said[128];
	ssize_t bytes = recv(from, said, sizeof(said), MSG_DONTWAIT);
	int ring;

	if (bytes != (ssize_t)strlen(guests->key) ||
	    memcmp(said, guests->key, (size_t)bytes) != 0 ||
	    getsockopt(from, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return;
	pthread_mutex_lock(&guests->lock);
	ring = guests->admits ? make_ring(guests, peer.pid) : -1;
	pthread_mutex_unlock(&guests->lock);
	if (ring < 0)
		return;
	pass(guests, from, ring);
	close(ring);
}

static void drop(struct guests *guests, nfds_t i)
{
	close(guests->at[i].fd);
	guests->count--;
	memmove(&guests->at[i], &guests->at[i + 1], (guests->count - i) * sizeof(guests->at[0]));
}

static void *answer_all(void *context)
{
	struct guests *guests = context;

	while (!guests->at[STOP].revents) {
		int fd;

		if (poll(guests->at, guests->count, -1) < 0)
			continue;
		for (nfds_t i = guests->count; i-- > FIRST;)
			if (guests->at[i].revents) {
				answer(guests, guests->at[i].fd);
				drop(guests, i);
			}
		if (!guests->at[LISTEN].revents ||
		    (fd = accept4(guests->at[LISTEN].fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
			continue;
		if (guests->count == PLACES)
			drop(guests, FIRST);
		guests->at[guests->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
	return NULL;
}

static void destroy(struct guests *guests)
{
	while (guests->count)
		drop(guests, guests->count - 1);
	if (guests->directory >= 0)
		close(guests->directory);
	pthread_mutex_destroy(&guests->lock);
	free(guests->key);
	free(guests);
}

struct guests *guests_start(const char *directory, int socket, const uint8_t boot_id[16])
{
	struct guests *guests;
	int stop;

	if (socket < 0)
		return NULL;
	guests = mem_zero(1, sizeof(*guests));
	stop = eventfd(0, EFD_CLOEXEC);
	guests->admits = true;
	memcpy(guests->boot_id, boot_id, sizeof(guests->boot_id));
	guests->key = mem_text(key_of(directory));
	guests->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	guests->at[LISTEN] = (struct pollfd){ .fd = socket, .events = POLLIN };
	guests->at[STOP] = (struct pollfd){ .fd = stop, .events = POLLIN };
	guests->count = FIRST;
	pthread_mutex_init(&guests->lock, NULL);
	if (stop >= 0 && guests->directory >= 0 &&
	    thread_start(&guests->thread, answer_all, guests))
		return guests;
	destroy(guests);
	return NULL;
}

void guests_stop(struct guests *guests)
{
	if (!guests)
		return;
	eventfd_write(guests->at[STOP].fd, 1);
	pthread_join(guests->thread, NULL);
	destroy(guests);
}

void guests_admit(struct guests *guests, bool admit)
{
	if (!guests)
		return;
	pthread_mutex_lock(&guests->lock);
	guests->admits = admit;
	pthread_mutex_unlock(&guests->lock);
}
