/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sym.h: names for addresses in files. The only room that knows elfutils; none of its types come out.
 *
 * Runs:      sidecar, CLI. Signals: no. Allocates: yes.
 * Threads:   one context is used by one thread at a time.
 *
 * Addresses are file addresses ("vaddr"): run-time address minus the module's bias. Every string is owned by the context and
 * lives as long as it does.
 */
#ifndef SHINY_SYM_H
#define SHINY_SYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../src/base/err.h"

struct sym;
struct sym_module;

struct sym_options {
	const char *const *debug_dirs; /* searched before /usr/lib/debug; NULL-terminated, or NULL */
	bool no_dwarf;                 /* symbol tables only */
};

SHINY_MUST_CHECK struct shiny_err *sym_create(const struct sym_options *options, struct sym **out);
void sym_destroy(struct sym *sym); /* accepts NULL */

/*
 * Opens the ELF file that was mapped. A file that is gone, or whose build-id differs from the recorded one, still gives a module:
 * its state says so and every look-up answers "unknown". `build_id` may be NULL.
 */
SHINY_MUST_CHECK struct shiny_err *sym_module_open(struct sym *sym, const char *path, const void *build_id, size_t build_id_bytes,
						   struct sym_module **out);

enum sym_state { SYM_OK, SYM_MISSING, SYM_CHANGED, SYM_NOT_ELF };
struct sym_module_info {
	enum sym_state state;
	bool symtab, dynsym, dwarf; /* what was found, in the file or its debug file */
	bool rtti;                  /* imports the C++ runtime's type-info classes */
	const char *debug_file;           /* path of the separate debug file in use, or NULL */
	const char *note;                 /* what is missing and how to get it, or "" */
};
const struct sym_module_info *sym_module_info(const struct sym_module *module);

/* One function of an address, innermost inline frame first; the last is the function that physically holds the address. */
struct sym_frame {
	const char *function; /* demangled; NULL unknown */
	const char *file;     /* NULL unknown */
	uint32_t line;        /* 0 unknown */
	bool inlined;
};

/*
 * Frames of `vaddr`; a return address is looked up by its caller as vaddr - 1. Returns their number (0 unknown), at most `room`: a longer
 * chain loses its outermost frames. Pieces and copies that the compiler made of a C++ function (.cold, .part.0) carry the function's name.
 * An address between functions is unknown: the nearest symbol below it isn't taken.
 */
size_t sym_frames(struct sym_module *module, uint64_t vaddr, struct sym_frame *out, size_t room);

enum sym_vtable_source {
	SYM_VTABLE_NONE,    /* not a vtable: the word points at something else */
	SYM_VTABLE_SYMBOL,  /* a _ZTV symbol covers the address */
	SYM_VTABLE_RTTI,    /* the type-info name in front of it */
	SYM_VTABLE_LABEL,   /* looks like a vtable, has no name: "module!vtable+0x…" */
	SYM_VTABLE_BUILDING /* a construction vtable (_ZTC): the object was not complete when it was read */
};
struct sym_vtable {
	enum sym_vtable_source source;
	const char *type;       /* demangled class name, or the label */
	int64_t offset_to_top;  /* bytes from the complete object's start to this subobject: negative or 0 */
	uint64_t address_point; /* vaddr */
	uint64_t class_bytes;   /* sizeof, where the deleting destructor passes it to sized delete, or DWARF says it; 0 unknown */
};

/* What the address point `vaddr` (a value read from an object's first word) says. Not cached: callers ask once for each vptr. */
void sym_vtable(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out);

/* Demangles an Itanium C++, Rust or plain name. */
const char *sym_demangle(struct sym *sym, const char *name);

#endif
