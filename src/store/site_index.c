/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_index.c: finds the call site of every stack, once, when a recording is finished.
 *
 * Runs: sidecar. Signals: no. Allocates: yes, about 40 bytes a frame and 4 a stack. Threads: one a
 * store.
 *
 * The innermost frame of an allocation is often std::vector<T>::_M_realloc_insert or g_malloc:
 * true, but useless. The site is the first function, inline functions expanded, that is not in
 * table `boring` and whose frame is not in table `wrapper`; a stack in which all are boring has its
 * innermost function. A function without a name is interesting unless its module is boring (libc,
 * libstdc++). The rules are data in the file, so that a reader can see, and repeat, the choice.
 * Library code that is compiled into its users, as Ada's generic containers are, has names of
 * theirs: rules for it name its source file.
 *
 * An address tells a reader nothing. A site that has neither a function nor a file is named after
 * the first function above it that is interesting and has a name, and there is one site for each
 * such function. Stripped programs export the entries of their allocators (palloc, ngx_palloc,
 * Rf_allocVector), so functions whose name says that they allocate are passed over, as long as
 * another one has a name. Where a frame has no name, the call that led to it may have one
 * (called_names.h). If all names are in boring code, the site is the next interesting frame above
 * whose file or directory is known; without one, a boring name is shown, and parts no sites: it
 * says at least whether a site runs in a thread or in the program's main function.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/function_name.h"
#include "../base/glob.h"
#include "../base/hash_bytes.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "row_writer.h"

/* Stacks of one key share a site. No padding: it is hashed and compared as bytes. */
struct site_key {
	uint64_t vaddr; /* 0 if the function has a name */
	uint32_t module, function, source, line;
	uint32_t above; /* the named function that calls a site without function and source */
	uint32_t zero;
};

struct site_frame {
	uint32_t module;
	bool interesting, wrapper;
	uint64_t vaddr;
	uint32_t called; /* the function that it calls, 0 unknown */
	uint32_t function, source, line; /* of the first interesting line, else of the innermost
	                                  * one */
};

/* The judgement on a function, and on a module. */
enum { FUNCTION_BORING = 1, FUNCTION_ALLOCATES = 2 };
enum { MODULE_BORING = 1, MODULE_OWN = 2 };

enum pattern_of { OF_FUNCTION, OF_MODULE, OF_SOURCE };
struct pattern {
	enum pattern_of of;
	char *text;
};

struct site_finder {
	struct store *store;
	struct pattern *patterns;
	size_t pattern_count;
	unsigned char *functions; /* by id, FUNCTION_… */
	unsigned char *boring_modules, *boring_sources; /* by id */
	size_t function_limit, module_limit, source_limit; /* highest id + 1 */
	struct site_frame *frames;
	size_t frame_limit;
	VEC(struct site_key) sites; /* at[id - 1] */
	VEC(uint32_t) site_frames;  /* [id - 1]: a frame of the site */
	VEC(uint32_t) site_boring;  /* [id - 1]: a boring function above it; 0: none needed */
	struct hash_table index;    /* indexes of sites */
	const struct stack_tails *tails;
	struct stack_sites *out;
};

/* ---- names ---- */

static bool is_boring(const struct site_finder *f, enum pattern_of of, const char *name)
{
	const char *slash = of == OF_MODULE ? strrchr(name, '/') : NULL,
		   *start = slash		? slash + 1
			    : of == OF_FUNCTION ? function_name_start(name)
						: name;
	/* arguments may follow a function's name */
	const char *ends = of == OF_FUNCTION ? "(<@" : NULL;
	size_t length = strlen(start);

	for (size_t i = 0; i < f->pattern_count; i++)
		if (f->patterns[i].of == of &&
		    glob_match(&(struct glob){ .pattern = f->patterns[i].text, .ends = ends },
			       start, length, NULL, 0))
			return true;
	return false;
}

/* ---- loading ---- */

typedef struct shiny_err *each_row_fn(struct site_finder *f, sqlite3_stmt *row);

static struct shiny_err *each_row(struct site_finder *f, const char *sql, each_row_fn *fn)
{
	sqlite3_stmt *statement = NULL;
	struct shiny_err *err = NULL;
	int code = sqlite3_prepare_v2(f->store->db, sql, -1, &statement, NULL);

