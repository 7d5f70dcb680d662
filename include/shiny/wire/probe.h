/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h: the probe's findings about an executable: one file for each build-id, written outside,
 * read by both sides.
 *
 * Runs: both. Signals: reading only. Allocates: nothing. Threads: any.
 *
 * The file is $XDG_CACHE_HOME/shiny/probe/BUILD-ID (else ~/.cache/shiny/probe/BUILD-ID; the
 * build-id in lower-case hex), mode 0600, replaced as a whole by rename. Numbers have the machine's
 * byte order. Its parts, one behind the other:
 *
 *   struct shiny_probe_file    fixed size: all that a constructor needs before it patches
 *   recipes                    one for each entry, at entry.recipe_at, 8-aligned, in the patcher's
 *                              format (patch.h)
 *   ---- head_bytes: head_checksum covers everything above, from `version` on ----
 *   struct shiny_probe_type[]  type_count rows at types_at, by index, then by info
 *   struct shiny_probe_note[]  note_count findings in words, at notes_at
 *   text                       text_bytes at text_at: terminated strings; position 0 is the
 *                              empty one
 *   ---- file_bytes: body_checksum covers everything from head_bytes to here ----
 *
 * The inside reads head_bytes (some kilobytes: one pread) and needs nothing else. A checksum finds
 * damage, not malice: a reader also checks that the file is a regular file of its own user that no
 * other user may write, that counts and positions lie inside, that the build-id is the running
 * executable's, and, before each patch, that the entry's code in memory equals `code`. Addresses
 * are the ELF file's: add the load bias.
 */
#ifndef SHINY_PROBE_H
#define SHINY_PROBE_H

#include <stddef.h>
#include <stdint.h>

#define SHINY_PROBE_MAGIC UINT64_C(0x31626f5279696853) /* "ShiyRob1" */
#define SHINY_PROBE_SECTION_NAME "gc_info_section"

enum {
	/* incremented when the format changes, or when the probe finds something differently */
	SHINY_PROBE_VERSION = 6,
	SHINY_PROBE_ENTRIES = 16,
	SHINY_PROBE_CODE = 32,
	SHINY_PROBE_BUILD_ID = 64,
	SHINY_PROBE_SLOTS = 16,
	SHINY_PROBE_HEAD_MAX = 64 << 10,   /* head_bytes */
	SHINY_PROBE_FILE_MAX = 64 << 20,
	SHINY_PROBE_NO_ARGUMENT = 0xff,
};

/* The way in which this build's Oilpan numbers its types. */
enum shiny_probe_shape {
	SHINY_PROBE_NONE,       /* no Oilpan found: nothing to patch; the notes say why */
	SHINY_PROBE_SECTION,    /* GCInfos are an array in the file, a type's index is its place +
	                         * 1 */
	SHINY_PROBE_REGISTERED, /* a type registers itself at its first use and keeps its index in a
	                         * 16-bit variable, 0 before */
};

enum shiny_probe_confidence {
	SHINY_PROBE_UNKNOWN, /* not found: do not use */
	SHINY_PROBE_LOW,     /* guessed */
	SHINY_PROBE_MEDIUM,  /* as in the public source, not seen in this file's code */
	SHINY_PROBE_HIGH,    /* seen in the code, in one place or with exceptions */
	SHINY_PROBE_EXACT,   /* seen in the code, and everything that could contradict it agrees */
};

enum shiny_probe_kind {
	SHINY_PROBE_ALLOCATE = 1, /* f(): returns the new object */
	SHINY_PROBE_REGISTER = 2, /* returns the type's index and has stored it in its variable */
	/* f(bytes): returns a block of malloc's partition, past PartitionAlloc's dispatch chain */
	SHINY_PROBE_NEW = 3,
	SHINY_PROBE_DELETE = 4, /* f(block): frees such a block */
	/* f(list, address, bytes): Oilpan's sweeper has found this memory free; `size` is 2 */
	SHINY_PROBE_FREE = 5,
	SHINY_PROBE_MOVE = 6, /* a call instruction, not a function: f(to, from, bytes), by which
	                       * Oilpan's compactor moves an object with its header */
	/* bool f(object, bytes): Oilpan asks to resize an object in place; `size` is 1 */
	SHINY_PROBE_RESIZE = 7,
	SHINY_PROBE_RELEASE = 8, /* f(heap, object): Oilpan asks to free an object at once */
	SHINY_PROBE_KINDS,
};

/* An entry to patch. Arguments are numbered 0 rdi, 1 rsi, 2 rdx, 3 rcx, 4 r8, 5 r9;
 * SHINY_PROBE_NO_ARGUMENT: the function has no such argument. */
