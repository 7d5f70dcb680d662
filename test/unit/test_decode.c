/* SPDX-License-Identifier: Apache-2.0 */
/* test_decode.c: records of every layout, and each way in which one can break the rules. */
#include <stdbool.h>
#include <string.h>

#include "../../src/sidecar/ring/record_decode.h"
#include "check.h"

/* as many as a chunk's bytes */
static struct shiny_record records[SHINY_CHUNK_BYTES / SHINY_RECORD_BYTES];
#define CHUNK ((struct shiny_chunk *)records)
static struct record_cursor cursor;
static struct raw raw;

static void begin(void)
{
	memset(records, 0, sizeof(records));
	cursor = (struct record_cursor){
		.chunk = CHUNK, .room = SHINY_CHUNK_RECORDS, .base = 1000
	};
}

static void put(uint32_t at, uint64_t w0, uint64_t w1)
{
	shiny_publish(&CHUNK->records[at], w0, w1);
}

static enum decode_result next(void)
{
	return decode_next(&cursor, UINT64_C(1) << 40, &raw);
}

/* A run of `count` payload records at the start of an otherwise empty chunk. */
static enum decode_result run(unsigned kind, uint64_t aux, uint32_t stack, uint64_t count)
{
	begin();
	put(0, shiny_w0(aux, stack), shiny_w1(1, count, 0, kind));
	return next();
}

