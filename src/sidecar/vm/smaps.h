/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps.h: /proc/PID/smaps: what a process has mapped and how much of it is in memory.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: any.
 *
 * The kernel writes the file a page of text at a time and lets the process run in between: it is no
 * snapshot. Sizes are bytes.
 */
#ifndef SHINY_SMAPS_H
#define SHINY_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/mem.h"

struct smaps_area {
	uint64_t start, end, offset, inode, device;
	const char *path; /* "" none; "[heap]", "[anon:…]", … */
	uint32_t text;    /* the caller's id of that */
	uint8_t prot;     /* PROT_* */
	bool shared;
	uint64_t rss, pss, private, swap;
	uint64_t referenced; /* of rss: accessed since somebody cleared that (clear_refs) */
};

struct smaps {
	VEC(struct smaps_area) areas; /* sorted */
	char *text;                   /* what the paths point into */
	size_t text_bytes, text_room;
	uint64_t rss, pss, private, swap; /* sums */
};

/*
 * Reads it again into `smaps` (zeroed at first). 0, or an errno: ESRCH and ENOENT the process is
 * gone, EACCES and EPERM we may not look, ENODATA it has no memory any more, EBADMSG a text that is
 * not understood.
 */
int smaps_read(struct smaps *smaps, uint32_t pid);
/* Likewise of the file that `fd` has open, from its beginning. */
int smaps_read_file(struct smaps *smaps, int fd);
int smaps_parse(struct smaps *smaps); /* the text that is there */
void smaps_deinit(struct smaps *smaps);

/*
 * How many pages of each range are in memory, from /proc/PID/pagemap: for areas that the kernel has
 * merged out of several mappings. `bounds` are ascending addresses, the ranges lie between
 * neighbours; false: it cannot be read.
 */
bool smaps_count_pages(uint32_t pid, const uint64_t *bounds, size_t ranges, uint64_t *pages);

/* The sums of a process that does not let us look at its parts: from /proc/PID/status, which
 * everybody may read. False: gone. */
bool smaps_totals(uint32_t pid, uint64_t *rss, uint64_t *swap);

#endif
