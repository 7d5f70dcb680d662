/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_symbols.c: `shinyctl symbols`: prints the sources of names and types of each file, and fills
 * the cache of types ahead of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../analysis/query/module_query.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/program.h"
#include "../../base/progress.h"
#include "../../base/units.h"
#include "../run/confine_verb.h"
#include "../verb_body.h"
#include "judge_names.h"
#include "../name_lookup.h"
#include "../run/warm_cache.h"

/* A file given by the user, or a module of a session. */
struct subject {
	char *path, *build_id; /* build_id in hex, "": none */
	uint64_t sites;        /* the session's call sites in it */
	const char *state, *names, *way;
	char *debug_file, *extras, *note, *cache_path; /* NULL: none */
	uint64_t cached;
	struct sym_places places; /* its text is a constant; NULL: none */
	struct module_calls calls; /* of the session, if names are judged */
	struct judged judged[JUDGED_KINDS];
};
typedef VEC(struct subject) subjects_t;

static void subjects_deinit(subjects_t *subjects)
{
	for (size_t i = 0; i < subjects->count; i++) {
		struct subject *s = &subjects->at[i];

		free(s->path);
		free(s->build_id);
		free(s->debug_file);
		free(s->extras);
		free(s->note);
		free(s->cache_path);
		module_calls_deinit(&s->calls);
	}
	free(subjects->at);
}

static struct subject *add(subjects_t *subjects, const char *path, const char *build_id)
{
	struct subject *s = vec_push(subjects);

	*s = (struct subject){.path = mem_text(path), .build_id = mem_text(build_id)};
	return s;
}

static struct shiny_err *add_session(subjects_t *subjects, const char *file, bool judge)
{
	struct module_rows modules = { 0 };
	struct store *store;
	struct shiny_err *err = store_open(file, &store);

	if (err)
		return err;
	err = modules_by_sites(store, &modules);
	for (size_t i = 0; i < modules.count && !err; i++) {
		const struct module_row *module = &modules.at[i];
		struct subject *s;

		/* skips [vdso] and its like */
		if (*module->path != '/' && access(module->path, R_OK) != 0)
			continue;
		s = add(subjects, module->path, module->build_id);
		s->sites = module->weight;
		if (judge)
			err = module_calls(store, module->path, module->build_id, &s->calls);
	}
	module_rows_deinit(&modules);
	store_close(store);
	return err;
}

/* Adds a program by its name, or a file by its path. */
static struct shiny_err *add_binary(subjects_t *subjects, const char *name)
{
	char path[PROGRAM_PATH];
	struct program_look look;
	struct stat st;

	if (strchr(name, '/') || access(name, R_OK) == 0)
		snprintf(path, sizeof(path), "%s", name);
	else
		SHINY_TRY(program_find(name, path));
	if (stat(path, &st) != 0)
		return shiny_err_os(errno, "cannot read %s", path);
	SHINY_TRY(program_look(path, &look));
	if (look.kind == PROGRAM_SCRIPT)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "symbols: %s is a script", path),
					"name the program that it starts");
	if (look.kind == PROGRAM_OTHER)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE,
				  "symbols: %s is neither a program, a library nor a session",
				  path),
			"usage: shinyctl symbols %s", verbs[VERB_SYMBOLS].operands);
	if (look.kind == PROGRAM_FOREIGN)
		return shiny_err(SHINY_ERR_USAGE, "symbols: %s is not for x86-64", path);
	add(subjects, path, look.build_id);
	return NULL;
}

/* ---- looking ---- */

static const char *way_of(const struct sym_module_info *info, const struct sym_inventory *have)
{
	if (have->inside)
		return "inside";
	if (!info->debug_file)
		return NULL;
	if (strstr(info->debug_file, "/.build-id/"))
		return "build-id";
	return strstr(info->debug_file, "debuginfod") ? "debuginfod" : "debuglink";
}

static char *extras_of(const struct sym_inventory *have)
{
	char text[64] = "";

	if (have->dwz)
		strcat(text, ", dwz");
	if (have->dwp)
		strcat(text, ", dwp");
	if (have->minidebug)
		strcat(text, ", minidebug");
	if (have->compressed)
		strcat(text, ", compressed");
	return *text ? mem_text(text + 2) : NULL;
}

