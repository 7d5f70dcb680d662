/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collected_bytes.h: how many bytes a heap snapshot of Chromium counts for a collected object: with
 * its header, in whole words; none where it has a page of its own.
 */
#ifndef SHINY_TEST_COLLECTED_BYTES_H
#define SHINY_TEST_COLLECTED_BYTES_H

#include <stdint.h>

/* In other pages of 128 KiB, the first object comes behind a bitmap of 2 KiB. */
enum { HEADER_BYTES = 8, PAGE_BYTES = 1 << 17, BITMAP_BYTES = 2048 };

static inline uint64_t collected_bytes(uint64_t address, uint64_t size)
{
	return address % PAGE_BYTES < BITMAP_BYTES ? 0 : (size + HEADER_BYTES + 7) / 8 * 8;
}

#endif
