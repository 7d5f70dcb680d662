/* SPDX-License-Identifier: Apache-2.0 */
/* allocator_names.c: see allocator_names.h. */
#include "allocator_names.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "../elf/binary.h"

struct allocator_sight {
	bool executable, make, end;
	const struct engine_functions *engines;
	char *name; /* "": none yet */
};

/* Names that suffice by themselves. `library`: not in an executable, whose own operators may call
 * malloc, and whose CPython is always reached. */
static const struct { const char *name; bool library;
} telling[] = {
	{ "mallocx", false },	      { "je_malloc", false },	      { "tc_malloc", false },
	{ "mi_malloc", false },	      { "_rjem_malloc", false },      { "scalable_malloc", false },
	{ "rpmalloc", false },	      { "sn_malloc", false },	      { "moz_arena_malloc", false },
	{ "GC_malloc", false },	      { "__alloc_token_malloc", true },
	{ "_Znwm12__hot_cold_t", true },
	{ "__size_returning_new", true }, { "PyMem_SetAllocator", true },
};

static void see_function(void *context, const char *name, const Elf64_Sym *symbol)
{
	struct allocator_sight *sight = context;
	bool exported = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
			ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;

	const struct engine_function *engine;
	uint16_t bytes;

	if (*sight->name)
		return;
	engine = engine_functions_find(sight->engines, name, &bytes);
	if (engine && engine->call.kind != SHINY_CALL_ASIDE &&
	    engine_functions_shows(sight->engines, engine))
		snprintf(sight->name, ALLOCATOR_NAME, "%s", name);
	for (size_t i = 0; i < sizeof(telling) / sizeof(*telling); i++)
		if (strcmp(name, telling[i].name) == 0 &&
		    !(telling[i].library && sight->executable))
			snprintf(sight->name, ALLOCATOR_NAME, "%s", name);
	if (sight->executable || !exported) {
		sight->make |= strcmp(name, "malloc") == 0;
		sight->end |= strcmp(name, "free") == 0;
	}
}

bool allocator_names_one(const char *path, bool executable, const uint8_t *build_id,
			 size_t build_id_bytes, const struct engine_functions *engines,
			 char name[ALLOCATOR_NAME])
{
	struct allocator_sight sight = { .executable = executable,
					 .engines = engines,
					 .name = name };
	struct binary file;

	*name = '\0';
	if (binary_open(&file, path) != BINARY_OK)
		return false;
	if (!build_id_bytes || (file.build_id_bytes == build_id_bytes &&
				memcmp(file.build_id, build_id, build_id_bytes) == 0)) {
		binary_each_function(&file, SHT_SYMTAB, see_function, &sight);
		binary_each_function(&file, SHT_DYNSYM, see_function, &sight);
	}
	if (!*name && sight.make && sight.end)
		snprintf(name, ALLOCATOR_NAME, "malloc");
	binary_close(&file);
	return *name;
}
