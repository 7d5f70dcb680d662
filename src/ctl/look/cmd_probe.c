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

static const char *const kinds[] = {
	[SHINY_PROBE_ALLOCATE] = "allocate", [SHINY_PROBE_REGISTER] = "register",
	[SHINY_PROBE_NEW] = "new",	     [SHINY_PROBE_DELETE] = "delete",
	[SHINY_PROBE_FREE] = "free",	     [SHINY_PROBE_MOVE] = "move",
	[SHINY_PROBE_RESIZE] = "resize",     [SHINY_PROBE_RELEASE] = "release"
};

/* The rows of the file, with their texts. */
struct probed_entry {
	struct shiny_probe_entry entry;
	uint32_t moved; /* bytes by the patch; 0: it cannot be patched */
};
struct probed_slot {
	struct shiny_probe_slot slot;
	const char *entry;
};
struct probed_note {
	const char *about, *text;
	uint32_t confidence;
};
struct probed_type {
	struct shiny_probe_type type;
	const char *name;
};

struct probed_file {
	char path[PROGRAM_PATH], build_id[2 * SHINY_PROBE_BUILD_ID + 1];
	struct probe probe;
	struct shiny_probe_file file; /* its beginning */
	struct allocator_found own;
	struct probed_entry entries[SHINY_PROBE_ENTRIES];
	struct probed_slot slots[SHINY_PROBE_SLOTS];
	size_t entry_count, slot_count, note_count, type_count;
	struct probed_note *notes;
	struct probed_type *types;
	bool with_types;
};

static void deinit_probe(void *result)
{
	struct probed_file *answer = result;

	free(answer->notes);
	free(answer->types);
	probe_close(&answer->probe);
}

/* ---- loading ---- */

static void add_rows(struct probed_file *to)
{
	const struct probe *probe = &to->probe;
	const struct shiny_probe_file *file = probe->file;
	const struct shiny_probe_note *notes = probe_notes(probe);
	const struct shiny_probe_type *types = probe_types(probe);

	to->file = *file;
	for (uint32_t i = 0; i < file->build_id_bytes; i++)
		snprintf(to->build_id + 2 * i, 3, "%02x", file->build_id[i]);
	to->entry_count = file->entry_count;
	for (uint32_t i = 0; i < file->entry_count; i++) {
		const struct shiny_probe_entry *e = &file->entries[i];
		const struct shiny_patch_recipe *recipe =
			(const void *)((const char *)file + e->recipe_at);

		to->entries[i] =
			(struct probed_entry){ *e, e->recipe_bytes ? recipe->displaced : 0 };
	}
	to->slot_count = file->slot_count;
	for (uint32_t i = 0; i < file->slot_count; i++)
		to->slots[i] = (struct probed_slot){ file->slots[i],
						     probe_text(probe, file->slots[i].entry) };
	to->note_count = file->note_count;
	to->notes = mem_zero(to->note_count + 1, sizeof(*to->notes));
	for (uint32_t i = 0; i < file->note_count; i++)
		to->notes[i] = (struct probed_note){ probe_text(probe, notes[i].about),
						     probe_text(probe, notes[i].text),
						     notes[i].confidence };
	to->type_count = file->type_count;
	to->types = mem_zero(to->type_count + 1, sizeof(*to->types));
	for (uint32_t i = 0; i < file->type_count; i++)
		to->types[i] = (struct probed_type){ types[i], probe_text(probe, types[i].name) };
}

static struct shiny_err *find_path(const char *what, char path[PROGRAM_PATH])
{
	if (!what)
		return shiny_err(SHINY_ERR_USAGE, "doctor: --probe needs a PROGRAM");
	/* without a slash it is a program's name, unless such a file exists */
	if (!strchr(what, '/') && access(what, R_OK))
		return program_find(what, path);
	snprintf(path, PROGRAM_PATH, "%s", what);
	return NULL;
}

