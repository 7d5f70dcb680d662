/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patcher.c: writes entry patches into the program's code.
 *
 * Runs:      inside: see patcher.h.
 * Signals:   no.
 * Allocates: pages near the code.
 * Threads:   one, and it checks that it is the only one, or the code is of a library not bound yet.
 *
 * The dangers, and what prevents each:
 *  - wrong code: nothing is decoded inside. A real decoder has computed the recipe
 *    (include/shiny/wire/patch.h) from the file; the bytes in memory must be those that it saw, so
 *    a changed file, another tool's patch, or an earlier patch of ours is refused.
 *  - a thread inside the bytes that change: there is only one thread, ours, and it is here.
 *    /proc/self/task says so. Or the code was mapped just now, and nothing leads there yet. Or we
 *    were attached to a program that runs: then whoever attached us writes the jumps, and the bytes
 *    from before at the end, while it holds all threads (src/ctl/run/remote_patch.h).
 *  - writable code: a page is never writable and executable at once. The entry's page is made
 *    writable, the jump is written, the page is made executable again; nothing else of it can run
 *    meanwhile. Stubs are written before their page becomes executable. Where a policy forbids code
 *    pages that were written to, mprotect fails, and earlier patches are undone.
 *  - jumps that do not reach: stubs lie within 2 GiB of all of the code, or nothing begins.
 *
 * Patches stay when recording ends: other threads may be running a stub. Hooks check whether
 * recording is on.
 */
#include "patcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../core/sys.h"

enum {
	PAGE = 4096,
	STUB_BYTES = 16,
	NUMBERED_BYTES = 11,
	BACK_BYTES = 14,
	ENDBR = 4,
	SLOT = 128,
	REACH_STEPS = 4096
};
#define REACH (INT64_C(0x7fff0000))
_Static_assert(STUB_BYTES + ENDBR + SHINY_PATCH_CODE + BACK_BYTES <= SLOT,
	       "a stub and a trampoline fit their slot");

static const uint8_t endbr64[ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa };

static uintptr_t page_of(uintptr_t at)
{
	return at & ~(uintptr_t)(PAGE - 1);
}

static size_t list_bytes(unsigned room)
{
	return room * sizeof(struct shiny_patch);
}

/* True if there is one thread: the directory has two links, and one more a thread (Linux,
 * proc_task_getattr). */
static bool alone(void)
{
	struct stat st;

	return !si_sys6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0, 0, 0) &&
	       st.st_nlink == 3;
}

static bool is_near(uintptr_t at, size_t bytes, uintptr_t start, uintptr_t end)
{
	uintptr_t low = at < start ? at : start, high = at + bytes > end ? at + bytes : end;

	return (int64_t)(high - low) < REACH;
}

bool si_patch_begin_unbound(struct si_patches *p, uintptr_t bias, uintptr_t start, uintptr_t end,
			    unsigned count, struct si_text *why)
{
	size_t bytes = (size_t)count * SLOT + PAGE - 1;

	__builtin_memset(p, 0, sizeof(*p));
	p->bias = bias;
	bytes -= bytes % PAGE;
	if (!count || (int64_t)(end - start) >= REACH) {
		si_text_add(why, "the code is larger than a near jump reaches");
		return false;
	}
	p->patch = count == 1 ? &p->only
			      : si_sys_map(list_bytes(count), PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!p->patch) {
		si_text_add(why, "no memory");
		return false;
	}
	p->room = count;
	start = page_of(start);
	/* the first address is a hint only: if it is taken, the kernel chooses one near
	 * libraries */
	for (unsigned i = 1; i < REACH_STEPS; i++) {
		uintptr_t at = start - (uintptr_t)i * 16 * PAGE;
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | (i > 1 ? MAP_FIXED_NOREPLACE : 0);
		long got;

		if (at > start || (int64_t)(end - at) >= REACH)
			break;
		got = si_sys6(SYS_mmap, (long)at, (long)bytes, PROT_READ | PROT_WRITE, flags, -1,
			      0);
		if (got > 0 && (got == (long)at ||
				(i == 1 && is_near((uintptr_t)got, bytes, start, end)))) {
			p->page = p->next = (uint8_t *)got;
			p->end = p->page + bytes;
			return true;
		}
		if (got > 0) /* too far, or an old kernel that takes the flag for a hint */
			si_sys_unmap((void *)got, bytes);
	}
	si_text_add(why, "no free memory near the code");
	si_patch_abandon(p);
	return false;
}

