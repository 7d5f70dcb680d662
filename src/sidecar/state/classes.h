/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.h: the session's ids of classes whose constructors and destructors are recorded.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_CLASSES_H
#define SHINY_CLASSES_H

#include <stdbool.h>

#include <shiny/wire/wire.h>

#include "../../base/hash_table.h"
#include "../../base/mem.h"

/* A class of the session; processes of one executable share it. */
struct class {
	uint32_t module;
	char *name;
	struct shiny_class of; /* its index is that of the first process that defined it */
};
struct classes { /* zeroed: none; element i has id i + 1 */
	VEC(struct class) list;
	struct hash_table table;
};

void classes_deinit(struct classes *classes);
/* Returns the class's id, adding it if necessary. `name` has class->name_bytes bytes. */
uint32_t classes_id(struct classes *classes, uint32_t module, const struct shiny_class *class,
		    const char *name);

#endif
