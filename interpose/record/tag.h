/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag.h: tags of threads, and their records in streams.
 *
 * Runs:      inside.
 * Signals:   safe: a handler that pushes and pops in pairs leaves everything as it was.
 * Allocates: nothing; names lie in a table of fixed size.
 * Threads:   a thread's tags are its own; all threads share the table of names.
 *
 * None of this is on an event's path. A stream records its thread's tag when that changes, at the
 * start of each chunk, and when it is used again after another stream of the same thread
 * (si_thread_nested). So all events between two TAG records have one tag.
 *
 * Names are recorded once a process, by index, before their first use: `told` is set after the
 * record was published, and a thread that reads it as set reads its clock later, so the sidecar's
 * merge finds the name first (order.h). The table is ordinary memory: a forked child inherits the
 * names that its parent has recorded, and the sidecar knows that. An entry that is being filled
 * can't be waited for: the thread that fills it may be our own, interrupted. Then the name gets a
 * second entry, which does no harm, as the sidecar identifies tags by name.
 */
#ifndef SI_TAG_H
#define SI_TAG_H

#include <shiny/wire/sample_weight.h>

#include "writer.h"

enum { SI_TAGS = 1024 }; /* names, a process */
enum { SI_TAG_INDEX = (1 << SHINY_LEVEL_SHIFT) - 1 };

void si_tag_push(const uintptr_t *fp, const char *name);
void si_tag_pop(const uintptr_t *fp);

/* Returns this thread's tag. */
static inline uint32_t si_tag_now(void)
{
	return si_tls.tag & SI_TAG_INDEX;
}

/* Says the level of the thread's sample from here on in its stream, which the tag's records tell,
 * too. */
SI_COLD void si_tag_level_slow(const uintptr_t *fp, uint32_t level);
static inline void si_tag_level(const uintptr_t *fp, uint32_t level)
{
	if (SI_UNLIKELY(si_tls.tag >> SHINY_LEVEL_SHIFT != level))
		si_tag_level_slow(fp, level);
}

struct si_tag_payload {
	struct shiny_tag tag;
	char name[SHINY_TAG_NAME_MAX];
};
/* Copies a name, cut where it is too long; false: it is NULL or "". Both cases are counted. */
bool si_tag_name(const char *name, struct si_tag_payload *out);
static inline uint32_t si_tag_records(const struct si_tag_payload *payload)
{
	return (uint32_t)(sizeof(payload->tag) + payload->tag.name_bytes + SHINY_RECORD_BYTES - 1) /
	       SHINY_RECORD_BYTES;
}

#endif