static struct shiny_err *look(const struct sym_options *options, struct subject *s)
{
	static const char *const states[] = { [SYM_OK] = "ok",
					      [SYM_MISSING] = "missing",
					      [SYM_CHANGED] = "changed",
					      [SYM_NOT_ELF] = "not-elf" };
	struct sym_module *module;
	struct sym_inventory have;
	const struct sym_module_info *info;
	struct sym *sym = NULL;
	struct shiny_err *err = sym_create(options, &sym);

	if (!err)
		err = lookup_module(sym, s->path, s->build_id, &module);
	if (!err) {
		sym_module_settle(module);
		info = sym_module_info(module);
		sym_module_inventory(module, &have);
		s->state = states[info->state];
		s->names = sym_names_from(info);
		s->way = way_of(info, &have);
		s->extras = extras_of(&have);
		s->debug_file = info->debug_file ? mem_text(info->debug_file) : NULL;
		s->note = info->state == SYM_MISSING ? mem_text("the file is gone")
			  : info->state == SYM_CHANGED
				  ? mem_text("the file is not the one that was recorded")
			  : *info->note ? mem_text(info->note)
					: NULL;
		s->cache_path = have.cache_path ? mem_text(have.cache_path) : NULL;
		s->cached = have.cached;
		sym_module_find_places(module, &s->places);
	}
	sym_destroy(sym);
	return err;
}

static struct shiny_err *look_at_all(const struct sym_options *options, subjects_t *subjects)
{
	struct shiny_err *err = NULL;
	struct progress progress;

	progress_begin(&progress, "looking for debug information", true);
	for (size_t i = 0; i < subjects->count && !err; i++) {
		err = look(options, &subjects->at[i]);
		progress_set(&progress, i, subjects->count);
	}
	progress_end(&progress);
	return err;
}

static struct shiny_err *judge_all(const struct sym_options *options, subjects_t *subjects)
{
	struct shiny_err *err = NULL;
	struct progress progress;

	progress_begin(&progress, "comparing what code says with the debug information", true);
	for (size_t i = 0; i < subjects->count && !err; i++) {
		struct subject *s = &subjects->at[i];

		err = judge_file(options, s->path, s->build_id, &s->calls, s->judged);
		progress_set(&progress, i, subjects->count);
	}
	progress_end(&progress);
	return err;
}

static struct shiny_err *warm_all(const struct sym_options *options, subjects_t *subjects,
				  size_t jobs, struct warm_file **out)
{
	struct warm_file *files = mem_zero(subjects->count + 1, sizeof(*files));
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < subjects->count; i++)
		files[i] = (struct warm_file){ .path = subjects->at[i].path,
					       .build_id = subjects->at[i].build_id };
	warm_files(options, files, subjects->count, jobs);
	for (size_t i = 0; i < subjects->count; i++) {
		if (!err)
			err = files[i].err;
		else
			shiny_err_free(files[i].err);
	}
	*out = files;
	return err;
}

/* ---- showing ---- */

enum { MODULE, BUILD_ID, SITES, NAMES, WAY, EXTRAS, CACHED, COLUMNS };
static const struct table_column columns[COLUMNS] = {
	[MODULE] = { "module", CELL_TEXT, true, TEXT_CUT_START, 0, TINT_NAME },
	[BUILD_ID] = { .title = "build-id", .kind = CELL_TEXT, .drop = 5, .tint = TINT_DIM },
	[SITES] = { .title = "sites", .kind = CELL_COUNT, .drop = 3 },
	[NAMES] = { .title = "names", .kind = CELL_TEXT },
	[WAY] = { .title = "found", .kind = CELL_TEXT, .drop = 1 },
	[EXTRAS] = { .title = "with", .kind = CELL_TEXT, .drop = 4 },
	[CACHED] = { .title = "cached", .kind = CELL_COUNT, .drop = 2 },
};

