/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h: constants that boot finds out and every hook may need: how to record, which program
 * this is, which session it belongs to.
 *
 * Runs: inside. Set by boot before recording, constant afterwards. Signals: safe. Allocates:
 * nothing. Threads: any.
 */
#ifndef SI_SETTINGS_H
#define SI_SETTINGS_H

#include <shiny/wire/wire.h>

#include "base.h"

/* The values of SHINY_UNWIND, in the order of variables.def. */
enum si_unwind { SI_UNWIND_AUTO = 0, SI_UNWIND_FP = 1, SI_UNWIND_ROWS = 2, SI_UNWIND_CALLER = 3 };

enum { SI_DIRECTORY = 256 }; /* bytes of a session directory's path, with its NUL */

/* The settings that hooks read on every event, in one cache line. */
struct si_settings {
	uint32_t depth, free_depth;
	uint32_t types;
	uint32_t unwind; /* enum si_unwind */
};
SI_INTERNAL struct si_settings si_settings;

SI_INTERNAL char si_executable[SHINY_PATH_MAX];

/* A path below the library's own file, where no file can be. Empty: the library was loaded by a
 * name without a directory. */
SI_INTERNAL char si_library_below[SHINY_PATH_MAX];

/* "SHINY_SESSION=" and the directory, for our children; empty while nothing is recorded. */
SI_INTERNAL char si_session_variable[SI_DIRECTORY + 16];

#endif
