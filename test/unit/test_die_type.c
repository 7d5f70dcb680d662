/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_die_type.c: types, their names and layouts, and where variables live, for every place that
 * DWARF can be in. The truth is what the programs that are compiled here print of themselves:
 * sizeof, offsetof, registers, addresses, and what the C++ runtime calls a type.
 */
#include "fixtures/sym_fixture.h"

#include "../../symbolizer/dwarf/debug_definitions.h"
#include "../../symbolizer/dwarf/debug_scopes.h"
#include "../../symbolizer/dwarf/die_layout.h"
#include "../../symbolizer/dwarf/die_members.h"
#include "../../symbolizer/dwarf/die_normalize.h"
#include "../../symbolizer/dwarf/die_path.h"

struct program {
	struct binary file;
	struct names names;
	struct debug_units *units;
	FILE *truth;
};

static bool open_program(struct program *program)
{
	char path[256];

	memset(program, 0, sizeof(*program));
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	if (binary_open(&program->file, path) != BINARY_OK)
		return false;
	program->units = debug_units_create(path, &program->file, &program->names, NULL);
	snprintf(path, sizeof(path), "%s/truth", fixture_dir);
	program->truth = fopen(path, "r");
	return program->units && program->truth;
}

static void close_program(struct program *program)
{
	debug_units_destroy(program->units);
	names_deinit(&program->names);
	binary_close(&program->file);
	if (program->truth)
		fclose(program->truth);
}

/* Builds the sources (paths from the fixtures' directory, "@" stands for it) and runs the program
 * into "truth". */
static bool build(const char *name, const char *compiler, const char *flags, const char *sources,
		  const char *then)
{
	char command[3000], *out = command;

	if (!fixture_have(compiler)) {
		fixture_skip(name, compiler);
		return false;
	}
	for (const char *at = sources; *at && out < command + sizeof(command) - 300; at++)
		out += *at == '@' ? sprintf(out, "\"$OLDPWD\"/%s/", fixture_source())
				  : sprintf(out, "%c", *at);
	if (!fixture_run("rm -rf program* *.dwo truth; %s -w %s %s -o program && ./program > truth",
			 compiler, flags, command) ||
	    (then && !fixture_run("%s", then))) {
		/* what Debian's clang and a system without dwz can't do */
		if (strstr(flags, "simple-template") || (then && strstr(then, "dwz")))
			fixture_skip(name, "this tool chain can't build it");
		else
			fixture_result(false, name, "it can't be built");
		return false;
	}
	return true;
}

/* ---- spelling ---- */

