/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_choose.h: which of a site's candidates fits the blocks that it made?
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_SITE_CHOOSE_H
#define SHINY_SYM_SITE_CHOOSE_H

#include "../elf/symbol_names.h"
#include "site_answer.h"

/* The candidate that fits blocks of these sizes from `api` (enum shiny_api). answers[0] is the
 * innermost frame's. `names` has what is put together of several. */
void site_choose(const struct site_answer *const *answers, size_t count, unsigned api,
		 const struct sym_sizes *sizes, struct names *names, struct sym_type *out,
		 struct sym_evidence *evidence);

#endif
