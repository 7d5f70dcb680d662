/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c: see socket.h. */
#define _GNU_SOURCE
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <wslay/wslay.h>

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "json_stream.h"

enum { HEAD_BYTES = 16384, WAIT_SECONDS = 5 };

struct devtools_socket {
	int fd;
	struct socket_sink sink;
	wslay_event_context_ptr websocket;
	bool control; /* the current frame is a control frame, not part of a message */
	bool gone;
};

/* ---- HTTP: two GET requests ---- */

static int dial(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval wait = { .tv_sec = WAIT_SECONDS };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends the request and reads the head of the answer, without its body, into `head`. Returns the
 * status, or 0. */
static int ask(int fd, const char *request, char head[HEAD_BYTES])
{
	size_t length = strlen(request), got = 0;

	if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
		return 0;
	while (got < HEAD_BYTES - 1 && recv(fd, head + got, 1, 0) == 1) {
		head[++got] = 0;
		if (got >= 4 && strcmp(head + got - 4, "\r\n\r\n") == 0)
			return strncmp(head, "HTTP/1.1 ", 9) == 0 ? atoi(head + 9) : 0;
	}
	return 0;
}

static bool take_url(void *context, const struct json_stream *s, enum json_kind kind,
		     const char *text, size_t length)
{
	if (s->depth == 1 && kind == JSON_TEXT && strcmp(s->keys[0], "webSocketDebuggerUrl") == 0)
		json_stream_copy(context, HEAD_BYTES, text, length);
	return true;
}

/* Finds the path of the browser's endpoint, "/devtools/browser/…"; false: there is none. */
static bool find_endpoint(uint16_t port, char path[HEAD_BYTES])
{
	struct json_sink sink = { .context = path, .value = take_url };
	AUTO_FREE struct json_stream *json = mem_zero(1, sizeof(*json));
	AUTO_FREE char *request = mem_format(
			       "GET /json/version HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", port),
		       *body = mem_zero(HEAD_BYTES, 1);
	AUTO_CLOSE int fd = dial(port);
	const char *length_at, *at;
	size_t length = 0, got = 0;
	ssize_t n;

	path[0] = 0;
	if (fd < 0 || ask(fd, request, body) != 200)
		return false;
	length_at = strcasestr(body, "\r\nContent-Length:");
	length = length_at ? strtoul(length_at + 17, NULL, 10) : 0;
	if (!length || length >= HEAD_BYTES)
		return false;
	while (got < length && (n = recv(fd, body + got, length - got, 0)) > 0)
		got += (size_t)n;
	json_stream_init(json, &sink);
	json_stream_feed(json, body, got);
	json_stream_deinit(json);
	at = strstr(path, "/devtools/");
	if (!at ||
	    at[strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/")])
		return false;
	memmove(path, at, strlen(at) + 1);
	return strlen(path) < 256;
}

/* ---- the websocket ---- */

static ssize_t on_receive(wslay_event_context_ptr context, uint8_t *data, size_t length, int flags,
			  void *user)
{
	struct devtools_socket *s = user;
	ssize_t n = recv(s->fd, data, length, 0);

	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
	} else {
		s->gone = true;
		wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
	}
	return -1;
}

static ssize_t on_send(wslay_event_context_ptr context, const uint8_t *data, size_t length,
		       int flags, void *user)
{
	struct devtools_socket *s = user;
	ssize_t n = send(s->fd, data, length, MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	wslay_event_set_error(context, errno == EAGAIN || errno == EINTR
					       ? WSLAY_ERR_WOULDBLOCK
					       : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static int on_mask(wslay_event_context_ptr context, uint8_t *data, size_t length, void *user)
{
	return getrandom(data, length, 0) == (ssize_t)length ? 0 : -1;
}

static void on_frame(wslay_event_context_ptr context,
		     const struct wslay_event_on_frame_recv_start_arg *frame, void *user)
{
	struct devtools_socket *s = user;

	s->control = wslay_is_ctrl_frame(frame->opcode);
}

static void on_piece(wslay_event_context_ptr context,
		     const struct wslay_event_on_frame_recv_chunk_arg *piece, void *user)
{
	struct devtools_socket *s = user;

	if (!s->control)
		s->sink.take(s->sink.context, (const char *)piece->data, piece->data_length);
}

static void on_message(wslay_event_context_ptr context,
		       const struct wslay_event_on_msg_recv_arg *message, void *user)
{
	struct devtools_socket *s = user;

	if (!wslay_is_ctrl_frame(message->opcode))
		s->sink.take(s->sink.context, "", 1);
}

struct devtools_socket *socket_open(uint16_t port, const struct socket_sink *sink)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = on_receive,
		.send_callback = on_send,
		.genmask_callback = on_mask,
		.on_frame_recv_start_callback = on_frame,
		.on_frame_recv_chunk_callback = on_piece,
		.on_msg_recv_callback = on_message,
	};
	AUTO_FREE char *path = mem_alloc(HEAD_BYTES), *head = mem_alloc(HEAD_BYTES),
		       *request = NULL;
	struct devtools_socket *s;
	int fd;

	if (!find_endpoint(port, path))
		return NULL;
	request = mem_format(
		"GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\nConnection: "
		"Upgrade\r\n"
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c2hpbnkgc2hpbnkgc2hpbg==\r\n\r\n",
		path, port);
	fd = dial(port);
	if (fd < 0)
		return NULL;
	if (ask(fd, request, head) != 101) {
		close(fd);
		return NULL;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	s = mem_zero(1, sizeof(*s));
	s->fd = fd;
	s->sink = *sink;
	if (wslay_event_context_client_init(&s->websocket, &callbacks, s) != 0) {
		socket_close(s);
		return NULL;
	}
	wslay_event_config_set_no_buffering(s->websocket, 1);
	return s;
}

int socket_fd(const struct devtools_socket *s)
{
	return s->fd;
}

bool socket_send(struct devtools_socket *s, const char *text, size_t length)
{
	struct wslay_event_msg message = { .opcode = WSLAY_TEXT_FRAME,
					   .msg = (const uint8_t *)text,
					   .msg_length = length };

	if (wslay_event_queue_msg(s->websocket, &message) != 0)
		return false;
	while (wslay_event_want_write(s->websocket)) {
		struct pollfd fd = { .fd = s->fd, .events = POLLOUT };

		if (poll(&fd, 1, WAIT_SECONDS * 1000) != 1 || wslay_event_send(s->websocket) != 0)
			return false;
	}
	return true;
}

bool socket_read(struct devtools_socket *s)
{
	if (wslay_event_recv(s->websocket) != 0 || s->gone ||
	    wslay_event_get_close_received(s->websocket))
		return false;
	/* answers to pings */
	return !wslay_event_want_write(s->websocket) || wslay_event_send(s->websocket) == 0;
}

void socket_close(struct devtools_socket *s)
{
	if (!s)
		return;
	if (s->websocket)
		wslay_event_context_free(s->websocket);
	close(s->fd);
	free(s);
}
