/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c: see guest.h.
 *
 * The problem. A session directory is private to its user (mode 0700), and it lies in /dev/shm. A
 * program of the same session that runs as another user (setpriv, a service that drops its rights
 * and then execs), with a /dev/shm of its own or below another root cannot open it, although
 * nothing else keeps it from being recorded.
 *
 * The approach. An abstract socket has no path and no mode: every process of the network namespace
 * reaches it. The sidecar listens at one (src/sidecar/ring/guests.c), creates the ring file in its
 * directory like any other, and passes the descriptor. The guest gets only that descriptor: its own
 * ring, and neither another's ring nor the directory nor the session file. A guest must send the
 * session's key (wire.h), which only the environment of the session's programs contains; the kernel
 * shows that to no other user. The sidecar must run as the user whose number is in the directory's
 * path.
 *
 * Rejected: a directory that others may write to (they share it with each other, and its files
 * outlive the programs that created them); descriptors that programs inherit (programs count them,
 * close them and reuse their numbers).
 *
 * Not covered: another network namespace, a user namespace in which the sidecar's user has another
 * number.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <shiny/wire/wire.h>

#include "../core/sys.h"

enum { PATIENCE = 10 /* seconds, after which the sidecar counts as stopped */ };

/* Finds where the path's last part begins, and where the key begins in it; false: the session takes
 * no guests. */
static bool parts(const char *session, size_t *base, size_t *key)
{
	size_t dots = 0;

	*base = *key = 0;
	for (size_t i = 0; session[i]; i++) {
		if (session[i] == '/') {
			*base = i + 1;
			dots = 0;
		} else if (session[i] == '.') {
			*key = i + 1;
			dots++;
		}
	}
	return dots == 2;
}

/* True if `uid` is the user in the name of the directory above the session's. */
static bool is_owner(const char *session, uint32_t uid)
{
	static const char before[] = "/shiny-";
	char number[32];
	struct si_text t;

	si_text_init(&t, number, sizeof(number));
	si_text_add(&t, before);
	si_text_number(&t, uid);
	si_text_add(&t, "/");
	for (; *session; session++)
		if (si_same(session, number, t.used))
			return true;
	return false;
}

static long connect_to(int fd, const char *name, size_t bytes)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = PATIENCE };
	struct si_text t;

	si_text_init(&t, address.sun_path + 1, sizeof(address.sun_path) - 1);
	si_text_add(&t, SHINY_GUESTS);
	si_text_bytes(&t, name, bytes);
	si_sys6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&patience, sizeof(patience), 0);
	si_sys6(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&patience, sizeof(patience), 0);
	return si_sys(SYS_connect, fd, &address,
		      offsetof(struct sockaddr_un, sun_path) + 1 + t.used);
}

static int take_descriptor(int fd, uint8_t boot_id[16])
{
	struct iovec data = { boot_id, 16 };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	long got = si_sys(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);

	if (got < 0)
		return (int)got;
	if (got != 16 || message.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    control.header.cmsg_level != SOL_SOCKET || control.header.cmsg_type != SCM_RIGHTS)
		return -EPERM;
	return *(int *)(void *)CMSG_DATA(&control.header);
}

int si_guest_ring(const char *session, uint8_t boot_id[16])
{
	struct ucred peer;
	uint32_t length = sizeof(peer);
	size_t base, key, end;
	long why;
	int fd;

	if (!parts(session, &base, &key))
		return -ENOENT;
	for (end = key; session[end]; end++)
		;
	fd = (int)si_sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	why = connect_to(fd, session + base, key - 1 - base);
	if (why == 0)
		why = si_sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer,
			      (long)&length, 0);
	if (why == 0 && !is_owner(session, peer.uid))
		why = -EPERM;
	if (why == 0)
		why = si_sys6(SYS_sendto, fd, (long)(session + key), (long)(end - key),
			      MSG_NOSIGNAL, 0, 0);
	if (why >= 0)
		why = take_descriptor(fd, boot_id);
	si_sys_close(fd);
	return (int)why;
}
