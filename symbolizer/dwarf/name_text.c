/* SPDX-License-Identifier: Apache-2.0 */
/* name_text.c: see name_text.h. */
#include "name_text.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"

#define NAME_MAX_BYTES ((size_t)1 << 16)

void name_text_free(struct name_text *text)
{
	free(text->at);
	*text = (struct name_text){ 0 };
}

void name_text_add(struct name_text *text, const char *more, size_t bytes)
{
	if (bytes > NAME_MAX_BYTES - text->used)
		bytes = NAME_MAX_BYTES - text->used;
	if (text->used + bytes + 1 > text->room) {
		text->room = (text->used + bytes + 1) * 2 + 64;
		text->at = mem_resize(text->at, text->room, 1);
	}
	memcpy(text->at + text->used, more, bytes);
	text->used += bytes;
	text->at[text->used] = 0;
}

void name_text_put(struct name_text *text, const char *more)
{
	name_text_add(text, more, strlen(more));
}

void name_text_insert(struct name_text *text, size_t at, const char *more)
{
	size_t bytes = strlen(more), used = text->used;

	name_text_put(text, more);
	if (text->used != used + bytes)
		return;
	memmove(text->at + at + bytes, text->at + at, used - at);
	memcpy(text->at + at, more, bytes);
}

void name_text_cut(struct name_text *text, size_t used)
{
	text->used = used;
	if (text->at)
		text->at[used] = 0;
}

const char *name_text_string(const struct name_text *text)
{
	return text->at ? text->at : "";
}
