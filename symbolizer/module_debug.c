/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_debug.c: finds the source of a module's names and types: its own file, a debug file beside
 * it or from a server, or a Breakpad symbol file. Where there is none, the note says what to do.
 */
#define _GNU_SOURCE /* memmem */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/debugfile.h"
#include "elf/fetch.h"
#include "elf/package.h"
#include "dwarf/split.h"
#include "module.h"

void module_note(struct sym_module *module, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	free(module->note);
	module->note = strdup(text);
	module->info.note = module->note ? module->note : "";
}

static bool has_section(const struct binary *file, const char *name)
{
	Elf64_Shdr section;

	return file->data && binary_section_named(file, name, &section) &&
	       section.sh_type != SHT_NOBITS && section.sh_size;
}

bool module_has_dwarf(const struct binary *file)
{
	return has_section(file, ".debug_info") || has_section(file, ".zdebug_info");
}

static bool has_table(const struct binary *file, uint32_t type)
{
	Elf64_Shdr section;

	return file->data && binary_section_typed(file, type, &section) &&
	       section.sh_size > sizeof(Elf64_Sym);
}

/*
 * A file with RTTI imports the ABI's type-info classes, unless the C++ runtime is linked into it.
 * This summary misses such a file, as it would have to search all of .rodata; look-ups of vtables
 * still find its RTTI.
 */
static bool has_rtti(const struct binary *file)
{
	static const char mark[] = "_ZTVN10__cxxabiv1";
	Elf64_Shdr section;

	if (!binary_section_named(file, ".dynstr", &section))
		return false;

	struct binary_bytes text = binary_section_bytes(file, &section);

	return text.data && memmem(text.data, text.bytes, mark, sizeof(mark) - 1);
}

/* Sets the module's information from the open files. */
static void describe(struct sym_module *module)
{
	const struct binary *file =
		module_has_dwarf(&module->file) ? &module->file : &module->debug;
	Elf64_Shdr section;

	module->keeps = !has_section(file, ".debug_addr") &&
			!has_section(file, ".gnu_debugaltlink");
	module->info.breakpad = module->breakpad != NULL;
	module->info.debug_file = module->breakpad ? module->breakpad_path : module->debug_path;
	module->info.dynsym = has_table(&module->file, SHT_DYNSYM);
	module->info.symtab =
		has_table(&module->file, SHT_SYMTAB) || has_table(&module->debug, SHT_SYMTAB) ||
		binary_section_named(&module->file, ".gnu_debugdata", &section) || module->breakpad;
	module->info.dwarf = module_has_dwarf(&module->file) || module_has_dwarf(&module->debug);
}

const char *sym_names_from(const struct sym_module_info *info)
{
	return info->dwarf	? "dwarf"
	       : info->breakpad ? "breakpad"
	       : info->symtab	? "symtab"
	       : info->dynsym	? "dynsym"
				: "none";
}

static const char *what_is_missing(const struct sym_module *module)
{
	return module->info.breakpad ? "names and lines, no types"
	       : module->info.symtab ? "no debug information"
	       : module->info.dynsym ? "exported names only"
				     : "no symbols";
}

void module_find_debug(struct sym_module *module)
{
	if (module->sym->blind)
		return;
	if (!module_has_dwarf(&module->file) || !has_table(&module->file, SHT_SYMTAB))
		debugfile_find(&module->file, module->path,
			       (const char *const *)module->sym->debug_dirs, &module->debug,
			       &module->debug_path);
	if (!module_has_dwarf(&module->file) && !module_has_dwarf(&module->debug))
		module->breakpad = breakpad_find(&module->file, module->path,
						 (const char *const *)module->sym->debug_dirs,
						 &module->breakpad_path);
	describe(module);
	module->info.rtti = has_rtti(&module->file);
	/* finding the package that has it takes a search: sym_module_settle() does it */
	if (!module->info.dwarf)
		module_note(module, "%s: %s", module_base_name(module->path),
			    what_is_missing(module));
}

