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
	struct warm_file warmed;
	bool warm, alone;	   /* `warmed` is set; there is no other file */
	struct module_calls calls; /* of the session, if names are judged */
	struct judged *judged;	   /* JUDGED_KINDS of the answer's; NULL: names are not judged */
};
typedef VEC(struct subject) subjects_t;

struct symbols_answer {
	subjects_t subjects;
	struct judged *judged;
	size_t judged_count;
};

static void deinit_symbols(void *result)
{
	struct symbols_answer *answer = result;

	for (size_t i = 0; i < answer->subjects.count; i++) {
		struct subject *s = &answer->subjects.at[i];

		free(s->path);
		free(s->build_id);
		free(s->debug_file);
		free(s->extras);
		free(s->note);
		free(s->cache_path);
		module_calls_deinit(&s->calls);
	}
	free(answer->subjects.at);
	free(answer->judged);
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

static struct shiny_err *judge_all(const struct sym_options *options, struct symbols_answer *to)
{
	struct shiny_err *err = NULL;
	struct progress progress;

	to->judged_count = to->subjects.count * JUDGED_KINDS;
	to->judged = mem_zero(to->judged_count + 1, sizeof(*to->judged));
	progress_begin(&progress, "comparing what code says with the debug information", true);
	for (size_t i = 0; i < to->subjects.count && !err; i++) {
		struct subject *s = &to->subjects.at[i];

		s->judged = to->judged + i * JUDGED_KINDS;
		err = judge_file(options, s->path, s->build_id, &s->calls, s->judged);
		progress_set(&progress, i, to->subjects.count);
	}
	progress_end(&progress);
	return err;
}

static struct shiny_err *warm_all(const struct sym_options *options, subjects_t *subjects,
				  size_t jobs)
{
	AUTO_FREE struct warm_file *files = mem_zero(subjects->count + 1, sizeof(*files));
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < subjects->count; i++)
		files[i] = (struct warm_file){ .path = subjects->at[i].path,
					       .build_id = subjects->at[i].build_id };
	warm_files(options, files, subjects->count, jobs);
	for (size_t i = 0; i < subjects->count; i++) {
		struct subject *s = &subjects->at[i];

		s->warmed = files[i];
		s->warm = true;
		s->alone = subjects->count == 1;
		if (!err)
			err = files[i].err;
		else
			shiny_err_free(files[i].err);
	}
	return err;
}

/* ---- showing ---- */

/* Sets the share that is right, as the table has it. */
static void set_right(struct field_value *out, const struct judged_count *judged)
{
	if (judged->checked)
		field_set_owned(out, mem_format("%.1f %%", 100.0 * (double)judged->right /
								   (double)judged->checked));
}

static void get_share(const void *row, struct field_value *out)
{
	set_right(out, &((const struct judged *)row)->calls);
}

static void get_block_share(const void *row, struct field_value *out)
{
	set_right(out, &((const struct judged *)row)->blocks);
}

FIELD_GETTER(get_brief_id, struct subject, owned, mem_format("%.12s", r->build_id))
FIELD_GETTER(get_names, struct subject, text, strcmp(r->state, "ok") == 0 ? r->names : r->state)
FIELD_SKIP(says_nothing, struct judged, !r->calls.said)
FIELD_SKIP(is_unweighted, struct judged, !r->weighted)
FIELD_SKIP(has_no_places, struct subject, !r->places.rest_on)
FIELD_SKIP(is_cold, struct subject, !r->warm)
FIELD_SKIP(is_unjudged, struct subject, !r->judged)

static bool has_no_calls(const void *row)
{
	const struct subject *s = row;

	return !s->warmed.calls && !s->alone;
}

