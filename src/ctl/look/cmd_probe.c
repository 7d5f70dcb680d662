/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_probe.c: `shinyctl doctor --probe`: prints the heaps found in an executable's file, with the
 * evidence. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/patch.h>

#include "../../../symbolizer/patch/allocator_patch.h"
#include "../../../symbolizer/probe/probe_executable.h"
#include "../../base/mem.h"
#include "../../base/program.h"
#include "../../base/cleanup.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../run/confine_verb.h"
#include "../verb_body.h"
#include "../run/prepare.h"

static const char *const shapes[] = { [SHINY_PROBE_NONE] = "none",
				      [SHINY_PROBE_SECTION] = "section",
				      [SHINY_PROBE_REGISTERED] = "registered" };
static const char *const namings[] = { [SHINY_PROBE_NAME_NONE] = "none",
				       [SHINY_PROBE_NAME_STATIC] = "static",
				       [SHINY_PROBE_NAME_VIRTUAL] = "virtual",
				       [SHINY_PROBE_NAME_CLASS] = "class" };

/* The arguments of an entry that have a meaning, by their names in the result. */
struct role {
	const char *name;
	uint8_t argument;
};
enum { ROLES = 11 };
#define ON_KIND(kind) (UINT32_C(1) << SHINY_PROBE_##kind)
#define MAKES	      ON_KIND(ALLOCATE)

static size_t roles_of(const struct shiny_probe_entry *e, struct role out[ROLES])
{
	static const uint32_t meant[ROLES] = { MAKES,
					       MAKES | ON_KIND(NEW) | ON_KIND(FREE) |
						       ON_KIND(RESIZE),
					       MAKES,
					       MAKES,
					       MAKES,
					       ON_KIND(REGISTER),
					       ON_KIND(REGISTER),
					       ON_KIND(REGISTER),
					       ON_KIND(REGISTER),
					       ON_KIND(REGISTER),
					       ON_KIND(DELETE) };
	const struct role all[ROLES] = { { "handle", e->handle },
					 { "size", e->size },
					 { "alignment", e->alignment },
					 { "index", e->index },
					 { "space", e->space },
					 { "slot", e->slot },
					 { "trace", e->trace },
					 { "finalizer", e->finalizer },
					 { "name", e->name },
					 { "info", e->info },
					 { "block", 0 } };
	size_t count = 0;

	for (size_t i = 0; i < ROLES; i++)
		if (all[i].argument != SHINY_PROBE_NO_ARGUMENT && meant[i] >> e->kind & 1)
			out[count++] = all[i];
	return count;
}

static const char *register_name(uint8_t argument)
{
	static const char *const names[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };

	return argument < sizeof(names) / sizeof(*names) ? names[argument] : "?";
}

static const char *kind_name(const struct shiny_probe_entry *e)
{
	static const char *const names[] = {
		[SHINY_PROBE_ALLOCATE] = "allocate", [SHINY_PROBE_REGISTER] = "register",
		[SHINY_PROBE_NEW] = "new",	     [SHINY_PROBE_DELETE] = "delete",
		[SHINY_PROBE_FREE] = "free",	     [SHINY_PROBE_MOVE] = "move",
		[SHINY_PROBE_RESIZE] = "resize",     [SHINY_PROBE_RELEASE] = "release"
	};

	return names[e->kind];
}

static void build_id_text(const struct shiny_probe_file *file,
			  char out[2 * SHINY_PROBE_BUILD_ID + 1])
{
	out[0] = 0;
	for (uint32_t i = 0; i < file->build_id_bytes; i++)
		snprintf(out + 2 * i, 3, "%02x", file->build_id[i]);
}

/* ---- text ---- */

static enum tint tint_of(uint32_t confidence)
{
	return confidence >= SHINY_PROBE_HIGH	  ? TINT_GOOD
	       : confidence == SHINY_PROBE_MEDIUM ? TINT_NONE
						  : TINT_WARN;
}

static void print_notes(struct ctl *ctl, const struct probe *probe)
{
	const struct shiny_probe_note *notes = probe_notes(probe);
	const char *last = "";

	for (uint32_t i = 0; i < probe->file->note_count; i++) {
		const char *about = probe_text(probe, notes[i].about),
			   *sure = probe_confidence_name(notes[i].confidence);
		enum tint t = tint_of(notes[i].confidence);

		fprintf(ctl->style.out, "  %s%-13s%s %s%-8s%s ", tint(&ctl->style, TINT_BOLD),
			strcmp(about, last) ? about : "", tint_end(&ctl->style, TINT_BOLD),
			tint(&ctl->style, t), sure, tint_end(&ctl->style, t));
		text_line(ctl->style.out, "%s", probe_text(probe, notes[i].text));
		last = about;
	}
}

