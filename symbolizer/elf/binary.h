/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binary.h: a mapped x86-64 ELF file; every offset is checked against the file's size.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: the program headers. Threads: read-only after
 * binary_open().
 *
 * The file is hostile: nothing in it is trusted, and a look-up outside of it returns NULL. It is
 * mapped, never read as a whole, so that a 300 MB Chromium costs only the pages that are used.
 * libelf isn't used here: this needs only headers, sections and bytes at an address, and libelf
 * would make private copies of some sections and trust some of the others.
 */
#ifndef SHINY_SYM_BINARY_H
#define SHINY_SYM_BINARY_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BINARY_BUILD_ID_MAX 64

struct binary_bytes {
	const uint8_t *data; /* NULL: there are none */
	size_t bytes;
};

struct binary {
	const uint8_t *data;
	size_t bytes;
	bool mapped; /* `data` is our mapping, unmapped at the end; else it is malloc'ed */
	uint16_t type;
	Elf64_Phdr *segments;
	size_t segment_count;
	uint64_t section_offset; /* of the section headers; 0: none */
	size_t section_count;
	uint32_t section_names; /* index of the sections' string table */
	uint8_t build_id[BINARY_BUILD_ID_MAX];
	size_t build_id_bytes; /* 0: none */
};

enum binary_status { BINARY_OK, BINARY_MISSING, BINARY_NOT_ELF };

enum binary_status binary_open(struct binary *file, const char *path);

/* Takes ownership of `data` (malloc'ed), also on failure. */
enum binary_status binary_open_memory(struct binary *file, uint8_t *data, size_t bytes);

void binary_close(struct binary *file);

/* Returns `bytes` bytes of the file at `offset`, or NULL. */
const void *binary_range(const struct binary *file, uint64_t offset, uint64_t bytes);

/* Returns the file's bytes that are mapped at `vaddr`; NULL unless all `bytes` of them are in the
 * file (.bss isn't). */
const void *binary_at(const struct binary *file, uint64_t vaddr, uint64_t bytes);

/* Returns the number of bytes from `vaddr` to the end of its segment's part in the file; 0:
 * none. */
uint64_t binary_room(const struct binary *file, uint64_t vaddr);

/* True for a segment that holds constants: it is read-only, and no code unless the linker put the
 * constants beside that. */
bool binary_holds_constants(const struct binary *file, const Elf64_Phdr *segment);

bool binary_word(const struct binary *file, uint64_t vaddr, uint64_t *out);

/* Returns the string at `vaddr` of at most `limit` bytes without its end; NULL: it isn't wholly in
 * the file, or longer. */
const char *binary_string(const struct binary *file, uint64_t vaddr, size_t limit);

/* Returns PF_R|PF_W|PF_X of the segment that holds `vaddr`; 0: none. */
uint32_t binary_flags(const struct binary *file, uint64_t vaddr);

/* Returns the bytes of code at `vaddr`; *room is their number up to the segment's end. NULL: no
 * code is there. */
const uint8_t *binary_code(const struct binary *file, uint64_t vaddr, uint64_t *room);

/* True if the loader leaves `vaddr` readable and not writable: a read-only segment, or
 * PT_GNU_RELRO. */
bool binary_read_only(const struct binary *file, uint64_t vaddr);

/* Gets section header `index`. False: there is none. */
bool binary_section(const struct binary *file, size_t index, Elf64_Shdr *out);
bool binary_section_named(const struct binary *file, const char *name, Elf64_Shdr *out);
bool binary_section_typed(const struct binary *file, uint32_t type, Elf64_Shdr *out);
struct binary_bytes binary_section_bytes(const struct binary *file, const Elf64_Shdr *section);

/* Calls `fn` for each symbol of `kind` (STT_FUNC, STT_OBJECT), or each function, defined in the
 * first section of `type` (SHT_SYMTAB, SHT_DYNSYM). The name stays valid as long as the file is
 * open. */
typedef void binary_symbol_fn(void *context, const char *name, const Elf64_Sym *symbol);
void binary_each_symbol(const struct binary *file, uint32_t type, unsigned kind,
			binary_symbol_fn *fn, void *context);
void binary_each_function(const struct binary *file, uint32_t type, binary_symbol_fn *fn,
			  void *context);

#endif
