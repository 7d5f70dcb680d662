/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "remote_patch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <shiny/wire/allocator.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../sidecar/snapshot/tracee.h"

enum {
	TRIES = 250,
	PAUSE = 20000000, /* ns: five seconds in all */
	PAGE = 4096,
	RED_ZONE = 128,
	STACK_MOST = 8 << 20, /* bytes that are looked at; the rest belongs to long-ended calls */
	WORDS = 8192,	      /* that are read at a time */
};

struct writing {
	pid_t pid;
	int memory; /* /proc/PID/mem */
	struct shiny_patch *patch;
	uint64_t count, low, high; /* low, high: of the addresses where no thread may be */
};

/* Returns how many bytes were read: to where the memory ends. */
static size_t copy(pid_t pid, uint64_t at, void *out, size_t bytes)
{
	struct iovec to = { out, bytes }, from = { (void *)(uintptr_t)at, bytes };
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

/* ---- where threads are ---- */

static bool is_inside(const struct writing *w, uint64_t address)
{
	if (address <= w->low || address >= w->high)
		return false;
	for (uint64_t i = 0; i < w->count; i++)
		if (address > w->patch[i].entry &&
		    address < w->patch[i].entry + w->patch[i].displaced)
			return true;
	return false;
}

static bool is_clear(const struct writing *w, const struct tracee_thread *thread)
{
	uint64_t at = (thread->registers.rsp - RED_ZONE) & ~UINT64_C(7), end = at + STACK_MOST;
	static uint64_t word[WORDS];

	if (is_inside(w, thread->registers.rip))
		return false;
	for (size_t bytes = sizeof(word); at < end && bytes == sizeof(word); at += bytes) {
		bytes = copy(w->pid, at, word, sizeof(word));
		for (size_t i = 0; i < bytes / sizeof(*word); i++)
			if (is_inside(w, word[i]))
				return false;
	}
	return true;
}

static bool all_clear(const struct writing *w, const struct tracee *t)
{
	for (size_t i = 0; i < t->threads.count; i++)
		if (!t->threads.at[i].ended && !is_clear(w, &t->threads.at[i]))
			return false;
	return true;
}

/* ---- writing ---- */

/* Writes a patch's jump, or the bytes from before, if the other bytes are there. */
static bool write_one(const struct writing *w, const struct shiny_patch *p, bool jump)
{
	const uint8_t *from = jump ? p->before : p->jump, *to = jump ? p->jump : p->before;
	uint8_t now[SHINY_PATCH_JUMP];

	if (copy(w->pid, p->entry, now, sizeof(now)) != sizeof(now))
		return false;
	if (memcmp(now, to, sizeof(now)) == 0)
		return true;
	return memcmp(now, from, sizeof(now)) == 0 &&
	       pwrite(w->memory, to, sizeof(now), (off_t)p->entry) == (ssize_t)sizeof(now);
}

static bool write_all(const struct writing *w, bool jumps)
{
	bool ok = true;

	for (uint64_t i = 0; i < w->count && (ok || !jumps); i++)
		ok = write_one(w, &w->patch[i], jumps) && ok;
	if (!ok && jumps)
		write_all(w, false);
	return ok;
}

static struct shiny_err *stop_and_write(const struct writing *w, bool jumps)
{
	static const struct timespec pause = { .tv_nsec = PAUSE };

	for (unsigned n = 0; n < TRIES; n++) {
		struct tracee held;
		bool clear, ok;

		SHINY_TRY(tracee_stop((uint32_t)w->pid, &held));
		clear = all_clear(w, &held);
		ok = clear && write_all(w, jumps);
		tracee_release(&held);
		if (clear)
			return ok ? NULL
				  : shiny_err(SHINY_ERR_OTHER,
					      "process %d: its code cannot be written, or is not "
					      "what it was",
					      (int)w->pid);
		nanosleep(&pause, NULL);
	}
	return shiny_err(SHINY_ERR_OTHER,
			 "process %d: its threads were always where code is to be changed",
			 (int)w->pid);
}

/* Reads the list, and checks it. */
static bool read_list(const struct remote_patches *patches, struct writing *w)
{
	if (patches->count > SHINY_ALLOCATOR_ENTRIES)
		return false;
	w->pid = patches->pid;
	w->count = patches->count;
	w->patch = mem_zero(w->count, sizeof(*w->patch));
	if (copy(w->pid, patches->at, w->patch, w->count * sizeof(*w->patch)) !=
	    w->count * sizeof(*w->patch))
		return false;
	w->low = UINT64_MAX;
	for (uint64_t i = 0; i < w->count; i++) {
		const struct shiny_patch *p = &w->patch[i];

		if (p->entry % PAGE > PAGE - SHINY_PATCH_JUMP)
			return false;
		w->low = p->entry < w->low ? p->entry : w->low;
		w->high = p->entry + p->displaced > w->high ? p->entry + p->displaced : w->high;
	}
	return true;
}

static struct shiny_err *change(const struct remote_patches *patches, bool jumps)
{
	struct writing w = { .memory = -1 };
	struct shiny_err *err = NULL;
	char path[64];

	if (!patches->count)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)patches->pid);
	if (read_list(patches, &w)) {
		w.memory = open(path, O_RDWR | O_CLOEXEC);
		err = w.memory < 0 ? shiny_err_os(errno, "cannot write into process %d",
						  (int)patches->pid)
				   : stop_and_write(&w, jumps);
	} else {
		err = shiny_err(SHINY_ERR_OTHER,
				"process %d: a function of its allocator begins at the end of a "
				"page, and could be left half changed",
				(int)patches->pid);
	}
	if (w.memory >= 0)
		close(w.memory);
	free(w.patch);
	return err;
}

struct shiny_err *remote_patches_write(const struct remote_patches *patches)
{
	return change(patches, true);
}

struct shiny_err *remote_patches_undo(const struct remote_patches *patches)
{
	return change(patches, false);
}
