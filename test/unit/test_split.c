/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_split.c: units from a .dwp, and from a .dwo that was moved, say what they say when libdw
 * finds them by itself.
 *
 * The truth is libdw with the .dwo files in their places: every DIE with its name, addresses,
 * ranges, type, file and locations is printed, then the files are moved away and the same is
 * printed through split_unit().
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>

#include "fixtures/sym_fixture.h"
#include "../../symbolizer/dwarf/split.h"

enum { DEPTH_MAX = 64 };

static void print_locations(FILE *out, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Addr base, start, end;
	Dwarf_Op *ops;
	size_t count;
	ptrdiff_t at = 0;

	if (!dwarf_attr(die, DW_AT_location, &attribute))
		return;
	while ((at = dwarf_getlocations(&attribute, at, &base, &start, &end, &ops, &count)) > 0) {
		fprintf(out, " loc %lx-%lx", (unsigned long)start, (unsigned long)end);
		for (size_t i = 0; i < count; i++) {
			Dwarf_Addr address;
			Dwarf_Attribute moved;

			fprintf(out, " %x", ops[i].atom);
			if ((ops[i].atom == DW_OP_addrx || ops[i].atom == DW_OP_GNU_addr_index)) {
				if (!dwarf_getlocation_attr(&attribute, &ops[i], &moved) &&
				    !dwarf_formaddr(&moved, &address))
					fprintf(out, "@%lx", (unsigned long)address);
			} else if (ops[i].atom != DW_OP_entry_value &&
				   ops[i].atom != DW_OP_GNU_entry_value) {
				fprintf(out, ",%lx,%lx", (unsigned long)ops[i].number,
					(unsigned long)ops[i].number2);
			}
		}
	}
	fprintf(out, at < 0 ? " loc-error" : "");
}

/* The file table is the unit's own or its skeleton's. (dwarf_decl_file() fails an assertion on
 * split units.) */
static const char *file_of(Dwarf_Die *die, Dwarf_Die *skeleton)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t count;
	Dwarf_Die unit;

	if (!dwarf_attr(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &number))
		return NULL;
	if (!dwarf_diecu(die, &unit, NULL, NULL) ||
	    (dwarf_getsrcfiles(&unit, &files, &count) &&
	     dwarf_getsrcfiles(skeleton, &files, &count)) ||
	    number >= count)
		return "?";
	return dwarf_filesrc(files, number, NULL, NULL);
}

static void print_die(FILE *out, Dwarf_Die *die, Dwarf_Die *skeleton, unsigned depth)
{
	Dwarf_Die child, type;
	Dwarf_Attribute attribute;
	Dwarf_Addr base, start, end;
	const char *name = dwarf_diename(die), *file = file_of(die, skeleton);
	int line = 0;
	ptrdiff_t at = 0;

	/* the unit's own DIE may have its addresses in the skeleton */
	fprintf(out, "%*s%x %s", (int)depth, "", depth ? (unsigned)dwarf_tag(die) : 0,
		name ? name : "-");
	while (depth && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		fprintf(out, " %lx-%lx", (unsigned long)start, (unsigned long)end);
	if (!dwarf_decl_line(die, &line))
		fprintf(out, " %s:%d", file ? file : "?", line);
	if (dwarf_attr(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &type))
		fprintf(out, " type %lx %s", (unsigned long)dwarf_cuoffset(&type),
			dwarf_diename(&type) ? dwarf_diename(&type) : "-");
	print_locations(out, die);
	fprintf(out, "\n");
	if (depth < DEPTH_MAX && !dwarf_child(die, &child))
		do
			print_die(out, &child, skeleton, depth + 1);
		while (!dwarf_siblingof(&child, &child));
}

/* Prints every split unit of `program`; returns how many there were. */
static unsigned print_units(const char *program, const char *to, bool ours, const char *const *dirs)
{
	char path[256];
	Dwarf_CU *cu = NULL;
	Dwarf_Die skeleton, split_die;
	unsigned count = 0;
	FILE *out;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, to);
	out = fopen(path, "w");
	snprintf(path, sizeof(path), "%s/%s", fixture_dir, program);
	fd = open(path, O_RDONLY);

	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	struct split *split = split_create(path, NULL, dirs);

	while (dwarf && out && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &skeleton, NULL)) {
		uint8_t type;
		bool found;

		if (dwarf_cu_info(cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
		    type != DW_UT_skeleton)
			continue;
		found = ours ? split_unit(split, &skeleton, &split_die)
			     : !dwarf_cu_info(cu, NULL, NULL, NULL, &split_die, NULL, NULL, NULL) &&
					split_die.addr;
		if (!found)
			continue;
		count++;
		print_die(out, &split_die, &skeleton, 0);
	}
	split_destroy(split);
	dwarf_end(dwarf);
	close(fd);
	fclose(out);
	return count;
}