static void spelling(void)
{
	static const char *const pairs[][2] = {
		{ "int", "int" },
		{ "long unsigned int", "unsigned long" },
		{ "unsigned long", "unsigned long" },
		{ "long int", "long" },
		{ "short int", "short" },
		{ "short unsigned int", "unsigned short" },
		{ "long long unsigned int", "unsigned long long" },
		{ "unsigned long long", "unsigned long long" },
		{ "long long int", "long long" },
		{ "__int128 unsigned", "unsigned __int128" },
		{ "unsigned", "unsigned int" },
		{ "signed char", "signed char" },
		{ "long double", "long double" },
		{ "std::vector<int, std::allocator<int> >",
		  "std::vector<int, std::allocator<int>>" },
		{ "std::vector<int,std::allocator<int>>", "std::vector<int, std::allocator<int>>" },
		{ "X<char const*>", "X<const char*>" },
		{ "X<const char *>", "X<const char*>" },
		{ "X<char const* const>", "X<const char* const>" },
		{ "X<const char *const>", "X<const char* const>" },
		{ "X<char const* const*>", "X<const char* const*>" },
		{ "X<int const volatile*>", "X<const volatile int*>" },
		{ "X<int volatile const*>", "X<const volatile int*>" },
		{ "X<volatile const int *>", "X<const volatile int*>" },
		{ "X<ns::Y<int> const&>", "X<const ns::Y<int>&>" },
		{ "std::pair<std::string const, int>", "std::pair<const std::string, int>" },
		{ "X<void (*)(int, char const*)>", "X<void(*)(int, const char*)>" },
		{ "X<void(*)(int, const char*)>", "X<void(*)(int, const char*)>" },
		{ "std::function<void (int)>", "std::function<void(int)>" },
		{ "X<int (M::*)(int) const>", "X<int(M::*)(int) const>" },
		{ "X<int [3]>", "X<int[3]>" },
		{ "X<int const [3]>", "X<const int[3]>" },
		{ "X<int (*) [3]>", "X<int(*)[3]>" },
		{ "U<3ul>", "U<3>" },
		{ "U<3UL>", "U<3>" },
		{ "U<3, 4u, -5l>", "U<3, 4, -5>" },
		{ "C<(char)65>", "C<65>" },
		{ "C<'A'>", "C<65>" },
		{ "C<'\\n', '\\'', '\\\\', '\\000', '\\101', '\\x41'>",
		  "C<10, 39, 92, 0, 65, 65>" },
		{ "C<(unsigned char)'\\xc8'>", "C<200>" },
		{ "S<(short)-4>", "S<-4>" },
		{ "E<(Color)1>", "E<(Color)1>" },
		{ "E<(ns::E)-3>", "E<(ns::E)-3>" },
		{ "E<((anonymous namespace)::E)2>", "E<((anonymous namespace)::E)2>" },
		{ "{anonymous}::Hidden", "(anonymous namespace)::Hidden" },
		{ "X<{anonymous}::Hidden*>", "X<(anonymous namespace)::Hidden*>" },
		{ "ns::<unnamed>::A", "ns::(anonymous namespace)::A" },
		{ "f(int)::Local", "f(int)::Local" },
		{ "A::f(char const*) const::Local", "A::f(const char*) const::Local" },
		{ "X<main::{lambda(int)#1}>", "X<main::{lambda(int)#1}>" },
		{ "X<(lambda at /src/dir/x.cc:12:5)>", "X<{lambda at x.cc:12}>" },
		{ "X<main()::<lambda(int)> >", "X<main()::{lambda(int)}>" },
		{ "(unnamed struct at /src/x.c:3:9)", "{unnamed struct at x.c:3}" },
		{ "std::ios_base::failure[abi:cxx11]", "std::ios_base::failure" },
		{ "X<std::nullptr_t>", "X<decltype(nullptr)>" },
		{ "X<decltype(nullptr)>", "X<decltype(nullptr)>" },
		{ "struct foo *", "foo*" },
		{ "operator<<", "operator<<" },
		{ "A::operator->", "A::operator->" },
		{ "A::operator< <int>", "A::operator<<int>" },
		{ "unsigned_thing::longer", "unsigned_thing::longer" },
		{ "constant<volatile_t>", "constant<volatile_t>" },
		{ "", "" },
		{ ">>><<<)))(((", NULL },
		{ "{{{{}}}}<", NULL },
		{ "'", NULL },
		{ "(", NULL },
		{ "(lambda at", NULL },
	};
	struct names names = { 0 };
	unsigned twice = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		const char *got = die_normalize(&names, pairs[i][0]);

		if (pairs[i][1]) {
			const char *again = got ? die_normalize(&names, got) : NULL;

			fixture_result(got && !strcmp(got, pairs[i][1]), pairs[i][0], "%s",
				       got ? got : "-");
			twice += again != got;
		} else {
			fixture_result(got, pairs[i][0], "nothing");
		}
	}
	fixture_result(!twice, "a name in the right spelling stays", "%u changed", twice);

	/* brackets without end, and more than 64 KB */
	size_t bytes = 1 << 18;
	char *deep = malloc(bytes + 1);

	if (deep) {
		memset(deep, '<', bytes);
		deep[bytes] = 0;
		fixture_result(die_normalize(&names, deep), "a quarter of a million brackets",
			       "nothing");
		for (size_t i = 0; i < bytes; i++)
			deep[i] = "((a)1"[i % 5];
		fixture_result(die_normalize(&names, deep), "casts all along", "nothing");
	}
	free(deep);
	names_deinit(&names);
}

/* ---- names ---- */

