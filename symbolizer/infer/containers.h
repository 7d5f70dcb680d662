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
	CONTAINER_ALLOCATOR, /* its element is what is allocated, and the container around it is to
	                      * be asked */
	CONTAINER_CONTAINER, /* storage of this container; the element wins over the allocator's */
	CONTAINER_MAKER,     /* makes one object: make_unique<T> */
	CONTAINER_THROUGH,   /* passes an allocation on: not a place to stop */
	CONTAINER_WRAPPER,   /* a C allocation function: xmalloc, g_malloc */
	CONTAINER_FUNCTION,  /* a library function with a known result: strdup makes chars */
	CONTAINER_TAKER,     /* a library function that gets pointers to this only */
	CONTAINER_NAME,      /* what the container is called by those who use it: beside one of the
	                      * others */
};

/* How a block's size follows from the element's. */
enum container_shape {
	CONTAINER_MANY, /* any number of elements behind the header */
	CONTAINER_ONE,  /* one */
	CONTAINER_NODE, /* one, a node of a container */
	CONTAINER_LOOSE /* elements and other things: the size says nothing */
};

struct container_rule {
	enum container_what what;
	enum container_shape shape;
	const char *path;    /* die_function_path() of the frame; "*" stands for any text */
	const char *element; /* see containers.rules; NULL: none. Alternatives are separated by | */
	unsigned header;
};

struct container_rules;

/* The built-in table, then `path`'s lines in front of it (NULL: none). A wrong line is an error
 * that says which and why. */
SHINY_MUST_CHECK struct shiny_err *container_rules_load(const char *path,
							struct container_rules **out);
void container_rules_free(struct container_rules *rules); /* accepts NULL */

/* The first rule that matches, other than takers and names; NULL none. */
const struct container_rule *container_rules_find(const struct container_rules *rules,
						  const char *function_path);
/* The first taker that matches; NULL none. */
const struct container_rule *container_rules_find_taker(const struct container_rules *rules,
							const char *function_path);
/* The first name that matches; NULL none. */
const struct container_rule *container_rules_find_name(const struct container_rules *rules,
						       const char *function_path);

/* The user's rule number `index` of functions that allocate for their caller; NULL: no more. */
const char *container_rules_wrapper(const struct container_rules *rules, size_t index);

/* "*" in the pattern stands for any text. */
bool container_rules_match(const char *pattern, const char *text);

/* The hash of all lines: it is part of a cache key, as other rules give other answers. */
uint64_t container_rules_hash(const struct container_rules *rules);

size_t container_rules_count(const struct container_rules *rules);

#endif
