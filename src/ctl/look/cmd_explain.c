/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_explain.c: `shinyctl explain`: explains why a block has its type in reports.
 *
 * Derives the type again from the files on disk, without the cache, and prints every step. A
 * session keeps only results; so if files have changed since, or debug information was installed,
 * the result may differ from the session's, and this is printed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../analysis/query/block_query.h"
#include "../../base/text.h"
#include "../../analysis/query/module_query.h"
#include "../../analysis/query/type_name.h"
#include "../../analysis/query/type_origins.h"
#include "../../analysis/totals/process_names.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../../store/event_names.h"
#include "../verb_body.h"
#include "../name_lookup.h"

enum { CALLS_MOST = 64, TYPES_SHOWN = 4 };

struct step {
	unsigned depth;
	char *text;
};
typedef VEC(struct step) steps_t;

/* A result, derived again. */
struct conclusion {
	struct type_origin origin; /* the answer's origins own its texts */
	struct sym_type type;
	char *names[2]; /* its type and container: made harmless, as a session's are when read */
	char *name, *recorded; /* of the type here and in the session; NULL: there is none here */
	struct stack_lines lines;
	steps_t steps;
};

struct explain_answer {
	struct site_matches places;
	struct blocks_found blocks;
	struct type_origins origins;
	struct site_match place;  /* the place, if it is a site */
	struct block_found block; /* the block, if it is an address */
	bool is_block;
	struct block_maker maker;
	struct conclusion first;
	VEC(struct conclusion) others;
};

struct explainer {
	const struct ctl *ctl;
	struct store *store;
	const struct filter *filter;
	struct sym *sym;
	struct sym_module **modules; /* by id of table module; NULL: not opened */
	size_t module_limit;
	bool full;
	struct explain_answer *out;
};

static void take_step(void *context, unsigned depth, const char *text)
{
	*vec_push((steps_t *)context) = (struct step){ depth, text_plain(text) };
}

/* ---- working it out ---- */

static struct shiny_err *open_module(struct explainer *e, uint32_t id, struct sym_module **out)
{
	SHINY_CLEANUP(module_rows_deinit) struct module_rows rows = { 0 };

	*out = NULL;
	if (!id)
		return NULL;
	e->modules = mem_reach(e->modules, &e->module_limit, id, sizeof(*e->modules), 16);
	if (!e->modules[id]) {
		SHINY_TRY(module_of_id(e->store, id, &rows));
		if (rows.count)
			SHINY_TRY(lookup_module(e->sym, rows.at[0].path, rows.at[0].build_id,
						&e->modules[id]));
	}
	*out = e->modules[id];
	return NULL;
}

/* *given: malloc'ed text of `out`, or NULL. */
static struct shiny_err *vtable_of(struct explainer *e, uint32_t id, struct sym_vtable *out,
				   char **given)
{
	struct sym_module *module = NULL;
	uint32_t number = 0;
	uint64_t vaddr = 0;
	bool kind = false;

	*out = (struct sym_vtable){ .source = SYM_VTABLE_NONE };
	SHINY_TRY(module_of_vtable(e->store, id, &number, &vaddr, &kind, given));
	if (*given)
		*out = (struct sym_vtable){ .source = kind ? SYM_VTABLE_POOL : SYM_VTABLE_G_TYPE,
					    .type = *given };
	SHINY_TRY(open_module(e, number, &module));
	if (module)
		(kind ? sym_object_kind : sym_vtable)(module, vaddr, out);
	return NULL;
}

static char *plain_copy(const char *name)
{
	return name ? text_plain(name) : NULL;
}

static char *concluded_name(const struct explainer *e, const struct sym_type *type)
{
	return type_name_block(&(struct type_text){
		.type = type->type,
		.container = type->container,
		.form = type->type ? sym_form_name(type->form) : NULL,
		.confidence = type->type ? sym_confidence_name(type->confidence) : NULL,
		.derived = type->or_derived,
		.full = e->full });
}

