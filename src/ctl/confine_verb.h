/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine_verb.h: the places in which a verb writes, by its options; then confine.h.
 *
 * Runs: CLI. Signals: no. Allocates: paths, while it works. Threads: call it before there are
 * others.
 *
 * A verb that reads sessions is confined by main before it starts. One that begins with something
 * else, as looking for a process or listening, calls this itself, before it reads what others
 * wrote.
 */
#ifndef SHINY_CONFINE_VERB_H
#define SHINY_CONFINE_VERB_H

#include "../base/confine.h"
#include "options.h"

/*
 * What a verb needs beside the directories of its options' files: the logs of sessions that are its
 * operands or --base, if they are being recorded; CONFINE_NAMER has the caches of names, too.
 * `more`: further places.
 */
void confine_verb(const struct options *options, enum confine_role role,
		  const struct confine_place *more, size_t count);

#endif
