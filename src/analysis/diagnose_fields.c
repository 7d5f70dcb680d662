/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose.h"

FIELD_SKIPPER(is_no_row, struct diagnosis_row, !r->name)

/* clang-format off */
#define ROW struct diagnosis_row
#define DIAGNOSIS struct diagnosis
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", ROW, name), FIELD_NAME, .title = "call site",
	  .help = "the call site behind the symptom" },
	{ FIELD_TEXT("text", ROW, text), .title = "",
	  .help = "the number that makes it a cause, in words" },
	{ FIELD_COUNT("blocks", ROW, blocks), .help = "its blocks" },
	{ FIELD_BYTES("bytes", ROW, bytes), .help = "their bytes" },
	FIELD_LAST
};
const struct field diagnosis_fields[] = {
	{ FIELD_WORD("name", DIAGNOSIS, symptom, symptom_names),
	  .help = "churn, growth, utilization, hardware or spikes" },
	{ FIELD_WORD("verdict", DIAGNOSIS, verdict, verdict_names), .help = "yes, no or unknown" },
	{ FIELD_REAL("value", DIAGNOSIS, value),
	  .help = "the measure: a share of a core, of the pages' bytes, or a ratio; 0: none" },
	{ FIELD_REAL("threshold", DIAGNOSIS, threshold),
	  .help = "the measure from which on the symptom is there; 0: none" },
	{ FIELD_TEXT("measure", DIAGNOSIS, measure), .help = "the measure, in words" },
	{ FIELD_TEXT("cause", DIAGNOSIS, cause), .help = "the cause; null: none" },
	{ FIELD_TEXT("advice", DIAGNOSIS, advice), .help = "what to do; null: nothing" },
	{ FIELD_TEXT("support", DIAGNOSIS, support),
	  .help = "the number behind the advice, in words; null: none" },
	{ FIELD_TEXT("missing", DIAGNOSIS, missing),
	  .help = "data that was not recorded and would say more; null: none" },
	{ FIELD_TEXT("verb", DIAGNOSIS, verb), .help = "the verb that says more; null: none" },
	{ FIELD_ARRAY("rows", DIAGNOSIS, rows, row_fields), .skip = is_no_row,
	  .shows = "bytes blocks name text", .help = "a call site behind the symptom" },
	FIELD_LAST
};
const struct field diagnose_fields[] = {
	{ FIELD_ARRAY("symptoms", struct diagnoses, at, diagnosis_fields), .spread = true,
	  .help = "a symptom" },
	FIELD_LAST
};
