/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps.h: reads /proc/PID/smaps: a process's mappings and their resident bytes.
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
	uint32_t text;    /* the caller's id of the path */
	uint8_t prot;     /* PROT_* */
	bool shared;
	uint64_t rss, pss, private, swap;
	uint64_t referenced; /* part of rss: accessed since the marks were cleared (clear_refs) */
};

struct smaps {
	VEC(struct smaps_area) areas; /* sorted */
	char *text;                   /* the paths point into it */
	size_t text_bytes, text_room;
	uint64_t rss, pss, private, swap; /* sums */
};

/*
 * Reads the file into `smaps` (zeroed before the first time). Returns 0, or an errno: ESRCH,
 * ENOENT: the process has ended; EACCES, EPERM: not permitted; ENODATA: it has no memory any more;
 * EBADMSG: the text is malformed.
 */
int smaps_read(struct smaps *smaps, uint32_t pid);
/* Does the same with the open file `fd`, from its beginning. */
int smaps_read_file(struct smaps *smaps, int fd);
int smaps_parse(struct smaps *smaps); /* parses `text` */
void smaps_deinit(struct smaps *smaps);

/*
 * Counts the pages of each range that are in memory, by /proc/PID/pagemap: for areas that the
 * kernel has merged from several mappings. `bounds` are ranges + 1 ascending addresses, with a
 * range between any two neighbours; false: the file cannot be read.
 */
bool smaps_count_pages(uint32_t pid, const uint64_t *bounds, size_t ranges, uint64_t *pages);

/* Reads only the sums of a process, from /proc/PID/status, which every user may read. False: the
 * process has ended. */
bool smaps_totals(uint32_t pid, uint64_t *rss, uint64_t *swap);

#endif