static char *recorded_name(const struct explainer *e, const struct type_origin *origin)
{
	return type_name_block(&(struct type_text){ .type = origin->name,
						    .container = origin->container,
						    .form = origin->form,
						    .confidence = origin->confidence,
						    .derived = origin->or_derived,
						    .full = e->full });
}

static struct shiny_err *conclude(struct explainer *e, const struct type_origin *origin,
				  struct conclusion *out)
{
	struct sym_evidence evidence = { take_step, &out->steps };
	struct sym_sizes sizes = { origin->least, origin->most, origin->step };
	struct sym_call calls[CALLS_MOST];
	SHINY_CLEANUP(stack_calls_deinit) struct stack_calls stack = { 0 };
	struct sym_reading reading = { .vtable = NULL };
	AUTO_FREE char *given = NULL;
	struct sym_vtable vtable;
	struct sym_type site;
	size_t count = 0;

	out->origin = *origin;
	SHINY_TRY(stack_calls_load(e->store, origin->stack, &stack));
	for (; count < stack.count && count < CALLS_MOST; count++) {
		calls[count].vaddr = stack.rows[count].vaddr;
		SHINY_TRY(open_module(e, stack.rows[count].module, &calls[count].module));
	}
	if (origin->vtable)
		SHINY_TRY(vtable_of(e, origin->vtable, &vtable, &given));
	if (origin->vtable && vtable.source != SYM_VTABLE_NONE)
		reading.vtable = &vtable;
	reading.young = (origin->reading & 7) == SHINY_VPTR_FLUSH;
	reading.dying = (origin->reading & 7) == SHINY_VPTR_FREE;
	reading.second_word = (origin->reading & SHINY_VPTR_SECOND_WORD) != 0;
	sym_site_type(e->sym, calls, count, origin->api, &sizes, &site, &evidence);
	sym_type_combine(e->sym, &site, &reading, &sizes, &out->type, &evidence);
	out->type.type = out->names[0] = plain_copy(out->type.type);
	out->type.container = out->names[1] = plain_copy(out->type.container);
	out->name = concluded_name(e, &out->type);
	out->recorded = recorded_name(e, origin);
	return origin->stack ? stack_load(e->store, origin->stack, &out->lines) : NULL;
}

static void conclusion_deinit(struct conclusion *c)
{
	for (size_t i = 0; i < c->steps.count; i++)
		free(c->steps.at[i].text);
	free(c->steps.at);
	for (size_t i = 0; i < 2; i++)
		free(c->names[i]);
	free(c->name);
	free(c->recorded);
	stack_deinit(&c->lines);
}

static void deinit_explain(void *result)
{
	struct explain_answer *answer = result;

	conclusion_deinit(&answer->first);
	for (size_t i = 0; i < answer->others.count; i++)
		conclusion_deinit(&answer->others.at[i]);
	free(answer->others.at);
	block_maker_deinit(&answer->maker);
	origins_deinit(&answer->origins);
	blocks_deinit(&answer->blocks);
	site_matches_deinit(&answer->places);
}

static struct shiny_err *conclude_all(struct explainer *e)
{
	const struct type_origins *origins = &e->out->origins;
	size_t shown = ctl_limit(e->ctl, origins->count, TYPES_SHOWN);

	if (shown > TYPES_SHOWN && !e->ctl->options.given[OPT_LIMIT])
		shown = TYPES_SHOWN;
	for (size_t i = 0; i < shown; i++) {
		struct conclusion *c = i ? vec_push(&e->out->others) : &e->out->first;

		*c = (struct conclusion){ .name = NULL };
		SHINY_TRY(conclude(e, &origins->rows[i], c));
	}
	return NULL;
}

/* ---- text ---- */

static void print_stack_of(const struct style *style, const struct stack_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct stack_line *line = &lines->rows[i];
		size_t room = style->width     ? style->width - 8
			      : style->longest ? 2 * style->longest
					       : 4000;
		char *whole = line->line
				      ? mem_format("%s  %s:%u", line->label, line->file, line->line)
				      : mem_format("%s  %s", line->label,
						   line->module ? line->module : "");
		char *fitted = mem_alloc(4 * room + 8);

		text_fit(fitted, 4 * room + 8, whole, room, TEXT_CUT_MIDDLE);
		fprintf(style->out, "  %s%s\n", line->inlined ? "\xe2\x86\xb3 " : "  ", fitted);
		free(fitted);
		free(whole);
	}
}

