/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_receiver.h: the protocols of receivers (receiver.def): which one a URL means, and the body
 * of a request.
 *
 * Runs: CLI. Signals: no. Allocates: the body (mem.h). Threads: any.
 */
#ifndef SHINY_PUSH_RECEIVER_H
#define SHINY_PUSH_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/err.h"

/* No packed profile has it but by chance, one of 2^160. */
#define PUSH_BOUNDARY "shiny-4c1e0f5b8a6d49d2b7e3a95f10c86d7e2f4b9a30"

enum push_receiver {
#define PUSH_RECEIVER(ID, path, type, encoding, since, http) PUSH_##ID,
#include "receiver.def"
	PUSH_RECEIVERS
};
enum push_since { PUSH_SINCE_LAST, PUSH_SINCE_START };
struct push_protocol {
	const char *path, *type, *encoding;
	enum push_since since;
	unsigned http;
};
extern const struct push_protocol push_protocols[PUSH_RECEIVERS];

/* Returns the receiver of a URL's path. */
enum push_receiver push_receiver_of(const char *path);

/* Makes the body. `text`: the profile, of OTLP the request; `service`: the program's name. */
SHINY_MUST_CHECK struct shiny_err *push_receiver_body(enum push_receiver receiver,
						      const char *service, const char *text,
						      size_t bytes, char **body,
						      size_t *body_bytes);

#endif
