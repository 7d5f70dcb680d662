/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.c: creates the session directory and the ring file, and maps the ring. It runs once, in
 * the constructor, because a program may enter a sandbox afterwards; when it returns, no descriptor
 * is open (programs close or reuse descriptors that they did not open) and only the mapping
 * remains.
 *
 * A chunk that a writer may take has its space really allocated (fallocate): storing to a hole of a
 * full tmpfs is a SIGBUS in the target. A file system without fallocate is refused, as glibc's
 * emulation of it writes every page. Allocating and freeing tmpfs space takes time: 64 MiB took 16
 * ms here, 4 MiB 1.2 ms. So only the first part is allocated at once; the other chunks are ABSENT
 * until the sidecar, which has a descriptor and time, grows the ring. Without a sidecar, the whole
 * ring is allocated before the constructor returns.
 *
 * fallocate clears no page: the kernel clears it at the first touch, which is a fault. So one more
 * call clears and maps the first MADE bytes of chunks: most programs write less, and for 4 MiB that
 * call alone was a third of their start-up time. Later pages cost the thread that fills them no
 * more than they would have cost here.
 *
 * The first part's size. A session that runs already has a sidecar, which looks at a new ring when
 * the directory reports it: SOON bytes are 16,000 events, more than most programs of a build or a
 * script ever write. A session's first process has to wait until the sidecar has started, and one
 * that must not wait (SHINY_ON_FULL=drop) would lose the events before the first look: these get
 * AT_ONCE bytes (half as much where space is short, down to LEAST, and then the next candidate
 * directory).
 *
 * Half of the bytes are small chunks: in the default 64 MiB, 7,000 threads that write little have
 * one each, and threads that write much share 470 large ones. A writer takes a chunk of the other
 * size where its own has run out (chunk.c).
 */
#include "attach.h"

#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../core/clock.h"
#include "../core/env.h"
#include "guest.h"
#include "../core/limits.h"
#include "../core/sys.h"


#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	PAGE = 4096,
	LEAST = 1 << 20,
	AT_ONCE = 4 << 20,
	SOON = 256 << 10,
	MADE = 768 << 10,
	TRIES = 64,
	PROCESSES_LEAST = 256,
	THREADS_LEAST = 1024, /* slots in the smallest ring; in any ring, slots with space from the
	                       * start */
	BYTES_A_PROCESS = 4096,
	BYTES_A_THREAD = 2048, /* bytes of the ring for each slot */
	SMALLS_MAX = 64 * 1024,
};
static uint64_t ring_bytes;
static int ring_fd = -1; /* open from si_attach to si_attach_finish */

static bool ours(int fd)
{
	struct stat st;

	return si_sys(SYS_fstat, fd, &st, 0) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == (uid_t)si_sys(SYS_geteuid, 0, 0, 0) && (st.st_mode & 077) == 0;
}

static int open_directory(int at, const char *path)
{
	int fd = si_sys_open(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);

	if (fd >= 0 && !ours(fd)) {
		si_sys_close(fd);
		return -EPERM;
	}
	return fd;
}

/* Opens ROOT/shiny-<uid>/<pid>.<ticks>. Both directories are created with mode 0700, or found to be
 * ours. */
static int make_session(const char *root, char directory[SI_DIRECTORY])
{
	struct si_text path;
	int fd;

	si_text_init(&path, directory, SI_DIRECTORY);
	si_text_add(&path, root);
	si_text_add(&path, "/shiny-");
	si_text_number(&path, (uint64_t)si_sys(SYS_geteuid, 0, 0, 0));
	si_sys(SYS_mkdir, directory, 0700, 0);
	fd = open_directory(AT_FDCWD, directory);
	if (fd < 0)
		return fd;
	si_sys_close(fd);
	si_text_add(&path, "/");
	si_text_number(&path, si_sys_getpid());
	si_text_add(&path, ".");
	si_text_number(&path, si_ticks());
	if (path.used + 1 >= path.room)
		return -ENAMETOOLONG;
	fd = (int)si_sys(SYS_mkdir, directory, 0700, 0);
	return fd < 0 ? fd : open_directory(AT_FDCWD, directory);
}

