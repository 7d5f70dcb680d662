/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_map.c: mappings, their protection and their names, and the program break, where the program
 * (or its allocator, in another library) calls for them. glibc's own malloc, pthread_create and the
 * loader map without passing here: the sidecar finds those in /proc/PID/smaps.
 *
 * Runs:      inside, in place of mmap, munmap, mprotect, …
 * Signals:   as the real functions.
 * Allocates: nothing.
 * Threads:   any.
 *
 * Before the real functions are known we make the system call ourselves and look nothing up: an
 * allocator maps its first pages under a lock, and dlsym allocates when a name does not exist.
 * (Chromium's would wait for itself.)
 *
 * Order. A call is recorded after it has succeeded. The memory that it unmapped may belong to
 * another thread by then, whose record can even come first. So records of calls that unmap memory
 * also say when the call began: it does not apply to memory mapped later than that.
 *
 * Names. Programs name their anonymous memory with prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME):
 * Chromium names PartitionAlloc's memory and V8's. A kernel without that feature answers EINVAL,
 * but we still record the name. As the kernel then has not checked the pointer, we read the name
 * only if it lies in a module, as literals do, or in the caller's stack.
 *
 * Early. An allocator that starts before the engine reserves its memory before we can record
 * (Chromium's pools of 32 GiB: by the first malloc of all). A small table stores the first calls,
 * and si_map_replay records them when the engine runs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../core/clock.h"
#include "hooks.h"
#include "readable.h"
#include "../unwind/modules.h"
#include "../record/process.h"
#include "../core/sys.h"
#include "../record/thread.h"
#include "../record/wait.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PR_SET_VMA_ANON_NAME
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { EARLY = 64, PAGE_BYTES = 4096 };
static struct {
	struct shiny_map map;
	uintptr_t caller;
	const char *name;
	enum shiny_map_call call;
	bool whole;
} early[EARLY];
static uint32_t early_count;

static bool is_early(void)
{
	return __atomic_load_n(&si_self->life, __ATOMIC_RELAXED) == SI_UNBOOTED;
}

static SI_COLD void keep(const uintptr_t *fp, enum shiny_map_call call, const struct shiny_map *map,
			 const char *name)
{
	uint32_t n = __atomic_fetch_add(&early_count, 1, __ATOMIC_RELAXED);

	if (n >= EARLY) {
		__atomic_store_n(&early_count, EARLY, __ATOMIC_RELAXED);
		return;
	}
	early[n].map = *map;
	early[n].caller = fp[1];
	early[n].name = name;
	early[n].call = call;
	__atomic_store_n(&early[n].whole, true, __ATOMIC_RELEASE);
}

static inline void record(const uintptr_t *fp, enum shiny_map_call call,
			  const struct shiny_map *map)
{
	if (SI_UNLIKELY(is_early()))
		keep(fp, call, map, NULL);
	else
		si_event_map(fp, call, map);
}

static void copy_name(struct shiny_map *map, const char *name)
{
	for (unsigned i = 0; i < SHINY_MAP_NAME_MAX && name[i]; i++)
		map->name[i] = name[i];
}

static bool in_module(const char *name)
{
	return si_module_start((uintptr_t)name) &&
	       si_module_start((uintptr_t)name + SHINY_MAP_NAME_MAX);
}

void si_map_replay(void)
{
	static uintptr_t frame[2]; /* on no stack, so only the caller is recorded */
	uint32_t count = __atomic_load_n(&early_count, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < EARLY; i++) {
		if (!__atomic_load_n(&early[i].whole, __ATOMIC_ACQUIRE))
			continue;
		if (early[i].call != SHINY_MAP_NAME)
			early[i].map.begun = 0; /* all of them are recorded now, in order */
		else if (early[i].name && in_module(early[i].name))
			copy_name(&early[i].map, early[i].name);
		else
			continue;
		frame[1] = early[i].caller;
		si_event_map(frame, early[i].call, &early[i].map);
	}
}

static int no_such_call(void)
{
	errno = ENOSYS;
	return -1;
}

static long direct(long number, long a, long b, long c, long d, long e, long f)
{
	long result = si_sys_own(number, a, b, c, d, e, f);

	if (result > -4096 && result < 0) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

static void mapped(const uintptr_t *fp, void *at, size_t bytes, int prot, int flags, int fd,
		   off_t offset)
{
	struct shiny_map map = {
		.address = (uintptr_t)at,
		.bytes = bytes,
		.offset = (uint64_t)offset,
		.prot = (uint32_t)prot,
		.flags = (uint32_t)flags,
		.fd = fd,
	};

	if (at == MAP_FAILED)
		return;
	if (!(prot & PROT_READ))
		si_readable_no_more(at, bytes);
	record(fp, SHINY_MAP_MMAP, &map);
}

void *si_hook_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	void *got = si_next.mmap ? si_next.mmap(at, bytes, prot, flags, fd, offset) :
		(void *)direct(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset);

	mapped(SI_FRAME(), got, bytes, prot, flags, fd, offset);
	return got;
}

void *si_hook_mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	void *got = si_next.mmap64 ? si_next.mmap64(at, bytes, prot, flags, fd, offset) :
		(void *)direct(SYS_mmap, (long)at, (long)bytes, prot, flags, fd, offset);

	mapped(SI_FRAME(), got, bytes, prot, flags, fd, offset);
	return got;
}

