/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sym.h: names and types for addresses in files. elfutils stays behind this header.
 *
 * Runs:      sidecar, CLI. Signals: no. Allocates: yes.
 * Threads:   one context is used by one thread at a time.
 *
 * Addresses are file addresses ("vaddr"): run-time address minus the module's bias. Every string is
 * owned by the context and lives as long as it does.
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
	const char *const *debug_dirs; /* searched before /usr/lib/debug; NULL-terminated, or
	                                * NULL */
	bool no_dwarf;                 /* symbol tables only */
	bool blind;                    /* as if files were stripped: what their code says */
	const char *type_rules;        /* a file of container rules in front of the built-in ones;
	                                * NULL none */
	const char *cache_dir;         /* for site types; NULL: the user's cache directory */
	bool no_cache;                 /* neither read nor write it */
	bool progress;                 /* on standard error, while a debuginfod server is waited
	                                * for */
	unsigned fetch_seconds;        /* most for all requests to debuginfod servers together;
	                                * 0: as long as servers answer */
	bool (*stop)(void);            /* asked while waiting: true gives up; NULL: nobody */
};

SHINY_MUST_CHECK struct shiny_err *sym_create(const struct sym_options *options, struct sym **out);
void sym_destroy(struct sym *sym); /* accepts NULL */

/*
 * Opens the ELF file that was mapped: `file`, which is called `path`. A file that is missing, or
 * has another build-id than the
 * recorded one, still gives a module: its state says so, and every look-up answers "unknown".
 * `build_id` may be NULL.
 */
SHINY_MUST_CHECK struct shiny_err *sym_module_open(struct sym *sym, const char *file,
						   const char *path, const void *build_id,
						   size_t build_id_bytes, struct sym_module **out);

enum sym_state { SYM_OK, SYM_MISSING, SYM_CHANGED, SYM_NOT_ELF };
struct sym_module_info {
	enum sym_state state;
	bool symtab, dynsym, dwarf; /* what was found, in the file or its debug file */
	bool breakpad;              /* functions and lines are from a Breakpad symbol file */
	bool rtti;                  /* imports the C++ runtime's type-info classes */
	const char *debug_file;           /* path of the separate debug file in use, or NULL */
	const char *note;                 /* what is missing and how to get it, or "" */
};
const struct sym_module_info *sym_module_info(const struct sym_module *module);
/* What its names are from, the best of it: "dwarf", "breakpad", "symtab", "dynsym", "none". */
const char *sym_names_from(const struct sym_module_info *info);

/* What places of code without names rest on, as far as frames were asked for: "neighbours":
 * functions that name a source file, and those that lie between them; "strings": only the former;
 * NULL: there are none. */
const char *sym_module_places(const struct sym_module *module);

/* Finds them ahead of time. False: the file has names, or does not say where its code is from. */
struct sym_places {
	const char *rest_on;       /* as sym_module_places() */
	uint64_t functions, named; /* that name their source file; of them, also themselves */
};
bool sym_module_find_places(struct sym_module *module, struct sym_places *out);

/*
 * Asks debuginfod servers for files that this machine lacks, and completes the note (the package to
 * install, units without their .dwo). The information is final afterwards. The first question to a
 * module does this, too.
 */
void sym_module_settle(struct sym_module *module);

/* One function of an address, innermost inline frame first; the last is the function that
 * physically holds the address. */
struct sym_frame {
	const char *function; /* demangled; NULL unknown. ~file.cc:Name: by a text in the code */
	const char *file;     /* NULL unknown; without a line it is a place: the file, or the
	                       * directory (it ends in /), that the code is from. A place or such a
	                       * name that ends in ? is right in fewer than 95 of 100 cases */
	uint32_t line;        /* 0 unknown */
	bool inlined;
};
enum { SYM_FRAMES_MAX = 64 }; /* of one address */

/*
 * Frames of `vaddr`; a return address is looked up by its caller as vaddr - 1. Returns their number
 * (0 unknown), at most `room`: a longer chain loses its outermost frames. Pieces and copies that
 * the compiler made of a C++ function (.cold, .part.0) carry the function's name. An address
 * between functions is unknown: the nearest symbol below it isn't taken.
 */
size_t sym_frames(struct sym_module *module, uint64_t vaddr, struct sym_frame *out, size_t room);

