/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reloc.h: tells the value that the loader gives a word of a file.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes, bounded by the file. Threads: one at a time.
 */
#ifndef SHINY_SYM_RELOC_H
#define SHINY_SYM_RELOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary.h"

enum word_kind {
	WORD_NONE,    /* not in the file: .bss, unmapped, beyond the end */
	WORD_PLAIN,   /* no relocation: a number; in an ET_EXEC file maybe an address */
	WORD_ADDRESS, /* an address in this file */
	WORD_IMPORT,  /* the address of a symbol that another file defines */
	WORD_OTHER,   /* relocated in a way that is unknown before run time */
};

struct word {
	enum word_kind kind;
	uint64_t value;     /* of PLAIN and ADDRESS; the addend of an IMPORT */
	const char *symbol; /* mangled symbol of a symbolic relocation, in the file's own bytes;
	                     * else NULL */
};

/* Invariants: `sorted` is by offset; an offset is in `relative`'s run only if it isn't in
 * `sorted`. */
struct reloc_index {
	const struct binary *file;
	bool built;
	const Elf64_Rela *relative; /* in the file: the run of R_X86_64_RELATIVE that begins
	                             * DT_RELA, if it is sorted */
	size_t relative_count;
	struct reloc_entry *sorted; /* all other relocations */
	size_t sorted_count;
	const uint64_t *relr; /* DT_RELR */
	size_t relr_count;
	struct relr_group *groups;
	size_t group_count;
	const uint8_t *symbols; /* .dynsym */
	size_t symbol_count;
	const char *strings;
	size_t string_bytes;
	uint64_t soname;        /* position in `strings`; 0: none */
	uint64_t starts;        /* address of DT_INIT_ARRAY */
	size_t start_count;
	bool asked_libstdcxx, libstdcxx;
};

void reloc_index_init(struct reloc_index *index, const struct binary *file);
void reloc_index_deinit(struct reloc_index *index);

/* Returns the word at `vaddr` after loading. Builds the index at the first call. */
struct word reloc_word(struct reloc_index *index, uint64_t vaddr);
/* Returns the name by which other files need this one; NULL: none. */
const char *reloc_soname(struct reloc_index *index);
/* Returns function number `i` of those that run when the file is loaded; 0: there is none. */
uint64_t reloc_start(struct reloc_index *index, size_t i);
/* True if the file imports libstdc++'s functions by which containers throw: its containers are that
 * library's. False proves nothing. */
bool reloc_uses_libstdcxx(struct reloc_index *index);

#endif