/* The type that the static pointer at `vaddr` points to. */
static bool pointed_by(struct program *program, unsigned long vaddr, struct die_type *out)
{
	struct debug_variable variable;
	struct die_type pointer;

	return debug_definitions_global(program->units, vaddr, &variable) &&
	       die_type(program->units, &variable.type, &pointer) && pointer.kind == DIE_POINTER &&
	       die_type_target(program->units, &pointer, out);
}

/* Not in DWARF as the demangler has it: lambdas, which have a place instead of a number. */
static bool is_lambda(const char *name)
{
	return strstr(name, "{lambda") || strstr(name, "$_");
}

/* `nameless`: how many local classes' functions clang forgets to name. `text`: DW_AT_name alone
 * must give the name too. */
static void names_of(const char *name, const char *compiler, const char *flags, unsigned nameless,
		     bool text)
{
	/* in gcc's type units the text is all there is to say about an argument */
	unsigned placed = strstr(flags, "types-section") && *compiler == 'g' ? 1 : 2;

	char line[4096], first[2048] = "";
	unsigned lines = 0, wrong = 0, forgotten = 0, lambdas = 0, spelled = 0;
	struct program program;

	if (!build(name, compiler, flags, "@die_names.cc", NULL))
		return;
	if (!open_program(&program)) {
		fixture_result(false, name, "can't open it");
		close_program(&program);
		return;
	}
	debug_units_hold(program.units, true);
	while (fgets(line, sizeof(line), program.truth)) {
		char *at;
		unsigned long vaddr = strtoul(line, &at, 16), bytes = strtoul(at, &at, 10);
		struct die_type type = { 0 };
		const char *truth, *own;

		at += strspn(at, "\t");
		at[strcspn(at, "\n")] = 0;
		truth = die_normalize(&program.names, at);
		lines++;
		if (!pointed_by(&program, vaddr, &type)) {
			if (!wrong++)
				snprintf(first, sizeof(first), "%s: not there", at);
			continue;
		}
		if (is_lambda(truth) && type.bytes == bytes) {
			lambdas += strstr(type.name, "main::{lambda at die_names.cc:118}") != NULL;
			continue;
		}
		if (!strncmp(type.name, "{unnamed function}::", 20) && type.bytes == bytes) {
			forgotten++;
			continue;
		}
		if ((strcmp(type.name, truth) || type.bytes != bytes) && !wrong++)
			snprintf(first, sizeof(first), "%s of %lu, truth %s of %lu", type.name,
				 (unsigned long)type.bytes, truth, bytes);
		own = dwarf_diename(&type.die);
		/* enumerators are words in the text */
		own = own && !strstr(truth, "<(") ? die_normalize(&program.names, own) : NULL;
		if (own &&
		    (strlen(own) > strlen(truth) ||
		     strcmp(truth + strlen(truth) - strlen(own), own)) &&
		    text && !wrong++)
			snprintf(first, sizeof(first), "DW_AT_name gives %s, truth %s", own, truth);
		spelled += own != NULL;
	}
	fixture_result(
		lines == 75 && !wrong && lambdas == placed && forgotten <= nameless && spelled > 60,
		name,
		"%u of %u wrong, %u lambdas, %u without their function, %u with a text, first: %s",
		wrong, lines, lambdas, forgotten, spelled, first);
	close_program(&program);
}

