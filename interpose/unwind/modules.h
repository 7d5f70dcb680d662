/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.h: which files are mapped where; where code is, and where vtables can be.
 *
 * Runs:      inside. `si_modules_update` in boot and after dlopen/dlclose, the questions on any
 *            event.
 * Signals:   the questions are safe; an update that interrupts an update leaves it the work.
 * Allocates: nothing: fixed tables, touched as used.
 * Threads:   one updater at a time; readers never wait (two copies, the older one is rebuilt).
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

/* Whether `pc` is in a module's code. */
SI_INTERNAL enum si_code si_module_code(uintptr_t pc);

/*
 * The same, and where the module's unwind information is. The bytes there may be read while the
 * module is sure to stay: it is SI_CODE_LASTING, or `pc` is an address to which this thread will
 * return.
 */
SI_INTERNAL enum si_code si_module_view(uintptr_t pc, struct si_cfi_view *view);

/* Starts at 1, and is another one after each change of what is loaded. Modulo 2^17: see
 * unwind.h. */
SI_INTERNAL uint64_t si_modules_generation;

struct si_writer;

/* Boot: the modules that are there. */
void si_modules_boot(const uintptr_t *fp);

/* Looks at the loaded modules again and writes MODULE and MODULE_GONE records, into `w`, which the
 * caller has entered, or else (NULL) into this thread's stream. `fp` as in record_event.h. */
SI_COLD void si_modules_update(const uintptr_t *fp, struct si_writer *w);

/* Set by the first dlopen, never cleared: a frame in no known module may be in a new one. */
SI_INTERNAL uint32_t si_modules_suspect;

/* A forked child: whoever was updating is not here. */
void si_modules_forget(void);

/* The build-id note of a mapped module, into `id` (SHINY_BUILD_ID_MAX bytes); its bytes, 0 none. */
struct dl_phdr_info;
uint16_t si_build_id(const struct dl_phdr_info *info, uint8_t *id);

/*
 * One after the other, the modules in namespaces of dlmopen's, which dl_iterate_phdr does not tell.
 * The end returns true if they are others than before; then an update is due.
 */
struct link_map;
void si_modules_elsewhere(const struct link_map *map);
bool si_modules_elsewhere_end(void);

/* Functions of the allocator in the module with this bias lead to us; before its record is
 * written. */
void si_modules_reached(uintptr_t bias);

/* The module that holds `address`: its lowest mapped address, or 0. */
uintptr_t si_module_start(uintptr_t address);

#endif
