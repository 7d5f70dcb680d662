/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_block.c: blocks whose columns are damaged but whose checksum is right, as only malice makes
 * them. The unpacker's own checks have to hold: an error or at most as many events as the block may
 * have; no crash, no wild read (the sanitizer build proves it).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../../src/store/block.h"
#include "../../src/store/block_format.h"
#include "../lib/random.h"

enum { ROUNDS = 1500, EVENTS = 4000 };

static void fail(const char *why)
{
	printf("not ok fuzz_block: %s\n", why);
	exit(1);
}

static void add_events(struct packer *packer)
{
	static uint64_t live[200];
	uint64_t time = 0;

	for (int i = 0; i < EVENTS; i++) {
		uint64_t *slot = &live[next_random() % 200];
		struct event e = { .time = time += next_random() % 4000,
				   .process = 1,
				   .thread = (uint32_t)(next_random() % 3),
				   .stack = (uint32_t)(next_random() % 30) };

		e.kind = !*slot ? EVENT_ALLOC : (uint8_t)(EVENT_FREE + next_random() % 4);
		if (e.kind == EVENT_ALLOC)
			*slot = 4096 + next_random() % 3000 * 16;
		e.address = *slot;
		e.size = next_random() % 100;
		e.old_address = e.kind == EVENT_REALLOC ? *slot : 0;
		e.vtable = e.kind == EVENT_VPTR ? (uint32_t)(next_random() % 9) : 0;
		if (e.kind == EVENT_FREE)
			*slot = 0;
		if (packer_add(packer, &e, 1) != 1)
			fail("the packer took no event");
	}
}

static struct shiny_err *count_them(struct unpacker *unpacker, const void *data, size_t bytes,
				    uint32_t *seen)
{
	static struct event events[BLOCK_BATCH];
	struct shiny_err *err = unpacker_open(unpacker, data, bytes);

	for (size_t count = 1; !err && count; *seen += (uint32_t)count)
		err = unpacker_next(unpacker, events, &count);
	return err;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	struct packer *packer;
	struct unpacker *unpacker;
	struct block block;
	struct shiny_err *err = packer_create(&packer);
	unsigned refused = 0;

	if (!err)
		err = unpacker_create(&unpacker);
	if (err)
		fail(err->message);
	add_events(packer);
	err = packer_finish(packer, &block);
	if (err)
		fail(err->message);

	size_t bytes = (size_t)ZSTD_getFrameContentSize(block.data, block.bytes),
	       room = ZSTD_compressBound(bytes);
	uint8_t *good = malloc(bytes), *bad = malloc(bytes), *packed = malloc(room);
	if (!good || !bad || !packed ||
	    ZSTD_decompress(good, bytes, block.data, block.bytes) != bytes)
		fail("the block does not come out of its compression");
	for (int round = 0; round < rounds; round++) {
		uint32_t seen = 0;

		memcpy(bad, good, bytes);
		for (uint64_t n = round ? next_random() % 12 + 1 : 0; n; n--) {
			/* the header is short and decides much: hit it often */
			size_t at = next_random() % (next_random() % 8 ? bytes : 56);

			bad[at] = next_random() % 3 ? (uint8_t)next_random() : 0xff;
		}
		size_t size = ZSTD_compress(packed, room, bad, bytes, 1);
		if (ZSTD_isError(size))
			fail("cannot compress");
		err = count_them(unpacker, packed, size, &seen);
		if (round == 0 && (err || seen != EVENTS))
			fail("the block without damage is not read");
		if (seen > BLOCK_EVENTS)
			fail("more events than a block may have");
		refused += err != NULL;
		shiny_err_free(err);
	}
	printf("# %d damaged blocks, %u refused\n", rounds, refused);
	if (refused < (unsigned)rounds / 10)
		fail("hardly any damage was noticed: the checks are not there");
	free(good);
	free(bad);
	free(packed);
	packer_destroy(packer);
	unpacker_destroy(unpacker);
	printf("ok fuzz_block\n");
	return 0;
}