static struct shiny_err *load_probe(struct ctl *ctl, struct store *store,
				    const struct filter *filter, void *result)
{
	const struct probe_options options = { .again = ctl->options.given[OPT_AGAIN] };
	struct probed_file *out = result;
	struct allocator_found *own = &out->own;
	struct shiny_err *err = NULL;

	if (ctl->options.operands[0])
		confine_verb(&ctl->options, CONFINE_NAMER, NULL, 0);
	SHINY_TRY(find_path(ctl->options.operands[0], out->path));
	SHINY_TRY(probe_open(out->path, &options, &out->probe));
	/* PartitionAlloc is not hooked at its entries: most calls bypass them */
	if (!out->probe.file->slot_count)
		err = allocator_prepare(out->path, env_text(ENV_SHINY_ALLOCATOR), own);
	if (err && err->code == SHINY_ERR_USAGE) {
		probe_close(&out->probe);
		return err;
	}
	if (err) { /* no place to store it */
		own->patches = 0;
		snprintf(own->why, sizeof(own->why), "%s", err->message);
		shiny_err_free(err);
	}
	out->with_types = ctl->options.given[OPT_PROBE_TYPES];
	add_rows(out);
	if (out->file.shape == SHINY_PROBE_NONE && !out->entry_count && !out->slot_count &&
	    !own->present)
		ctl->status = 1;
	return NULL;
}

/* ---- fields ---- */

FIELD_GETTER(get_path, struct probed_file, text, r->path)
FIELD_GETTER(get_build_id, struct probed_file, text, *r->build_id ? r->build_id : NULL)
FIELD_GETTER(get_header, struct probed_file, text,
	     probe_confidence_name(r->file.header_confidence))
FIELD_GETTER(get_chain, struct probed_file, text, probe_confidence_name(r->file.chain_confidence))
FIELD_GETTER(get_own_path, struct allocator_found, text, r->patches ? r->path : NULL)
FIELD_GETTER(get_why, struct allocator_found, text, *r->why ? r->why : NULL)
FIELD_GETTER(get_entry_sure, struct probed_entry, text, probe_confidence_name(r->entry.confidence))
FIELD_GETTER(get_note_sure, struct probed_note, text, probe_confidence_name(r->confidence))
FIELD_GETTER(get_calls, struct probed_slot, flag, r->slot.calls)
FIELD_GETTER(get_naming, struct probed_type, text, namings[r->type.naming])
FIELD_GETTER(get_id, struct probed_type, owned,
	     r->type.index ? mem_format("%u", r->type.index)
			   : mem_format("0x%" PRIx64, r->type.info))
FIELD_GETTER(get_patch, struct probed_entry, owned,
	     r->moved ? mem_format("%s moved", units_noun(UNITS_NOUN_BUF, r->moved, "byte"))
		      : mem_text("no"))
FIELD_SKIP(is_numbered_late, struct probed_type, !r->type.index)
FIELD_SKIP(has_no_vptr, struct probed_type, r->type.naming < SHINY_PROBE_NAME_VIRTUAL)
FIELD_SKIP(has_no_types, struct probed_file, !r->with_types)

static void get_code(const void *row, struct field_value *out)
{
	const struct shiny_probe_entry *e = &((const struct probed_entry *)row)->entry;
	char *code = mem_zero(2 * SHINY_PROBE_CODE + 1, 1);

	for (unsigned i = 0; i < e->code_bytes; i++)
		snprintf(code + 2 * i, 3, "%02x", e->code[i]);
	field_set_owned(out, code);
}

/* Sets the arguments as the table has them: "size rdi, index rsi". */
static void get_arguments(const void *row, struct field_value *out)
{
	struct role roles[ROLES];
	size_t count = roles_of(&((const struct probed_entry *)row)->entry, roles), used = 0;
	char text[128] = "";

	for (size_t k = 0; k < count && used < sizeof(text); k++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", k ? ", " : "",
					 roles[k].name, register_name(roles[k].argument));
	field_set_owned(out, mem_text(text));
}

