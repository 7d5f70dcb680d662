/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition_alloc.h: hooks PartitionAlloc's dispatch chain, and decides who owns malloc in this
 * program.
 *
 * Runs: inside, in the constructor; its hooks afterwards, in place of the allocator's. Signals: the
 * hooks: as the program's malloc. Allocates: pages for a table or for stubs. Threads: attach:
 * before there are others, but in a program that runs already. Hooks: any.
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
 * the evidence, or the reason why nothing was hooked; it is never empty. In a program that runs
 * already (late.h) a dispatch chain is only looked at.
 */
enum shiny_attach si_partition_attach(char *const *environment, char *text, size_t room);

/* Puts our table in front of the chain that was looked at, if any, while other threads run. False:
 * nothing was changed, and `why` says why. */
bool si_partition_enter(struct si_text *why);
/* Takes the table out of the chain again. */
void si_partition_leave(void);

/*
 * True if the executable was not hooked although its malloc goes through a dispatch table. Its own
 * code then uses the table and not the exported functions, so patching those would show only some
 * of its blocks.
 */
bool si_partition_seen(void);

/* True if control-flow integrity was seen in the executable: functions that it calls through
 * pointers must be its own. */
bool si_partition_checked(void);

/* ---- the parts of attach, for its test ---- */

struct si_entry;

/*
 * Decodes the entries, and if they all agree, puts our table in front. `observed`: observer hooks
 * will be set, too (partition_observe.h). False: nothing was changed; `text` says what disagreed.
 */
bool si_partition_hook(const struct si_image *image, const struct si_entry *entries, bool observed,
		       char *text, size_t room);

#endif
