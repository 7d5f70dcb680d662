/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sym_vtable.c: the class behind a vptr, against what the program that was compiled says of
 * itself, and, in real libraries that have both, the RTTI names against the vtable symbols.
 */
#include "fixtures/sym_fixture.h"

#include <elf.h>

#include "../../symbolizer/elf/binary.h"
#include "../../symbolizer/elf/reloc.h"
#include "../../symbolizer/elf/symtab.h"
#include "../../symbolizer/infer/vtable.h"

/* clang's and gcc's demanglers write "> >" */
static bool same_type(const char *a, const char *b)
{
	if (!a)
		return false;
	for (;; a++, b++) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

enum expect { BY_SYMBOL, BY_RTTI, BY_LABEL };

/* Checks each line that the program printed. `sizes`: how many class sizes must be known at
 * least. */
static void check_program(const char *name, enum expect expect, unsigned sizes)
{
	char path[256], line[512], why[700] = "";
	struct sym *sym = fixture_sym(NULL);
	unsigned wrong = 0, lines = 0, sized = 0;
	FILE *truth;

	snprintf(path, sizeof(path), "%s/truth", fixture_dir);
	truth = fopen(path, "r");
	snprintf(path, sizeof(path), "%s/program", fixture_dir);

	struct sym_module *module = fixture_open(sym, path);

	while (truth && fgets(line, sizeof(line), truth)) {
		char kind[16], type[256];
		long offset;
		unsigned long vaddr;
		size_t size;
		struct sym_vtable got;
		bool good;

		if (sscanf(line, "%15s %ld %lx %zu %255[^\n]", kind, &offset, &vaddr, &size,
			   type) != 5)
			continue;
		lines++;
		sym_vtable(module, vaddr, &got);
		if (!strcmp(kind, "class")) {
			char label[64];

			snprintf(label, sizeof(label), "program!vtable+0x%lx", vaddr);
			good = got.offset_to_top == offset &&
			       (!got.class_bytes || got.class_bytes == size) &&
			       got.address_point == vaddr;
			if (expect == BY_SYMBOL)
				good = good && got.source == SYM_VTABLE_SYMBOL &&
				       same_type(got.type, type);
			else if (expect == BY_RTTI)
				good = good && got.source == SYM_VTABLE_RTTI &&
				       same_type(got.type, type);
			else
				good = good && got.source == SYM_VTABLE_LABEL &&
				       same_type(got.type, label);
			sized += got.class_bytes != 0;
		} else if (!strcmp(kind, "building")) {
			good = expect == BY_SYMBOL ? got.source == SYM_VTABLE_BUILDING
						   : got.source != SYM_VTABLE_NONE;
		} else {
			/* without symbols a table of functions behind two zeros can't be told from
			 * a vtable */
			good = got.source == SYM_VTABLE_NONE ||
			       (expect != BY_SYMBOL && got.source == SYM_VTABLE_LABEL &&
				!strcmp(type, "functions_table"));
		}
		if (!good && !wrong++)
			snprintf(why, sizeof(why),
				 "%.200s -> source %d, type %.200s, offset %ld, size %lu", line,
				 (int)got.source, got.type ? got.type : "-",
				 (long)got.offset_to_top, (unsigned long)got.class_bytes);
	}
	if (truth)
		fclose(truth);
	fixture_result(lines > 20 && !wrong && sized >= sizes, name,
		       "%u of %u lines wrong, %u sizes of at least %u, first: %s", wrong, lines,
		       sized, sizes, why);
	sym_destroy(sym);
}

static void fixture_classes(void)
{
	static const struct {
		const char *name, *compiler, *flags, *strip;
		enum expect expect;
		unsigned sizes;
	} cases[] = {
		{ "gcc -O0", "g++", "-O0", NULL, BY_SYMBOL, 10 },
		{ "gcc not PIE stripped", "g++", "-O2 -no-pie -fno-pie", "strip", BY_RTTI, 0 },
		{ "gcc packed relocations stripped", "g++", "-O2 -Wl,-z,pack-relative-relocs",
		  "strip", BY_RTTI, 0 },
		{ "gcc static stripped", "g++", "-O2 -static", "strip", BY_RTTI, 0 },
		{ "gcc no sections", "g++", "-O2", "objcopy --strip-section-headers", BY_RTTI, 0 },
		{ "gcc -fno-rtti", "g++", "-O2 -fno-rtti", NULL, BY_SYMBOL, 10 },
		{ "clang -O2 sized", "clang++", "-O2 -fsized-deallocation", NULL, BY_SYMBOL, 10 },
		{ "clang -fno-rtti", "clang++", "-O1 -fno-rtti", NULL, BY_SYMBOL, 0 },
		/* in the long form */
		{ "gcc not PIE", "g++", "-O2 -no-pie -fno-pie", NULL, BY_SYMBOL, 10 },
		{ "gcc stripped", "g++", "-O2", "strip", BY_RTTI, 0 },
		{ "clang not PIE stripped", "clang++", "-O2 -no-pie -fno-pie", "strip", BY_RTTI,
		  0 },
		{ "gcc -O2", "g++", "-O2", NULL, BY_SYMBOL, 10 },
		{ "gcc -O2 -fno-plt", "g++", "-O2 -fno-plt", NULL, BY_SYMBOL, 10 },
		{ "gcc packed relocations", "g++", "-O2 -Wl,-z,pack-relative-relocs", NULL,
		  BY_SYMBOL, 10 },
		{ "gcc static libstdc++ stripped", "g++", "-O2 -static-libstdc++", "strip", BY_RTTI,
		  0 },
		{ "clang -O2", "clang++", "-O2", NULL, BY_SYMBOL, 0 },
		{ "clang stripped", "clang++", "-O2", "strip", BY_RTTI, 0 },
	};
	size_t count = sizeof(cases) / sizeof(*cases) - (fixture_is_long() ? 0 : 9);

	for (size_t i = 0; i < count; i++) {
		if (!fixture_have(cases[i].compiler)) {
			fixture_skip(cases[i].name, cases[i].compiler);
			continue;
		}
		if (!fixture_run(
			    "%s %s \"$OLDPWD\"/%s/sym_classes.cc -o program && ./program > truth",
			    cases[i].compiler, cases[i].flags, fixture_source())) {
			fixture_skip(cases[i].name, "this tool chain can't build it");
			continue;
		}
		if (cases[i].strip && !fixture_run("%s program", cases[i].strip)) {
			fixture_skip(cases[i].name, "this tool chain can't strip it so");
			continue;
		}
		check_program(cases[i].name, cases[i].expect, cases[i].sizes);
	}
}

/* Labels: with neither symbols nor RTTI. The file is built so that the truth's classes all lie in
 * it. */
static void fixture_labels(void)
{
	struct sym *sym;
	struct sym_module *module;
	char path[256], line[512];
	unsigned labels = 0, slots = 0, wrong = 0;
	FILE *truth;

	if (!fixture_run("g++ -O2 -fno-rtti \"$OLDPWD\"/%s/sym_classes.cc -o program && ./program "
			 "> truth && strip program",
			 fixture_source())) {
		fixture_skip("labels", "g++");
		return;
	}
	sym = fixture_sym(NULL);
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	module = fixture_open(sym, path);
	snprintf(path, sizeof(path), "%s/truth", fixture_dir);
	truth = fopen(path, "r");
	while (truth && fgets(line, sizeof(line), truth)) {
		char label[64];
		unsigned long vaddr;
		long offset;
		struct sym_vtable got;

		if (sscanf(line, "class %ld %lx", &offset, &vaddr) == 2) {
			snprintf(label, sizeof(label), "program!vtable+0x%lx", vaddr);
			sym_vtable(module, vaddr, &got);
			/* a class that has RTTI all the same: std::runtime_error of the library,
			 * Failure above it */
			if (got.source == SYM_VTABLE_RTTI)
				continue;
			/* the destructor's slots are 0 there: see vtable.c */
			if (strstr(line, "outer::Abstract"))
				continue;
			labels++;
			if (got.source != SYM_VTABLE_LABEL || strcmp(got.type, label) ||
			    got.offset_to_top != offset) {
				printf("# %s -> %d %s\n", strtok(line, "\n"), (int)got.source,
				       got.type ? got.type : "-");
				wrong++;
			}
		} else if (sscanf(line, "slot %ld %lx", &offset, &vaddr) == 2) {
			slots++;
			sym_vtable(module, vaddr, &got);
			wrong += got.source != SYM_VTABLE_NONE;
		}
	}
	if (truth)
		fclose(truth);
	fixture_result(labels >= 10 && slots >= 8 && !wrong, "labels",
		       "%u labels, %u slots, %u wrong", labels, slots, wrong);
	sym_destroy(sym);
}

/* In a library with both, the name from RTTI alone must be the vtable symbol's, for every
 * vtable. */
static void real_library(const char *path)
{
	struct binary file;
	struct symtab all = { 0 }, none = { 0 };
	struct reloc_index relocs;
	struct names names = { 0 };
	Elf64_Shdr section;
	unsigned vtables = 0, no_rtti = 0, wrong = 0, no_symbol = 0;
	char why[512] = "";

	if (binary_open(&file, path) != BINARY_OK) {
		fixture_skip(path, "not installed");
		return;
	}
	if (binary_section_typed(&file, SHT_DYNSYM, &section))
		symtab_add(&all, &file, &section);
	symtab_finish(&all, &file);
	reloc_index_init(&relocs, &file);

	struct vtable_reader by_symbol = { &file, &relocs, &all, &names, "library" };
	struct vtable_reader by_rtti = { &file, &relocs, &none, &names, "library" };

	for (size_t i = 0; i < all.objects.count; i++) {
		const struct symbol *symbol = &all.objects.at[i];
		struct sym_vtable a, b;

		if (strncmp(symbol->name, "_ZTV", 4) || symbol->size < 24)
			continue;
		/* the primary address point; a class with virtual bases has more words in front of
		 * it */
		uint64_t point = symbol->value + 16;

		vtable_read(&by_symbol, point, &a);
		for (; a.source != SYM_VTABLE_SYMBOL && point + 8 < symbol->value + symbol->size;
		     point += 8)
			vtable_read(&by_symbol, point + 8, &a);
		vtable_read(&by_rtti, point, &b);
		if (symbols_find(&all.objects, point) != symbol)
			continue; /* an alias: the names may well differ */
		vtables++;
		if (b.source == SYM_VTABLE_NONE || b.source == SYM_VTABLE_LABEL) {
			no_rtti++;
			continue;
		}
		if (a.source != SYM_VTABLE_SYMBOL) {
			no_symbol++;
			continue;
		}
		if (!same_type(b.type, a.type) && !wrong++)
			snprintf(why, sizeof(why), "%.200s, by RTTI %.200s", a.type, b.type);
	}
	printf("# %s: %u vtables, %u without RTTI, %u not by symbol, %u wrong\n", path, vtables,
	       no_rtti, no_symbol, wrong);
	fixture_result(vtables > 50 && !wrong && no_symbol == 0 && no_rtti * 100 <= vtables, path,
		       "%u vtables, %u without RTTI, %u not by symbol, %u wrong: %s", vtables,
		       no_rtti, no_symbol, wrong, why);
	names_deinit(&names);
	reloc_index_deinit(&relocs);
	symtab_deinit(&all);
	binary_close(&file);
}

int main(void)
{
	fixture_begin();
	fixture_classes();
	fixture_labels();
	real_library("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	real_library("/usr/lib/libreoffice/program/libswlo.so");
	real_library("/usr/lib/libreoffice/program/libmergedlo.so");
	return fixture_end();
}
