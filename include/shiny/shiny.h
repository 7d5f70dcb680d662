/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shiny.h: what a program can tell Shiny about itself, in C and C++: tags and marks.
 *
 * Nothing needs to be linked. Without libshiny.so preloaded each call is one load and one test of a
 * pointer that the dynamic linker has left zero. A static program, or one for another machine than
 * Linux on x86-64, is compiled as if the calls were not there.
 *
 *   A tag says what a thread is doing. A block that it allocates between shiny_tag_push("load") and
 *   shiny_tag_pop(), in any library, has the tag "load"; of nested tags the innermost counts. A
 *   thread that pthread_create creates starts with its creator's tag, and a forked child with its
 *   parent's. A block keeps its tag until it is freed, by any thread; a block that realloc returns
 *   has the tag of the thread that called realloc.
 *
 *   A mark names a moment: shiny_mark("page shown"). Reports can be about what was allocated
 *   between two marks.
 *
 *   shinyctl sites --by tag FILE            shinyctl lifetimes --tag load FILE
 *   shinyctl activity --marks FILE          shinyctl leaks --between 'start..page shown' FILE
 *
 * Runs:      in the program. `bench/run tags` measures the cost with the library; it is the same
 *            while recording is switched off, so that tags are right when it is switched on.
 * Signals:   all functions are async-signal-safe and leave errno alone.
 * Allocates: nothing.
 * Threads:   any; a thread has its own tags.
 *
 * Limits. A name is UTF-8 text of 1 to 64 bytes; a longer one is cut there. Names are copied. A
 * process may have 1,023 different names and 32 nested tags. A call beyond these limits, a pop
 * without a push, and a name that is NULL or "" have no effect, except that a push and its pop
 * still belong together: the enclosing tag stays in force. Such calls are counted, and the session
 * says how many there were (`shinyctl info`). A longjmp over a pop leaves the tag pushed; C++
 * exceptions don't, with shiny::tag.
 *
 * Other languages can call the functions with _v1: ordinary functions with C linkage, which exist
 * when the library is loaded. In Python: ctypes.CDLL(None).shiny_mark_v1(b"loaded").
 */
#ifndef SHINY_SHINY_H
#define SHINY_SHINY_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets `function` to the address of a function of the library, or to NULL without the library. It
 * reads the global offset table by hand: in code for a fixed address the compilers reference a weak
 * function's address in a way that the linker resolves for good, to zero.
 */
#if defined(__x86_64__) && defined(__linux__) && defined(__LP64__) && \
	(defined(__GNUC__) || defined(__clang__))
#define SHINY_FIND(function, symbol) \
	__asm__(".weak " symbol "\n\tmovq " symbol "@GOTPCREL(%%rip), %0" : "=r"(function))
#else
#define SHINY_FIND(function, symbol) ((function) = 0)
#endif

/* Begins the tag `name` on this thread. */
static inline void shiny_tag_push(const char *name)
{
	void (*push)(const char *);

	SHINY_FIND(push, "shiny_tag_push_v1");
	if (push)
		push(name);
}

/* Ends the tag that this thread pushed last. */
static inline void shiny_tag_pop(void)
{
	void (*pop)(void);

	SHINY_FIND(pop, "shiny_tag_pop_v1");
	if (pop)
		pop();
}

/* Names this moment `name`. The same name may be used again. */
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

/* Holds a tag for as long as this object lives: shiny::tag loading("load"); */
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
