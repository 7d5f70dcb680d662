// SPDX-License-Identifier: Apache-2.0
/*
 * Calls every function that the library puts itself in front of, each in a process of its own, and
 * says what came of it and how many blocks its case made. Cases are named after hook_list.def's
 * ids: a hook without a case does not compile. A case calls the allocator itself, so that a session
 * can tell its blocks by their call site; in the process or thread that a case starts, the same
 * function makes blocks as CHILD.
 *
 *   sweep            all cases; sweep child NAME is what the cases of exec start
 *   truth NAME allocations frees bytes    a line a process
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <shiny/shiny.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" pid_t __vfork(void);
extern char **environ;

enum Part { PARENT, CHILD };
enum { STATUS = 7, PAGE = 4096 };
static struct { unsigned long allocs, frees, bytes; } book;
static const char *self, *current; /* the program's path, the case's name */
static volatile size_t zero = 0, too_much = SIZE_MAX / 2;
static std::nothrow_t quiet;
static const std::align_val_t ALIGN = std::align_val_t(64);

static void say(const char *format, ...)
{
	char line[256];
	va_list list;

	va_start(list, format);
	int length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (write(1, line, (size_t)length) != length)
		_exit(98);
}

static void truth()
{
	say("truth shiny_%s %lu %lu %lu\n", current, book.allocs, book.frees, book.bytes);
}

#define HIDE(p) __asm__ volatile("" : "+r"(p) : : "memory")
/* A block of `size` bytes by `call`; it is written to, as far as it goes. */
#define MADE(p, size, call)                          \
	do {                                         \
		p = (char *)(call);                  \
		HIDE(p);                             \
		if (!p)                              \
			_exit(97);                   \
		memset(p, 0x5a, (size));             \
		book.allocs++, book.bytes += (size); \
	} while (0)
#define ENDED(p, call)        \
	do {                  \
		HIDE(p);      \
		call;         \
		book.frees++; \
	} while (0)
/* Some blocks of malloc's around what a case is about; the last one is kept. */
#define BLOCKS(p)                                               \
	do {                                                    \
		for (int i_ = 1; i_ <= 3; i_++) {               \
			MADE(p, 24 * i_, malloc(24 * i_));      \
			if (i_ < 3)                             \
				ENDED(p, free(p));              \
		}                                               \
	} while (0)
#define CASE(id) static __attribute__((noinline)) void shiny_##id(Part part)
/* A case of a function that allocates: blocks of three sizes, freed. */
#define MAKES(id, make, end)                                           \
	CASE(id)                                                       \
	{                                                              \
		for (size_t n = 8, i = 0; i < 3; n = n * 40 + 8, i++) { \
			char *p;                                       \
			MADE(p, n, make);                              \
			ENDED(p, end);                                 \
		}                                                      \
	}

/* ---- allocation ---- */

MAKES(malloc, malloc(n), free(p))
MAKES(free, malloc(n), free(p))
MAKES(calloc, calloc(n / 8, 8), free(p))
MAKES(memalign, memalign(256, n), free(p))
MAKES(aligned_alloc, aligned_alloc(8, n), free(p))
MAKES(valloc, valloc(n), free(p))
MAKES(pvalloc, pvalloc(n), free(p))
MAKES(reallocarray, reallocarray(NULL, n / 8, 8), free(p))
MAKES(new, ::operator new(n), ::operator delete(p))
MAKES(new_array, ::operator new[](n), ::operator delete[](p))
MAKES(new_nothrow, ::operator new(n, quiet), ::operator delete(p))
MAKES(new_array_nothrow, ::operator new[](n, quiet), ::operator delete[](p))
MAKES(new_aligned, ::operator new(n, ALIGN), ::operator delete(p, ALIGN))
MAKES(new_array_aligned, ::operator new[](n, ALIGN), ::operator delete[](p, ALIGN))
MAKES(new_aligned_nothrow, ::operator new(n, ALIGN, quiet), ::operator delete(p, ALIGN))
MAKES(new_array_aligned_nothrow, ::operator new[](n, ALIGN, quiet), ::operator delete[](p, ALIGN))
MAKES(delete, ::operator new(n), ::operator delete(p))
MAKES(delete_array, ::operator new[](n), ::operator delete[](p))
MAKES(delete_nothrow, ::operator new(n), ::operator delete(p, quiet))
MAKES(delete_array_nothrow, ::operator new[](n), ::operator delete[](p, quiet))
MAKES(delete_sized, ::operator new(n), ::operator delete(p, n))
MAKES(delete_array_sized, ::operator new[](n), ::operator delete[](p, n))
MAKES(delete_aligned, ::operator new(n, ALIGN), ::operator delete(p, ALIGN))
MAKES(delete_array_aligned, ::operator new[](n, ALIGN), ::operator delete[](p, ALIGN))
MAKES(delete_aligned_nothrow, ::operator new(n, ALIGN), ::operator delete(p, ALIGN, quiet))
MAKES(delete_array_aligned_nothrow, ::operator new[](n, ALIGN),
      ::operator delete[](p, ALIGN, quiet))
