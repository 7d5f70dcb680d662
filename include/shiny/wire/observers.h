/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observers.h: the file that says where an executable's PartitionAllocHooks::SetObserverHooks is,
 * or a library's variables that it would set. There is one file for each build-id, written outside
 * before the program starts, from symbols, or from a library's code; the constructor reads it.
 *
 * Runs: both. Signals: reading only. Allocates: nothing. Threads: any.
 *
 * The file is $XDG_CACHE_HOME/shiny/probe/BUILD-ID.observers, beside the probe's (probe.h), mode
 * 0600, replaced as a whole by rename. Its reader makes the checks that probe.h lists, and compares
 * the function's code in memory with `code`.
 */
#ifndef SHINY_OBSERVERS_H
#define SHINY_OBSERVERS_H

#include <stdint.h>

#define SHINY_OBSERVERS_MAGIC UINT64_C(0x3172736276624f53) /* "SObvbsr1" */
#define SHINY_OBSERVERS_SUFFIX ".observers"

enum { SHINY_OBSERVERS_VERSION = 2, SHINY_OBSERVERS_CODE = 32, SHINY_OBSERVERS_BUILD_ID = 64,
       SHINY_OBSERVERS_STORES = 2 };

enum shiny_observers_form {
	SHINY_OBSERVERS_NONE, /* the executable has no such function, or it may not be used */
#define SHINY_OBSERVERS(name, symbol, variable, form, evidence) SHINY_OBSERVERS_##name,
#include "observers.def"
#undef SHINY_OBSERVERS
	/* a library: its hooks, of form PLAIN, are stored in its variables */
	SHINY_OBSERVERS_STORED,
	SHINY_OBSERVERS_FORMS
};

/* The variables of one PartitionAlloc, by addresses in the file. */
struct shiny_observers_stored {
	uint64_t function; /* the one that reads `allocated`; 0: none */
	uint64_t allocated, freed; /* of pointers to functions */
	uint64_t enabled;          /* of a byte: whether there are hooks */
	uint64_t set;              /* SetObserverHooks; 0: the library has none */
	/* the first bytes of both functions, and what follows them */
	uint8_t code[SHINY_OBSERVERS_CODE], set_code[SHINY_OBSERVERS_CODE];
};

struct shiny_observers_file {
	uint64_t magic;
	uint32_t version, form; /* enum shiny_observers_form */
	uint64_t set;           /* address of the function in the file */
	uint32_t set_bytes, build_id_bytes;
	uint8_t build_id[SHINY_OBSERVERS_BUILD_ID];
	uint8_t code[SHINY_OBSERVERS_CODE]; /* the function's first bytes */
	struct shiny_observers_stored stored[SHINY_OBSERVERS_STORES]; /* form STORED alone */
};

#endif