enum sym_vtable_source {
	SYM_VTABLE_NONE,    /* not a vtable: the word points at something else */
	SYM_VTABLE_SYMBOL,  /* a _ZTV symbol covers the address */
	SYM_VTABLE_RTTI,    /* the type-info name in front of it */
	SYM_VTABLE_LABEL,   /* looks like a vtable, has no name: "module!vtable+0x…" */
	SYM_VTABLE_BUILDING, /* a construction vtable (_ZTC): the object was not complete when it
	                      * was read */
	SYM_VTABLE_KIND,    /* no vtable: what describes a kind of garbage-collected objects; named,
	                     * or labelled "module!kind+0x…" */
	SYM_VTABLE_TEXT     /* no vtable: the type's name itself, as its allocator was told it */
};
struct sym_vtable {
	enum sym_vtable_source source;
	const char *type;       /* demangled class name, or the label */
	bool class_named;       /* KIND: the type is a name, not a label */
	int64_t offset_to_top;  /* bytes from the complete object's start to this subobject:
	                         * negative or 0 */
	uint64_t address_point; /* vaddr */
	uint64_t class_bytes;   /* sizeof, where the deleting destructor passes it to sized delete,
	                         * or DWARF says it; 0 unknown */
};

/* What the address point `vaddr` (a value read from an object's first word) says. Not cached:
 * callers ask once for each vptr. */
void sym_vtable(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out);

/* The variable that covers `vaddr`, demangled, and how far in it that is; NULL: no symbol does. */
const char *sym_variable(struct sym_module *module, uint64_t vaddr, uint64_t *offset);

/* The same as sym_vtable of what stands for a kind of garbage-collected objects. */
void sym_object_kind(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out);
const char *sym_vtable_source_name(enum sym_vtable_source source); /* "rtti" */

/* ---- types of blocks ---- */

/* What a type was concluded from. Letters and names as in reports. */
enum sym_rule {
	SYM_RULE_NONE,
	SYM_RULE_ALLOC_TYPE,  /* A: DW_AT_LLVM_alloc_type on the call */
	SYM_RULE_ALLOCATOR,   /* R3: an allocator or a container in the inline chain */
	SYM_RULE_CONSTRUCTOR, /* R4: the constructor that got the pointer */
	SYM_RULE_STORE,       /* R4c: a vtable's address was stored in it */
	SYM_RULE_VARIABLE,    /* R6: a typed variable, member, parameter or result took the
	                       * pointer */
	SYM_RULE_THROWN,      /* the C++ run time was told the type of what is thrown */
	SYM_RULE_FUNCTION,    /* the allocation function says it: strdup makes chars */
	SYM_RULE_VPTR,        /* R1, R2: the block's own vptr, by symbol or RTTI */
	SYM_RULE_BOTH,        /* site and vptr agree */
	SYM_RULE_LEARNED,     /* other blocks of the same site had this vptr */
	SYM_RULE_KIND,        /* the garbage collector was told when it made the object */
	SYM_RULE_NAMED,       /* the allocator was told a name when it made the block */
};
enum sym_form {
	SYM_FORM_OBJECT, /* one T, or what is derived from it */
	SYM_FORM_ARRAY,  /* T[n] */
	SYM_FORM_NODE,   /* a container's node */
	SYM_FORM_BUFFER, /* a container's elements */
};
enum sym_confidence { SYM_LABEL, SYM_LOW, SYM_MEDIUM, SYM_HIGH, SYM_EXACT };

/* Every size is min + k * step; step 0: all are min. */
struct sym_sizes {
	uint64_t min, max, step;
};

struct sym_type {
	const char *type;      /* NULL: not known; a label where confidence says so */
	const char *container; /* that owns the storage; NULL none */
	uint64_t bytes;        /* sizeof(type); 0 unknown */
	enum sym_rule rule;
	enum sym_form form;
	enum sym_confidence confidence;
	bool or_derived;       /* the type, or a class derived from it */
	bool one_of;           /* the type is one of several, "A | B", and so is the container:
	                        * functions with equal code were folded into one */
	unsigned climbed;      /* how many callers up the answer was found */
	const char *const *leading; /* classes at its offset 0 */
	size_t leading_count;
};

/* Takes the steps of a conclusion, one line each; `depth` indents. */
struct sym_evidence {
	void (*line)(void *context, unsigned depth, const char *text);
	void *context;
};

/* A return address. */
struct sym_call {
	struct sym_module *module; /* NULL: outside any */
	uint64_t vaddr;
};

/*
 * The type of blocks that were allocated through `api` (enum shiny_api) from the stack `calls`,
 * innermost first. Answers are cached on disk by build-id. `evidence` may be NULL; with it the
 * cache is passed by.
 */
void sym_site_type(struct sym *sym, const struct sym_call *calls, size_t count, unsigned api,
		   const struct sym_sizes *sizes, struct sym_type *out,
		   struct sym_evidence *evidence);

