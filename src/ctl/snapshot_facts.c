/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot_facts.h"

#include <inttypes.h>

#include "../base/units.h"

void snapshot_facts_print(FILE *out, const struct graph_facts *facts)
{
	fprintf(out, "snapshot %" PRIu32 " of process %" PRIu32 ", at %s", facts->snapshot,
		facts->pid, units_time(UNITS_BUF, facts->time));
}

void snapshot_facts_json(struct json *json, const struct graph_facts *facts)
{
	json_number(json, "snapshot", facts->snapshot);
	json_number(json, "process", facts->process);
	json_number(json, "pid", facts->pid);
	json_number(json, "at_ns", facts->time);
}
