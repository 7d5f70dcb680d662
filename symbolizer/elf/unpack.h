/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h: opens a file's DWARF, also if libelf can't unpack its sections.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the unpacked content of zstd sections; at most
 * UNPACK_MAX. Threads: one at a time.
 */
#ifndef SHINY_SYM_UNPACK_H
#define SHINY_SYM_UNPACK_H

#include <elfutils/libdw.h>

#define UNPACK_MAX ((size_t)1 << 30)

struct unpacked;

/* Like dwarf_begin(fd, DWARF_C_READ). `*out` is NULL unless something was unpacked; then it owns
 * the Dwarf. */
Dwarf *unpacked_begin(int fd, struct unpacked **out);

/* Ends the Dwarf. `unpacked` is what unpacked_begin() returned with it, or NULL. */
void unpacked_end(Dwarf *dwarf, struct unpacked *unpacked);

#endif
