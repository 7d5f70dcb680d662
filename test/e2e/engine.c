/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine with a heap of its own, for engines_test: none of its functions has a name that the
 * loader looks up. It maps its memory, and says what each of its callers made and ended. With
 * -DLIBRARY it is a library with its callers, else a whole program, which with an argument says
 * where its heap is and waits for a line; with -DSTUBBORN one entry cannot be patched.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline))
#define ENGINE __attribute__((noinline, visibility("hidden")))
enum { ROUNDS = 200, THREADS = 4, ROOM = 64 << 20 };

/* ---- the engine: blocks lie one behind the other, and are not used again until the reset --- */

static char *start;
static size_t used;

static void *take(size_t bytes)
{
	size_t at = __atomic_fetch_add(&used, (bytes + 31) & -16UL, __ATOMIC_RELAXED);
	size_t *block;

	if (!start) /* an engine that asks the loader when it starts, and gets an error message */
		start = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0),
		dlsym(RTLD_DEFAULT, "engine_option_that_nobody_has");
	block = (size_t *)(start + at);
	*block = bytes;
	return block + 2;
}
static size_t size_of(const void *block) { return ((const size_t *)block)[-2]; }

ENGINE void *engine_take(size_t bytes) { return take(bytes); }
ENGINE void *engine_take_array(size_t count, size_t bytes) { return take(count * bytes); }
ENGINE void *engine_take_48(void) { return take(48); }
ENGINE void *engine_take_4096(void) { return take(4096); }
ENGINE void *engine_part(const char *text, size_t bytes)
{
	return memcpy(take(bytes + 1), text, bytes);
}
ENGINE char *engine_text(const char *text) { return strcpy(take(strlen(text) + 1), text); }
ENGINE void **engine_try(void **out, size_t bytes)
{
	*out = bytes < ROOM ? take(bytes) : NULL;
	return out;
}
ENGINE void engine_end(void *block) { memset(block, 0, size_of(block)); }
ENGINE void *engine_grow(void *block, size_t bytes)
{
	void *moved = bytes < ROOM ? engine_take(bytes) : NULL;

	if (!moved || !block)
		return moved;
	memcpy(moved, block, size_of(block) < bytes ? size_of(block) : bytes);
	engine_end(block);
	return moved;
}
ENGINE void engine_reset(void) { used = 0; }
#ifdef STUBBORN
ENGINE long engine_stubborn(long n);
__asm__(".pushsection .text\n.type engine_stubborn, @function\nengine_stubborn:\n"
	"	dec %rdi\n	jg engine_stubborn\n	mov %rdi, %rax\n	ret\n"
	".size engine_stubborn, .-engine_stubborn\n.popsection");
#else
static long engine_stubborn(long n) { return n; }
#endif

/* ---- its callers ---- */

static long allocs, frees, bytes;
#define MADE(n) (allocs++, bytes += (long)(n))
#define ENDED() (frees++)
static void say(const char *name, long more)
{
	printf("truth %s %ld %ld %ld\n", name, allocs, frees + more, bytes);
	allocs = frees = bytes = 0;
}

SITE static void shiny_kinds(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *a = engine_take(10 + (size_t)i), *b = engine_take_array(3, 7), *c, *d;

		MADE(10 + i), MADE(21);
		c = engine_take_48(), MADE(48);
		d = engine_take_4096(), MADE(4096);
		engine_end(a), ENDED();
		engine_end(d), ENDED();
		a = engine_part("a part of a text", 6), MADE(7);
		d = engine_text("a whole text"), MADE(13);
		engine_end(i % 2 ? a : b), ENDED();
		if (*engine_try(&a, 33) && *engine_try(&b, ROOM) == NULL)
			MADE(33), engine_end(a), ENDED();
		engine_end(c), ENDED();
		engine_end(d), ENDED();
	}
}

SITE static void shiny_grow(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *a = engine_grow(NULL, 20), *b;

		MADE(20);
		b = engine_grow(a, 300), MADE(300), ENDED();
		if (engine_grow(b, ROOM))
			abort();
		if (i % 4)
			engine_end(b), ENDED();
	}
}

SITE static void *shiny_thread(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		engine_end(engine_take(64));
	return unused;
}

SITE static void shiny_last(void)
{
	for (int i = 0; i < 10; i++)
		engine_take(100), MADE(100);
}

static void all(void)
{
	pthread_t threads[THREADS];
	long kept;
	int status;

	shiny_kinds();
	kept = allocs - frees; /* the reset ends these */
	say("shiny_kinds", kept);
	shiny_grow();
	kept = allocs - frees;
	say("shiny_grow", kept);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, shiny_thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	allocs = frees = THREADS * ROUNDS, bytes = allocs * 64;
	say("shiny_thread", 0);
	dlerror(); /* frees the message that was made inside the engine */
	fflush(stdout);
	if (fork() == 0)
		_exit(engine_stubborn(3) ? 0 : 0);
	wait(&status);
	engine_reset();
	shiny_last();
	say("shiny_last", 0);
	fflush(stdout);
}

#ifdef LIBRARY
__attribute__((visibility("default"))) void engine_all(void) { all(); }
#else
int main(int argc, char **argv)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	all();
	(void)argv;
	if (argc > 1 && printf("heap %lu\n", (unsigned long)start) && !fflush(stdout))
		return read(STDIN_FILENO, buffer, 1) < 0;
	return 0;
}
#endif
