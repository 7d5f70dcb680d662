/* SPDX-License-Identifier: Apache-2.0 */
/* memory_copy.c: see memory_copy.h. */
#define _GNU_SOURCE
#include "memory_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/lower_bound.h"
#include "../../base/units.h"
#include "trace_refusal.h"

#define PAGE_PRESENT (UINT64_C(3) << 62) /* in memory or swapped out */

enum { PAGE = 4096, PAGE_WORDS = 8192, SPARE = 64 << 20 };

static struct shiny_err *unreadable(uint32_t pid, const char *what, int error)
{
	if (error == ENOENT || error == ESRCH)
		return shiny_err(SHINY_ERR_OTHER, "process %" PRIu32 " has ended", pid);
	if (error == EACCES || error == EPERM) {
		struct trace_facts facts;

		trace_facts_read(pid, error, &facts);
		return trace_refusal(&facts);
	}
	return shiny_err_os(error, "cannot read %s of process %" PRIu32, what, pid);
}

static struct shiny_err *read_areas(uint32_t pid, struct memory_copy *copy)
{
	AUTO_FCLOSE FILE *maps = NULL;
	AUTO_FREE char *line = NULL;
	char path[64];
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return unreadable(pid, "the memory map", errno);
	copy->areas.count = 0;
	while (getline(&line, &room, maps) > 0) {
		struct copied_area area = { 0 };
		char flags[8] = "";

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &area.start, &area.end, flags) ==
			    3 &&
		    flags[0] == 'r' && flags[1] == 'w' && flags[3] == 'p') {
			area.heap = strstr(line, " [heap]") != NULL;
			area.stack = strstr(line, " [stack]") != NULL;
			*vec_push(&copy->areas) = area;
		}
	}
	return NULL;
}

/* Adds a page to the last run, or starts a run; a run lies in one area. */
static void add_page(struct memory_copy *copy, uint64_t area, uint64_t address)
{
	struct copied_run *last =
		copy->runs.count ? &copy->runs.at[copy->runs.count - 1] : NULL;

	if (last && last->end == address && address != area)
		last->end += PAGE;
	else
		*vec_push(&copy->runs) = (struct copied_run){ address, address + PAGE, NULL };
}

/* Lists the present pages as runs. */
static struct shiny_err *find_runs(uint32_t pid, struct memory_copy *copy)
{
	AUTO_FREE uint64_t *words = mem_zero(PAGE_WORDS, sizeof(*words));
	AUTO_CLOSE int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return unreadable(pid, "the page map", errno);
	copy->runs.count = 0;
	for (size_t i = 0; i < copy->areas.count; i++) {
		uint64_t page = copy->areas.at[i].start / PAGE, end = copy->areas.at[i].end / PAGE;

		while (page < end) {
			size_t want = end - page < PAGE_WORDS ? end - page : PAGE_WORDS;
			ssize_t got = pread(fd, words, want * 8, (off_t)(page * 8));

			if (got <= 0)
				break;
			for (ssize_t k = 0; k < got / 8; k++, page++)
				if (words[k] & PAGE_PRESENT)
					add_page(copy, copy->areas.at[i].start, page * PAGE);
		}
		copy->unread += (end - page) * PAGE;
	}
	return NULL;
}

static uint64_t run_bytes(const struct memory_copy *copy)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < copy->runs.count; i++)
		sum += copy->runs.at[i].end - copy->runs.at[i].start;
	return sum;
}

/* Returns the bytes that this machine has available; UINT64_MAX: unknown. */
static uint64_t available(void)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/meminfo", "re");
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	uint64_t kib;

	while (file && getline(&line, &room, file) > 0)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			return kib * 1024;
	return UINT64_MAX;
}

struct shiny_err *memory_copy_prepare(uint32_t pid, struct memory_copy *out)
{
	SHINY_CLEANUP(memory_copy_deinit) struct memory_copy copy = { 0 };
	uint64_t bytes;
	void *pages;

	SHINY_TRY(read_areas(pid, &copy));
	SHINY_TRY(find_runs(pid, &copy));
	bytes = run_bytes(&copy);
	if (bytes > available() / 2)
		return shiny_err(SHINY_ERR_OTHER,
				 "process %" PRIu32 ": a copy of its memory takes %s, and this "
				 "machine has %s left",
				 pid, units_bytes(UNITS_BUF, bytes),
				 units_bytes(UNITS_BUF, available()));
	copy.room = (bytes + bytes / 4 + SPARE) / MEM_HUGE * MEM_HUGE;
	pages = mmap(NULL, copy.room, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return shiny_err_os(errno, "no memory for a copy of process %" PRIu32, pid);
	copy.pages = pages;
	/* populate now, or the faults would prolong the stop */
	madvise(copy.pages, copy.room, MADV_HUGEPAGE);
	madvise(copy.pages, bytes / PAGE * PAGE, MADV_POPULATE_WRITE);
	*out = shiny_steal(copy);
	return NULL;
}

/* Copies a run without the pages that cannot be read. */
static void copy_run(uint32_t pid, struct memory_copy *copy, struct copied_run run,
		     struct copied_runs *out)
{
	while (run.start < run.end) {
		uint64_t want = run.end - run.start;
		uint8_t *to = (uint8_t *)copy->pages + copy->used;
		struct iovec there = { (void *)(uintptr_t)run.start, want }, here = { to, want };
		ssize_t got = -1;

		if (want > copy->room - copy->used) {
			copy->unread += want;
			return;
		}
		got = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
		got = got < 0 ? 0 : got / PAGE * PAGE;
		if (got) {
			*vec_push(out) = (struct copied_run){ run.start, run.start + (uint64_t)got,
							      (const uint64_t *)(void *)to };
			copy->used += (size_t)got;
			run.start += (uint64_t)got;
		}
		if (run.start < run.end && (uint64_t)got < want) {
			copy->unread += PAGE;
			run.start += PAGE;
		}
	}
}

struct shiny_err *memory_copy_take(uint32_t pid, struct memory_copy *copy)
{
	struct copied_runs found = { 0 };

	copy->unread = 0;
	SHINY_TRY(read_areas(pid, copy));
	SHINY_TRY(find_runs(pid, copy));
	for (size_t i = 0; i < copy->runs.count; i++)
		copy_run(pid, copy, copy->runs.at[i], &found);
	free(copy->runs.at);
	copy->runs = found;
	if (!found.count)
		return shiny_err(SHINY_ERR_OTHER, "the memory of process %" PRIu32
				 " cannot be read", pid);
	return NULL;
}

uint64_t memory_copy_word(const struct memory_copy *copy, uint64_t address)
{
	const struct copied_run *runs = copy->runs.at;
	size_t at = lower_bound(copy->runs.count, i, runs[i].end <= address);

	if (at == copy->runs.count || runs[at].start > address || address % sizeof(uint64_t))
		return 0;
	return runs[at].words[(address - runs[at].start) / sizeof(uint64_t)];
}

void memory_copy_deinit(struct memory_copy *copy)
{
	free(copy->areas.at);
	free(copy->runs.at);
	if (copy->pages)
		munmap(copy->pages, copy->room);
	*copy = (struct memory_copy){ 0 };
}