static uint32_t between(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

/* Returns where a table of so many bytes begins, and advances *at to the next page. */
static uint64_t place(uint64_t *at, uint64_t bytes)
{
	uint64_t here = *at;

	*at = (here + bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	return here;
}

/* Computes the offsets of a ring of about `bytes`, tables included. */
static void lay_out(struct shiny_header *h, uint64_t bytes)
{
	uint64_t at = PAGE, larges;

	h->small_bytes = SHINY_SMALL_BYTES;
	h->chunk_bytes = SHINY_CHUNK_BYTES;
	h->processes = between(bytes / BYTES_A_PROCESS, PROCESSES_LEAST, SHINY_PROCESSES_MAX);
	h->threads = between(bytes / BYTES_A_THREAD, THREADS_LEAST, SHINY_THREADS_MAX);
	h->notices_at = place(&at, sizeof(struct shiny_notice) * SHINY_NOTICES);
	h->processes_at = place(&at, sizeof(struct shiny_process) * h->processes);
	h->threads_at = place(&at, sizeof(struct shiny_thread) * h->threads);
	h->states_at = at;
	h->smalls = between((bytes - at) / 2 / SHINY_SMALL_BYTES, 0, SMALLS_MAX);
	larges = (bytes - at) / SHINY_CHUNK_BYTES; /* an upper bound */
	place(&at, sizeof(uint64_t) * (h->smalls + larges));
	h->smalls_at = place(&at, (uint64_t)h->smalls * SHINY_SMALL_BYTES);
	h->chunks_at = at;
	larges = bytes > at ? (bytes - at) / SHINY_CHUNK_BYTES : 0;
	h->chunks = h->smalls + (uint32_t)larges;
	h->ring_bytes = at + larges * SHINY_CHUNK_BYTES;
}

/* Numbers of chunks that have space from the start. */
struct present {
	uint32_t smalls, larges;
};

/* Allocates `bytes` in all for the tables' beginnings and for chunks: a quarter of them for small
 * ones. Returns 0 or -errno. */
static long allocate(int fd, const struct shiny_header *plan, uint64_t bytes,
		     struct present *present)
{
	uint64_t slots = plan->threads_at + sizeof(struct shiny_thread) * THREADS_LEAST;
	const struct { uint64_t from, to; } tables[] = {
		{ 0, plan->processes_at + sizeof(struct shiny_process) * PROCESSES_LEAST },
		{ plan->threads_at, slots },
		{ plan->states_at, plan->smalls_at },
	};
	uint32_t larges = plan->chunks - plan->smalls;
	long why = 0;

	present->smalls = between(bytes / 4 / SHINY_SMALL_BYTES, 0, plan->smalls);
	present->larges = between((bytes - bytes / 4) / SHINY_CHUNK_BYTES, 0, larges);
	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables) && why == 0; i++)
		why = si_sys6(SYS_fallocate, fd, 0, (long)tables[i].from,
			      (long)(tables[i].to - tables[i].from), 0, 0);
	if (why == 0 && present->smalls)
		why = si_sys6(SYS_fallocate, fd, 0, (long)plan->smalls_at,
			      (long)present->smalls * SHINY_SMALL_BYTES, 0, 0);
	if (why == 0 && present->larges)
		why = si_sys6(SYS_fallocate, fd, 0, (long)plan->chunks_at,
			      (long)present->larges * SHINY_CHUNK_BYTES, 0, 0);
	return why;
}

/* Returns how many bytes of the ring we allocate. `joins`: the session existed before this
 * process. */
static uint64_t first_part(const struct shiny_header *plan, bool joins)
{
	uint64_t bytes = joins && si_env.on_full == 0 ? SOON : AT_ONCE;

	return bytes < plan->ring_bytes ? bytes : plan->ring_bytes;
}

enum { NAME = 64 };

