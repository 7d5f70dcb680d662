/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "attach_target.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../sidecar/proc/proc.h"
#include "../../../symbolizer/elf/live_stack.h"
#include "remote_call.h"

enum { TRIES = 250, PAUSE = 20000000 /* ns: five seconds in all */ };

static struct shiny_err *no(pid_t pid, const char *why)
{
	return shiny_err(SHINY_ERR_OTHER, "process %d cannot be attached: %s", (int)pid, why);
}

/* ---- what is mapped ---- */

static bool is_file(const struct stat *st, unsigned major_number, unsigned minor_number,
		    uint64_t inode)
{
	return st->st_ino == inode && major(st->st_dev) == major_number &&
	       minor(st->st_dev) == minor_number;
}

static void widen(struct attach_mapping *all, struct attach_mapping part)
{
	if (!all->end)
		all->start = part.start;
	all->end = part.end;
}

struct own_files {
	struct stat libc, loader, library;
	struct dl_find_object libc_here;
	bool known;
};

static void find_own_files(struct own_files *files, const char *library)
{
	struct dl_find_object loader;

	files->known = _dl_find_object((void *)(uintptr_t)dlopen, &files->libc_here) == 0 &&
		       _dl_find_object((void *)_r_debug.r_ldbase, &loader) == 0 &&
		       stat(files->libc_here.dlfo_link_map->l_name, &files->libc) == 0 &&
		       stat(loader.dlfo_link_map->l_name, &files->loader) == 0 &&
		       stat(library, &files->library) == 0;
}

static bool read_mappings(struct attach_target *t, const struct own_files *files)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t->pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	t->mappings.count = 0;
	t->libc = t->loader = t->ours = (struct attach_mapping){ 0, 0 };
	while (getline(&line, &room, maps) > 0) {
		unsigned major_number, minor_number;
		struct attach_mapping m;
		uint64_t inode;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64, &m.start, &m.end,
			   &major_number, &minor_number, &inode) != 5)
			continue;
		*vec_push(&t->mappings) = m;
		if (is_file(&files->libc, major_number, minor_number, inode))
			widen(&t->libc, m);
		else if (is_file(&files->loader, major_number, minor_number, inode))
			widen(&t->loader, m);
		else if (is_file(&files->library, major_number, minor_number, inode) ||
			 strstr(line, "/libshiny.so"))
			widen(&t->ours, m);
	}
	free(line);
	fclose(maps);
	t->bias = t->libc.start - (uintptr_t)files->libc_here.dlfo_map_start;
	return true;
}

void attach_look_again(struct attach_target *t)
{
	struct own_files files;

	find_own_files(&files, t->library);
	if (!files.known || !read_mappings(t, &files))
		t->ours = (struct attach_mapping){ 0, 0 };
}

void attach_forget(struct attach_target *t)
{
	free(t->mappings.at);
}

/* ---- what can be attached ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_ino == of_b.st_ino &&
	       of_a.st_dev == of_b.st_dev;
}

/* Returns why the program itself can't be attached, or NULL. */
static const char *program_refusal(pid_t pid, char program[PROGRAM_PATH],
				    struct program_look *look)
{
	char path[64];
	struct shiny_err *err;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, program, PROGRAM_PATH - 1);
	if (n < 0)
		return errno == ENOENT ? "it is a thread of the kernel, or has ended"
				       : "it is another user's, or not dumpable";
	program[n] = 0;
	err = program_look(path, look);
	if (err) {
		shiny_err_free(err);
		return "its program's file cannot be read";
	}
	if (look->kind == PROGRAM_STATIC)
		return "it is linked statically: it has no loader";
	if (look->kind == PROGRAM_FOREIGN)
		return "it is a program of another machine or word size";
	if (look->sanitizer)
		return "it is built with a sanitizer: start it with `shinyctl run`";
	return NULL;
}

static const char *state_refusal(pid_t pid)
{
	char text[512];
	const char *at;

	if (proc_read((uint32_t)pid, "stat", text, sizeof(text)) <= 0 || !(at = strrchr(text, ')')))
		return "there is no such process";
	if (at[2] == 'Z' || at[2] == 'X')
		return "it has ended, and its parent has not asked for it";
	if (at[2] == 'T')
		return "it is stopped: SIGCONT first";
	if (at[2] == 't' || proc_tracer((uint32_t)pid))
		return "a debugger holds it";
	return NULL;
}

struct shiny_err *attach_look(pid_t pid, const char *library, struct attach_target *out)
{
	char there[PROGRAM_PATH + 32];
	struct own_files files;
	const char *why = state_refusal(pid);