bool si_patch_begin(struct si_patches *p, uintptr_t bias, uintptr_t start, uintptr_t end,
		    unsigned count, struct si_text *why)
{
	if (alone())
		return si_patch_begin_unbound(p, bias, start, end, count, why);
	si_text_add(why, "other threads run already");
	return false;
}

static void drop_list(struct si_patches *p)
{
	if (p->patch && p->patch != &p->only)
		si_sys_unmap(p->patch, list_bytes(p->room));
	p->patch = NULL;
	p->room = 0;
}

void si_patch_abandon(struct si_patches *p)
{
	if (p->page)
		si_sys_unmap(p->page, (size_t)(p->end - p->page));
	p->page = NULL;
	p->count = 0;
	drop_list(p);
}

void si_patch_gone(const struct si_patches *p)
{
	si_sys_unmap(p->page, (size_t)(p->end - p->page));
}

static void put32(uint8_t *at, int64_t value)
{
	int32_t word = (int32_t)value;

	__builtin_memcpy(at, &word, sizeof(word));
}

/* Writes jmp *0(%rip), and the target behind it. */
static uint8_t *put_far_jump(uint8_t *at, uintptr_t target)
{
	at[0] = 0xff;
	at[1] = 0x25;
	put32(at + 2, 0);
	__builtin_memcpy(at + 6, &target, sizeof(target));
	return at + BACK_BYTES;
}

static bool reaches(int64_t distance)
{
	return distance >= -REACH && distance <= REACH;
}

static bool makes_sense(const struct shiny_patch_recipe *r)
{
	if ((r->skip != 0 && r->skip != ENDBR) || r->call > 1 ||
	    (r->call && (r->skip || r->displaced != SHINY_PATCH_JUMP || r->expected[0] != 0xe8)) ||
	    r->displaced < SHINY_PATCH_JUMP || r->expected_bytes > SHINY_PATCH_EXPECTED ||
	    r->expected_bytes < r->skip + r->displaced || !r->code_bytes ||
	    r->code_bytes > SHINY_PATCH_CODE || r->fixup_count > SHINY_PATCH_FIXUPS)
		return false;
	for (unsigned i = 0; i < r->fixup_count; i++)
		if (r->fixups[i].at + 4 > r->fixups[i].next || r->fixups[i].next > r->code_bytes)
			return false;
	return true;
}

static bool is_known(const struct si_patches *p, const uint8_t *entry)
{
	for (unsigned i = 0; entry <= p->highest && i < p->count; i++)
		if (p->patch[i].entry == (uintptr_t)entry)
			return true;
	return false;
}

/* Prepares a patch, except for the stub's own code, which the caller has written. */
static void *add(struct si_patches *p, const struct shiny_patch_recipe *r, struct si_text *why)
{
	uint8_t *entry = (uint8_t *)(p->bias + r->vaddr), *stub = p->next,
		*trampoline = stub + STUB_BYTES, *code = trampoline + ENDBR;
	struct shiny_patch *patch = &p->patch[p->count];

	if (!makes_sense(r)) {
		si_text_add(why, "its recipe is damaged");
		return NULL;
	}
	if (!si_same((const char *)entry, (const char *)r->expected, r->expected_bytes)) {
		si_text_add(why, "its code in memory is not that of the file");
		return NULL;
	}
	entry += r->skip;
	__builtin_memcpy(trampoline, endbr64, ENDBR);
	__builtin_memcpy(code, r->code, r->code_bytes);
	for (unsigned i = 0; i < r->fixup_count; i++) {
		const struct shiny_patch_fixup *f = &r->fixups[i];
		int64_t distance = (int64_t)(p->bias + f->target - (uintptr_t)(code + f->next));

		if (!reaches(distance)) {
			si_text_add(why, "what it refers to is too far away");
			return NULL;
		}
		put32(code + f->at, distance);
	}
	put_far_jump(code + r->code_bytes, (uintptr_t)entry + r->displaced);
	if (!reaches(stub - (entry + SHINY_PATCH_JUMP))) {
		si_text_add(why, "it is too far from its stub");
		return NULL;
	}
	if (is_known(p, entry)) {
		si_text_add(why, "it is patched twice");
		return NULL;
	}
	patch->entry = (uintptr_t)entry;
	patch->displaced = r->displaced;
	__builtin_memcpy(patch->before, entry, SHINY_PATCH_JUMP);
	patch->jump[0] = r->call ? 0xe8 : 0xe9;
	put32(patch->jump + 1, stub - (entry + SHINY_PATCH_JUMP));
	p->highest = entry > p->highest ? entry : p->highest;
	p->next += SLOT;
	p->count++;
	return trampoline;
}

