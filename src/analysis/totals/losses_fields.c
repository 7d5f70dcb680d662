/* SPDX-License-Identifier: Apache-2.0 */
#include "losses.h"

FIELD_GETTER(get_complete, struct losses, flag, !r->incomplete)
FIELD_GETTER(get_weight, struct loss_row, text, r->loss ? "loss" : "note")

/* clang-format off */
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", struct loss_row, name), .help = "the counter" },
	{ FIELD_WORKED_OUT("weight", TEXT, get_weight),
	  .help = "loss: data is missing; note: none is" },
	{ FIELD_COUNT("count", struct loss_row, count), .help = "its value, above 0" },
	{ FIELD_TEXT("text", struct loss_row, text), .help = "what was counted" },
	{ FIELD_TEXT("advice", struct loss_row, advice), .help = "the remedy; null: none" },
	FIELD_LAST
};
const struct field losses_fields[] = {
	{ FIELD_BYTES("sample", struct losses, sample), .optional = true,
	  .help = "SHINY_SAMPLE: the blocks are a sample, and counts and bytes are estimates from "
		  "it; the largest mean" },
	{ FIELD_COUNT("sample_changes", struct losses, sample_changes), .optional = true,
	  .help = "how often SHINY_BUDGET changed the mean: view v_sample_rates has the changes" },
	{ FIELD_TIME("kept_from_ns", struct losses, kept_from), .optional = true,
	  .help = "SHINY_KEEP: only events from then on were kept, and older ones are in sums" },
	{ FIELD_COUNT("lost", struct losses, lost), .help = "the sum of all losses" },
	{ FIELD_WORKED_OUT("complete", FLAG, get_complete),
	  .help = "the recording was finished" },
	{ FIELD_ROWS("losses", struct losses, rows, count, row_fields), .help = "a loss or note" },
	FIELD_LAST
};
