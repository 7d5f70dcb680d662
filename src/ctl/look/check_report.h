/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_report.h: reports the results of `shinyctl check` as text, JUnit's XML and Markdown.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one.
 *
 * JUnit's format has no standard; this is the subset that Jenkins, GitLab and GitHub's actions
 * read: testsuites, testsuite, testcase, failure, error. Each rule is a test case, and so is the
 * wholeness of each session: rules about an incomplete session prove less than they seem to.
 */
#ifndef SHINY_CHECK_REPORT_H
#define SHINY_CHECK_REPORT_H

#include <stdio.h>

#include "../../analysis/compare/check_eval.h"
#include "../pair.h"

struct check_report {
	const char *tag, *between; /* as given */
	struct session_pair pair;
	struct check_results results; /* none: a session could not be read, see `unread` */
	const char *unread;
	bool loss_allowed; /* a rule limits the losses */
};

uint64_t check_report_count(const struct check_report *report, enum check_state state);
/* Returns 0: all rules hold, 1: one fails, 3: unknown. */
int check_report_status(const struct check_report *report);

void check_report_print(struct ctl *ctl, const struct check_report *report);
void check_report_junit(FILE *out, const struct check_report *report);
void check_report_markdown(FILE *out, const struct check_report *report);

extern const struct field check_fields[]; /* of struct check_report */

#endif
