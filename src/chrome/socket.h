/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.h: the DevTools of a Chromium that listens on a port of this machine
 * (--remote-debugging-port): a websocket to the browser itself.
 *
 * Runs: CLI. Signals: no. Allocates: wslay's state and a frame's piece; never a message. Threads:
 * one a socket.
 *
 * GET /json/version names the browser's own endpoint; a second connection is upgraded to a
 * websocket there (RFC 6455, by wslay). The peer is on this machine, and the key of the handshake
 * only guards against caches in between: its echo is not checked.
 */
#ifndef SHINY_SOCKET_H
#define SHINY_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct socket_sink {
	void *context;
	/* takes a piece of a message, or its end: one NUL */
	void (*take)(void *context, const char *text, size_t length);
};
struct devtools_socket;

/* Connects to the browser. NULL: the port is closed, or is not a browser's. Waits no longer than a
 * few seconds. */
struct devtools_socket *socket_open(uint16_t port, const struct socket_sink *sink);
int socket_fd(const struct devtools_socket *socket);
/* Sends a whole message, without NUL; false: it could not be sent. */
bool socket_send(struct devtools_socket *socket, const char *text, size_t length);
/* Reads the available bytes; false: the peer has closed the connection. */
bool socket_read(struct devtools_socket *socket);
void socket_close(struct devtools_socket *socket); /* accepts NULL */

#endif
