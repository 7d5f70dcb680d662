/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_elf.c: damaged ELF files give errors or "unknown", never a crash or an endless loop.
 *
 * A small program with symbols, DWARF, RTTI and packed relocations is compiled, then damaged in a
 * fixed sequence (the seed is a constant, so a failure repeats): bytes set, words set to values
 * that hurt, cut short. Each victim is opened in a child process, asked about addresses, variables
 * and types all over, and must exit by itself. `fuzz_elf N` runs N mutations, 500 without an
 * argument. `fuzz_elf N FILE` damages FILE.
 */
#include "../unit/fixtures/sym_fixture.h"

#include "../../symbolizer/dwarf/debug_definitions.h"
#include "../../symbolizer/dwarf/debug_scopes.h"
#include "../../symbolizer/dwarf/die_layout.h"
#include "../../symbolizer/dwarf/die_members.h"
#include "../../symbolizer/dwarf/die_path.h"
#include "victim.h"

#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>

/* A child that works longer than this hangs: the slowest honest one takes some milliseconds. */
#define SECONDS_MAX 20
#define BATCH 50 /* victims a child: forking for each would be most of the time */

static void ask(const char *path, uint64_t entry)
{
	struct sym *sym = fixture_sym(NULL);
	struct sym_module *module = fixture_open(sym, path);
	struct sym_frame frames[8];
	struct sym_vtable vtable;

	for (uint64_t vaddr = 0; vaddr < 0x6000; vaddr += 40) {
		sym_frames(module, entry + vaddr, frames, 8);
		sym_vtable(module, vaddr, &vtable);
	}
	sym_frames(module, UINT64_MAX, frames, 8);
	sym_vtable(module, UINT64_MAX & ~7ull, &vtable);
	sym_vtable(module, 8, &vtable);
	sym_destroy(sym);
}

static bool count_row(void *context, const struct die_member *member)
{
	size_t *rows = context;

	/* every text must be there */
	*rows += member->type && strlen(member->type) < 1 << 20 && (!member->name || strlen(member->name) < 1 << 20);
	return true;
}

/* All that can be asked about a type. */
static void ask_type(struct debug_units *units, const struct die_type *type)
{
	const char *leading[8], *name;
	struct die_type other;
	Dwarf_Die die = type->die;
	size_t rows = 0;

	die_type_layout(units, type, count_row, &rows);
	die_members_leading(units, type, leading, 8);
	for (uint64_t offset = 0; offset < 64; offset += 8)
		die_members_at(units, type, offset, &other, &name);
	if (type->kind != DIE_VOID) {
		die_type_argument(units, &die, 0, &other);
		die_type_typedef(units, &die, "value_type", &other);
	}
	if (die_type_target(units, type, &other) && die_type_target(units, &other, &other))
		die_type_layout(units, &other, count_row, &rows);
}

static void ask_dwarf(const char *path, uint64_t entry)
{
	static const char *const classes[] = { "Derived", "Multiple", "Diamond", "Box<int>",
					       "std::runtime_error" };
	struct names names = { 0 };
	struct binary file;
	struct debug_units *units;
	struct die_type type;

	if (binary_open(&file, path) != BINARY_OK)
		return;
	units = debug_units_create(path, &file, &names, NULL);
	for (uint64_t vaddr = entry; units && vaddr < entry + 0x3000; vaddr += 73) {
		struct debug_scope scopes[8], inlined[8];
		struct debug_variable variables[16];
		size_t count;

		debug_units_hold(units, true);
		count = debug_scopes_at(units, vaddr, scopes, 8);
		for (size_t i = 0; i < count; i++) {
			die_function_path(units, &scopes[i].die);
			if (die_is_constructor(units, &scopes[i].die, &type) ||
			    die_type_class_of(units, &scopes[i].die, &type))
				ask_type(units, &type);
			debug_scopes_behind(units, vaddr, &scopes[i], inlined, 8);
		}
		count = debug_variables_at(units, vaddr, variables, 16);
		for (size_t i = 0; i < count; i++)
			if (die_type(units, &variables[i].type, &type))
				ask_type(units, &type);
		debug_units_hold(units, false);
	}
	for (size_t i = 0; units && i < sizeof(classes) / sizeof(*classes); i++) {
		Dwarf_Die die;

		if (debug_definitions_class(units, classes[i], NULL, &die) &&
		    die_type(units, &die, &type))
			ask_type(units, &type);
	}
	for (uint64_t vaddr = 0; units && vaddr < 0x8000; vaddr += 8) {
		struct debug_variable variable;

		if (debug_definitions_global(units, vaddr, &variable) &&
		    die_type(units, &variable.type, &type))
			ask_type(units, &type);
	}
	debug_units_destroy(units);
	names_deinit(&names);
	binary_close(&file);
}

