/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h: strings that are stored once and named by a small id, from 1 in order of first
 * appearance.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one a table.
 */
#ifndef SHINY_INTERN_H
#define SHINY_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"

/* All zero is an empty table. */
struct intern {
	char **strings;  /* strings[id - 1] */
	uint32_t count, room;
	uint32_t *slots; /* id, 0 empty; open addressing; slot_count is 0 or a power of two > count
	                  * * 4 / 3 */
	uint32_t slot_count;
};

/* The id of `string`; `*is_new` when it had none. */
SHINY_MUST_CHECK struct shiny_err *intern_get(struct intern *table, const char *string,
					      uint32_t *id, bool *is_new);
void intern_deinit(struct intern *table);

#endif
