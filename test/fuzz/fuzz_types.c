/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_types.c: damaged programs give their call sites fewer types, or other ones, but never a
 * crash, an endless loop or memory without bound.
 *
 * A program that has an allocation for each rule is compiled by two compilers and damaged in a
 * fixed sequence (the seed is a constant, so a failure repeats). One byte of .debug_abbrev can make
 * the whole unit unreadable, and such victims say little about the rules; so half of the damage
 * leaves the DIEs readable and changes what they say: a reference is bent to any other DIE, a
 * number or a location becomes another one. The rest goes to the code around the calls, to the
 * sections, and anywhere. In a child process each victim is asked what its calls allocate, with
 * evidence and without, for blocks of many sizes, and for some that have a vptr. What comes back
 * must be whole: texts that end, enumerators that exist. `fuzz_types N` damages each program N
 * times, 100 without an argument (400 in the long form); `fuzz_types N FILE` damages FILE.
 */
#include "../unit/fixtures/sym_fixture.h"
#include "victim.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* A child that takes longer for one victim hangs: an honest one takes 50 ms. */
enum { SECONDS_MAX = 20, BATCH = 25, RSS_MAX_KB = 600 << 10, CALLS_MAX = 400 };

/* An attribute's value in the file. */
struct raw_field {
	size_t at, bytes;
	enum { FIELD_NUMBER, FIELD_REFERENCE, FIELD_TEXT, FIELD_LOCATION } kind;
};

/* The undamaged program, where its calls of allocation functions return to, and what its DIEs
 * say. */
struct program {
	uint8_t *data;
	size_t bytes;
	uint64_t calls[CALLS_MAX];
	size_t call_count;
	struct raw_field *fields;
	size_t field_count, field_room;
	uint32_t *dies; /* distances from their unit's start */
	size_t die_count, die_room;
	size_t info;    /* where .debug_info is in the file */
	const uint8_t *mapped; /* and in libdw's memory */
};

static void note_call(void *context, uint64_t ret)
{
	struct program *program = context;

	if (program->call_count < CALLS_MAX)
		program->calls[program->call_count++] = ret;
}

/* ---- fields ---- */

static int note_field(Dwarf_Attribute *attribute, void *context)
{
	struct program *program = context;
	struct raw_field field = { (size_t)((const uint8_t *)attribute->valp - program->mapped) +
				       program->info,
			       0, FIELD_NUMBER };
	Dwarf_Block block;

	switch (attribute->form) {
	case DW_FORM_ref4: field.bytes = 4, field.kind = FIELD_REFERENCE; break;
	case DW_FORM_strp: case DW_FORM_line_strp: field.bytes = 4, field.kind = FIELD_TEXT; break;
	case DW_FORM_data1: case DW_FORM_flag: case DW_FORM_addrx1: field.bytes = 1; break;
	case DW_FORM_data2: field.bytes = 2; break;
	case DW_FORM_data4: case DW_FORM_sec_offset: field.bytes = 4; break;
	case DW_FORM_data8: case DW_FORM_addr: field.bytes = 8; break;
	case DW_FORM_exprloc:
		if (dwarf_formblock(attribute, &block) || !block.length)
			return DWARF_CB_OK;
		field = (struct raw_field){ (size_t)(block.data - program->mapped) + program->info,
					block.length, FIELD_LOCATION };
		break;
	default: return DWARF_CB_OK;
	}
	if (field.at + field.bytes > program->bytes)
		return DWARF_CB_OK;
	if (program->field_count == program->field_room) {
		program->field_room = program->field_room * 2 + 1024;
		program->fields = realloc(program->fields, program->field_room * sizeof(field));
	}
	program->fields[program->field_count++] = field;
	return DWARF_CB_OK;
}

