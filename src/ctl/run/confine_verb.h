/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_verb.h: confines a verb (confine.h) to the places where its options let it write.
 *
 * Runs: CLI. Signals: no. Allocates: paths, while it works. Threads: call before starting any.
 *
 * A verb that reads sessions is confined by main before it starts. One that first does something
 * else, such as finding a process or listening, calls this itself, before it reads files of others.
 */
#ifndef SHINY_CONFINE_VERB_H
#define SHINY_CONFINE_VERB_H

#include "../../base/confine.h"
#include "../options.h"

/*
 * Confines the verb to the directories of its options' files, and the logs of sessions that are its
 * operands or --base, if they are being recorded; with CONFINE_NAMER also the caches of names.
 * `more`: further places.
 */
void confine_verb(const struct options *options, enum confine_role role,
		  const struct confine_place *more, size_t count);

#endif