/* Asks servers for the debug file, and for the alternate file of a debug file that has one. */
static enum fetch_result fetch_missing(struct sym_module *module)
{
	const char *const *dirs = (const char *const *)module->sym->debug_dirs;
	const struct binary *file = &module->file;
	enum fetch_result result = FETCH_OFF;
	const uint8_t *id;
	size_t bytes;
	char *path;

	if (!module->info.dwarf && file->build_id_bytes) {
		result = fetch_debug(module->sym->fetch, file->build_id, file->build_id_bytes,
				     module->label, &path);
		if (result == FETCH_FOUND) {
			struct binary debug;
			char *debug_path;

			result = FETCH_NOT_THERE;
			if (debugfile_open(file, path, &debug, &debug_path)) {
				binary_close(&module->debug);
				free(module->debug_path);
				module->debug = debug;
				module->debug_path = debug_path;
				describe(module);
				result = FETCH_FOUND;
			}
		}
	}
	if (module->info.dwarf &&
	    debugfile_alternate(module_has_dwarf(file) ? file : &module->debug, &id, &bytes)) {
		path = debugfile_by_id(id, bytes, dirs);
		/* downloads into the cache that debugfile_by_id() searches */
		if (!path)
			fetch_debug(module->sym->fetch, id, bytes, module->label, &path);
		free(path);
	}
	return result;
}

/* Notes skeleton units whose split unit is missing. */
static void note_split(struct sym_module *module)
{
	const struct binary *file =
		module_has_dwarf(&module->file) ? &module->file : &module->debug;
	const char *name = module_base_name(module->path);
	struct split_report report;

	if (!has_section(file, ".debug_addr"))
		return;
	split_check(file == &module->file ? module->path : module->debug_path, module->path,
		    (const char *const *)module->sym->debug_dirs, &report);
	if (!report.missing)
		return;
	if (*report.dwp && report.trouble)
		module_note(module, "%s: %zu of %zu split units are missing: %s is %s", name,
			    report.missing, report.units, report.dwp, report.trouble);
	else if (*report.dwp)
		module_note(module,
			    "%s: %zu of %zu split units (%s, ...) are not in %s: make it again",
			    name, report.missing, report.units, report.example, report.dwp);
	else
		module_note(module,
			    "%s: %zu of %zu split units are missing (%s, ...): keep the .dwo "
			    "files, make %s.dwp, or give --symbols their directory",
			    name, report.missing, report.units, report.example, name);
}

void sym_module_settle(struct sym_module *module)
{
	const char *name = module_base_name(module->path);
	enum fetch_result result;
	char advice[512];

	if (module->settled || module->info.state != SYM_OK)
		return;
	module->settled = true;
	if (module->sym->no_dwarf || module->sym->blind)
		return;
	result = fetch_missing(module);
	if (module->info.dwarf) {
		module_note(module, "%s", "");
		note_split(module);
		return;
	}
	packages_advice(module->sym->packages, module->path, &module->file, advice,
			sizeof(advice));
	if (result == FETCH_FAILED && !module->sym->trouble_told) {
		module->sym->trouble_told = true;
		module_note(module,
			    "%s: %s: debuginfod server %s; no server is asked again. Or: %s", name,
			    what_is_missing(module), fetch_trouble(module->sym->fetch), advice);
	} else if (result == FETCH_NO_LIBRARY) {
		module_note(module,
			    "%s: %s: DEBUGINFOD_URLS is set, and libdebuginfod1 is not installed. "
			    "Or: %s",
			    name, what_is_missing(module), advice);
	} else if (result == FETCH_NOT_THERE) {
		module_note(module, "%s: %s, not on the servers in DEBUGINFOD_URLS either: %s",
			    name, what_is_missing(module), advice);
	} else {
		module_note(module, "%s: %s: %s", name, what_is_missing(module), advice);
	}
}
