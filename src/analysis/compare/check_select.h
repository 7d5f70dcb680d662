/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_select.h: finds the cells of a breakdown that a rule's selectors match.
 *
 * Runs: CLI. Signals: no. Allocates: the result. Threads: any.
 */
#ifndef SHINY_CHECK_SELECT_H
#define SHINY_CHECK_SELECT_H

#include "breakdown.h"
#include "check_rule.h"

/* Returns a flag for each cell; the caller frees it. */
bool *check_select(const struct breakdown *c, const struct check_rule *rule);

#endif
