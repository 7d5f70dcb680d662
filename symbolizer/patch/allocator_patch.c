/* SPDX-License-Identifier: Apache-2.0 */
/* allocator_patch.c: see allocator_patch.h. */
#include "allocator_patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "../elf/binary.h"
#include "../elf/cache_file.h"
#include "allocator_recipes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t checksum_of(const struct shiny_allocator_file *f)
{
	return XXH3_64bits((const char *)f + offsetof(struct shiny_allocator_file, version),
			   f->bytes - offsetof(struct shiny_allocator_file, version));
}

static unsigned count_patches(const struct shiny_allocator_file *f)
{
	const struct shiny_allocator_entry *entries = (const struct shiny_allocator_entry *)(f + 1);
	unsigned patches = 0;

	for (uint32_t i = 0; i < f->count; i++)
		patches += entries[i].call.kind != SHINY_CALL_USABLE &&
			   entries[i].call.kind != SHINY_CALL_ASIDE;
	return patches;
}

/* Returns the cache file, malloc'ed, if it is valid for this build and setting; else NULL. */
static struct shiny_allocator_file *read_cached(const char *path, const struct binary *file,
						const char *setting, uint64_t setting_time)
{
	size_t bytes;
	AUTO_FREE struct shiny_allocator_file *f =
		cache_file_read(path, sizeof(*f), SHINY_ALLOCATOR_FILE_MAX, &bytes);

	if (!f || f->magic != SHINY_ALLOCATOR_MAGIC || f->version != SHINY_ALLOCATOR_VERSION ||
	    f->bytes != bytes || f->count > SHINY_ALLOCATOR_ENTRIES ||
	    bytes != sizeof(*f) + f->count * sizeof(struct shiny_allocator_entry) ||
	    f->build_id_bytes != file->build_id_bytes ||
	    memcmp(f->build_id, file->build_id, file->build_id_bytes) != 0 ||
	    strncmp(f->setting, setting, sizeof(f->setting)) != 0 ||
	    f->setting_time != setting_time ||
	    !memchr(f->why, 0, sizeof(f->why)) || checksum_of(f) != f->checksum)
		return NULL;
	return shiny_steal(f);
}

static struct shiny_err *prepare(const struct binary *file, const char *setting,
				 const struct engine_functions *engines,
				 struct allocator_found *out)
{
	AUTO_FREE char *path = cache_file_path(NULL, "probe", file->build_id, file->build_id_bytes,
					       SHINY_ALLOCATOR_SUFFIX);
	AUTO_FREE struct shiny_allocator_file *f =
		path ? read_cached(path, file, setting, engines->time) : NULL;

	out->cached = f;
	if (!f) {
		SHINY_TRY(allocator_recipes(file, setting, engines, &f));
		f->checksum = checksum_of(f);
	}
	if (path)
		snprintf(out->path, sizeof(out->path), "%s", path);
	out->patches = count_patches(f);
	snprintf(out->why, sizeof(out->why), "%s", f->why);
	out->present = out->patches || *out->why;
	if (out->present && !path) {
		out->patches = 0;
		snprintf(out->why, sizeof(out->why), "%s",
			 file->build_id_bytes < CACHE_FILE_ID_MIN
				 ? "the executable has no build-id, by which the library would "
				   "know it"
				 : "there is no place of your own for what the library is to know");
	}
	/* a file without patches tells the library not to look again: losing it costs time only */
	if (path && !out->cached && !cache_file_write(path, f, f->bytes) && out->present)
		return shiny_err_os(errno, "cannot write %s", path);
	return NULL;
}

struct shiny_err *allocator_prepare(const char *path, const char *setting,
				    struct allocator_found *out)
{
	SHINY_CLEANUP(engine_functions_free) struct engine_functions engines = { 0 };
	struct binary file;
	struct shiny_err *err;

	memset(out, 0, sizeof(*out));
	if (strcmp(setting, "off") == 0) /* the cache file stays for when it is on again */
		return NULL;
	SHINY_TRY(engine_functions_load(setting, &engines));
	switch (binary_open(&file, path)) {
	case BINARY_OK: break;
	case BINARY_MISSING: return shiny_err_os(errno ? errno : ENOENT, "cannot read %s", path);
	case BINARY_NOT_ELF: return NULL;
	}
	err = prepare(&file, setting, &engines, out);
	binary_close(&file);
	return err;
}
