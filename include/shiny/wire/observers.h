/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observers.h: the file that says where an executable's PartitionAllocHooks::SetObserverHooks is.
 * There is one file for each build-id, written outside from symbols before the program starts, and
 * read by the constructor.
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

enum { SHINY_OBSERVERS_VERSION = 1, SHINY_OBSERVERS_CODE = 32, SHINY_OBSERVERS_BUILD_ID = 64 };

enum shiny_observers_form {
	SHINY_OBSERVERS_NONE, /* the executable has no such function, or it may not be used */
#define SHINY_OBSERVERS(name, symbol, variable, form, evidence) SHINY_OBSERVERS_##name,
#include "observers.def"
#undef SHINY_OBSERVERS
	SHINY_OBSERVERS_FORMS
};

struct shiny_observers_file {
	uint64_t magic;
	uint32_t version, form; /* enum shiny_observers_form */
	uint64_t set;           /* address of the function in the file */
	uint32_t set_bytes, build_id_bytes;
	uint8_t build_id[SHINY_OBSERVERS_BUILD_ID];
	uint8_t code[SHINY_OBSERVERS_CODE]; /* the function's first bytes */
};

#endif
