/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_sql.h: parts of SQL that queries of table access (`s`) share.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_ACCESS_SQL_H
#define SHINY_ACCESS_SQL_H

/* The time when the process of rows p ended, or the recording. */
#define ACCESS_END_SQL                                                  \
	"COALESCE(NULLIF(p.end_ns, 0), (SELECT value FROM session WHERE " \
	"key = 'duration_ns'))"

/* The ns that a watch lasted. A freed block counts as unused for the rest of its window:
 * use_estimate.h. */
#define ACCESS_TIME_SQL                                                                    \
	"CASE s.ending WHEN 'freed' THEN MIN(s.window_ns, " ACCESS_END_SQL " - s.armed_ns) " \
	"ELSE s.until_ns - s.armed_ns END"

#endif
