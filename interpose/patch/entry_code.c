/* SPDX-License-Identifier: Apache-2.0 */
/* entry_code.c: see entry_code.h. */
#include "entry_code.h"

#include <stdbool.h>
#include <string.h>

uintptr_t si_decode_jump(const uint8_t *code, uintptr_t at)
{
	int32_t distance;

	if (at % 8 || code[0] != 0xe9 || code[5] != 0xcc || code[6] != 0xcc || code[7] != 0xcc)
		return 0;
	memcpy(&distance, code + 1, 4);
	return at + 5 + (uintptr_t)(intptr_t)distance;
}

size_t si_decode_prologue(const uint8_t *code, size_t size, size_t least, size_t *distance_at)
{
	size_t at = 0;

	*distance_at = 0;
	while (at < least) {
		const uint8_t *c = code + at;
		bool rex = (c[0] & 0xf0) == 0x40, wide = rex && c[0] & 8;
		size_t length;

		if (size - at < 8)
			return 0;
		c += rex;
		if (c[0] >= 0x50 && c[0] <= 0x57) /* push */
			length = 1;
		else if ((c[0] == 0x89 || c[0] == 0x8b || c[0] == 0x31 || c[0] == 0x85) &&
			 c[1] >> 6 == 3) /* mov, xor, test of registers */
			length = 2;
		else if (wide && c[0] == 0x83 && c[1] == 0xec) /* sub imm8,%rsp */
			length = 3;
		else if (wide && c[0] == 0x81 && c[1] == 0xec)
			length = 6;
		else if (wide && c[0] == 0x8b && (c[1] & 0xc7) == 5 && !*distance_at) {
			/* mov place(%rip),%reg */
			length = 6;
			*distance_at = at + rex + 2;
		} else {
			return 0;
		}
		at += length + rex;
	}
	return at;
}
