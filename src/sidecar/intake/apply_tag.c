/* SPDX-License-Identifier: Apache-2.0 */
/* apply_tag.c: see apply_tag.h. */
#include "apply_tag.h"

#include <string.h>

#include "apply_event.h"

void apply_tag(struct stream *s)
{
	s->tag = s->head.size ? indices_get(&s->process->tags, s->head.size) : 0;
	if (s->head.size && !s->tag)
		s->process->noticed.unnamed_tags++;
}

/* Reads the name in the payload at the head and terminates it. False: it is malformed. */
static bool read_name(const struct stream *s, uint32_t *index, char name[SHINY_TAG_NAME_MAX + 1])
{
	struct {
		struct shiny_tag tag;
		char name[SHINY_TAG_NAME_MAX];
	} in;
	size_t bytes = decode_payload(&s->head, &in, sizeof(in));

	if (!in.tag.name_bytes || in.tag.name_bytes > bytes - sizeof(in.tag) ||
	    memchr(in.name, 0, in.tag.name_bytes)) {
		s->process->noticed.bad_records++;
		return false;
	}
	*index = in.tag.index;
	memcpy(name, in.name, in.tag.name_bytes);
	name[in.tag.name_bytes] = '\0';
	return true;
}

void apply_tag_name(struct output *output, struct stream *s)
{
	char name[SHINY_TAG_NAME_MAX + 1];
	uint32_t index;

	if (read_name(s, &index, name) &&
	    (!index || !indices_set(&s->process->tags, index, output_tag(output, name))))
		s->process->noticed.bad_records++;
}

void apply_mark(struct output *output, struct stream *s)
{
	char name[SHINY_TAG_NAME_MAX + 1];
	uint32_t index;

	if (read_name(s, &index, name))
		OUTPUT_PUT(output, store_put_mark,
			   &(struct store_mark){ .process = s->process->id,
						 .thread = s->thread.id,
						 .time = apply_ns(output, s),
						 .name = name });
}