enum { E_ADDRESS, E_KIND, E_CALLS, E_TYPED, E_SURE, E_ARGUMENTS, E_PATCH, E_COLUMNS };
static const struct table_column entry_columns[E_COLUMNS] = {
	[E_ADDRESS] = { .title = "entry", .kind = CELL_TEXT, .tint = TINT_NAME },
	[E_KIND] = { .title = "does", .kind = CELL_TEXT },
	[E_CALLS] = { .title = "calls", .kind = CELL_COUNT },
	[E_TYPED] = { .title = "typed", .kind = CELL_COUNT, .drop = 3 },
	[E_SURE] = { .title = "sure", .kind = CELL_TEXT },
	[E_ARGUMENTS] = { .title = "arguments", .kind = CELL_TEXT, .drop = 1 },
	[E_PATCH] = { .title = "patch", .kind = CELL_TEXT, .drop = 2 },
};

static const struct shiny_patch_recipe *recipe_of(const struct probe *probe,
						  const struct shiny_probe_entry *e)
{
	return e->recipe_bytes ? (const void *)((const char *)probe->file + e->recipe_at) : NULL;
}

static void print_entries(struct ctl *ctl, const struct probe *probe)
{
	struct table table;

	table_init(&table, entry_columns, E_COLUMNS);
	for (uint32_t i = 0; i < probe->file->entry_count; i++) {
		const struct shiny_probe_entry *e = &probe->file->entries[i];
		const struct shiny_patch_recipe *recipe = recipe_of(probe, e);
		struct role roles[ROLES];
		size_t count = roles_of(e, roles), used = 0;
		char text[128] = "";

		table_row(&table);
		snprintf(text, sizeof(text), "0x%" PRIx64, e->vaddr);
		table_text(&table, E_ADDRESS, text);
		table_text(&table, E_KIND, kind_name(e));
		table_number(&table, E_CALLS, e->calls);
		table_number(&table, E_TYPED, e->sites);
		table_text(&table, E_SURE, probe_confidence_name(e->confidence));
		text[0] = 0;
		for (size_t k = 0; k < count && used < sizeof(text); k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
						 k ? ", " : "", roles[k].name,
						 register_name(roles[k].argument));
		table_text(&table, E_ARGUMENTS, text);
		if (recipe)
			snprintf(text, sizeof(text), "%s moved",
				 units_noun(UNITS_NOUN_BUF, recipe->displaced, "byte"));
		table_text(&table, E_PATCH, recipe ? text : "no");
	}
	putc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	table_deinit(&table);
}

enum { T_ID, T_NAME, T_SIZE, T_SITES, T_FINALIZER, T_COLUMNS };
static const struct table_column type_columns[T_COLUMNS] = {
	[T_ID] = { .title = "index", .kind = CELL_TEXT },
	[T_NAME] = { "type", CELL_TEXT, true, TEXT_CUT_END, 0, TINT_NAME },
	[T_SIZE] = { .title = "size", .kind = CELL_COUNT },
	[T_SITES] = { .title = "sites", .kind = CELL_COUNT, .drop = 2 },
	[T_FINALIZER] = { .title = "finalizer", .kind = CELL_TEXT, .drop = 1 },
};

static void print_types_found(struct ctl *ctl, const struct probe *probe)
{
	const struct shiny_probe_type *types = probe_types(probe);
	size_t count = ctl_limit(ctl, probe->file->type_count, probe->file->type_count);
	struct table table;

	table_init(&table, type_columns, T_COLUMNS);
	for (size_t i = 0; i < count; i++) {
		char text[32];

		table_row(&table);
		if (types[i].index)
			snprintf(text, sizeof(text), "%u", types[i].index);
		else
			snprintf(text, sizeof(text), "0x%" PRIx64, types[i].info);
		table_text(&table, T_ID, text);
		table_text(&table, T_NAME, probe_text(probe, types[i].name));
		if (types[i].size)
			table_number(&table, T_SIZE, types[i].size);
		table_number(&table, T_SITES, types[i].sites);
		snprintf(text, sizeof(text), "0x%" PRIx64, types[i].finalizer);
		table_text(&table, T_FINALIZER, types[i].finalizer ? text : "");
	}
	putc('\n', ctl->style.out);
	table_print(&table, &ctl->style);
	ctl_more(ctl, count, probe->file->type_count);
	table_deinit(&table);
}