static void note_dies(struct program *program, Dwarf_Die *die)
{
	Dwarf_Die child;

	do {
		if (program->die_count == program->die_room) {
			program->die_room = program->die_room * 2 + 1024;
			program->dies =
				realloc(program->dies, program->die_room * sizeof(*program->dies));
		}
		program->dies[program->die_count++] = (uint32_t)dwarf_cuoffset(die);
		program->mapped = (const uint8_t *)die->addr - dwarf_dieoffset(die);
		dwarf_getattrs(die, note_field, program, 0);
		if (!dwarf_child(die, &child))
			note_dies(program, &child);
	} while (!dwarf_siblingof(die, die));
}

/* Those of a file that has its DIEs unpacked in itself; none of others. */
static void find_fields(struct program *program, const char *path)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)program->data;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(program->data + header->e_shoff);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	for (unsigned i = 0; i < header->e_shnum; i++)
		if (!strcmp((const char *)program->data + sections[header->e_shstrndx].sh_offset +
				    sections[i].sh_name,
			    ".debug_info") &&
		    !(sections[i].sh_flags & SHF_COMPRESSED))
			program->info = sections[i].sh_offset;
	while (program->info && dwarf && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL))
		note_dies(program, &die);
	dwarf_end(dwarf);
	if (fd >= 0)
		close(fd);
}

/* ---- questions ---- */

struct checker {
	uint64_t characters, lines;
	bool broken;
};

static void note_line(void *context, unsigned depth, const char *text)
{
	struct checker *checker = context;

	checker->lines++;
	checker->characters += depth + strlen(text);
}

static void check(struct checker *checker, const struct sym_type *type)
{
	checker->broken |= type->rule > SYM_RULE_LEARNED || type->form > SYM_FORM_BUFFER ||
			   type->confidence > SYM_EXACT;
	checker->broken |= !type->type && type->confidence != SYM_LABEL;
	checker->characters += type->type ? strlen(type->type) : 0;
	checker->characters += type->container ? strlen(type->container) : 0;
	for (size_t i = 0; i < type->leading_count; i++)
		checker->characters += strlen(type->leading[i]);
}

/* False: an answer is broken. */
static bool ask(const struct program *program, const char *path)
{
	static const struct sym_sizes sizes[] = {
		{ 8, 8, 0 }, { 24, 24, 0 }, { 40, 4000, 8 }, { 1, UINT64_MAX, 1 }, { 0, 0, 0 }
	};
	static const unsigned apis[] = { 0, 4, 5 };
	const struct sym_options options = { .no_cache = true };
	struct checker checker = { 0 };
	struct sym_evidence evidence = { note_line, &checker };
	struct program found = { 0 };
	struct sym *sym = fixture_sym(&options);
	struct sym_module *module = fixture_open(sym, path);

	sym_allocation_calls(module, note_call, &found);
	for (size_t i = 0; i < program->call_count + found.call_count; i++) {
		const uint64_t *rets = i < program->call_count ? program->calls : found.calls;
		size_t at = i < program->call_count ? i : i - program->call_count;
		/* callers that may be asked too: others of these places stand for them */
		struct sym_call calls[3] = { { module, rets[at] },
					     { module, program->calls[at % program->call_count] },
					     { module, rets[at / 2] } };
		const struct sym_sizes *size = &sizes[i % (sizeof(sizes) / sizeof(*sizes))];
		struct sym_reading reading = { .young = i % 3 == 1,
					       .dying = i % 3 == 2,
					       .second_word = i % 5 == 4 };
		struct sym_vtable vtable;
		struct sym_type type, both;

		sym_site_type(sym, calls, 3, apis[i % 3], size, &type, NULL);
		check(&checker, &type);
		if (i % 2) {
			sym_site_type(sym, calls, 3, apis[i % 3], size, &type, &evidence);
			check(&checker, &type);
		}
		sym_vtable(module, next_random() % program->bytes & ~7ull, &vtable);
		reading.vtable = &vtable;
		sym_type_combine(sym, &type, &reading, size, &both, i % 2 ? &evidence : NULL);
		check(&checker, &both);
	}
	for (uint64_t i = 0; i < 30; i++) { /* places that may be no calls at all */
		struct sym_call call = { module, program->calls[i % program->call_count] +
							 next_random() % 64 - 32 };
		struct sym_type type;

		sym_site_type(sym, &call, 1, 0, &sizes[1], &type, &evidence);
		check(&checker, &type);
	}
	sym_destroy(sym);
	return !checker.broken && checker.lines < 1 << 20 && checker.characters < 1 << 28;
}

