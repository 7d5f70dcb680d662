/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.h: finds which of five symptoms a heap shows, with cause, advice, and the number behind
 * each.
 *
 * Runs: CLI. Signals: no. Allocates: as the analyses that it runs, all at once. Threads: one a
 * store.
 *
 * The diagnostic tree of "Shiny Objects" (Upadhyay & Venkat, POMACS 10(1):20, 2026), F14: symptom,
 * then a test that chooses the advice. The tree gives no thresholds; they are set here:
 *
 *   churn          what the allocator's calls cost by the paper's model (pooling.h: alloc and free
 *                  cycles) is at least CHURN_SHARE of one core's time, at the rate of the time
 *                  stamp counter. Test: constructions / allocations (streams.h) above 1, reuse in
 *                  place happens and should be extended; else allocations dominate: a ring or pool
 *                  for the call sites whose blocks die first
 *   growth         most live bytes in the last tenth of the recording are at least GROWTH_RISE
 *                  times those in its middle tenth, and at least one call site grows (leaks.h).
 *                  Test, before the tree's: the call sites that grow freed less than KEPT_FREED of
 *                  their blocks: a leak, or a cache without bound, which no pool mends. Else at
 *                  least half of the live bytes are in blocks of up to SMALL bytes: pool by size
 *                  and lifetime; else the call sites that grow
 *   utilization    live blocks fill less than UTILIZATION_LOW of the bytes of their pages, at the
 *                  peak (pages.h). Test: at least SCATTERED of the pages are pinned by little:
 *                  place by lifetime; else few large ones are alone in their ranges: give pages
 *                  back
 *   hardware       misses of branches and caches by accessed type. Not recorded: unknown. The
 *                  answer is the size of the live set, in cache lines (activity.h)
 *   spikes         the peak is at least SPIKE times the median of live bytes over time
 *                  (activity.h), and these stay below the middle of both afterwards for as long as
 *                  they were above it. Test: when the peak was. In the first fifth: start-up, a
 *                  ring for what is short-lived; up to the half: deferred initialization, spread
 *                  it; later: steady state, tune what collects, or bound the buffers
 *
 * The use of a live block, Z of the paper, needs data on accesses: growth takes it from watched
 * blocks (access/cold.h), utilization from touched pages (space/touched.h). Each diagnosis names
 * the data it lacks.
 *
 * Cost: two passes over the events (replay_together.h).
 */
#ifndef SHINY_DIAGNOSE_H
#define SHINY_DIAGNOSE_H

#include "../answer/field.h"
#include "replay/streams.h"
#include "space/pages.h"
#include "space/pooling.h"
#include "time/activity.h"
#include "time/leaks.h"

#define CHURN_SHARE	0.01
#define GROWTH_RISE	1.1
#define KEPT_FREED	0.5
#define UTILIZATION_LOW 0.5
#define SCATTERED	0.1
#define SPIKE		1.5
enum { DIAGNOSE_SMALL = 256, DIAGNOSE_ROWS = 4 };

enum symptom {
	SYMPTOM_CHURN,
	SYMPTOM_GROWTH,
	SYMPTOM_UTILIZATION,
	SYMPTOM_HARDWARE,
	SYMPTOM_SPIKES,
	SYMPTOMS
};
extern const char *const symptom_names[SYMPTOMS]; /* "churn" */
enum diagnosis_verdict { VERDICT_NO, VERDICT_YES, VERDICT_UNKNOWN, VERDICTS };
extern const char *const verdict_names[VERDICTS]; /* "no", "yes", "unknown" */

struct diagnosis_row {	   /* a type or a call site behind a symptom */
	char *name, *text; /* text: the number that makes it a cause */
	uint64_t blocks, bytes;
};
struct diagnosis {
	enum symptom symptom;
	enum diagnosis_verdict verdict;
	double value, threshold; /* of the symptom's measure; 0, 0: none */
	char *measure;		 /* the measure, in words */
	const char *cause;	 /* of the tree's test: "allocations dominate"; NULL: no symptom */
	const char *advice;
	char *support;	     /* the number behind the advice, or NULL */
	const char *missing; /* data that would say more and were not recorded, or NULL */
	const char *verb;    /* the verb that says more, or NULL */
	struct diagnosis_row rows[DIAGNOSE_ROWS]; /* name NULL: no more rows */
};
struct diagnoses {
	struct diagnosis at[SYMPTOMS];
};

/* The facts behind the diagnoses, of one session and filter. */
struct diagnose_known {
	struct activity activity;
	struct pooling pooling; /* without types */
	struct streams streams;
	struct leaks leaks; /* by call site */
	struct pages pages; /* at the peak */
};
void diagnose_forget(struct diagnose_known *known);

enum {
	DIAGNOSE_HISTORY = 1,	 /* page history, as in struct pages_ask */
	DIAGNOSE_TYPES = 2,	 /* counts live types in `activity`; no diagnosis needs it */
	DIAGNOSE_FULL_NAMES = 4, /* does not shorten names */
	DIAGNOSE_PROGRESS = 8,
};

SHINY_MUST_CHECK struct shiny_err *diagnose_load(struct store *store, const struct filter *filter,
						 unsigned flags, struct diagnose_known *known,
						 struct diagnoses *out);
void diagnose_deinit(struct diagnoses *diagnoses);

extern const struct field diagnosis_fields[]; /* of struct diagnosis: its list "rows" */
extern const struct field diagnose_fields[];  /* of struct diagnoses */

#endif
