/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_alloc.h: the way in through PartitionAlloc's dispatch chain, and the answer to "who
 * owns malloc here?".
 *
 * Runs:      inside, in the constructor; its hooks afterwards, in place of the allocator's.
 * Signals:   the hooks: as the program's malloc.
 * Allocates: pages for a table or for stubs.
 * Threads:   attach: before there are others. Hooks: any.
 */
#ifndef SI_PARTITION_ALLOC_H
#define SI_PARTITION_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

#include "../patch/image.h"

/*
 * Decides how this program's allocations can be seen, and arranges it. `text` (`room` bytes) gets
 * the evidence, or the reason why nothing was hooked; it is never empty.
 */
enum shiny_attach si_partition_attach(char *const *environment, char *text, size_t room);

/*
 * True: we refused to hook the executable, but its malloc goes through a dispatch table. Its own
 * code then uses the table and not the exported functions, so patching those would show only a part
 * of its blocks.
 */
bool si_partition_seen(void);

/* The executable has control-flow integrity, as far as was seen: what it calls through pointers
 * must be its own. */
bool si_partition_checked(void);

/* ---- what attach consists of, for its test ---- */

struct si_entry;

/*
 * Decodes the entries, and if they all agree, puts our table in front. False: nothing was changed;
 * `text` says what disagreed. `observed`: there are observer hooks to be set, too
 * (partition_observe.h).
 */
bool si_partition_hook(const struct si_image *image, const struct si_entry *entries, bool observed,
		       char *text, size_t room);

#endif
