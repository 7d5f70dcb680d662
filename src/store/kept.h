/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h: data that readers derive from a session and cache (store_keep) until its store is closed.
 *
 * Runs: CLI. Signals: no. Allocates: 32 bytes an entry; each entry has a function that frees its
 * value. Threads: one a list.
 */
#ifndef SHINY_STORE_KEPT_H
#define SHINY_STORE_KEPT_H

struct kept; /* a list; NULL: empty */

/* Returns the value of a key; NULL: there is none. */
void *kept_find(const struct kept *kept, const void *key);
struct kept *kept_add(struct kept *kept, const void *key, void *value, void (*destroy)(void *));
void kept_free(struct kept *kept);

#endif