static void print_sizes(FILE *out, const struct type_origin *o)
{
	fputs(units_noun(UNITS_NOUN_BUF, o->least_of_all, "byte"), out);
	if (o->most_of_all != o->least_of_all)
		fprintf(out, " to %s%s%s", units_noun(UNITS_NOUN_BUF, o->most_of_all, "byte"),
			o->step > 1 ? " in steps of " : "",
			o->step > 1 ? units_count(UNITS_BUF, o->step) : "");
}

static void print_wrapped(const struct style *style, const char *text, unsigned depth)
{
	size_t indent = 2 + 2 * depth,
	       room = style->width > indent + 20 ? style->width - indent : 0, used = 0;

	fprintf(style->out, "%*s", (int)indent, "");
	while (*text) {
		size_t length = strcspn(text, " ");
		char word[512];

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (room && used && used + 1 + text_columns(word) > room) {
			fprintf(style->out, "\n%*s", (int)indent + 2, "");
			used = 2;
		} else if (used) {
			putc(' ', style->out);
			used++;
		}
		fprintf(style->out, "%.*s", (int)length, text);
		used += text_columns(word);
		text += length + (text[length] == ' ');
	}
	putc('\n', style->out);
}

static void print_conclusion(const struct ctl *ctl, const struct conclusion *c)
{
	const struct style *style = &ctl->style;
	const struct type_origin *o = &c->origin;
	enum tint sure = c->type.confidence >= SYM_HIGH ? TINT_GOOD : TINT_WARN;

	ctl_heading(ctl, c->name, "");
	if (c->type.type)
		fprintf(style->out, "  %s%s%s: %s%s", tint(style, sure),
			sym_confidence_name(c->type.confidence), tint_end(style, sure),
			sym_rule_name(c->type.rule), c->type.climbed ? ", found in a caller" : "");
	else
		fprintf(style->out, "  nothing says what it is");
	fprintf(style->out, "\n  %s by %s, %s live; ",
		units_noun(UNITS_NOUN_BUF, o->sums.allocs, "allocation"), api_name(o->api),
		units_count(UNITS_BUF, o->sums.live));
	print_sizes(style->out, o);
	fprintf(style->out, "; %s\n", units_noun(UNITS_NOUN_BUF, o->stacks, "stack"));
	if (strcmp(c->name, c->recorded) != 0)
		fprintf(style->out,
			"  %sthe session says %s%s: files or debug information have changed since, "
			"or the blocks were looked at together\n",
			tint(style, TINT_WARN), c->recorded, tint_end(style, TINT_WARN));
	ctl_heading(ctl, o->stacks > 1 ? "Stack (the heaviest)" : "Stack", "");
	print_stack_of(style, &c->lines);
	ctl_heading(ctl, "Evidence", "");
	for (size_t i = 0; i < c->steps.count; i++)
		print_wrapped(style, c->steps.at[i].text, c->steps.at[i].depth);
	if (!c->steps.count)
		fputs("  none: the stack has no frame in a file that can be read\n", style->out);
}

static void print_site(const struct style *style, const struct site_match *p)
{
	fprintf(style->out, "%s%s%s", tint(style, TINT_BOLD), p->label, tint_end(style, TINT_BOLD));
	if (p->file)
		fprintf(style->out, "  %s:%u", p->file, p->line);
	fprintf(style->out, "   %ssite #%u%s%s%s\n", tint(style, TINT_DIM), p->site,
		p->module ? ", " : "", p->module ? p->module : "", tint_end(style, TINT_DIM));
}

