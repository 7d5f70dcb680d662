/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.c: the constructor, and what may come before it.
 *
 * We are linked -z initfirst: the loader runs our constructor before all others, libc's included.
 * Otherwise, where no hook of ours is reached by name, the blocks that libraries' constructors
 * allocate would be missed: 947 blocks in every process of Chromium 156. The loader honours one
 * such library, the last that it has mapped, so another one may run first; then boot starts from
 * the first hook. In either case libc may not be initialised: arguments and environment are read
 * where the kernel put them (above __libc_stack_end), not from libc.
 *
 * Everything that needs a file happens here, as no later call would be safe (sys.h). If anything
 * fails, the program runs on unrecorded, and the ring's header or SHINY_DEBUG=on says why.
 *
 * A setuid program (AT_SECURE) is not recorded, nor is one that SHINY_FOLLOW does not name, though
 * its children still inherit the session. shinyctl is never recorded, even if it loads the library
 * (/etc/ld.so.preload names it for every program): it defines shiny_ctl_itself.
 */
#define _GNU_SOURCE
#include "boot.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shiny/wire/allocator.h>
#include <shiny/wire/sample_weight.h>

#include "../patch/inner_allocator.h"
#include "../patch/library_allocator.h"
#include "../patch/python_allocator.h"
#include "attach.h"
#include "../core/clock.h"
#include "../patch/ctor_hooks.h"
#include "../core/env.h"
#include "../hook/gate.h"
#include "../hook/record_event.h"
#include "../hook/hooks.h"
#include "../hook/readable.h"
#include "launch.h"
#include "../core/late.h"
#include "../core/limits.h"
#include "../unwind/main_image.h"
#include "../unwind/modules.h"
#include "../hook/next.h"
#include "../record/nursery.h"
#include "../chromium/oilpan.h"
#include "../chromium/partition_alloc.h"
#include "../chromium/partition_observe.h"
#include "../patch/probe_head.h"
#include "../record/process.h"
#include "../record/sample.h"
#include "../record/slot.h"
#include "../record/snapshot_moment.h"
#include "../core/sys.h"
#include "../record/thread.h"
#include "../record/tid.h"
#include "sanitizer.h"
#include "say_unrecorded.h"
#include "../unwind/unwind.h"

extern void *__libc_stack_end; /* public, of the dynamic loader */

enum { NOT_YET = 0, BOOTING = 1, DONE = 2 };
enum { FILTER_AVOID = 0 }; /* of SHINY_FILTER */
static uint32_t state;
static char directory[SI_DIRECTORY];
static char notes_text[SHINY_TEXT];

enum { STACK_IF_UNLIMITED = 64 << 20, PROGRAM_MOST = 128 << 20 };

static void say(const char *what, const char *more)
{
	char line[1024];
	struct si_text t;

	if (!si_env.debug)
		return;
	si_text_init(&t, line, sizeof(line));
	si_text_add(&t, "shiny[");
	si_text_number(&t, si_sys_getpid());
	si_text_add(&t, "]: ");
	si_text_add(&t, what);
	si_text_add(&t, more);
	if (t.used && line[t.used - 1] != '\n')
		si_text_add(&t, "\n");
	si_sys(SYS_write, 2, line, t.used);
}

/* For SHINY_DEBUG: the time that each part of boot took, as processor time, which other programs on
 * the machine do not lengthen, and as the wall time that the program has to wait. */
static struct {
	struct si_text text;
	uint64_t wall, began, last;
	char words[256];
} parts;