void *si_hook_mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
	struct shiny_map map = { .bytes = bytes,
				 .old_address = (uintptr_t)old,
				 .old_bytes = old_bytes,
				 .begun = si_ticks(),
				 .flags = (uint32_t)flags,
				 .fd = -1 };
	void *target = NULL, *got;
	va_list more;

	if (flags & MREMAP_FIXED) {
		va_start(more, flags);
		target = va_arg(more, void *);
		va_end(more);
	}
	got = si_next.mremap ? si_next.mremap(old, old_bytes, bytes, flags, target)
			     : (void *)direct(SYS_mremap, (long)old, (long)old_bytes, (long)bytes,
					      flags, (long)target, 0);
	if (got != MAP_FAILED) {
		map.address = (uintptr_t)got;
		record(SI_FRAME(), SHINY_MAP_MREMAP, &map);
	}
	return got;
}

int si_hook_munmap(void *at, size_t bytes)
{
	struct shiny_map map = {
		.address = (uintptr_t)at, .bytes = bytes, .begun = si_ticks(), .fd = -1
	};
	int status = si_next.munmap ? si_next.munmap(at, bytes)
				    : (int)direct(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);

	if (status == 0) {
		si_readable_no_more(at, bytes);
		record(SI_FRAME(), SHINY_MAP_MUNMAP, &map);
	}
	return status;
}

int si_hook_madvise(void *at, size_t bytes, int advice)
{
	struct shiny_map map = {
		.address = (uintptr_t)at, .bytes = bytes, .prot = (uint32_t)advice, .fd = -1
	};
	int status = si_next.madvise ? si_next.madvise(at, bytes, advice) :
		(int)direct(SYS_madvise, (long)at, (long)bytes, advice, 0, 0, 0);

	if (status == 0)
		record(SI_FRAME(), SHINY_MAP_MADVISE, &map);
	return status;
}

static void protected(const uintptr_t *fp, int status, uint64_t begun, void *at, size_t bytes,
		      int prot, bool readable)
{
	struct shiny_map map = { .address = (uintptr_t)at,
				 .bytes = bytes,
				 .begun = begun,
				 .prot = (uint32_t)prot,
				 .fd = -1 };

	if (status != 0)
		return;
	if (!readable)
		si_readable_no_more(at, bytes);
	record(fp, SHINY_MAP_MPROTECT, &map);
}

int si_hook_mprotect(void *at, size_t bytes, int prot)
{
	uint64_t begun = si_ticks();
	int status = si_next.mprotect
			     ? si_next.mprotect(at, bytes, prot)
			     : (int)direct(SYS_mprotect, (long)at, (long)bytes, prot, 0, 0, 0);

	protected(SI_FRAME(), status, begun, at, bytes, prot, prot & PROT_READ);
	return status;
}

