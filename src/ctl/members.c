/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members.c: prints the layout of a type as pahole does, from the debug information of the
 * session's modules, and the cost of its holes and padding over the session's blocks. Guesses
 * (type_query.h) do not count, so the cost is a lower bound.
 */
#include "members.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../symbolizer/sym.h"
#include "../analysis/access/cold.h"
#include "../analysis/access/member_use.h"
#include "../analysis/query/module_query.h"
#include "../analysis/query/type_name.h"
#include "../analysis/query/type_query.h"
#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "../base/units.h"
#include "name_lookup.h"

enum { LINE = 64, LISTED = 8 };

struct member {
	char *name, *type;
	struct sym_member at; /* its name and type point to the above */
};

struct layout {
	char *name, *module; /* full name of the type; path of the module that defines it */
	uint64_t bytes;
	VEC(struct member) members;
	uint64_t holes, hole_bytes, padding, fields;
	struct type_objects objects;
	struct member_uses uses;
};

static bool add_member(void *context, const struct sym_member *member)
{
	struct layout *layout = context;
	struct member *row = vec_push(&layout->members);

	row->at = *member;
	row->name = member->name ? mem_text(member->name) : NULL;
	row->type = member->type ? mem_text(member->type) : NULL;
	if (member->what == SYM_HOLE) {
		layout->holes++;
		layout->hole_bytes += member->bytes;
	} else if (member->what == SYM_PADDING) {
		layout->padding += member->bytes;
	} else if (member->what == SYM_MEMBER && member->depth == 0) {
		layout->fields++;
	}
	return true;
}

static void layout_deinit(struct layout *layout)
{
	for (size_t i = 0; i < layout->members.count; i++) {
		free(layout->members.at[i].name);
		free(layout->members.at[i].type);
	}
	free(layout->members.at);
	free(layout->name);
	free(layout->module);
	member_uses_deinit(&layout->uses);
}

/* ---- which type, from which module ---- */

static struct shiny_err *full_name(struct store *store, const char *wanted, char **out)
{
	type_names_t names;
	struct shiny_err *err = type_query_find(store, wanted, &names);

	if (err)
		return err;
	if (names.count > 1)
		err = lookup_ambiguous("types: --members", wanted, "types of this session match",
				       names.at, names.count);
	else /* no block has the type, but a module may know it */
		*out = mem_text(names.count ? names.at[0] : wanted);
	type_names_deinit(&names);
	return err;
}

/* Searches the modules with debug information; those whose call sites allocate the type come
 * first. */
static struct shiny_err *find_layout(struct ctl *ctl, struct store *store, struct layout *layout)
{
	struct sym_options options = { .debug_dirs = ctl->options.symbol_count
							     ? ctl->options.symbols
							     : NULL };
	struct module_rows rows = { 0 };
	uint64_t modules = 0;
	struct sym *sym = NULL;
	bool found = false;
	struct shiny_err *err = sym_create(&options, &sym);
	AUTO_FREE char *file = text_shell(ctl->options.operands[0]);

	if (!err)
		err = modules_by_type(store, layout->name, &rows);
	for (size_t i = 0; i < rows.count && !err && !found; i++) {
		struct sym_module *module = NULL;

		err = lookup_module(sym, rows.at[i].path, rows.at[i].build_id, &module);
		if (err || sym_module_info(module)->state != SYM_OK ||
		    !sym_module_info(module)->dwarf)
			continue;
		modules++;
		found = sym_type_layout(module, layout->name, &layout->bytes, add_member,
					layout);
		if (found)
			layout->module = mem_text(rows.at[i].path);
	}
	module_rows_deinit(&rows);
	sym_destroy(sym);
	if (err || found)
		return err;
	return shiny_err_advise(
		shiny_err(SHINY_ERR_OTHER, "no layout of '%s': %s", layout->name,
			  modules ? "the debug information of the session's modules does not "
				    "define such a class"
				  : "no module of the session has debug information"),
		"`shinyctl symbols %s` says which modules have debug information and how to get "
		"more",
		file);
}

/* ---- showing ---- */