MAKES(delete_sized_aligned, ::operator new(n, ALIGN), ::operator delete(p, n, ALIGN))
MAKES(delete_array_sized_aligned, ::operator new[](n, ALIGN), ::operator delete[](p, n, ALIGN))

/* Functions that not every libc has: free, where nobody below has one. */
extern "C" void cfree(void *) __attribute__((weak));
extern "C" void free_sized(void *, size_t) __attribute__((weak));
extern "C" void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *__libc_valloc(size_t);
void *__libc_pvalloc(size_t);
void __libc_free(void *);
}
MAKES(libc_malloc, __libc_malloc(n), __libc_free(p))
MAKES(libc_calloc, __libc_calloc(n / 8, 8), __libc_free(p))
MAKES(libc_realloc, __libc_realloc(NULL, n), __libc_free(p))
MAKES(libc_free, __libc_malloc(n), __libc_free(p))
MAKES(libc_memalign, __libc_memalign(64, n), __libc_free(p))
MAKES(libc_valloc, __libc_valloc(n), __libc_free(p))
MAKES(libc_pvalloc, __libc_pvalloc(n), __libc_free(p))

MAKES(cfree, malloc(n), cfree ? cfree(p) : free(p))
MAKES(free_sized, malloc(n), free_sized ? free_sized(p, n) : free(p))
MAKES(free_aligned_sized, aligned_alloc(8, n),
      free_aligned_sized ? free_aligned_sized(p, 8, n) : free(p))

CASE(realloc)
{
	char *p;

	MADE(p, 8, realloc(NULL, 8));
	for (int n = 16; n < 300000; n *= 3) {
		MADE(p, n, realloc(p, n));
		book.frees++; /* of the block before */
	}
	HIDE(p);
	void *refused = realloc(p, too_much);
	say("realloc too much: %d %s\n", !refused, strerrorname_np(errno));
	ENDED(p, free(p));
}

CASE(posix_memalign)
{
	for (size_t align = 8; align <= 4096; align *= 8) {
		void *p = NULL;
		char *block;
		int error = posix_memalign(&p, align, 100);

		if (error)
			_exit(97);
		MADE(block, 100, p);
		ENDED(block, free(block));
	}
	void *p = (void *)1;
	say("posix_memalign of 3: %s\n", strerrorname_np(posix_memalign(&p, 3, 100)));
}

CASE(malloc_usable_size)
{
	char *p;

	BLOCKS(p);
	say("usable: %d %zu\n", malloc_usable_size(p) >= 72, malloc_usable_size(NULL));
}

/* ---- memory ---- */

