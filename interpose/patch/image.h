/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h: the executable's segments in memory, and which may be executed or written.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –    Allocates: nothing.    Threads: one.
 */
#ifndef SI_IMAGE_H
#define SI_IMAGE_H

#include "../core/base.h"

enum { SI_SEGMENTS_MAX = 16 };

struct si_segment {
	uintptr_t start, end;
	bool executable, writable; /* writable: at present, that is, not made read-only after
	                            * relocation */
};

struct si_image {
	uintptr_t bias; /* subtracted from addresses in messages */
	unsigned segments;
	struct si_segment segment[SI_SEGMENTS_MAX];
};

/* Reads the executable's program headers. */
void si_image_read(struct si_image *image);

/* Returns the segment that contains the `bytes` at `start`, or NULL. */
static inline const struct si_segment *si_segment_of(const struct si_image *image, uintptr_t start,
						     size_t bytes)
{
	for (unsigned i = 0; i < image->segments; i++) {
		const struct si_segment *s = &image->segment[i];

		if (start >= s->start && start < s->end && bytes <= s->end - start)
			return s;
	}
	return NULL;
}

#endif
