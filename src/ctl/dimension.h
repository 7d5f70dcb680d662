/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dimension.h: a dimension of --by (by.def) as the analyses name it, each of which has an enum of
 * those that it knows. Callers ask for a dimension that their verb has.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_DIMENSION_H
#define SHINY_DIMENSION_H

#include "../analysis/attribute/groups.h"
#include "../analysis/compare/breakdown.h"
#include "../analysis/totals/sites.h"
#include "../analysis/totals/types.h"
#include "../graph/retained.h"
#include "options.h"

enum group_by dimension_group(enum dimension by);
enum breakdown_by dimension_breakdown(enum dimension by);
enum sites_by dimension_sites(enum dimension by);
enum types_by dimension_types(enum dimension by);
enum retained_by dimension_retained(enum dimension by);

#endif
