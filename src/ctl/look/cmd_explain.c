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

struct explainer {
	struct ctl *ctl;
	struct store *store;
	struct filter filter;
	struct sym *sym;
	struct sym_module **modules; /* by id of table module; NULL: not opened */
	size_t module_limit;
	struct site_match place;	 /* the place, if it is a site */
	const struct block_found *block; /* the block, if it is an address; else NULL */
	bool full;
};

/* A result, derived again. */
struct conclusion {
	const struct type_origin *origin;
	struct sym_type type;
	char *names[2]; /* its type and container: made harmless, as a session's are when read */
	steps_t steps;
};

static void take_step(void *context, unsigned depth, const char *text)
{
	*vec_push((steps_t *)context) = (struct step){ depth, text_plain(text) };
}

/* ---- working it out ---- */

static struct shiny_err *open_module(struct explainer *e, uint32_t id, struct sym_module **out)
{
	struct module_rows rows = { 0 };
	struct shiny_err *err;

	*out = NULL;
	if (!id)
		return NULL;
	e->modules = mem_reach(e->modules, &e->module_limit, id, sizeof(*e->modules), 16);
	if (!e->modules[id]) {
		err = module_of_id(e->store, id, &rows);
		if (!err && rows.count)
			err = lookup_module(e->sym, rows.at[0].path, rows.at[0].build_id,
					    &e->modules[id]);
		module_rows_deinit(&rows);
		if (err)
			return err;
	}
	*out = e->modules[id];
	return NULL;
}

static struct shiny_err *vtable_of(struct explainer *e, uint32_t id, struct sym_vtable *out)
{
	struct sym_module *module = NULL;
	uint32_t number = 0;
	uint64_t vaddr = 0;
	struct shiny_err *err = module_of_vtable(e->store, id, &number, &vaddr);

	*out = (struct sym_vtable){ .source = SYM_VTABLE_NONE };
	if (!err)
		err = open_module(e, number, &module);
	if (!err && module)
		sym_vtable(module, vaddr, out);
	return err;
}

static char *plain_copy(const char *name)
{
	return name ? text_plain(name) : NULL;
}

static struct shiny_err *conclude(struct explainer *e, const struct type_origin *origin,
				  struct conclusion *out)
{
	struct sym_evidence evidence = { take_step, &out->steps };
	struct sym_sizes sizes = { origin->least, origin->most, origin->step };
	struct sym_call calls[CALLS_MOST];
	struct stack_calls stack = { 0 };
	struct sym_reading reading = { .vtable = NULL };
	struct sym_vtable vtable;
	struct sym_type site;
	size_t count = 0;
	struct shiny_err *err = stack_calls_load(e->store, origin->stack, &stack);

	out->origin = origin;
	for (; !err && count < stack.count && count < CALLS_MOST; count++) {
		calls[count].vaddr = stack.rows[count].vaddr;
		err = open_module(e, stack.rows[count].module, &calls[count].module);
	}
	stack_calls_deinit(&stack);
	if (!err && origin->vtable)
		err = vtable_of(e, origin->vtable, &vtable);
	if (err)
		return err;
	if (origin->vtable && vtable.source != SYM_VTABLE_NONE)
		reading.vtable = &vtable;
	reading.young = (origin->reading & 7) == SHINY_VPTR_FLUSH;
	reading.dying = (origin->reading & 7) == SHINY_VPTR_FREE;
	reading.second_word = (origin->reading & SHINY_VPTR_SECOND_WORD) != 0;
	sym_site_type(e->sym, calls, count, origin->api, &sizes, &site, &evidence);
	sym_type_combine(e->sym, &site, &reading, &sizes, &out->type, &evidence);
	out->type.type = out->names[0] = plain_copy(out->type.type);
	out->type.container = out->names[1] = plain_copy(out->type.container);
	return NULL;
}

