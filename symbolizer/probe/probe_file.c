/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_file.c: see probe_file.h.
 *
 * A cached result says which code to change, so it is checked like hostile input: every position
 * and count is compared with the file's size once, here; readers of a result that passed may follow
 * its positions. The code at an entry is compared with the result before it is changed.
 */
#include "probe_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../elf/cache_file.h"

/* The head's checksum covers the head from here on. */
#define CHECKED offsetof(struct shiny_probe_file, version)

void probe_draft_init(struct probe_draft *draft)
{
	memset(draft, 0, sizeof(*draft));
	*vec_push(&draft->text) = 0;
	/* a valid value for readers, whatever is found */
	draft->head.index_limit = 1 << 14;
}

void probe_draft_deinit(struct probe_draft *draft)
{
	free(draft->recipes.at);
	free(draft->types.at);
	free(draft->notes.at);
	free(draft->text.at);
	memset(draft, 0, sizeof(*draft));
}

uint32_t probe_draft_text(struct probe_draft *draft, const char *text)
{
	uint32_t at = (uint32_t)draft->text.count;

	if (!*text)
		return 0;
	/* beyond the limit probe_draft_finish() refuses the file */
	if (draft->text.count > SHINY_PROBE_FILE_MAX)
		return 0;
	do
		*vec_push(&draft->text) = *text;
	while (*text++);
	return at;
}

void probe_draft_note(struct probe_draft *draft, const char *about,
		      enum shiny_probe_confidence confidence, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	*vec_push(&draft->notes) =
		(struct shiny_probe_note){ .about = probe_draft_text(draft, about),
					   .confidence = confidence,
					   .text = probe_draft_text(draft, text) };
}

void probe_draft_recipe(struct probe_draft *draft, const struct shiny_patch_recipe *recipe)
{
	struct shiny_probe_entry *entry = &draft->head.entries[draft->head.entry_count - 1];

	entry->recipe_at = (uint32_t)(sizeof(draft->head) + draft->recipes.count * sizeof(*recipe));
	entry->recipe_bytes = sizeof(*recipe);
	*vec_push(&draft->recipes) = *recipe;
}

struct shiny_probe_file *probe_draft_finish(struct probe_draft *draft)
{
	struct shiny_probe_file *head = &draft->head;
	size_t recipes = draft->recipes.count * sizeof(*draft->recipes.at),
	       types = draft->types.count * sizeof(*draft->types.at);
	size_t notes = draft->notes.count * sizeof(*draft->notes.at);
	size_t types_at = sizeof(*head) + recipes, notes_at = types_at + types,
	       text_at = notes_at + notes;
	size_t bytes = text_at + draft->text.count;
	uint8_t *out;

	_Static_assert(sizeof(struct shiny_probe_file) % 8 == 0 &&
			       sizeof(struct shiny_patch_recipe) % 8 == 0,
		       "rows are aligned");
	if (bytes > SHINY_PROBE_FILE_MAX)
		return NULL;
	head->magic = SHINY_PROBE_MAGIC;
	head->version = SHINY_PROBE_VERSION;
	head->head_bytes = (uint32_t)types_at;
	head->file_bytes = bytes;
	head->types_at = types_at;
	head->notes_at = notes_at;
	head->text_at = text_at;
	head->type_count = (uint32_t)draft->types.count;
	head->note_count = (uint32_t)draft->notes.count;
	head->text_bytes = (uint32_t)draft->text.count;
	out = mem_alloc(bytes);
	if (recipes)
		memcpy(out + sizeof(*head), draft->recipes.at, recipes);
	if (types)
		memcpy(out + types_at, draft->types.at, types);
	if (notes)
		memcpy(out + notes_at, draft->notes.at, notes);
	memcpy(out + text_at, draft->text.at, draft->text.count);
	head->body_checksum = XXH3_64bits(out + types_at, bytes - types_at);
	memcpy(out, head, sizeof(*head));
	head->head_checksum = XXH3_64bits(out + CHECKED, types_at - CHECKED);
	memcpy(out, head, sizeof(*head));
	return (struct shiny_probe_file *)(void *)out;
}

