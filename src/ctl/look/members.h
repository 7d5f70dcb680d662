/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members.h: prints the layout of a type and its blocks, for `shinyctl types --members`.
 *
 * Runs: CLI. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_CTL_MEMBERS_H
#define SHINY_CTL_MEMBERS_H

#include "../verb_body.h"

extern const struct verb_body verb_members;

#endif