static void conclusion_deinit(struct conclusion *c)
{
	for (size_t i = 0; i < c->steps.count; i++)
		free(c->steps.at[i].text);
	free(c->steps.at);
	for (size_t i = 0; i < 2; i++)
		free(c->names[i]);
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

/* ---- text ---- */

static void print_stack_of(struct explainer *e, const struct stack_lines *lines)
{
	const struct style *style = &e->ctl->style;

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

static struct shiny_err *print_conclusion(struct explainer *e, const struct conclusion *c)
{
	const struct style *style = &e->ctl->style;
	const struct type_origin *o = c->origin;
	char *name = concluded_name(e, &c->type), *recorded = recorded_name(e, o);
	struct stack_lines lines;
	struct shiny_err *err = stack_load(e->store, o->stack, &lines);

	if (!err) {
		ctl_heading(e->ctl, name, "");
		if (c->type.type)
			fprintf(style->out, "  %s%s%s: %s%s",
				tint(style, c->type.confidence >= SYM_HIGH ? TINT_GOOD : TINT_WARN),
				sym_confidence_name(c->type.confidence),
				tint_end(style,
					 c->type.confidence >= SYM_HIGH ? TINT_GOOD : TINT_WARN),
				sym_rule_name(c->type.rule),
				c->type.climbed ? ", found in a caller" : "");
		else
			fprintf(style->out, "  nothing says what it is");
		fprintf(style->out, "\n  %s by %s, %s live; ",
			units_noun(UNITS_NOUN_BUF, o->sums.allocs, "allocation"), api_name(o->api),
			units_count(UNITS_BUF, o->sums.live));
		print_sizes(style->out, o);
		fprintf(style->out, "; %s\n", units_noun(UNITS_NOUN_BUF, o->stacks, "stack"));
		if (strcmp(name, recorded) != 0)
			fprintf(style->out,
				"  %sthe session says %s%s: files or debug information have "
				"changed since, or the blocks were looked at together\n",
				tint(style, TINT_WARN), recorded, tint_end(style, TINT_WARN));
		ctl_heading(e->ctl, o->stacks > 1 ? "Stack (the heaviest)" : "Stack", "");
		print_stack_of(e, &lines);
		stack_deinit(&lines);
		ctl_heading(e->ctl, "Evidence", "");
		for (size_t i = 0; i < c->steps.count; i++)
			print_wrapped(style, c->steps.at[i].text, c->steps.at[i].depth);
		if (!c->steps.count)
			fputs("  none: the stack has no frame in a file that can be read\n",
			      style->out);
	}
	free(name);
	free(recorded);
	return err;
}

static struct shiny_err *print_head(struct explainer *e)
{
	const struct style *style = &e->ctl->style;
	const struct block_found *b = e->block;
	struct block_maker maker;

	if (!b) {
		fprintf(style->out, "%s%s%s", tint(style, TINT_BOLD), e->place.label,
			tint_end(style, TINT_BOLD));
		if (e->place.file)
			fprintf(style->out, "  %s:%u", e->place.file, e->place.line);
		fprintf(style->out, "   %ssite #%u%s%s%s\n", tint(style, TINT_DIM), e->place.site,
			e->place.module ? ", " : "", e->place.module ? e->place.module : "",
			tint_end(style, TINT_DIM));
		return NULL;
	}
	SHINY_TRY(block_maker_load(e->store, b, &maker));
	if (maker.process) {
		fprintf(style->out,
			"%sblock 0x%" PRIx64 "%s: %s by %s, in %s (pid %" PRId64
			"), thread %" PRId64 "%s%s%s\n",
			tint(style, TINT_BOLD), b->address, tint_end(style, TINT_BOLD),
			units_noun(UNITS_NOUN_BUF, b->size, "byte"), api_name(b->api),
			maker.process, maker.pid, maker.tid, *maker.thread ? " (" : "",
			maker.thread, *maker.thread ? ")" : "");
		fprintf(style->out, "  allocated after %s, ", units_time(UNITS_BUF, b->born));
		if (b->ended)
			fprintf(style->out, "freed %s later\n",
				units_time(UNITS_BUF, b->ended - b->born));
		else
			fputs("live at the end\n", style->out);
	}
	block_maker_deinit(&maker);
	return NULL;
}

/* ---- JSON ---- */

static struct shiny_err *json_conclusion(struct explainer *e, const struct conclusion *c)
{
	struct json *json = &e->ctl->json;
	const struct type_origin *o = c->origin;
	struct shiny_err *err = sites_json_stack(json, e->store, "stack", o->stack);
	char *name, *recorded;

	if (err)
		return err;
	name = concluded_name(e, &c->type);
	recorded = recorded_name(e, o);
	json_text(json, "name", name);
	json_text(json, "type", c->type.type);
	json_text(json, "container", c->type.container);
	json_text(json, "form", c->type.type ? sym_form_name(c->type.form) : NULL);
	json_text(json, "rule", sym_rule_name(c->type.rule));
	json_text(json, "confidence",
		  c->type.type ? sym_confidence_name(c->type.confidence) : "none");
	json_bool(json, "or_derived", c->type.or_derived);
	json_number(json, "class_bytes", c->type.bytes);
	json_number(json, "climbed", c->type.climbed);
	json_text(json, "session_type", o->name);
	json_text(json, "session_confidence", o->confidence ? o->confidence : "none");
	json_bool(json, "same_as_session", strcmp(name, recorded) == 0);
	json_text(json, "api", api_name(o->api));
	json_number(json, "min_size", o->least_of_all);
	json_number(json, "max_size", o->most_of_all);
	json_number(json, "size_step", o->step);
	json_number(json, "stacks", o->stacks);
	json_sums(json, &o->sums);
	json_array(json, "steps");
	for (size_t i = 0; i < c->steps.count; i++) {
		json_object_line(json, NULL);
		json_number(json, "depth", c->steps.at[i].depth);
		json_text(json, "text", c->steps.at[i].text);
		json_end(json);
	}
	json_end(json);
	free(name);
	free(recorded);
	return NULL;
}

static void json_head(struct explainer *e)
{
	struct json *json = &e->ctl->json;
	const struct block_found *b = e->block;

	if (b) {
		json_object_line(json, "block");
		json_address(json, "address", b->address);
		json_number(json, "bytes", b->size);
		json_number(json, "process", b->process);
		json_number(json, "thread", b->thread);
		json_number(json, "born_ns", b->born);
		if (b->ended)
			json_number(json, "ended_ns", b->ended);
		else
			json_null(json, "ended_ns");
		json_end(json);
		json_null(json, "site");
		return;
	}
	json_null(json, "block");
	json_object_line(json, "site");
	json_number(json, "id", e->place.site);
	json_text(json, "label", e->place.label);
	json_text(json, "file", e->place.file);
	json_number(json, "line", e->place.line);
	json_text(json, "module", e->place.module);
	json_end(json);
}

/* ---- the verb ---- */

static struct shiny_err *show_explain(struct explainer *e, const struct type_origins *origins)
{
	size_t shown = ctl_limit(e->ctl, origins->count, TYPES_SHOWN);
	bool json = CTL_JSON(e->ctl);
	struct shiny_err *err = NULL;

	if (shown > TYPES_SHOWN && !e->ctl->options.given[OPT_LIMIT])
		shown = TYPES_SHOWN;
	if (json) {
		ctl_document(e->ctl);
		json_head(e);
	} else {
		err = print_head(e);
	}
	for (size_t i = 0; i < shown && !err; i++) {
		struct conclusion c = { 0 };

		err = conclude(e, &origins->rows[i], &c);
		if (json && i == 1)
			json_array(&e->ctl->json, "others");
		if (json && i)
			json_object(&e->ctl->json, NULL);
		if (!err)
			err = json ? json_conclusion(e, &c) : print_conclusion(e, &c);
		if (json && i)
			json_end(&e->ctl->json);
		conclusion_deinit(&c);
	}
	if (json && shown > 1)
		json_end(&e->ctl->json);
	if (!err && !json)
		ctl_more(e->ctl, shown, origins->count);
	return err;
}

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
	struct site_matches places = { 0 };
	struct type_origins origins = { 0 };
	struct shiny_err *err = site_query_find(e->store, &e->filter, text, &places);

	if (err)
		return err;
	if (places.count == 1) {
		e->place = places.rows[0];
		err = origins_load(e->store, &e->filter, &e->place, 0, 0, &origins);
		if (!err)
			err = show_explain(e, &origins);
		origins_deinit(&origins);
	} else if (places.count) {
		err = ambiguous_places(text, &places);
	} else {
		AUTO_FREE char *file = text_shell(e->ctl->options.operands[0]);

		err = shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  "explain '%s': no call site of this session matches", text),
			"`shinyctl sites %s` lists them; a site is a function, function:line, "
			"file:line, module+0xoffset or #id, "
			"a block is 0xaddress",
			file);
	}
	site_matches_deinit(&places);
	return err;
}