/* clang-format off */
#define FILE_NAME .title = "module", .flexible = true, .cut = TEXT_CUT_START, .tint = TINT_NAME
static const struct field judged_blocks_fields[] = {
	{ FIELD_COUNT("blocks", struct judged, blocks.said),
	  .help = "the blocks that these calls made; of a session, as the next two" },
	{ FIELD_COUNT("blocks_checked", struct judged, blocks.checked), .title = "blocks",
	  .blank_zero = true, .help = "those where the debug information knows" },
	{ FIELD_COUNT("blocks_right", struct judged, blocks.right),
	  .help = "and those that are right" },
	FIELD_LAST
};
static const struct field judged_fields[] = {
	{ FIELD_TEXT("module", struct judged, path), FILE_NAME, .column_only = true },
	{ FIELD_TEXT("evidence", struct judged, evidence),
	  .help = "name, file, directory, file? (a "
	  "doubtful one), string, array, map node, storage, callback, counted or object" },
	{ FIELD_COUNT("calls", struct judged, calls.said),
	  .help = "calls of which it says something" },
	{ FIELD_COUNT("checked", struct judged, calls.checked),
	  .help = "calls where the debug information knows" },
	{ FIELD_COUNT("right", struct judged, calls.right), .help = "calls where it is right" },
	{ FIELD_WORKED_OUT("share", REAL, get_share), .column_only = true },
	{ FIELD_GROUP(struct judged, path, judged_blocks_fields), .skip = is_unweighted },
	{ FIELD_WORKED_OUT("of_blocks", REAL, get_block_share), .column_only = true },
	FIELD_LAST
};

#define WARM struct warm_file
static const struct field warmed_fields[] = {
	{ FIELD_TEXT("module", WARM, path), FILE_NAME, .column_only = true },
	{ FIELD_COUNT("calls", WARM, calls), .help = "calls of allocation functions" },
	{ FIELD_COUNT("exact", WARM, by_confidence[SYM_EXACT]),
	  .help = "calls whose type is exact" },
	{ FIELD_COUNT("high", WARM, by_confidence[SYM_HIGH]), .help = "of high confidence" },
	{ FIELD_COUNT("medium", WARM, by_confidence[SYM_MEDIUM]), .help = "of medium confidence" },
	{ FIELD_COUNT("low", WARM, by_confidence[SYM_LOW]), .help = "of low confidence" },
	{ FIELD_COUNT("label", WARM, by_confidence[SYM_LABEL]),
	  .help = "calls with a label alone" },
	{ FIELD_COUNT("none", WARM, none), .help = "calls of which nothing is known" },
	{ FIELD_COUNT("wrappers", WARM, wrappers),
	  .help = "calls in wrappers, whose callers know" },
	{ FIELD_TIME("ns", WARM, ns), .title = "time", .help = "the time that it took" },
	FIELD_LAST
};

#define PLACES struct sym_places
static const struct field places_fields[] = {
	{ FIELD_TEXT("rest_on", PLACES, rest_on), .help = "neighbours or strings" },
	{ FIELD_COUNT("functions", PLACES, functions),
	  .help = "functions that name their source file" },
	{ FIELD_COUNT("named", PLACES, named), .help = "those that name themselves, too" },
	{ FIELD_COUNT("titled", PLACES, titled), .help = "functions that name only themselves" },
	FIELD_LAST
};

