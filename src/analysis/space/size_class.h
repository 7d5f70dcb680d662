/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_class.h: computes the memory that an allocator takes for a request, and the part that the
 * program may use.
 *
 * Runs: CLI. Signals: no. Allocates: a byte a process, by size_classes_load. Threads: any.
 *
 * requested  what the program asked for
 * usable     what malloc_usable_size() says of the block; usable - requested is its *slop* (the
 *            word of Firefox's DMD)
 * slot       the block's bytes in its allocator's memory: its size class; slot - usable is the
 *            allocator's own, such as a header
 *
 * The rules are data (size_class.c), from the allocators' published sources, and hold for x86-64:
 *   glibc           2.36 malloc.c: request2size, sysmalloc, mremap_chunk: a header of 8 bytes,
 *                   multiples of 16, at least 32. Requests from M_MMAP_THRESHOLD (128 KiB, raised
 *                   as such blocks are freed) get a mapping of their own: header of 16, whole
 *                   pages. Such a block begins 16 bytes behind a page's start, which identifies it;
 *                   one in 256 of the others does, too. A chunk cut from a larger free one may keep
 *                   16 bytes more than counted here: 98.5 % of node's slop and 99.8 % of python3's
 *                   are (sizes_test prints it).
 *   PartitionAlloc  partition_bucket_lookup.h, partition_root.h in Chromium's sources: multiples of
 *                   16 up to 256, then four classes an octave (eight in the browser process,
 *                   "denser") up to 983,040 bytes, whole pages above. In a process of Chromium,
 *                   once its command line is read, 4 bytes a slot count the raw_ptr's
 *                   (BackupRefPtr). Slots over 32 KiB keep the exact size: no slop.
 *   jemalloc        5.3 sc.c: 8, multiples of 16 up to 128, then four classes an octave
 *   tcmalloc        gperftools 2.10 common.cc: the classes that SizeMap::Init computes for pages of
 *                   8 KiB; whole pages above 256 KiB
 *   mimalloc        2.0.9 page-queue.c, segment.c, os.c: as jemalloc up to 128 KiB, then whole
 *                   slices of 64 KiB, of 512 KiB above that size; over 8 MiB what
 *                   _mi_os_good_alloc_size says
 *   zend            8.2 zend_alloc_sizes.h, zend_alloc.c: multiples of 8 up to 64, then four
 *                   classes an octave up to 3072, then whole pages
 *   Oilpan          V8's heap/cppgc: normal pages: a header of 8 bytes, multiples of 8, at least
 *                   16; objects from 64 KiB have pages of their own
 * test_size_class compares them with malloc_usable_size() of the allocators that are installed,
 * size by size; sizes_test those of Chromium's processes.
 *
 * The alignment of a memalign request is unknown: its block counts as if from malloc, a lower
 * bound.
 */
#ifndef SHINY_SIZE_CLASS_H
#define SHINY_SIZE_CLASS_H

#include <shiny/wire/wire.h>

#include "../replay/replay.h"

enum size_allocator {
	SIZE_UNKNOWN, /* the program's own allocator: usable = slot = requested */
	SIZE_GLIBC,
	SIZE_PARTITION,       /* PartitionAlloc as it starts: zygotes, other programs than
			       * Chromium */
	SIZE_PARTITION_CHILD, /* with BackupRefPtr: renderers, utilities, GPU */
	SIZE_PARTITION_DENSE, /* BackupRefPtr and denser classes: the browser process */
	SIZE_JEMALLOC,
	SIZE_TCMALLOC,
	SIZE_MIMALLOC,
	SIZE_OILPAN, /* garbage-collected objects of any process */
	SIZE_ZEND,   /* PHP's heap in any process */
	SIZE_ALLOCATORS
};
extern const char *const size_allocator_names[SIZE_ALLOCATORS]; /* "glibc", "PartitionAlloc", … */

struct size_room {
	uint64_t slot, usable; /* bytes; slot >= usable >= requested */
	bool mapped;           /* has a mapping of its own: its begin and end enter the system */
};

/* Returns the room for a request of `size` bytes. The block's `address` tells glibc's mappings from
 * its heap; 0: by M_MMAP_THRESHOLD's first value. */
struct size_room size_room(enum size_allocator allocator, uint64_t size, uint64_t address);

/*
 * Returns a common value for slots of nearly one size: the slot itself if the allocator has
 * classes; for glibc, which has none, and unknown allocators, the upper bound of the bin of free
 * chunks of this size (spaced 16 bytes up to 1 KiB, then 64, 512, …).
 */
uint64_t size_bin(enum size_allocator allocator, uint64_t slot);

/* The malloc of each process, from the session's evidence: the way it was hooked, the process's
 * role, the libraries that it mapped. */
struct size_classes {
	uint8_t *allocators; /* enum size_allocator; process id n is [n - 1] */
	size_t count;
};
SHINY_MUST_CHECK struct shiny_err *size_classes_load(struct store *store, struct size_classes *out);
void size_classes_deinit(struct size_classes *classes);

static inline enum size_allocator size_allocator_of(const struct size_classes *classes,
						    uint32_t process, uint8_t api)
{
	if (api == SHINY_API_COLLECTED)
		return SIZE_OILPAN;
	if (api >= SHINY_API_ZEND) /* a heap beside malloc's */
		return api == SHINY_API_ZEND ? SIZE_ZEND : SIZE_UNKNOWN;
	return process && process <= classes->count
		       ? (enum size_allocator)classes->allocators[process - 1]
		       : SIZE_UNKNOWN;
}

#endif