static void print_probe(struct ctl *ctl, const char *path, const struct probe *probe,
			const struct allocator_found *own)
{
	AUTO_FREE char *shown = text_shell(path);
	char build_id[2 * SHINY_PROBE_BUILD_ID + 1];

	build_id_text(probe->file, build_id);
	fprintf(ctl->style.out, "%s%s%s\n", tint(&ctl->style, TINT_BOLD), shown,
		tint_end(&ctl->style, TINT_BOLD));
	fprintf(ctl->style.out, "  build-id      %s\n\n", *build_id ? build_id : "none");
	print_notes(ctl, probe);
	if (own->present) {
		fprintf(ctl->style.out, "  %s%-13s%s ", tint(&ctl->style, TINT_BOLD), "allocator",
			tint_end(&ctl->style, TINT_BOLD));
		text_line(ctl->style.out, "%s to patch%s%s%s%s",
			  units_noun(UNITS_NOUN_BUF, own->patches, "entry"),
			  *own->why ? "; left out: " : "", own->why, own->patches ? "; " : "",
			  own->patches ? own->path : "");
	}
	if (probe->file->entry_count)
		print_entries(ctl, probe);
	if (ctl->options.given[OPT_PROBE_TYPES])
		print_types_found(ctl, probe);
	putc('\n', ctl->style.out);
	text_line(ctl->style.out, "%s in %s%s%s", probe->cached ? "read from the cache" : "found",
		  units_time(UNITS_BUF, probe->ns),
		  !probe->cache_path ? ""
		  : probe->cached    ? ": "
				     : "; kept in ",
		  probe->cache_path ? probe->cache_path : "");
}

/* ---- JSON ---- */

static void json_entry(struct json *json, const struct probe *probe,
		       const struct shiny_probe_entry *e)
{
	const struct shiny_patch_recipe *recipe = recipe_of(probe, e);
	struct role roles[ROLES];
	size_t count = roles_of(e, roles);
	char code[2 * SHINY_PROBE_CODE + 1] = "";

	for (unsigned i = 0; i < e->code_bytes; i++)
		snprintf(code + 2 * i, 3, "%02x", e->code[i]);
	json_object_line(json, NULL);
	json_address(json, "address", e->vaddr);
	json_text(json, "kind", kind_name(e));
	json_text(json, "confidence", probe_confidence_name(e->confidence));
	json_number(json, "calls", e->calls);
	json_number(json, "typed", e->sites);
	json_object(json, "arguments");
	for (size_t i = 0; i < count; i++)
		json_text(json, roles[i].name, register_name(roles[i].argument));
	json_end(json);
	json_text(json, "code", code);
	json_number(json, "moved_bytes", recipe ? recipe->displaced : 0);
	json_end(json);
}

static void json_type(struct json *json, const struct probe *probe,
		      const struct shiny_probe_type *type)
{
	json_object_line(json, NULL);
	if (type->index)
		json_number(json, "index", type->index);
	else
		json_null(json, "index");
	json_text(json, "name", probe_text(probe, type->name));
	json_text(json, "naming", namings[type->naming]);
	json_address(json, "info", type->info);
	json_address(json, "finalizer", type->finalizer);
	json_address(json, "trace", type->trace);
	json_address(json, "callback", type->callback);
	if (type->naming >= SHINY_PROBE_NAME_VIRTUAL) {
		json_number(json, "vptr_at", type->vptr_at);
		json_number(json, "vtable_slot", type->vtable_slot);
	}
	json_number(json, "size", type->size);
	json_number(json, "sites", type->sites);
	json_end(json);
}