static void print_block(const struct style *style, const struct block_found *b,
			const struct block_maker *maker)
{
	if (!maker->process)
		return;
	fprintf(style->out,
		"%sblock 0x%" PRIx64 "%s: %s by %s, in %s (pid %" PRId64 "), thread %" PRId64
		"%s%s%s\n",
		tint(style, TINT_BOLD), b->address, tint_end(style, TINT_BOLD),
		units_noun(UNITS_NOUN_BUF, b->size, "byte"), api_name(b->api), maker->process,
		maker->pid, maker->tid, *maker->thread ? " (" : "", maker->thread,
		*maker->thread ? ")" : "");
	fprintf(style->out, "  allocated after %s, ", units_time(UNITS_BUF, b->born));
	if (b->ended)
		fprintf(style->out, "freed %s later\n", units_time(UNITS_BUF, b->ended - b->born));
	else
		fputs("live at the end\n", style->out);
}

static struct shiny_err *print_explain(struct ctl *ctl, const struct answer *answer)
{
	const struct explain_answer *explained = answer->result;
	const struct conclusion *first = &explained->first;

	if (explained->is_block)
		print_block(&ctl->style, &explained->block, &explained->maker);
	else
		print_site(&ctl->style, &explained->place);
	if (first->name)
		print_conclusion(ctl, first);
	for (size_t i = 0; i < explained->others.count; i++)
		print_conclusion(ctl, &explained->others.at[i]);
	ctl_more(ctl, !!first->name + explained->others.count, explained->origins.count);
	return NULL;
}

/* ---- fields ---- */

FIELD_GETTER(get_form, struct conclusion, text, r->type.type ? sym_form_name(r->type.form) : NULL)
FIELD_GETTER(get_confidence, struct conclusion, text,
	     r->type.type ? sym_confidence_name(r->type.confidence) : "none")
FIELD_GETTER(get_rule, struct conclusion, text, sym_rule_name(r->type.rule))
FIELD_GETTER(get_recorded, struct conclusion, text,
	     r->origin.confidence ? r->origin.confidence : "none")
FIELD_GETTER(get_same, struct conclusion, flag, strcmp(r->name, r->recorded) == 0)
FIELD_GETTER(get_api, struct conclusion, text, api_name(r->origin.api))
FIELD_SKIP(is_none, struct conclusion, !r->name)
FIELD_SKIP(is_live, struct explain_answer, !r->block.ended)
FIELD_SKIP(is_block, struct explain_answer, r->is_block)
FIELD_SKIP(is_site, struct explain_answer, !r->is_block)
FIELD_SKIP(is_single, struct explain_answer, !r->others.count)

/* clang-format off */
#define C struct conclusion
static const struct field step_fields[] = {
	{ FIELD_ID("depth", struct step, depth), .help = "how far it is indented" },
	{ FIELD_TEXT("text", struct step, text), .help = "the step, in words" },
	FIELD_LAST
};
static const struct field conclusion_fields[] = {
	{ FIELD_GROUP(C, lines, stack_lines_fields) },
	{ FIELD_TEXT("name", C, name), .help = "the conclusion, as types names it" },
	{ FIELD_TEXT("type", C, type.type), .help = "its type; null: unknown" },
	{ FIELD_TEXT("container", C, type.container), .help = "its container" },
	{ FIELD_WORKED_OUT("form", TEXT, get_form), .help = "object, array, node or buffer" },
	{ FIELD_WORKED_OUT("rule", TEXT, get_rule), .help = "the rule that decided" },
	{ FIELD_WORKED_OUT("confidence", TEXT, get_confidence), .help = "how sure it is" },
	{ FIELD_FLAG("or_derived", C, type.or_derived),
	  .help = "it may be a class derived from that" },
	{ FIELD_BYTES("class_bytes", C, type.bytes), .help = "the size of the type; 0: unknown" },
	{ FIELD_ID("climbed", C, type.climbed), .help = "how many callers up it was found" },
	{ FIELD_TEXT("session_type", C, origin.name),
	  .help = "the type that the session recorded" },
	{ FIELD_WORKED_OUT("session_confidence", TEXT, get_recorded),
	  .help = "and how sure it was" },
	{ FIELD_WORKED_OUT("same_as_session", FLAG, get_same), .help = "both have the same name" },
	{ FIELD_WORKED_OUT("api", TEXT, get_api),
	  .help = "the function that allocated the blocks" },
	{ FIELD_BYTES("min_size", C, origin.least_of_all), .help = "the smallest block" },
	{ FIELD_BYTES("max_size", C, origin.most_of_all), .help = "the largest block" },
	{ FIELD_BYTES("size_step", C, origin.step), .help = "what the sizes are multiples of" },
	{ FIELD_COUNT("stacks", C, origin.stacks), .help = "stacks of these blocks" },
	{ FIELD_GROUP(C, origin.sums, sums_fields) },
	{ FIELD_ROWS("steps", C, steps.at, steps.count, step_fields),
	  .help = "a step of the evidence" },
	FIELD_LAST
};