static void begin_parts(void)
{
	si_text_init(&parts.text, parts.words, sizeof(parts.words));
	parts.wall = si_clock_ns(CLOCK_MONOTONIC);
	parts.began = parts.last = si_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Notes the time since the last call under `name`. */
static void part(const char *name)
{
	uint64_t now;

	if (!si_env.debug)
		return;
	now = si_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	si_text_number(&parts.text, (now - parts.last) / 1000);
	si_text_add(&parts.text, name);
	parts.last = now;
}

static void say_parts(void)
{
	if (!si_env.debug)
		return;
	si_text_number(&parts.text, (parts.last - parts.began) / 1000);
	si_text_add(&parts.text, " microseconds, in ");
	si_text_number(&parts.text, (si_clock_ns(CLOCK_MONOTONIC) - parts.wall) / 1000);
	say("processor time: ", parts.words);
}

static void find_arguments(struct si_start *start)
{
	uintptr_t *at = __libc_stack_end;

	start->argc = (int)at[0];
	start->argv = (char **)(at + 1);
	start->environment = si_late ? si_late_environment() : start->argv + start->argc + 1;
}

static void read_start(struct si_start *start)
{
	uintptr_t *at = __libc_stack_end;
	struct { uint64_t soft, hard; } limit = { STACK_IF_UNLIMITED, 0 };

	si_sys6(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
	if (limit.soft > (UINT64_C(1) << 40))
		limit.soft = STACK_IF_UNLIMITED;
	start->stack_high = (uintptr_t)at;
	/* the limit counts from the end of the strings; this is the last of them */
	start->stack_low = getauxval(AT_EXECFN);
	start->stack_low -= start->stack_low > limit.soft ? limit.soft : start->stack_low;
}

static bool has_file(char *const *environment, const struct si_main_image *image,
		     const char *suffix)
{
	char words[SHINY_TEXT];
	struct si_text why;
	int fd;

	si_text_init(&why, words, sizeof(words));
	fd = si_probe_open(environment, image->build_id, image->build_id_bytes, suffix, &why);
	if (fd >= 0)
		si_sys_close(fd);
	return fd != -ENOENT;
}

static bool has_malloc(const struct si_main_image *image)
{
	uintptr_t first = (uintptr_t)si_owner("malloc");

	return first >= image->start && first < image->end;
}

/*
 * True if this module must be prepared now. An executable with a malloc of its own may have heaps
 * that only its file describes, and the classes of SHINY_CTORS are found by its symbols; an
 * engine's own heap may be in any module. Preparation happens once for each build: `shinyctl run`
 * does it for the program that it starts, and boot for one that a script starts or that was
 * preloaded by hand, and for libraries. Any other program does not wait.
 */
static bool is_unprepared(char *const *environment, const struct si_allocator_module *m)
{
	bool own = m->of_engine;

	if (!m->image.build_id_bytes)
		return false;
	if (!m->path && si_ctors_unknown(environment, &m->image))
		return true;
	if (!m->path && has_malloc(&m->image) && !has_file(environment, &m->image, ""))
		own = true;
	return own && !si_allocator_is_prepared(environment, &m->image);
}

/* Returns the path of an unprepared module, from number *from on, which moves behind it; NULL: all
 * are prepared. */
static const char *find_unprepared(char *const *environment, unsigned *from)
{
	const struct si_allocator_module *list;
	unsigned count = si_allocator_modules(&list);

	while (*from < count) {
		const struct si_allocator_module *m = &list[(*from)++];

		if (is_unprepared(environment, m))
			return m->path ?: si_executable;
	}
	return NULL;
}

static void prepare(char *const *environment, struct si_text *notes)
{
	unsigned from = 0, again = 0;
	bool done = true, any = false;
	const char *path;

	si_probe_beside(directory);
	while (done && (path = find_unprepared(environment, &from))) {
		any = true;
		done = si_prepare(directory, path, environment, notes);
	}
	if (!any)
		return;
	path = done ? find_unprepared(environment, &again) : NULL;
	if (path) {
		si_text_add(notes, "not probed: `shinyctl doctor --probe` of ");
		si_text_add(notes, path);
		si_text_add(notes, " says why\n");
	} else if (si_probe_was_beside()) {
		si_text_add(notes, "what was worked out of the executable is for this session "
				   "only: neither XDG_CACHE_HOME nor "
				   "HOME names a directory of yours where it could be kept\n");
	}
	si_attach_begins();
}

static void reach_allocator(char *const *environment, struct shiny_header *h)
{
	char words[SHINY_TEXT];
	struct si_text t, own;

	si_text_init(&t, h->attach_text, sizeof(h->attach_text));
	si_text_init(&own, words, sizeof(words));
	if (si_is_ours(si_owner("malloc"))) {
		h->attach = SHINY_ATTACH_SYMBOLS;
		si_text_add(&t, "the program's malloc and operator new are looked up by name, and "
				"we come first");
		si_allocator_attach(environment, &t);
		return;
	}
	h->attach = si_partition_attach(environment, h->attach_text, sizeof(h->attach_text));
	if (h->attach != SHINY_ATTACH_NONE || si_partition_seen())
		return;
	if (si_allocator_attach(environment, &own)) {
		h->attach = SHINY_ATTACH_ENTRIES;
		si_text_init(&t, h->attach_text, sizeof(h->attach_text));
	} else {
		t.used = strlen(h->attach_text);
		si_text_add(&t, t.used && own.used ? "; " : "");
	}
	si_text_add(&t, words);
}

static struct si_text attach_text(struct shiny_header *h)
{
	struct si_text t = { .at = h->attach_text, .room = sizeof(h->attach_text) };

	while (h->attach_text[t.used])
		t.used++;
	return t;
}

static void add_attached(struct shiny_header *h, const char *words)
{
	struct si_text t = attach_text(h);

	si_text_add(&t, words);
}

static void reach_collected(char *const *environment, struct shiny_header *h)
{
	struct si_text t = attach_text(h);

	si_oilpan_attach(environment, si_partition_checked(), &t);
	si_ctors_attach(environment, &t);
}

static void name_session(void)
{
	struct si_text t;

	si_text_init(&t, si_session_variable, sizeof(si_session_variable));
	si_text_add(&t, "SHINY_SESSION=");
	si_text_add(&t, directory);
}

static void name_below(void)
{
	struct si_text t;
	Dl_info info;

	if (!dladdr(si_bump, &info) || !info.dli_fname ||
	    info.dli_fname[0] != '/')
		return;
	si_text_init(&t, si_library_below, sizeof(si_library_below));
	si_text_add(&t, info.dli_fname);
	si_text_add(&t, "/");
}

/* Finds the path of the mapping that holds `address` in /proc/self/maps; false: there is none. */
static bool find_mapped(uintptr_t address, struct si_text *path)
{
	int fd = si_sys_open(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	uintptr_t edge[2] = { 0, 0 };
	unsigned field = 0; /* start, end, and the fields that blanks separate after them */
	char bytes[1024];
	long n;

	while (fd >= 0 && (n = si_sys(SYS_read, fd, bytes, sizeof(bytes))) > 0)
		for (long i = 0; i < n; i++) {
			char c = bytes[i];
			bool found = field > 1 && address >= edge[0] && address < edge[1];

			if (c == '\n' && found && path->used) {
				si_sys_close(fd);
				return true;
			}
			if (c == '\n')
				field = 0, edge[0] = edge[1] = 0;
			else if (field < 2 && c != '-' && c != ' ')
				edge[field] = edge[field] << 4 |
					      (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
			else if (field < 2)
				field++;
			else if (found && (path->used || c == '/'))
				si_text_bytes(path, &c, 1);
		}
	if (fd >= 0)
		si_sys_close(fd);
	return false;
}

/*
 * Finds the path of the executable. If the loader was started as the program (AT_BASE is 0), it is
 * that of the mapped program; in a root without /proc, the one that exec was given.
 */
static void find_executable(void)
{
	long n = si_sys(SYS_readlink, "/proc/self/exe", si_executable, sizeof(si_executable) - 1);
	struct si_main_image image;
	struct si_text path;

	si_executable[n > 0 ? n : 0] = 0;
	if (n > 0 && getauxval(AT_BASE))
		return;
	si_main_image(&image);
	si_text_init(&path, si_executable, sizeof(si_executable));
	if (!find_mapped(image.start, &path) && getauxval(AT_EXECFN))
		si_text_add(&path, (const char *)getauxval(AT_EXECFN));
}

/* Reports to the session's directory that this program is not recorded, and why. */
static bool step_aside(enum shiny_unrecorded reason, const char *why)
{
	say(reason == SHINY_UNRECORDED_NOT_FOLLOWED ? "not followed: " : "not recorded: ",
	    reason == SHINY_UNRECORDED_NOT_FOLLOWED ? si_executable : why);
	si_unrecorded(si_env.session, reason, si_executable, why);
	return false;
}

/* True if no path leads to the file: it is a memfd's, or deleted. */
static bool is_nameless(const char *path)
{
	static const char memory[] = "/memfd:", deleted[] = " (deleted)";
	size_t bytes = strlen(path), end = sizeof(deleted) - 1;

	return si_same(path, memory, sizeof(memory) - 1) ||
	       (bytes > end && si_same(path + bytes - end, deleted, end));
}

/*
 * Leaves a copy of such a program's file to the sidecar, which otherwise might find the process
 * ended and could not read its names.
 */
static void leave_program(void)
{
	char words[SHINY_PATH_MAX];
	struct si_text path;
	struct stat st;
	long done = 0, n = 1;
	int from, to = -1;

	if (!is_nameless(si_executable) || si_ring.guest)
		return;
	si_text_init(&path, words, sizeof(words));
	si_text_add(&path, directory);
	si_text_add(&path, "/" SHINY_PROGRAM_PREFIX);
	si_text_number(&path, si_sys_getpid());
	from = si_sys_open(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
	if (from >= 0 && si_sys(SYS_fstat, from, &st, 0) == 0 && st.st_size <= PROGRAM_MOST &&
	    (uint64_t)st.st_size == si_limits_ring((uint64_t)st.st_size))
		to = si_sys_open(AT_FDCWD, words,
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (to >= 0 && n > 0 && done < st.st_size) {
		n = si_sys6(SYS_sendfile, to, from, 0, st.st_size - done, 0, 0);
		done += n > 0 ? n : 0;
	}
	if (to >= 0 && done < st.st_size)
		si_sys6(SYS_unlinkat, AT_FDCWD, (long)words, 0, 0, 0, 0);
	if (to >= 0)
		si_sys_close(to);
	if (from >= 0)
		si_sys_close(from);
}

/* Sets settings, clock, limits and the ring; false: this program is not recorded. */
static bool find_ring(const struct si_start *start, struct si_text *notes)
{
	size_t settings_notes;

	find_executable();
	if (!si_env_matches(si_env.follow, si_base_name(si_executable)))
		return step_aside(SHINY_UNRECORDED_NOT_FOLLOWED, "");
	part(" names and settings + ");
	si_clock_choose();
	si_tid_find();
	settings_notes = notes->used;
	if (!si_limits_enter(notes))
		return step_aside(SHINY_UNRECORDED_ASIDE, notes_text + settings_notes);
	if (!si_threads_make() || !si_attach(start, si_executable, notes, directory))
		return step_aside(SHINY_UNRECORDED_NO_RING, notes_text + settings_notes);
	leave_program();
	part(" ring + ");
	return true;
}

static enum si_service find_sidecar(const struct si_start *start, struct si_text *notes)
{
	enum si_service service;

	if (si_ring.guest)
		service = SI_SERVED;
	else if (si_env.collect == 0)
		service = si_launch(directory, start->environment, notes);
	else
		service = si_service(directory);
	if (service != SI_UNSERVED && !si_late)
		prepare(start->environment, notes);
	part(" sidecar + ");
	return service;
}

/* Claims the process's slot, and fills this process's fields in the ring's header. */
static bool claim_slot(const struct si_start *start)
{
	const struct si_descent image = { .parent = -1,
					  .pid = si_sys_getpid(),
					  .parent_pid = (uint32_t)si_sys(SYS_getppid, 0, 0, 0) };
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	if (!si_self_make() || !si_process_claim(&image, true))
		return false;
	si_ring.header->self_at = (uintptr_t)&si_self->slot;
	if (frame >= start->stack_low && frame < start->stack_high) {
		si_stack_is(start->stack_low, start->stack_high, start->stack_low);
	}
	si_writers_say_where(si_ring.header);
	si_ring.header->own[1].start = (uintptr_t)si_self;
	si_ring.header->own[1].end = (uintptr_t)si_self + 4096;
	part(" slot + ");
	return true;
}

static bool start_sample(void)
{
	uint64_t mean = si_env.sample;

	if (!mean && *si_env.budget)
		mean = SHINY_SAMPLE_FINEST;
	if (mean && mean < SHINY_SAMPLE_LEAST)
		mean = SHINY_SAMPLE_LEAST;
	return si_sample_make(mean, si_ring.header);
}

static bool boot(void)
{
	struct si_text notes, libraries;
	char words[SHINY_TEXT];
	struct si_start start;
	enum si_service service;

	si_sanitizer_begin();
	si_text_init(&notes, notes_text, sizeof(notes_text));
	find_arguments(&start);
	si_env_parse(start.environment, &si_env, &notes);
	/* before any other call */
	if (getauxval(AT_SECURE) || (si_env.filter == FILTER_AVOID && si_limits_filtered()))
		return false;
	if (shiny_ctl_itself) /* otherwise each sidecar would start another one */
		return false;
	si_clock_find();
	begin_parts();
	si_gates_open();
	read_start(&start);
	if (!find_ring(&start, &notes))
		return false;
	service = find_sidecar(&start, &notes);
	si_settings.depth = si_ring.header->depth;
	si_settings.free_depth = si_ring.header->free_depth;
	si_settings.types = si_env.types < 2; /* 2 is "off" */
	si_settings.unwind = si_env.unwind;
	si_snapshot_moments(si_env.snapshot);
	si_unwind_start_main = (uintptr_t)si_owner("__libc_start_main");
	if (!claim_slot(&start) || !start_sample())
		return false;
	si_text_init(&libraries, words, sizeof(words));
	if (!si_late) {
		si_library_attach(&libraries);
		si_allocator_attach_libraries(start.environment, &libraries);
		si_partition_observe_libraries(start.environment, &libraries);
		si_python_attach(&libraries);
	}
	si_modules_boot(__builtin_frame_address(0));
	si_readable_boot();
	part(" modules + ");
	if (!si_late) {
		reach_allocator(start.environment, si_ring.header);
		part(" allocator + ");
		reach_collected(start.environment, si_ring.header);
	}
	add_attached(si_ring.header, words);
	part(" patches + ");
	say("ring in ", directory);
	if (!si_late)
		say("allocator: ", si_ring.header->attach_text);
	si_attach_finish(service == SI_SERVED, &notes);
	part(" the rest of the ring = ");
	say_parts();
	if (!si_late) {
		name_session();
		name_below();
	}
	if (notes.used)
		say("note: ", notes_text);
	__builtin_memcpy(si_ring.header->notes, notes_text, sizeof(notes_text));
	__atomic_store_n(&si_ring.header->ready, 1, __ATOMIC_RELEASE); /* [ready] */
	return true;
}

bool si_boot_is_due(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == NOT_YET;
}

const char *si_boot_notes(void)
{
	return notes_text;
}

void si_boot(void)
{
	int saved = errno;
	uint32_t now = NOT_YET;
	bool recorded;
	static struct si_self off = { .life = SI_OFF };

	if (!__atomic_compare_exchange_n(&state, &now, BOOTING, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	recorded = boot();
	si_limits_leave();
	if (recorded) {
		__atomic_store_n(&si_self->life, SI_ALIVE, __ATOMIC_RELEASE);
		si_map_replay();
	} else {
		/* not in the page: a child's zero there would mean "set up" */
		__atomic_store_n(&si_self, &off, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&state, DONE, __ATOMIC_RELEASE);
	errno = saved;
}
