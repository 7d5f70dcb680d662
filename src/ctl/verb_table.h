/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_table.h: the body of each verb and question of verbs.def, which a room of src/ctl defines.
 *
 * Runs: CLI. Signals: no. Allocates: as the verb. Threads: one.
 */
#ifndef SHINY_VERB_TABLE_H
#define SHINY_VERB_TABLE_H

#include "verb_body.h"

extern const struct verb_body *const verb_table[QUESTION_COUNT];

/* Runs the verb of the options. */
SHINY_MUST_CHECK struct shiny_err *verb_table_run(struct ctl *ctl);

#endif
