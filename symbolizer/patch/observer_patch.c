/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer_patch.c: see observer_patch.h.
 *
 * The program sets observers of its own later (its heap sampler does, in every process), and
 * SetObserverHooks ends the program if observers are set already. So the library replaces the
 * function once it has set ours (interpose/chromium/partition_observe.c). That only works if every
 * call reaches the function: a build that inlined it somewhere would find ours set, and end. Every
 * copy of the function writes one variable, with an instruction that names it by its distance: mov
 * %reg or $0 to it, or xchg. So the code is searched for such writes outside the function, byte by
 * byte: 200 MB take a fifth of a second, once for each build. Bytes that only look like such a
 * write cost nothing but the hooks.
 */
#include "observer_patch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/cleanup.h"
#include "../elf/cache_file.h"
#include "../elf/debugfile.h"
#include "observer_variables.h"

static const struct form {
	const char *set, *variable;
} forms[SHINY_OBSERVERS_STORED] = {
#define SHINY_OBSERVERS(name, symbol, variable, form, evidence) \
	[SHINY_OBSERVERS_##name] = { symbol, variable },
#include <shiny/wire/observers.def>
#undef SHINY_OBSERVERS
};

struct symbol_place {
	uint64_t value, size;
};

/* Returns the first form whose function is in the file; NONE: there is none. */
static unsigned find_form(const struct binary *symbols, struct symbol_place *set,
			  struct symbol_place *variable)
{
	struct symbol_place sets[SHINY_OBSERVERS_STORED] = { 0 },
			    variables[SHINY_OBSERVERS_STORED] = { 0 };
	Elf64_Shdr table, names;
	struct binary_bytes bytes, text;
	Elf64_Sym symbol;

	if (!binary_section_typed(symbols, SHT_SYMTAB, &table) ||
	    !binary_section(symbols, table.sh_link, &names))
		return SHINY_OBSERVERS_NONE;
	bytes = binary_section_bytes(symbols, &table);
	text = binary_section_bytes(symbols, &names);
	if (!bytes.data || !text.data || !text.bytes || text.data[text.bytes - 1])
		return SHINY_OBSERVERS_NONE;
	for (size_t at = 0; at + sizeof(symbol) <= bytes.bytes; at += sizeof(symbol)) {
		const char *name;

		memcpy(&symbol, bytes.data + at, sizeof(symbol));
		if (symbol.st_name >= text.bytes || !symbol.st_value)
			continue;
		name = (const char *)text.data + symbol.st_name;
		if (name[0] != '_' || name[1] != 'Z' || name[2] != 'N')
			continue;
		for (unsigned f = 1; f < SHINY_OBSERVERS_STORED; f++) {
			struct symbol_place place = { symbol.st_value, symbol.st_size };

			if (!strcmp(name, forms[f].set))
				sets[f] = place;
			else if (!strcmp(name, forms[f].variable))
				variables[f] = place;
		}
	}
	for (unsigned f = 1; f < SHINY_OBSERVERS_STORED; f++)
		if (sets[f].value) {
			*set = sets[f];
			*variable = variables[f];
			return f;
		}
	return SHINY_OBSERVERS_NONE;
}

/* True if an instruction in the file's code, outside the function, writes the variable. */
static bool written_elsewhere(const struct binary *file, const struct symbol_place *set,
			      uint64_t variable)
{
	enum { XCHG = 0x87, MOV = 0x89, MOV_CONSTANT = 0xc7 };

	for (size_t s = 0; s < file->segment_count; s++) {
		const Elf64_Phdr *p = &file->segments[s];
		const uint8_t *code = p->p_type == PT_LOAD && p->p_flags & PF_X
					      ? binary_at(file, p->p_vaddr, p->p_filesz)
					      : NULL;

		for (uint64_t i = 2; code && i + 8 <= p->p_filesz; i++) {
			uint64_t at = p->p_vaddr + i;
			uint8_t op = code[i - 2];
			int32_t distance;

			if ((code[i - 1] & 0xc7) != 5 ||
			    (op != XCHG && op != MOV && op != MOV_CONSTANT))
				continue;
			memcpy(&distance, code + i, sizeof(distance));
			if (at + 4 + (op == MOV_CONSTANT ? 4u : 0u) + (uint64_t)(int64_t)distance !=
			    variable)
				continue;
			if (at - set->value >= set->size)
				return true;
		}
	}
	return false;
}

/* Fills what every form has. False: the library inside would not know the file. */
static bool begin(const struct binary *file, struct shiny_observers_file *out)
{
	if (!file->build_id_bytes || file->build_id_bytes > SHINY_OBSERVERS_BUILD_ID)
		return false;
	*out = (struct shiny_observers_file){ .magic = SHINY_OBSERVERS_MAGIC,
					      .version = SHINY_OBSERVERS_VERSION,
					      .build_id_bytes = (uint32_t)file->build_id_bytes };
	memcpy(out->build_id, file->build_id, file->build_id_bytes);
	return true;
}

/* Looks for the hooks. `symbols` is the file with the symbol table: `file` itself, or its debug
 * file. True: `out` is complete; if its form is NONE, `why` (static) may tell the reason. */
static bool observers_look(const struct binary *file, const struct binary *symbols,
			   struct shiny_observers_file *out, const char **why)
{
	struct symbol_place set = { 0 }, variable = { 0 };
	const void *code;

	*why = NULL;
	if (!begin(file, out))
		return false;
	out->form = find_form(symbols, &set, &variable);
	if (!out->form)
		return true;
	code = binary_at(file, set.value, SHINY_OBSERVERS_CODE);
	if (!code || set.size < SHINY_OBSERVERS_CODE || !(binary_flags(file, set.value) & PF_X))
		*why = "PartitionAllocHooks::SetObserverHooks is not where its symbol says";
	else if (!variable.value)
		*why = "the variable that PartitionAllocHooks::SetObserverHooks sets has no symbol";
	else if (written_elsewhere(file, &set, variable.value))
		*why = "PartitionAllocHooks::SetObserverHooks is inlined elsewhere";
	if (*why) {
		out->form = SHINY_OBSERVERS_NONE;
		return true;
	}
	out->set = set.value;
	out->set_bytes = (uint32_t)set.size;
	memcpy(out->code, code, SHINY_OBSERVERS_CODE);
	return true;
}

static bool is_good(const struct shiny_observers_file *f, const struct binary *file)
{
	return f->magic == SHINY_OBSERVERS_MAGIC && f->version == SHINY_OBSERVERS_VERSION &&
	       f->form > SHINY_OBSERVERS_NONE && f->form < SHINY_OBSERVERS_FORMS &&
	       f->build_id_bytes == file->build_id_bytes &&
	       !memcmp(f->build_id, file->build_id, file->build_id_bytes);
}

/* Looks in the file's symbols, or in its debug file's. */
static bool look_for_symbols(const struct binary *file, const char *path,
			     const char *const *debug_dirs, struct shiny_observers_file *out,
			     const char **why)
{
	AUTO_FREE char *debug_path = NULL;
	struct binary debug;
	Elf64_Shdr table;
	bool done;

	if (binary_section_typed(file, SHT_SYMTAB, &table))
		return observers_look(file, file, out, why);
	if (!debugfile_find(file, path, debug_dirs, &debug, &debug_path))
		return false;
	done = observers_look(file, &debug, out, why);
	binary_close(&debug);
	return done;
}

enum shiny_observers_form observers_prepare(const char *path, const char *const *debug_dirs,
					    const char **why)
{
	AUTO_FREE struct shiny_observers_file *cached = NULL;
	struct shiny_observers_file out = { .form = SHINY_OBSERVERS_NONE };
	AUTO_FREE char *place = NULL;
	struct binary file;
	size_t bytes = 0;

	*why = NULL;
	if (binary_open(&file, path) != BINARY_OK)
		return SHINY_OBSERVERS_NONE;
	place = cache_file_path(NULL, "probe", file.build_id, file.build_id_bytes,
				SHINY_OBSERVERS_SUFFIX);
	if (place)
		cached = cache_file_read(place, sizeof(*cached), sizeof(*cached), &bytes);
	if (cached && is_good(cached, &file))
		out.form = cached->form;
	else if (place && !look_for_symbols(&file, path, debug_dirs, &out, why))
		out.form = SHINY_OBSERVERS_NONE;
	/* caches only finds: a file without symbols may have some the next time */
	else if (place && out.form != SHINY_OBSERVERS_NONE &&
		 !cache_file_write(place, &out, sizeof(out)))
		*why = "the cache can't be written";
	binary_close(&file);
	return (enum shiny_observers_form)out.form;
}

bool observers_prepare_library(const char *path)
{
	struct shiny_observers_file out;
	AUTO_FREE char *place = NULL;
	struct binary file;
	bool done = false;

	if (binary_open(&file, path) != BINARY_OK)
		return false;
	place = cache_file_path(NULL, "probe", file.build_id, file.build_id_bytes,
				SHINY_OBSERVERS_SUFFIX);
	if (place && begin(&file, &out) && observer_variables(&file, &out)) {
		out.form = SHINY_OBSERVERS_STORED;
		done = cache_file_write(place, &out, sizeof(out));
	}
	binary_close(&file);
	return done;
}
