/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_file.h: keeps the file of a module open, so that its names can be had when the path leads
 * to it no longer, or never has: it is deleted, replaced, a memfd, or of another root.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_MODULE_FILE_H
#define SHINY_MODULE_FILE_H

#include <shiny/wire/wire.h>

#include "../state/session.h"

/*
 * Opens it, if `id` has no descriptor yet: the executable as its process or the copy that its
 * library left (SHINY_PROGRAM_PREFIX) has it, another one by its path, or among the process's open
 * files and mappings. Whether it is the right one is seen when it is read, by its build-id.
 */
void module_file_keep(struct session *session, const struct process *process,
		      const struct shiny_module *module, struct id_module *id);

#endif
