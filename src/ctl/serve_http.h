/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_http.h: hands out documents on 127.0.0.1, to who knows the token (libmicrohttpd).
 *
 * Runs: CLI. Signals: no. Allocates: a document a request. Threads: one; a process for each
 * document that is being made (serve_jobs.h).
 *
 * Any program and any user of the machine can connect to a port, and any page in a browser can make
 * it ask there. So the address holds 128 random bits; without them the answer is 403, and so it is
 * where the header Host names another host, which is how a foreign name is pointed here (DNS
 * rebinding). Nothing but GET and HEAD is answered, and no part of the address is ever a path of a
 * file.
 */
#ifndef SHINY_SERVE_HTTP_H
#define SHINY_SERVE_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "serve_jobs.h"

struct serve_http;
enum { SERVE_ADDRESS = 96 };

/* `port` 0: any that is free. `address`: "http://127.0.0.1:PORT/TOKEN/". */
SHINY_MUST_CHECK struct shiny_err *serve_http_start(uint16_t port, serve_fn *document,
						    void *context, char address[SERVE_ADDRESS],
						    struct serve_http **out);
/* Answers what has come, or waits for so long. False: it cannot go on. */
bool serve_http_run(struct serve_http *http, int milliseconds);
void serve_http_stop(struct serve_http *http); /* accepts NULL */

#endif
