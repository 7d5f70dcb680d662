/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_reader.h: input of the rules: one file's code, debug information and names.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: one at a time.
 */
#ifndef SHINY_SYM_SITE_READER_H
#define SHINY_SYM_SITE_READER_H

#include "../dwarf/debug_units.h"
#include "../elf/symbol_names.h"
#include "../flow/flow.h"
#include "containers.h"

struct debug_twin;

struct site_reader {
	struct flow_code code;
	struct debug_units *units; /* NULL: symbols only */
	struct names *names;
	const struct container_rules *rules;
	bool innermost; /* the callee allocated a block, whatever it is */
	struct debug_twin *fold; /* of functions that share the code, the one in question; NULL: the
	                          * one found by the address */
};

#endif
