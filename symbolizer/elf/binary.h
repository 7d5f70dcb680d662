/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary.h: a mapped x86-64 ELF file, read with every offset checked against the file's size.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the program headers. Threads: read-only after
 * elf_file_open().
 *
 * The file is hostile: nothing in it is trusted, and a look-up outside of it answers NULL. It is
 * mapped, never read as a whole, so that a 300 MB Chromium costs the pages that are asked for.
 * libelf isn't used here: all that is needed are headers, sections and bytes at an address, and
 * libelf would make private copies of some sections and trust some of the rest.
 */
#ifndef SHINY_SYM_ELF_FILE_H
#define SHINY_SYM_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 64

struct elf_bytes {
	const uint8_t *data; /* NULL: not there */
	size_t bytes;
};

struct elf_file {
	const uint8_t *data;
	size_t bytes;
	bool mapped; /* by us: unmapped at the end. Otherwise malloc'ed */
	uint16_t type;
	Elf64_Phdr *segments;
	size_t segment_count;
	uint64_t section_offset; /* of the section headers; 0 none */
	size_t section_count;
	uint32_t section_names; /* index of their string table */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_bytes; /* 0 none */
};

enum elf_open { ELF_OPEN_OK, ELF_OPEN_MISSING, ELF_OPEN_NOT_ELF };

enum elf_open elf_file_open(struct elf_file *file, const char *path);

/* Takes `data` (malloc'ed), also on failure. */
enum elf_open elf_file_open_memory(struct elf_file *file, uint8_t *data, size_t bytes);

void elf_file_close(struct elf_file *file);

/* `bytes` bytes of the file at `offset`, or NULL. */
const void *elf_file_range(const struct elf_file *file, uint64_t offset, uint64_t bytes);

/* The file's bytes that are mapped at `vaddr`; NULL unless all `bytes` of them are in the file
 * (.bss isn't). */
const void *elf_file_at(const struct elf_file *file, uint64_t vaddr, uint64_t bytes);

/* Bytes from `vaddr` to the end of the file's part of its segment; 0 where there is none. */
uint64_t elf_file_room(const struct elf_file *file, uint64_t vaddr);

bool elf_file_word(const struct elf_file *file, uint64_t vaddr, uint64_t *out);

/* A string of at most `limit` bytes without its end, at `vaddr`; NULL when it isn't all in the
 * file. */
const char *elf_file_string(const struct elf_file *file, uint64_t vaddr, size_t limit);

/* PF_R|PF_W|PF_X of the segment that holds `vaddr`; 0 none. */
uint32_t elf_file_flags(const struct elf_file *file, uint64_t vaddr);

/* True where the loader leaves `vaddr` readable and not writable: a read-only segment, or
 * PT_GNU_RELRO. */
bool elf_file_read_only(const struct elf_file *file, uint64_t vaddr);

/* Section header `index`; false when there is none. */
bool elf_file_section(const struct elf_file *file, size_t index, Elf64_Shdr *out);
bool elf_file_section_named(const struct elf_file *file, const char *name, Elf64_Shdr *out);
bool elf_file_section_typed(const struct elf_file *file, uint32_t type, Elf64_Shdr *out);
struct elf_bytes elf_file_section_bytes(const struct elf_file *file, const Elf64_Shdr *section);

/* Each function that is defined in the first section of `type` (SHT_SYMTAB, SHT_DYNSYM), with its
 * name, which stays as long as the file is open. */
typedef void elf_function_fn(void *context, const char *name, const Elf64_Sym *symbol);
void elf_file_each_function(const struct elf_file *file, uint32_t type, elf_function_fn *fn,
			    void *context);

#endif
