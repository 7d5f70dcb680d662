/* SPDX-License-Identifier: Apache-2.0 */
/* ids.c: see ids.h. */
#include "ids.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/hash.h"
#include "../../base/hash_bytes.h"
#include "../../base/text.h"

void ids_deinit(struct ids *ids)
{
	for (size_t i = 0; i < ids->modules.count; i++) {
		free(ids->modules.at[i].path);
		if (ids->modules.at[i].file >= 0)
			close(ids->modules.at[i].file);
	}
	for (size_t i = 0; i < ids->given.count; i++)
		free(ids->given.at[i].name);
	free(ids->given.at);
	hash_table_deinit(&ids->given_table);
	free(ids->modules.at);
	free(ids->frames.at);
	free(ids->vtables.at);
	free(ids->stacks.at);
	free(ids->stack_frames.at);
	hash_table_deinit(&ids->frame_table);
	hash_table_deinit(&ids->vtable_table);
	hash_table_deinit(&ids->stack_table);
	*ids = (struct ids){ 0 };
}

const char *id_module_path(const struct id_module *module, char out[ID_MODULE_PATH])
{
	struct stat at, open;
	bool elsewhere = module->file >= 0 && !fstat(module->file, &open) &&
			 (stat(module->path, &at) || at.st_dev != open.st_dev ||
			  at.st_ino != open.st_ino);

	if (elsewhere)
		snprintf(out, ID_MODULE_PATH, "/proc/self/fd/%d", module->file);
	else
		snprintf(out, ID_MODULE_PATH, "%s", module->path);
	return out;
}

uint32_t ids_module(struct ids *ids, const char *path, const uint8_t *build_id,
		    uint32_t build_id_bytes)
{
	struct id_module *m;

	for (size_t i = 0; i < ids->modules.count; i++) {
		m = &ids->modules.at[i];
		if (m->build_id_bytes == build_id_bytes &&
		    !memcmp(m->build_id, build_id, build_id_bytes) && !strcmp(m->path, path))
			return (uint32_t)i + 1;
	}
	m = vec_push(&ids->modules);
	*m = (struct id_module){
		.path = mem_text(path),
		.build_id_bytes = build_id_bytes,
		.file = -1,
		.ours = !strcmp(text_base(path), "libshiny.so"),
	};
	memcpy(m->build_id, build_id, build_id_bytes);
	return (uint32_t)ids->modules.count;
}

static bool same_place(const struct id_place *a, const struct id_place *b)
{
	return a->module == b->module && a->vaddr == b->vaddr && a->kind == b->kind;
}

uint32_t ids_frame(struct ids *ids, uint32_t module, uint64_t vaddr)
{
	struct id_place place = { .module = module, .vaddr = vaddr };
	uint64_t hash = hash_keys(module, vaddr);
	uint32_t at = hash_table_find(&ids->frame_table, hash, i,
				      same_place(&ids->frames.at[i], &place));

	if (at == HASH_NONE) {
		at = (uint32_t)ids->frames.count;
		*vec_push(&ids->frames) = place;
		hash_table_add(&ids->frame_table, hash, at);
	}
	return at + 1;
}

uint32_t ids_vtable(struct ids *ids, uint32_t module, uint64_t vaddr, bool kind)
{
	struct id_place place = { .module = module, .kind = kind, .vaddr = vaddr };
	uint64_t hash = hash_keys(module, vaddr);
	uint32_t at = hash_table_find(&ids->vtable_table, hash, i,
				      same_place(&ids->vtables.at[i], &place));

	if (at == HASH_NONE) {
		at = (uint32_t)ids->vtables.count;
		*vec_push(&ids->vtables) = place;
		hash_table_add(&ids->vtable_table, hash, at);
	}
	return at + 1;
}

uint32_t ids_given(struct ids *ids, unsigned source, const char *name)
{
	uint64_t hash = hash_keys(hash_bytes(name, strlen(name)), source);
	uint32_t at = hash_table_find(&ids->given_table, hash, i,
				      ids->given.at[i].source == source &&
					      !strcmp(ids->given.at[i].name, name));

	if (at == HASH_NONE) {
		at = (uint32_t)ids->given.count;
		*vec_push(&ids->vtables) = (struct id_place){ .given = true, .vaddr = at };
		*vec_push(&ids->given) = (struct id_given){ mem_text(name),
							    (uint32_t)ids->vtables.count,
							    (uint8_t)source };
		hash_table_add(&ids->given_table, hash, at);
	}
	return ids->given.at[at].vtable;
}

static uint64_t hash_frames(const uint32_t *frames, uint32_t count)
{
	uint64_t hash = hash_seed ^ count;

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15), hash ^= hash >> 29;
	return hash_mix(hash);
}

static bool same_stack(const struct ids *ids, const struct id_stack *stack, const uint32_t *frames,
		       uint32_t count)
{
	return stack->count == count &&
	       !memcmp(&ids->stack_frames.at[stack->first], frames, count * sizeof(*frames));
}

uint32_t ids_stack(struct ids *ids, const uint32_t *frames, uint32_t count)
{
	uint64_t hash = hash_frames(frames, count);
	uint32_t at = hash_table_find(&ids->stack_table, hash, i,
				      same_stack(ids, &ids->stacks.at[i], frames, count));
	struct id_stack stack = { (uint32_t)ids->stack_frames.count, count };

	if (at == HASH_NONE) {
		at = (uint32_t)ids->stacks.count;
		*vec_push(&ids->stacks) = stack;
		for (uint32_t i = 0; i < count; i++)
			*vec_push(&ids->stack_frames) = frames[i];
		hash_table_add(&ids->stack_table, hash, at);
	}
	return at + 1;
}
