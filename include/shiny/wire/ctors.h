/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctors.h: the recipe file by which the constructor patches the entries of constructors and
 * destructors. There is one file for each build-id and setting of SHINY_CTORS, written outside
 * before the program starts.
 *
 * Runs: both. Signals: reading only. Allocates: nothing. Threads: any.
 *
 * The file is $XDG_CACHE_HOME/shiny/probe/BUILD-ID.ctors-HASH, where HASH is the 16 hex digits of
 * XXH3_64bits of the setting. It lies beside the probe's (probe.h), has mode 0600, and is replaced
 * as a whole by rename. Numbers have the machine's byte order:
 *
 *   struct shiny_ctors_file
 *   struct shiny_ctors_class [class_count]
 *   struct shiny_ctors_entry [entry_count]    by address
 *   names of the classes, one behind the other
 */
#ifndef SHINY_CTORS_H
#define SHINY_CTORS_H

#include <stddef.h>
#include <stdint.h>

#include "patch.h"

#define SHINY_CTORS_MAGIC UINT64_C(0x31736f7443796853) /* "ShyCtos1" */
#define SHINY_CTORS_SUFFIX ".ctors-"                    /* 16 hex digits follow */

enum {
	SHINY_CTORS_VERSION = 2, /* incremented with the format, and when recipes are computed
	                          * differently */
	SHINY_CTORS_ENTRIES = 8192,
	SHINY_CTORS_CLASSES = 8192,
	SHINY_CTORS_NAME = 1000, /* bytes of a class's name; longer ones are cut */
	SHINY_CTORS_NAMES = 4 << 20,
	SHINY_CTORS_BUILD_ID = 64,
	SHINY_CTORS_WHY = 160,
};

struct shiny_ctors_class {
	uint32_t name_at, name_bytes; /* position in the names, and length */
	uint32_t bytes;               /* sizeof, 0: unknown */
	uint32_t constructors, destructors; /* number of patched entries of each */
	uint32_t unpatched;           /* entries that can't be patched, or are a compiler's copies
	                               * with other arguments */
	uint32_t inlined;             /* places where a constructor was inlined: objects constructed
	                               * there are not seen. UINT32_MAX: unknown */
	uint32_t reserved;
};

struct shiny_ctors_entry {
	uint32_t class; /* index */
	uint32_t destroys; /* 1: a destructor's entry */
	struct shiny_patch_recipe recipe;
};

struct shiny_ctors_file {
	uint64_t magic;
	uint64_t checksum; /* XXH3_64bits of what follows, from `version` to the end of the file */
	uint32_t version, bytes; /* of the whole file */
	uint32_t class_count, entry_count, name_bytes, build_id_bytes;
	uint64_t setting; /* XXH3_64bits of the setting of SHINY_CTORS */
	uint8_t build_id[SHINY_CTORS_BUILD_ID];
	char why[SHINY_CTORS_WHY]; /* why nothing, or not everything, is patched; "": no reason */
};

enum {
	SHINY_CTORS_FILE_MAX = sizeof(struct shiny_ctors_file) +
			       SHINY_CTORS_CLASSES * sizeof(struct shiny_ctors_class) +
			       SHINY_CTORS_ENTRIES * sizeof(struct shiny_ctors_entry) +
			       SHINY_CTORS_NAMES,
};
_Static_assert(sizeof(struct shiny_ctors_class) == 32 && sizeof(struct shiny_ctors_entry) == 192 &&
		       sizeof(struct shiny_ctors_file) % 8 == 0,
	       "the same on both sides");

#endif
