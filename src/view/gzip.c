/* SPDX-License-Identifier: Apache-2.0 */
#include "gzip.h"

#include <limits.h>
#include <stdint.h>
#include <zlib.h>

#include "../base/mem.h"

enum { LEVEL = 6, GZIP_WINDOW = MAX_WBITS + 16 }; /* + 16: with gzip's head and end */

char *gzip_whole(const char *text, size_t bytes, size_t *out_bytes)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)text };
	char *out;

	if (bytes > INT_MAX ||
	    deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	*out_bytes = deflateBound(&z, bytes);
	out = mem_alloc(*out_bytes);
	z.next_out = (Bytef *)out;
	z.avail_in = (uInt)bytes;
	z.avail_out = (uInt)*out_bytes;
	deflate(&z, Z_FINISH);
	*out_bytes = z.total_out;
	deflateEnd(&z);
	return out;
}