/* Creates a new file in `dir`; returns its descriptor, or -errno. */
static int make_file(int dir, uint32_t pid, char name[NAME])
{
	int fd = -EEXIST;

	for (unsigned n = 0; n < TRIES && fd == -EEXIST; n++) {
		struct si_text t;

		si_text_init(&t, name, NAME);
		si_text_add(&t, SHINY_RING_PREFIX);
		si_text_number(&t, pid);
		si_text_add(&t, ".");
		si_text_number(&t, n);
		fd = si_sys_open(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				 0600);
	}
	return fd;
}

/* Zeroes and maps at most `most` bytes of chunks in one call, which saves a fault at each page's
 * first record. Before Linux 5.14 the call fails, and the faults happen. */
static void make_pages(char *at, uint64_t bytes, uint64_t most)
{
	si_sys(SYS_madvise, at, bytes < most ? bytes : most, MADV_POPULATE_WRITE);
}

/* Allocates the first part of the new file `fd`, locks and maps it. Returns the mapping, or NULL
 * with `*why` = -errno. */
static struct shiny_header *fill_file(int fd, bool joins, struct shiny_header *plan,
				      struct present *present, long *why)
{
	struct shiny_header *h = NULL;

	/* before the mapping, so that a process that sees the file sees it locked (wire.h); the
	 * mapping keeps the description, and the lock */
	*why = si_sys(SYS_flock, fd, LOCK_SH | LOCK_NB, 0);
	lay_out(plan, si_limits_ring(si_env.ring));
	for (uint64_t bytes = first_part(plan, joins); *why == 0; bytes /= 2) {
		*why = allocate(fd, plan, bytes, present);
		if (*why == 0) {
			*why = si_sys(SYS_ftruncate, fd, plan->ring_bytes, 0);
			break;
		}
		/* an incomplete allocation would stay otherwise */
		if ((*why == -ENOSPC || *why == -EDQUOT || *why == -EFBIG) && bytes / 2 >= LEAST)
			*why = si_sys(SYS_ftruncate, fd, 0, 0);
	}
	if (*why == 0) {
		h = si_sys_map(plan->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
		*why = h ? 0 : -ENOMEM;
	}
	if (h) {
		ring_fd = fd;
		ring_bytes = plan->ring_bytes;
		make_pages((char *)h + plan->smalls_at,
			   (uint64_t)present->smalls * SHINY_SMALL_BYTES, MADE / 4);
		make_pages((char *)h + plan->chunks_at,
			   (uint64_t)present->larges * SHINY_CHUNK_BYTES, MADE - MADE / 4);
	}
	return h;
}

static void copy_text(char *to, size_t room, const char *from)
{
	struct si_text t;

	si_text_init(&t, to, room);
	si_text_add(&t, from);
}

static void copy_end(char *to, size_t room, const char *from)
{
	size_t bytes = 0;

	while (from && from[bytes])
		bytes++;
	copy_text(to, room, from ? from + (bytes < room ? 0 : bytes + 1 - room) : "");
}

static void read_boot_id(uint8_t id[16])
{
	char text[64];
	long n = si_sys_read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	unsigned nibble = 0;

	for (long i = 0; i < n && nibble < 32; i++) {
		char c = text[i];
		unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
						    : 16;

		if (v < 16) {
			id[nibble / 2] = (uint8_t)(id[nibble / 2] << 4 | v);
			nibble++;
		}
	}
}

/*
 * Reads ticks and boottime at one moment: of four pairs it keeps the one that took least time. The
 * first call of all faults in the clock's pages, and any may be interrupted; an error here shifts
 * our times against another clock's.
 */
static void read_pair(uint64_t *ticks, uint64_t *boottime)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = si_ticks(), time = si_clock_ns(CLOCK_BOOTTIME),
			 after = si_ticks();

		if (after - before < least) {
			least = after - before;
			*ticks = before + least / 2;
			*boottime = time;
		}
	}
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	long why = si_sys6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&st, 0, 0, 0);

	return why == 0 ? st.st_ino : 0;
}