#define ROW struct subject
static const struct field some_places_fields[] = {
	{ FIELD_OBJECT("places", ROW, places, places_fields),
	  .help = "where a file without names says where its code is from; else absent" },
	FIELD_LAST
};
static const struct field some_warmed_fields[] = {
	{ FIELD_OBJECT("warmed", ROW, warmed, warmed_fields),
	  .help = "what was computed; absent: nothing" },
	FIELD_LAST
};
static const struct field some_judged_fields[] = {
	{ FIELD_LIST("judged", ROW, judged, judged_fields), .count = JUDGED_KINDS,
	  .skip = says_nothing, .help = "with --judge, a kind of evidence" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("path", ROW, path), FILE_NAME, .help = "the file" },
	{ FIELD_TEXT("build_id", ROW, build_id), .help = "its build-id; empty: none" },
	{ FIELD_WORKED_OUT("id", TEXT, get_brief_id), .title = "build-id", .column_only = true,
	  .tint = TINT_DIM },
	{ FIELD_TEXT("state", ROW, state), .help = "ok, missing, changed or not-elf" },
	{ FIELD_TEXT("names", ROW, names), .help = "dwarf, symtab, dynsym or none" },
	{ FIELD_WORKED_OUT("names_or_state", TEXT, get_names), .title = "names",
	  .column_only = true },
	{ FIELD_TEXT("debug_file", ROW, debug_file), .help = "its debug information; null: none" },
	{ FIELD_TEXT("way", ROW, way), .title = "found",
	  .help = "how that was found: inside, build-id, debuglink or debuginfod; null: not" },
	{ FIELD_TEXT("extras", ROW, extras), .title = "with",
	  .help = "of dwz, dwp, minidebug and compressed; null: none" },
	{ FIELD_COUNT("sites", ROW, sites), .blank_zero = true,
	  .help = "call sites of the session in it" },
	{ FIELD_COUNT("cached", ROW, cached), .blank_zero = true,
	  .help = "call sites in the cache" },
	{ FIELD_TEXT("cache_file", ROW, cache_path), .help = "the cache's file; null: none" },
	{ FIELD_TEXT("note", ROW, note), .help = "what is wrong with it; null: nothing" },
	{ FIELD_SAME(some_places_fields), .skip = has_no_places },
	{ FIELD_SAME(some_warmed_fields), .skip = is_cold },
	{ FIELD_SAME(some_judged_fields), .skip = is_unjudged },
	FIELD_LAST
};
static const struct field symbols_fields[] = {
	{ FIELD_ROWS("modules", struct symbols_answer, subjects.at, subjects.count, row_fields),
	  .spread = true, .shows = "path id/5 sites/3 names_or_state way/1 extras/4 cached/2",
	  .help = "a file" },
	FIELD_LAST
};
static const struct field warmed_row_fields[] = {
	{ FIELD_GROUP(ROW, warmed, warmed_fields) }, FIELD_LAST
};
static const struct field tables_fields[] = { /* in text alone */
	{ FIELD_ROWS("warmed", struct symbols_answer, subjects.at, subjects.count,
		     warmed_row_fields), .skip = has_no_calls,
	  .shows = "module calls exact high medium low label/2 none wrappers/3 ns/1" },
	{ FIELD_ROWS("judged", struct symbols_answer, judged, judged_count, judged_fields),
	  .skip = says_nothing,
	  .shows = "module evidence calls checked right share blocks_checked/1 of_blocks" },
	FIELD_LAST
};
/* clang-format on */

/* Returns the note of a file, and how many of its functions name their source file. */
static char *below_module(const void *row, void *context)
{
	const struct style *style = context;
	const struct subject *s = row;
	const struct sym_places *places = &s->places;
	size_t room = style->width ? style->width : style->longest ? 2 * style->longest : 4000;
	char *out;
	size_t size;
	FILE *text = mem_stream_open(&out, &size);

	if (s->note) {
		AUTO_FREE char *line = mem_format("    %s", s->note);
		AUTO_FREE char *fitted = mem_alloc(4 * room + 8);

		text_fit(fitted, 4 * room + 8, line, room, TEXT_CUT_END);
		fprintf(text, "%s%s%s\n", tint(style, TINT_DIM), fitted, tint_end(style, TINT_DIM));
	}
	if (places->rest_on)
		fprintf(text,
			"%s    %s name%s their source file, %s themselves, too, %s only that%s%s\n",
			tint(style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, places->functions, "function"),
			places->functions == 1 ? "s" : "", units_count(UNITS_BUF, places->named),
			units_count(UNITS_BUF, places->titled),
			strcmp(places->rest_on, "neighbours") == 0 ? "; others lie beside them"
								   : "",
			tint_end(style, TINT_DIM));
	mem_stream_close(text);
	return out;
}

