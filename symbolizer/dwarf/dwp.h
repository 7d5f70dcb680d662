/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dwp.h: finds a split unit's pieces in a .dwp or a .dwo.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the unpacked content of compressed sections. Threads:
 * one at a time.
 */
#ifndef SHINY_SYM_DWP_H
#define SHINY_SYM_DWP_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../elf/binary.h"

enum dwp_part {
	DWP_INFO,
	DWP_ABBREV,
	DWP_LINE,
	DWP_LOC,
	DWP_LOCLISTS,
	DWP_STR_OFFSETS,
	DWP_RNGLISTS,
	DWP_STR,
	DWP_PARTS
};

/* Pieces of a file's sections, valid until the file is closed; data is NULL if there is none. */
struct dwp_parts {
	struct binary_bytes at[DWP_PARTS];
};

/* One .debug_cu_index or .debug_tu_index. */
struct dwp_index {
	const uint8_t *slots, *rows, *offsets, *sizes;
	uint32_t slot_count, row_count, column_count;
	int column[DWP_PARTS]; /* -1: none */
};

struct dwp {
	int fd;
	Elf *elf; /* NULL: closed */
	struct dwp_parts whole;
	struct dwp_index units, types; /* row_count 0: absent, as in a .dwo */
};

#define DWP_MISSING "missing"

/* Opens a .dwp or a .dwo. Returns NULL, DWP_MISSING, or the reason why the file can't be used. */
const char *dwp_open(struct dwp *dwp, const char *path);
void dwp_close(struct dwp *dwp);

/* Finds the pieces of the unit `id`; of a .dwo these are its whole sections. */
bool dwp_find(const struct dwp *dwp, uint64_t id, struct dwp_parts *out);

/*
 * Returns the .debug_info of the next type unit from the same .dwo as `unit` (it shares the
 * abbreviations); data is NULL after the last. `*at` starts as 0.
 */
struct binary_bytes dwp_type_unit(const struct dwp *dwp, const struct dwp_parts *unit, size_t *at);

#endif
