/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot_facts.h"

#include <inttypes.h>

#include "../answer/answer.h"
#include "../base/units.h"

void snapshot_facts_print(FILE *out, const struct graph_facts *facts)
{
	fprintf(out, "snapshot %" PRIu32 " of process %" PRIu32 ", at %s", facts->snapshot,
		facts->pid, units_time(UNITS_BUF, facts->time));
}

void keepers_print(const struct style *style, const struct keepers *keepers, const char *what)
{
	const struct answer answer = { .fields = keepers_fields, .result = keepers, .by = what };

	if (!keepers->count)
		return;
	fprintf(style->out, "\n%sKept by%s, in ", tint(style, TINT_BOLD),
		tint_end(style, TINT_BOLD));
	snapshot_facts_print(style->out, &keepers->facts);
	fputs(":\n", style->out);
	answer_table(&answer, "kept_by", style);
}
