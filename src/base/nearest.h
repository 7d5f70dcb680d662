/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.h: "did you mean": the valid name closest to a wrong one.
 *
 * Runs: CLI, sidecar. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_NEAREST_H
#define SHINY_NEAREST_H

#include <stddef.h>

/*
 * The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`,
 * upper and lower case alike (optimal string alignment). Names longer than 63 bytes are compared by
 * their first 63.
 */
unsigned nearest_distance(const char *a, const char *b);

/* Returns the closest of `count` names, or NULL where all are farther than a third of the word's
 * length (at least 1, at most 4) and none begins with the word. */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