/* True if `count` rows of `each` bytes at `at` lie in the body. */
static bool inside(const struct shiny_probe_file *file, uint64_t at, uint64_t count, size_t each)
{
	return at >= file->head_bytes && at <= file->file_bytes && at % 8 == 0 &&
	       count <= (file->file_bytes - at) / each;
}

static bool entries_good(const struct shiny_probe_file *file)
{
	for (uint32_t i = 0; i < file->entry_count; i++) {
		const struct shiny_probe_entry *e = &file->entries[i];

		if (e->confidence > SHINY_PROBE_EXACT || e->code_bytes > SHINY_PROBE_CODE ||
		    e->kind < SHINY_PROBE_ALLOCATE || e->kind >= SHINY_PROBE_KINDS)
			return false;
		if (e->recipe_bytes && (e->recipe_bytes != sizeof(struct shiny_patch_recipe) ||
					e->recipe_at % 8 || e->recipe_at < sizeof(*file) ||
					e->recipe_at > file->head_bytes - e->recipe_bytes))
			return false;
	}
	for (uint32_t i = 0; i < file->slot_count; i++)
		if (file->slots[i].entry >= file->text_bytes)
			return false;
	return true;
}

bool probe_file_good(const struct shiny_probe_file *file, size_t bytes, const uint8_t *build_id,
		     size_t build_id_bytes)
{
	const uint8_t *at = (const uint8_t *)file;
	const struct shiny_probe_type *types;
	const struct shiny_probe_note *notes;

	if (bytes < sizeof(*file) || file->magic != SHINY_PROBE_MAGIC ||
	    file->version != SHINY_PROBE_VERSION || file->file_bytes != bytes ||
	    file->head_bytes < sizeof(*file) || file->head_bytes > bytes ||
	    file->head_bytes > SHINY_PROBE_HEAD_MAX || file->build_id_bytes != build_id_bytes ||
	    build_id_bytes > SHINY_PROBE_BUILD_ID ||
	    memcmp(file->build_id, build_id, build_id_bytes))
		return false;
	if (XXH3_64bits(at + CHECKED, file->head_bytes - CHECKED) != file->head_checksum ||
	    XXH3_64bits(at + file->head_bytes, bytes - file->head_bytes) != file->body_checksum)
		return false;
	if (!inside(file, file->types_at, file->type_count, sizeof(*types)) ||
	    !inside(file, file->notes_at, file->note_count, sizeof(*notes)) ||
	    !inside(file, file->text_at, file->text_bytes, 1) || !file->text_bytes ||
	    at[file->text_at + file->text_bytes - 1] || file->shape > SHINY_PROBE_REGISTERED ||
	    file->shape_confidence > SHINY_PROBE_EXACT ||
	    file->header_confidence > SHINY_PROBE_EXACT ||
	    file->chain_confidence > SHINY_PROBE_EXACT || file->entry_count > SHINY_PROBE_ENTRIES ||
	    file->slot_count > SHINY_PROBE_SLOTS || !entries_good(file))
		return false;
	types = (const struct shiny_probe_type *)(const void *)(at + file->types_at);
	for (uint32_t i = 0; i < file->type_count; i++)
		if (types[i].name >= file->text_bytes || types[i].naming > SHINY_PROBE_NAME_CLASS ||
		    types[i].confidence > SHINY_PROBE_EXACT)
			return false;
	notes = (const struct shiny_probe_note *)(const void *)(at + file->notes_at);
	for (uint32_t i = 0; i < file->note_count; i++)
		if (notes[i].about >= file->text_bytes || notes[i].text >= file->text_bytes ||
		    notes[i].confidence > SHINY_PROBE_EXACT)
			return false;
	return true;
}

struct shiny_probe_file *probe_file_load(const char *path, const uint8_t *build_id,
					 size_t build_id_bytes)
{
	size_t bytes;
	struct shiny_probe_file *file =
		cache_file_read(path, sizeof(*file), SHINY_PROBE_FILE_MAX, &bytes);

	if (file && probe_file_good(file, bytes, build_id, build_id_bytes))
		return file;
	free(file);
	return NULL;
}