static struct shiny_err *put_arguments(const void *row, struct json *json, const char *key,
				       void *context)
{
	struct role roles[ROLES];
	size_t count = roles_of(&((const struct probed_entry *)row)->entry, roles);

	(void)context;
	json_object(json, key);
	for (size_t i = 0; i < count; i++)
		json_text(json, roles[i].name, register_name(roles[i].argument));
	json_end(json);
	return NULL;
}

/* clang-format off */
#define ENTRY struct probed_entry
static const struct field entry_fields[] = {
	{ FIELD_ADDRESS("address", ENTRY, entry.vaddr), .title = "entry", .tint = TINT_NAME,
	  .help = "where the function begins" },
	{ FIELD_WORD("kind", ENTRY, entry.kind, kinds), .title = "does",
	  .help = "allocate (makes an object), register (numbers a type), free, move, resize, "
		  "release; new, delete (of classes with memory safety checks)" },
	{ FIELD_WORKED_OUT("confidence", TEXT, get_entry_sure), .title = "sure",
	  .help = "how sure that is" },
	{ FIELD_COUNT("calls", ENTRY, entry.calls), .help = "calls of it in the file" },
	{ FIELD_COUNT("typed", ENTRY, entry.sites), .help = "calls with a known type" },
	{ .key = "arguments", .kind = FIELD_KIND_PUT, .put = put_arguments,
	  .help = "what is in which register" },
	{ FIELD_WORKED_OUT("registers", TEXT, get_arguments), .title = "arguments",
	  .column_only = true },
	{ FIELD_WORKED_OUT("code", TEXT, get_code), .help = "its first bytes" },
	{ FIELD_BYTES("moved_bytes", ENTRY, moved),
	  .help = "bytes that the patch moves; 0: it cannot be patched" },
	{ FIELD_WORKED_OUT("patch", TEXT, get_patch), .column_only = true },
	FIELD_LAST
};
static const struct field note_fields[] = {
	{ FIELD_TEXT("about", struct probed_note, about), .help = "its subject" },
	{ FIELD_WORKED_OUT("confidence", TEXT, get_note_sure), .help = "how sure it is" },
	{ FIELD_TEXT("text", struct probed_note, text), .help = "the finding in words" },
	FIELD_LAST
};

#define TYPE struct probed_type
static const struct field vptr_fields[] = {
	{ FIELD_ID("vptr_at", TYPE, type.vptr_at), .help = "where the vptr is in the object" },
	{ FIELD_ID("vtable_slot", TYPE, type.vtable_slot),
	  .help = "where the function with the name is in the vtable" },
	FIELD_LAST
};
static const struct field type_fields[] = {
	{ FIELD_WORKED_OUT("id", TEXT, get_id), .title = "index", .column_only = true },
	{ FIELD_ID("index", TYPE, type.index), .skip = is_numbered_late,
	  .help = "its number; null: registered in each run" },
	{ FIELD_TEXT("name", TYPE, name), .title = "type", .flexible = true, .cut = TEXT_CUT_END,
	  .tint = TINT_NAME, .help = "its name" },
	{ FIELD_WORKED_OUT("naming", TEXT, get_naming),
	  .help = "static (the type's own), class (what its class answers, without a namespace), "
		  "virtual or none (a label)" },
	{ FIELD_ADDRESS("info", TYPE, type.info), .help = "its GCInfo, or the variable" },
	{ FIELD_ADDRESS("finalizer", TYPE, type.finalizer), .blank_zero = true,
	  .help = "its finalizer" },
	{ FIELD_ADDRESS("trace", TYPE, type.trace), .help = "the function that traces it" },
	{ FIELD_ADDRESS("callback", TYPE, type.callback), .help = "the function with its name" },
	{ FIELD_SAME(vptr_fields), .skip = has_no_vptr },
	{ FIELD_COUNT("size", TYPE, type.size), .blank_zero = true,
	  .help = "bytes; 0: not constant" },
	{ FIELD_COUNT("sites", TYPE, type.sites), .help = "calls that make it" },
	FIELD_LAST
};
static const struct field slot_fields[] = {
	{ FIELD_TEXT("entry", struct probed_slot, entry), .help = "an exported function" },
	{ FIELD_ID("offset", struct probed_slot, slot.offset), .help = "of the slot that it uses" },
	{ FIELD_WORKED_OUT("calls", FLAG, get_calls), .help = "it calls it; else it jumps to it" },
	FIELD_LAST
};

