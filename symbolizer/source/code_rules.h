/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_rules.h: labels blocks that functions of well-known allocators allocate. In a file without
 * symbols such a function is found by a text that only it names, or because it runs when a library
 * is loaded (code.rules).
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 24 bytes a rule. Threads: some of its own while it
 * searches.
 */
#ifndef SHINY_SYM_CODE_RULES_H
#define SHINY_SYM_CODE_RULES_H

#include "../../src/base/mem.h"
#include "../flow/flow_callee.h"

/* Blocks that code in [low, high) allocates have the label of rule number `rule`. */
struct code_label {
	uint64_t low, high;
	uint64_t rule;
};
struct code_labels {
	VEC(struct code_label) all; /* at most one a rule */
};

/* Searches the file's texts once a rule, and its code once: 0.2 s for 300 MB. */
void code_labels_find(const struct flow_code *code, struct code_labels *out);
void code_labels_deinit(struct code_labels *labels);

/* Returns the label of blocks that the code at `vaddr` allocates; *length is its length; NULL:
 * none. */
const char *code_labels_at(const struct code_labels *labels, uint64_t vaddr, size_t *length);

/* The number of rules, and a hash of their text. */
uint64_t code_rules_count(void);
uint64_t code_rules_hash(void);

#endif
