/* SPDX-License-Identifier: Apache-2.0 */
#include "resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/units.h"
#include "../ctl.h"

#define LARGE_SHARE    0.1 /* of the resident bytes of all processes */
#define RESIDENT_KNOWN 0.9 /* a smaller known share is a warning */
enum { OWNERS = 3 };

/* clang-format off */
const struct field resident_fields[] = {
	{ FIELD_TEXT("name", struct resident_row, name), .help = "its role, or its program" },
	{ FIELD_ID("pid", struct resident_row, pid), .help = "its pid" },
	{ FIELD_TIME("at_ns", struct resident_row, time), .help = "when the sample was taken" },
	{ FIELD_BYTES("resident", struct resident_row, bytes), .help = "its resident bytes" },
	{ FIELD_BYTES("known", struct resident_row, known),
	  .help = "those whose owner memory knows" },
	{ FIELD_TEXT("owners", struct resident_row, owners),
	  .help = "the largest owners, as in memory, with their shares of the resident bytes" },
	FIELD_LAST
};
/* clang-format on */

/* An owner of a sample, or a part of one that says little by itself. */
struct resident_part {
	const char *by, *name;
	uint64_t rss;
};

ORDER_BY(by_rss, struct resident_part, ORDER_DOWN(rss) ?: ORDER_TEXT(name))

/* Returns the largest owners of a sample with their shares. Of memory that is known by a name, or
 * by the module that mapped it, that is what is named. */
static char *owners_text(const struct memory_process *p)
{
	struct resident_part *parts = NULL;
	size_t count = 0, room = 0, size;
	char *text = NULL;
	FILE *out = mem_stream_open(&text, &size);

	for (size_t i = 0; i < p->owner_count; i++) {
		const struct memory_owner *o = &p->owners[i];
		bool mapped = strcmp(o->owner, "mapped") == 0;
		bool whole = !mapped && strcmp(o->owner, "named") != 0;

		for (size_t d = 0; d < (whole ? 1 : o->count); d++)
			*(struct resident_part *)rows_push(&parts, &count, &room, sizeof(*parts)) =
				(struct resident_part){
					mapped ? "mapped by " : "",
					whole ? o->owner : o->details[d].detail,
					whole ? o->sums.rss : o->details[d].sums.rss,
				};
	}
	if (count)
		qsort(parts, count, sizeof(*parts), by_rss);
	for (size_t i = 0; i < count && i < OWNERS && parts[i].rss; i++)
		fprintf(out, "%s%s%s %s", i ? ", " : "", parts[i].by, parts[i].name,
			units_share(UNITS_BUF, (double)parts[i].rss, (double)p->sums.rss));
	mem_stream_close(out);
	free(parts);
	return text;
}

struct shiny_err *resident_load(struct store *store, const struct filter *filter,
				enum memory_moment moment, struct resident *out)
{
	struct memory_history memory;
	uint64_t all = 0;

	SHINY_TRY(memory_load(store, filter, moment, 0, &memory));
	for (size_t i = 0; i < memory.count; i++)
		all += memory.processes[i].sums.rss;
	for (size_t i = 0; i < memory.count; i++) {
		const struct memory_process *p = &memory.processes[i];

		if (!all || (double)p->sums.rss < LARGE_SHARE * (double)all)
			break;
		if (out->large++ >= RESIDENT_MOST)
			continue;
		out->rows[out->count++] = (struct resident_row){
			.name = mem_text(p->name),
			.pid = p->pid,
			.time = p->time,
			.bytes = p->sums.rss,
			.known = p->sums.rss - memory_owner_total(p, "unclassified"),
			.owners = owners_text(p),
		};
	}
	memory_deinit(&memory);
	return NULL;
}

void resident_deinit(struct resident *resident)
{
	for (size_t i = 0; i < resident->count; i++) {
		free(resident->rows[i].name);
		free(resident->rows[i].owners);
	}
}

char *resident_text(const struct resident *resident, size_t row, bool many)
{
	const struct resident_row *r = &resident->rows[row];
	bool last = row + 1 == resident->count;
	char more[UNITS_TEXT + 16] = "";

	if (last && resident->large > resident->count)
		snprintf(more, sizeof(more), "; %zu more", resident->large - resident->count);
	return mem_format("resident    %15s   %s%safter %s: %s%s%s",
			  units_bytes(UNITS_BUF, r->bytes), many ? r->name : "", many ? " " : "",
			  units_time(UNITS_BUF, r->time), r->owners, more,
			  last ? " \xe2\x86\x92 memory" : "");
}

void resident_print(const struct style *style, const struct resident *resident, size_t rows,
		    bool many)
{
	struct resident shown = *resident;

	if (shown.count > rows)
		shown.count = rows;
	for (size_t i = 0; i < shown.count; i++) {
		const struct resident_row *r = &shown.rows[i];
		AUTO_FREE char *text = resident_text(&shown, i, many);
		AUTO_FREE char *line = mem_format("  %s", text);

		ctl_line(style,
			 (double)r->known < RESIDENT_KNOWN * (double)r->bytes ? TINT_WARN
									       : TINT_NONE,
			 line);
	}
}
