/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_marks.c: `shinyctl activity --marks`: prints named moments. */
#include "../../analysis/time/marks.h"
#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../verb_body.h"

static struct shiny_err *load_marks(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	SHINY_TRY(marks_load(store, filter, true, result));
	if (!CTL_JSON(ctl))
		marks_number(result);
	return NULL;
}
VERB_BODY_DEINIT(struct marks, marks_deinit)

static void print_marks_end(struct ctl *ctl, const void *result)
{
	const struct marks *marks = result;

	if (marks->counted)
		fprintf(ctl->style.out, "\nat the end %s live in %s\n",
			units_bytes(UNITS_BUF, marks->live_bytes),
			units_noun(UNITS_NOUN_BUF, marks->live, "block"));
	if (marks->count == 1)
		fprintf(ctl->style.out,
			"no mark was set: a program sets them with shiny.h, `shinyctl "
			"tell PID mark NAME` from outside\n");
}

const struct verb_body verb_marks = {
	.fields = marks_fields,
	.size = sizeof(struct marks),
	.load = load_marks,
	.deinit = marks_deinit_result,
	.match = true,
	.below = print_marks_end,
	.next = "lifetimes --between FROM..TO",
};
