/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sym_frames.c: function, file, line and inline chain of addresses, against what the program
 * that was compiled says of itself, and against another symbolizer on some hundreds of addresses;
 * for every place that DWARF can be in.
 */
#include "../../symbolizer/elf/symbol_names.h"
#include "fixtures/sym_fixture.h"

#define SOURCE "sym_chain.cc"

static const char *base_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "-";
}

/* What must be known: nothing; the physical function; that with its scopes and parameters and all
 * the lines. */
enum expect { NOTHING, SYMBOLS, ALL };

static bool same_function(const char *got, const char *truth, bool inlined)
{
	size_t length = strlen(truth);

	if (!got)
		return false;
	if (!strncmp(got, "void ", 5)) /* instances of templates have their return type */
		got += 5;
	/* inlined functions without a linkage name have no parameters */
	return !strcmp(got, truth) ||
	       (inlined && strchr(truth, '(') && strlen(got) < length &&
		!strncmp(got, truth, strlen(got)) && truth[strlen(got)] == '(');
}

/* Checks one line of truth: "VADDR FUNCTION:LINE FUNCTION:LINE". Spaces occur in function names, so
 * split at ":DIGITS". */
static bool check_line(struct sym_module *module, char *text, enum expect expect, char *why,
		       size_t room)
{
	struct sym_frame frames[16], few[1];
	char *at;
	unsigned long vaddr = strtoul(text, &at, 16);
	size_t count = sym_frames(module, vaddr - 1, frames, 16), i = 0;
	size_t first = sym_frames(module, vaddr - 1, few, 1);

	snprintf(why, room, "%lx: %zu frames, first %s %s:%u", vaddr, count,
		 count && frames[0].function ? frames[0].function : "-",
		 count ? base_of(frames[0].file) : "-", count ? frames[0].line : 0);
	if (expect == NOTHING)
		return count == 0;
	if (first != 1 || few[0].function != frames[0].function)
		return false;
	while (*at == ' ') {
		char *name = at + 1, *colon = name;

		do
			colon = strchr(colon + 1, ':');
		while (colon && !(colon[1] >= '0' && colon[1] <= '9'));
		if (!colon)
			return false;
		*colon = 0;

		unsigned long line = strtoul(colon + 1, &at, 10);
		bool last = *at != ' ';

		if (expect == SYMBOLS) {
			if (last &&
			    (count != 1 || !same_function(frames[0].function, name, false) ||
			     frames[0].file))
				return false;
			continue;
		}
		if (i >= count || !same_function(frames[i].function, name, !last) ||
		    frames[i].line != line || frames[i].inlined == last ||
		    strcmp(base_of(frames[i].file), SOURCE)) {
			snprintf(why, room, "%lx frame %zu: %s %s:%u inlined %d, truth %s:%lu",
				 vaddr, i,
				 i < count && frames[i].function ? frames[i].function : "-",
				 i < count ? base_of(frames[i].file) : "-",
				 i < count ? frames[i].line : 0, i < count && frames[i].inlined,
				 name, line);
			return false;
		}
		i++;
	}
	return expect == SYMBOLS || i == count;
}

static void check_program(const char *name, const struct sym_options *options, enum expect expect)
{
	char path[256], line[1024], why[1200] = "", first[1200] = "";
	struct sym *sym = fixture_sym(options);
	unsigned wrong = 0, lines = 0;
	FILE *truth;

	snprintf(path, sizeof(path), "%s/truth", fixture_dir);
	truth = fopen(path, "r");
	snprintf(path, sizeof(path), "%s/program", fixture_dir);

	struct sym_module *module = fixture_open(sym, path);
	const struct sym_module_info *info = sym_module_info(module);

	while (truth && fgets(line, sizeof(line), truth)) {
		lines++;
		if (!check_line(module, line, expect, why, sizeof(why)) && !wrong++)
			memcpy(first, why, sizeof(first));
	}
	if (truth)
		fclose(truth);
	fixture_result(lines == 4 && !wrong && (expect != ALL || info->dwarf) &&
			       (expect == ALL || *info->note),
		       name, "%u of %u wrong, dwarf %d, note '%s', first: %s", wrong, lines,
		       info->dwarf, info->note, first);
	sym_destroy(sym);
}