static void print_warmed(struct ctl *ctl, const struct answer *tables)
{
	const struct symbols_answer *symbols = tables->result;
	struct warm_file all = { .calls = 0 };
	uint64_t sure, typed;

	for (size_t i = 0; i < symbols->subjects.count; i++) {
		const struct warm_file *f = &symbols->subjects.at[i].warmed;

		all.calls += f->calls;
		all.wrappers += f->wrappers;
		for (size_t c = SYM_LOW; c <= SYM_EXACT; c++)
			all.by_confidence[c] += f->by_confidence[c];
	}
	sure = all.by_confidence[SYM_EXACT] + all.by_confidence[SYM_HIGH];
	typed = sure + all.by_confidence[SYM_MEDIUM] + all.by_confidence[SYM_LOW];
	putc('\n', ctl->style.out);
	answer_table(tables, "warmed", &ctl->style);
	fprintf(ctl->style.out,
		"\n%s of allocation functions: a type for %s, %s exact or high; %s in wrappers, "
		"whose callers know\n",
		units_noun(UNITS_NOUN_BUF, all.calls, "call"), units_count(UNITS_BUF, typed),
		units_count(UNITS_BUF, sure), units_count(UNITS_BUF, all.wrappers));
}

static struct shiny_err *print_symbols(struct ctl *ctl, const struct answer *answer)
{
	const struct symbols_answer *symbols = answer->result;
	const subjects_t *subjects = &symbols->subjects;
	const struct answer tables = { .fields = tables_fields, .result = symbols };
	struct answer modules = *answer;
	uint64_t without = 0;

	modules.below = below_module;
	modules.context = &ctl->style;
	answer_table(&modules, "modules", &ctl->style);
	for (size_t i = 0; i < subjects->count; i++)
		without += !subjects->at[i].names || strcmp(subjects->at[i].names, "dwarf") != 0;
	fprintf(ctl->style.out, "\n%s, %s without debug information\n",
		units_noun(UNITS_NOUN_BUF, subjects->count, "module"),
		units_count(UNITS_BUF, without));
	if (subjects->count && subjects->at[0].warm)
		print_warmed(ctl, &tables);
	if (ctl->options.given[OPT_JUDGE]) {
		putc('\n', ctl->style.out);
		answer_table(&tables, "judged", &ctl->style);
	}
	return NULL;
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

static struct shiny_err *load_symbols(struct ctl *ctl, struct store *store,
				      const struct filter *filter, void *result)
{
	const struct options *o = &ctl->options;
	struct sym_options options = { .debug_dirs = o->symbol_count ? o->symbols : NULL,
				       .type_rules = o->text[OPT_TYPE_RULES],
				       .progress = true };
	struct symbols_answer *out = result;
	bool warm = o->given[OPT_WARM];
	struct shiny_err *err = NULL;

	confine_verb(o, CONFINE_NAMER, NULL, 0);
	for (size_t i = 0; i < o->operand_count && !err; i++) {
		if (is_session(o->operands[i])) {
			err = add_session(&out->subjects, o->operands[i], o->given[OPT_JUDGE]);
		} else {
			err = add_binary(&out->subjects, o->operands[i]);
			warm = warm || (!o->given[OPT_LIST] && !o->given[OPT_JUDGE]);
		}
	}
	if (!err && warm)
		err = warm_all(&options, &out->subjects, (size_t)o->number[OPT_JOBS]);
	if (!err)
		err = look_at_all(&options, &out->subjects);
	if (!err && o->given[OPT_JUDGE])
		err = judge_all(&options, out);
	if (err)
		deinit_symbols(out);
	return err;
}

const struct verb_body verb_symbols = {
	.fields = symbols_fields,
	.size = sizeof(struct symbols_answer),
	.load = load_symbols,
	.deinit = deinit_symbols,
	.print = print_symbols,
	.no_session = true,
};