static void names(void)
{
	names_of("names, gcc DWARF 5", "g++", "-std=c++17 -O0 -gdwarf-5", 0, true);
	names_of("names, gcc split DWARF 4", "g++", "-std=c++17 -O0 -gdwarf-4 -gsplit-dwarf", 0,
		 true);
	names_of("names, gcc type units DWARF 4", "g++",
		 "-std=c++17 -O0 -gdwarf-4 -fdebug-types-section", 0, true);
	names_of("names, clang DWARF 4", "clang++", "-std=c++17 -O2 -gdwarf-4 -fstandalone-debug",
		 3, true);
	names_of("names, clang split", "clang++",
		 "-std=c++17 -O0 -gdwarf-5 -gsplit-dwarf -fstandalone-debug", 0, true);
	names_of("names, clang simple template names", "clang++",
		 "-std=c++17 -O0 -g -gsimple-template-names -fstandalone-debug", 0, false);
	if (!fixture_is_long())
		return;
	names_of("names, clang type units", "clang++",
		 "-std=c++17 -O0 -gdwarf-5 -fdebug-types-section -fstandalone-debug", 3, true);
	names_of("names, gcc DWARF 4", "g++", "-std=c++17 -O2 -gdwarf-4", 0, true);
	names_of("names, gcc split", "g++", "-std=c++17 -O2 -gdwarf-5 -gsplit-dwarf", 0, true);
	names_of("names, gcc type units", "g++", "-std=c++17 -O0 -gdwarf-5 -fdebug-types-section",
		 0, true);
	names_of("names, clang DWARF 5", "clang++", "-std=c++17 -O0 -gdwarf-5 -fstandalone-debug",
		 0, true);
	names_of("names, clang split DWARF 4", "clang++",
		 "-std=c++17 -O0 -gdwarf-4 -gsplit-dwarf -fstandalone-debug", 0, true);
	names_of("names, clang type units DWARF 4", "clang++",
		 "-std=c++17 -O0 -gdwarf-4 -fdebug-types-section -fstandalone-debug", 3, true);
}

/* ---- layout ---- */

struct rows {
	struct die_member at[256];
	size_t count;
};

static bool take_row(void *context, const struct die_member *member)
{
	struct rows *rows = context;

	if (rows->count < 256)
		rows->at[rows->count++] = *member;
	return rows->count < 256;
}

/* The row "a.b": b one deeper, behind a. Members of an anonymous union belong to the class around
 * it. */
static const struct die_member *row_of(const struct rows *rows, const char *path)
{
	const char *dot = strchr(path, '.');
	size_t length = dot ? (size_t)(dot - path) : strlen(path);

	for (size_t i = 0; i < rows->count; i++) {
		const struct die_member *row = &rows->at[i];
		bool inside = row->depth == 1 && i && !strcmp(path, "u");

		if ((row->depth && !inside) || !row->name || strlen(row->name) != length ||
		    strncmp(row->name, path, length) || row->what != DIE_MEMBER)
			continue;
		if (!dot)
			return row;
		for (i++; i < rows->count && rows->at[i].depth; i++)
			if (rows->at[i].depth == 1 && rows->at[i].name &&
			    !strcmp(rows->at[i].name, dot + 1))
				return &rows->at[i];
	}
	return NULL;
}

static uint64_t unused_in(const struct rows *rows)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (!rows->at[i].depth &&
		    (rows->at[i].what == DIE_HOLE || rows->at[i].what == DIE_PADDING))
			bytes += rows->at[i].bytes;
	return bytes;
}

/* Rows of depth 0 in order, without gap and without overlap but for reused padding: every bit of
 * the class is in one. */
static bool covers(const struct rows *rows, uint64_t bytes)
{
	uint64_t end = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct die_member *row = &rows->at[i];
		uint64_t from = row->offset * 8 + row->bit_offset,
			 bits = row->bytes * 8 + row->bit_size;

		if (row->depth)
			continue;
		if (from > end)
			return false;
		if (from + bits > end)
			end = from + bits;
	}
	return end == bytes * 8;
}

