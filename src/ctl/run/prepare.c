/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c: see prepare.h. */
#include "prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../symbolizer/patch/allocator_patch.h"
#include "../../../symbolizer/elf/cache_file.h"
#include "../../../symbolizer/patch/ctor_patch.h"
#include "../../../symbolizer/patch/observer_patch.h"
#include "../../../symbolizer/probe/probe_executable.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../env_table.h"

/*
 * Writes the file by which the library patches the entries of an allocator inside the file; it must
 * exist before the program starts. Programs that a script or the program itself starts
 * later are in the cache if they were started, or probed, before.
 */
static struct shiny_err *prepare_allocator(const char *path, const struct program_look *look)
{
	struct allocator_found found = {.why = ""};
	struct shiny_err *err = NULL;

	if (look->kind == PROGRAM_SCRIPT)
		path = look->interpreter;
	if ((look->kind == PROGRAM_ELF && look->malloc != PROGRAM_MALLOC_PARTITION) ||
	    look->kind == PROGRAM_SCRIPT || look->kind == PROGRAM_SHARED)
		err = allocator_prepare(path, env_text(ENV_SHINY_ALLOCATOR), &found);
	if (err && err->code == SHINY_ERR_USAGE)
		return err;
	if (err)
		text_line(stderr, "shinyctl: the allocator inside %s will not be recorded: %s",
			  path, err->message);
	else if (*found.why)
		text_line(stderr, "shinyctl: %s inside %s will not be recorded: %s",
			  found.patches ? "a part of the allocators" : "the allocator", path,
			  found.why);
	shiny_err_free(err);
	return NULL;
}

/* Writes the description of the garbage-collected heap, which the library reads when it starts. If
 * it is unknown, the end of the recording reports that. */
static void prepare_heap(const char *path)
{
	struct probe_options options = { 0 };
	struct probe probe;
	struct shiny_err *err = probe_open(path, &options, &probe);

	if (!err)
		probe_close(&probe);
	shiny_err_free(err);
}

/* Writes where to set PartitionAlloc's observer hooks, if it has symbols: the library sees Blink's
 * own partitions through them. */
static void prepare_observers(const char *path, const struct program_look *look,
			      const char *const *debug_dirs)
{
	const char *why;

	if (look->kind != PROGRAM_ELF || look->malloc != PROGRAM_MALLOC_PARTITION)
		return;
	observers_prepare(path, debug_dirs, &why);
	if (why)
		text_line(stderr,
			  "shinyctl: partitions of %s that are not malloc's will not be recorded: "
			  "%s",
			  path, why);
}

/* Prints the first few classes that are only partly seen, and the number of others. */
static void tell_unseen(const struct shiny_ctors_file *file)
{
	enum { SHOWN = 5 };
	unsigned count = 0;

	for (uint32_t i = 0; i < file->class_count; i++) {
		const struct shiny_ctors_class *c = &ctors_classes(file)[i];

		if (!c->unpatched && (!c->inlined || c->inlined == UINT32_MAX) && c->constructors)
			continue;
		if (count++ < SHOWN) {
			AUTO_FREE char *name = mem_format("%.*s", (int)c->name_bytes,
							  ctors_names(file) + c->name_at);
			AUTO_FREE char *plain = text_plain(name);

			fprintf(stderr, "%s%s",
				count == 1 ? "shinyctl: not all constructors and destructors will "
					     "be seen (inlined, or not to be patched) of "
					   : ", ",
				plain);
		}
	}
	if (count > SHOWN)
		fprintf(stderr, " and %s", units_noun(UNITS_NOUN_BUF, count - SHOWN, "more class"));
	if (count)
		fprintf(stderr, "; shinyctl objects says how many\n");
}

/* For SHINY_CTORS: finds what the library patches, once for each build. */
static struct shiny_err *prepare_constructors(const char *path, const struct program_look *look,
					      const char *const *debug_dirs)
{
	struct shiny_ctors_file *file = NULL;
	struct shiny_err *err = NULL;

	if (look->kind == PROGRAM_SCRIPT)
		path = look->interpreter;
	if (look->kind == PROGRAM_ELF || look->kind == PROGRAM_SCRIPT)
		err = ctors_prepare(path, env_text(ENV_SHINY_CTORS), debug_dirs, &file);
	if (err && err->code == SHINY_ERR_USAGE)
		return err;
	if (err)
		text_line(stderr, "shinyctl: constructors of %s will not be recorded: %s", path,
			  err->message);
	else if (file && *file->why)
		text_line(stderr, "shinyctl: SHINY_CTORS, of %s: %s", path, file->why);
	if (file)
		tell_unseen(file);
	free(file);
	shiny_err_free(err);
	return NULL;
}

struct shiny_err *prepare_program(const char *path, const struct program_look *look,
				  const char *const *debug_dirs)
{
	struct shiny_err *err = NULL;

	if (!program_obstacle(look))
		err = prepare_allocator(path, look);
	if (err)
		return err;
	if (look->kind == PROGRAM_ELF && look->malloc == PROGRAM_MALLOC_PARTITION)
		prepare_heap(path);
	prepare_observers(path, look, debug_dirs);
	return prepare_constructors(path, look, debug_dirs);
}

struct shiny_err *prepare_for_library(const char *path, const char *directory)
{
	struct program_look look;

	if (!cache_file_writable())
		setenv("XDG_CACHE_HOME", directory, 1);
	SHINY_TRY(program_look(path, &look));
	if (look.kind == PROGRAM_SHARED) { /* an engine's, loaded by the program */
		observers_prepare_library(path);
		return prepare_allocator(path, &look);
	}
	SHINY_TRY(prepare_program(path, &look, NULL));
	/* writes a file even if there is no heap, so that no start waits for it again */
	if (look.malloc == PROGRAM_MALLOC_OWN)
		prepare_heap(path);
	return NULL;
}
