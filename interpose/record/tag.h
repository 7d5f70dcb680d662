/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.h: tags of threads, and what streams say of them.
 *
 * Runs:      inside.
 * Signals:   safe: a handler that pushes and pops in pairs leaves everything as it was.
 * Allocates: nothing; names lie in a table of fixed size.
 * Threads:   a thread's tags are its own; the table of names is everybody's.
 *
 * Nothing of this is on an event's path. A stream says what its thread's tag is when that changes,
 * at the start of each chunk, and when it is taken up after another of the same thread was in use
 * (si_thread_nested). So what is between two TAG records has one tag.
 *
 * Names are recorded once a process, by index, before their first use: `told` is set after the
 * record was published, and whoever reads it as set takes its own time later, so the sidecar's
 * merge finds the name first (order.h). The table is ordinary memory: a forked child knows what its
 * parent has told, and so does the sidecar of the child. An entry that is being made by somebody
 * else can't be waited for: it may be our own thread, interrupted. Then the name gets a second
 * entry, which does no harm, as the sidecar goes by names.
 */
#ifndef SI_TAG_H
#define SI_TAG_H

#include "writer.h"

enum { SI_TAGS = 1024 }; /* names, a process */

void si_tag_push(const uintptr_t *fp, const char *name);
void si_tag_pop(const uintptr_t *fp);

/* This thread's. */
static inline uint32_t si_tag_now(void)
{
	return si_tls.tag;
}

struct si_tag_payload {
	struct shiny_tag tag;
	char name[SHINY_TAG_NAME_MAX];
};
/* Copies a name, cut where it is too long; false: there is none. Either is counted. */
bool si_tag_name(const char *name, struct si_tag_payload *out);
static inline uint32_t si_tag_records(const struct si_tag_payload *payload)
{
	return (uint32_t)(sizeof(payload->tag) + payload->tag.name_bytes + SHINY_RECORD_BYTES - 1) /
	       SHINY_RECORD_BYTES;
}

#endif