#define E struct explain_answer
static const struct field block_fields[] = {
	{ FIELD_ADDRESS("address", E, block.address), .help = "where it began" },
	{ FIELD_BYTES("bytes", E, block.size), .help = "its size" },
	{ FIELD_ID("process", E, block.process), .help = "the id of its process" },
	{ FIELD_ID("thread", E, block.thread), .help = "the id of the thread that allocated it" },
	{ FIELD_TIME("born_ns", E, block.born), .help = "when it was allocated" },
	{ FIELD_TIME("ended_ns", E, block.ended), .skip = is_live,
	  .help = "when it was freed; null: live at the end" },
	FIELD_LAST
};
static const struct field site_fields[] = {
	{ FIELD_ID("id", E, place.site), .help = "its number" },
	{ FIELD_TEXT("label", E, place.label), .help = "its name" },
	{ FIELD_TEXT("file", E, place.file), .help = "the source file; null: unknown" },
	{ FIELD_ID("line", E, place.line), .help = "the line; 0: unknown" },
	{ FIELD_TEXT("module", E, place.module), .help = "the module" },
	FIELD_LAST
};
static const struct field others_fields[] = {
	{ FIELD_ROWS("others", E, others.at, others.count, conclusion_fields), .spread = true,
	  .again = true, .help = "the same for further types, from stack on; absent: none" },
	FIELD_LAST
};
static const struct field explain_fields[] = {
	{ FIELD_SAME_OBJECT("block", block_fields), .skip = is_site,
	  .help = "the block at an address; null: a site was asked for" },
	{ FIELD_SAME_OBJECT("site", site_fields), .skip = is_block,
	  .help = "the call site; null: an address was asked for" },
	{ FIELD_GROUP(E, first, conclusion_fields), .skip = is_none },
	{ FIELD_SAME(others_fields), .skip = is_single },
	FIELD_LAST
};
/* clang-format on */

/* Returns the candidates as an error, in a form to be given as an operand. */
static struct shiny_err *ambiguous_places(const char *text, const struct site_matches *places)
{
	char **list = mem_zero(places->count, sizeof(*list));
	struct shiny_err *err;

	for (size_t i = 0; i < places->count; i++) {
		const struct site_match *p = &places->rows[i];
		char *brief = type_name_short(p->label), *cut = mem_alloc(4 * 60 + 8);

		text_fit(cut, 4 * 60 + 8, brief, 60, TEXT_CUT_MIDDLE);
		list[i] = p->file && p->line ? mem_format("#%u %s %s:%u", p->site, cut,
							  text_base(p->file), p->line)
					     : mem_format("#%u %s", p->site, cut);
		free(brief);
		free(cut);
	}
	err = lookup_ambiguous("explain", text, "call sites match", list, places->count);
	for (size_t i = 0; i < places->count; i++)
		free(list[i]);
	free(list);
	return err;
}

static struct shiny_err *explain_site(struct explainer *e, const char *text)
{
	struct explain_answer *out = e->out;

