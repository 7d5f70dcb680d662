/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtable_pages.c: which words are taken for addresses of vtables (interpose/core/granule.h): those
 * that point into pages which the loader has made read-only again after it had relocated them, and
 * no others.
 *
 * What the loader did is read from /proc/self/maps: of a module's file, what is readable alone and
 * lies in its PT_GNU_RELRO, and what can be written. The C library's lists of free blocks are in
 * the latter, and the first words of blocks that were on one point there.
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>

#include "../../interpose/core/granule.h"
#include "../unit/check.h"

void si_boot_test_constructor(void);

enum { PAGE = 4096, MODULES = 64 };

static struct module {
	uintptr_t start, end; /* of PT_GNU_RELRO, without what begins or ends within a page */
} modules[MODULES];
static size_t module_count;

static int take_module(struct dl_phdr_info *info, size_t size, void *context)
{
	for (unsigned i = 0; i < info->dlpi_phnum && module_count < MODULES; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO)
			modules[module_count++] =
				(struct module){ .start = (start + PAGE - 1) / PAGE * PAGE,
						 .end = (start + p->p_memsz) / PAGE * PAGE };
	}
	return 0;
}

static bool is_relro(uintptr_t page)
{
	for (size_t i = 0; i < module_count; i++)
		if (page >= modules[i].start && page < modules[i].end)
			return true;
	return false;
}

static void by_the_loader(void)
{
	uint64_t read_only = 0, writable = 0, taken = 0, missing = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], flags[8];
	unsigned long start, end, inode;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, flags, &inode) != 4 ||
		    !inode)
			continue;
		for (uintptr_t page = start; page < end; page += PAGE) {
			bool first = si_maybe_vtable(page);
			bool last = si_maybe_vtable(page + PAGE - 8);

			if (flags[1] == 'w') {
				writable++;
				taken += first || last;
			} else if (is_relro(page)) {
				read_only++;
				missing += !first || !last;
				taken += si_maybe_vtable(page + 4);
			}
		}
	}
	if (maps)
		fclose(maps);
	checkf("read-only again", read_only && !missing, "%lu of %lu pages are not known", missing,
	       read_only);
	checkf("writable", writable && !taken,
	       "%lu of %lu pages, or words between two, are taken for vtables", taken, writable);
}

int main(void)
{
	si_boot_test_constructor();
	dl_iterate_phdr(take_module, NULL);
	by_the_loader();
	check_that("no address", !si_maybe_vtable(0) && !si_maybe_vtable(UINT64_MAX - 7));
	return failures != 0;
}
