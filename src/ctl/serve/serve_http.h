/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_http.h: serves documents on 127.0.0.1 to clients that know the token (libmicrohttpd).
 *
 * Runs: CLI. Signals: no. Allocates: a document a request. Threads: one; a process for each
 * document being made (serve_jobs.h).
 *
 * Any program and any user of the machine can connect to a port, and any page in a browser can make
 * the browser do so. So the address has 128 random bits; without them the answer is 403. So it is
 * if the header Host names another host, as when a foreign name is made to point here (DNS
 * rebinding). Only GET and HEAD are answered, and no part of the address is ever a file's path.
 */
#ifndef SHINY_SERVE_HTTP_H
#define SHINY_SERVE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "serve_jobs.h"

struct serve_http;
enum { SERVE_ADDRESS = 96 };

/* Starts the server. `port` 0: any free one. `address`: "http://127.0.0.1:PORT/TOKEN/". */
SHINY_MUST_CHECK struct shiny_err *serve_http_start(uint16_t port, serve_fn *document,
						    void *context, char address[SERVE_ADDRESS],
						    struct serve_http **out);
/* Answers pending requests, or waits up to this time. False: the server failed. */
bool serve_http_run(struct serve_http *http, int milliseconds);
void serve_http_stop(struct serve_http *http); /* accepts NULL */

#endif