/* ---- damage ---- */

static bool is_any(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Makes an attribute say something else. */
static void bend(uint8_t *victim, const struct program *program)
{
	static const uint64_t numbers[] = { 0,
					    1,
					    2,
					    7,
					    8,
					    16,
					    24,
					    255,
					    4096,
					    0x7fffffff,
					    0x80000000,
					    UINT64_MAX,
					    0x7fffffffffffffff };
	const struct raw_field *field = &program->fields[next_random() % program->field_count];
	const struct raw_field *other;
	uint64_t value = next_random() % 3
				 ? numbers[next_random() % (sizeof(numbers) / sizeof(*numbers))]
				 : next_random();

	/* a kind each, as often: most fields are line numbers */
	for (unsigned wanted = next_random() % 4, tries = 0; field->kind != wanted && tries < 1000;
	     tries++)
		field = &program->fields[next_random() % program->field_count];
	switch (field->kind) {
	case FIELD_REFERENCE:
		memcpy(victim + field->at, &program->dies[next_random() % program->die_count], 4);
		break;
	case FIELD_TEXT:
		for (int tries = 0; tries < 1000; tries++) {
			other = &program->fields[next_random() % program->field_count];
			if (other->kind == FIELD_TEXT) {
				memcpy(victim + field->at, program->data + other->at, 4);
				break;
			}
		}
		break;
	case FIELD_NUMBER:
		memcpy(victim + field->at, &value, field->bytes);
		break;
	case FIELD_LOCATION:
		victim[field->at + next_random() % field->bytes] = (uint8_t)next_random();
		break;
	}
}

/* Where the next damage goes. */
static size_t damage_at(const struct program *program)
{
	static const char *const dies[] = { ".debug_info", ".debug_abbrev", NULL };
	static const char *const others[] = {
		".debug_info",	      ".debug_abbrev", ".debug_line",  ".debug_rnglists",
		".debug_loclists",    ".debug_ranges", ".debug_loc",   ".debug_addr",
		".debug_str_offsets", ".debug_str",    ".symtab",      ".strtab",
		".rela.dyn",	      ".rela.plt",     ".data.rel.ro", ".rodata",
		".eh_frame",	      ".dynsym",       ".dynamic",     NULL
	};
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)program->data;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(program->data + header->e_shoff),
			 *section;
	const char *names = (const char *)program->data + sections[header->e_shstrndx].sh_offset;
	uint64_t kind = next_random() % 16;

	/* in front of and behind a call; code is at the file's place of its address in these
	 * programs, or near it */
	if (kind < 8) {
		size_t at = (size_t)(program->calls[next_random() % program->call_count] - 24 +
				     next_random() % 160);

		return at < program->bytes ? at : 0;
	}
	if (kind < 15 && header->e_shnum) {
		for (int tries = 0; tries < 10000; tries++) {
			section = &sections[next_random() % header->e_shnum];
			if (section->sh_size && section->sh_type != SHT_NOBITS &&
			    is_any(names + section->sh_name, kind < 9 ? dies : others))
				return (size_t)(section->sh_offset +
						next_random() % section->sh_size);
		}
	}
	return next_random() % program->bytes;
}

