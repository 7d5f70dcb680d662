/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_sql.h: what queries of table access (`s`) have in common.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_ACCESS_SQL_H
#define SHINY_ACCESS_SQL_H

/* When the process of rows p ended, or the recording. */
#define ACCESS_END_SQL                                                  \
	"COALESCE(NULLIF(p.end_ns, 0), (SELECT value FROM session WHERE " \
	"key = 'duration_ns'))"

/* ns of a watch. A block that was freed is unused for the rest of its window: use_estimate.h. */
#define ACCESS_TIME_SQL                                                                    \
	"CASE s.ending WHEN 'freed' THEN MIN(s.window_ns, " ACCESS_END_SQL " - s.armed_ns) " \
	"ELSE s.until_ns - s.armed_ns END"

#endif
