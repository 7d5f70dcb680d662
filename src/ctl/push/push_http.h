/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_http.h: POSTs profiles to a URL (libcurl).
 *
 * Runs: CLI. Signals: no. Allocates: what libcurl does; the body is the caller's. Threads: one, and
 * libcurl's for names of hosts.
 *
 * A request takes PUSH_HTTP_SECONDS at most. No redirect is followed: a profile, and what the
 * headers say of its sender, go to the host that was named.
 */
#ifndef SHINY_PUSH_HTTP_H
#define SHINY_PUSH_HTTP_H

#include <stdint.h>

#include "push_receiver.h"

enum { PUSH_HTTP_SECONDS = 10 };

struct push_http; /* a receiver */

/* Checks the URL; `headers`: a file with a header a line, NULL: none. */
SHINY_MUST_CHECK struct shiny_err *push_http_open(const char *url, const char *headers,
						  struct push_http **out);
void push_http_close(struct push_http *http); /* accepts NULL */

enum push_receiver push_http_receiver(const struct push_http *http);
const char *push_http_name(const struct push_http *http); /* the URL, without a password */

struct push_request {
	const void *body;
	size_t bytes;
	const char *service;
	uint64_t from, to; /* what it is of, seconds since 1970 */
};
/* Sends a profile. Returns why it was not taken, or NULL; the caller frees it. */
char *push_http_send(struct push_http *http, const struct push_request *request);

#endif