static void layout(const char *name, const char *compiler, const char *flags)
{
	char line[512], type_name[200] = "", word[200], first[512] = "";
	unsigned long a, b, c;
	unsigned checked = 0, wrong = 0;
	struct die_type type = { 0 };
	struct program program;
	struct rows rows = { 0 };
	const char *leading[16];
	size_t leads = 0;

	if (!build(name, compiler, flags, "@die_layout.cc @die_other.cc @die_third.cc", NULL))
		return;
	if (!open_program(&program)) {
		fixture_result(false, name, "can't open it");
		close_program(&program);
		return;
	}
	debug_units_hold(program.units, true);
	while (fgets(line, sizeof(line), program.truth)) {
		const struct die_member *row;
		bool good = false;
		Dwarf_Die die;

		checked++;
		if (sscanf(line, "class %199s %lu %lu %lu", type_name, &a, &b, &c) == 4) {
			rows.count = leads = 0;
			good = debug_definitions_class(program.units, type_name, NULL, &die) &&
			       die_type(program.units, &die, &type);
			if (good) {
				leads = die_members_leading(program.units, &type, leading, 16);
				die_type_layout(program.units, &type, take_row, &rows);
				good = type.bytes == a && type.polymorphic == (b != 0) &&
				       type.trailing_array == (c != 0) &&
				       !strcmp(type.name, type_name) &&
				       (!strcmp(type_name, "Either") ||
					!strcmp(type_name, "Virtual") || covers(&rows, a));
			}
		} else if (sscanf(line, "member %199s %lu %lu", word, &a, &b) == 3) {
			row = row_of(&rows, word);
			good = row && row->offset == a && row->bytes == b;
		} else if (sscanf(line, "field %199s %lu %lu", word, &a, &b) == 3) {
			row = row_of(&rows, word);
			good = row && row->offset * 8 + row->bit_offset == a &&
			       row->bit_size == b && !row->bytes;
		} else if (sscanf(line, "lead %199s", word) == 1) {
			for (size_t i = 0; i < leads; i++)
				good = good || !strcmp(leading[i], word);
		} else if (sscanf(line, "unused %lu", &a) == 1) {
			good = unused_in(&rows) == a;
		}
		if (!good && !wrong++)
			snprintf(first, sizeof(first), "%s: %.200s", type_name, line);
	}
	fixture_result(checked > 70 && !wrong, name, "%u of %u wrong, first: %s", wrong, checked,
		       first);
	close_program(&program);
}

static void members(void)
{
	static const struct {
		const char *class;
		uint64_t offset;
		const char *name, *type; /* type NULL: no pointer there */
	} cases[] = {
		{ "Derived", 16, "p", "void*" },
		{ "Derived", 12, NULL, NULL },
		{ "Derived", 20, NULL, NULL }, /* in the middle of a pointer */
		{ "Nested", 40, "pointer", "int*" },
		{ "Nested", 48, NULL, NULL }, /* a union */
		{ "Array", 72, "pointers", "Plain*" },
		{ "Array", 80, "pointers", "Plain*" },
		{ "Array", 8, NULL, NULL },
		{ "Reuse", 16, "p", "void*" },
		{ "Tree<int>", 8, "cache", "int*" },
		{ "Tree<int>::Node", 8, "right", "Tree<int>::Node*" },
		{ "User", 0, "opaque", "Opaque*" },
		{ "User", 400, NULL, NULL },
	};
	struct program program;

	if (!build("members", "g++", "-g", "@die_layout.cc @die_other.cc @die_third.cc", NULL))
		return;
	if (!open_program(&program))
		exit(1);
	debug_units_hold(program.units, true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[64];
		Dwarf_Die die;
		struct die_type type, member = { 0 };
		const char *own = NULL;
		bool good = debug_definitions_class(program.units, cases[i].class, NULL, &die) &&
			    die_type(program.units, &die, &type);
		bool found = good &&
			     die_members_at(program.units, &type, cases[i].offset, &member, &own);

		snprintf(name, sizeof(name), "member of %s at %u", cases[i].class,
			 (unsigned)cases[i].offset);
		fixture_result(good && found == (cases[i].type != NULL) &&
				       (!found || (!strcmp(member.name, cases[i].type) && own &&
						   !strcmp(own, cases[i].name))),
			       name, "%d %s %s", found, found ? member.name : "-", own ? own : "-");
	}
	close_program(&program);
}

