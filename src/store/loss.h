/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.h: the counters of a session by name: what each means, in which unit it counts, what to do
 * about it; and their sum in words.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_LOSS_H
#define SHINY_LOSS_H

#include <stdbool.h>
#include <stdint.h>

enum loss_unit {
	LOSS_EVENTS,
	LOSS_CHUNKS,
	LOSS_HEAPS,
	LOSS_REFERENCES,
	LOSS_SESSION,
	LOSS_UNKNOWN
};

struct loss_kind {
	const char *name, *text, *advice; /* advice: NULL where there is no remedy */
	bool loss;                        /* false: a note, nothing is missing */
	enum loss_unit unit;
};

/* NULL: no counter of this version. */
const struct loss_kind *loss_kind(const char *name);

/* Zeroed: nothing was lost. */
struct loss_sum {
	uint64_t events, chunks, heaps, references;
	bool cut_short; /* what came after some moment is missing, however much it was */
	bool unknown;   /* what a ring that lies has lost is not known */
	uint64_t most;  /* count of the largest loss */
	char name[24];  /* and its counter */
};

void loss_add(struct loss_sum *sum, const char *name, uint64_t count);
bool loss_any(const struct loss_sum *sum);
enum { LOSS_WORDS = 300 };
/* "nothing", "12 events", "at least 12 events, and 3 chunks of records", "all that came after the
 * last commit", … */
const char *loss_words(const struct loss_sum *sum, char out[LOSS_WORDS]);
/* The remedy of the largest loss; NULL: none. */
const char *loss_advice(const struct loss_sum *sum);

#endif
