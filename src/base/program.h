/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h: what a program's file says before it is started: can it run, can it be recorded, whose
 * malloc does it have.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: one.
 *
 * A few facts from the ELF header and the dynamic symbol table, read by hand: shinyctl must be able
 * to say "static, cannot be recorded" about any file without trusting it further. Names of
 * addresses are the symbolizer's business, not this one's.
 */
#ifndef SHINY_PROGRAM_H
#define SHINY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { PROGRAM_PATH = 4096 };

/* The file that execvp would run for `name`. Missing or not executable: an error that says so, and
 * what to do. */
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
	PROGRAM_MALLOC_LIBRARY,   /* from a shared library: symbols reach it */
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
	bool bits32;           /* of FOREIGN: a 32-bit x86 program */
	bool symbols, dwarf;   /* .symtab; .debug_info */
	bool go;               /* made by the Go compiler, whose heap is not malloc's */
	char build_id[72];     /* hex, "" none */
	char interpreter[256]; /* of a script, or the dynamic linker */
	char argument[256];    /* of a script: the first word behind its interpreter; "" none */
	const char *allocator; /* which library's malloc it links that is not libc's: "libjemalloc";
	                        * NULL */
	const char *sanitizer; /* "AddressSanitizer", where it is built with one that has a heap of
	                        * its own; NULL */
};
SHINY_MUST_CHECK struct shiny_err *program_look(const char *path, struct program_look *out);

/* Which argument of the dynamic linker, started as a program, is the one that it loads; 0: it is
 * not the linker, or loads none. */
size_t program_behind_loader(char *const *arguments, size_t count);

/* Why this program cannot be recorded, in words; NULL if it can. */
const char *program_obstacle(const struct program_look *look);

/* libshiny.so: --library, or beside this executable, or in ../lib. */
SHINY_MUST_CHECK struct shiny_err *program_library(const char *given, char out[PROGRAM_PATH]);

/*
 * What LD_PRELOAD shall say of it. Every program that is started reads that: a 32-bit loader
 * complains about a 64-bit library on the program's standard error, and musl's ends the program
 * over one that needs glibc. So where scripts/preload-tree has made it, a path in which each loader
 * finds a library of its own kind, or none.
 */
void program_preload(const char *library, char out[PROGRAM_PATH]);
/* Back: the library's own path, in place. */
void program_preloaded(char *path);
/* The path of this executable. */
void program_self(char out[PROGRAM_PATH]);

#endif
