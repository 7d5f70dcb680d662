/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_choose.h: chooses the candidate of a site that fits its blocks.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_SITE_CHOOSE_H
#define SHINY_SYM_SITE_CHOOSE_H

#include "../elf/symbol_names.h"
#include "site_answer.h"

/* Chooses the candidate that fits blocks of these sizes from `api` (enum shiny_api). answers[0] is
 * the innermost frame's. Types joined of several are interned in `names`. */
void site_choose(const struct site_answer *const *answers, size_t count, unsigned api,
		 const struct sym_sizes *sizes, struct names *names, struct sym_type *out,
		 struct sym_evidence *evidence);

#endif