int si_hook_pkey_mprotect(void *at, size_t bytes, int prot, int key)
{
	uint64_t begun = si_ticks();
	int status = si_next.pkey_mprotect ? si_next.pkey_mprotect(at, bytes, prot, key)
					   : (int)direct(key < 0 ? SYS_mprotect : SYS_pkey_mprotect,
							 (long)at, (long)bytes, prot, key, 0, 0);

	/* the rights of a protection key may change at any time */
	protected(SI_FRAME(), status, begun, at, bytes, prot, prot & PROT_READ && key <= 0);
	return status;
}

static void named(const uintptr_t *fp, uintptr_t at, size_t bytes, const char *name, bool read)
{
	struct shiny_map map = { .address = at,
				 .bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES,
				 .fd = -1 };
	uintptr_t from = (uintptr_t)name;

	if (is_early()) {
		keep(fp, SHINY_MAP_NAME, &map, name);
		return;
	}
	/* `read`: the kernel has read the name */
	if (!name || !(read || in_module(name) ||
		       (from > (uintptr_t)fp && from >= si_tls.stack_low &&
			from + SHINY_MAP_NAME_MAX <= si_tls.stack_high)))
		return;
	copy_name(&map, name);
	si_event_map(fp, SHINY_MAP_NAME, &map);
}

/* Passes on all arguments that a caller can have passed: most options take fewer and ignore the
 * others. */
int si_hook_prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list more;
	bool leaves;
	int status;

	va_start(more, option);
	a = va_arg(more, unsigned long);
	b = va_arg(more, unsigned long);
	c = va_arg(more, unsigned long);
	d = va_arg(more, unsigned long);
	va_end(more);
	if (option == PR_SET_SECCOMP)
		si_wait_awake();
	leaves = si_clock_forbids_tsc(SYS_prctl, option, (long)a) && si_clock_leave_tsc();
	if (leaves)
		si_count(SHINY_COUNT_TSC_FORBIDDEN);
	status = si_next.prctl
			 ? si_next.prctl(option, a, b, c, d)
			 : (int)direct(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0);
	if (option == PR_SET_SECCOMP && status == 0)
		si_wait_filtered();
	if (leaves && status != 0)
		si_clock_return_to_tsc();
	if (option == PR_SET_NAME && status == 0)
		si_thread_named((const char *)a);
	if (option == PR_SET_VMA && a == PR_SET_VMA_ANON_NAME && (status == 0 || errno == EINVAL))
		named(SI_FRAME(), b, c, (const char *)d, status == 0);
	return status;
}

/* Records that the break moved from `from` to `to`: `bytes` is the growth, `old_bytes` the
 * shrinkage. */
static void break_moved(const uintptr_t *fp, uintptr_t from, uintptr_t to)
{
	struct shiny_map map = {
		.address = to,
		.old_address = from,
		.bytes = to > from ? to - from : 0,
		.old_bytes = to < from ? from - to : 0,
		.fd = -1,
	};

	if (to != from)
		record(fp, SHINY_MAP_BRK, &map);
}

int si_hook_brk(void *end)
{
	/* no system call: libc stores the break */
	uintptr_t from = SI_NEXT(sbrk) ? (uintptr_t)si_next.sbrk(0) : 0;
	int status = SI_NEXT(brk) ? si_next.brk(end) : no_such_call();

	if (status == 0)
		break_moved(SI_FRAME(), from, (uintptr_t)end);
	return status;
}

void *si_hook_sbrk(intptr_t increment)
{
	void *old = SI_NEXT(sbrk) ? si_next.sbrk(increment) : (no_such_call(), (void *)-1);

	if (old != (void *)-1)
		break_moved(SI_FRAME(), (uintptr_t)old, (uintptr_t)old + (uintptr_t)increment);
	return old;
}
