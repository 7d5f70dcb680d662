/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_report.h: what `shinyctl check` found, as text, JSON, JUnit's XML and Markdown.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: one.
 *
 * JUnit's format has no standard of its own; what is written is what Jenkins, GitLab and GitHub's
 * actions read: testsuites, testsuite, testcase, failure, error. A rule is a test case, and so is,
 * for each session, that it is whole: rules about a session that is not are worth less than they
 * seem.
 */
#ifndef SHINY_CHECK_REPORT_H
#define SHINY_CHECK_REPORT_H

#include <stdio.h>

#include "../analysis/compare/check_eval.h"
#include "ctl.h"

struct check_report {
	const struct check_rules *rules;
	const struct check_results
		*results;	      /* NULL: a session could not be read, and `unread` says so */
	const char *paths[2];         /* base (NULL: none), new */
	const char *unread;
	bool loss_allowed;            /* a rule says how much may be lost */
};

uint64_t check_report_count(const struct check_report *report, enum check_state state);
/* 0 all rules hold, 1 one fails, 3 that cannot be said. */
int check_report_status(const struct check_report *report);

void check_report_print(struct ctl *ctl, const struct check_report *report);
void check_report_json(struct json *json, const struct check_report *report);
void check_report_junit(FILE *out, const struct check_report *report);
void check_report_markdown(FILE *out, const struct check_report *report);

#endif