/* What one unit declares and another defines. */
static void definitions(const char *name, const char *compiler, const char *flags)
{
	/* clang's type units are known by their class's name: of two with one name the linker keeps
	 * the first */
	uint64_t twice = *compiler == 'c' && strstr(flags, "types-section") ? 4 : 0;

	struct program program;
	struct die_type user, pointer, opaque = { 0 }, other = { 0 }, deep = { 0 };
	const char *member;
	Dwarf_Die die;

	if (!build(name, compiler, flags, "@die_layout.cc @die_other.cc @die_third.cc", NULL))
		return;
	if (!open_program(&program))
		exit(1);
	debug_units_hold(program.units, true);

	bool good = debug_definitions_class(program.units, "User", NULL, &die) &&
		    die_type(program.units, &die, &user) &&
		    die_members_at(program.units, &user, 0, &pointer, &member) &&
		    die_type_target(program.units, &pointer, &opaque) &&
		    die_members_at(program.units, &user, 8, &pointer, &member) &&
		    die_type_target(program.units, &pointer, &other);
	bool box = debug_definitions_class(program.units, "space::Box<unsigned long>", NULL, &die);
	bool nested = debug_definitions_class(program.units, "space::Deep::Deeper", NULL, &die) &&
		      die_type(program.units, &die, &deep);
	bool none = debug_definitions_class(program.units, "space::Nothing", NULL, &die) ||
		    debug_definitions_class(program.units, "Deeper", NULL, &die);

	fixture_result(good && opaque.bytes == 24 && !strcmp(opaque.name, "Opaque") &&
			       other.bytes == twice && !strcmp(other.name, "Opaque2") && box &&
			       nested && deep.bytes == 40 && !none &&
			       !strcmp(deep.name, "space::Deep::Deeper"),
		       name, "%d, %lu, %lu, %d, %d %lu %s, %d", good, (unsigned long)opaque.bytes,
		       (unsigned long)other.bytes, box, nested, (unsigned long)deep.bytes,
		       deep.name ? deep.name : "-", none);
	close_program(&program);
}

/* ---- variables ---- */

static const struct debug_variable *variable_of(const struct debug_variable *variables,
						size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (variables[i].name && !strcmp(variables[i].name, name))
			return &variables[i];
	return NULL;
}

/* Checks every line of truth; `need`: how many variables must have been checked by register or
 * address. */
static void variables(const char *name, const char *compiler, const char *flags, unsigned need,
		      const char *then)
{
	struct debug_variable found[64];
	size_t count = 0;
	unsigned long registers[16] = { 0 }, value, address;
	unsigned wrong = 0, by_register = 0, by_address = 0, globals = 0, depth, at;
	char line[1024], word[100], type_name[100], first[1024] = "";
	struct program program;

	if (!build(name, compiler, flags, "@die_variables.c", then))
		return;
	if (!open_program(&program)) {
		fixture_result(false, name, "can't open it");
		close_program(&program);
		return;
	}
	while (fgets(line, sizeof(line), program.truth)) {
		bool good = true;

		if (sscanf(line, "pc %lx", &value) == 1) {
			debug_units_hold(program.units, true);
			count = debug_variables_at(program.units, value, found, 64);
			/* a block that doesn't cover the address */
			good = count && !variable_of(found, count, "behind");
		} else if (!strncmp(line, "registers", 9)) {
			char *next = line + 9;

			for (at = 0; at < 16; at++)
				registers[at] = strtoul(next, &next, 16);
		} else if (sscanf(line, "variable %99s %lx %lx %u", word, &value, &address,
				  &depth) == 4) {
			const struct debug_variable *variable = variable_of(found, count, word);

			if (!variable)
				continue; /* the compiler says of some that they are nowhere; `need`
					     sees to the others */
			good = variable->depth == depth;
			if (good && variable->place == DEBUG_PLACE_REGISTER) {
				good = value && registers[variable->reg] == value;
				by_register++;
			} else if (good && address) {
				good = variable->place == DEBUG_PLACE_MEMORY &&
				       registers[variable->reg] +
						       (unsigned long)variable->displacement ==
					       address;
				by_address++;
			}
		} else if (sscanf(line, "global %99s %lx %99s %lu", word, &address, type_name,
				  &value) == 4) {
			struct debug_variable variable;
			struct die_type type;

			good = debug_definitions_global(program.units, address, &variable) &&
			       variable.name && !strcmp(variable.name, word) &&
			       die_type(program.units, &variable.type, &type) &&
			       !strcmp(type.name, type_name) && type.bytes == value;
			globals++;
		}
		if (!good && !wrong++)
			snprintf(first, sizeof(first), "%.300s", line);
	}
	fixture_result(!wrong && by_register + by_address >= need && globals == 5, name,
		       "%u wrong, %u by register, %u by address, %u globals, first: %s", wrong,
		       by_register, by_address, globals, first);
	close_program(&program);
}