	*out = (struct attach_target){ .pid = pid };
	snprintf(out->library, sizeof(out->library), "%s", library);
	why = why ?: program_refusal(pid, out->program, &out->look);
	if (why)
		return no(pid, why);
	find_own_files(&files, library);
	if (!files.known)
		return no(pid, "shinyctl's own C library has no name");
	if (!read_mappings(out, &files) || !out->mappings.count)
		return no(pid, "its memory may not be read");
	if (!out->libc.end || !out->loader.end)
		return no(pid, "its C library is another one than shinyctl's, or of another root");
	if (!proc_filtered_as_we((uint32_t)pid))
		return no(pid, "a seccomp filter may forbid what loading needs");
	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, library);
	if (!is_same_file(there, library))
		return no(pid, "it sees other files: libshiny.so is not at the same place there");
	return NULL;
}

/* ---- functions ---- */

uint64_t attach_dlopen(const struct attach_target *t)
{
	return (uintptr_t)dlopen + t->bias;
}

/* libc's own code that a handler returns into: `mov $15, %rax; syscall`. */
uint64_t attach_restorer(const struct attach_target *t)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	struct dl_find_object here;
	const struct link_map *map;
	const ElfW(Ehdr) *header;
	const ElfW(Phdr) *parts;

	if (_dl_find_object((void *)(uintptr_t)dlopen, &here) != 0)
		return 0;
	map = here.dlfo_link_map;
	header = here.dlfo_map_start;
	parts = (const void *)((uintptr_t)header + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const uint8_t *found = parts[i].p_type == PT_LOAD && parts[i].p_flags & PF_X
					       ? memmem((void *)(map->l_addr + parts[i].p_vaddr),
							parts[i].p_memsz, code, sizeof(code))
					       : NULL;

		if (found)
			return (uintptr_t)found + t->bias;
	}
	return 0;
}

uint64_t attach_own_function(const struct attach_target *t, const char *name)
{
	/* in a program that defines shiny_ctl_itself the library does nothing */
	void *library = t->ours.end ? dlopen(t->library, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *function = library ? dlsym(library, name) : NULL;
	struct dl_find_object here;

	if (!function || _dl_find_object(function, &here) != 0)
		return 0;
	return (uintptr_t)function - (uintptr_t)here.dlfo_map_start + t->ours.start;
}

/* ---- a thread and a moment ---- */

static bool is_in(const struct attach_mapping *m, uint64_t address)
{
	return address >= m->start && address < m->end;
}

/* Functions of libc's in which a thread may hold what loading and its hooks need. */
static const char *const holders[] = {
	"malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
	"posix_memalign", "valloc", "pvalloc", "cfree", "malloc_trim", "malloc_info", "mallinfo",
	"mallinfo2", "mallopt", "malloc_stats", "malloc_usable_size", "dl_iterate_phdr", "dlopen",
	"dlmopen", "dlclose", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo", "dlerror",
	"_dl_find_object", "fork", "_Fork", "vfork", "posix_spawn", "posix_spawnp", "exit",
	"quick_exit", "pthread_exit", "pthread_create", "__libc_malloc", "__libc_free",
	"__libc_calloc", "__libc_realloc", "__libc_memalign", "__cxa_finalize", "__libc_freeres",
};

/* True if libc's function at an address has a name, and is none of the holders. */
static bool is_harmless(uint64_t here)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1((void *)here, &info, (void **)&symbol, RTLD_DL_SYMENT) || !info.dli_sname ||
	    !symbol || here - (uintptr_t)info.dli_saddr >= symbol->st_size)
		return false;
	for (size_t i = 0; i < sizeof(holders) / sizeof(*holders); i++)
		if (strcmp(holders[i], info.dli_sname) == 0)
			return false;
	return true;
}

/* System calls that wait for what happens outside of the process. */
static const uint16_t waits[] = {
	SYS_read, SYS_recvfrom, SYS_recvmsg, SYS_accept, SYS_accept4, SYS_poll, SYS_ppoll,
	SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait, SYS_pause, SYS_wait4, SYS_waitid,
	SYS_rt_sigtimedwait, SYS_rt_sigsuspend,
};

struct attach_walk {
	const struct attach_target *target;
	bool program;  /* a frame outside of libc was met */
	bool in_libc;  /* the last frame was libc's */
	uint64_t last; /* its address, here */
	uint64_t inner; /* likewise that of libc's function which the innermost other frame called;
			 * 0: none */
};

