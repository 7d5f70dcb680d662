/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_budget.h: SHINY_BUDGET: keeps the cost of a sample within what the user allows, by its
 * rate.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one.
 *
 * The budget is a share of the programs' processor time, or a number of blocks a second. What a
 * recording costs is the sidecar's own processor time and SAMPLE_RECORD_NS for each event, which
 * the hooks take of the programs' (bench/run sampled). Each PERIOD the two are compared: above the
 * budget the mean is doubled, or taken four times where the cost is more than twice as high; below
 * three eighths of it, so that twice the blocks leave a quarter of it free, the mean is halved.
 * Means are those of the wire's sample_weight.h. Each change is a row of table sample_rate; TAG
 * records of the streams tell which blocks it is true of.
 */
#ifndef SHINY_SAMPLE_BUDGET_H
#define SHINY_SAMPLE_BUDGET_H

struct session;

/* Call in each round: new rings get the level; compares, where a period has passed. */
void sample_budget_follow(struct session *session);

#endif
