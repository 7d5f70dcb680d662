/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_names.c: see judge_names.h.
 *
 * The file is opened twice: as it is, and blind, as if it were stripped. A name is right if it is
 * the last part of one of the functions at the call, inlined ones too. A place is right if one of
 * these functions is from there; if all are from headers, the debug information does not tell the
 * compiled file. A label is right if the type fits (a callback: it is an object, and no
 * container's); types of medium confidence and less check nothing.
 */
#define _GNU_SOURCE /* memmem */
#include "judge_names.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/function_name.h"
#include "../../base/mem.h"
#include "../name_lookup.h"

enum { FRAMES = 64 };

static const char *const judged_names[JUDGED_KINDS] = {
	[JUDGED_NAME] = "name",		  [JUDGED_FILE] = "file",
	[JUDGED_DIRECTORY] = "directory", [JUDGED_STRING] = "string",
	[JUDGED_ARRAY] = "array",	  [JUDGED_NODE] = "map node",
	[JUDGED_STORAGE] = "storage",	  [JUDGED_CALLBACK] = "callback",
	[JUDGED_COUNTED] = "counted",	  [JUDGED_OBJECT] = "object",
	[JUDGED_DOUBTED] = "file?",	  [JUDGED_GUESS] = "name?"
};

/* One file, opened twice. */
struct names_judge {
	struct sym *known, *blind;
	struct sym_module *known_module, *blind_module;
	const struct module_calls *calls;
	uint64_t blocks; /* of the current call */
	struct judged *out;
};

static void count(struct judged_count *sum, uint64_t number, bool checked, bool right)
{
	sum->said += number;
	sum->checked += checked ? number : 0;
	sum->right += checked && right ? number : 0;
}

static void verdict(struct names_judge *judge, enum judged_kind kind, bool checked, bool right)
{
	count(&judge->out[kind].calls, 1, checked, right);
	count(&judge->out[kind].blocks, judge->blocks, checked, right);
}

/* ---- functions and files ---- */

/* True if the text is marked as doubtful. */
static bool is_marked(const char *text)
{
	return *text && text[strlen(text) - 1] == '?';
}

/* Returns the last part of a scoped name. */
static const char *last_part(const char *name, size_t *length)
{
	const char *at = name + *length;

	while (at > name && at[-1] != ':')
		at--;
	*length -= (size_t)(at - name);
	return at;
}

static bool has_name(const struct sym_frame *frames, size_t count, const char *said)
{
	size_t length = strlen(said) - is_marked(said);
	const char *part = last_part(said, &length);

	for (size_t i = 0; i < count; i++) {
		const char *start, *own;
		size_t bytes;

		if (!frames[i].function)
			continue;
		start = function_name_start(frames[i].function);
		bytes = function_name_length(start);
		own = last_part(start, &bytes);
		if (bytes == length && !strncmp(own, part, length))
			return true;
		/* a lambda: its name contains its function's */
		if (strstr(frames[i].function, "lambda") &&
		    memmem(frames[i].function, strlen(frames[i].function), part, length))
			return true;
	}
	return false;
}

static bool is_header(const char *file)
{
	const char *dot = strrchr(file, '.');

	return !dot || strchr(dot, '/') || dot[1] == 'h' || !strcmp(dot, ".tcc") ||
	       !strcmp(dot, ".inc");
}

/* `place`: as given to the compiler; `file`: from the debug information; marks are skipped. */
static bool is_from(const char *file, const char *place)
{
	size_t length;

	while (!strncmp(place, "../", 3) || !strncmp(place, "./", 2))
		place += place[1] == '.' ? 3 : 2;
	length = strlen(place) - is_marked(place);
	if (!length)
		return true;
	for (const char *at = file; (at = memmem(at, strlen(at), place, length)); at++)
		if ((at == file || at[-1] == '/') && (place[length - 1] == '/' || !at[length]))
			return true;
	return false;
}

static void judge_frame(struct names_judge *judge, uint64_t ret)
{
	const struct sym_module_info *info = sym_module_info(judge->known_module);
	struct sym_frame said, frames[FRAMES];
	size_t count;
	bool known = false, checked = false, right = false;

	if (!sym_frames(judge->blind_module, ret - 1, &said, 1) || said.line)
		return;
	count = sym_frames(judge->known_module, ret - 1, frames, FRAMES);
	for (size_t i = 0; i < count; i++) {
		/* without either, it tells the same as the blind one */
		known |= (info->dwarf || info->symtab) && frames[i].function;
		checked |= (info->dwarf || info->breakpad) && frames[i].file &&
			   !is_header(frames[i].file);
		right |= frames[i].file && said.file && is_from(frames[i].file, said.file);
	}
	if (said.function && said.function[0] == '~')
		verdict(judge, is_marked(said.function) ? JUDGED_GUESS : JUDGED_NAME, known,
			has_name(frames, count, said.function + 1));
	if (!said.file)
		return;
	verdict(judge,
		said.file[strlen(said.file) - 1] == '/' ? JUDGED_DIRECTORY
		: is_marked(said.file)			? JUDGED_DOUBTED
							: JUDGED_FILE,
		checked, right);
}

/* ---- labels ---- */

static bool is_flat(const struct sym_type *type)
{
	return type->form == SYM_FORM_BUFFER || type->form == SYM_FORM_ARRAY || type->container ||
	       type->bytes == 1;
}

/* True for one object, or a container's node, of `bytes`; 0: of any size. One element of that size
 * is one object: std::function's callable, allocated by std::allocator. */
static bool is_object(const struct sym_type *type, uint64_t bytes)
{
	if (type->form == SYM_FORM_NODE)
		return true;
	return bytes && type->bytes ? type->bytes == bytes : type->form == SYM_FORM_OBJECT;
}

/* `bytes` is the call's size: an object of another size is not the call's own, but what is
 * constructed there, as of unique_ptr(new T). `type` NULL: unknown. */
static void judge_object(struct names_judge *judge, const struct sym_type *type, uint64_t bytes)
{
	bool other = type && type->form == SYM_FORM_OBJECT && type->bytes && type->bytes != bytes;

	verdict(judge, JUDGED_OBJECT, type && !other, type && is_object(type, bytes));
}

/* True for shared_ptr's block of counts and object: one element allocated by std::allocator. */
static bool is_counted(const struct sym_type *type)
{
	return is_object(type, 0) || strstr(type->type, "_Sp_counted") ||
	       strstr(type->type, "__shared_ptr_emplace");
}

static void judge_label(struct names_judge *judge, uint64_t ret)
{
	struct sym_type said, type = { .type = NULL };
	const char *text;
	bool checked;

	if (sym_site_outlook(judge->blind, &(struct sym_call){ judge->blind_module, ret },
			     &said) != SYM_OUTLOOK_TYPE ||
	    said.confidence != SYM_LABEL)
		return;
	checked = sym_site_outlook(judge->known,
				   &(struct sym_call){ judge->known_module, ret },
				   &type) == SYM_OUTLOOK_TYPE &&
		  type.confidence >= SYM_HIGH && type.type;
	text = said.type;
	if (!strcmp(text, "string"))
		verdict(judge, JUDGED_STRING, checked,
			checked && type.container && strstr(type.container, "string"));
	else if (!strncmp(text, "array of ", 9))
		verdict(judge, JUDGED_ARRAY, checked,
			checked && type.bytes == strtoull(text + 9, NULL, 10));
	else if (!strcmp(text, "map node"))
		verdict(judge, JUDGED_NODE, checked, type.form == SYM_FORM_NODE);
	else if (!strcmp(text, "storage"))
		verdict(judge, JUDGED_STORAGE, checked, is_flat(&type));
	else if (!strcmp(text, "callback"))
		verdict(judge, JUDGED_CALLBACK, checked,
			type.form == SYM_FORM_OBJECT && !type.container);
	else if (!strcmp(text, "reference-counted object"))
		verdict(judge, JUDGED_COUNTED, checked, checked && is_counted(&type));
	else if (strstr(text, "-byte object"))
		judge_object(judge, checked ? &type : NULL, strtoull(text, NULL, 10));
}

static int by_ret(const void *key, const void *row)
{
	uint64_t wanted = *(const uint64_t *)key, at = ((const struct call_blocks *)row)->ret;

	return (wanted > at) - (wanted < at);
}

static void judge_call(void *context, uint64_t ret)
{
	struct names_judge *judge = context;
	const struct call_blocks *blocks =
		bsearch(&ret, judge->calls->rows.at, judge->calls->rows.count,
			sizeof(*judge->calls->rows.at), by_ret);

	judge->blocks = blocks ? blocks->blocks : 0;
	judge_frame(context, ret);
	judge_label(context, ret);
}

struct shiny_err *judge_file(const struct sym_options *options, const char *path,
			     const char *build_id, const struct module_calls *calls,
			     struct judged out[JUDGED_KINDS])
{
	struct sym_options blind = *options;
	struct names_judge judge = { .calls = calls, .out = out };
	struct shiny_err *err;

	for (size_t k = 0; k < JUDGED_KINDS; k++)
		out[k] = (struct judged){ .path = path,
					  .evidence = judged_names[k],
					  .weighted = calls->rows.count };
	blind.blind = blind.no_cache = true;
	err = sym_create(options, &judge.known);
	if (!err)
		err = sym_create(&blind, &judge.blind);
	if (!err)
		err = lookup_module(judge.known, path, build_id, &judge.known_module);
	if (!err)
		err = lookup_module(judge.blind, path, build_id, &judge.blind_module);
	if (!err)
		sym_allocation_calls(judge.blind_module, judge_call, &judge);
	sym_destroy(judge.blind);
	sym_destroy(judge.known);
	return err;
}