/*
 * A run of frames in libc is judged by its outermost: the function that the program called. The
 * outermost run of all has started the thread, and is judged only if there is nothing else.
 */
static bool meet(void *context, uint64_t pc)
{
	struct attach_walk *w = context;
	const struct attach_target *t = w->target;

	if (is_in(&t->loader, pc) || (t->ours.end && is_in(&t->ours, pc)))
		return false;
	if (is_in(&t->libc, pc)) {
		w->in_libc = true;
		w->last = pc - t->bias;
		return true;
	}
	if (w->in_libc && !is_harmless(w->last))
		return false;
	if (w->in_libc && !w->program)
		w->inner = w->last;
	w->in_libc = false;
	w->program = true;
	return true;
}

static const struct attach_mapping *mapping_at(const struct attach_target *t, uint64_t address)
{
	for (size_t i = 0; i < t->mappings.count; i++)
		if (is_in(&t->mappings.at[i], address))
			return &t->mappings.at[i];
	return NULL;
}

static bool has_room(const struct attach_target *t, const struct tracee_thread *thread)
{
	const struct attach_mapping *m = mapping_at(t, thread->registers.rsp);

	/* the main thread's stack grows */
	return m && (thread->tid == t->pid || thread->registers.rsp - m->start >= REMOTE_ROOM);
}

/* True if the thread waits in the kernel, in no call that an allocator makes. */
static bool is_waiting(const struct tracee_thread *thread, const struct attach_walk *w)
{
	static const char condition[] = "pthread_cond_";
	Dl_info info;

	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (thread->registers.orig_rax == waits[i])
			return true;
	return thread->registers.orig_rax == SYS_futex && w->inner &&
	       dladdr((void *)w->inner, &info) && info.dli_sname &&
	       strncmp(info.dli_sname, condition, sizeof(condition) - 1) == 0;
}

static bool is_fit(const struct attach_target *t, struct live_stack *stacks,
		   const struct tracee_thread *thread)
{
	struct attach_walk walk = { .target = t };

	return thread->stopped && !thread->ended && !thread->signal && has_room(t, thread) &&
	       live_stack_walk(stacks, thread->tid, meet, &walk) && walk.program &&
	       (t->look.malloc == PROGRAM_MALLOC_LIBRARY || is_waiting(thread, &walk));
}

static void note_stacks(const struct attach_target *t, const struct tracee *tracee,
			struct shiny_attaching *out)
{
	out->stacks = 0;
	for (size_t i = 0; i < tracee->threads.count; i++) {
		const struct tracee_thread *thread = &tracee->threads.at[i];
		const struct attach_mapping *m =
			thread->stopped ? mapping_at(t, thread->registers.rsp) : NULL;
		uint64_t tls = thread->registers.fs_base, high;

		if (!m || out->stacks == SHINY_ATTACHING_STACKS)
			continue;
		/* a thread's own storage lies above its stack, in the same mapping */
		high = tls > thread->registers.rsp && tls < m->end ? tls : m->end;
		out->stack[out->stacks++] =
			(struct shiny_attaching_stack){ tls, m->start, high & ~UINT64_C(7) };
	}
}

struct shiny_err *attach_choose(const struct attach_target *t, struct shiny_attaching *out,
				struct tracee *chosen)
{
	static const struct timespec pause = { .tv_nsec = PAUSE };
	struct attach_target now = *t;
	struct own_files files;

	now.mappings.at = NULL;
	now.mappings.count = now.mappings.room = 0;
	find_own_files(&files, t->library);
	for (unsigned n = 0; n < TRIES; n++) {
		struct shiny_err *err = tracee_stop((uint32_t)t->pid, chosen);
		struct live_stack *stacks = NULL;
		pid_t tid = 0;

		if (!err && read_mappings(&now, &files) && (stacks = live_stack_open(t->pid))) {
			for (size_t i = 0; i < chosen->threads.count && !tid; i++)
				if (is_fit(&now, stacks, &chosen->threads.at[i]))
					tid = chosen->threads.at[i].tid;
			note_stacks(&now, chosen, out);
		}
		live_stack_close(stacks);
		if (tid)
			tracee_keep(chosen, tid);
		else if (!err)
			tracee_release(chosen);
		if (tid || err) {
			attach_forget(&now);
			return err;
		}
		nanosleep(&pause, NULL);
	}
	attach_forget(&now);
	return no(t->pid, "no thread of it came to a place where a library may be loaded");
}
