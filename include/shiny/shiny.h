/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shiny.h: what a program can tell Shiny about itself, in C and C++: tags and marks.
 *
 * Nothing is to be linked. Without libshiny.so preloaded each call is one load and one test of a
 * pointer that the dynamic linker has left zero. A static program, or one for another machine than
 * Linux on x86-64, is compiled as if the calls were not there.
 *
 *   A tag says what a thread is at. What it allocates between shiny_tag_push("load") and
 *   shiny_tag_pop(), in whatever libraries, has the tag "load"; of tags within each other the
 *   innermost counts. A thread that pthread_create makes starts with its creator's tag, and a
 *   forked child with its parent's. A block keeps its tag until it is freed, by whomever; what
 *   realloc returns has the tag of who called realloc.
 *
 *   A mark names a moment: shiny_mark("page shown"). Reports can be about what was allocated
 *   between two marks.
 *
 *   shinyctl sites --by tag FILE            shinyctl lifetimes --tag load FILE
 *   shinyctl marks FILE                     shinyctl leaks --between 'start..page shown' FILE
 *
 * Runs:      in the program. Costs with the library: `bench/run tags`; while recording is switched
 *            off the same, so that tags are right when it is switched on.
 * Signals:   all functions are async-signal-safe and leave errno alone.
 * Allocates: nothing.
 * Threads:   any; a thread has its own tags.
 *
 * Limits. Names: text in UTF-8 of 1 to 64 bytes, longer ones are cut there; they are copied. 1,023
 * different ones a process. 32 tags within each other. What is beyond, a pop without a push, and
 * NULL or "" for a name, has no effect, other than that a push and its pop still belong together:
 * the enclosing tag goes on. It is counted, and the session says how often (`shinyctl info`). A
 * longjmp over a pop leaves the tag pushed; C++ exceptions don't, with shiny::tag.
 *
 * From other languages: the functions with _v1 are ordinary ones with C linkage, there when the
 * library is: in Python, ctypes.CDLL(None).shiny_mark_v1(b"loaded").
 */
#ifndef SHINY_SHINY_H
#define SHINY_SHINY_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The address of a function of the library, NULL without it. Through the global offset table, by
 * hand: in code for a fixed address the compilers ask for a weak function's address in a way that
 * the linker answers for good, with zero.
 */
#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__) && \
	(defined(__GNUC__) || defined(__clang__))
#define SHINY_FIND(function, symbol) \
	__asm__(".weak " symbol "\n\tmovq " symbol "@GOTPCREL(%%rip), %0" : "=r"(function))
#else
#define SHINY_FIND(function, symbol) ((function) = 0)
#endif

/* From here on this thread is at `name`. */
static inline void shiny_tag_push(const char *name)
{
	void (*push)(const char *);

	SHINY_FIND(push, "shiny_tag_push_v1");
	if (push)
		push(name);
}

/* What was pushed last by this thread is over. */
static inline void shiny_tag_pop(void)
{
	void (*pop)(void);

	SHINY_FIND(pop, "shiny_tag_pop_v1");
	if (pop)
		pop();
}

/* This moment is called `name`. The same name may be used again. */
static inline void shiny_mark(const char *name)
{
	void (*mark)(const char *);

	SHINY_FIND(mark, "shiny_mark_v1");
	if (mark)
		mark(name);
}

#undef SHINY_FIND

#ifdef __cplusplus
}

namespace shiny {

/* A tag for as long as this object lives: shiny::tag loading("load"); */
class tag {
public:
	explicit tag(const char *name) noexcept { shiny_tag_push(name); }
	~tag() { shiny_tag_pop(); }
	tag(const tag &) = delete;
	tag &operator=(const tag &) = delete;
};

} // namespace shiny
#endif

#endif
