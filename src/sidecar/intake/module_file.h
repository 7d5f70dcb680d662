/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_file.h: keeps the file of a module open, so that its names can be read even if the path
 * does not lead to it: it is deleted, replaced, a memfd, or in another root directory.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_MODULE_FILE_H
#define SHINY_MODULE_FILE_H

#include <shiny/wire/wire.h>

#include "../state/output.h"

/*
 * Opens the file, if `id` has no descriptor yet: the executable by its process or as the copy that
 * the library left (SHINY_PROGRAM_PREFIX); another module by its path, or among the process's open
 * files and mappings. The reader checks by the build-id that it is the right one.
 */
void module_file_keep(struct output *output, const struct process *process,
		      const struct shiny_module *module, struct id_module *id);

#endif