/* Prints how many functions name their source file in the file itself. */
static void below_places(struct table *table, const struct style *style, const struct subject *s)
{
	if (!s->places.rest_on)
		return;
	table_below(table, mem_format("%s    %s name%s their source file, %s themselves, too%s%s\n",
				      tint(style, TINT_DIM),
				      units_noun(UNITS_NOUN_BUF, s->places.functions, "function"),
				      s->places.functions == 1 ? "s" : "",
				      units_count(UNITS_BUF, s->places.named),
				      strcmp(s->places.rest_on, "neighbours") == 0
					      ? "; others lie beside them"
					      : "",
				      tint_end(style, TINT_DIM)));
}

static void print_modules(struct ctl *ctl, const subjects_t *subjects)
{
	const struct style *style = &ctl->style;
	uint64_t without = 0;
	struct table table;

	table_init(&table, columns, COLUMNS);
	for (size_t i = 0; i < subjects->count; i++) {
		const struct subject *s = &subjects->at[i];
		char id[13] = "";
		size_t room = style->width     ? style->width
			      : style->longest ? 2 * style->longest
					       : 4000;

		snprintf(id, sizeof(id), "%.12s", s->build_id);
		table_row(&table);
		table_text(&table, MODULE, s->path);
		table_text(&table, BUILD_ID, id);
		if (s->sites)
			table_number(&table, SITES, s->sites);
		table_text(&table, NAMES, strcmp(s->state, "ok") == 0 ? s->names : s->state);
		if (s->way)
			table_text(&table, WAY, s->way);
		if (s->extras)
			table_text(&table, EXTRAS, s->extras);
		if (s->cached)
			table_number(&table, CACHED, s->cached);
		if (s->note) {
			char *line = mem_format("    %s", s->note),
			     *fitted = mem_alloc(4 * room + 8);

			text_fit(fitted, 4 * room + 8, line, room, TEXT_CUT_END);
			table_below(&table, mem_format("%s%s%s\n", tint(style, TINT_DIM), fitted,
						       tint_end(style, TINT_DIM)));
			free(line);
			free(fitted);
		}
		below_places(&table, style, s);
		without += !s->names || strcmp(s->names, "dwarf") != 0;
	}
	table_print(&table, style);
	table_deinit(&table);
	fprintf(style->out, "\n%s, %s without debug information\n",
		units_noun(UNITS_NOUN_BUF, subjects->count, "module"),
		units_count(UNITS_BUF, without));
}

enum {
	W_MODULE,
	W_CALLS,
	W_EXACT,
	W_HIGH,
	W_MEDIUM,
	W_LOW,
	W_LABEL,
	W_NONE,
	W_WRAPPERS,
	W_TIME,
	W_COLUMNS
};
static const struct table_column warm_columns[W_COLUMNS] = {
	[W_MODULE] = { "module", CELL_TEXT, true, TEXT_CUT_START, 0, TINT_NAME },
	[W_CALLS] = { .title = "calls", .kind = CELL_COUNT },
	[W_EXACT] = { .title = "exact", .kind = CELL_COUNT },
	[W_HIGH] = { .title = "high", .kind = CELL_COUNT },
	[W_MEDIUM] = { .title = "medium", .kind = CELL_COUNT },
	[W_LOW] = { .title = "low", .kind = CELL_COUNT },
	[W_LABEL] = { .title = "label", .kind = CELL_COUNT, .drop = 2 },
	[W_NONE] = { .title = "none", .kind = CELL_COUNT },
	[W_WRAPPERS] = { .title = "wrappers", .kind = CELL_COUNT, .drop = 3 },
	[W_TIME] = { .title = "time", .kind = CELL_TIME, .drop = 1 },
};

