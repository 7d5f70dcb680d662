/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.h: the counters of a session by name, with their meaning, unit and remedy; and their sum in
 * words.
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
	const char *name, *text, *advice; /* advice: NULL: there is no remedy */
	bool loss;                        /* false: a note; nothing is missing */
	enum loss_unit unit;
};

/* Returns the kind of a counter; NULL: this version has no such counter. */
const struct loss_kind *loss_kind(const char *name);

/* Zeroed: nothing is lost. */
struct loss_sum {
	uint64_t events, chunks, heaps, references;
	bool cut_short; /* all data after some moment is missing */
	bool unknown;   /* the losses of a lying ring are unknown */
	uint64_t most;  /* count of the largest loss */
	char name[24];  /* name of its counter */
};

void loss_add(struct loss_sum *sum, const char *name, uint64_t count);
bool loss_any(const struct loss_sum *sum);
enum { LOSS_WORDS = 300 };
/* Writes the sum in words: "nothing", "12 events", "at least 12 events, and 3 chunks of records",
 * "all that came after the last commit", … */
const char *loss_words(const struct loss_sum *sum, char out[LOSS_WORDS]);
/* Returns the remedy of the largest loss; NULL: none. */
const char *loss_advice(const struct loss_sum *sum);

#endif