static struct shiny_err *several_processes(struct explainer *e, const char *text,
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
	struct blocks_found blocks = { 0 };
	struct type_origins origins = { 0 };
	struct shiny_err *err = blocks_find(e->store, &e->filter, address, &blocks);

	if (err)
		return err;
	if (!blocks.count) {
		err = shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  "explain '%s': no block of this session was ever at that address",
				  text),
			"for a place in the code write module+0xoffset, as `shinyctl sites` does");
	} else if (blocks.count > 1 && (!blocks.rows[0].ended == !blocks.rows[1].ended)) {
		err = several_processes(e, text, &blocks);
	} else {
		e->block = &blocks.rows[0];
		err = origins_load(e->store, &e->filter, NULL, e->block->stack, e->block->vtable,
				   &origins);
		/* the block's last vptr may count in another row; without one, use its stack's
		 * other blocks */
		if (!err && !origins.count)
			err = origins_load(e->store, &e->filter, NULL, e->block->stack, 0,
					   &origins);
		if (!err && !origins.count)
			err = shiny_err(SHINY_ERR_OTHER,
					"explain '%s': the block's stack was not recorded, so "
					"nothing says what it is",
					text);
		if (!err)
			err = show_explain(e, &origins);
		origins_deinit(&origins);
	}
	blocks_deinit(&blocks);
	return err;
}