	while (code == SQLITE_OK && !err) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		err = fn(f, statement);
		code = SQLITE_OK;
	}
	if (!err && code != SQLITE_DONE)
		err = db_error(f->store, code, "finish");
	sqlite3_finalize(statement);
	return err;
}

static struct shiny_err *no_memory(void)
{
	return shiny_err(SHINY_ERR_OTHER, "out of memory");
}

static const char *column_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

static struct shiny_err *take_pattern(struct site_finder *f, sqlite3_stmt *row)
{
	struct pattern *more = reallocarray(f->patterns, f->pattern_count + 1, sizeof(*more));
	const char *kind = column_text(row, 0);
	enum pattern_of of = !strcmp(kind, "module")   ? OF_MODULE
			     : !strcmp(kind, "source") ? OF_SOURCE
						       : OF_FUNCTION;
	char *text = strdup(column_text(row, 1));

	if (more)
		f->patterns = more;
	if (!more || !text) {
		free(text);
		return no_memory();
	}
	f->patterns[f->pattern_count++] = (struct pattern){ of, text };
	return NULL;
}

static struct shiny_err *take_limits(struct site_finder *f, sqlite3_stmt *row)
{
	const struct store_writer *w = f->store->writer;

	f->function_limit = (size_t)sqlite3_column_int64(row, 0) + 1;
	f->module_limit = (size_t)sqlite3_column_int64(row, 1) + 1;
	f->frame_limit = (size_t)sqlite3_column_int64(row, 2) + 1;
	f->source_limit = (size_t)sqlite3_column_int64(row, 3) + 1;
	for (size_t i = 0; i < w->stacks.count; i++)
		if (w->stacks.at[i].id >= f->out->stack_limit)
			f->out->stack_limit = w->stacks.at[i].id + 1;
	f->out->of_stack = calloc(f->out->stack_limit, sizeof(*f->out->of_stack));
	f->functions = calloc(f->function_limit, 1);
	f->boring_modules = calloc(f->module_limit, 1);
	f->boring_sources = calloc(f->source_limit, 1);
	f->frames = calloc(f->frame_limit, sizeof(*f->frames));
	for (size_t i = 0; f->frames && i < w->calls.count; i++)
		if (w->calls.at[i].frame < f->frame_limit)
			f->frames[w->calls.at[i].frame].called = w->calls.at[i].function;
	return f->out->of_stack && f->functions && f->boring_modules && f->boring_sources &&
			       f->frames
		       ? NULL
		       : no_memory();
}

static struct shiny_err *take_function(struct site_finder *f, sqlite3_stmt *row)
{
	const char *name = column_text(row, 1);

	f->functions[sqlite3_column_int64(row, 0)] =
		(is_boring(f, OF_FUNCTION, name) ? FUNCTION_BORING : 0) |
		(strcasestr(function_name_start(name), "alloc") ? FUNCTION_ALLOCATES : 0);
	return NULL;
}

static struct shiny_err *take_source(struct site_finder *f, sqlite3_stmt *row)
{
	f->boring_sources[sqlite3_column_int64(row, 0)] =
		is_boring(f, OF_SOURCE, column_text(row, 1));
	return NULL;
}

static struct shiny_err *take_module(struct site_finder *f, sqlite3_stmt *row)
{
	const char *path = column_text(row, 1);

	f->boring_modules[sqlite3_column_int64(row, 0)] =
		(is_boring(f, OF_MODULE, path) ? MODULE_BORING : 0) |
		(!strcmp(text_base(path), "libshiny.so") ? MODULE_OWN : 0);
	return NULL;
}

static struct shiny_err *take_wrapper(struct site_finder *f, sqlite3_stmt *row)
{
	int64_t frame = sqlite3_column_int64(row, 0);

	if (frame > 0 && (size_t)frame < f->frame_limit)
		f->frames[frame].wrapper = true;
	return NULL;
}

/* Takes a row: frame, module, vaddr, depth, function, source, line; innermost first. */
static struct shiny_err *take_line(struct site_finder *f, sqlite3_stmt *row)
{
	struct site_frame *frame = &f->frames[sqlite3_column_int64(row, 0)];
	uint32_t function = (uint32_t)sqlite3_column_int64(row, 4),
		 source = (uint32_t)sqlite3_column_int64(row, 5);
	bool first = sqlite3_column_int64(row, 3) == 0;