static void print_warmed(struct ctl *ctl, const struct warm_file *files, size_t count)
{
	struct warm_file all = {.calls = 0};
	struct table table;

	table_init(&table, warm_columns, W_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		const struct warm_file *f = &files[i];

		if (!f->calls && count > 1)
			continue;
		table_row(&table);
		table_text(&table, W_MODULE, f->path);
		table_number(&table, W_CALLS, f->calls);
		table_number(&table, W_EXACT, f->by_confidence[SYM_EXACT]);
		table_number(&table, W_HIGH, f->by_confidence[SYM_HIGH]);
		table_number(&table, W_MEDIUM, f->by_confidence[SYM_MEDIUM]);
		table_number(&table, W_LOW, f->by_confidence[SYM_LOW]);
		table_number(&table, W_LABEL, f->by_confidence[SYM_LABEL]);
		table_number(&table, W_NONE, f->none);
		table_number(&table, W_WRAPPERS, f->wrappers);
		table_number(&table, W_TIME, f->ns);
		all.calls += f->calls;
		all.wrappers += f->wrappers;
		for (size_t c = SYM_LOW; c <= SYM_EXACT; c++)
			all.by_confidence[c] += f->by_confidence[c];
	}
	putc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
	fprintf(ctl->style.out,
		"\n%s of allocation functions: a type for %s, %s exact or high; %s in wrappers, "
		"whose callers know\n",
		units_noun(UNITS_NOUN_BUF, all.calls, "call"),
		units_count(UNITS_BUF, all.by_confidence[SYM_EXACT] + all.by_confidence[SYM_HIGH] +
					       all.by_confidence[SYM_MEDIUM] +
					       all.by_confidence[SYM_LOW]),
		units_count(UNITS_BUF, all.by_confidence[SYM_EXACT] + all.by_confidence[SYM_HIGH]),
		units_count(UNITS_BUF, all.wrappers));
}

enum {
	J_MODULE,
	J_EVIDENCE,
	J_SAID,
	J_CHECKED,
	J_RIGHT,
	J_SHARE,
	J_BLOCKS,
	J_BLOCK_SHARE,
	J_COLUMNS
};
static const struct table_column judge_columns[J_COLUMNS] = {
	[J_MODULE] = { "module", CELL_TEXT, true, TEXT_CUT_START, 0, TINT_NAME },
	[J_EVIDENCE] = { .title = "evidence", .kind = CELL_TEXT },
	[J_SAID] = { .title = "calls", .kind = CELL_COUNT },
	[J_CHECKED] = { .title = "checked", .kind = CELL_COUNT },
	[J_RIGHT] = { .title = "right", .kind = CELL_COUNT },
	[J_SHARE] = { .title = "share", .kind = CELL_RIGHT },
	[J_BLOCKS] = { .title = "blocks", .kind = CELL_COUNT, .drop = 1 },
	[J_BLOCK_SHARE] = { .title = "of blocks", .kind = CELL_RIGHT },
};

static void judged_share(struct table *table, size_t column, const struct judged_count *judged)
{
	char share[16];

	if (!judged->checked)
		return;
	snprintf(share, sizeof(share), "%.1f %%",
		 100.0 * (double)judged->right / (double)judged->checked);
	table_text(table, column, share);
}