struct shiny_probe_entry {
	uint64_t vaddr;
	uint32_t kind;       /* enum shiny_probe_kind */
	uint32_t confidence; /* enum shiny_probe_confidence */
	uint32_t calls;      /* direct calls and jumps to it in the whole file */
	uint32_t sites;      /* of those calls, the ones whose type was read from the surrounding
	                      * code */
	/* ALLOCATE; size is without the header, index is 16 bits wide (the other bits of the
	 * register are undefined) */
	uint8_t handle, size, alignment, index, space;
	/*
	 * REGISTER; slot is the address of the variable. Either the type's functions are arguments,
	 * or `info` is the address of the caller's GCInfo, which is copied into the table when the
	 * type is new; a hook may change it. The probe reports the latter kind: in Chromium,
	 * functions that take the type's functions have another calling convention (preserve_most:
	 * callers rely on all registers but rax and r11), which no C hook obeys.
	 */
	uint8_t slot, trace, finalizer, name;
	uint8_t code_bytes; /* valid bytes of code: at least 16 */
	uint8_t info;
	uint8_t unused;
	uint32_t recipe_at, recipe_bytes; /* where in this file; 0, 0: the patcher has no recipe,
	                                   * the entry can't be patched */
	uint32_t unused2;
	uint8_t code[SHINY_PROBE_CODE]; /* the file's bytes at vaddr */
};

/* A slot of PartitionAlloc's dispatch table, as an exported entry uses it. */
struct shiny_probe_slot {
	uint32_t entry;  /* position in the text: "malloc" */
	uint16_t offset; /* in the table, bytes */
	uint8_t calls;   /* 1: the entry calls it; 0: the entry jumps to it */
	uint8_t unused;
};

struct shiny_probe_file {
	uint64_t magic;
	uint64_t head_checksum; /* XXH3_64bits */
	uint32_t version, head_bytes;
	uint64_t file_bytes;
	uint64_t body_checksum; /* XXH3_64bits */
	uint64_t types_at, notes_at, text_at;
	uint32_t type_count, note_count, text_bytes;
	uint32_t build_id_bytes;
	uint8_t build_id[SHINY_PROBE_BUILD_ID];

	uint32_t shape; /* enum shiny_probe_shape */
	uint32_t shape_confidence;
	/*
	 * The GCInfos. A GCInfo's address is info_vaddr + (index - 1) * info_bytes (SECTION only),
	 * its members are functions at these offsets, 0 where the type has none. REGISTERED: the
	 * table is at *(*(void ***)info_vaddr + info_indirect), and GCInfo number `index` is in it.
	 */
	uint64_t info_vaddr;
	uint32_t info_count, info_bytes; /* count 0: REGISTERED, unknown before run time */
	uint32_t info_indirect;
	uint16_t finalizer_at, trace_at, name_at;
	uint16_t index_limit;       /* indexes are below this */
	/* The index in the object's header is (*(uint16_t *)(object - header_index_at) >>
	 * header_index_shift) & (index_limit - 1) */
	uint16_t header_index_at, header_index_shift;
	uint32_t header_confidence, unused;

	uint32_t entry_count, slot_count;
	struct shiny_probe_entry entries[SHINY_PROBE_ENTRIES];

	uint64_t chain_head; /* address of PartitionAlloc's variable that points to the first
	                      * dispatch table; 0: none */
	uint32_t chain_confidence, unused2;
	struct shiny_probe_slot slots[SHINY_PROBE_SLOTS];
};

enum shiny_probe_naming {
	SHINY_PROBE_NAME_NONE,	  /* no name in the file: `label` stands for it */
	SHINY_PROBE_NAME_STATIC,  /* the type's own name, read from its callback */
	SHINY_PROBE_NAME_VIRTUAL, /* the callback asks the object: the function that returns its
	                           * name is in its vtable */
	SHINY_PROBE_NAME_CLASS, /* likewise, and the vtable that the type's sites store returns this
	                         * name: as DevTools shows it, without a namespace, and maybe a base
	                         * class's */
};

struct shiny_probe_type {
	uint64_t info;                       /* SECTION: the GCInfo; REGISTERED: the variable with
	                                      * the index */
	uint64_t finalizer, trace, callback; /* 0: none */
	uint32_t name;                       /* position in the text: the name of a C++ type, or a
	                                      * label that is the same in the next run */
	uint32_t sites;                      /* allocation sites seen */
	uint32_t size;                       /* bytes that all sites request; 0: they differ, or are
	                                      * not constant */
	uint16_t index;                      /* SECTION: the type's index; REGISTERED: 0 */
	uint8_t naming, confidence;          /* enum shiny_probe_naming, shiny_probe_confidence */
	uint32_t vptr_at, vtable_slot;       /* VIRTUAL, CLASS: bytes, the vptr's offset in the
	                                      * object and the name function's in the vtable */
};

struct shiny_probe_note {
	uint32_t about;      /* position in the text: "entries", "names" … */
	uint32_t confidence; /* enum shiny_probe_confidence */
	uint32_t text;       /* position in the text: one line */
	uint32_t unused;
};

_Static_assert(sizeof(struct shiny_probe_entry) == 80 &&
		       offsetof(struct shiny_probe_entry, code) == 48,
	       "entries are the same on both sides");
_Static_assert(sizeof(struct shiny_probe_file) == 1624 &&
		       offsetof(struct shiny_probe_file, entries) == 200,
	       "the head is the same on both sides");
_Static_assert(sizeof(struct shiny_probe_slot) == 8 && sizeof(struct shiny_probe_type) == 56 &&
		       sizeof(struct shiny_probe_note) == 16,
	       "rows are the same on both sides");

#endif
