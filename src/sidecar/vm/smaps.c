/* SPDX-License-Identifier: Apache-2.0 */
/* smaps.c: see smaps.h. */
#define _GNU_SOURCE
#include "smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../proc/proc.h"

enum { PAGE = 4096, TEXT_LEAST = 256 * 1024, PAGEMAP_ENTRIES = 8192 };

static uint64_t hex(const char **at)
{
	uint64_t value = 0;

	for (;; (*at)++) {
		unsigned c = (unsigned char)**at, digit = c - '0' < 10	       ? c - '0'
							  : (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10
									       : 16;

		if (digit > 15)
			return value;
		value = value << 4 | digit;
	}
}

static uint64_t decimal(const char **at)
{
	uint64_t value = 0;

	for (; (unsigned)(**at - '0') < 10; (*at)++)
		value = value * 10 + (unsigned)(**at - '0');
	return value;
}

static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* Parses "55ee9a36c000-55ee9a36e000 r--p 00000000 fe:00 247134 /usr/bin/cat"; writes a terminator
 * to `end`, the line's end. */
static bool parse_head(const char *line, char *end, struct smaps_area *out)
{
	const char *at = line;
	uint64_t major, minor;

	*end = '\0';
	*out = (struct smaps_area){ .path = "" };
	out->start = hex(&at);
	if (!take(&at, '-'))
		return false;
	out->end = hex(&at);
	if (!take(&at, ' ') || end - at < 5)
		return false;
	out->prot = (uint8_t)((at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) |
			      (at[2] == 'x' ? PROT_EXEC : 0));
	out->shared = at[3] == 's';
	at += 4;
	if (!take(&at, ' '))
		return false;
	out->offset = hex(&at);
	if (!take(&at, ' '))
		return false;
	major = hex(&at);
	if (!take(&at, ':'))
		return false;
	minor = hex(&at);
	if (!take(&at, ' '))
		return false;
	out->inode = decimal(&at);
	out->device = major << 20 | minor;
	while (*at == ' ')
		at++;
	out->path = at;
	return out->start < out->end;
}

static const struct {
	const char *key;
	uint8_t bytes;
	size_t offset; /* in struct smaps_area; several keys may add to one number */
} fields[] = {
#define FIELD(text, member) { text, sizeof(text) - 1, offsetof(struct smaps_area, member) }
	FIELD("Rss:", rss),
	FIELD("Pss:", pss),
	FIELD("Private_Clean:", private),
	FIELD("Private_Dirty:", private),
	FIELD("Referenced:", referenced),
	FIELD("Swap:", swap),
	/* Huge pages of hugetlbfs are left out, as the kernel does not count them as resident,
	 * either. */
#undef FIELD
};

int smaps_parse(struct smaps *smaps)
{
	struct smaps_area *area = NULL, again;
	char *end;

	smaps->areas.count = 0;
	smaps->rss = smaps->pss = smaps->private = smaps->swap = 0;
	for (char *line = smaps->text; *line; line = end + 1) {
		end = strchrnul(line, '\n');
		if (!*end)
			return EBADMSG; /* the text ends within a line */
		if (*line >= 'A' && *line <= 'Z') {
			if (!area)
				return EBADMSG;
			for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
				const char *at = line + fields[i].bytes;

				if (*line != *fields[i].key ||
				    strncmp(line, fields[i].key, fields[i].bytes))
					continue;
				while (*at == ' ')
					at++;
				*(uint64_t *)((char *)area + fields[i].offset) +=
					decimal(&at) * 1024;
				break;
			}
			continue;
		}
		area = vec_push(&smaps->areas);
		if (!parse_head(line, end, area)) {
			smaps->areas.count = 0;
			return EBADMSG;
		}
		/* The process may have changed its mappings between two pages of text: areas listed
		 * already are not counted twice. */
		if (smaps->areas.count > 1 && area->start < area[-1].end) {
			if (area->end <= area[-1].end) {
				smaps->areas.count--;
				area = &again;
			} else {
				area->start = area[-1].end;
			}
		}
	}
	for (size_t i = 0; i < smaps->areas.count; i++) {
		area = &smaps->areas.at[i];
		smaps->rss += area->rss;
		smaps->pss += area->pss;
		smaps->private += area->private;
		smaps->swap += area->swap;
	}
	return smaps->areas.count ? 0 : ENODATA;
}

int smaps_read_file(struct smaps *smaps, int fd)
{
	ssize_t got;
	int error = 0;

	if (lseek(fd, 0, SEEK_SET) != 0)
		return errno;
	smaps->text_bytes = 0;
	do {
		if (smaps->text_room - smaps->text_bytes < TEXT_LEAST) {
			smaps->text_room = smaps->text_room ? smaps->text_room * 2 : 2 * TEXT_LEAST;
			smaps->text = mem_resize(smaps->text, smaps->text_room, 1);
		}
		got = read(fd, smaps->text + smaps->text_bytes,
			   smaps->text_room - smaps->text_bytes - 1);
		if (got > 0)
			smaps->text_bytes += (size_t)got;
		else if (got < 0)
			error = errno;
	} while (got > 0);
	smaps->text[smaps->text_bytes] = '\0';
	return error ? error : smaps_parse(smaps);
}

int smaps_read(struct smaps *smaps, uint32_t pid)
{
	char path[64];
	int fd, error;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/smaps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	error = smaps_read_file(smaps, fd);
	close(fd);
	return error;
}

void smaps_deinit(struct smaps *smaps)
{
	free(smaps->areas.at);
	free(smaps->text);
	*smaps = (struct smaps){ 0 };
}

bool smaps_count_pages(uint32_t pid, const uint64_t *bounds, size_t ranges, uint64_t *pages)
{
	uint64_t *entries;
	uint64_t at = bounds[0] / PAGE, last = bounds[ranges] / PAGE;
	size_t range = 0;
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	entries = mem_alloc(PAGEMAP_ENTRIES * sizeof(*entries));
	memset(pages, 0, ranges * sizeof(*pages));
	while (at < last) {
		uint64_t count = last - at < PAGEMAP_ENTRIES ? last - at : PAGEMAP_ENTRIES;

		got = pread(fd, entries, count * sizeof(*entries), (off_t)(at * sizeof(*entries)));
		if (got < (ssize_t)sizeof(*entries))
			break;
		for (uint64_t i = 0; i < (uint64_t)got / sizeof(*entries); i++, at++) {
			while (at >= bounds[range + 1] / PAGE)
				range++;
			pages[range] += entries[i] >> 63;
		}
	}
	free(entries);
	close(fd);
	return at >= last;
}

bool smaps_totals(uint32_t pid, uint64_t *rss, uint64_t *swap)
{
	char status[8192];
	const char *at;

	if (proc_read(pid, "status", status, sizeof(status)) <= 0 ||
	    !(at = strstr(status, "\nVmRSS:")))
		return false;
	for (at += 7; *at == '\t' || *at == ' ';)
		at++;
	*rss = decimal(&at) * 1024;
	*swap = 0;
	at = strstr(status, "\nVmSwap:");
	if (at) {
		for (at += 8; *at == '\t' || *at == ' ';)
			at++;
		*swap = decimal(&at) * 1024;
	}
	return true;
}
