/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h: what readers have worked out of a session and want to find again (store_keep), until its
 * store is closed.
 *
 * Runs: CLI. Signals: no. Allocates: 32 bytes an entry; the values are their owners'. Threads: one
 * a list.
 */
#ifndef SHINY_STORE_KEPT_H
#define SHINY_STORE_KEPT_H

struct kept; /* a list; NULL: empty */

/* NULL: nothing is kept there. */
void *kept_find(const struct kept *kept, const void *key);
struct kept *kept_add(struct kept *kept, const void *key, void *value, void (*destroy)(void *));
void kept_free(struct kept *kept);

#endif