/* Most of a file is code and text: half of the damage goes to where structure is. */
static size_t damage_at(const uint8_t *file, size_t bytes)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	uint64_t kind = next_random() % 6, range = bytes, at = 0;

	if (kind == 0) {
		range = sizeof(*header) + header->e_phnum * sizeof(Elf64_Phdr);
	} else if (kind == 1 && header->e_shoff < bytes) {
		at = header->e_shoff;
		range = bytes - at;
	} else if (kind != 3 && header->e_shnum) {
		/* a section's content, each as likely as the others: .debug_* and .dynamic are
		 * small */
		const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);
		const Elf64_Shdr *section = &sections[next_random() % header->e_shnum];
		const char *names = (const char *)file + sections[header->e_shstrndx].sh_offset;

		/* and twice as often one of .debug_* */
		for (int i = 0;
		     kind > 3 && i < 100 && strncmp(names + section->sh_name, ".debug", 6); i++)
			section = &sections[next_random() % header->e_shnum];
		if (section->sh_type != SHT_NOBITS && section->sh_size) {
			at = section->sh_offset;
			range = section->sh_size;
		}
	}
	return at + next_random() % range;
}

static size_t damage(uint8_t *victim, const uint8_t *good, size_t bytes)
{
	unsigned changes = 1 + (unsigned)(next_random() % 8);

	memcpy(victim, good, bytes);
	for (unsigned i = 0; i < changes; i++) {
		size_t at = damage_at(good, bytes);

		if (next_random() % 3)
			victim[at] = (uint8_t)next_random();
		else
			put_hurtful(victim, bytes, at);
	}
	return next_random() % 8 ? bytes : next_random() % bytes;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1		  ? strtoul(argv[1], NULL, 10)
			      : fixture_is_long() ? 2000
						  : 500,
		      at = 0, crashed = 0;
	char program[256], path[256];
	struct content good;
	uint8_t *victim;

	fixture_begin();
	snprintf(program, sizeof(program), "%s/program", fixture_dir);
	snprintf(path, sizeof(path), "%s/victim", fixture_dir);
	if (argc > 2) {
		snprintf(program, sizeof(program), "%s", argv[2]);
	} else if (!fixture_run("g++ -O1 -g -Wl,-z,pack-relative-relocs "
				"\"$OLDPWD\"/%s/sym_classes.cc -o program || "
				"g++ -O1 -g \"$OLDPWD\"/%s/sym_classes.cc -o program",
				fixture_source(), fixture_source())) {
		printf("skip fuzz_elf: g++\n");
		return 77;
	}
	good = content_read(program);
	victim = malloc(good.bytes + 1);
	if (!good.data || !victim) {
		perror(program);
		return 1;
	}

	uint64_t entry = ((const Elf64_Ehdr *)good.data)->e_entry & ~0xfffull;

	while (at < count) {
		unsigned long end = at + BATCH < count ? at + BATCH : count;
		uint64_t start_state = random_state;
		int status;

		fflush(stdout);

		pid_t child = fork();

		if (!child) {
			for (; at < end; at++) {
				size_t length = damage(victim, good.data, good.bytes);

				alarm(SECONDS_MAX);
				if (!content_write(path, victim, length))
					_exit(1);
				ask(path, entry);
				ask_dwarf(path, entry);
			}
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 1;
		/* the parent's generator follows the child's */
		random_state = start_state;
		for (; at < end; at++)
			damage(victim, good.data, good.bytes);
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			char keep[128];

			crashed++;
			snprintf(keep, sizeof(keep), "/tmp/shiny-fuzz-elf-%lu", at);
			printf("# mutations %lu to %lu: status %#x, victim kept as %s\n",
			       at - BATCH, at, (unsigned)status, keep);
			if (!fixture_run("cp victim %s", keep))
				printf("# could not keep it\n");
		}
	}
	fixture_result(!crashed && count, "fuzz_elf", "%lu batches of %d crashed", crashed, BATCH);
	free(good.data);
	free(victim);
	return fixture_end();
}