/* Builds the program with `flags`, then runs `then` (a shell command, or NULL) on it. */
static bool build(const char *name, const char *compiler, const char *flags, const char *then)
{
	if (!fixture_have(compiler)) {
		fixture_skip(name, compiler);
		return false;
	}
	/* what is only linked another way is compiled once */
	if (!fixture_run("rm -rf program* *.dwo .debug d truth; f=$(echo \" %s\" | "
			 "sed 's/ -Wl[^ ]*//g') && o=units/$(echo %s$f | tr -c 'a-z0-9\n' _).o && "
			 "mkdir -p units && { [ -f $o ] || "
			 "%s -std=c++17 $f -c \"$OLDPWD\"/%s/" SOURCE " -o $o; } && "
			 "%s %s $o -o program && ./program > truth",
			 flags, compiler, compiler, fixture_source(), compiler, flags) ||
	    (then && !fixture_run("%s", then))) {
		fixture_skip(name, "this tool chain can't build it");
		return false;
	}
	return true;
}

static void against_truth(void)
{
	static const struct {
		const char *name, *compiler, *flags, *then;
		enum expect expect;
	} cases[] = {
		{ "gcc -O2 DWARF 5", "g++", "-O2 -g", NULL, ALL },
		{ "gcc -O0", "g++", "-O0 -g", NULL, ALL },
		{ "gcc split DWARF 4", "g++", "-O2 -g -gdwarf-4 -gsplit-dwarf", NULL, ALL },
		{ "gcc -flto", "g++", "-O2 -g -flto", NULL, ALL },
		{ "gcc type units", "g++", "-O2 -g -fdebug-types-section", NULL, ALL },
		{ "gcc not PIE", "g++", "-O2 -g -no-pie -fno-pie", NULL, ALL },
		{ "gcc symbols only", "g++", "-O2", NULL, SYMBOLS },
		{ "gcc stripped", "g++", "-O2 -g", "strip program", NOTHING },
		{ "clang DWARF 4", "clang++", "-O2 -g -gdwarf-4", NULL, ALL },
		{ "debug link beside it", "g++", "-O2 -g -Wl,--build-id=none",
		  "objcopy --only-keep-debug program program.debug && strip program && objcopy "
		  "--add-gnu-debuglink=program.debug program",
		  ALL },
		{ "debug link in .debug", "g++", "-O2 -g",
		  "mkdir .debug && objcopy --only-keep-debug program .debug/program.debug && strip "
		  "program && "
		  "objcopy --add-gnu-debuglink=.debug/program.debug program",
		  ALL },
		{ "debug link, wrong checksum", "g++", "-O2 -g -Wl,--build-id=none",
		  "objcopy --only-keep-debug program program.debug && strip program && objcopy "
		  "--add-gnu-debuglink=program.debug program && "
		  "echo >> program.debug",
		  NOTHING },
		{ "debug link, other build-id", "g++", "-O2 -g -Wl,--build-id=0x12345678",
		  "objcopy --only-keep-debug program program.debug && strip program && objcopy "
		  "--add-gnu-debuglink=program.debug program && "
		  "objcopy --remove-section=.note.gnu.build-id program.debug",
		  NOTHING },
		{ "mini debug information", "g++", "-O2",
		  "objcopy -S --add-section .comment2=/dev/null program stripped; nm program > "
		  "/dev/null && "
		  "objcopy --only-keep-debug program mini && xz -k mini && strip program && "
		  "objcopy --add-section .gnu_debugdata=mini.xz program; rm -f mini mini.xz "
		  "stripped",
		  SYMBOLS },
		{ "dwz", "g++", "-O2 -g", "dwz program", ALL },
		{ "dwz with an alternate file", "g++", "-O2 -g",
		  "cp program program2 && dwz -m program.alt program program2 && test -f "
		  "program.alt",
		  ALL },
		/* in the long form; debuginfo_test has the first two in the short one */
		{ "gcc compressed", "g++", "-O2 -g -gz", NULL, ALL },
		{ "clang split", "clang++", "-O2 -g -gsplit-dwarf", NULL, ALL },
		{ "gcc DWARF 4", "g++", "-O2 -g -gdwarf-4", NULL, ALL },
		{ "gcc split", "g++", "-O2 -g -gsplit-dwarf", NULL, ALL },
		{ "clang -O2 DWARF 5", "clang++", "-O2 -g", NULL, ALL },
	};
	size_t count = sizeof(cases) / sizeof(*cases) - (fixture_is_long() ? 0 : 5);

	for (size_t i = 0; i < count; i++)
		if (build(cases[i].name, cases[i].compiler, cases[i].flags, cases[i].then))
			check_program(cases[i].name, NULL, cases[i].expect);

	char dir[128];
	const char *dirs[] = { dir, NULL };
	struct sym_options options = { .debug_dirs = dirs };

	snprintf(dir, sizeof(dir), "%s/d", fixture_dir);
	if (build("build-id directory", "g++", "-O2 -g -Wl,--build-id=0xabcdef0123",
		  "mkdir -p d/.build-id/ab && objcopy --only-keep-debug program "
		  "d/.build-id/ab/cdef0123.debug && strip program"))
		check_program("build-id directory", &options, ALL);
	if (build("unstripped file in a directory", "g++", "-O2 -g",
		  "mkdir d && cp program d/program && strip program"))
		check_program("unstripped file in a directory", &options, ALL);
	options = (struct sym_options){ .no_dwarf = true };
	if (build("DWARF not wanted", "g++", "-O2 -g", NULL)) {
		struct sym *sym = fixture_sym(&options);
		char path[256];
		struct sym_module *module;
		struct sym_frame frame;
		unsigned long vaddr = 0;
		FILE *truth;

		snprintf(path, sizeof(path), "%s/truth", fixture_dir);
		truth = fopen(path, "r");
		if (truth && fscanf(truth, "%lx", &vaddr) != 1)
			vaddr = 0;
		if (truth)
			fclose(truth);
		snprintf(path, sizeof(path), "%s/program", fixture_dir);
		module = fixture_open(sym, path);
		fixture_result(sym_frames(module, vaddr - 1, &frame, 1) == 1 && !frame.file &&
				       frame.function,
			       "DWARF not wanted", "vaddr %lx", vaddr);
		sym_destroy(sym);
	}
}