	frame->module = (uint32_t)sqlite3_column_int64(row, 1);
	frame->vaddr = (uint64_t)sqlite3_column_int64(row, 2);
	if (frame->interesting)
		return NULL;
	frame->interesting =
		!frame->wrapper &&
		!(frame->module < f->module_limit && f->boring_modules[frame->module]) &&
		!(function < f->function_limit && f->functions[function] & FUNCTION_BORING) &&
		!(source < f->source_limit && f->boring_sources[source]);
	if (first || frame->interesting) {
		frame->function = function;
		frame->source = source;
		frame->line = (uint32_t)sqlite3_column_int64(row, 6);
	}
	return NULL;
}

/* ---- sites ---- */

/* The frames of a stack that matter to its site; 0: none. */
struct chosen_frames {
	uint32_t innermost;
	uint32_t site;      /* the innermost interesting one */
	uint32_t placed;    /* the next interesting one above it with a file */
	uint32_t last;      /* the outermost one that was looked at */
	/* functions above it, by id: */
	uint32_t above;     /* the next one with a name that isn't an allocation function's */
	uint32_t allocator; /* the next one with a name that is */
	uint32_t boring;    /* the next one with a name that is boring */
};

static bool has_place(const struct site_frame *frame)
{
	return frame->function || frame->source;
}

static uint32_t frame_of(const struct site_finder *f, const struct chosen_frames *found)
{
	if (!found->site)
		return found->innermost;
	return has_place(&f->frames[found->site]) || found->above || found->allocator ||
			       !found->placed
		       ? found->site
		       : found->placed;
}

/* Returns the id of the site, adding it if necessary. */
static uint32_t site_of(struct site_finder *f, const struct chosen_frames *found)
{
	uint32_t frame_id = frame_of(f, found);
	const struct site_frame *frame = &f->frames[frame_id];
	struct site_key key = { .vaddr = frame->function ? 0 : frame->vaddr,
				.module = frame->module,
				.function = frame->function,
				.source = frame->source,
				.line = frame->line,
				.above = has_place(frame) ? 0
					 : found->above	  ? found->above
							  : found->allocator };

	uint64_t hash = hash_bytes(&key, sizeof(key));
	uint32_t at = hash_table_find(&f->index, hash, i,
				      memcmp(&f->sites.at[i], &key, sizeof(key)) == 0);
	if (at == HASH_NONE) {
		at = (uint32_t)f->sites.count;
		*vec_push(&f->sites) = key;
		*vec_push(&f->site_frames) = frame_id;
		*vec_push(&f->site_boring) = 0;
		hash_table_add(&f->index, hash, at);
	}
	if (!key.above && !has_place(frame) && !f->site_boring.at[at])
		f->site_boring.at[at] = found->boring;
	return at + 1;
}

/* Takes the name of a function above the site. True: a better one need not be looked for. */
static bool take_above(const struct site_finder *f, uint32_t function, bool interesting,
		       struct chosen_frames *found)
{
	unsigned char judged = function < f->function_limit ? f->functions[function] : 0;
	uint32_t *place = !interesting || judged & FUNCTION_BORING ? &found->boring
			  : judged & FUNCTION_ALLOCATES		   ? &found->allocator
								   : &found->above;

	if (function && !*place)
		*place = function;
	return found->above != 0;
}

/* Looks at the frames of a part of a stack. Returns true when the outer ones don't matter. */
static bool look(const struct site_finder *f, const struct stack_part *part,
		 struct chosen_frames *found)
{
	for (int i = 0; i < STACK_PART; i++) {
		uint32_t id = part->frames[i];
		const struct site_frame *frame = id < f->frame_limit ? &f->frames[id] : f->frames;

		if (frame == f->frames || (frame->module < f->module_limit &&
					   f->boring_modules[frame->module] & MODULE_OWN))
			continue;
		if (found->site && !f->frames[found->last].function &&
		    take_above(f, frame->called, true, found))
			return true;
		found->last = id;
		if (!found->innermost) {
			found->innermost = id;
		} else if (found->site || !frame->interesting) {
			if (take_above(f, frame->function, frame->interesting, found))
				return true;
		}
		if (found->site && !found->placed && frame->interesting && frame->source)
			found->placed = id;
		if (!found->site && frame->interesting) {
			found->site = id;
			found->boring = 0; /* it was below */
			if (has_place(frame))
				return true;
		}
	}
	return false;
}

