/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members.h: prints the layout of a type and its blocks, for `shinyctl types --members`.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_CTL_MEMBERS_H
#define SHINY_CTL_MEMBERS_H

#include "ctl.h"

SHINY_MUST_CHECK struct shiny_err *members_show(struct ctl *ctl, struct store *store,
						const struct filter *filter, const char *type);

#endif
