/* SPDX-License-Identifier: Apache-2.0 */
/* engine_functions.c: see engine_functions.h. */
#include "engine_functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <shiny/wire/wire.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/rule_lines.h"

static const char prefix[] = "file:";
enum { PREFIX = sizeof(prefix) - 1, NO = SHINY_CALL_NO };

static const char *const kinds[SHINY_CALL_KINDS] = {
	[SHINY_CALL_MAKE] = "make",
	[SHINY_CALL_MAKE_OUT] = "make-out",
	[SHINY_CALL_MAKE_AT] = "make-at",
	[SHINY_CALL_MAKE_TEXT] = "make-text",
	[SHINY_CALL_MAKE_SIZED] = "make-sized",
	[SHINY_CALL_END] = "end",
	[SHINY_CALL_MOVE] = "move",
	[SHINY_CALL_MOVE_OUT] = "move-out",
	[SHINY_CALL_MOVE_AT] = "move-at",
	[SHINY_CALL_RESIZE] = "resize",
	[SHINY_CALL_USABLE] = "usable",
	[SHINY_CALL_DROP_ALL] = "drop-all",
	[SHINY_CALL_NAMED] = "named",
	[SHINY_CALL_POOL_MAKE] = "pool-make",
	[SHINY_CALL_POOL_MAKE_OUT] = "pool-make-out",
	[SHINY_CALL_POOL_CHANGE] = "pool-change",
	[SHINY_CALL_POOL_EMPTY] = "pool-empty",
	[SHINY_CALL_POOL_CHILDREN] = "pool-children",
	[SHINY_CALL_POOL_RESET] = "pool-reset",
	[SHINY_CALL_POOL_END] = "pool-end",
};

bool engine_functions_from_file(const char *setting)
{
	return strncmp(setting, prefix, PREFIX) == 0;
}

/* ---- the user's file ---- */

/* Reads "size=0" and the like. False: it is not that. */
static bool read_argument(const char *word, struct shiny_allocator_call *call)
{
	const struct { const char *name; uint8_t *to;
	} arguments[] = { { "block=", &call->block },
			  { "size=", &call->size },
			  { "count=", &call->count },
			  { "plus=", &call->plus },
			  { "pool=", &call->pool },
			  { "parent=", &call->parent },
			  { "name=", &call->title },
			  { "type=", &call->type } };

	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++) {
		size_t bytes = strlen(arguments[i].name);
		const char *value = word + bytes;

		if (strncmp(word, arguments[i].name, bytes) != 0)
			continue;
		if (arguments[i].to == &call->plus && strcmp(value, "one") == 0) {
			call->plus = SHINY_CALL_ONE;
			return true;
		}
		if (arguments[i].to == &call->pool)
			call->api = SHINY_API_POOL;
		if (arguments[i].to == &call->pool && strcmp(value, "none") == 0)
			return true;
		*arguments[i].to = (uint8_t)(value[0] - '0');
		return value[0] >= '0' && value[0] < '0' + SHINY_CALL_ARGUMENTS && !value[1];
	}
	return false;
}

static bool takes_block(unsigned kind)
{
	return kind == SHINY_CALL_END || kind == SHINY_CALL_MOVE || kind == SHINY_CALL_MOVE_OUT ||
	       kind == SHINY_CALL_MOVE_AT || kind == SHINY_CALL_RESIZE;
}

/* Returns what is wrong with a function of the second level; NULL: nothing. */
static const char *wrong_with_pool(struct shiny_allocator_call *call)
{
	bool of_pool = call->kind >= SHINY_CALL_POOL_MAKE, of_object = call->api == SHINY_API_POOL;

	if (!of_pool && (call->parent != NO || call->title != NO))
		return "parent= and name= are for pools only";
	if (of_object && !of_pool && call->kind != SHINY_CALL_MAKE &&
	    call->kind != SHINY_CALL_MAKE_TEXT && call->kind != SHINY_CALL_END &&
	    call->kind != SHINY_CALL_MOVE)
		return "objects in pools are made by make or make-text, and go by end or move";
	if (of_pool && call->kind > SHINY_CALL_POOL_MAKE_OUT && call->pool == NO)
		return "pool= is missing";
	if (of_pool)
		call->api = SHINY_API_POOL;
	return NULL;
}

/* Returns what is wrong with a function that is told types; NULL: nothing. */
static const char *wrong_with_type(const struct shiny_allocator_call *call)
{
	bool makes = call->kind == SHINY_CALL_MAKE || call->kind == SHINY_CALL_MAKE_OUT ||
		     call->kind == SHINY_CALL_MAKE_AT || call->kind == SHINY_CALL_MAKE_SIZED ||
		     call->kind == SHINY_CALL_MOVE;
	bool names = call->kind == SHINY_CALL_NAMED;

	if (names && call->type == NO)
		return "type= is missing";
	if (names && (call->size != NO || call->plus != NO || call->api == SHINY_API_POOL))
		return "it has type= alone: the block that it makes is recorded as it is elsewhere";
	if (call->type != NO && !names && (!makes || call->api == SHINY_API_POOL))
		return "type= is for make, make-out, make-at, make-sized, move and named, and "
		       "without pool=";
	return NULL;
}

static struct shiny_err *read_line(const struct rule_lines *lines, char *line,
				   struct engine_function *out)
{
	char *rest, *name = strtok_r(line, " \t", &rest), *kind = strtok_r(NULL, " \t", &rest);
	const char *mark = strchr(name, '#'), *wrong;

