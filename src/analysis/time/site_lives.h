/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_lives.h: how many of each call site's blocks lived for a short time, a middling one and a
 * long one (lifetimes.h), and when most bytes were live: what is to be known before blocks are
 * looked at a second time.
 *
 * Runs: CLI. Signals: no. Allocates: 16 bytes a call site, 16 a process. Threads: one a store.
 *
 * pooling.h gives a block the lifetime that most of its site had. diagnose.h follows closely only
 * the sites that can become rows of its answers: they are few, and an event of any other one costs
 * a glance. One pass over the events.
 */
#ifndef SHINY_SITE_LIVES_H
#define SHINY_SITE_LIVES_H

#include <shiny/wire/wire.h>

#include "lifetimes.h"

struct site_lives {
	struct groups sites;
	/* by site; of blocks that no fork brought along and that no collector made */
	uint32_t (*lives)[POPULATIONS];
	uint32_t *short_objects; /* by site: of those that one made, short lives */
	uint64_t objects;        /* of those, all */
	uint64_t peak_time, duration; /* ns; when most bytes were live, objects left out; of the
				       * session */
};

/* `full_names`: sites of one name are one site, as everywhere. */
SHINY_MUST_CHECK struct shiny_err *site_lives_load(struct store *store,
						   const struct filter *filter,
						   bool full_names, bool progress,
						   struct site_lives *out);
void site_lives_deinit(struct site_lives *lives);

/* That most of the site's blocks had; the shorter one of equals. */
enum population site_lives_usual(const struct site_lives *lives, uint32_t site);
/* By site: it has no fewer short lives, objects' too, than the `most`-th of all that have some. The
 * caller's to free. */
bool *site_lives_shortest(const struct site_lives *lives, size_t most);

/* Of a block that counts here, and in pools. */
static inline bool site_lives_counted(const struct life *life)
{
	return !life->inherited && life->api != SHINY_API_COLLECTED;
}

#endif
