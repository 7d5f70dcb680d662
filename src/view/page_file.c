/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.c: see page_file.h.
 *
 * The page is a template, page/page.html, with the data in it: JSON, compressed (gzip) and in
 * base64, so that no name of the program is ever markup, and a browser's own DecompressionStream
 * reads it. Packing takes as long as the rest of writing a page: so the data are cut into pieces,
 * which processors pack separately, and which joined make one stream (as M. Adler's pigz does). The
 * cuts do not depend on the number of processors.
 */
#define _GNU_SOURCE
#include "page_file.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "../base/mem.h"
#include "../base/worker_thread.h"

enum { PAGE_MOST = 1 << 30 }; /* bytes of data */
/* Measured on 16.6 MB of Chromium: level 9 takes 4.05 s for 1.57 MB, 7 0.70 s for 1.63, 6 0.42 s
 * for 1.67. */
enum { LEVEL = 7 };
enum { PIECE_BYTES = 1 << 20, WINDOW_BYTES = 1 << MAX_WBITS, PACKERS_MAX = 8 };
enum { FLUSH_BYTES = 16 }; /* bytes of a piece's end beyond deflateBound() */
enum { GZIP_UNIX = 3 };
#define PAGE_PLACE "@DATA@" /* the template's mark for the data */

extern const char page_template[], page_template_end[];
__asm__(".pushsection .rodata\n"
	".global page_template, page_template_end\n"
	"page_template: .incbin \"src/view/page/page.html\"\n"
	"page_template_end: .byte 0\n"
	".popsection");

/* ---- packing ---- */

/* A packed part of the data. */
struct page_piece {
	uint8_t *packed; /* NULL: no memory */
	size_t used;     /* bytes of `packed` */
	uint32_t crc;    /* of the text before packing */
};

struct packing {
	const char *text;
	size_t count;
	struct page_piece *pieces;
	size_t piece_count;
	_Atomic size_t next; /* the next piece to pack */
};

static size_t piece_bytes(const struct packing *p, size_t index)
{
	size_t from = index * PIECE_BYTES;

	return p->count - from < PIECE_BYTES ? p->count - from : PIECE_BYTES;
}

/* Packs a part of one stream, which may refer to the text before it. */
static void pack_piece(const struct packing *p, size_t index)
{
	const Bytef *text = (const Bytef *)p->text + index * PIECE_BYTES;
	size_t count = piece_bytes(p, index), room;
	bool last = index + 1 == p->piece_count;
	struct page_piece *piece = &p->pieces[index];
	z_stream z = { 0 };

	if (deflateInit2(&z, LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return;
	if (index)
		deflateSetDictionary(&z, text - WINDOW_BYTES, WINDOW_BYTES);
	room = deflateBound(&z, count) + FLUSH_BYTES;
	piece->packed = mem_alloc(room);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.next_out = piece->packed;
	z.avail_in = (uInt)count;
	z.avail_out = (uInt)room;
	deflate(&z, last ? Z_FINISH : Z_SYNC_FLUSH);
	piece->used = z.total_out;
	piece->crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), text, count);
	deflateEnd(&z);
}

static void *pack_some(void *context)
{
	struct packing *p = context;

	for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->piece_count;)
		pack_piece(p, i);
	return NULL;
}

/* Packs all pieces, on up to PACKERS_MAX + 1 processors. */
static void pack(struct packing *p)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[PACKERS_MAX];
	size_t count = 0;

	while (count + 1 < p->piece_count && (long)count + 1 < processors && count < PACKERS_MAX &&
	       thread_start(&threads[count], pack_some, p))
		count++;
	pack_some(p);
	while (count)
		pthread_join(threads[--count], NULL);
}

/* ---- gzip and base64 ---- */

/* Collects three bytes for each word of four digits. */
struct base64 {
	FILE *out;
	uint8_t bytes[3];
	unsigned count;
};

static void put_word(struct base64 *b)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t word = (uint32_t)b->bytes[0] << 16 | (uint32_t)b->bytes[1] << 8 | b->bytes[2];

	for (unsigned k = 0; k < 4; k++)
		putc_unlocked(k <= b->count ? digits[word >> (18 - 6 * k) & 63] : '=', b->out);
	memset(b->bytes, 0, sizeof(b->bytes));
	b->count = 0;
}

static void put_bytes(struct base64 *b, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		b->bytes[b->count++] = bytes[i];
		if (b->count == sizeof(b->bytes))
			put_word(b);
	}
}

static void put_pieces(FILE *out, const struct packing *p)
{
	static const uint8_t head[] = { 0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 0, GZIP_UNIX };
	struct base64 b = { .out = out };
	uint32_t crc = p->pieces[0].crc, size = (uint32_t)p->count;
	uint8_t tail[8];

	put_bytes(&b, head, sizeof(head));
	for (size_t i = 0; i < p->piece_count; i++) {
		put_bytes(&b, p->pieces[i].packed, p->pieces[i].used);
		if (i)
			crc = (uint32_t)crc32_combine(crc, p->pieces[i].crc,
						      (z_off_t)piece_bytes(p, i));
	}
	for (unsigned i = 0; i < 4; i++) {
		tail[i] = (uint8_t)(crc >> 8 * i);
		tail[4 + i] = (uint8_t)(size >> 8 * i);
	}
	put_bytes(&b, tail, sizeof(tail));
	if (b.count)
		put_word(&b);
}

static struct shiny_err *put_packed(FILE *out, const char *text, size_t count)
{
	struct packing p = { .text = text,
			     .count = count,
			     .piece_count = count / PIECE_BYTES + 1 };
	struct shiny_err *err = NULL;

	if (count > PAGE_MOST)
		return shiny_err(SHINY_ERR_OTHER, "the page would be too large: --stacks-most");
	p.pieces = mem_zero(p.piece_count, sizeof(*p.pieces));
	pack(&p);
	for (size_t i = 0; i < p.piece_count; i++)
		if (!p.pieces[i].packed && !err)
			err = shiny_err(SHINY_ERR_OTHER, "cannot pack the page: out of memory");
	if (!err)
		put_pieces(out, &p);
	for (size_t i = 0; i < p.piece_count; i++)
		free(p.pieces[i].packed);
	free(p.pieces);
	return err;
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