int main(void)
{
	uint64_t copy[8];

	begin();
	put(0, shiny_w0(0x7ffff7a12340 >> 3, 5), shiny_w1(7, 99, SHINY_API_NEW, SHINY_REC_ALLOC));
	check_that("event", next() == DECODE_RAW && raw.address == 0x7ffff7a12340 &&
				    raw.stack == 5 && raw.time == 1007 && raw.size == 99 &&
				    raw.api == SHINY_API_NEW && raw.kind == SHINY_REC_ALLOC);
	check_that("nothing more", next() == DECODE_NONE && cursor.position == 1);

	begin();
	put(0, 5000, shiny_w1(0, 0, 0, SHINY_REC_TIME));
	put(1, shiny_w0(0x1000 >> 3, 0), shiny_w1(3, 1, 0, SHINY_REC_FREE));
	put(2, shiny_vptr_w0(0x1000 >> 3, 0), shiny_vptr_w1(0x5000, 0, SHINY_VPTR_SETTLED));
	put(3, UINT64_C(17) << SHINY_ADDRESS_SHIFT,
	    shiny_w1(9, SHINY_COUNT_DROPPED_FULL, 0, SHINY_REC_LOSS));
	put(4, shiny_vptr_w0(0x1000 >> 3, SHINY_WHEN_LIMIT - 1),
	    shiny_vptr_w1(0x7ffffffffff8, SHINY_WHEN_LIMIT - 1, SHINY_VPTR_FREE));
	put(5, shiny_vptr_w0(0x1000 >> 3, 1), shiny_vptr_w1(0x5000, 1, SHINY_VPTR_EXIT));
	check_that("time", next() == DECODE_RAW && raw.time == 5003);
	check_that("vptr", next() == DECODE_RAW && raw.kind == SHINY_REC_VPTR &&
				   raw.address == 0x1000 && raw.size == 0x5000 &&
				   raw.api == SHINY_VPTR_SETTLED && raw.time == 5003);
	check_that("loss", next() == DECODE_RAW && raw.kind == SHINY_REC_LOSS && raw.size == 17 &&
				   raw.time == 5009);
	check_that("a vptr with a time of its own",
		   next() == DECODE_RAW && raw.kind == SHINY_REC_VPTR && raw.address == 0x1000 &&
			   raw.size == 0x7ffffffffff8 && raw.api == SHINY_VPTR_FREE &&
			   raw.stack == 0 && raw.time == 5000 + SHINY_WHEN_LIMIT - 2);
	check_that("times do not go back",
		   next() == DECODE_RAW && raw.api == SHINY_VPTR_EXIT &&
			   raw.time == 5000 + SHINY_WHEN_LIMIT - 2);
	begin();
	put(0, shiny_vptr_w0(0x1000 >> 3, 40), shiny_vptr_w1(0x5000, 40, SHINY_VPTR_FREE));
	check_that("a vptr from the future",
		   decode_next(&cursor, 1000 + 38, &raw) == DECODE_BAD && cursor.position == 0);
	check_that("a vptr of now", decode_next(&cursor, 1000 + 39, &raw) == DECODE_RAW &&
					    raw.time == 1039);

	begin();
	CHUNK->records[1] = (struct shiny_record){ 0x123456789abc, UINT64_C(1) << 40 };
	put(0, shiny_w0(0, 3), shiny_w1(1, 1, SHINY_API_MALLOC, SHINY_REC_ALLOC_WIDE));
	check_that("wide", next() == DECODE_RAW && raw.kind == SHINY_REC_ALLOC &&
				   raw.address == 0x123456789abc && raw.size == UINT64_C(1) << 40);

	begin();
	CHUNK->records[1] = (struct shiny_record){ 11, 12 };
	CHUNK->records[2] = (struct shiny_record){ 13, 0 };
	put(0, shiny_w0(3, 9), shiny_w1(1, 2, 0, SHINY_REC_STACK));
	check_that("stack", next() == DECODE_RAW && raw.size == 3 && raw.stack == 9 &&
				    decode_payload(&raw, copy, sizeof(copy)) == 32 &&
				    copy[0] == 11 && copy[2] == 13 && cursor.position == 3);

	check_that("pad", run(SHINY_REC_PAD, 0, 0, 20) == DECODE_NONE && cursor.position == 21);
	check_that("pad over the end", run(SHINY_REC_PAD, 0, 0, SHINY_CHUNK_RECORDS) == DECODE_BAD);
	begin();
	cursor.room = SHINY_SMALL_RECORDS;
	put(0, 0, shiny_w1(1, SHINY_SMALL_RECORDS - 1, 0, SHINY_REC_PAD));
	/* another chunk's */
	put(SHINY_SMALL_RECORDS, shiny_w0(1, 0), shiny_w1(1, 1, 0, SHINY_REC_FREE));
	check_that("a small chunk's end",
		   next() == DECODE_NONE && cursor.position == SHINY_SMALL_RECORDS);
	begin();
	cursor.room = SHINY_SMALL_RECORDS;
	put(0, 0, shiny_w1(1, SHINY_SMALL_RECORDS, 0, SHINY_REC_PAD));
	check_that("pad over a small chunk's end", next() == DECODE_BAD);
	check_that("unknown kind", run(SHINY_REC_KINDS, 0, 0, 0) == DECODE_BAD);
	check_that("stack of no frames", run(SHINY_REC_STACK, 0, 1, 0) == DECODE_BAD);
	check_that("stack without id", run(SHINY_REC_STACK, 2, 0, 1) == DECODE_BAD);
	check_that("stack too deep",
		   run(SHINY_REC_STACK, SHINY_FRAMES_MAX + 1, 1, 33) == DECODE_BAD);
	check_that("stack of wrong length", run(SHINY_REC_STACK, 4, 1, 1) == DECODE_BAD);
	check_that("shared stack",
		   run(SHINY_REC_STACK_LIKE, SHINY_LIKE(5, 1, 2, 3), 9, 1) == DECODE_RAW &&
			   raw.size == SHINY_LIKE(5, 1, 2, 3));
	check_that("shared stack of nothing shared",
		   run(SHINY_REC_STACK_LIKE, SHINY_LIKE(2, 1, 0, 0), 9, 1) == DECODE_BAD);
	check_that("shared stack that shares too much",
		   run(SHINY_REC_STACK_LIKE, SHINY_LIKE(3, 1, 0, 3), 9, 0) == DECODE_BAD);
	check_that("shared stack too deep",
		   run(SHINY_REC_STACK_LIKE, SHINY_LIKE(SHINY_FRAMES_MAX + 1, 0, 0, 63), 9, 1) ==
			   DECODE_BAD);
	check_that("shared stack beyond the other",
		   run(SHINY_REC_STACK_LIKE, SHINY_LIKE(4, 0, 63, 2), 9, 1) == DECODE_BAD);
	check_that("shared stack of wrong length",
		   run(SHINY_REC_STACK_LIKE, SHINY_LIKE(5, 1, 2, 3), 9, 2) == DECODE_BAD);
	check_that("wide without payload", run(SHINY_REC_FREE_WIDE, 0, 0, 0) == DECODE_BAD);
	check_that("module too short", run(SHINY_REC_MODULE, 0, 0, 3) == DECODE_BAD);
	check_that("map of wrong length", run(SHINY_REC_MAP, 0, 0, 2) == DECODE_BAD);
	check_that("a tag's name", run(SHINY_REC_TAG_NAME, 0, 0, 2) == DECODE_RAW &&
					   raw.count == 2 && cursor.position == 3);
	check_that("a mark without a name", run(SHINY_REC_MARK, 0, 0, 1) == DECODE_BAD);
	check_that("a tag's name too long",
		   run(SHINY_REC_TAG_NAME, 0, 0, 2 + SHINY_TAG_NAME_MAX / SHINY_RECORD_BYTES) ==
			   DECODE_BAD);
	check_that("a type's name", run(SHINY_REC_TYPE_NAME, 0, 0, 17) == DECODE_RAW);
	check_that("a type without a name", run(SHINY_REC_TYPE_NAME, 0, 0, 1) == DECODE_BAD);
	check_that("a type's name too long", run(SHINY_REC_TYPE_NAME, 0, 0, 18) == DECODE_BAD);
	begin();
	put(0, shiny_w0(0x7ffff7a12340 >> 3, 0),
	    UINT64_C(0xf123456789ab) << SHINY_NAME_SHIFT | SHINY_REC_TYPED);
	check_that("a typed object", next() == DECODE_RAW && raw.address == 0x7ffff7a12340 &&
					     raw.size == 0xf123456789ab);
	begin();
	put(0, SHINY_SIZE_LIMIT - 1, shiny_w1(5, SHINY_SIZE_LIMIT - 1, 0, SHINY_REC_TAG));
	check_that("a tag", next() == DECODE_RAW && raw.kind == SHINY_REC_TAG &&
				    raw.size == SHINY_SIZE_LIMIT - 1);
	begin();
	put(0, (UINT64_C(1) << 40) + 1, shiny_w1(0, 0, 0, SHINY_REC_TIME));
	check_that("time to come", next() == DECODE_BAD);
	begin();
	put(0, shiny_w0(1, 0), shiny_w1(90, 1, 0, SHINY_REC_ALLOC));
	put(1, 500, shiny_w1(0, 0, 0, SHINY_REC_TIME));
	put(2, shiny_w0(1, 0), shiny_w1(1, 1, 0, SHINY_REC_FREE));
	check_that("time never goes back",
		   next() == DECODE_RAW && next() == DECODE_RAW && raw.time == 1090);
	return failures != 0;
}