/*
 * Addresses all over the program's code, against llvm-symbolizer: depth and lines must agree
 * everywhere but in start-up code, where it knows the file from a symbol. Names aren't compared:
 * demanglers differ in spelling, and the truth above covers them.
 */
static void against_other(const char *name, const char *compiler, const char *flags)
{
	char path[300], line[4096], reference[64][64];
	unsigned asked = 0, depth = 0, places = 0, step = 0, with_inlines = 0;
	unsigned long vaddr, end;
	struct sym *sym;
	struct sym_module *module;
	FILE *file;

	if (!fixture_have("llvm-symbolizer") || !build(name, compiler, flags, NULL)) {
		fixture_skip(name, "no llvm-symbolizer");
		return;
	}
	/* every 127th byte of .text */
	if (!fixture_run("readelf -SW program | sed 's/.*] *//' | awk '$1 == \".text\" { print $3, "
			 "$5 }' > text") ||
	    !fixture_run("read -r from size < text; from=$((0x$from)); end=$((from + 0x$size)); "
			 "while [ $from -lt $end ]; do "
			 "printf '0x%%x\\n' $from; from=$((from + 127)); done > addresses; "
			 "llvm-symbolizer --obj=program -i --no-demangle < addresses > answers")) {
		fixture_result(false, name, "can't run the reference");
		return;
	}
	sym = fixture_sym(NULL);
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	module = fixture_open(sym, path);
	snprintf(path, sizeof(path), "%s/text", fixture_dir);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%lx %lx", &vaddr, &end) != 2)
		vaddr = end = 0;
	if (file)
		fclose(file);
	end += vaddr;
	snprintf(path, sizeof(path), "%s/answers", fixture_dir);
	file = fopen(path, "r");
	for (; file && vaddr < end; vaddr += 127) {
		struct sym_frame frames[64];
		size_t count = sym_frames(module, vaddr, frames, 64), theirs = 0;

		for (step = 0; fgets(line, sizeof(line), file) && *line != '\n'; step++)
			if (step & 1 && theirs < 64) { /* FILE:LINE:COLUMN */
				char *column = strrchr(line, ':');

				if (column)
					*column = 0;
				snprintf(reference[theirs++], 64, "%.63s", base_of(line));
			}
		asked++;
		if (!count || !frames[0].file || !theirs)
			continue; /* padding, start-up code: they go by the nearest symbol */
		with_inlines += count > 1;
		if (count != theirs) {
			depth++;
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			char ours[64];

			snprintf(ours, sizeof(ours), "%s:%u", base_of(frames[i].file),
				 frames[i].line);
			if (strcmp(ours, reference[i])) {
				places++;
				break;
			}
		}
	}
	if (file)
		fclose(file);
	printf("# %s: %u addresses, %u with inlined functions, depth differs at %u, place at %u\n",
	       name, asked, with_inlines, depth, places);
	fixture_result(asked > 300 && with_inlines > 50 && depth * 200 <= asked &&
			       places * 200 <= asked,
		       name,
		       "%u addresses, %u with inlined functions, depth differs at %u, place at %u",
		       asked, with_inlines, depth, places);
	sym_destroy(sym);
}

