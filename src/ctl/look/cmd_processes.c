/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_processes.c: `shinyctl info --processes`. */
#include <string.h>

#include "../../analysis/totals/headlines.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../verb_body.h"

enum { UNRECORDED_USUAL = 20 };

struct processes_answer {
	struct processes processes;
	struct unrecorded unrecorded;
};

static char *not_recorded(const void *row, void *context)
{
	const struct process_row *r = row;

	return strcmp(r->attach, "none") == 0 && *r->attach_text
		       ? mem_format("    not recorded: %s\n", r->attach_text)
		       : NULL;
}

static void print_unrecorded(struct ctl *ctl, const struct unrecorded *unrecorded)
{
	size_t limit = ctl_limit(ctl, unrecorded->count, UNRECORDED_USUAL);

	if (!unrecorded->count)
		return;
	ctl_heading(ctl, "Not recorded", "");
	for (size_t i = 0; i < limit; i++) {
		AUTO_FREE char *line = unrecorded_line(&unrecorded->rows[i]);

		fprintf(ctl->style.out, "  %s\n", line);
	}
	ctl_more(ctl, limit, unrecorded->count);
}

static struct shiny_err *print_processes(struct ctl *ctl, const struct answer *answer)
{
	const struct processes_answer *a = answer->result;
	struct answer rows = *answer;

	rows.below = not_recorded;
	verb_body_table(ctl, &rows);
	print_unrecorded(ctl, &a->unrecorded);
	return NULL;
}

static struct shiny_err *load_processes(struct ctl *ctl, struct store *store,
					const struct filter *filter, void *result)
{
	struct processes_answer *a = result;
	struct shiny_err *err = unrecorded_load(store, &a->unrecorded);

	if (err)
		return err;
	err = processes_load(store, NULL, &a->processes);
	if (err)
		unrecorded_deinit(&a->unrecorded);
	return err;
}

static void deinit(void *result)
{
	struct processes_answer *a = result;

	unrecorded_deinit(&a->unrecorded);
	processes_deinit(&a->processes);
}

/* clang-format off */
static const struct field fields[] = {
	{ FIELD_GROUP(struct processes_answer, processes, processes_fields) },
	{ FIELD_GROUP(struct processes_answer, unrecorded, unrecorded_fields) },
	FIELD_LAST
};
/* clang-format on */

const struct verb_body verb_processes = {
	.fields = fields,
	.size = sizeof(struct processes_answer),
	.load = load_processes,
	.deinit = deinit,
	.match = true,
	.print = print_processes,
	.next = "types --process id:1",
};