	SHINY_TRY(site_query_find(e->store, e->filter, text, &out->places));
	if (out->places.count > 1)
		return ambiguous_places(text, &out->places);
	if (!out->places.count) {
		AUTO_FREE char *file = text_shell(e->ctl->options.operands[0]);

		return shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  "explain '%s': no call site of this session matches", text),
			"`shinyctl sites %s` lists them; a site is a function, function:line, "
			"file:line, module+0xoffset or #id, "
			"a block is 0xaddress",
			file);
	}
	out->place = out->places.rows[0];
	return origins_load(e->store, e->filter, &out->place, 0, 0, &out->origins);
}

static struct shiny_err *several_processes(const struct explainer *e, const char *text,
					   const struct blocks_found *blocks)
{
	struct process_names names;
	struct shiny_err *err;
	char **list;

	SHINY_TRY(process_names_load(e->store, &names));
	list = mem_zero(blocks->count, sizeof(*list));
	for (size_t i = 0; i < blocks->count; i++) {
		uint32_t id = blocks->rows[i].process;
		struct process_name known =
			id < names.count ? names.of[id] : (struct process_name){ 0 };

		list[i] = mem_format("--process id:%u (%s, pid %u)", id,
				     known.name ? known.name : "?", known.pid);
	}
	err = lookup_ambiguous("explain", text, "processes had a block there", list, blocks->count);
	for (size_t i = 0; i < blocks->count; i++)
		free(list[i]);
	free(list);
	process_names_deinit(&names);
	return err;
}

static struct shiny_err *explain_address(struct explainer *e, const char *text, uint64_t address)
{
	struct explain_answer *out = e->out;
	struct blocks_found *blocks = &out->blocks;
	struct type_origins *origins = &out->origins;
	struct block_found *b = &out->block;

	SHINY_TRY(blocks_find(e->store, e->filter, address, blocks));
	if (!blocks->count)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  "explain '%s': no block of this session was ever at that address",
				  text),
			"for a place in the code write module+0xoffset, as `shinyctl sites` does");
	if (blocks->count > 1 && (!blocks->rows[0].ended == !blocks->rows[1].ended))
		return several_processes(e, text, blocks);
	*b = blocks->rows[0];
	out->is_block = true;
	SHINY_TRY(block_maker_load(e->store, b, &out->maker));
	SHINY_TRY(origins_load(e->store, e->filter, NULL, b->stack, b->vtable, origins));
	/* the block's last vptr may count in another row; without one, use its stack's other
	 * blocks */
	if (!origins->count)
		SHINY_TRY(origins_load(e->store, e->filter, NULL, b->stack, 0, origins));
	return origins->count ? NULL
			      : shiny_err(SHINY_ERR_OTHER,
					  "explain '%s': the block's stack was not recorded, so "
					  "nothing says what it is",
					  text);
}

static bool is_address(const char *text, uint64_t *out)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0 || !text[2])
		return false;
	*out = strtoull(text + 2, &end, 16);
	return !*end && strlen(text) <= 18;
}

static struct shiny_err *load_explain(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	const char *text = ctl->options.operands[1];
	struct sym_options options = { .debug_dirs = ctl->options.symbol_count
							     ? ctl->options.symbols
							     : NULL,
				       .type_rules = ctl->options.text[OPT_TYPE_RULES],
				       .no_cache = true,
				       .progress = true };
	struct explainer e = { .ctl = ctl,
			       .store = store,
			       .filter = filter,
			       .out = result,
			       .full = ctl->options.given[OPT_FULL_NAMES] };
	uint64_t address;
	struct shiny_err *err = sym_create(&options, &e.sym);

	if (!err)
		err = is_address(text, &address) ? explain_address(&e, text, address)
						 : explain_site(&e, text);
	if (!err)
		err = conclude_all(&e);
	sym_destroy(e.sym);
	free(e.modules);
	if (err)
		deinit_explain(result);
	return err;
}

const struct verb_body verb_explain = {
	.fields = explain_fields,
	.size = sizeof(struct explain_answer),
	.load = load_explain,
	.deinit = deinit_explain,
	.print = print_explain,
	.next = "types",
};