/* The file must be the one that was mapped. */
static void identity(void)
{
	static const unsigned char id[] = { 0x12, 0x34, 0x56, 0x78 },
				   other[] = { 0x12, 0x34, 0x56, 0x79 };
	struct sym *sym = fixture_sym(NULL);
	struct sym_module *same, *changed, *missing, *foreign;
	struct sym_frame frame;
	struct sym_vtable vtable;
	char path[256];

	if (!fixture_run("echo 'int main(void) { return 0; }' > m.c && gcc -g "
			 "-Wl,--build-id=0x12345678 m.c -o program")) {
		fixture_skip("identity", "gcc");
		sym_destroy(sym);
		return;
	}
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	if (sym_module_open(sym, path, path, id, sizeof(id), &same) ||
	    sym_module_open(sym, path, path, other, sizeof(other), &changed) ||
	    sym_module_open(sym, "/nowhere/at/all", "/nowhere/at/all", id, sizeof(id), &missing) ||
	    sym_module_open(sym, "/etc/passwd", "/etc/passwd", NULL, 0, &foreign))
		exit(1);
	fixture_result(sym_module_info(same)->state == SYM_OK && !*sym_module_info(same)->note,
		       "same build-id", "%s", sym_module_info(same)->note);
	fixture_result(sym_module_info(changed)->state == SYM_CHANGED &&
			       strstr(sym_module_info(changed)->note, "12345679"),
		       "other build-id", "%s", sym_module_info(changed)->note);
	fixture_result(sym_module_info(missing)->state == SYM_MISSING &&
			       *sym_module_info(missing)->note,
		       "missing file", "%s", sym_module_info(missing)->note);
	fixture_result(sym_module_info(foreign)->state == SYM_NOT_ELF &&
			       *sym_module_info(foreign)->note,
		       "foreign file", "%s", sym_module_info(foreign)->note);
	sym_vtable(changed, 0x4000, &vtable);
	fixture_result(!sym_frames(changed, 0x1139, &frame, 1) &&
			       !sym_frames(missing, 0x1139, &frame, 1) &&
			       vtable.source == SYM_VTABLE_NONE,
		       "no answers from the wrong file", "answered");
	sym_destroy(sym);
}

static void demangling(void)
{
	static const char *const names[][2] = {
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZTV3Foo", "vtable for Foo" },
		{ "malloc", "malloc" },
		{ "bn_expand2.part.0", "bn_expand2" },
		{ "main.cold", "main" },
		{ "v.1.2", "v.1.2" },
		{ "_Znot_mangled", "_Znot_mangled" },
	};
	struct names seen = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *got = names_demangled(&seen, names[i][0]);

		fixture_result(got && !strcmp(got, names[i][1]), names[i][0], "%s",
			       got ? got : "-");
	}
	fixture_result(names_demangled(&seen, "_ZTV3Foo") == names_demangled(&seen, "_ZTV3Foo"),
		       "one copy of a name", "two");
	names_deinit(&seen);
}

int main(void)
{
	fixture_begin();
	against_truth();
	against_other("gcc against llvm-symbolizer", "g++", "-O2 -g -DLIBRARY");
	if (fixture_is_long())
		against_other("clang against llvm-symbolizer", "clang++", "-O2 -g -DLIBRARY");
	identity();
	demangling();
	return fixture_end();
}
