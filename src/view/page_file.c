/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.c: see page_file.h.
 *
 * The page is a template, page/page.html, with the data in it: JSON, compressed (gzip) and in
 * base64, so that no name of the program is ever markup, and a browser's own DecompressionStream
 * reads it.
 */
#include "page_file.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "../base/cleanup.h"
#include "../base/mem.h"

enum { PAGE_MOST = 1 << 30 }; /* bytes of data */
/* Of 16.6 MB, Chromium: level 9 takes 4.05 s for 1.57 MB, 7 0.70 s for 1.63, 6 0.42 s for 1.67. */
enum { LEVEL = 7 };
#define PAGE_PLACE "@DATA@" /* in the template */

extern const char page_template[], page_template_end[];
__asm__(".pushsection .rodata\n"
	".global page_template, page_template_end\n"
	"page_template: .incbin \"src/view/page/page.html\"\n"
	"page_template_end: .byte 0\n"
	".popsection");

static struct shiny_err *put_packed(FILE *out, const char *text, size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { GZIP = 16 };
	z_stream z = { 0 };
	AUTO_FREE uint8_t *packed = NULL;
	size_t room, used;

	if (count > PAGE_MOST)
		return shiny_err(SHINY_ERR_OTHER, "the page would be too large: --stacks-most");
	if (deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP + MAX_WBITS, 9,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return shiny_err(SHINY_ERR_OTHER, "cannot pack the page: out of memory");
	room = deflateBound(&z, count);
	packed = mem_zero(room + 3, 1);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.next_out = packed;
	z.avail_in = (uInt)count;
	z.avail_out = (uInt)room;
	deflate(&z, Z_FINISH);
	used = z.total_out;
	deflateEnd(&z);
	for (size_t i = 0; i < used; i += 3) {
		uint32_t word = (uint32_t)packed[i] << 16 | (uint32_t)packed[i + 1] << 8 |
				packed[i + 2];

		for (unsigned k = 0; k < 4; k++)
			putc(k <= used - i ? digits[word >> (18 - 6 * k) & 63] : '=', out);
	}
	return NULL;
}

struct shiny_err *page_file_write(FILE *out, const char *text, size_t count)
{
	const char *place = strstr(page_template, PAGE_PLACE);
	struct shiny_err *err;

	fwrite(page_template, 1, (size_t)(place - page_template), out);
	err = put_packed(out, text, count);
	place += strlen(PAGE_PLACE);
	fwrite(place, 1, (size_t)(page_template_end - place), out);
	return err;
}
