/* SPDX-License-Identifier: Apache-2.0 */
/* test_page_file.c: a page's data come out of the file as they went in, whether they are one piece
 * or many, and are one gzip stream with nothing behind it, as a browser wants it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../../src/base/mem.h"
#include "../../src/view/page_file.h"
#include "check.h"

enum { MIB = 1 << 20, GZIP = 16 };

static int value_of(char digit)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = digit ? strchr(digits, digit) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* What the longest run of base64 in the page says. */
static size_t decode(const char *page, uint8_t *out)
{
	size_t longest = 0, count = 0;
	uint32_t word = 0;

	for (const char *at = page; *at;) {
		size_t run = 0;

		while (value_of(at[run]) >= 0)
			run++;
		if (run > longest) {
			longest = run;
			page = at;
		}
		at += run + 1;
	}
	for (size_t i = 0; i < longest; i++) {
		word = word << 6 | (uint32_t)value_of(page[i]);
		if (i % 4)
			out[count++] = (uint8_t)(word >> (6 - 2 * (i % 4)));
	}
	return count;
}

/* Numbers that repeat now and then, across pieces, too. */
static void fill(char *text, size_t count)
{
	uint32_t n = 1;

	for (size_t i = 0; i < count; i++) {
		n = n * 1664525 + 1013904223;
		text[i] = i > 5000 && n >> 30 ? text[i - 5000] : (char)('0' + (n >> 24) % 10);
	}
}

static void packs(size_t count)
{
	char *text = mem_alloc(count + 1), *page = NULL, *back = mem_zero(count + 1, 1);
	uint8_t *packed = mem_alloc(2 * count + 4096);
	size_t size = 0, bytes;
	z_stream z = { 0 };
	FILE *out = mem_stream_open(&page, &size);
	struct shiny_err *err;
	int end;

	fill(text, count);
	err = page_file_write(out, text, count);
	mem_stream_close(out);
	checkf("it is written", !err, "%zu bytes: %s", count, err ? err->message : "");
	bytes = decode(page, packed);
	inflateInit2(&z, MAX_WBITS + GZIP);
	z.next_in = packed;
	z.avail_in = (uInt)bytes;
	z.next_out = (Bytef *)back;
	z.avail_out = (uInt)count + 1;
	end = inflate(&z, Z_FINISH);
	checkf("one whole stream", end == Z_STREAM_END, "%zu bytes: %d, %s", count, end,
	       z.msg ? z.msg : "");
	checkf("nothing is behind it", !z.avail_in, "%zu bytes: %u more", count, z.avail_in);
	checkf("as many bytes", z.total_out == count, "%zu became %lu", count, z.total_out);
	checkf("the same bytes", !memcmp(text, back, count), "%zu bytes", count);
	inflateEnd(&z);
	free(packed);
	free(text);
	free(page);
	free(back);
	shiny_err_free(err);
}

int main(void)
{
	packs(5000);
	packs(MIB - 1);
	packs(MIB); /* the last piece is empty */
	packs(MIB + 1);
	packs(3 * MIB + 12345);
	return failures != 0;
}
