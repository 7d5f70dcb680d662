/* SPDX-License-Identifier: Apache-2.0 */
/* instruction.c: see instruction.h. */
#include "instruction.h"

#include <string.h>

static bool refuse(struct si_code_bytes *code, const char *reason)
{
	code->reason = reason;
	return false;
}

bool si_code_take(struct si_code_bytes *code, void *out, size_t n)
{
	if (n > code->size - code->pos)
		return refuse(code, "the function ends inside an instruction");
	memcpy(out, code->bytes + code->pos, n);
	code->pos += n;
	return true;
}

bool si_code_operand(struct si_code_bytes *code, unsigned rex, struct si_operand *o)
{
	uint8_t modrm, sib = 0;
	int8_t near = 0;

	memset(o, 0, sizeof(*o));
	if (!si_code_take(code, &modrm, 1))
		return false;
	o->mod = modrm >> 6;
	o->reg = (modrm >> 3 & 7) | (rex & 4 ? 8 : 0);
	o->rm = modrm & 7;
	if (o->mod == 3) {
		o->rm |= rex & 1 ? 8 : 0;
		o->is_register = true;
		return true;
	}
	if (o->rm == 4) {
		if (!si_code_take(code, &sib, 1))
			return false;
		o->rm = sib & 7;
		o->indexed = (sib >> 3 & 7) != 4 || rex & 2;
		if (o->rm == 5 && o->mod == 0)
			return refuse(code, "an absolute address");
	} else if (o->rm == 5 && o->mod == 0) {
		o->pc_relative = true;
	}
	o->rm |= rex & 1 ? 8 : 0;
	if (o->mod == 1) {
		if (!si_code_take(code, &near, 1))
			return false;
		o->displacement = near;
	} else if (o->mod == 2 || o->pc_relative) {
		return si_code_take(code, &o->displacement, 4);
	}
	return true;
}
