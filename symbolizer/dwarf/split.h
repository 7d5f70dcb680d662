/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h: the other half of a skeleton unit, from a .dwp or from a .dwo that libdw doesn't find by
 * itself.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, about the size of the units that were asked for.
 * Threads: one at a time.
 */
#ifndef SHINY_SYM_SPLIT_H
#define SHINY_SYM_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

struct split;

/*
 * `dwarf_path` is the file with the skeletons, `path` the module's file (NULL or the same where
 * that has them). Opens nothing until it is asked.
 */
struct split *split_create(const char *dwarf_path, const char *path, const char *const *debug_dirs);

/* Closes every unit that was handed out. Call it before dwarf_end() of the Dwarf that the skeletons
 * came from. Accepts NULL. */
void split_destroy(struct split *split);

/*
 * Finds the split unit of a skeleton where libdw does not (dwarf_cu_info gives an empty DIE). `out`
 * is the unit's DIE with the content; its addresses and names can be read as usual. False: there is
 * none.
 */
bool split_unit(struct split *split, Dwarf_Die *skeleton, Dwarf_Die *out);

/* Is the unit in a file with several .debug_info.dwo sections, of which libdw reads one? */
bool split_in_pieces(Dwarf_Die *unit);

/* What a file's skeletons lack. */
struct split_report {
	size_t units;   /* skeletons */
	size_t missing; /* skeletons without their other half */
	char example[256]; /* a missing .dwo */
	char dwp[256];     /* a .dwp that is there, "" none */
	const char *trouble; /* why that .dwp cannot be used; NULL: it can */
};
void split_check(const char *dwarf_path, const char *path, const char *const *debug_dirs,
		 struct split_report *out);

#endif
