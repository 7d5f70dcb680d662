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

#include "../../../symbolizer/sym.h"
#include "../../analysis/access/cold.h"
#include "../../analysis/access/member_use.h"
#include "../../analysis/query/module_query.h"
#include "../../analysis/query/type_name.h"
#include "../../analysis/query/type_query.h"
#include "../../answer/answer.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../name_lookup.h"

enum { LINE = 64, LISTED = 8 };

struct member {
	char *name, *type;
	struct sym_member at; /* its name and type point to the above */
	bool full;	      /* names are not shortened */
	uint64_t line;	      /* the last cache line that begins before the next member; 0: none */
	struct use_share used;
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

	*row = (struct member){ .name = member->name ? mem_text(member->name) : NULL,
				.type = member->type ? mem_text(member->type) : NULL,
				.at = *member };
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
		found = sym_type_layout(module, layout->name, &layout->bytes, add_member, layout);
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

static void get_what(const void *row, struct field_value *out)
{
	static const char *const names[] = {
		[SYM_MEMBER] = "member", [SYM_BASE_CLASS] = "base", [SYM_VPTR] = "vptr",
		[SYM_HOLE] = "hole",	 [SYM_PADDING] = "padding",
	};

	field_set_text(out, names[((const struct member *)row)->at.what]);
}

static void get_size(const void *row, struct field_value *out)
{
	const struct sym_member *at = &((const struct member *)row)->at;

	field_set_owned(out, at->bit_size ? mem_format("%4u bits", at->bit_size)
					  : mem_format("%4" PRIu64, at->bytes));
}

static void get_type(const void *row, struct field_value *out)
{
	const struct member *member = row;

	if (!member->type || member->at.what > SYM_BASE_CLASS)
		field_set_text(out, "");
	else if (member->full)
		field_set_text(out, member->type);
	else
		field_set_owned(out, type_name_short(member->type));
}

static void get_member(const void *row, struct field_value *out)
{
	static const char *const signs[] = {
		[SYM_MEMBER] = "",
		[SYM_BASE_CLASS] = "(base class)",
		[SYM_VPTR] = "(vptr)",
		[SYM_HOLE] = "\xe2\x97\x8c\xe2\x97\x8c\xe2\x97\x8c hole",
		[SYM_PADDING] = "\xe2\x97\x8c\xe2\x97\x8c\xe2\x97\x8c padding"
	};
	const struct member *member = row;
	const struct sym_member *at = &member->at;
	const char *name = at->what == SYM_MEMBER ? (member->name ? member->name : "(unnamed)")
						  : signs[at->what];

	field_set_owned(out, mem_format("%*s%s", (int)(2 * at->depth), "", name));
}

FIELD_SKIP(is_unknown, struct use_share, !(r->watches > 0))

static void get_used(const void *row, struct field_value *out)
{
	const struct use_share *used = &((const struct member *)row)->used;

	if (is_unknown(used))
		field_set_text(out, "unknown");
	else
		field_set_owned(out, mem_format("%s (%s\xe2\x80\x93%s)",
						units_share(UNITS_BUF, used->share, 1),
						units_share(UNITS_BUF, used->low, 1),
						units_share(UNITS_BUF, used->high, 1)));
}

FIELD_GETTER(get_unused, struct layout, number, (r->hole_bytes + r->padding) * r->objects.live)

/* clang-format off */
#define USED struct use_share
static const struct field used_fields[] = {
	{ FIELD_REAL("share", USED, share),
	  .help = "the share of the objects whose member is used within 100 ms" },
	{ FIELD_REAL("low", USED, low), .help = "the lower bound of its 95 % interval" },
	{ FIELD_REAL("high", USED, high), .help = "the upper bound of its 95 % interval" },
	{ FIELD_REAL("watches", USED, watches), .help = "the watches that it rests on" },
	FIELD_LAST
};
#define MEMBER struct member
static const struct field member_fields[] = {
	{ FIELD_WORKED_OUT("what", TEXT, get_what),
	  .help = "member, base, vptr, hole or padding" },
	{ FIELD_TEXT("name", MEMBER, name), .help = "the name; null: it has none" },
	{ FIELD_TEXT("type", MEMBER, type), .help = "the type; null: it has none" },
	{ FIELD_COUNT("offset", MEMBER, at.offset), .tint = TINT_DIM,
	  .help = "the offset from the start of the object" },
	{ FIELD_WORKED_OUT("size", TEXT, get_size), .column_only = true },
	{ FIELD_WORKED_OUT("type_shown", TEXT, get_type), .title = "type", .column_only = true,
	  .flexible = true, .cut = TEXT_CUT_MIDDLE },
	{ FIELD_WORKED_OUT("member", TEXT, get_member), FIELD_NAME, .column_only = true },
	{ FIELD_WORKED_OUT("used_shown", TEXT, get_used), .title = "used within 100 ms",
	  .column_only = true },
	{ FIELD_BYTES("bytes", MEMBER, at.bytes), .help = "the size; 0: it is a bit field" },
	{ FIELD_COUNT("depth", MEMBER, at.depth), .help = "above 0: it is a member of a member" },
	{ FIELD_COUNT("bit_offset", MEMBER, at.bit_offset),
	  .help = "the first bit of a bit field" },
	{ FIELD_COUNT("bit_size", MEMBER, at.bit_size),
	  .help = "the bits of a bit field; 0: it is none" },
	{ FIELD_OBJECT("used", MEMBER, used, used_fields), .spread = true, .skip = is_unknown,
	  .help = "how often it is used; null: unknown" },
	FIELD_LAST
};
#define LAYOUT struct layout
#define SHOWS "offset size type_shown member"
static const struct field layout_fields[] = {
	{ FIELD_TEXT("type", LAYOUT, name), .help = "the type in full" },
	{ FIELD_TEXT("module", LAYOUT, module), .help = "the module that defines it" },
	{ FIELD_BYTES("bytes", LAYOUT, bytes), .help = "the size of an object" },
	{ FIELD_COUNT("holes", LAYOUT, holes), .help = "holes between members" },
	{ FIELD_BYTES("hole_bytes", LAYOUT, hole_bytes), .help = "their bytes" },
	{ FIELD_BYTES("padding_bytes", LAYOUT, padding), .help = "bytes after the last member" },
	{ FIELD_COUNT("allocs", LAYOUT, objects.allocs), .help = "objects allocated" },
	{ FIELD_COUNT("live", LAYOUT, objects.live), .help = "objects that are live at the end" },
	{ FIELD_WORKED_OUT("unused_live_bytes", BYTES, get_unused),
	  .help = "holes and padding of the live objects" },
	{ FIELD_COUNT("guessed_allocs", LAYOUT, objects.guessed),
	  .help = "allocations that only may be of this type, not counted" },
	{ FIELD_ROWS("members", LAYOUT, members.at, members.count, member_fields), .shows = SHOWS,
	  .limited = true, .help = "a member, base class, vtable pointer, hole or padding" },
	{ FIELD_ROWS("watched", LAYOUT, members.at, members.count, member_fields),
	  .column_only = true, .limited = true, .shows = SHOWS " used_shown" },
	FIELD_LAST
};
/* clang-format on */

/* Fills in what the rows show beside their places. */
static void finish(struct layout *layout, bool full)
{
	uint64_t boundary = LINE;

	for (size_t i = 0; i < layout->members.count; i++) {
		struct member *m = &layout->members.at[i];
		uint64_t next = i + 1 < layout->members.count ? m[1].at.offset : layout->bytes;

		m->full = full;
		/* within the shortest of cold_times */
		m->used =
			member_uses_within(&layout->uses, m->at.offset, m->at.bytes, cold_times[0]);
		if (next < boundary || boundary >= layout->bytes)
			continue;
		m->line = next / LINE;
		boundary = m->line * LINE + LINE;
	}
}

/* Returns the line after the last row that begins in a cache line. */
static char *line_text(const void *row, void *context)
{
	const struct style *style = context;
	const struct member *m = row;
	uint64_t at = m->line * LINE, end = m->at.offset + m->at.bytes;

	if (!m->line)
		return NULL;
	return mem_format("%s        ---- cache line %" PRIu64 " begins at %" PRIu64 "%s%s\n",
			  tint(style, TINT_DIM), m->line, at,
			  end > at && m->at.depth == 0 ? ", inside the member above" : "",
			  tint_end(style, TINT_DIM));
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

static struct shiny_err *load_members(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	struct layout *layout = result;
	struct shiny_err *err = full_name(store, ctl->options.text[OPT_MEMBERS], &layout->name);

	if (!err)
		err = find_layout(ctl, store, layout);
	if (!err)
		err = type_query_objects(store, filter, layout->name, layout->bytes,
					 &layout->objects);
	if (!err && layout->bytes)
		err = member_uses_load(store, filter, layout->name, layout->bytes, &layout->uses);
	if (err)
		layout_deinit(layout);
	else
		finish(layout, ctl->options.given[OPT_FULL_NAMES]);
	return err;
}
VERB_BODY_DEINIT(struct layout, layout_deinit)

static struct shiny_err *print_members(struct ctl *ctl, const struct answer *whole)
{
	const struct layout *layout = whole->result;
	const struct answer answer = { .fields = layout_fields,
				       .result = layout,
				       .limit = whole->limit,
				       .below = line_text,
				       .context = &ctl->style };
	AUTO_FREE char *brief = ctl->options.given[OPT_FULL_NAMES] ? mem_text(layout->name)
								   : type_name_short(layout->name);

	fprintf(ctl->style.out, "%s%s%s   %s%s%s\n", tint(&ctl->style, TINT_BOLD), brief,
		tint_end(&ctl->style, TINT_BOLD), tint(&ctl->style, TINT_DIM),
		text_base(layout->module), tint_end(&ctl->style, TINT_DIM));
	answer_table(&answer, layout->uses.watches.count ? "watched" : "members", &ctl->style);
	ctl_more(ctl, whole->limit, layout->members.count);
	print_cost(ctl->style.out, layout);
	return NULL;
}

const struct verb_body verb_members = {
	.needs = "which members are used",
	.fields = layout_fields,
	.size = sizeof(struct layout),
	.load = load_members,
	.deinit = layout_deinit_result,
	.print = print_members,
	.next = "types",
};