/* ---- functions around a call ---- */

static void sites(const char *name, const char *compiler, const char *flags)
{
	struct program program;
	char line[256], word[100], text[600] = "";
	unsigned long vaddr;
	unsigned good = 0;

	if (!build(name, compiler, flags, "@die_sites.cc", NULL))
		return;
	if (!open_program(&program)) {
		fixture_result(false, name, "can't open it");
		close_program(&program);
		return;
	}
	while (fgets(line, sizeof(line), program.truth)) {
		struct debug_scope scopes[16], inlined[16];
		struct die_type type;
		Dwarf_Die function;

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "(%u) ", good);
		if (sscanf(line, "function %lx", &vaddr) == 1) {
			good += debug_scopes_function_at(program.units, vaddr, &function) &&
				!debug_scopes_function_at(program.units, vaddr + 1, &function);
			continue;
		}
		if (sscanf(line, "site %lx %99s", &vaddr, word) != 2)
			continue;
		debug_units_hold(program.units, true);

		size_t count = debug_scopes_at(program.units, vaddr - 1, scopes, 16), behind;
		const char *path = count ? die_function_path(program.units, &scopes[0].die) : NULL;

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s: %zu %.60s; ", word,
			 count, path ? path : "-");
		if (!path)
			continue;
		if (!strcmp(word, "direct")) {
			bool constructor = false;

			behind = debug_scopes_behind(program.units, vaddr, &scopes[0], inlined, 16);
			for (size_t i = 0; i < behind; i++)
				constructor = constructor ||
					      (inlined[i].low >= vaddr &&
					       die_is_constructor(program.units, &inlined[i].die,
								  &type) &&
					       !strcmp(type.name, "shop::Item") && type.bytes == 8);
			good += !strcmp(path, "direct") && count == 1 && constructor &&
				!die_is_constructor(program.units, &scopes[0].die, &type) &&
				!die_type_class_of(program.units, &scopes[0].die, &type);
		} else if (!strcmp(word, "shelf")) {
			struct die_type argument, value;

			good += !strcmp(path, "shop::Shelf::Shelf") && scopes[0].inlined &&
				die_is_constructor(program.units, &scopes[0].die, &type) &&
				!strcmp(type.name, "shop::Shelf<shop::Item>") &&
				die_type_argument(program.units, &type.die, 0, &argument) &&
				!strcmp(argument.name, "shop::Item") &&
				!die_type_argument(program.units, &type.die, 1, &argument) &&
				die_type_typedef(program.units, &type.die, "value_type", &value) &&
				!strcmp(value.name, "shop::Item") &&
				!die_type_typedef(program.units, &type.die, "nothing", &value) &&
				/* the constructor's own arguments: A = {int, int} */
				die_type_argument(program.units, &scopes[0].die, 1, &argument) &&
				!strcmp(argument.name, "int");
		} else if (!strcmp(word, "vector")) {
			struct die_type argument = { 0 };

			/* whatever of allocate() and its callers was inlined: one of them belongs
			 * to the vector */
			for (size_t i = 0; i < count; i++)
				if (die_type_class_of(program.units, &scopes[i].die, &type) &&
				    !strcmp(type.name, "std::vector<shop::Item, "
						       "std::allocator<shop::Item>>") &&
				    die_type_argument(program.units, &type.die, 0, &argument) &&
				    !strcmp(argument.name, "shop::Item")) {
					good++;
					break;
				}
		}
	}
	fixture_result(good == 4, name, "%u of 4: %s", good, text);
	close_program(&program);
}

