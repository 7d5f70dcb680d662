/* SPDX-License-Identifier: Apache-2.0 */
/* apply_map.c: see apply_map.h. */
#define _GNU_SOURCE
#include "apply_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../proc/errands.h"
#include "../proc/proc.h"
#include "../vm/mappings.h"
#include "apply_event.h"
#include "apply_object.h"
#include "module_file.h"

struct path_inquiry {
	struct errand errand;
	uint32_t pid;
	uint64_t address;
	char path[SHINY_PATH_MAX + 1];
};

static void read_mapped(struct errand *errand)
{
	struct path_inquiry *mapped = (struct path_inquiry *)errand;

	proc_mapped_path(mapped->pid, mapped->address, mapped->path, sizeof(mapped->path));
}

/* Replaces a path that the process could only guess by the one of /proc, if that answers in
 * time. */
static void ask_path(struct errands *errands, uint32_t pid, uint64_t address,
		     char path[SHINY_PATH_MAX + 1])
{
	struct path_inquiry *mapped = mem_zero(1, sizeof(*mapped));

	mapped->errand = (struct errand){ .run = read_mapped, .end = errand_drop };
	mapped->pid = pid;
	mapped->address = address;
	strcpy(mapped->path, path);
	if (!errands_do(errands, &mapped->errand))
		return;
	strcpy(path, mapped->path);
	free(mapped);
}

void apply_module(struct errands *errands, struct output *output, struct stream *s)
{
	struct {
		struct shiny_module module;
		char path[SHINY_PATH_MAX + 1];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in.module) + SHINY_PATH_MAX),
	       path_bytes = in.module.path_bytes;
	struct mapping mapping;
	struct id_module *id;

	if (path_bytes > bytes - sizeof(in.module) ||
	    in.module.build_id_bytes > SHINY_BUILD_ID_MAX || in.module.start >= in.module.end) {
		s->process->noticed.bad_records++;
		return;
	}
	in.path[path_bytes] = '\0';
	if (in.module.flags & SHINY_MODULE_GUESSED && s->process->pid && !s->process->gone)
		ask_path(errands, s->process->pid, in.module.start, in.path);
	mapping = (struct mapping){ .start = in.module.start,
				    .end = in.module.end,
				    .bias = in.module.bias,
				    .loaded = s->head.time,
				    .module = ids_module(&output->ids, in.path, in.module.build_id,
							 in.module.build_id_bytes) };
	id = &output->ids.modules.at[mapping.module - 1];
	if (!(in.module.flags & (SHINY_MODULE_REACHED | SHINY_MODULE_MAIN))) {
		id->unreached = true;
		id->late |= in.module.flags & SHINY_MODULE_LATE;
		id->barred |= in.module.flags & SHINY_MODULE_BARRED;
	}
	module_file_keep(output, s->process, &in.module, id);
	space_add(&s->process->space, &mapping);
}

/* True if the call discarded the contents of its range. */
static bool releases(const struct shiny_map *map, unsigned call)
{
	switch (call) {
	case SHINY_MAP_MUNMAP:
		return true;
	case SHINY_MAP_MADVISE:
		return map->prot == MADV_DONTNEED || map->prot == MADV_FREE ||
		       map->prot == MADV_REMOVE;
	case SHINY_MAP_MMAP:
		return map->flags & MAP_FIXED;
	default:
		return false;
	}
}

void apply_map(struct mappings_watch *watch, struct output *output, struct stream *s)
{
	struct shiny_map map;
	struct event *e;

	decode_payload(&s->head, &map, sizeof(map));
	e = apply_emit(output, s, apply_ns(output, s), EVENT_MAP);
	e->address = map.address;
	e->size = map.bytes;
	e->old_address = map.old_address;
	e->stack = apply_stack_id(s, s->head.stack);
	mappings_call(watch, s->process, &map, s->head.api, e->stack, s->head.time);
	if (releases(&map, s->head.api))
		apply_released(output, s, map.address, map.address + map.bytes);
}
