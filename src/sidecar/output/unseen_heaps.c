/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unseen_heaps.c: see unseen_heaps.h.
 *
 * An executable's allocator is recorded if the ring says that the library patched it, a shared
 * library's own functions if its module's record says so. Other files with an allocator have a
 * note. A file without symbols may have one that is not found.
 */
#include "unseen_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "../../../symbolizer/patch/allocator_names.h"
#include "../../../symbolizer/patch/allocator_patch.h"
#include "../../../symbolizer/probe/probe_executable.h"
#include "../../base/text.h"

static void put_unseen(struct output *output, char *note)
{
	output->noticed.unseen_heaps++;
	OUTPUT_PUT(output, store_put_note, 0, note);
	free(note);
}

static bool is_told_before(const struct rings *rings, size_t ring)
{
	const char *executable = rings->all.at[ring]->executable;

	for (size_t i = 0; i < ring; i++)
		if (strcmp(rings->all.at[i]->executable, executable) == 0)
			return true;
	return false;
}

static void look_at_executable(struct output *output, const struct ring_file *ring,
			       const struct engine_functions *engines)
{
	char name[ALLOCATOR_NAME];

	if (ring->attach == SHINY_ATTACH_NONE) /* the process's own line says why */
		output->noticed.unseen_heaps++;
	else if (strstr(ring->attach_text, "is not patched"))
		put_unseen(output, mem_format("%s: %s", ring->executable, ring->attach_text));
	else if (ring->attach == SHINY_ATTACH_SYMBOLS &&
		 !strstr(ring->attach_text, "own allocator patched") &&
		 allocator_names_one(ring->executable, true, NULL, 0, engines, name))
		put_unseen(output,
			   mem_format("%s: blocks of the allocator inside it (%s) were not "
				      "recorded: `shinyctl doctor --probe` of it, then the next "
				      "recording has them, or says why not",
				      ring->executable, name));
}

/* True if the function keeps types, and is none of an allocator. */
static bool is_about_types(const struct engine_functions *engines, const char *name)
{
	uint16_t bytes;
	const struct engine_function *function = engine_functions_find(engines, name, &bytes);

	return function && function->call.api >= SHINY_APIS;
}

/* Says why a library's functions were not recorded. One that was opened later is looked into now,
 * so that the next recording finds the recipes. */
static const char *why_unreached(const struct id_module *m, const char *path, const char *setting,
				 struct allocator_found *found)
{
	struct shiny_err *err = NULL;

	*found = (struct allocator_found){ .why = "" };
	if (strcmp(setting, "off") == 0)
		return "SHINY_ALLOCATOR=off";
	if (!m->late)
		return "its functions could not be reached";
	if (m->barred)
		return "its code could not be changed when it was opened (a seccomp filter, no "
		       "answer of the sidecar, or no room)";
	err = allocator_prepare(path, setting, found);
	shiny_err_free(err);
	return found->patches ? "it was opened when the program ran, and had not been looked into. "
				"It is now: the next recording has them"
	       : *found->why  ? found->why
			      : "it was opened when the program ran; with LD_PRELOAD of it they "
				"are";
}

static void look_at_library(struct output *output, const struct id_module *m, const char *setting,
			    const struct engine_functions *engines)
{
	char name[ALLOCATOR_NAME], path[ID_MODULE_PATH];
	struct allocator_found found;

	if (m->unreached &&
	    allocator_names_one(id_module_path(m, path), false, m->build_id, m->build_id_bytes,
				engines, name))
		put_unseen(output,
			   mem_format("%s: %s in it (%s) were not recorded: %s", m->path,
				      is_about_types(engines, name) ? "types of objects"
								    : "blocks of the allocator",
				      name, why_unreached(m, path, setting, &found)));
}

void unseen_heaps_find(const struct rings *rings, struct output *output)
{
	const char *setting = getenv("SHINY_ALLOCATOR") ?: "";
	struct engine_functions engines = { 0 };
	struct shiny_err *err = engine_functions_load(setting, &engines);

	if (err) { /* its file changed since the program started */
		shiny_err_free(err);
		shiny_err_free(engine_functions_load("", &engines));
	}
	for (size_t i = 0; i < rings->all.count; i++)
		if (!is_told_before(rings, i))
			look_at_executable(output, rings->all.at[i], &engines);
	for (size_t i = 0; i < output->ids.modules.count; i++)
		look_at_library(output, &output->ids.modules.at[i], setting, &engines);
	engine_functions_free(&engines);
}

bool unseen_heaps_probe(const struct rings *rings, struct output *output)
{
	bool any = false;

	for (size_t i = 0; i < rings->all.count; i++) {
		const struct ring_file *ring = rings->all.at[i];
		struct probe_options options = { 0 };
		struct probe probe;
		struct shiny_err *err;
		char *note;

		if (ring->attach != SHINY_ATTACH_PARTITION || strstr(ring->attach_text, "Oilpan"))
			continue;
		err = probe_open(ring->executable, &options, &probe);
		/* removed or unreadable: no note, as nothing is certain */
		if (err) {
			shiny_err_free(err);
			continue;
		}
		if (!probe.cached && probe.cache_path && probe.file->shape != SHINY_PROBE_NONE) {
			note = mem_format("%s: the objects of its garbage collector (Oilpan) were "
					  "not recorded, since it had not been probed. It is "
					  "now: the next recording has them",
					  ring->executable);
			OUTPUT_PUT(output, store_put_note, 0, note);
			free(note);
			any = true;
		}
		probe_close(&probe);
	}
	return any;
}