/* The C library's debug file: what is known of its types from its headers. */
static void libc(void)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} known[] = { { "_IO_FILE", sizeof(FILE) }, { "timespec", 16 }, { "sockaddr", 16 } };
	struct sym *sym = fixture_sym(NULL);
	struct sym_module *module = fixture_open(sym, "/lib/x86_64-linux-gnu/libc.so.6");
	const char *debug = sym_module_info(module)->debug_file;
	struct binary file;
	struct names names = { 0 };
	struct debug_units *units;
	unsigned good = 0;

	if (!debug || binary_open(&file, "/lib/x86_64-linux-gnu/libc.so.6") != BINARY_OK) {
		fixture_skip("the C library", "libc6-dbg");
		sym_destroy(sym);
		return;
	}
	units = debug_units_create(debug, &file, &names, NULL);
	for (size_t i = 0; units && i < sizeof(known) / sizeof(*known); i++) {
		Dwarf_Die die;
		struct die_type type;
		struct rows rows = { 0 };

		if (debug_definitions_class(units, known[i].name, NULL, &die) &&
		    die_type(units, &die, &type) && type.bytes == known[i].bytes) {
			die_type_layout(units, &type, take_row, &rows);
			good += covers(&rows, type.bytes);
		}
	}
	fixture_result(good == 3, "the C library", "%u of 3", good);
	debug_units_destroy(units);
	names_deinit(&names);
	binary_close(&file);
	sym_destroy(sym);
}

/* With further options. */
static void again(void)
{
	layout("layout, gcc DWARF 5", "g++", "-gdwarf-5");
	layout("layout, gcc DWARF 4", "g++", "-gdwarf-4");
	layout("layout, gcc type units", "g++", "-gdwarf-5 -fdebug-types-section");
	layout("layout, clang DWARF 4", "clang++", "-gdwarf-4");
	layout("layout, clang DWARF 5", "clang++", "-gdwarf-5");
	layout("layout, clang split", "clang++", "-g -gsplit-dwarf");
	definitions("definitions, gcc", "g++", "-g");
	definitions("definitions, clang", "clang++", "-g");
	definitions("definitions, gcc type units", "g++", "-g -fdebug-types-section");
	variables("variables, gcc -O2 DWARF 4", "gcc", "-O2 -gdwarf-4", 6, NULL);
	variables("variables, gcc -O1 with frame pointers", "gcc", "-O1 -g -fno-omit-frame-pointer",
		  6, NULL);
	variables("variables, gcc -O2 split", "gcc", "-O2 -g -gsplit-dwarf", 6, NULL);
	variables("variables, gcc not PIE", "gcc", "-O2 -g -no-pie -fno-pie", 6, NULL);
	variables("variables, clang -O2", "clang", "-O2 -g", 6, NULL);
	variables("variables, clang -O0", "clang", "-O0 -g -DMEMORY", 7, NULL);
	sites("functions around a call, gcc", "g++", "-O2 -g");
	sites("functions around a call, gcc DWARF 4", "g++", "-O2 -gdwarf-4");
}

int main(void)
{
	fixture_begin();
	spelling();
	names();
	layout("layout, gcc strict DWARF 3", "g++", "-gdwarf-3 -gstrict-dwarf");
	layout("layout, gcc split", "g++", "-g -gsplit-dwarf");
	layout("layout, clang type units", "clang++", "-gdwarf-4 -fdebug-types-section");
	members();
	definitions("definitions, gcc split", "g++", "-g -gsplit-dwarf");
	definitions("definitions, clang type units DWARF 4", "clang++",
		    "-gdwarf-4 -fdebug-types-section");
	variables("variables, gcc -O2", "gcc", "-O2 -g", 6, NULL);
	variables("variables, gcc -O0", "gcc", "-O0 -g -DMEMORY", 7, NULL);
	variables("variables, gcc no .eh_frame", "gcc", "-O2 -g -fno-asynchronous-unwind-tables", 6,
		  NULL);
	variables("variables, gcc dwz", "gcc", "-O2 -g", 6, "dwz program");
	variables("variables, clang -O2 DWARF 4", "clang", "-O2 -gdwarf-4", 6, NULL);
	sites("functions around a call, gcc type units", "g++", "-O2 -g -fdebug-types-section");
	sites("functions around a call, clang", "clang++", "-O2 -g");
	libc();
	if (fixture_is_long())
		again();
	return fixture_end();
}