static void print_judged(struct ctl *ctl, const subjects_t *subjects)
{
	struct table table;

	table_init(&table, judge_columns, J_COLUMNS);
	for (size_t i = 0; i < subjects->count; i++)
		for (size_t k = 0; k < JUDGED_KINDS; k++) {
			const struct judged *judged = &subjects->at[i].judged[k];

			if (!judged->calls.said)
				continue;
			table_row(&table);
			table_text(&table, J_MODULE, subjects->at[i].path);
			table_text(&table, J_EVIDENCE, judged_names[k]);
			table_number(&table, J_SAID, judged->calls.said);
			table_number(&table, J_CHECKED, judged->calls.checked);
			table_number(&table, J_RIGHT, judged->calls.right);
			judged_share(&table, J_SHARE, &judged->calls);
			if (judged->blocks.checked)
				table_number(&table, J_BLOCKS, judged->blocks.checked);
			judged_share(&table, J_BLOCK_SHARE, &judged->blocks);
		}
	putc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

static void json_judged(struct json *json, const struct subject *s)
{
	json_array(json, "judged");
	for (size_t k = 0; k < JUDGED_KINDS; k++) {
		const struct judged *judged = &s->judged[k];

		if (!judged->calls.said)
			continue;
		json_object_line(json, NULL);
		json_text(json, "evidence", judged_names[k]);
		json_number(json, "calls", judged->calls.said);
		json_number(json, "checked", judged->calls.checked);
		json_number(json, "right", judged->calls.right);
		if (s->calls.rows.count) {
			json_number(json, "blocks", judged->blocks.said);
			json_number(json, "blocks_checked", judged->blocks.checked);
			json_number(json, "blocks_right", judged->blocks.right);
		}
		json_end(json);
	}
	json_end(json);
}

static void json_warmed(struct json *json, const struct warm_file *file)
{
	json_object_line(json, "warmed");
	json_number(json, "calls", file->calls);
	for (int c = SYM_EXACT; c >= SYM_LABEL; c--)
		json_number(json, sym_confidence_name((enum sym_confidence)c),
			    file->by_confidence[c]);
	json_number(json, "none", file->none);
	json_number(json, "wrappers", file->wrappers);
	json_number(json, "ns", file->ns);
	json_end(json);
}

static void json_modules(struct ctl *ctl, const subjects_t *subjects, const struct warm_file *files)
{
	struct json *json = &ctl->json;

	ctl_document(ctl);
	json_array(json, "modules");
	for (size_t i = 0; i < subjects->count; i++) {
		const struct subject *s = &subjects->at[i];

		json_object(json, NULL);
		json_text(json, "path", s->path);
		json_text(json, "build_id", s->build_id);
		json_text(json, "state", s->state);
		json_text(json, "names", s->names);
		json_text(json, "debug_file", s->debug_file);
		json_text(json, "way", s->way);
		json_text(json, "extras", s->extras);
		json_number(json, "sites", s->sites);
		json_number(json, "cached", s->cached);
		json_text(json, "cache_file", s->cache_path);
		json_text(json, "note", s->note);
		if (s->places.rest_on) {
			json_object_line(json, "places");
			json_text(json, "rest_on", s->places.rest_on);
			json_number(json, "functions", s->places.functions);
			json_number(json, "named", s->places.named);
			json_end(json);
		}
		if (files)
			json_warmed(json, &files[i]);
		if (ctl->options.given[OPT_JUDGE])
			json_judged(json, s);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static bool is_session(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)] = "";
	FILE *file = fopen(path, "re");
	bool yes = file && fread(head, sizeof(head), 1, file) == 1 &&
		   memcmp(head, magic, sizeof(magic)) == 0;

	if (file)
		fclose(file);
	return yes;
}

static struct shiny_err *cmd_symbols(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	struct sym_options options = { .debug_dirs = o->symbol_count ? o->symbols : NULL,
				       .type_rules = o->text[OPT_TYPE_RULES],
				       .progress = true };
	bool warm = o->given[OPT_WARM];
	subjects_t subjects = { 0 };
	struct warm_file *files = NULL;
	struct shiny_err *err = NULL;

	confine_verb(o, CONFINE_NAMER, NULL, 0);
	for (size_t i = 0; i < o->operand_count && !err; i++) {
		if (is_session(o->operands[i])) {
			err = add_session(&subjects, o->operands[i], o->given[OPT_JUDGE]);
		} else {
			err = add_binary(&subjects, o->operands[i]);
			warm = warm || (!o->given[OPT_LIST] && !o->given[OPT_JUDGE]);
		}
	}
	if (!err && warm)
		err = warm_all(&options, &subjects, (size_t)o->number[OPT_JOBS], &files);
	if (!err)
		err = look_at_all(&options, &subjects);
	if (!err && o->given[OPT_JUDGE])
		err = judge_all(&options, &subjects);
	if (!err && CTL_JSON(ctl)) {
		json_modules(ctl, &subjects, files);
	} else if (!err) {
		print_modules(ctl, &subjects);
		if (files)
			print_warmed(ctl, files, subjects.count);
		if (o->given[OPT_JUDGE])
			print_judged(ctl, &subjects);
	}
	free(files);
	subjects_deinit(&subjects);
	return err;
}

const struct verb_body verb_symbols = { .run = cmd_symbols };