static void find_site(struct site_finder *f, struct store_stack *stack)
{
	struct stack_part part = { .frames = { stack->frame0, stack->frame1, stack->frame2,
					       stack->frame3, stack->frame4, stack->frame5 } };
	struct chosen_frames found = { 0 };
	bool done = look(f, &part, &found);

	for (uint32_t tail = stack->tail; tail && !done; tail = f->tails->at[tail - 1].tail)
		done = look(f, &f->tails->at[tail - 1], &found);
	if (found.innermost)
		stack->site = site_of(f, &found);
	f->out->of_stack[stack->id] = stack->site;
}

/* Writes the stacks with their sites. Deletes table stack_waiting first, whose pages the rows
 * reuse. */
static struct shiny_err *put_stacks(struct site_finder *f)
{
	struct store_writer *w = f->store->writer;

	for (size_t i = 0; i < w->stacks.count; i++)
		find_site(f, &w->stacks.at[i]);
	struct row_writer none = row_begin(f->store, STATEMENT_STACKS_WAIT_NOT);
	SHINY_TRY(row_end(&none));
	SHINY_TRY(row_put_all(f->store, STORE_ROW_STACK, w->stacks.at, w->stacks.count));
	free(w->stacks.at);
	w->stacks.at = NULL;
	w->stacks.count = w->stacks.room = w->stacks_put = 0;
	return NULL;
}

static struct shiny_err *put_sites(struct site_finder *f)
{
	struct store_site *rows = mem_zero(f->sites.count + 1, sizeof(*rows));
	struct shiny_err *err;

	for (size_t i = 0; i < f->sites.count; i++) {
		const struct site_key *key = &f->sites.at[i];

		rows[i] = (struct store_site){ (uint32_t)i + 1, f->site_frames.at[i],
					       key->module,	key->function,
					       key->source,	key->line,
					       key->above ? key->above
							  : f->site_boring.at[i] };
	}
	err = row_put_all(f->store, STORE_ROW_SITE, rows, f->sites.count);
	free(rows);
	return err;
}

static struct shiny_err *find_all(struct site_finder *f)
{
	SHINY_TRY(each_row(f, "SELECT kind, pattern FROM boring", take_pattern));
	SHINY_TRY(each_row(f,
			   "SELECT (SELECT COALESCE(MAX(id), 0) FROM function), (SELECT "
			   "COALESCE(MAX(id), 0) FROM module), "
			   "(SELECT COALESCE(MAX(id), 0) FROM frame), (SELECT "
			   "COALESCE(MAX(id), 0) FROM source)",
			   take_limits));
	SHINY_TRY(each_row(f, "SELECT id, name FROM function", take_function));
	SHINY_TRY(each_row(f, "SELECT id, path FROM module", take_module));
	SHINY_TRY(each_row(f, "SELECT id, path FROM source", take_source));
	SHINY_TRY(each_row(f, "SELECT frame FROM wrapper", take_wrapper));
	SHINY_TRY(each_row(
		f,
		"SELECT f.id, f.module, f.vaddr, COALESCE(l.depth, 0), l.function, l.source, "
		"l.line "
		"FROM frame f LEFT JOIN frame_line l ON l.frame = f.id ORDER BY f.id, l.depth",
		take_line));
	SHINY_TRY(put_stacks(f));
	return put_sites(f);
}

struct shiny_err *sites_make(struct store *store, const struct stack_tails *tails,
			     struct stack_sites *out)
{
	struct site_finder f = { .store = store, .tails = tails, .out = out };
	struct shiny_err *err = find_all(&f);

	for (size_t i = 0; i < f.pattern_count; i++)
		free(f.patterns[i].text);
	free(f.patterns);
	free(f.functions);
	free(f.boring_modules);
	free(f.boring_sources);
	free(f.frames);
	free(f.sites.at);
	free(f.site_frames.at);
	free(f.site_boring.at);
	hash_table_deinit(&f.index);
	return err;
}
