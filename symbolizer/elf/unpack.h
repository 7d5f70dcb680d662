/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack.h: opens a file's DWARF, also where libelf can't unpack its sections.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: what is packed with zstd, unpacked; at most
 * UNPACK_MAX. Threads: one at a time.
 */
#ifndef SHINY_SYM_UNPACK_H
#define SHINY_SYM_UNPACK_H

#include <elfutils/libdw.h>

#define UNPACK_MAX ((size_t)1 << 30)

struct unpacked;

/* As dwarf_begin(fd, DWARF_C_READ). `*out` is NULL unless something was unpacked; then it owns the
 * Dwarf. */
Dwarf *unpacked_begin(int fd, struct unpacked **out);

/* Ends the Dwarf that unpacked_begin() gave with it. */
void unpacked_end(Dwarf *dwarf, struct unpacked *unpacked);

#endif
