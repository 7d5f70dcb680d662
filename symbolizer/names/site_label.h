/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_label.h: labels a call that allocates by the instructions around it alone: the characters of
 * a string, an array's elements, a tree's node, a bound callback.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: temporarily. Threads: one at a time a file.
 *
 * A label names no type. Each kind rests on constants or on a callee that hardly any other code
 * has; site_label.c says which, and how often it was right.
 */
#ifndef SHINY_SYM_SITE_LABEL_H
#define SHINY_SYM_SITE_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../flow/flow_callee.h"
#include "label_kind.h"

enum { SITE_LABEL_TEXT = 48 };

/* Finds a label for the call of the allocation function `callee` at `call`, which returns to `ret`.
 * Its kind is NONE if nothing is certain. `known`: the callee's arguments are known; else only that
 * it returns a block. */
struct site_label site_label_find(const struct flow_code *code, uint64_t call, uint64_t ret,
				  const struct flow_callee *callee, bool known);

/* Returns the number of bytes that every block's size is a multiple of. */
uint64_t site_label_multiple(const struct site_label *label);

/* Writes the label's text: "string", "array of 24-byte elements". */
void site_label_text(const struct site_label *label, char out[SITE_LABEL_TEXT]);

#endif