static void print_json(struct ctl *ctl, const char *path, const struct probe *probe,
		       const struct allocator_found *own)
{
	const struct shiny_probe_file *file = probe->file;
	struct json *json = &ctl->json;
	char build_id[2 * SHINY_PROBE_BUILD_ID + 1];

	build_id_text(file, build_id);
	ctl_document(ctl);
	json_text(json, "file", path);
	json_text(json, "build_id", *build_id ? build_id : NULL);
	json_text(json, "cache_file", probe->cache_path);
	json_bool(json, "cached", probe->cached);
	json_number(json, "ns", probe->ns);
	json_text(json, "shape", shapes[file->shape]);
	json_object_line(json, "infos");
	json_address(json, "address", file->info_vaddr);
	json_number(json, "count", file->info_count);
	json_number(json, "bytes", file->info_bytes);
	json_number(json, "indirect", file->info_indirect);
	json_number(json, "index_limit", file->index_limit);
	json_end(json);
	json_object_line(json, "header");
	json_text(json, "confidence", probe_confidence_name(file->header_confidence));
	json_number(json, "index_at", file->header_index_at);
	json_number(json, "index_shift", file->header_index_shift);
	json_end(json);
	json_array(json, "entries");
	for (uint32_t i = 0; i < file->entry_count; i++)
		json_entry(json, probe, &file->entries[i]);
	json_end(json);
	json_object(json, "partition");
	json_text(json, "confidence", probe_confidence_name(file->chain_confidence));
	json_address(json, "head", file->chain_head);
	json_array(json, "slots");
	for (uint32_t i = 0; i < file->slot_count; i++) {
		json_object_line(json, NULL);
		json_text(json, "entry", probe_text(probe, file->slots[i].entry));
		json_number(json, "offset", file->slots[i].offset);
		json_bool(json, "calls", file->slots[i].calls);
		json_end(json);
	}
	json_end(json);
	json_end(json);
	json_object_line(json, "allocator");
	json_number(json, "patches", own->patches);
	json_text(json, "file", own->patches ? own->path : NULL);
	json_text(json, "why", *own->why ? own->why : NULL);
	json_end(json);
	json_array(json, "notes");
	for (uint32_t i = 0; i < file->note_count; i++) {
		json_object_line(json, NULL);
		json_text(json, "about", probe_text(probe, probe_notes(probe)[i].about));
		json_text(json, "confidence",
			  probe_confidence_name(probe_notes(probe)[i].confidence));
		json_text(json, "text", probe_text(probe, probe_notes(probe)[i].text));
		json_end(json);
	}
	json_end(json);
	json_number(json, "type_count", file->type_count);
	if (ctl->options.given[OPT_PROBE_TYPES]) {
		json_array(json, "types");
		for (uint32_t i = 0; i < file->type_count; i++)
			json_type(json, probe, &probe_types(probe)[i]);
		json_end(json);
	}
	json_end(json);
}

static struct shiny_err *cmd_probe(struct ctl *ctl)
{
	const char *what = ctl->options.operands[0];
	const struct probe_options options = { .again = ctl->options.given[OPT_AGAIN] };
	char path[PROGRAM_PATH];
	struct allocator_found own = { .why = "" };
	struct probe probe;
	struct shiny_err *err = NULL;
	const struct confine_place place = { ctl->options.text[OPT_PREPARE], CONFINE_TREE };

	if (!what)
		return shiny_err(SHINY_ERR_USAGE, "doctor: --probe needs a PROGRAM");
	confine_verb(&ctl->options, CONFINE_NAMER, &place, 1);
	/* without a slash it is a program's name, unless such a file exists */
	if (strchr(what, '/') || !access(what, R_OK))
		snprintf(path, sizeof(path), "%s", what);
	else
		err = program_find(what, path);
	if (!err && ctl->options.given[OPT_PREPARE])
		return prepare_for_library(path, ctl->options.text[OPT_PREPARE]);
	if (!err)
		err = probe_open(path, &options, &probe);
	if (err)
		return err;
	/* PartitionAlloc is not hooked at its entries: most calls bypass them */
	if (!probe.file->slot_count)
		err = allocator_prepare(path, env_text(ENV_SHINY_ALLOCATOR), &own);
	if (err && err->code == SHINY_ERR_USAGE) {
		probe_close(&probe);
		return err;
	}
	if (err) { /* no place to store it */
		own.patches = 0;
		snprintf(own.why, sizeof(own.why), "%s", err->message);
		shiny_err_free(err);
	}
	if (CTL_JSON(ctl))
		print_json(ctl, path, &probe, &own);
	else
		print_probe(ctl, path, &probe, &own);
	if (probe.file->shape == SHINY_PROBE_NONE && !probe.file->entry_count &&
	    !probe.file->slot_count && !own.present)
		ctl->status = 1;
	probe_close(&probe);
	return NULL;
}

const struct verb_body verb_probe = { .run = cmd_probe };