/* Returns the victim's length. */
static size_t damage(uint8_t *victim, const struct program *program)
{
	unsigned changes = 1 + (unsigned)(next_random() % 12);
	bool raw = next_random() % 4 == 0;

	memcpy(victim, program->data, program->bytes);
	for (unsigned i = 0; i < changes; i++) {
		size_t at, from;

		if (program->field_count && (raw ? next_random() % 2 : next_random() % 8)) {
			for (unsigned k = 0; k < 50; k++) /* a program has tens of thousands */
				bend(victim, program);
			continue;
		}
		at = damage_at(program);
		if (!raw) { /* code only */
			while (at >= program->info && program->info)
				at = damage_at(program);
			victim[at] = (uint8_t)next_random();
			continue;
		}
		switch (next_random() % 4) {
		case 0:
			put_hurtful(victim, program->bytes, at);
			break;
		/* what is right somewhere else: references to DIEs of other kinds, other
		 * instructions */
		case 1:
			from = damage_at(program);
			if (at + 4 <= program->bytes && from + 4 <= program->bytes)
				memcpy(victim + at, program->data + from, 4);
			break;
		case 2:
			victim[at] ^= (uint8_t)(1u << next_random() % 8);
			break;
		default:
			victim[at] = (uint8_t)next_random();
		}
	}
	return next_random() % 32 ? program->bytes : next_random() % program->bytes;
}

/* The kernel counts kilobytes. */
static bool too_much_memory(void)
{
	struct rusage usage;

	return !getrusage(RUSAGE_SELF, &usage) && usage.ru_maxrss > RSS_MAX_KB;
}

/* Asks about `count` victims, each batch of them in a child; returns the batches that failed. */
static unsigned run(const struct program *program, const char *name, unsigned long count)
{
	uint8_t *victim = malloc(program->bytes);
	unsigned failed = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/victim", fixture_dir);
	for (unsigned long at = 0; victim && at < count; at += BATCH) {
		uint64_t start = next_random();
		char keep[128];
		int status;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (!child) {
			for (unsigned long i = at; i < at + BATCH && i < count; i++) {
				random_state = (start + i * 0x9e3779b97f4a7c15) | 1;

				size_t length = damage(victim, program);

				alarm(SECONDS_MAX);
				if (!content_write(path, victim, length) || !ask(program, path))
					_exit(1);
				if (too_much_memory())
					_exit(2);
			}
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 1;
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			continue;
		snprintf(keep, sizeof(keep), "/tmp/shiny-fuzz-types-%u-%lu", (unsigned)getpid(),
			 at);
		printf("# %s, victims from %lu: status %#x (0x100: a broken answer, 0x200: "
		       "memory), kept as %s\n",
		       name, at, (unsigned)status, keep);
		if (!fixture_run("cp victim %s", keep))
			printf("# could not keep it\n");
		failed++;
	}
	free(victim);
	return failed;
}

static void fuzz(const char *name, const char *path, unsigned long count)
{
	const struct sym_options options = { .no_cache = true };
	struct program program = { 0 };
	struct sym *sym = fixture_sym(&options);
	struct content file = content_read(path);
	unsigned failed = 0;

	sym_allocation_calls(fixture_open(sym, path), note_call, &program);
	sym_destroy(sym);
	program.data = file.data;
	program.bytes = file.bytes;
	if (program.call_count && program.bytes > sizeof(Elf64_Ehdr)) {
		find_fields(&program, path);
		failed = run(&program, name, count);
	}
	printf("# %s: %zu calls, %zu DIEs, %zu attributes\n", name, program.call_count,
	       program.die_count, program.field_count);
	fixture_result(program.call_count && !failed, name, "%zu calls, %u batches failed",
		       program.call_count, failed);
	free(program.data);
	free(program.fields);
	free(program.dies);
}

int main(int argc, char **argv)
{
	static const char *const compilers[] = { "g++", "clang++" };
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : fixture_is_long() ? 400 : 100;
	char path[256];

	fixture_begin();
	if (argc > 2)
		fuzz(argv[2], argv[2], count);
	for (size_t i = 0; argc <= 2 && i < 2; i++) {
		if (!fixture_run(
			    "%s -std=c++17 -O2 -g -fno-omit-frame-pointer "
			    "-fno-optimize-sibling-calls \"$OLDPWD\"/%s/site_types.cc -o program",
			    compilers[i], fixture_source())) {
			fixture_skip(compilers[i], "can't compile");
			continue;
		}
		snprintf(path, sizeof(path), "%s/program", fixture_dir);
		fuzz(compilers[i], path, count);
	}
	return fixture_end();
}
