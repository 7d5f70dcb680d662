/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c: contexts, modules, and the cache of their answers.
 *
 * A module opens in microseconds: the file is mapped and its headers are read. The first question
 * that needs symbol tables, DWARF or relocations reads them. Answers are cached: callers ask for
 * the same call sites and vtables again and again, and the DWARF they came from may be closed to
 * stay within its budget (debug_units.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/fetch.h"
#include "elf/debugfile.h"
#include "module.h"
#include "probe/probe_executable.h"
#include "source/source_places.h"
#include "elf/package.h"
#include "infer/site_fold.h"
#include "infer/type_object.h"
#include "infer/vtable.h"

enum { FOLDED_NAMES = 4 }; /* names in one frame; further ones are only counted */

struct shiny_err *sym_create(const struct sym_options *options, struct sym **out)
{
	struct sym *sym = calloc(1, sizeof(*sym));
	struct shiny_err *err;
	size_t count = 0;

	if (!sym)
		return shiny_err(SHINY_ERR_OTHER, "no memory for symbols");
	err = container_rules_load(options ? options->type_rules : NULL, &sym->rules);
	if (err) {
		sym_destroy(sym);
		return err;
	}
	sym->fetch = fetch_create(options && options->progress, options ? options->stop : NULL,
				  options ? options->fetch_seconds : 0);
	if (!sym->fetch) {
		sym_destroy(sym);
		return shiny_err(SHINY_ERR_OTHER, "no memory for symbols");
	}
	while (options && options->debug_dirs && options->debug_dirs[count])
		count++;
	sym->no_dwarf = options && options->no_dwarf;
	sym->no_cache = options && options->no_cache;
	sym->blind = options && options->blind;
	sym->cache_dir = options && options->cache_dir ? strdup(options->cache_dir) : NULL;
	sym->packages = packages_create(sym->cache_dir, sym->no_cache);
	if (!sym->packages) {
		sym_destroy(sym);
		return shiny_err(SHINY_ERR_OTHER, "no memory for symbols");
	}
	sym->debug_dirs = count ? calloc(count + 1, sizeof(*sym->debug_dirs)) : NULL;
	for (size_t i = 0; i < count; i++) {
		char *dir = sym->debug_dirs ? strdup(options->debug_dirs[i]) : NULL;

		if (!dir) {
			sym_destroy(sym);
			return shiny_err(SHINY_ERR_OTHER, "no memory for symbols");
		}
		sym->debug_dirs[i] = dir;
	}
	*out = sym;
	return NULL;
}

static void module_destroy(struct sym_module *module)
{
	type_cache_close(module->types);
	debug_units_destroy(module->dwarf);
	symtab_deinit(&module->symbols);
	reloc_index_deinit(&module->relocs);
	binary_close(&module->file);
	binary_close(&module->debug);
	binary_close(&module->embedded);
	free(module->path);
	free(module->debug_path);
	free(module->note);
	free(module->label);
	breakpad_close(module->breakpad);
	free(module->breakpad_path);
	if (module->probe)
		probe_close(module->probe);
	free(module->probe);
	source_places_close(module->places);
	free(module);
}

void sym_destroy(struct sym *sym)
{
	if (!sym)
		return;
	for (struct sym_module *module = sym->modules, *next; module; module = next) {
		next = module->next;
		module_destroy(module);
	}
	for (size_t i = 0; sym->debug_dirs && sym->debug_dirs[i]; i++)
		free(sym->debug_dirs[i]);
	free(sym->debug_dirs);
	free(sym->cache_dir);
	container_rules_free(sym->rules);
	fetch_destroy(sym->fetch);
	packages_destroy(sym->packages);
	names_deinit(&sym->names);
	free(sym);
}

static void hex_of(const uint8_t *id, size_t bytes, char *out, size_t room)
{
	*out = 0;
	for (size_t i = 0; i < bytes && 2 * i + 3 <= room; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

struct shiny_err *sym_module_open(struct sym *sym, const char *file, const char *path,
				  const void *build_id, size_t build_id_bytes,
				  struct sym_module **out)
{
	struct sym_module *module = calloc(1, sizeof(*module));

	if (!module)
		return shiny_err(SHINY_ERR_OTHER, "%s: no memory for its symbols", path);
	module->sym = sym;
	module->info.note = "";
	module->path = strdup(file);
	module->label = strdup(module_base_name(path));
	if (!module->path || !module->label) {
		module_destroy(module);
		return shiny_err(SHINY_ERR_OTHER, "%s: no memory for its symbols", path);
	}
	module->next = sym->modules;
	sym->modules = module;
	reloc_index_init(&module->relocs, &module->file);

	switch (binary_open(&module->file, file)) {
	case BINARY_OK:
		break;
	case BINARY_MISSING:
		module->info.state = SYM_MISSING;
		module_note(module, "%s: gone, or not readable: nothing in it has a name", path);
		*out = module;
		return NULL;
	case BINARY_NOT_ELF:
		module->info.state = SYM_NOT_ELF;
		module_note(module, "%s: not a whole x86-64 ELF file: nothing in it has a name",
			    path);
		*out = module;
		return NULL;
	}
	if (build_id && build_id_bytes &&
	    (module->file.build_id_bytes != build_id_bytes ||
	     memcmp(module->file.build_id, build_id, build_id_bytes))) {
		char then[2 * BINARY_BUILD_ID_MAX + 1], now[2 * BINARY_BUILD_ID_MAX + 1];

		hex_of(build_id, build_id_bytes, then, sizeof(then));
		hex_of(module->file.build_id, module->file.build_id_bytes, now, sizeof(now));
		module->info.state = SYM_CHANGED;
		module_note(module,
			    "%s: changed since it was recorded (build-id %s, now %s): nothing in "
			    "it has a name",
			    path, then, *now ? now : "none");
		binary_close(&module->file);
		*out = module;
		return NULL;
	}
	module_find_debug(module);
	*out = module;
	return NULL;
}

const struct sym_module_info *sym_module_info(const struct sym_module *module)
{
	return &module->info;
}

static void read_symtab(struct sym_module *module)
{
	Elf64_Shdr section;

	if (binary_section_typed(&module->file, SHT_SYMTAB, &section))
		symtab_add(&module->symbols, &module->file, &section);
	else if (module->debug.data && binary_section_typed(&module->debug, SHT_SYMTAB, &section))
		symtab_add(&module->symbols, &module->debug, &section);
	else if (debugfile_embedded(&module->file, &module->embedded) &&
		 binary_section_typed(&module->embedded, SHT_SYMTAB, &section))
		symtab_add(&module->symbols, &module->embedded, &section);
}

static void read_symbols(struct sym_module *module)
{
	Elf64_Shdr section;

	module->symbols_read = true;
	if (!module->sym->blind)
		read_symtab(module);
	if (binary_section_typed(&module->file, SHT_DYNSYM, &section))
		symtab_add(&module->symbols, &module->file, &section);
	symtab_finish(&module->symbols, &module->file);
}

const struct symtab *module_symbols(struct sym_module *module)
{
	sym_module_settle(module);
	if (!module->symbols_read)
		read_symbols(module);
	return &module->symbols;
}

/* True unless the file itself has the debug information and its path now leads elsewhere. */
static bool is_in_place(struct sym_module *module)
{
	struct binary now;
	bool same;

	if (!module_has_dwarf(&module->file) || !module->file.build_id_bytes)
		return true;
	if (binary_open(&now, module->path) != BINARY_OK)
		return false;
	same = now.build_id_bytes == module->file.build_id_bytes &&
	       !memcmp(now.build_id, module->file.build_id, now.build_id_bytes);
	binary_close(&now);
	return same;
}

struct debug_units *module_units(struct sym_module *module)
{
	if (!module->dwarf_tried) {
		module->dwarf_tried = true;
		sym_module_settle(module);
		if (module->info.state == SYM_OK && module->info.dwarf &&
		    !module->sym->no_dwarf && is_in_place(module))
			module->dwarf = debug_units_create(
				module_has_dwarf(&module->file) ? module->path : module->debug_path,
				&module->file, &module->sym->names,
				(const char *const *)module->sym->debug_dirs);
		if (module->dwarf)
			debug_units_set_module(module->dwarf, module->path);
	}
	return module->dwarf;
}

/* Opens, at the first call, the evidence for a file's source places. False: the file has names, or
 * no evidence. */
static bool has_places(struct sym_module *module)
{
	const struct flow_code code = { &module->file, &module->relocs, &module->symbols };
	const struct sym *sym = module->sym;

	if (module->info.state != SYM_OK || module->info.symtab || module->info.dwarf)
		return false;
	if (!module->placed)
		module->places = source_places_open(&code, sym->cache_dir, sym->no_cache);
	module->placed = true;
	return module->places != NULL;
}

const char *module_label(struct sym_module *module, uint64_t vaddr)
{
	char text[SYM_LABEL_TEXT];
	size_t length;
	const char *label =
		has_places(module) ? source_places_label(module->places, vaddr, &length) : NULL;

	return label && (size_t)snprintf(text, sizeof(text), "%.*s", (int)length, label) <
				       sizeof(text)
		       ? names_text(&module->sym->names, text)
		       : NULL;
}

/* Caches the answer on disk: it takes decoding the code before the address. */
static const char *path_of(struct sym_module *module, uint64_t vaddr)
{
	const struct flow_code code = { &module->file, &module->relocs, &module->symbols };
	struct type_cache *cache = module_types(module);
	uint64_t ret = vaddr + 1;
	const char *path;

	if (type_cache_source(cache, ret, &path))
		return path;
	path = source_places_at(module->places, &code, vaddr);
	if (path)
		path = names_text(&module->sym->names, path);
	type_cache_put_source(cache, ret, path);
	return path;
}

/* Finds the source place of code without names: a path in `file`; in `function` ~file:name, or
 * ~name where it lies in no known file, if a text names the function or one inlined there. A ?
 * marks doubtful ones. */
static bool place_of(struct sym_module *module, uint64_t vaddr, struct sym_frame *out)
{
	const char *path = has_places(module) ? path_of(module, vaddr) : NULL, *own, *mark = "",
		   *base = path ? module_base_name(path) : ""; /* of a directory: empty */
	struct names *names = &module->sym->names;
	size_t length;
	char text[1024];
	bool sure;

	*out = (struct sym_frame){ .file = path };
	if (*base && source_places_doubtful(module->places)) {
		mark = "?";
		if ((size_t)snprintf(text, sizeof(text), "%s%s", path, mark) < sizeof(text))
			out->file = names_text(names, text);
	}
	own = module->places ? source_places_name(module->places, vaddr, &length, &sure) : NULL;
	if (own && (size_t)snprintf(text, sizeof(text), "~%s%s%.*s%s", base, *base ? ":" : "",
				    (int)length, own, sure ? mark : "?") < sizeof(text))
		out->function = names_text(names, text);
	return out->file || out->function;
}

/* Reads the frames from debug information, Breakpad symbols, symbols or places, in this order. */
static size_t read_frames(struct sym_module *module, uint64_t vaddr, struct sym_frame *out)
{
	struct names *names = &module->sym->names;
	size_t count = 0;
	bool bare = false;

	module_symbols(module);
	if (module_units(module))
		count = debug_frames(module->dwarf, vaddr, out, SYM_FRAMES_MAX, &bare);
	if (!count && module->breakpad)
		count = breakpad_frames(module->breakpad, names, vaddr, out, SYM_FRAMES_MAX);
	if (count && out[count - 1].function && !bare)
		return count;

	const struct symbol *symbol = symbols_find(&module->symbols.functions, vaddr);

	/* a bare name yields to a mangled one, and an implementation's name (__GI___libc_malloc) to
	 * the exported one: malloc */
	if (!symbol && !count)
		return place_of(module, vaddr, out);
	if (!symbol || (bare && strncmp(symbol->name, "_Z", 2) && strncmp(symbol->name, "_R", 2) &&
			!(symbol_is_global(symbol) && out[count - 1].function &&
			  !strncmp(out[count - 1].function, "__", 2))))
		return count;
	if (!count)
		out[count++] = (struct sym_frame){ 0 };
	out[count - 1].function = names_demangled(names, symbol->name);
	return count;
}

/* Gives the frame of a function that a linker folded with others the names of all: the address does
 * not say which of them ran. */
static void name_folded(struct sym_module *module, uint64_t vaddr, struct sym_frame *frames,
			size_t count)
{
	const struct site_reader reader = { .code = { &module->file, &module->relocs,
						      &module->symbols },
					    .units = module->dwarf,
					    .names = &module->sym->names };
	struct debug_twin folds[FOLDED_NAMES - 1];
	struct sym_frame others[FOLDED_NAMES - 1][SYM_FRAMES_MAX];
	bool bare, alike[FOLDED_NAMES - 1] = { false };
	size_t folded, named;

	if (module->dwarf)
		debug_units_hold(module->dwarf, true);
	folded = count ? site_folds(&reader, vaddr, folds, FOLDED_NAMES - 1) : 0;
	named = folded < FOLDED_NAMES - 1 ? folded : FOLDED_NAMES - 1;
	for (size_t i = 0; module->dwarf && i < named; i++) {
		if (!folds[i].die.addr)
			continue;
		debug_twins_use(module->dwarf, vaddr, &folds[i]);
		alike[i] = debug_frames(module->dwarf, vaddr, others[i], SYM_FRAMES_MAX, &bare) ==
			   count;
	}
	if (module->dwarf) {
		debug_twins_use(module->dwarf, 0, NULL);
		debug_units_hold(module->dwarf, false);
	}
	for (size_t k = 0; folded && k < count; k++) {
		const char *texts[FOLDED_NAMES] = { frames[k].function };
		bool last = k + 1 == count;
		size_t used = 1;

		for (size_t i = 0; i < named && texts[0]; i++) {
			const char *name = last	      ? folds[i].name
					   : alike[i] ? others[i][k].function
						      : NULL;

			if (name && name != texts[0])
				texts[used++] = name;
		}
		if (used > 1 || (last && texts[0]))
			frames[k].function = site_fold_text(&module->sym->names, texts, used,
							    last ? (int)(folded - named) : 0);
	}
}

size_t sym_frames(struct sym_module *module, uint64_t vaddr, struct sym_frame *out, size_t room)
{
	struct sym_frame frames[SYM_FRAMES_MAX];
	struct type_cache *cache;
	size_t count;

	if (module->info.state != SYM_OK || !room)
		return 0;
	cache = module_types(module);
	if (!type_cache_frames(cache, vaddr + 1, out, room, &count)) {
		count = read_frames(module, vaddr, frames);
		name_folded(module, vaddr, frames, count);
		/* names of code without symbols have a cache of their own */
		type_cache_put_frames(cache, vaddr + 1, frames, count,
				      module->keeps && !module->places);
		memcpy(out, frames, (count < room ? count : room) * sizeof(*out));
	}
	return count < room ? count : room;
}

const char *sym_module_places(const struct sym_module *module)
{
	struct source_places_info info;

	if (!module->places)
		return NULL;
	source_places_info(module->places, &info);
	return !info.evidence.functions && !info.titled ? NULL
	       : info.neighbours		       ? "neighbours"
						       : "strings";
}

bool sym_module_find_places(struct sym_module *module, struct sym_places *out)
{
	struct source_places_info info;

	*out = (struct sym_places){ .rest_on = NULL };
	module_symbols(module);
	if (!has_places(module) || !sym_module_places(module))
		return false;
	source_places_info(module->places, &info);
	out->rest_on = sym_module_places(module);
	out->functions = info.evidence.functions;
	out->named = info.named;
	out->titled = info.titled;
	return true;
}

void sym_vtable(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out)
{
	*out = (struct sym_vtable){ .source = SYM_VTABLE_NONE, .address_point = vaddr };
	if (module->info.state != SYM_OK)
		return;

	struct vtable_reader reader = { &module->file, &module->relocs, module_symbols(module),
					&module->sym->names, module->label };
	const char *name = type_object_name(&module->file, &module->relocs, vaddr);

	if (!name) {
		vtable_read(&reader, vaddr, out);
		return;
	}
	out->source = SYM_VTABLE_OB_TYPE;
	out->type = names_text(&module->sym->names, name);
	out->class_named = true;
}

const char *sym_variable(struct sym_module *module, uint64_t vaddr, uint64_t *offset)
{
	const struct symbol *symbol = NULL;
	const char *readable;

	if (module->info.state == SYM_OK)
		symbol = symbols_find(&module_symbols(module)->objects, vaddr);
	if (!symbol)
		return NULL;
	*offset = vaddr - symbol->value;
	readable = names_demangled(&module->sym->names, symbol->name);
	return readable ? readable : names_text(&module->sym->names, symbol->name);
}
