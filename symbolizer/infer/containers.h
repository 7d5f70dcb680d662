/* SPDX-License-Identifier: Apache-2.0 */
/*
 * containers.h: allocators, containers and wrappers by name: the table containers.rules, and users'
 * own.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: read-only after loading.
 */
#ifndef SHINY_SYM_CONTAINERS_H
#define SHINY_SYM_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../src/base/err.h"

enum container_what {
	CONTAINER_ALLOCATOR, /* its element is the block's type; the container around it may know
	                      * better */
	CONTAINER_CONTAINER, /* the container's storage; its element wins over the allocator's */
	CONTAINER_MAKER,     /* creates one object: make_unique<T> */
	CONTAINER_THROUGH,   /* passes an allocation on; the function around it decides */
	CONTAINER_WRAPPER,   /* a C allocation function: xmalloc, g_malloc */
	CONTAINER_FUNCTION,  /* a library function with a known result: strdup returns chars */
	CONTAINER_TAKER,     /* a library function; the blocks it gets hold this element only */
	CONTAINER_NAME,      /* the name that users of a container know it by; applies beside one of
	                      * the others */
};

/* Relation of a block's size to the element's. */
enum container_shape {
	CONTAINER_MANY, /* any number of elements after the header */
	CONTAINER_ONE,  /* one element */
	CONTAINER_NODE, /* one element, a container's node */
	CONTAINER_LOOSE /* elements and other things: any size */
};

struct container_rule {
	enum container_what what;
	enum container_shape shape;
	const char *path;    /* pattern of die_function_path() of the frame; "*" stands for any
	                      * text */
	const char *element; /* see containers.rules; | separates alternatives; NULL: none */
	unsigned header;
};

struct container_rules;

/* Loads `path`'s lines (NULL: none), then the built-in table. An invalid line is an error that
 * gives the line and the reason. */
SHINY_MUST_CHECK struct shiny_err *container_rules_load(const char *path,
							struct container_rules **out);
void container_rules_free(struct container_rules *rules); /* accepts NULL */

/* Returns the first matching rule that is neither a taker nor a name; NULL: none. */
const struct container_rule *container_rules_find(const struct container_rules *rules,
						  const char *function_path);
/* Returns the first matching taker; NULL: none. */
const struct container_rule *container_rules_find_taker(const struct container_rules *rules,
							const char *function_path);
/* Returns the first matching name; NULL: none. */
const struct container_rule *container_rules_find_name(const struct container_rules *rules,
						       const char *function_path);

/* Returns the pattern of the user's wrapper or function rule number `index`; NULL: there are no
 * more. */
const char *container_rules_wrapper(const struct container_rules *rules, size_t index);

/* Returns the hash of all lines. It is part of a cache key: other rules give other answers. */
uint64_t container_rules_hash(const struct container_rules *rules);

#endif
