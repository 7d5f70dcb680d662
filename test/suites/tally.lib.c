/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what reaches the allocator, from below us: LD_PRELOAD="libshiny.so tally.so" puts it
 * between. All processes of a run add to one mapped file, TALLY_FILE names it, so that the sums are
 * there whoever is killed. No part of Shiny is in it: it is a second opinion. What shinyctl itself
 * does is not counted.
 *
 * A call that hands a block out counts as an allocation, one that takes a block as a free; realloc
 * of a block as both.
 *
 * Where the file says at which allocation, the process that comes to it says its pid and holds
 * still until it is told to go: that is how a test stops and kills at a moment that events choose
 * and not time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct tally {
	_Atomic uint64_t allocs, frees;
	uint64_t hold_at;       /* 0: nowhere */
	_Atomic uint32_t held;  /* pid of who holds, or has held */
	_Atomic uint32_t go_on; /* by the test */
};

enum { PATIENCE_MS = 60000 };

/* the functions below us, of libc or of an allocator that the program is linked with */
static struct {
	void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t),
		*(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t), *(*valloc)(size_t), *(*pvalloc)(size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void (*free)(void *);
} next;

/* The first call finds them, on the only thread that there is by then. dlsym itself frees the text
 * of an error that Shiny's own search has left, and could allocate one: these do not go further. */
static enum { UNKNOWN, SEARCHING, KNOWN } search;
static char room[4096];
static size_t room_used;

static _Bool known(void)
{
	if (search == UNKNOWN) {
		search = SEARCHING;
#define FIND(name) *(void **)&next.name = dlsym(RTLD_NEXT, #name)
		FIND(malloc), FIND(calloc), FIND(realloc), FIND(memalign), FIND(aligned_alloc),
			FIND(valloc), FIND(pvalloc), FIND(posix_memalign), FIND(free);
		search = KNOWN;
	}
	return search == KNOWN;
}

static void *of_room(size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if (size > sizeof room - room_used)
		abort();
	room_used += size;
	return room + room_used - size;
}

/* what is counted before the environment can be read goes to `early`, and from there into the file
 */
static struct tally early;
static struct tally *_Atomic shared = &early;

static __attribute__((constructor)) void map(void)
{
	const char *path = getenv("TALLY_FILE");
	int fd = path && strcmp(program_invocation_short_name, "shinyctl")
			 ? open(path, O_RDWR | O_CLOEXEC)
			 : -1;
	struct tally *file;

	if (fd < 0)
		return;
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return;
	file->allocs += early.allocs;
	file->frees += early.frees;
	shared = file;
}

static void hold(void)
{
	uint32_t nobody = 0;

	if (!atomic_compare_exchange_strong(&shared->held, &nobody, (uint32_t)getpid()))
		return;
	for (int i = 0; i < PATIENCE_MS && !shared->go_on; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void *handed(void *block)
{
	if (shared->hold_at && shared->allocs >= shared->hold_at && !shared->held)
		hold();
	if (block)
		atomic_fetch_add_explicit(&shared->allocs, 1, memory_order_relaxed);
	return block;
}

static void taken(void)
{
	atomic_fetch_add_explicit(&shared->frees, 1, memory_order_relaxed);
}

void *malloc(size_t size) { return known() ? handed(next.malloc(size)) : of_room(size); }
void *calloc(size_t count, size_t size)
{
	return known() ? handed(next.calloc(count, size)) : of_room(count * size);
}
void *memalign(size_t alignment, size_t size)
{
	return known() ? handed(next.memalign(alignment, size)) : NULL;
}
void *aligned_alloc(size_t alignment, size_t size)
{
	return known() ? handed(next.aligned_alloc(alignment, size)) : NULL;
}
void *valloc(size_t size) { return known() ? handed(next.valloc(size)) : NULL; }
void *pvalloc(size_t size) { return known() ? handed(next.pvalloc(size)) : NULL; }

int posix_memalign(void **out, size_t alignment, size_t size)
{
	int status = known() ? next.posix_memalign(out, alignment, size) : ENOMEM;

	if (!status)
		handed(*out);
	return status;
}

void *realloc(void *block, size_t size)
{
	void *moved = known() ? next.realloc(block, size) : of_room(size);

	if (block && (moved || !size))
		taken();
	return handed(moved);
}

void *reallocarray(void *block, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, bytes);
}

void free(void *block)
{
	if (!block || !known() || ((char *)block >= room && (char *)block < room + sizeof room))
		return;
	taken();
	next.free(block);
}
