/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h: the recipe file by which the constructor patches the entries of an allocator that
 * lives inside an executable. There is one file for each build-id, written outside before the
 * program starts.
 *
 * Runs: both. Signals: reading only. Allocates: nothing. Threads: any.
 *
 * The file is $XDG_CACHE_HOME/shiny/probe/BUILD-ID.allocatorN, beside the probe's (probe.h), mode
 * 0600. N is the version: files of other versions are ignored. It is replaced as a whole by rename.
 * Numbers have the machine's byte order: struct shiny_allocator_file, then `count` struct
 * shiny_allocator_entry. A file without entries says that there is nothing to patch; `why` says
 * why. Its reader makes the checks that probe.h lists, and compares the bytes in memory before each
 * patch.
 */
#ifndef SHINY_ALLOCATOR_H
#define SHINY_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include "patch.h"

#define SHINY_ALLOCATOR_MAGIC UINT64_C(0x31636f6c416e7953) /* "SynAloc1" */
/* incremented with the format, with allocator.def, and when recipes are computed differently; the
 * suffix ends with it */
#define SHINY_ALLOCATOR_VERSION 6
#define SHINY_ALLOCATOR_SUFFIX ".allocator6"

enum {
	SHINY_ALLOCATOR_ENTRIES = 192,
	SHINY_ALLOCATOR_SETTING = 64,
	SHINY_ALLOCATOR_FAMILIES = 8,
	SHINY_ALLOCATOR_PREFIX = 24,
	SHINY_ALLOCATOR_BUILD_ID = 64,
	SHINY_ALLOCATOR_WHY = 160,
};

enum shiny_allocator_function {
#define SHINY_ALLOCATOR(id, name, kind, block, size, count, api) SHINY_ALLOCATOR_##id,
#include "allocator.def"
	SHINY_ALLOCATOR_FUNCTIONS
};

/* A function to patch; aliases share one entry. */
struct shiny_allocator_entry {
	uint16_t function; /* enum shiny_allocator_function */
	uint16_t family;   /* index of its prefix */
	uint16_t home;     /* index of the prefix whose malloc and free serve its blocks: mi_malloc
	                    * may be malloc by another name */
	uint16_t either;   /* 1: operator new and malloc, or delete and free, are this one
	                    * function */
	struct shiny_patch_recipe recipe; /* if it is not patched: vaddr and expected bytes only */
};

struct shiny_allocator_file {
	uint64_t magic;
	uint64_t checksum; /* XXH3_64bits of what follows, from `version` to the end of the file */
	uint32_t version, bytes; /* of the whole file */
	uint32_t count, build_id_bytes;
	uint8_t build_id[SHINY_ALLOCATOR_BUILD_ID];
	char setting[SHINY_ALLOCATOR_SETTING]; /* the value of the variable SHINY_ALLOCATOR when the
	                                        * file was written */
	/* the prefixes; the first one is "" */
	char families[SHINY_ALLOCATOR_FAMILIES][SHINY_ALLOCATOR_PREFIX];
	char why[SHINY_ALLOCATOR_WHY]; /* names the functions left out, and why; "": none */
};

enum {
	SHINY_ALLOCATOR_FILE_MAX = sizeof(struct shiny_allocator_file) +
				   SHINY_ALLOCATOR_ENTRIES * sizeof(struct shiny_allocator_entry)
};

#endif
