/* SPDX-License-Identifier: Apache-2.0 */
/*
 * losses.h: a session's losses, summed over its processes.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one a store.
 */
#ifndef SHINY_LOSSES_H
#define SHINY_LOSSES_H

#include "../../answer/field.h"
#include "../../store/loss.h"
#include "../query/filter.h"

struct loss_row {
	char *name, *text;
	const char *advice; /* NULL: no remedy, or unknown to this version */
	bool loss; /* false: a note, not a loss */
	uint64_t count;
};
struct losses {
	struct loss_row *rows; /* only counts above zero, losses first */
	size_t count, room;
	uint64_t lost;         /* sum of all losses, whatever their units */
	struct loss_sum sum;   /* the losses by unit, and what an unfinished recording lacks */
	bool incomplete;       /* the recording was not finished: the file ends at the last
	                        * commit, */
	uint64_t events;       /* in the file; 0: the recording is complete */
	uint64_t kept_from, duration; /* ns: only events from kept_from on were kept, of so much
	                               * time; 0: all were */
	uint64_t sample;       /* mean of the sample, bytes; 0: all blocks were recorded */
	uint64_t sample_changes; /* of the mean, by its budget; `sample` is the largest */
};

SHINY_MUST_CHECK struct shiny_err *losses_load(struct store *store, struct losses *out);
void losses_deinit(struct losses *losses);

extern const struct field losses_fields[]; /* of struct losses */

#endif