/* So many of a stack's return addresses are asked: a hash table of Rust's, not optimized, takes
 * nine. */
enum { SYM_CLIMB_MAX = 10 };

/* Works out and caches the answer of one return address ahead of time. True: it is a
 * wrapper, and its caller is asked next. */
bool sym_site_warm(struct sym *sym, const struct sym_call *call);

/* Where the function around a return address begins: from symbols, else from the table for
 * exceptions. False: not known. */
bool sym_call_function(const struct sym_call *call, uint64_t *low);

/* Does the function around a return address give the block to its caller as it got it? Flags.
 * Cached on disk as types are, where the module has no debug information. */
enum sym_passes {
	SYM_PASSES_NOT,
	SYM_PASSES_DECLARED, /* and it is declared so: void *f(…, size_t, …), a wrapper */
	SYM_PASSES_CODE,     /* it does more, or nothing is declared: a wrapper if many call it for
			      * many sizes */
	SYM_PASSES_COPY = 4, /* with one of these: it copies what it was given into the block */
	SYM_PASSES_ALONE = 8, /* likewise: it calls nothing else that could make what is copied */
	SYM_PASSES_ALL = 15,
};
enum sym_passes sym_call_passes(const struct sym_call *call);

/* The name, with * for any text, of the wrapper number `index` that the user's rules have; NULL: no
 * more. */
const char *sym_wrapper_rule(const struct sym *sym, size_t index);

/* What was read of blocks' vptrs. */
struct sym_reading {
	const struct sym_vtable *vtable; /* NULL: no vptr was seen */
	bool young;       /* some were read while their objects may not have been complete */
	bool dying;       /* or only at the free, when destructors had run */
	bool second_word; /* it was the second word: behind an array cookie */
};

/* What vptrs say about blocks of these sizes, put together with what their site says. The table is
 * in type_combine.c. */
void sym_type_combine(struct sym *sym, const struct sym_type *site,
		      const struct sym_reading *reading, const struct sym_sizes *sizes,
		      struct sym_type *out, struct sym_evidence *evidence);

/* Layout of a type, in order of offset. Members of members have depth > 0. */
enum sym_member_what { SYM_MEMBER, SYM_BASE_CLASS, SYM_VPTR, SYM_HOLE, SYM_PADDING };
struct sym_member {
	const char *name, *type; /* NULL: it has none */
	uint64_t offset, bytes;  /* from the start of the whole object; of a bit field `bytes` is
	                          * 0 */
	unsigned depth, bit_offset, bit_size;
	enum sym_member_what what;
};
typedef bool sym_member_fn(void *context, const struct sym_member *member); /* false: enough */
/* Of the class named `type` as sym_type has it, if the module's debug information defines it;
 * *bytes is its size. False: it doesn't. */
bool sym_type_layout(struct sym_module *module, const char *type, uint64_t *bytes,
		     sym_member_fn *each, void *context);

/* The return addresses of the module's calls of functions that allocate: malloc, operator new and
 * their like, its own and imported ones. In no order, each once. For working out types ahead of
 * time. */
typedef void sym_call_fn(void *context, uint64_t ret);
void sym_allocation_calls(struct sym_module *module, sym_call_fn *each, void *context);

/* What blocks of one call would be, if they have the size of the best finding. Works out and caches
 * its answer like sym_site_warm(). */
enum sym_outlook {
	SYM_OUTLOOK_TYPE,    /* `out` is it; its confidence may be that of a label */
	SYM_OUTLOOK_WRAPPER, /* the callers know */
	SYM_OUTLOOK_NONE,
};
enum sym_outlook sym_site_outlook(struct sym *sym, const struct sym_call *call,
				  struct sym_type *out);

/* What there is of a module, for people to read. */
struct sym_inventory {
	bool inside;      /* the debug information is in the file itself */
	bool compressed;  /* and is packed */
	bool dwz;         /* parts of it are in a file that it shares with others */
	bool minidebug;   /* .gnu_debugdata: function names only */
	const char *dwp;  /* package of split units; NULL none */
	const char *cache_path; /* of the answers for call sites; NULL: not on disk */
	uint64_t cached;        /* answers in it */
};
void sym_module_inventory(struct sym_module *module, struct sym_inventory *out);

const char *sym_rule_name(enum sym_rule rule);                /* "constructor" */
const char *sym_form_name(enum sym_form form);                /* "array" */
const char *sym_confidence_name(enum sym_confidence confidence); /* "exact" */

/* Demangles an Itanium C++, Rust or plain name. */
const char *sym_demangle(struct sym *sym, const char *name);

#endif
