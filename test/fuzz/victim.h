/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim.h: files that are read, damaged and written again.
 *
 * Runs: tests. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_TEST_VICTIM_H
#define SHINY_TEST_VICTIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/random.h"

struct content {
	uint8_t *data; /* NULL: it could not be read */
	size_t bytes;
};

static inline struct content content_read(const char *path)
{
	struct content content = { NULL, 0 };
	struct stat st;
	FILE *file = fopen(path, "rb");

	if (file && !fstat(fileno(file), &st) && (content.data = malloc((size_t)st.st_size + 1))) {
		content.bytes = fread(content.data, 1, (size_t)st.st_size, file);
		if (content.bytes != (size_t)st.st_size) {
			free(content.data);
			content = (struct content){ NULL, 0 };
		}
	}
	if (file)
		fclose(file);
	return content;
}

static inline bool content_write(const char *path, const uint8_t *data, size_t bytes)
{
	FILE *file = fopen(path, "wb");
	bool good = file && fwrite(data, 1, bytes, file) == bytes;

	return file && !fclose(file) && good;
}

/* Counts, offsets and sizes at which sums overflow and signs change. */
static const uint64_t hurtful[] = { 0,
				    1,
				    2,
				    8,
				    0x7f,
				    0x1000,
				    0x7fffffff,
				    0x80000000,
				    0xfffffff0,
				    0xffffffff,
				    0x7fffffffffffffff,
				    0x8000000000000000,
				    UINT64_MAX };
enum { HURTFUL = sizeof(hurtful) / sizeof(*hurtful) };

/* One of them, as 1, 2, 4 or 8 bytes; nothing where it would not fit. */
static inline void put_hurtful(uint8_t *victim, size_t bytes, size_t at)
{
	uint64_t value = hurtful[next_random() % HURTFUL];
	size_t width = (size_t)1 << next_random() % 4;

	if (at + width <= bytes)
		memcpy(victim + at, &value, width);
}

#endif