static void test_variant(const char *compiler, const char *flags, const char *dwp,
			 const char *label)
{
	char name[96], away[128];
	const char *dirs[] = { away, NULL };
	struct split_report report;
	char program[128];

	snprintf(away, sizeof(away), "%s/away", fixture_dir);
	snprintf(program, sizeof(program), "%s/program", fixture_dir);
	if (!fixture_run("rm -rf away *.dwo *.dwp program && C=%s && X=$(echo $C | sed "
			 "'s/gcc/g++/;s/clang/clang++/') && F='%s' && "
			 "$C -O2 -gsplit-dwarf $F -c \"$OLDPWD\"/%s/split_a.c -o a.o && "
			 "$X -O2 -gsplit-dwarf $F -c \"$OLDPWD\"/%s/split_b.cc -o b.o && $X a.o "
			 "b.o -o program && mkdir away && cp *.dwo away",
			 compiler, flags, fixture_source(), fixture_source())) {
		fixture_result(false, label, "%s could not build it", compiler);
		return;
	}

	unsigned truth = print_units("program", "truth", false, NULL);

	split_check(program, NULL, NULL, &report);
	snprintf(name, sizeof(name), "%s/check/there", label);
	fixture_result(truth == 2 && report.units == 2 && !report.missing, name,
		       "%u units, report %zu, missing %zu", truth, report.units, report.missing);
	if (!fixture_run("rm *.dwo"))
		exit(1);
	split_check(program, NULL, NULL, &report);
	snprintf(name, sizeof(name), "%s/check/gone", label);
	fixture_result(report.units == 2 && report.missing == 2 && strstr(report.example, ".dwo"),
		       name, "report %zu, missing %zu, '%s'", report.units, report.missing,
		       report.example);
	snprintf(name, sizeof(name), "%s/gone", label);
	fixture_result(!print_units("program", "gone", true, NULL), name,
		       "a unit came out of nothing");

	unsigned moved = print_units("program", "moved", true, dirs);

	snprintf(name, sizeof(name), "%s/moved", label);
	fixture_result(moved == 2 &&
			       fixture_run("test $(wc -l <truth) -gt 500 && diff truth moved"),
		       name, "%u units; see the difference", moved);
	if (!dwp || !fixture_have(dwp)) {
		snprintf(name, sizeof(name), "%s/dwp", label);
		fixture_skip(name, "no tool makes one of this");
		return;
	}
	if (!fixture_run("cp away/*.dwo . && %s -e program -o program.dwp && rm *.dwo", dwp)) {
		fixture_result(false, label, "%s failed", dwp);
		return;
	}
	snprintf(name, sizeof(name), "%s/dwp", label);
	truth = print_units("program", "packed", true, NULL);
	fixture_result(truth == 2 && fixture_run("diff truth packed"), name,
		       "%u units; see the difference", truth);
	split_check(program, NULL, NULL, &report);
	snprintf(name, sizeof(name), "%s/check/dwp", label);
	fixture_result(report.units == 2 && !report.missing && strstr(report.dwp, ".dwp") &&
			       !report.trouble,
		       name, "report %zu, missing %zu, '%s' %s", report.units, report.missing,
		       report.dwp, report.trouble ? report.trouble : "");
}

int main(void)
{
	fixture_begin();
	if (fixture_have("clang")) {
		test_variant("clang", "-g -gdwarf-5", "llvm-dwp", "clang/5");
		test_variant("clang", "-g -gdwarf-4", "llvm-dwp", "clang/4");
		test_variant("clang", "-g -gdwarf-5 -gz", NULL, "clang/5/compressed");
	} else {
		fixture_skip("clang", "not installed");
	}
	/* binutils 2.40's dwp crashes on gcc 12's DWARF 5, and llvm-dwp 14 doesn't end */
	test_variant("gcc", "-g -gdwarf-5", NULL, "gcc/5");
	test_variant("gcc", "-g -gdwarf-4", "dwp", "gcc/4");
	if (fixture_have("clang"))
		test_variant("clang", "-g -gdwarf-5 -fdebug-types-section", "llvm-dwp",
			     "clang/5/types");
	return fixture_end();
}
