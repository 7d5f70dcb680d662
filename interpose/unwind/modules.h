/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h: tells which files are mapped, where code is, and where vtables can be.
 *
 * Runs: inside. `si_modules_update` in boot and after dlopen/dlclose, the questions on any
 *            event.
 * Signals: the questions are safe; an update that interrupts an update leaves it the work.
 * Allocates: nothing: fixed tables, touched as used. Threads: one updater at a time; readers never
 * wait (two copies, the older one is rebuilt).
 */
#ifndef SI_MODULES_H
#define SI_MODULES_H

#include "../core/base.h"
#include "cfi.h"

enum si_code {
	SI_CODE_NONE = 0,
	SI_CODE_PASSING = 1, /* in a module that dlclose may unmap */
	SI_CODE_LASTING = 2, /* in a module that was there at boot: its bytes may be read */
};

/* Tells whether `pc` is in a module's code. */
SI_INTERNAL enum si_code si_module_code(uintptr_t pc);

/*
 * Does the same, and finds the module's unwind information. Its bytes may be read while the module
 * is sure to stay: it is SI_CODE_LASTING, or `pc` is an address to which this thread will return.
 */
SI_INTERNAL enum si_code si_module_view(uintptr_t pc, struct si_cfi_view *view);

/* Starts at 1, and changes with the loaded modules. Modulo 2^17: see rows.h. */
SI_INTERNAL uint64_t si_modules_generation;

struct si_writer;

/* Records the modules that are loaded at boot. */
void si_modules_boot(const uintptr_t *fp);

/* Looks at the loaded modules again and writes MODULE and MODULE_GONE records, into `w`, which the
 * caller has entered, or else (NULL) into this thread's stream. `fp` as in record_event.h. */
SI_COLD void si_modules_update(const uintptr_t *fp, struct si_writer *w);

/* Set by the first dlopen, never cleared: a frame in no known module may be in a new one. */
SI_INTERNAL uint32_t si_modules_suspect;

/* Resets the lock in a forked child, which lacks the thread that was updating. */
void si_modules_forget(void);

/* Copies the build-id of a mapped module to `id` (SHINY_BUILD_ID_MAX bytes); returns its bytes, 0:
 * none. */
struct dl_phdr_info;
uint16_t si_build_id(const struct dl_phdr_info *info, uint8_t *id);

/*
 * Called for each module in namespaces of dlmopen's, which dl_iterate_phdr does not report. The end
 * returns true if they have changed; then an update is due.
 */
struct link_map;
void si_modules_elsewhere(const struct link_map *map);
bool si_modules_elsewhere_end(void);

/* Reads the program headers of such a module. False: it has none that can be read. */
enum { SI_MODULE_PARTS = 16 };
bool si_modules_header(const struct link_map *map, struct dl_phdr_info *info);

/* Adds SHINY_MODULE_ flags to the record of the module with this bias; called before that is
 * written. 0: forgets those of a module that was there before. */
void si_modules_note(uintptr_t bias, uint32_t flags);

/* Returns the lowest mapped address of the module that holds `address`, or 0. */
uintptr_t si_module_start(uintptr_t address);

#endif