static void fill_header(struct shiny_header *h, const struct shiny_header *plan,
			const struct si_start *start, const char *executable)
{
	struct si_text command;

	h->magic = SHINY_MAGIC;
	h->version = SHINY_VERSION;
	h->header_bytes = sizeof(*h);
	h->layout = shiny_layout();
	h->ring_bytes = plan->ring_bytes;
	h->notices_at = plan->notices_at;
	h->processes_at = plan->processes_at;
	h->threads_at = plan->threads_at;
	h->states_at = plan->states_at;
	h->smalls_at = plan->smalls_at;
	h->chunks_at = plan->chunks_at;
	h->processes = plan->processes;
	h->threads = plan->threads;
	h->processes_ready = PROCESSES_LEAST;
	h->threads_ready = THREADS_LEAST;
	h->smalls = plan->smalls;
	h->chunks = plan->chunks;
	h->chunk_hint[1] = plan->smalls;
	h->small_bytes = plan->small_bytes;
	h->chunk_bytes = plan->chunk_bytes;
	h->clock = si_clock_kind();
	h->ticks_per_second = h->clock == SHINY_CLOCK_MONOTONIC ? 1000000000u : 0;
	h->pid = plan->pid;
	h->pid_namespace = pid_namespace();
	h->depth = si_env.unwind != SI_UNWIND_CALLER ? si_env.depth : 1;
	h->free_depth =
		si_env.unwind != SI_UNWIND_CALLER || si_env.free_depth == 0 ? si_env.free_depth : 1;
	h->recording = si_env.start == 0;
	__builtin_memcpy(h->boot_id, plan->boot_id, sizeof(h->boot_id));
	copy_text(h->executable, sizeof(h->executable), executable);
	/* a loader started as the program puts the name of the program that it loads there */
	if (getauxval(AT_BASE))
		copy_end(h->started_as, sizeof(h->started_as),
			 (const char *)getauxval(AT_EXECFN));
	si_text_init(&command, h->command, sizeof(h->command));
	for (int i = 0; i < start->argc && start->argv[i]; i++) {
		si_text_add(&command, start->argv[i]);
		si_text_bytes(&command, "", 1);
	}
}

void si_attach_begins(void)
{
	si_ring.header->start_realtime = si_clock_ns(CLOCK_REALTIME);
	read_pair(&si_ring.header->start_ticks, &si_ring.header->start_boottime);
}

static void note_failure(struct si_text *notes, const char *where, long why)
{
	si_text_add(notes, "no ring in ");
	si_text_add(notes, where);
	si_text_add(notes, ": error ");
	si_text_number(notes, (uint64_t)-why);
	si_text_add(notes, "\n");
}

/* Notes that the session of the environment can't be reached and its sidecar has not answered. */
static void note_session(struct si_text *notes, const char *executable, int why)
{
	si_text_add(notes, executable);
	si_text_add(notes, " (pid ");
	si_text_number(notes, si_sys_getpid());
	si_text_add(notes, ") cannot join the session of its environment, SHINY_SESSION=");
	si_text_add(notes, si_env.session);
	si_text_add(notes, why == -ENOENT ? ": it is gone" :
			   why == -EACCES || why == -EPERM
				? ": it is not a directory of this user's with mode 0700"
				: ": it is no directory that can be used");
	si_text_add(notes, ", and no sidecar of it answers. Unset SHINY_SESSION, or start the "
			   "program by a `shinyctl run` of its own\n");
}

