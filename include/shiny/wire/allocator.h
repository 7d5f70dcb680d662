/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator.h: the recipe file by which the constructor patches the entries of allocators that no
 * preloaded name reaches: those inside an executable, and an engine's own heap in a library. There
 * is one file for each build-id, written outside before the program starts.
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
#include "wire.h"

#define SHINY_ALLOCATOR_MAGIC UINT64_C(0x31636f6c416e7953) /* "SynAloc1" */
/* incremented with the format, with allocator.def, and when recipes are computed differently; the
 * suffix ends with it */
#define SHINY_ALLOCATOR_VERSION 11
#define SHINY_ALLOCATOR_SUFFIX ".allocator11"

enum {
	SHINY_ALLOCATOR_ENTRIES = 192,
	SHINY_ALLOCATOR_SETTING = 256,
	SHINY_ALLOCATOR_FAMILIES = 8,
	SHINY_ALLOCATOR_PREFIX = 24,
	SHINY_ALLOCATOR_NAME = 112, /* bytes of a function's name with its zero */
	SHINY_ALLOCATOR_BUILD_ID = 64,
	SHINY_ALLOCATOR_WHY = 160,
};

enum shiny_allocator_function {
#define SHINY_ALLOCATOR(id, name, kind, block, size, count, api) SHINY_ALLOCATOR_##id,
#include "allocator.def"
	SHINY_ALLOCATOR_FUNCTIONS
};

enum shiny_call_kind { /* as in allocator.def */
	SHINY_CALL_MAKE,
	SHINY_CALL_MAKE_OUT,
	SHINY_CALL_MAKE_AT,
	SHINY_CALL_MAKE_TEXT,
	SHINY_CALL_MAKE_SIZED,
	SHINY_CALL_END,
	SHINY_CALL_END_LIST,
	SHINY_CALL_MOVE,
	SHINY_CALL_MOVE_OUT,
	SHINY_CALL_MOVE_AT,
	SHINY_CALL_RESIZE,
	SHINY_CALL_USABLE,
	SHINY_CALL_DROP,
	SHINY_CALL_DROP_ALL,
	SHINY_CALL_TYPE_NAME,
	SHINY_CALL_TYPED,
	SHINY_CALL_ASIDE,
	SHINY_CALL_NAMED,
	SHINY_CALL_POOL_MAKE,
	SHINY_CALL_POOL_MAKE_OUT,
	SHINY_CALL_POOL_CHANGE,
	SHINY_CALL_POOL_EMPTY,
	SHINY_CALL_POOL_CHILDREN,
	SHINY_CALL_POOL_RESET,
	SHINY_CALL_POOL_END,
	SHINY_CALL_KINDS
};
enum {
	SHINY_CALL_ARGUMENTS = 6,
	SHINY_CALL_VARIABLE = 0xfd,
	SHINY_CALL_ONE = 0xfe,
	SHINY_CALL_NO = 0xff
};

/* Says what a function does, as a row of allocator.def or of the user's file. */
struct shiny_allocator_call {
	uint8_t kind; /* enum shiny_call_kind */
	uint8_t block, size, count, plus; /* numbers of arguments; SHINY_CALL_NO: none. `plus` may
	                                   * be SHINY_CALL_ONE */
	uint8_t api;    /* enum shiny_api; or SHINY_APIS and enum shiny_run_time */
	uint16_t bytes; /* the size of all its blocks, where it has no argument for it; 0: none */
	uint8_t pool, parent, title; /* of the second level, as in allocator.def: numbers of
	                              * arguments, SHINY_CALL_NO: none. `pool` may be
	                              * SHINY_CALL_VARIABLE */
	uint8_t type; /* the argument that is the key of its block's type, or the name */
};

/* Roles of a function in its family: makes a block of the size in argument 0; ends the block in
 * argument 0. */
enum { SHINY_ALLOCATOR_MAKES = 1, SHINY_ALLOCATOR_ENDS = 2 };

/* A function to patch; aliases share one entry. */
struct shiny_allocator_entry {
	char name[SHINY_ALLOCATOR_NAME];
	struct shiny_allocator_call call;
	uint16_t family; /* of its blocks: mi_malloc may be malloc by another name; below
	                  * SHINY_ALLOCATOR_FAMILIES */
	uint16_t roles;
	uint32_t of_operator; /* 1: it is an operator of the language */
	uint64_t variable;    /* address in the file of the variable that points to the pool; 0:
	                       * none */
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
	uint64_t setting_time; /* st_mtim in ns of the file that it names; 0: none */
	char why[SHINY_ALLOCATOR_WHY]; /* names the functions left out, and why; "": none */
};

enum {
	SHINY_ALLOCATOR_FILE_MAX = sizeof(struct shiny_allocator_file) +
				   SHINY_ALLOCATOR_ENTRIES * sizeof(struct shiny_allocator_entry)
};

#endif
