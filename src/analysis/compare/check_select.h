/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_select.h: which cells of a breakdown the selectors of a rule mean.
 *
 * Runs: CLI. Signals: no. Allocates: the result. Threads: any.
 */
#ifndef SHINY_CHECK_SELECT_H
#define SHINY_CHECK_SELECT_H

#include "breakdown.h"
#include "check_rule.h"

/* A flag for each cell, the caller's to free. */
bool *check_select(const struct breakdown *c, const struct check_rule *rule);

#endif
