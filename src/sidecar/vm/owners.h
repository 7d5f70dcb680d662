/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owners.h: the owner of a memory segment: the rules of owners.def applied to what is known about
 * it.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_OWNERS_H
#define SHINY_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_FRAMES = 4 };

/* NULL: not so, or not known. */
struct owner_facts {
	uint64_t start, bytes;
	bool own, blocks, call, seen, tls;
	const char *name, *file, *thread;
	const char *module;                  /* path of the ELF module that it is a part of */
	const char *callers[OWNER_FRAMES];   /* paths of the modules of the mapping call's frames */
	const char *functions[OWNER_FRAMES]; /* and their functions */
};

/* The row of owners.def that decides, and in words what of the owner's it is (into the facts, or a
 * constant). */
unsigned owners_find(const struct owner_facts *facts, const char **detail);
const char *owners_name(unsigned row);

#endif
