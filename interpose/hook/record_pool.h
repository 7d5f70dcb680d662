/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_pool.h: the functions by which hooks report events of the second level: pools, and the
 * objects in them. They are never in the nursery, as a pool ends without naming its objects.
 *
 * Runs: inside. Signals: safe. Allocates: nothing. Threads: any. errno is not touched. `fp` as in
 * record_event.h.
 */
#ifndef SI_RECORD_POOL_H
#define SI_RECORD_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <shiny/wire/wire.h>

struct si_writer;

/* Records a new object in `pool`, 0: not told. Call it after the real function. */
void si_pool_alloc(const uintptr_t *fp, uintptr_t pool, void *object, size_t size, unsigned api);
/* Records an end. Call it before the real function. */
void si_pool_free(const uintptr_t *fp, void *object, unsigned api);
/* Record a move, before and after the real function. `begun` is what the first one returned;
 * `object` NULL: it failed. */
struct si_writer *si_pool_move_begin(const uintptr_t *fp, void *object, size_t size, unsigned api);
void si_pool_move_done(const uintptr_t *fp, struct si_writer *begun, void *object, size_t size,
		       unsigned api);
/* Records that a pool was made or changed, even while recording is off. `name` may be NULL, and is
 * left out where it cannot be read safely. */
void si_pool_is(const uintptr_t *fp, const struct shiny_pool *pool, const char *name,
		unsigned api);
/* Records that objects of a pool are about to end; `what`: enum shiny_pool_end. */
void si_pool_ends(const uintptr_t *fp, uintptr_t pool, unsigned what, unsigned api);

#endif