	if (!kind || strlen(name) >= SHINY_ALLOCATOR_NAME || (mark && strchr(mark + 1, '#')))
		return rule_lines_wrong(lines, "a function's name and a kind are needed");
	*out = (struct engine_function){ .call = { .kind = SHINY_CALL_KINDS,
						   .block = NO,
						   .size = NO,
						   .count = NO,
						   .plus = NO,
						   .api = SHINY_API_OWN,
						   .pool = NO,
						   .parent = NO,
						   .title = NO,
						   .type = NO } };
	strcpy(out->name, name);
	for (uint8_t k = 0; k < SHINY_CALL_KINDS; k++)
		if (kinds[k] && strcmp(kinds[k], kind) == 0)
			out->call.kind = k;
	if (out->call.kind == SHINY_CALL_KINDS)
		return rule_lines_wrong(lines, "%s is no kind of function", kind);
	for (char *word; (word = strtok_r(NULL, " \t", &rest));)
		if (!read_argument(word, &out->call))
			return rule_lines_wrong(lines,
						"%s: block=, size=, count=, plus=, type=, pool=, "
						"parent= or name= and an argument's number from 0 "
						"to %d is needed",
						word, SHINY_CALL_ARGUMENTS - 1);
	if (takes_block(out->call.kind) != (out->call.block != NO))
		return rule_lines_wrong(lines, takes_block(out->call.kind) ? "block= is missing"
									   : "it has no block=");
	if (out->call.count != NO && out->call.size == NO)
		return rule_lines_wrong(lines, "count= without size=");
	wrong = wrong_with_type(&out->call) ?: wrong_with_pool(&out->call);
	return wrong ? rule_lines_wrong(lines, "%s", wrong) : NULL;
}

static struct shiny_err *read_file(const char *path, struct engine_functions *out)
{
	struct rule_lines lines = { 0 };
	struct shiny_err *err = NULL;
	struct engine_function row;
	struct stat st;

	if (stat(path, &st))
		return shiny_err_os(errno, "cannot read SHINY_ALLOCATOR's file %s", path);
	out->time = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	SHINY_TRY(rule_lines_open(path, "SHINY_ALLOCATOR's file", &lines));
	for (char *line; !err && (line = rule_lines_next(&lines));) {
		err = read_line(&lines, line, &row);
		if (!err)
			*vec_push(&out->rows) = row;
	}
	free(lines.text);
	return err;
}

/* ---- the list ---- */

static const struct engine_function built_in[] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)
#define SHINY_ALLOCATOR_ENGINE(id, text, k, b, s, c, p, a) \
	{ text, { SHINY_CALL_##k, b, s, c, p, SHINY_API_##a, 0, NO, NO, NO, NO } },
#define SHINY_ALLOCATOR_TYPES(id, text, k, type, r) \
	{ text, { SHINY_CALL_##k, NO, NO, NO, NO, SHINY_APIS + SHINY_RUN_TIME_##r, 0, \
		NO, NO, NO, type } },
#define SHINY_ALLOCATOR_POOL(id, text, k, b, s, c, pool, parent, title, a) \
	{ text, { SHINY_CALL_##k, b, s, c, NO, SHINY_API_##a, 0, pool, parent, title, NO } },
#define ONE	 SHINY_CALL_ONE
#define VARIABLE SHINY_CALL_VARIABLE
#include <shiny/wire/allocator.def>
#undef ONE
#undef VARIABLE
};

static const struct { const char *name;
	uint8_t api;
} variables[] = {
#define SHINY_ALLOCATOR(id, text, k, b, s, c, a)
#define SHINY_ALLOCATOR_VARIABLE(id, text, a) { text, SHINY_API_##a },
#include <shiny/wire/allocator.def>
};

bool engine_functions_has_variable(const char *name, unsigned api)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (variables[i].api == api && strcmp(variables[i].name, name) == 0)
			return true;
	return false;
}

struct shiny_err *engine_functions_load(const char *setting, struct engine_functions *out)
{
	struct engine_functions list = { 0 };
	struct shiny_err *err = NULL;

	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		*vec_push(&list.rows) = built_in[i];
	if (engine_functions_from_file(setting))
		err = read_file(setting + PREFIX, &list);
	if (err)
		engine_functions_free(&list);
	else
		*out = list;
	return err;
}

void engine_functions_free(struct engine_functions *functions)
{
	free(functions->rows.at);
	*functions = (struct engine_functions){ 0 };
}

bool engine_functions_shows(const struct engine_functions *functions,
			    const struct engine_function *function)
{
	unsigned api = function->call.api;

	return api == SHINY_API_OWN || api == SHINY_API_POOL || function == functions->rows.at ||
	       function[-1].call.api != api;
}

static bool matches(const char *pattern, const char *name, uint16_t *bytes)
{
	const char *mark = strchr(pattern, '#');
	unsigned long number;
	char *end;

	*bytes = 0;
	if (!mark)
		return strcmp(pattern, name) == 0;
	name += strncmp(pattern, name, (size_t)(mark - pattern)) == 0 ? mark - pattern : 0;
	if (*name < '1' || *name > '9')
		return false;
	number = strtoul(name, &end, 10);
	*bytes = (uint16_t)number;
	return number <= UINT16_MAX && strcmp(end, mark + 1) == 0;
}

const struct engine_function *engine_functions_find(const struct engine_functions *functions,
						    const char *name, uint16_t *bytes)
{
	for (size_t i = 0; i < functions->rows.count; i++) {
		const struct engine_function *row = &functions->rows.at[i];

		/* nearly all of a million symbols end here */
		if (row->name[0] == name[0] && (!name[0] || row->name[1] == name[1]) &&
		    matches(row->name, name, bytes))
			return row;
	}
	return NULL;
}
