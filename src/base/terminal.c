/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c: see terminal.h. The key is the half of the kernel's 16 random bytes that hash.c does
 * not use. */
#include "terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static char key[TERMINAL_KEY];

void terminal_guarded(void)
{
	const char *random = (const char *)getauxval(AT_RANDOM);
	uint64_t number = 0;

	if (random)
		memcpy(&number, random + sizeof(number), sizeof(number));
	snprintf(key, sizeof(key), "%016" PRIx64, number);
}

const char *terminal_key(void)
{
	return key;
}

const char *terminal_sequence(char out[TERMINAL_SEQUENCE], const char *sequence)
{
	snprintf(out, TERMINAL_SEQUENCE, "\033%s%s", key, sequence + 1);
	return out;
}
