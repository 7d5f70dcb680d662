/* SPDX-License-Identifier: Apache-2.0 */
#include "proto.h"

#include <string.h>

#include "../base/mem.h"

enum { WIRE_VARINT = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };

void proto_packed(struct proto *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*vec_push(to) = (uint8_t)(value | 0x80);
	*vec_push(to) = (uint8_t)value;
}

void proto_number(struct proto *to, unsigned field, uint64_t value)
{
	if (!value)
		return;
	proto_packed(to, field << 3 | WIRE_VARINT);
	proto_packed(to, value);
}

void proto_fixed(struct proto *to, unsigned field, uint64_t value)
{
	if (!value)
		return;
	proto_packed(to, field << 3 | WIRE_FIXED);
	for (unsigned i = 0; i < 8; i++)
		*vec_push(to) = (uint8_t)(value >> 8 * i);
}

void proto_bytes(struct proto *to, unsigned field, const void *bytes, size_t count)
{
	const uint8_t *from = bytes;

	proto_packed(to, field << 3 | WIRE_BYTES);
	proto_packed(to, count);
	for (size_t i = 0; i < count; i++)
		*vec_push(to) = from[i];
}

void proto_text(struct proto *to, unsigned field, const char *text)
{
	proto_bytes(to, field, text, strlen(text));
}

void proto_message(struct proto *to, unsigned field, const struct proto *inner)
{
	proto_bytes(to, field, inner->at, inner->count);
}

void proto_flush(struct proto *from, FILE *out)
{
	if (from->count)
		fwrite(from->at, 1, from->count, out);
	from->count = 0;
}