static bool has_room(const struct si_patches *p, struct si_text *why)
{
	if (p->count < p->room && (size_t)(p->end - p->next) >= SLOT)
		return true;
	si_text_add(why, "more entries than there is room for");
	return false;
}

void *si_patch_add(struct si_patches *p, const struct shiny_patch_recipe *r, void *hook,
		   struct si_text *why)
{
	if (!has_room(p, why))
		return NULL;
	put_far_jump(p->next, (uintptr_t)hook);
	return add(p, r, why);
}

bool si_patch_gate(struct si_patches *p, void *hook, struct si_text *why)
{
	if (!has_room(p, why))
		return false;
	p->gate = p->next;
	put_far_jump(p->gate, (uintptr_t)hook);
	p->next += SLOT;
	return true;
}

/* The stub is: push %rbp; push $number; jmp gate */
void *si_patch_add_numbered(struct si_patches *p, const struct shiny_patch_recipe *r,
			    uint32_t number, struct si_text *why)
{
	uint8_t *stub = p->next;

	if (!has_room(p, why) || number > INT32_MAX)
		return NULL;
	stub[0] = 0x55;
	stub[1] = 0x68;
	put32(stub + 2, number);
	stub[6] = 0xe9;
	put32(stub + 7, p->gate - (stub + NUMBERED_BYTES));
	return add(p, r, why);
}

/* ---- writing ---- */

/*
 * Patches [first, end) of the list, which lie on the adjoining pages [start, stop). A file of some
 * thousand entries has them on some hundred pages: patching one at a time would take two calls and
 * a flush of the processor's address cache each.
 */
struct stretch {
	unsigned first, end;
	uintptr_t start, stop;
};

static struct stretch stretch_at(const struct si_patches *p, unsigned first)
{
	struct stretch s = { .first = first, .end = first };

	for (; s.end < p->count; s.end++) {
		uintptr_t entry = p->patch[s.end].entry, start = page_of(entry),
			  stop = page_of(entry + SHINY_PATCH_JUMP - 1) + PAGE;

		if (s.end > first && (start < s.start || start > s.stop))
			break;
		s.start = s.end > first ? s.start : start;
		s.stop = s.end > first && s.stop > stop ? s.stop : stop;
	}
	return s;
}

static long protect(const struct stretch *s, int prot)
{
	return si_sys6(SYS_mprotect, (long)s->start, (long)(s->stop - s->start), prot, 0, 0, 0);
}

/* Writes the jumps, or the bytes that were there before. */
static long write_stretch(const struct si_patches *p, const struct stretch *s, bool jumps)
{
	long failed = protect(s, PROT_READ | PROT_WRITE);

	for (unsigned i = s->first; !failed && i < s->end; i++)
		__builtin_memcpy((void *)(uintptr_t)p->patch[i].entry,
				 jumps ? p->patch[i].jump : p->patch[i].before, SHINY_PATCH_JUMP);
	/* also after a failure: the program cannot run unless its code is executable */
	return protect(s, PROT_READ | PROT_EXEC) ?: failed;
}

/* Makes stubs and trampolines code. */
static long finish_stubs(const struct si_patches *p)
{
	return si_sys6(SYS_mprotect, (long)p->page, p->end - p->page, PROT_READ | PROT_EXEC, 0, 0,
		       0);
}

bool si_patch_leave(struct si_patches *p, struct si_text *why)
{
	if (!finish_stubs(p))
		return true;
	si_patch_abandon(p);
	si_text_add(why, "the system does not let code be written");
	return false;
}

bool si_patch_commit(struct si_patches *p, struct si_text *why)
{
	long failed = finish_stubs(p);
	struct stretch s = { .end = 0 };
	unsigned done = 0;

	while (!failed && done < p->count) {
		s = stretch_at(p, done);
		failed = write_stretch(p, &s, true);
		done = s.end;
	}
	if (!failed) {
		drop_list(p);
		return true;
	}
	/* includes the one that failed: it may be written in part */
	for (unsigned i = 0; i < done; i = s.end) {
		s = stretch_at(p, i);
		write_stretch(p, &s, false);
	}
	si_patch_abandon(p);
	si_text_add(why, "the system does not let code be changed");
	return false;
}
