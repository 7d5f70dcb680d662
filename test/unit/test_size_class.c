/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_size_class.c: the sizes that size_room() says, against malloc_usable_size() of the
 * allocators that are installed: this program runs itself with each of them in front, asks for
 * every size up to 70,000 bytes and many above, and compares. PartitionAlloc and Oilpan, which are
 * in no library, against values that their sources state; sizes_test asks Chromium itself.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/space/size_class.h"
#include "check.h"

/* ---- real allocators ---- */

enum { EVERY = 70000, LARGE = 4000 };

/* Size, address within its page and usable size of a new block, in binary. Blocks stay: a free
 * chunk that is taken again may be larger. */
static void one(size_t size, bool keep)
{
	void *volatile block = malloc(size);
	uint64_t row[3] = { size, (uintptr_t)block, malloc_usable_size(block) };

	if (fwrite(row, sizeof(row), 1, stdout) != 1)
		exit(1);
	if (!keep)
		free(block);
}

static int measure(bool keep)
{
	static char buffer[1 << 16];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (size_t size = 0; size <= EVERY; size++)
		one(size, keep && size < 20000);
	for (size_t i = 0, size = EVERY; i < LARGE; i++, size += size / 640 + 1)
		one(size, false);
	return fflush(stdout) != 0;
}

static void against(const char *name, enum size_allocator allocator, const char *library)
{
	char self[4096], path[128];
	uint64_t row[3], rows = 0, wrong = 0;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int ends[2], status = 0;
	FILE *in;
	pid_t child;

	snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/%s", library);
#if defined(__SANITIZE_ADDRESS__)
	printf("skip %s: the sanitizer has an allocator of its own\n", name);
	return;
#endif
	if (access(path, R_OK) != 0) {
		printf("skip %s: %s is not installed\n", name, path);
		return;
	}
	if (length < 0 || pipe(ends) != 0 || (child = fork()) < 0)
		exit(1);
	self[length] = '\0';
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		setenv("LD_PRELOAD", path, 1);
		execl(self, self, allocator == SIZE_GLIBC ? "keep" : "free", NULL);
		_exit(1);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	while (fread(row, sizeof(row), 1, in) == 1) {
		struct size_room room = size_room(allocator, row[0], row[1]);

		rows++;
		if (room.usable == row[2] && room.slot >= room.usable)
			continue;
		if (!wrong++)
			printf("%s: %" PRIu64 " bytes have %" PRIu64 " usable, not %" PRIu64 "\n",
			       name, row[0], row[2], room.usable);
	}
	fclose(in);
	waitpid(child, &status, 0);
	if (status || rows != EVERY + 1 + LARGE)
		checkf("the program that asks runs", false, "%s: status %d, %" PRIu64 " sizes",
		       name, status, rows);
	number(name, wrong, 0);
}

/* ---- what sources say ---- */

static void usable(const char *name, enum size_allocator allocator, uint64_t size, uint64_t slot,
		   uint64_t want)
{
	struct size_room room = size_room(allocator, size, 0);
	char text[96];

	snprintf(text, sizeof(text), "%s/%" PRIu64 " slot", name, size);
	number(text, room.slot, slot);
	snprintf(text, sizeof(text), "%s/%" PRIu64 " usable", name, size);
	number(text, room.usable, want);
}

static void partition(void)
{
	/* "order 8 is 128, 144, 160, ..., 240"; four an octave above; eight with the denser
	 * distribution; the largest is 983,040 */
	usable("partition", SIZE_PARTITION, 0, 16, 16);
	usable("partition", SIZE_PARTITION, 129, 144, 144);
	usable("partition", SIZE_PARTITION, 257, 320, 320);
	usable("partition", SIZE_PARTITION, 917505, 983040, 917505);
	usable("partition", SIZE_PARTITION, 983041, 987136, 983041);
	usable("partition child", SIZE_PARTITION_CHILD, 12, 16, 12);
	usable("partition child", SIZE_PARTITION_CHILD, 13, 32, 28);
	usable("partition child", SIZE_PARTITION_CHILD, 1100, 1280, 1276);
	usable("partition child", SIZE_PARTITION_CHILD, 40000, 40960, 40000);
	usable("partition dense", SIZE_PARTITION_DENSE, 1100, 1152, 1148);
	usable("partition dense", SIZE_PARTITION_DENSE, 900000, 917504, 900000);
	number("partition/direct map", size_room(SIZE_PARTITION, 983041, 0).mapped, true);
	number("partition/bucket", size_room(SIZE_PARTITION, 983040, 0).mapped, false);
	/* HeapObjectHeader 8, kAllocationGranularity 8, kFreeListEntrySize 16,
	 * kLargeObjectSizeThreshold 64 KiB */
	usable("zend", SIZE_ZEND, 57, 64, 64);
	usable("zend", SIZE_ZEND, 65, 80, 80);
	usable("zend", SIZE_ZEND, 3072, 3072, 3072);
	usable("zend", SIZE_ZEND, 3073, 4096, 4096);
	usable("oilpan", SIZE_OILPAN, 0, 16, 8);
	usable("oilpan", SIZE_OILPAN, 8, 16, 8);
	usable("oilpan", SIZE_OILPAN, 9, 24, 16);
	usable("oilpan", SIZE_OILPAN, 100, 112, 104);
	usable("not known", SIZE_UNKNOWN, 100, 100, 100);
	/* by its address glibc's block is in its heap, whatever its size */
	number("glibc/heap", size_room(SIZE_GLIBC, 1 << 20, 0x7f0000002020).usable, (1 << 20) + 8);
	number("glibc/mapped", size_room(SIZE_GLIBC, 1 << 20, 0x7f0000002010).slot,
	       (1 << 20) + 4096);
	/* bins: 16 bytes apart up to 1 KiB, then 64, 512, 4 KiB, 32 KiB, 256 KiB */
	number("bin/small", size_bin(SIZE_GLIBC, 112), 112);
	number("bin/64", size_bin(SIZE_GLIBC, 1040), 1088);
	number("bin/512", size_bin(SIZE_GLIBC, 3088), 3584);
	number("bin/4096", size_bin(SIZE_GLIBC, 12304), 16384);
	number("bin/classes", size_bin(SIZE_JEMALLOC, 1280), 1280);
}

