/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_mismatches.c: `shinyctl mismatches`: lists frees that do not match their allocations, with
 * both stacks. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../analysis/attribute/mismatches.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../../store/event_names.h"
#include "../verb_body.h"

enum { FRAMES_SHOWN = 8 };

static const char *const headings[MISMATCH_KINDS] = {
	[MISMATCH_FAMILY] = "freed by another family of functions than allocated them",
	[MISMATCH_SIZE] = "sized delete was told another size",
	[MISMATCH_DOUBLE] = "freed twice",
	[MISMATCH_UNKNOWN] = "freed, but not known to be blocks",
};

static char *what_text(const struct mismatch *m)
{
	switch (m->kind) {
	case MISMATCH_FAMILY:
		return mem_format("%s, then %s", api_name(m->got), api_name(m->freed));
	case MISMATCH_SIZE:
		return mem_format("%s of %s, %s of %s", api_name(m->got),
				  units_bytes(UNITS_BUF, m->size), api_name(m->freed),
				  units_bytes(UNITS_BUF, m->claimed));
	case MISMATCH_DOUBLE:
		return mem_format("%s, then %s again", api_name(m->got), api_name(m->freed));
	default:
		return mem_text(api_name(m->freed));
	}
}

static struct shiny_err *print_stack(const struct ctl *ctl, struct store *store, const char *title,
				     uint32_t stack)
{
	const struct style *style = &ctl->style;
	struct stack_lines lines = { 0 };
	struct shiny_err *err = NULL;

	if (!stack)
		return NULL;
	err = stack_load(store, stack, &lines);
	if (err)
		return err;
	for (size_t i = 0; i < lines.count && i < FRAMES_SHOWN; i++) {
		const struct stack_line *line = &lines.rows[i];
		char *text = line->line
				     ? mem_format("%s  %s:%u", line->label, line->file, line->line)
				     : mem_format("%s  %s", line->label,
						  line->module ? line->module : "");
		size_t room = style->width     ? style->width - 20
			      : style->longest ? 2 * style->longest
					       : 4000;
		char *fitted = mem_alloc(4 * room + 8);

		text_fit(fitted, 4 * room + 8, text, room, TEXT_CUT_MIDDLE);
		fprintf(style->out, "    %-12s%s%s%s\n", i ? "" : title, tint(style, TINT_DIM),
			fitted, tint_end(style, TINT_DIM));
		free(fitted);
		free(text);
	}
	stack_deinit(&lines);
	return NULL;
}

static struct shiny_err *print_mismatches(struct ctl *ctl, const struct answer *answer)
{
	const struct mismatches *m = answer->result;
	struct store *store = answer->context;
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < m->count && i < answer->limit && !err; i++) {
		const struct mismatch *row = &m->rows[i];
		char *what = what_text(row);

		if (!i || row->kind != m->rows[i - 1].kind)
			fprintf(ctl->style.out, "%s%s%s%s: %s\n", i ? "\n" : "",
				tint(&ctl->style, TINT_BOLD), headings[row->kind],
				tint_end(&ctl->style, TINT_BOLD),
				units_count(UNITS_BUF, m->blocks[row->kind]));
		fprintf(ctl->style.out, "  %s \xc3\x97 %s, first 0x%" PRIx64 " after %s\n",
			units_count(UNITS_BUF, row->count), what, row->address,
			units_time(UNITS_BUF, row->first_ns));
		free(what);
		err = print_stack(ctl, store, "allocated", row->allocation);
		if (!err)
			err = print_stack(ctl, store, "freed",
					  row->first_free ? row->first_free : row->free);
		if (!err && row->first_free)
			err = print_stack(ctl, store, "again", row->free);
	}
	if (!m->count)
		fprintf(ctl->style.out, "every free fits its allocation\n");
	ctl_more(ctl, answer->limit, m->count);
	return err;
}

static struct shiny_err *load_mismatches(struct ctl *ctl, struct store *store,
					 const struct filter *filter, void *result)
{
	(void)ctl;
	return mismatches_load(store, filter, true, result);
}
VERB_BODY_DEINIT(struct mismatches, mismatches_deinit)

static struct shiny_err *put_stack(const void *stack, struct json *json, const char *key,
				   void *store)
{
	return sites_json_stack(json, store, key, *(const uint32_t *)stack);
}

/* clang-format off */
static const struct field row_fields[] = {
	{ FIELD_SAME(mismatch_fields) },
	{ FIELD_PUT("allocation", struct mismatch, allocation, put_stack),
	  .help = "the stack of the allocation, innermost first" },
	{ FIELD_PUT("free", struct mismatch, free, put_stack),
	  .help = "the stack of the free" },
	{ FIELD_PUT("first_free", struct mismatch, first_free, put_stack),
	  .help = "of a block freed twice: the stack of the first free" },
	FIELD_LAST
};
/* clang-format on */

/* clang-format off */
static const struct field fields[] = {
	{ FIELD_SAME_OBJECT("blocks", mismatch_kinds_fields),
	  .help = "how many of each kind" },
	{ FIELD_ROWS("rows", struct mismatches, rows, count, row_fields), .limited = true,
	  .spread = true,
	  .help = "frees with the same stacks that do not fit their allocation" },
	FIELD_LAST
};
/* clang-format on */

const struct verb_body verb_mismatches = {
	.needs = "how each block ends",
	.fields = fields,
	.size = sizeof(struct mismatches),
	.load = load_mismatches,
	.deinit = mismatches_deinit_result,
	.usual = 30,
	.print = print_mismatches,
	.next = "lifetimes --by site",
};