static char *mapping(size_t pages)
{
	return (char *)mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

CASE(mmap)
{
	char *p, *map = mapping(2);

	BLOCKS(p);
	map[PAGE] = 1;
	errno = 0;
	void *bad = mmap(NULL, zero, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("mmap of nothing: %d %s\n", bad == MAP_FAILED, strerrorname_np(errno));
}
CASE(mmap64)
{
	char *p, *map = (char *)mmap64(NULL, PAGE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	BLOCKS(p);
	map[0] = 1;
	say("mmap64: %d\n", map[0]);
}
CASE(mremap)
{
	char *p, *map = mapping(1);

	BLOCKS(p);
	map[0] = 9;
	map = (char *)mremap(map, PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	char *to = mapping(8);
	map = (char *)mremap(map, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	say("mremap: %d %d\n", map[0], map == to);
}
CASE(munmap)
{
	char *p, *map = mapping(1);

	BLOCKS(p);
	say("munmap: %d %d\n", munmap(map, PAGE), munmap(map + 1, PAGE));
}
CASE(madvise)
{
	char *p, *map = mapping(1);

	BLOCKS(p);
	map[0] = 3;
	int done = madvise(map, PAGE, MADV_DONTNEED);
	say("madvise: %d %d %d\n", done, map[0], madvise(map, PAGE, 12345));
}
CASE(mprotect)
{
	char *p, *map = mapping(1);

	BLOCKS(p);
	say("mprotect: %d %d\n", mprotect(map, PAGE, PROT_READ),
	    mprotect(map + 1, PAGE, PROT_READ));
}
CASE(pkey_mprotect)
{
	char *p, *map = mapping(1);

	BLOCKS(p);
	say("pkey_mprotect: %d\n", pkey_mprotect(map, PAGE, PROT_READ, -1));
}
CASE(prctl)
{
	char *p, *map = mapping(1), name[16] = "";

	BLOCKS(p);
	prctl(PR_SET_NAME, "swept");
	prctl(PR_GET_NAME, name);
	prctl(0x53564d41, 0, map, PAGE, "a name"); /* PR_SET_VMA: not every kernel has it */
	say("prctl: %s %d\n", name, prctl(-1, 0, 0, 0, 0));
}
CASE(brk)
{
	char *p, *end = (char *)sbrk(0);

	say("brk: %d\n", brk(end + PAGE));
	BLOCKS(p);
}
CASE(sbrk)
{
	char *p, *end = (char *)sbrk(PAGE);

	end[0] = end[PAGE - 1] = 1;
	BLOCKS(p);
	say("sbrk: %d\n", (char *)sbrk(0) >= end + PAGE);
}

/* ---- threads ---- */

static void *run_part(void *part)
{
	((void (*)(Part))part)(CHILD);
	return NULL;
}

CASE(pthread_create)
{
	pthread_t threads[3];
	char *p;

	BLOCKS(p);
	if (part == CHILD)
		return;
	for (pthread_t &t : threads) { /* one after the other: the book is everybody's */
		pthread_create(&t, NULL, run_part, (void *)shiny_pthread_create);
		pthread_join(t, NULL);
	}
}
CASE(pthread_setname_np)
{
	char *p, name[16] = "";

	BLOCKS(p);
	int done = pthread_setname_np(pthread_self(), "named");
	pthread_getname_np(pthread_self(), name, sizeof(name));
	say("setname: %d %s %s\n", done, name,
	    strerrorname_np(pthread_setname_np(pthread_self(), "a name that is too long for it")));
}

/* ---- processes ---- */

/* In a child: nothing of its parent's is in its book. */
static void child_begins()
{
	memset(&book, 0, sizeof(book));
}

static void child_ends(void (*how)(int))
{
	truth();
	how(STATUS);
	_exit(96);
}

static void waited(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	say("%s: status %x\n", current, (unsigned)status);
}

#define FORKS(id, fork_call, exit_call, wait_block)    \
	CASE(id)                                       \
	{                                              \
		char *p;                               \
		BLOCKS(p);                             \
		pid_t pid = fork_call;                 \
		if (pid == 0) {                        \
			child_begins();                \
			BLOCKS(p);                     \
			child_ends(exit_call);         \
		}                                      \
		BLOCKS(p);                             \
		wait_block;                            \
	}

FORKS(fork, fork(), _exit, waited(pid))
FORKS(raw_fork, _Fork(), _exit, waited(pid))
FORKS(exit_now, fork(), _exit, waited(pid))
FORKS(exit_now_c, fork(), _Exit, waited(pid))
FORKS(quick_exit, fork(), quick_exit, waited(pid))
FORKS(wait, fork(), _exit, int s; pid_t w = wait(&s);
      say("wait: %d %x\n", w == pid, (unsigned)s))
FORKS(waitpid, fork(), _exit, waited(pid); int s; pid_t w = waitpid(pid, &s, 0);
      say("waitpid of nobody: %d %s\n", w, strerrorname_np(errno)))
FORKS(wait3, fork(), _exit, int s; pid_t w = wait3(&s, 0, NULL);
      say("wait3: %d %x\n", w == pid, (unsigned)s))
FORKS(wait4, fork(), _exit, int s; struct rusage u; pid_t w = wait4(pid, &s, 0, &u);
      say("wait4: %d %x\n", w == pid, (unsigned)s))
FORKS(waitid, fork(), _exit, siginfo_t info; int r = waitid(P_PID, pid, &info, WEXITED);
      say("waitid: %d %d %d %d\n", r, info.si_pid == pid, info.si_code, info.si_status))
FORKS(syscall, (pid_t)syscall(SYS_fork), _exit, waited(pid); long none = syscall(-1);
      say("syscall: %ld %s\n", none, strerrorname_np(errno)))

static int run_clone(void *part)
{
	child_begins();
	run_part(part);
	truth();
	return STATUS;
}
CASE(clone)
{
	char *p;

	BLOCKS(p);
	if (part == CHILD)
		return;
	char *stack = mapping(32);
	waited(clone(run_clone, stack + 32 * PAGE, SIGCHLD, (void *)shiny_clone));
}

/* Arguments on the heap, as a program's are that builds them. */
#define ARGUMENTS(argv)                                             \
	char *argv[4];                                              \
	MADE(argv[0], strlen(self) + 1, malloc(strlen(self) + 1));  \
	strcpy(argv[0], self);                                      \
	MADE(argv[1], 6, malloc(6));                                \
	strcpy(argv[1], "child");                                   \
	MADE(argv[2], 32, malloc(32));                              \
	strcpy(argv[2], current);                                   \
	argv[3] = NULL;

#define EXECS(id, call)                                                       \
	CASE(id)                                                              \
	{                                                                     \
		char *p;                                                      \
		BLOCKS(p);                                                    \
		if (part == CHILD)                                            \
			return;                                               \
		pid_t pid = fork();                                           \
		if (pid == 0) {                                               \
			child_begins();                                       \
			ARGUMENTS(argv)                                       \
			truth(); /* what it held as it was replaced */        \
			call;                                                 \
			_exit(95);                                            \
		}                                                             \
		waited(pid);                                                  \
	}

EXECS(execve, int none = execve("/nonexistent", argv, environ);
      say("execve of nothing: %d %s\n", none, strerrorname_np(errno)); execve(self, argv, environ))
EXECS(execvpe, execvpe(self, argv, environ))
EXECS(execv, execv(self, argv))
EXECS(execvp, execvp(self, argv))
EXECS(fexecve, fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ))
EXECS(execveat, execveat(AT_FDCWD, self, argv, environ, 0))
EXECS(execl, execl(self, argv[0], argv[1], argv[2], (char *)NULL))
EXECS(execlp, execlp(self, argv[0], argv[1], argv[2], (char *)NULL))
EXECS(execle, execle(self, argv[0], argv[1], argv[2], (char *)NULL, environ))

#define SPAWNS(id, call)                          \
	CASE(id)                                  \
	{                                         \
		char *p;                          \
		pid_t pid = 0;                    \
		BLOCKS(p);                        \
		if (part == CHILD)                \
			return;                   \
		ARGUMENTS(argv)                   \
		int error = call;                 \
		waited(pid);                      \
		say("%s: %d\n", current, error); \
	}
SPAWNS(posix_spawn, posix_spawn(&pid, self, NULL, NULL, argv, environ))
SPAWNS(posix_spawnp, posix_spawnp(&pid, self, NULL, NULL, argv, environ))

CASE(vfork)
{
	char *p;

	BLOCKS(p);
	if (part == CHILD)
		return;
	ARGUMENTS(argv)
	pid_t pid = vfork();
	if (pid == 0) {
		execv(self, argv);
		_exit(95);
	}
	waited(pid);
}
CASE(vfork_old)
{
	char *p;

	BLOCKS(p);
	pid_t pid = __vfork();
	if (pid == 0)
		_exit(STATUS);
	waited(pid);
}

static void command(char *to, size_t room)
{
	snprintf(to, room, "'%s' child %s", self, current);
}
CASE(system)
{
	char *p, text[4200];

	BLOCKS(p);
	if (part == CHILD)
		return;
	command(text, sizeof(text));
	say("system: %x %d\n", (unsigned)system(text), system(NULL) != 0);
}
CASE(popen)
{
	char *p, text[4200];

	BLOCKS(p);
	if (part == CHILD)
		return;
	command(text, sizeof(text));
	FILE *pipe = popen(text, "r");
	while (pipe && fgets(text, sizeof(text), pipe))
		say("%s", text);
	say("popen: %x\n", (unsigned)pclose(pipe));
}

/* ---- what a process can reach ---- */

/* In a child: where it is allowed, it is so for good. */
#define REACHES(id, call)                                                  \
	CASE(id)                                                           \
	{                                                                  \
		char *p;                                                   \
		BLOCKS(p);                                                 \
		pid_t pid = fork();                                        \
		if (pid == 0) {                                            \
			child_begins();                                    \
			errno = 0;                                         \
			int result = call;                                 \
			say("%s: %d %s\n", current, result, strerrorname_np(errno)); \
			BLOCKS(p);                                         \
			child_ends(_exit);                                 \
		}                                                          \
		waited(pid);                                               \
	}
REACHES(chroot, chroot("/"))
REACHES(unshare, unshare(CLONE_FS))
REACHES(setns, setns(-1, 0))
REACHES(mount, mount("", "/nonexistent", "", 0, NULL))
REACHES(setuid, setuid(getuid()))
REACHES(seteuid, seteuid(geteuid()))
REACHES(setreuid, setreuid(getuid(), geteuid()))
REACHES(setresuid, setresuid(getuid(), geteuid(), geteuid()))

/* ---- the loader; the API of shiny.h ---- */

CASE(dlvsym)
{
	char *p;

	BLOCKS(p);
	say("dlvsym: %d %d\n", dlvsym(RTLD_NEXT, "getenv", "GLIBC_2.2.5") == (void *)getenv,
	    dlvsym(RTLD_DEFAULT, "getenv", "GLIBC_9") != NULL);
}

CASE(dlopen)
{
	char *p;

	BLOCKS(p);
	void *handle = dlopen("libutil.so.1", RTLD_NOW);
	void *none = dlopen("/nonexistent.so", RTLD_NOW);
	say("dlopen: %d %d %s\n", handle != NULL, none != NULL, dlerror());
}
CASE(dlmopen)
{
	char *p;

	BLOCKS(p);
	say("dlmopen: %d\n", dlmopen(LM_ID_BASE, "libutil.so.1", RTLD_NOW) != NULL);
}
CASE(dlclose)
{
	char *p;

	BLOCKS(p);
	say("dlclose: %d\n", dlclose(dlopen("libutil.so.1", RTLD_NOW)));
}
CASE(tag_push)
{
	char *p;

	shiny_tag_push("swept");
	BLOCKS(p);
	shiny_tag_pop();
}
CASE(tag_pop)
{
	char *p;

	shiny_tag_push("swept");
	shiny_tag_pop();
	BLOCKS(p);
}
CASE(mark)
{
	char *p;

	shiny_mark("swept");
	BLOCKS(p);
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	void (*run)(Part);
} cases[] = {
#define SI_HOOK(id, symbol, result, parameters) { #id, shiny_##id },
#define SI_STUB(id, symbol) { #id, shiny_##id },
#define SI_OWN(id, symbol, result, parameters) { #id, shiny_##id },
#include "../../interpose/hook/hook_list.def"
};

static void (*case_of(const char *name))(Part)
{
	for (const auto &c : cases)
		if (!strcmp(c.name, name))
			return c.run;
	_exit(94);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc == 3) {
		current = argv[2];
		case_of(current)(CHILD);
		truth();
		return STATUS;
	}
	for (const auto &c : cases) {
		current = c.name;
		pid_t pid = fork();
		if (pid == 0) {
			c.run(PARENT);
			truth();
			_exit(0);
		}
		int status = 0;
		waitpid(pid, &status, 0);
		say("case %s: %x\n", c.name, (unsigned)status);
	}
	return STATUS;
}