/* ---- whose malloc ---- */

static void processes(void)
{
	static const struct {
		const char *attach, *text, *role, *library;
		enum size_allocator want;
	} all[] = {
		{ "symbols", "", "", "/lib/x86_64-linux-gnu/libc.so.6", SIZE_GLIBC },
		{ "symbols", "", "", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", SIZE_JEMALLOC },
		{ "symbols", "", "", "/opt/libtcmalloc_minimal.so.4.5.10", SIZE_TCMALLOC },
		{ "symbols", "", "", "/opt/libmimalloc.so.2.0", SIZE_MIMALLOC },
		{ "entries",
		  "12 functions of the program's own allocator patched: malloc free mallocx "
		  "rallocx dallocx",
		  "", "/opt/libjemalloc.so.2", SIZE_JEMALLOC },
		{ "entries", "2 functions of the program's own allocator patched: malloc free", "",
		  "/lib/libc.so.6", SIZE_UNKNOWN },
		{ "partition_alloc", "", "browser", "/lib/libc.so.6", SIZE_PARTITION_DENSE },
		{ "partition_alloc", "", "renderer", "/lib/libc.so.6", SIZE_PARTITION_CHILD },
		{ "partition_alloc", "", "utility:network", "/lib/libc.so.6",
		  SIZE_PARTITION_CHILD },
		{ "partition_alloc", "", "zygote", "/lib/libc.so.6", SIZE_PARTITION },
		{ "partition_alloc", "", "", "/lib/libc.so.6", SIZE_PARTITION },
		/* a zygote's */
		{ "partition_alloc", "", "", "/lib/libc.so.6", SIZE_PARTITION_CHILD },
	};
	enum { COUNT = sizeof(all) / sizeof(*all), ZYGOTE = 10 };
	struct size_classes classes;
	struct store *s;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/shiny-test-size-class-%d.shiny", (int)getpid());
	must(store_create(path, true, true, &s));
	for (uint32_t i = 0; i < COUNT; i++) {
		must(store_put_process(s, &(struct store_process){ .id = i + 1,
								   .parent = i == COUNT - 1 ? ZYGOTE
											    : 0,
								   .pid = 100 + i,
								   .name = "prog",
								   .role = all[i].role,
								   .executable = "",
								   .command = "",
								   .ending = "exited",
								   .attach = all[i].attach,
								   .attach_text = all[i].text }));
		must(store_put_module(s, &(struct store_module){ .id = i + 1,
								 .path = all[i].library,
								 .build_id = "",
								 .symbols = "none",
								 .note = "" }));
		must(store_put_mapping(s, &(struct store_mapping){ .process = i + 1,
								   .module = i + 1,
								   .start = 0x1000,
								   .end = 0x2000 }));
	}
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(size_classes_load(s, &classes));
	for (uint32_t i = 0; i < COUNT; i++) {
		char name[64];

		snprintf(name, sizeof(name), "process %u: %s", i + 1,
			 size_allocator_names[all[i].want]);
		number(name, size_allocator_of(&classes, i + 1, SHINY_API_MALLOC), all[i].want);
	}
	number("collected objects are Oilpan's",
	       size_allocator_of(&classes, 8, SHINY_API_COLLECTED), SIZE_OILPAN);
	number("PHP's blocks are zend's", size_allocator_of(&classes, 8, SHINY_API_ZEND),
	       SIZE_ZEND);
	number("no size classes of libpas are known",
	       size_allocator_of(&classes, 8, SHINY_API_LIBPAS), SIZE_UNKNOWN);
	number("no such process", size_allocator_of(&classes, COUNT + 1, SHINY_API_MALLOC),
	       SIZE_UNKNOWN);
	size_classes_deinit(&classes);
	store_close(s);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return measure(strcmp(argv[1], "keep") == 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	against("glibc", SIZE_GLIBC, "libc.so.6");
	against("jemalloc", SIZE_JEMALLOC, "libjemalloc.so.2");
	against("tcmalloc", SIZE_TCMALLOC, "libtcmalloc_minimal.so.4");
	against("mimalloc", SIZE_MIMALLOC, "libmimalloc.so.2.0");
	partition();
	processes();
	return failures != 0;
}