#define ANSWER struct probed_file
static const struct field infos_fields[] = {
	{ FIELD_ADDRESS("address", ANSWER, file.info_vaddr), .help = "where the table is" },
	{ FIELD_COUNT("count", ANSWER, file.info_count), .help = "their number; 0: unknown" },
	{ FIELD_BYTES("bytes", ANSWER, file.info_bytes), .help = "of one" },
	{ FIELD_ID("indirect", ANSWER, file.info_indirect),
	  .help = "as in include/shiny/wire/probe.h" },
	{ FIELD_ID("index_limit", ANSWER, file.index_limit), .help = "indexes are below it" },
	FIELD_LAST
};
static const struct field header_fields[] = {
	{ FIELD_WORKED_OUT("confidence", TEXT, get_header), .help = "how sure that is" },
	{ FIELD_ID("index_at", ANSWER, file.header_index_at), .help = "bytes before the object" },
	{ FIELD_ID("index_shift", ANSWER, file.header_index_shift), .help = "bits below it" },
	FIELD_LAST
};
static const struct field partition_fields[] = {
	{ FIELD_WORKED_OUT("confidence", TEXT, get_chain), .help = "how sure that is" },
	{ FIELD_ADDRESS("head", ANSWER, file.chain_head),
	  .help = "the variable where the dispatch chain begins; 0x0: none" },
	{ FIELD_FIRST("slots", ANSWER, slots, slot_count, slot_fields), .help = "a slot of it" },
	FIELD_LAST
};
static const struct field own_fields[] = {
	{ FIELD_COUNT("patches", struct allocator_found, patches),
	  .help = "entries that will be patched" },
	{ FIELD_WORKED_OUT("file", TEXT, get_own_path),
	  .help = "with what the library is told; null: none" },
	{ FIELD_WORKED_OUT("why", TEXT, get_why), .help = "what is left out; null: nothing" },
	FIELD_LAST
};
static const struct field typed_fields[] = {
	{ FIELD_ROWS("types", ANSWER, types, type_count, type_fields),
	  .help = "with --types, a type" },
	FIELD_LAST
};
static const struct field probe_fields[] = {
	{ FIELD_WORKED_OUT("file", TEXT, get_path), .help = "the program's file" },
	{ FIELD_WORKED_OUT("build_id", TEXT, get_build_id), .help = "null: none" },
	{ FIELD_TEXT("cache_file", ANSWER, probe.cache_path), .help = "null: not kept" },
	{ FIELD_FLAG("cached", ANSWER, probe.cached), .help = "the result was known" },
	{ FIELD_TIME("ns", ANSWER, probe.ns), .help = "the time that it took" },
	{ FIELD_WORD("shape", ANSWER, file.shape, shapes),
	  .help = "none, section (types are numbered by place) or registered (by first use)" },
	{ FIELD_SAME_OBJECT("infos", infos_fields), .help = "the table of types' functions" },
	{ FIELD_SAME_OBJECT("header", header_fields),
	  .help = "the index of the type in an object's header" },
	{ FIELD_FIRST("entries", ANSWER, entries, entry_count, entry_fields),
	  .shows = "address kind calls typed/3 confidence registers/1 patch/2",
	  .help = "a function" },
	{ FIELD_SAME_OBJECT("partition", partition_fields), .spread = true,
	  .help = "PartitionAlloc's dispatch chain" },
	{ FIELD_OBJECT("allocator", ANSWER, own, own_fields), .help = "another allocator inside" },
	{ FIELD_ROWS("notes", ANSWER, notes, note_count, note_fields), .help = "a finding" },
	{ FIELD_COUNT("type_count", ANSWER, type_count), .help = "number of types" },
	{ FIELD_SAME(typed_fields), .skip = has_no_types },
	{ FIELD_ROWS("types_shown", ANSWER, types, type_count, type_fields), .limited = true,
	  .column_only = true, .shows = "id name size sites/2 finalizer/1" },
	FIELD_LAST
};
/* clang-format on */