enum { OFFSET, SIZE, TYPE, NAME, USED, COLUMNS }; /* USED: only with watched blocks */
static const struct table_column columns[COLUMNS] = {
	[OFFSET] = { .title = "offset", .kind = CELL_COUNT, .tint = TINT_DIM },
	[SIZE] = { .title = "size", .kind = CELL_TEXT },
	[TYPE] = { "type", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NONE },
	[NAME] = { "member", CELL_TEXT, true, TEXT_CUT_MIDDLE, 0, TINT_NAME },
	[USED] = { .title = "used within 100 ms", .kind = CELL_TEXT },
};
static const char *const what_names[] = {
	[SYM_MEMBER] = "member", [SYM_BASE_CLASS] = "base", [SYM_VPTR] = "vptr",
	[SYM_HOLE] = "hole",	 [SYM_PADDING] = "padding",
};

static char *size_text(const struct sym_member *at)
{
	return at->bit_size ? mem_format("%4u bits", at->bit_size)
			    : mem_format("%4" PRIu64, at->bytes);
}

static char *name_text(const struct member *member)
{
	static const char *const signs[] = {
		[SYM_MEMBER] = "",
		[SYM_BASE_CLASS] = "(base class)",
		[SYM_VPTR] = "(vptr)",
		[SYM_HOLE] = "\xe2\x97\x8c\xe2\x97\x8c\xe2\x97\x8c hole",
		[SYM_PADDING] = "\xe2\x97\x8c\xe2\x97\x8c\xe2\x97\x8c padding"
	};
	const struct sym_member *at = &member->at;
	const char *name = at->what == SYM_MEMBER ? (member->name ? member->name : "(unnamed)")
						  : signs[at->what];

	return mem_format("%*s%s", (int)(2 * at->depth), "", name);
}

/* Returns the share used within the shortest of cold_times. */
static struct use_share share_of(struct layout *layout, const struct sym_member *at)
{
	return member_uses_within(&layout->uses, at->offset, at->bytes, cold_times[0]);
}

static char *used_text(struct layout *layout, const struct sym_member *at)
{
	struct use_share used = share_of(layout, at);

	return used.watches > 0 ? mem_format("%s (%s\xe2\x80\x93%s)",
					     units_share(UNITS_BUF, used.share, 1),
					     units_share(UNITS_BUF, used.low, 1),
					     units_share(UNITS_BUF, used.high, 1))
				: mem_text("unknown");
}

