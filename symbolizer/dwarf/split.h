/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.h: finds the split unit of a skeleton unit, in a .dwp or in a .dwo that libdw doesn't find
 * by itself.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, about the size of the requested units. Threads:
 * one at a time.
 */
#ifndef SHINY_SYM_SPLIT_H
#define SHINY_SYM_SPLIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

struct split;

/*
 * `dwarf_path` is the file with the skeletons, `path` the module's file (NULL or the same if that
 * has them). Opens no file yet.
 */
struct split *split_create(const char *dwarf_path, const char *path, const char *const *debug_dirs);

/* Closes every unit that split_unit() returned. Call it before dwarf_end() of the skeletons' Dwarf.
 * Accepts NULL. */
void split_destroy(struct split *split);

/*
 * Finds the split unit of a skeleton if libdw does not (dwarf_cu_info gives an empty DIE). `out` is
 * the unit's DIE with the content; its addresses and names are readable as usual. False: there is
 * none.
 */
bool split_unit(struct split *split, Dwarf_Die *skeleton, Dwarf_Die *out);

/* True if the unit is in a file with several .debug_info.dwo sections, of which libdw reads one. */
bool split_in_pieces(Dwarf_Die *unit);

/* Summary of a file's skeletons that lack their split unit. */
struct split_report {
	size_t units;   /* skeletons */
	size_t missing; /* skeletons without their split unit */
	char example[256]; /* a missing .dwo */
	char dwp[256];     /* path of an existing .dwp; "": none */
	const char *trouble; /* reason why that .dwp can't be used; NULL: it can */
};
void split_check(const char *dwarf_path, const char *path, const char *const *debug_dirs,
		 struct split_report *out);

#endif