static bool is_address(const char *text, uint64_t *out)
{
	char *end;

	if (strncmp(text, "0x", 2) != 0 || !text[2])
		return false;
	*out = strtoull(text + 2, &end, 16);
	return !*end && strlen(text) <= 18;
}

static struct shiny_err *cmd_explain(struct ctl *ctl)
{
	const char *text = ctl->options.operands[1];
	struct sym_options options = { .debug_dirs = ctl->options.symbol_count
							     ? ctl->options.symbols
							     : NULL,
				       .type_rules = ctl->options.text[OPT_TYPE_RULES],
				       .no_cache = true,
				       .progress = true };
	struct explainer e = { .ctl = ctl, .full = ctl->options.given[OPT_FULL_NAMES] };
	uint64_t address;
	struct shiny_err *err = store_open(ctl->options.operands[0], &e.store);

	if (!err)
		err = filter_resolve(e.store, ctl->options.text[OPT_PROCESS], &e.filter);
	if (!err)
		err = sym_create(&options, &e.sym);
	if (!err)
		err = is_address(text, &address) ? explain_address(&e, text, address)
						 : explain_site(&e, text);
	filter_deinit(&e.filter);
	sym_destroy(e.sym);
	free(e.modules);
	if (err) {
		store_close(e.store);
		return err;
	}
	return ctl_end(ctl, e.store, "types");
}

const struct verb_body verb_explain = { .run = cmd_explain };