/* ---- text ---- */

static enum tint tint_of(uint32_t confidence)
{
	return confidence >= SHINY_PROBE_HIGH	  ? TINT_GOOD
	       : confidence == SHINY_PROBE_MEDIUM ? TINT_NONE
						  : TINT_WARN;
}

static void print_notes(const struct style *style, const struct probed_file *probed)
{
	const char *last = "";

	for (size_t i = 0; i < probed->note_count; i++) {
		const struct probed_note *note = &probed->notes[i];
		enum tint t = tint_of(note->confidence);

		fprintf(style->out, "  %s%-13s%s %s%-8s%s ", tint(style, TINT_BOLD),
			strcmp(note->about, last) ? note->about : "", tint_end(style, TINT_BOLD),
			tint(style, t), probe_confidence_name(note->confidence),
			tint_end(style, t));
		text_line(style->out, "%s", note->text);
		last = note->about;
	}
}

static void print_list(struct ctl *ctl, const struct answer *answer, const char *key)
{
	putc('\n', ctl->style.out);
	answer_table(answer, key, &ctl->style);
}

static struct shiny_err *print_probe(struct ctl *ctl, const struct answer *answer)
{
	const struct probed_file *probed = answer->result;
	const struct allocator_found *own = &probed->own;
	const struct probe *probe = &probed->probe;
	const struct style *style = &ctl->style;
	AUTO_FREE char *shown = text_shell(probed->path);

	fprintf(style->out, "%s%s%s\n", tint(style, TINT_BOLD), shown, tint_end(style, TINT_BOLD));
	fprintf(style->out, "  build-id      %s\n\n",
		*probed->build_id ? probed->build_id : "none");
	print_notes(style, probed);
	if (own->present) {
		fprintf(style->out, "  %s%-13s%s ", tint(style, TINT_BOLD), "allocator",
			tint_end(style, TINT_BOLD));
		text_line(style->out, "%s to patch%s%s%s%s",
			  units_noun(UNITS_NOUN_BUF, own->patches, "entry"),
			  *own->why ? "; left out: " : "", own->why, own->patches ? "; " : "",
			  own->patches ? own->path : "");
	}
	if (probed->entry_count)
		print_list(ctl, answer, "entries");
	if (probed->with_types) {
		print_list(ctl, answer, "types_shown");
		ctl_more(ctl, answer->limit, probed->type_count);
	}
	putc('\n', style->out);
	text_line(style->out, "%s in %s%s%s", probe->cached ? "read from the cache" : "found",
		  units_time(UNITS_BUF, probe->ns),
		  !probe->cache_path ? ""
		  : probe->cached    ? ": "
				     : "; kept in ",
		  probe->cache_path ? probe->cache_path : "");
	return NULL;
}

/* ---- --prepare ---- */

static bool asks_to_prepare(const struct ctl *ctl)
{
	return ctl->options.given[OPT_PREPARE];
}

static struct shiny_err *run_prepare(struct ctl *ctl)
{
	const struct confine_place place = { ctl->options.text[OPT_PREPARE], CONFINE_TREE };
	char path[PROGRAM_PATH];

	if (ctl->options.operands[0])
		confine_verb(&ctl->options, CONFINE_NAMER, &place, 1);
	SHINY_TRY(find_path(ctl->options.operands[0], path));
	return prepare_for_library(path, ctl->options.text[OPT_PREPARE]);
}

static const struct verb_body prepare_body = { .run = run_prepare, .fits = asks_to_prepare };

const struct verb_body verb_probe = {
	.fields = probe_fields,
	.size = sizeof(struct probed_file),
	.load = load_probe,
	.deinit = deinit_probe,
	.print = print_probe,
	.no_session = true,
	.instead = &prepare_body,
};
