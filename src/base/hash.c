/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c: see hash.h. The seed is half of the 16 random bytes that the kernel gives each
 * program. */
#include "hash.h"

#include <string.h>
#include <sys/auxv.h>

uint64_t hash_seed;

static __attribute__((constructor)) void choose_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(&hash_seed, random, sizeof(hash_seed));
}