/* `dir` < 0: the sidecar creates the file in the session's directory. */
static bool attach_in(int dir, bool joins, const char *directory, const struct si_start *start,
		      const char *executable, struct si_text *notes)
{
	struct shiny_header plan = { .pid = si_sys_getpid() }, *h = NULL;
	struct present present = { 0 };
	char name[NAME];
	int fd = dir >= 0 ? make_file(dir, plan.pid, name) : si_guest_ring(directory, plan.boot_id);
	long why = fd;

	if (fd >= 0)
		h = fill_file(fd, joins, &plan, &present, &why);
	if (!h) {
		note_failure(notes, directory, why);
		if (fd >= 0 && dir >= 0)
			si_sys6(SYS_unlinkat, dir, (long)name, 0, 0, 0, 0);
		if (fd >= 0)
			si_sys_close(fd);
		return false;
	}
	if (dir >= 0)
		read_boot_id(plan.boot_id);
	fill_header(h, &plan, start, executable);
	si_ring.notices = (struct shiny_notice *)((char *)h + plan.notices_at);
	si_ring.processes = (struct shiny_process *)((char *)h + plan.processes_at);
	si_ring.threads = (struct shiny_thread *)((char *)h + plan.threads_at);
	si_ring.process_count = plan.processes;
	si_ring.thread_count = plan.threads;
	si_ring.chunks = shiny_chunks(h);
	si_ring.header = h;
	si_attach_begins();
	for (uint32_t i = 0; i < plan.chunks; i++) /* before [ready]: no other process reads it
	                                            * yet */
		if (i < plan.smalls ? i >= present.smalls : i - plan.smalls >= present.larges)
			si_ring.chunks.states[i] = SHINY_CHUNK_STATE(SHINY_CHUNK_ABSENT, 0, 0);
	return true;
}

void si_attach_finish(bool served, struct si_text *notes)
{
	struct shiny_header *h = si_ring.header;

	if (!served) {
		long why = si_sys6(SYS_fallocate, ring_fd, 0, 0, (long)h->ring_bytes, 0, 0);

		if (why) {
			note_failure(notes, "full size", why);
		} else {
			h->processes_ready = si_ring.process_count;
			h->threads_ready = si_ring.thread_count;
			for (uint32_t i = 0; i < si_ring.chunks.count; i++)
				if (SHINY_CHUNK_PHASE(si_ring.chunks.states[i]) ==
				    SHINY_CHUNK_ABSENT)
					shiny_chunk_grow(h, &si_ring.chunks, i, i + 1);
		}
	}
	si_ring.served = served;
	si_sys_close(ring_fd);
	ring_fd = -1;
}

void si_attach_end(void)
{
	si_sys6(SYS_mmap, (long)si_ring.header, (long)ring_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static const char *variable(char *const *environment, const char *name, size_t bytes)
{
	for (; environment && *environment; environment++)
		if (si_same(*environment, name, bytes) && (*environment)[bytes] == '=')
			return *environment + bytes + 1;
	return NULL;
}

static bool has_room(const char *path)
{
	struct statfs fs;

	return si_sys(SYS_statfs, path, &fs, 0) == 0 &&
	       (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= SHINY_ROOT_ROOM;
}

bool si_attach(const struct si_start *start, const char *executable, struct si_text *notes,
	       char directory[SI_DIRECTORY])
{
	enum { ROOTS = 3 };
	const char *roots[ROOTS] = { "/dev/shm", variable(start->environment, "TMPDIR", 6),
				     "/tmp" };
	bool done = false;

	if (si_env.session[0]) {
		int dir = open_directory(AT_FDCWD, si_env.session);

		copy_text(directory, SI_DIRECTORY, si_env.session);
		done = attach_in(dir, true, directory, start, executable, notes);
		if (dir < 0 && !done)
			note_session(notes, executable, dir);
		si_ring.guest = done && dir < 0;
		if (dir >= 0)
			si_sys_close(dir);
		/* no sidecar would ever read a session of its own */
		if (done || si_env.collect != 0)
			return done;
	}
	for (size_t n = 0; n < 2 * ROOTS && !done; n++) {
		size_t i = n % ROOTS;
		int dir;

		/* first the roots with enough room; then any */
		if (!roots[i] || roots[i][0] != '/' || (n < ROOTS) != has_room(roots[i]))
			continue;
		dir = make_session(roots[i], directory);
		if (dir < 0) {
			note_failure(notes, roots[i], dir);
			continue;
		}
		done = attach_in(dir, false, directory, start, executable, notes);
		si_sys_close(dir);
		if (!done)
			si_sys(SYS_rmdir, directory, 0, 0);
	}
	return done;
}
