/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_mismatches.c: `shinyctl mismatches`: lists frees that do not match their allocations, with
 * both stacks. */
#include <inttypes.h>
#include <stdlib.h>

#include "../../analysis/attribute/mismatches.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../../store/event_names.h"
#include "../ctl.h"

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

static struct shiny_err *print(struct ctl *ctl, struct store *store, const struct mismatches *m,
			       size_t limit)
{
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < limit && !err; i++) {
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
	ctl_more(ctl, limit, m->count);
	return err;
}

static struct shiny_err *json_rows(struct json *json, struct store *store,
				   const struct mismatches *m, size_t limit)
{
	struct shiny_err *err = NULL;

	json_object_line(json, "blocks");
	for (unsigned k = 0; k < MISMATCH_KINDS; k++)
		json_number(json, mismatch_names[k], m->blocks[k]);
	json_end(json);
	json_array(json, "rows");
	for (size_t i = 0; i < limit && !err; i++) {
		const struct mismatch *row = &m->rows[i];

		json_object(json, NULL);
		json_text(json, "kind", mismatch_names[row->kind]);
		json_number(json, "count", row->count);
		json_text(json, "allocated_by",
			  row->kind == MISMATCH_UNKNOWN ? NULL : api_name(row->got));
		json_text(json, "freed_by", api_name(row->freed));
		json_number(json, "size", row->size);
		json_number(json, "claimed", row->claimed);
		json_number(json, "process", row->process);
		json_address(json, "address", row->address);
		json_number(json, "first_ns", row->first_ns);
		err = json_stack(json, store, "allocation", row->allocation);
		if (!err)
			err = json_stack(json, store, "free", row->free);
		if (!err)
			err = json_stack(json, store, "first_free", row->first_free);
		json_end(json);
	}
	json_end(json);
	return err;
}

struct shiny_err *cmd_mismatches(struct ctl *ctl)
{
	struct mismatches mismatches;
	struct store *store;
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_begin(ctl, &store, &filter), *closing;
	size_t limit;

	if (!err)
		err = ctl_loaded(store, &filter,
				 mismatches_load(store, &filter, true, &mismatches));
	if (err)
		return err;
	limit = ctl_limit(ctl, mismatches.count, 30);
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		err = json_rows(&ctl->json, store, &mismatches, limit);
	} else {
		err = print(ctl, store, &mismatches, limit);
	}
	mismatches_deinit(&mismatches);
	closing = ctl_end(ctl, store, "lifetimes --by site");
	if (err) {
		shiny_err_free(closing);
		return err;
	}
	return closing;
}
