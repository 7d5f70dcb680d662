/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owners.h: finds the owner of a memory segment by the rules of owners.def.
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_OWNERS_H
#define SHINY_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_FRAMES = 4 };

/* The known facts about a segment. NULL or false: not so, or unknown. */
struct owner_facts {
	uint64_t start, bytes;
	bool own, blocks, call, seen, tls;
	unsigned heap; /* enum shiny_api of a heap beside malloc with blocks in it; 0: none */
	const char *name, *file, *thread;
	const char *module;                  /* path of the ELF module that it is a part of */
	const char *callers[OWNER_FRAMES];   /* paths of the modules of the mapping call's frames */
	const char *functions[OWNER_FRAMES]; /* names of their functions */
};

/* Returns the number of the owner, by the row of owners.def that decides. *detail: the part of the
 * owner's memory that it is, in words; points into the facts, or to a constant. */
unsigned owners_find(const struct owner_facts *facts, const char **detail);
const char *owners_name(unsigned owner);

#endif
