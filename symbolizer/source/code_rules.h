/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_rules.h: functions of well-known allocators, found in a file without symbols by a text that
 * only they name, or by running when a library is loaded (code.rules), and what their blocks are
 * for.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 24 bytes a rule. Threads: some of its own while it
 * searches.
 */
#ifndef SHINY_SYM_CODE_RULES_H
#define SHINY_SYM_CODE_RULES_H

#include "../../src/base/mem.h"
#include "../flow/flow_callee.h"

/* Blocks that code between `low` and `high` allocates have the label of rule number `rule`. */
struct code_label {
	uint64_t low, high;
	uint64_t rule;
};
struct code_labels {
	VEC(struct code_label) all; /* one a rule at most, in the order of rules */
};

/* Goes over the file's texts once a rule, and over its code once: 0.2 s for 300 MB. */
void code_labels_find(const struct flow_code *code, struct code_labels *out);
void code_labels_deinit(struct code_labels *labels);

/* The label for what the code at `vaddr` allocates, with its length; NULL: none. */
const char *code_labels_at(const struct code_labels *labels, uint64_t vaddr, size_t *length);

/* The number of rules, and a hash of their text. */
uint64_t code_rules_count(void);
uint64_t code_rules_hash(void);

#endif
