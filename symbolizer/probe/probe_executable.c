/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_executable.c: see probe_executable.h.
 *
 * A stripped executable of 300 MB has two heaps of its own without any symbols. Everything about
 * them is read from its code, in modules that each answer one question:
 *
 *     probe_sweep       which instructions name an address in a range? (bytes compared, nothing
 *                       decoded)
 *     probe_eval        which values do registers hold along a path: constants, arguments, the
 *                       index of a type?
 *     probe_walk        all ways through a small function, with its arguments as symbols
 *     probe_sites       which calls get the index of a type, and which register one?
 *     probe_entries     does a function create objects, or register types, by its own code?
 *     probe_names       which name does a name callback, or a class's virtual function, return?
 *     probe_vtables     which vtable do the objects of a site get?
 *     probe_types       types: names, sizes, sites
 *     probe_oilpan      all of Oilpan, in both shapes
 *     probe_near        the code around the functions that create objects, which the following
 *                       search
 *     probe_free        where does the sweeper put dead objects?
 *     probe_move        how does the compactor move live objects?
 *     probe_explicit    how does a program resize and free objects itself?
 *     probe_partition   the head of PartitionAlloc's dispatch chain
 *     probe_checked     allocations that bypass the chain
 *     probe_file        the result as a file
 *
 * All follow one rule: a count or a pattern makes a candidate, and a candidate is believed for what
 * its code does, not for its place. The users of a result (interpose/chromium/oilpan.c, checked.c)
 * accept entries that are at least "high", and compare their bytes again in memory. The recording
 * names types by their index, or by the address of the variable that holds it; object_kind.c looks
 * the name up in the result.
 *
 * Cost on Debian's Chromium 156 (`doctor --probe --again`, 2 processors): 0.95 s of CPU time, with
 * 84 MB of memory at the most, of which 10 MB are not the file's own pages. From the cache: 1 ms.
 */
#include "probe_executable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/cleanup.h"
#include "../elf/cache_file.h"
#include "../elf/binary.h"
#include "probe_checked.h"
#include "probe_explicit.h"
#include "probe_free.h"
#include "probe_file.h"
#include "probe_move.h"
#include "probe_oilpan.h"
#include "probe_partition.h"
#include "../elf/reloc.h"

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct shiny_probe_file *look(const struct binary *file)
{
	struct shiny_probe_file *result;
	struct probe_draft draft;
	struct reloc_index relocs;

	probe_draft_init(&draft);
	reloc_index_init(&relocs, file);
	if (file->build_id_bytes <= SHINY_PROBE_BUILD_ID) {
		draft.head.build_id_bytes = (uint32_t)file->build_id_bytes;
		memcpy(draft.head.build_id, file->build_id, file->build_id_bytes);
	}
	if (!draft.head.build_id_bytes)
		probe_draft_note(
			&draft, "build-id", SHINY_PROBE_UNKNOWN,
			"the file has none: nothing can be kept of it, or found again inside");
	probe_oilpan(file, &relocs, &draft);
	probe_free(file, &draft);
	probe_move(file, &relocs, &draft);
	probe_explicit(file, &draft);
	probe_partition(file, &relocs, &draft);
	probe_checked(file, &relocs, &draft);
	result = probe_draft_finish(&draft);
	reloc_index_deinit(&relocs);
	probe_draft_deinit(&draft);
	return result;
}

struct shiny_err *probe_open(const char *path, const struct probe_options *options,
			     struct probe *out)
{
	struct probe probe = { .ns = now() };
	struct binary file;

	switch (binary_open(&file, path)) {
	case BINARY_OK: break;
	case BINARY_MISSING: return shiny_err_os(errno, "cannot open %s", path);
	case BINARY_NOT_ELF:
		return shiny_err(SHINY_ERR_OTHER, "%s is not an x86-64 ELF file", path);
	}
	if (!options->no_cache)
		probe.cache_path = cache_file_path(options->cache_dir, "probe", file.build_id,
						   file.build_id_bytes, "");
	if (probe.cache_path && !options->again)
		probe.file = probe_file_load(probe.cache_path, file.build_id, file.build_id_bytes);
	probe.cached = probe.file != NULL;
	if (!probe.file) {
		probe.file = look(&file);
		if (probe.file && probe.cache_path)
			cache_file_write(probe.cache_path, probe.file, probe.file->file_bytes);
	}
	binary_close(&file);
	if (!probe.file) {
		free(probe.cache_path);
		return shiny_err(SHINY_ERR_OTHER,
				 "%s: what there is to say about it is larger than %d MiB", path,
				 SHINY_PROBE_FILE_MAX >> 20);
	}
	probe.ns = now() - probe.ns;
	*out = probe;
	return NULL;
}

void probe_close(struct probe *probe)
{
	free(probe->file);
	free(probe->cache_path);
	memset(probe, 0, sizeof(*probe));
}

static const void *part(const struct probe *probe, uint64_t at)
{
	return (const uint8_t *)probe->file + at;
}

const char *probe_text(const struct probe *probe, uint32_t at)
{
	return (const char *)part(probe, probe->file->text_at) + at;
}

const struct shiny_probe_type *probe_types(const struct probe *probe)
{
	return part(probe, probe->file->types_at);
}

const struct shiny_probe_note *probe_notes(const struct probe *probe)
{
	return part(probe, probe->file->notes_at);
}

const struct shiny_probe_type *probe_type(const struct probe *probe, uint64_t index_or_info)
{
	const struct shiny_probe_type *types = probe_types(probe);
	size_t low;
	bool by_index = probe->file->shape == SHINY_PROBE_SECTION;

	low = lower_bound(probe->file->type_count, i,
			  (by_index ? types[i].index : types[i].info) < index_or_info);
	return low < probe->file->type_count &&
			       (by_index ? types[low].index : types[low].info) == index_or_info
		       ? &types[low]
		       : NULL;
}

const char *probe_confidence_name(enum shiny_probe_confidence confidence)
{
	static const char *const names[] = { [SHINY_PROBE_UNKNOWN] = "unknown",
					     [SHINY_PROBE_LOW] = "low",
					     [SHINY_PROBE_MEDIUM] = "medium",
					     [SHINY_PROBE_HIGH] = "high",
					     [SHINY_PROBE_EXACT] = "exact" };

	return names[confidence];
}