static void print_layout(struct ctl *ctl, struct layout *layout)
{
	bool watched = layout->uses.watches.count > 0;
	bool full = ctl->options.given[OPT_FULL_NAMES];
	uint64_t boundary = LINE;
	struct table table;

	table_init(&table, columns, watched ? COLUMNS : USED);
	for (size_t i = 0; i < layout->members.count; i++) {
		const struct member *member = &layout->members.at[i];
		bool gap = member->at.what == SYM_HOLE || member->at.what == SYM_PADDING;
		uint64_t next = i + 1 < layout->members.count ? layout->members.at[i + 1].at.offset
							      : layout->bytes;
		char *size = size_text(&member->at), *name = name_text(member);
		char *used = watched ? used_text(layout, &member->at) : NULL;
		char *type = !member->type || gap || member->at.what == SYM_VPTR ? mem_text("")
			     : full ? mem_text(member->type)
				    : type_name_short(member->type);

		table_row(&table);
		table_number(&table, OFFSET, member->at.offset);
		table_text(&table, SIZE, size);
		table_text(&table, TYPE, type);
		table_text(&table, NAME, name);
		if (watched)
			table_text(&table, USED, used);
		/* after the last row that begins in a cache line */
		if (next >= boundary && boundary < layout->bytes) {
			uint64_t end = member->at.offset + member->at.bytes;

			table_below(&table,
				    mem_format("%s        ---- cache line %" PRIu64
					       " begins at %" PRIu64 "%s%s\n",
					       tint(&ctl->style, TINT_DIM), next / LINE,
					       next / LINE * LINE,
					       end > next / LINE * LINE && member->at.depth == 0
						       ? ", inside the member above"
						       : "",
					       tint_end(&ctl->style, TINT_DIM)));
			boundary = next / LINE * LINE + LINE;
		}
		free(size);
		free(used);
		free(name);
		free(type);
	}
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void print_cost(FILE *out, const struct layout *layout)
{
	const struct type_objects *seen = &layout->objects;
	uint64_t waste = layout->hole_bytes + layout->padding;

	fprintf(out, "\nsize %s, %s, %s; ", units_noun(UNITS_NOUN_BUF, layout->bytes, "byte"),
		units_noun(UNITS_NOUN_BUF, (layout->bytes + LINE - 1) / LINE, "cache line"),
		units_noun(UNITS_NOUN_BUF, layout->fields, "member"));
	if (layout->holes)
		fprintf(out, "%s of %s", units_noun(UNITS_NOUN_BUF, layout->holes, "hole"),
			units_noun(UNITS_NOUN_BUF, layout->hole_bytes, "byte"));
	else
		fputs("no holes", out);
	if (layout->padding)
		fprintf(out, ", %s of padding",
			units_noun(UNITS_NOUN_BUF, layout->padding, "byte"));
	if (waste && layout->bytes)
		fprintf(out, ": %s of it is unused",
			units_share(UNITS_BUF, (double)waste, (double)layout->bytes));
	putc('\n', out);
	fprintf(out, "%s allocated in %s, %s live in %s", units_count(UNITS_BUF, seen->allocs),
		units_noun(UNITS_NOUN_BUF, seen->alloc_blocks, "block"),
		units_count(UNITS_BUF, seen->live),
		units_noun(UNITS_NOUN_BUF, seen->live_blocks, "block"));
	if (waste && seen->live)
		fprintf(out, ": %s × %s live = %s unused",
			units_noun(UNITS_NOUN_BUF, waste, "byte"),
			units_count(UNITS_BUF, seen->live),
			units_bytes(UNITS_BUF, waste * seen->live));
	putc('\n', out);
	if (seen->guessed)
		fprintf(out, "%s that only may be of this type %s not counted\n",
			units_noun(UNITS_NOUN_BUF, seen->guessed, "allocation"),
			units_form(seen->guessed, "is", "are"));
}

static void json_used(struct json *json, const struct use_share *used)
{
	if (!(used->watches > 0)) {
		json_null(json, "used");
		return;
	}
	json_object(json, "used");
	json_real(json, "share", used->share);
	json_real(json, "low", used->low);
	json_real(json, "high", used->high);
	json_real(json, "watches", used->watches);
	json_end(json);
}

static void json_layout(struct ctl *ctl, struct layout *layout)
{
	struct json *json = &ctl->json;

	json_text(json, "type", layout->name);
	json_text(json, "module", layout->module);
	json_number(json, "bytes", layout->bytes);
	json_number(json, "holes", layout->holes);
	json_number(json, "hole_bytes", layout->hole_bytes);
	json_number(json, "padding_bytes", layout->padding);
	json_number(json, "allocs", layout->objects.allocs);
	json_number(json, "live", layout->objects.live);
	json_number(json, "unused_live_bytes",
		    (layout->hole_bytes + layout->padding) * layout->objects.live);
	json_number(json, "guessed_allocs", layout->objects.guessed);
	json_array(json, "members");
	for (size_t i = 0; i < layout->members.count; i++) {
		const struct member *member = &layout->members.at[i];
		struct use_share used = share_of(layout, &member->at);

		json_object_line(json, NULL);
		json_text(json, "what", what_names[member->at.what]);
		json_text(json, "name", member->name);
		json_text(json, "type", member->type);
		json_number(json, "offset", member->at.offset);
		json_number(json, "bytes", member->at.bytes);
		json_number(json, "depth", member->at.depth);
		json_number(json, "bit_offset", member->at.bit_offset);
		json_number(json, "bit_size", member->at.bit_size);
		json_used(json, &used);
		json_end(json);
	}
	json_end(json);
}

struct shiny_err *members_show(struct ctl *ctl, struct store *store, const struct filter *filter,
			       const char *type)
{
	struct layout layout = { 0 };
	struct shiny_err *err = full_name(store, type, &layout.name);

	if (!err)
		err = find_layout(ctl, store, &layout);
	if (!err)
		err = type_query_objects(store, filter, layout.name, layout.bytes,
					 &layout.objects);
	if (!err && layout.bytes)
		err = member_uses_load(store, filter, layout.name, layout.bytes, &layout.uses);
	if (!err && CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_layout(ctl, &layout);
	} else if (!err) {
		char *brief = ctl->options.given[OPT_FULL_NAMES] ? mem_text(layout.name)
								 : type_name_short(layout.name);

		fprintf(ctl->style.out, "%s%s%s   %s%s%s\n", tint(&ctl->style, TINT_BOLD), brief,
			tint_end(&ctl->style, TINT_BOLD), tint(&ctl->style, TINT_DIM),
			text_base(layout.module), tint_end(&ctl->style, TINT_DIM));
		free(brief);
		print_layout(ctl, &layout);
		print_cost(ctl->style.out, &layout);
	}
	layout_deinit(&layout);
	return err;
}
