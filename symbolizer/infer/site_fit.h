/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_fit.h: compares one finding about a call site with the sizes of its blocks.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_SITE_FIT_H
#define SHINY_SYM_SITE_FIT_H

#include "site_answer.h"

enum api_family { FAMILY_NEW, FAMILY_ARRAY, FAMILY_C };

/* Result: the candidate doesn't fit, fits as one object, or fits repeated. */
enum choose_fit { FIT_NOT, FIT_ONE, FIT_MANY };


/* Returns the family of the function that the site calls; if its name is unknown, that of `api`
 * (enum shiny_api). */
enum api_family site_fit_family(unsigned api, const char *callee);
enum choose_fit site_fit(const struct sym_sizes *sizes, enum api_family family,
			 const struct site_candidate *candidate);

#endif
