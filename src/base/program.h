/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: what an executable file tells before the program starts: can it run, can it be
 * recorded, which malloc does it use.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 *
 * It reads a few facts from the ELF header and the dynamic symbol table by hand: shinyctl must be
 * able to say "static, cannot be recorded" about any file without trusting it further. The
 * symbolizer names addresses.
 */
#ifndef SHINY_PROGRAM_H
#define SHINY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { PROGRAM_PATH = 4096 };

/* Finds the file that execvp would run for `name`. If it is missing or not executable, the error
 * says so, and what to do. */
SHINY_MUST_CHECK struct shiny_err *program_find(const char *name, char out[PROGRAM_PATH]);

enum program_kind {
	PROGRAM_ELF,    /* x86-64 with a dynamic linker: can be recorded */
	PROGRAM_STATIC, /* no dynamic linker: nothing can be preloaded */
	PROGRAM_SHARED, /* a shared library: recorded in the programs that load it */
	PROGRAM_SCRIPT, /* its interpreter is recorded */
	PROGRAM_FOREIGN, /* ELF of another machine or word size */
	PROGRAM_OTHER,
};
enum program_malloc {
	PROGRAM_MALLOC_LIBRARY,   /* from a shared library: interposed symbols replace it */
	PROGRAM_MALLOC_PARTITION, /* exported by the executable itself, which holds
	                           * PartitionAlloc */
	PROGRAM_MALLOC_OWN,       /* exported by the executable itself: reached by patching its
	                           * entries (symbolizer/patch/allocator_patch.h) */
};
struct program_look {
	enum program_kind kind;
	enum program_malloc malloc;
	bool privileged;       /* set-uid, set-gid or with file capabilities: the loader ignores
	                        * LD_PRELOAD */
	bool bits32;           /* of FOREIGN: a 32-bit program */
	bool symbols, dwarf;   /* it has .symtab; .debug_info */
	bool go;               /* compiled by Go, whose heap is not malloc's */
	char build_id[72];     /* hex, "" none */
	char interpreter[256]; /* of a script, or the dynamic linker */
	char argument[256];    /* of a script: the first word behind its interpreter; "" none */
	const char *allocator; /* the linked library whose malloc replaces libc's: "libjemalloc";
	                        * NULL: none */
	const char *sanitizer; /* "AddressSanitizer", if it is built with one that has its own heap;
	                        * NULL: none */
};
SHINY_MUST_CHECK struct shiny_err *program_look(const char *path, struct program_look *out);

/* The index of the argument that names the program, if arguments[0] is the dynamic linker; 0: it is
 * not, or it loads no program. */
size_t program_behind_loader(char *const *arguments, size_t count);

/* The reason why this program cannot be recorded, in words; NULL if it can. */
const char *program_obstacle(const struct program_look *look);

/* Finds libshiny.so: `given` (--library), or beside this executable, or in ../lib. */
SHINY_MUST_CHECK struct shiny_err *program_library(const char *given, char out[PROGRAM_PATH]);

/*
 * Writes the path of `library` for LD_PRELOAD. Every program that is started reads that variable: a
 * 32-bit loader complains about a 64-bit library on the program's standard error, and musl's ends
 * the program if the library needs glibc. So where scripts/preload-tree has created one, the result
 * is a path in which each loader finds a library of its own kind, or none.
 */
void program_preload(const char *library, char out[PROGRAM_PATH]);
/* Turns such a path back into the library's own, in place. */
void program_preloaded(char *path);
/* The path of this executable. */
void program_self(char out[PROGRAM_PATH]);

#endif
