/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sym.h: names and types for addresses in files. Only the symbolizer sees elfutils.
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
	bool blind;                    /* treats files as if stripped: answers from their code
	                                * only */
	const char *type_rules;        /* file of container rules that precede the built-in ones;
	                                * NULL: none */
	const char *cache_dir;         /* directory of the site types' cache; NULL: the user's */
	bool no_cache;                 /* neither read nor write it */
	bool progress;                 /* shows progress on stderr while a debuginfod server
	                                * answers */
	unsigned fetch_seconds;        /* limit for all debuginfod requests together; 0: no limit */
	bool (*stop)(void);            /* polled while waiting: true ends the wait; NULL: never */
};

SHINY_MUST_CHECK struct shiny_err *sym_create(const struct sym_options *options, struct sym **out);
void sym_destroy(struct sym *sym); /* accepts NULL */

/*
 * Opens the mapped ELF file `file`; `path` is its name in messages. A file that is missing, or
 * whose build-id differs from the recorded one, still gives a module: its state says so, and every
 * look-up answers "unknown". `build_id` may be NULL.
 */
SHINY_MUST_CHECK struct shiny_err *sym_module_open(struct sym *sym, const char *file,
						   const char *path, const void *build_id,
						   size_t build_id_bytes, struct sym_module **out);

enum sym_state { SYM_OK, SYM_MISSING, SYM_CHANGED, SYM_NOT_ELF };
struct sym_module_info {
	enum sym_state state;
	bool symtab, dynsym, dwarf; /* found in the file or its debug file */
	bool breakpad;              /* functions and lines come from a Breakpad symbol file */
	bool rtti;                  /* the file imports the C++ runtime's type-info classes */
	const char *debug_file;           /* path of the separate debug file in use, or NULL */
	const char *note;                 /* what is missing and how to get it, or "" */
};
const struct sym_module_info *sym_module_info(const struct sym_module *module);
/* Returns the best source of the module's names: "dwarf", "breakpad", "symtab", "dynsym",
 * "none". */
const char *sym_names_from(const struct sym_module_info *info);

/* Returns the evidence for the source files of code without names. "neighbours": functions that
 * name a source file, and the functions between them; "strings": only functions that name one.
 * NULL: there is none, or no frame was requested yet. */
const char *sym_module_places(const struct sym_module *module);

/* Finds places ahead of time. False: the file has names, or does not tell its source files. */
struct sym_places {
	const char *rest_on;       /* as sym_module_places() */
	uint64_t functions, named; /* functions that name their source file; of them, those that
	                            * also name themselves */
	uint64_t titled;           /* functions that name themselves without a path */
};
bool sym_module_find_places(struct sym_module *module, struct sym_places *out);

/*
 * Requests files that this machine lacks from debuginfod servers, and completes the note (the
 * package to install, units without their .dwo). The information is final afterwards. The first
 * question to a module does this, too.
 */
void sym_module_settle(struct sym_module *module);

/* One function at an address. The innermost inline frame is first; the last frame is the function
 * that physically holds the address. */
struct sym_frame {
	const char *function; /* demangled; NULL: unknown. ~file.cc:Name, ~Name: named by a text
	                       * in the code */
	const char *file;     /* NULL: unknown. Without a line it is a place: the source file, or
	                       * its directory (ends in /). A place or ~name that ends in ? is right
	                       * in fewer than 95 of 100 cases */
	uint32_t line;        /* 0: unknown */
	bool inlined;
};
enum { SYM_FRAMES_MAX = 64 }; /* frames of one address */

/*
 * Finds the frames of `vaddr`; look up a return address as vaddr - 1. Returns their number (0:
 * unknown), at most `room`: a longer chain loses its outermost frames. Pieces and copies that the
 * compiler made of a C++ function (.cold, .part.0) carry the function's name. An address between
 * functions is unknown: the nearest symbol below it isn't used.
 */
size_t sym_frames(struct sym_module *module, uint64_t vaddr, struct sym_frame *out, size_t room);

enum sym_vtable_source {
	SYM_VTABLE_NONE,    /* not a vtable: the word points at something else */
	SYM_VTABLE_SYMBOL,  /* a _ZTV symbol covers the address */
	SYM_VTABLE_RTTI,    /* the vtable's type-info names the class */
	SYM_VTABLE_LABEL,   /* looks like a vtable, has no name: "module!vtable+0x…" */
	SYM_VTABLE_BUILDING, /* a construction vtable (_ZTC): the object was incomplete when its
	                      * vptr was read */
	SYM_VTABLE_KIND,    /* no vtable: the description of a kind of garbage-collected objects;
	                     * named, or labelled "module!kind+0x…" */
	SYM_VTABLE_TEXT,    /* no vtable: the type's name itself, which its allocator received */
	SYM_VTABLE_G_TYPE,  /* no vtable: the name by which GObject knows the type */
	SYM_VTABLE_OB_TYPE, /* likewise Python */
	SYM_VTABLE_ISA,     /* likewise Objective-C */
	SYM_VTABLE_POOL,    /* no vtable: a label of the pool that takes room from the block */
};
struct sym_vtable {
	enum sym_vtable_source source;
	const char *type;       /* demangled class name, or the label */
	bool class_named;       /* KIND: the type is a name, not a label */
	int64_t offset_to_top;  /* bytes from the complete object's start to this subobject: 0 or
	                         * negative */
	uint64_t address_point; /* vaddr */
	uint64_t class_bytes;   /* sizeof, if the deleting destructor passes it to sized delete, or
	                         * DWARF has it; 0: unknown */
};

/* Identifies the vtable at address point `vaddr` (a value read from an object's first word). The
 * answer isn't cached: callers ask once for each vptr. */
void sym_vtable(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out);

/* Returns the demangled name of the variable that covers `vaddr`, and the offset in it; NULL: no
 * symbol covers it. */
const char *sym_variable(struct sym_module *module, uint64_t vaddr, uint64_t *offset);

/* Like sym_vtable, for the address that stands for a kind of garbage-collected objects. */
void sym_object_kind(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out);
const char *sym_vtable_source_name(enum sym_vtable_source source); /* "rtti" */
enum sym_vtable_source sym_vtable_source_of(const char *name); /* NONE: of none */

/* ---- types of blocks ---- */

/* The rule that concluded a type. Letters and names are those of reports. */
enum sym_rule {
	SYM_RULE_NONE,
	SYM_RULE_ALLOC_TYPE,  /* A: DW_AT_LLVM_alloc_type on the call */
	SYM_RULE_ALLOCATOR,   /* R3: an allocator or a container in the inline chain */
	SYM_RULE_CONSTRUCTOR, /* R4: the constructor that got the pointer */
	SYM_RULE_STORE,       /* R4c: a vtable's address was stored in it */
	SYM_RULE_VARIABLE,    /* R6: a typed variable, member, parameter or result received the
	                       * pointer */
	SYM_RULE_THROWN,      /* the C++ runtime received the type of the thrown object */
	SYM_RULE_FUNCTION,    /* the allocation function implies it: strdup returns chars */
	SYM_RULE_VPTR,        /* R1, R2: the block's own vptr, by symbol or RTTI */
	SYM_RULE_BOTH,        /* site and vptr agree */
	SYM_RULE_LEARNED,     /* other blocks of the same site had this vptr */
	SYM_RULE_KIND,        /* the garbage collector received the kind with the allocation */
	SYM_RULE_NAMED,       /* the allocator received a name with the allocation */
	SYM_RULE_RUN_TIME,    /* the program's run time keeps the type of each object */
};
enum sym_form {
	SYM_FORM_OBJECT, /* one T, or an object of a class derived from it */
	SYM_FORM_ARRAY,  /* T[n] */
	SYM_FORM_NODE,   /* a container's node */
	SYM_FORM_BUFFER, /* a container's elements */
};
enum sym_confidence { SYM_LABEL, SYM_LOW, SYM_MEDIUM, SYM_HIGH, SYM_EXACT };

/* Sizes min + k * step, up to max; step 0: all are min. */
struct sym_sizes {
	uint64_t min, max, step;
};

struct sym_type {
	const char *type;      /* NULL: unknown; a label if confidence is SYM_LABEL */
	const char *container; /* container that owns the storage; NULL: none */
	uint64_t bytes;        /* sizeof(type); 0: unknown */
	enum sym_rule rule;
	enum sym_form form;
	enum sym_confidence confidence;
	bool or_derived;       /* the type, or a class derived from it */
	bool one_of;           /* type, and container, are one of several, "A | B": functions with
	                        * equal code were folded into one */
	unsigned climbed;      /* callers above the call that gave the answer */
	const char *const *leading; /* classes at its offset 0 */
	size_t leading_count;
};

/* Receives the steps of a conclusion, one line each; `depth` indents. */
struct sym_evidence {
	void (*line)(void *context, unsigned depth, const char *text);
	void *context;
};

/* A return address. */
struct sym_call {
	struct sym_module *module; /* NULL: the address is in no module */
	uint64_t vaddr;
};

/*
 * Finds the type of blocks allocated through `api` (enum shiny_api) from the stack `calls`,
 * innermost first. Answers are cached on disk by build-id. `evidence` may be NULL; with it the
 * cache is bypassed.
 */
void sym_site_type(struct sym *sym, const struct sym_call *calls, size_t count, unsigned api,
		   const struct sym_sizes *sizes, struct sym_type *out,
		   struct sym_evidence *evidence);

/* Limit of return addresses examined per stack: an unoptimized hash table of Rust needs nine. */
enum { SYM_CLIMB_MAX = 10 };

/* Computes and caches the answer of one return address ahead of time. True: its function is a
 * wrapper, and the caller matters next. */
bool sym_site_warm(struct sym *sym, const struct sym_call *call);

/* Finds the start of the function around a return address: from symbols, else from .eh_frame_hdr.
 * False: unknown. */
bool sym_call_function(const struct sym_call *call, uint64_t *low);

/* Returns the name of the function that the call calls; NULL: it has none, or is known at run time
 * only. */
const char *sym_call_target(const struct sym_call *call);

/* Flags: does the function around a return address return the block unchanged to its caller? Cached
 * on disk like types, unless .dwo or shared files hold parts of the debug information. */
enum sym_passes {
	SYM_PASSES_NOT,
	SYM_PASSES_DECLARED, /* it does, and its declaration is a wrapper's: void *f(…, size_t,
	                      * …) */
	SYM_PASSES_CODE,     /* it does, and does more, or has no declaration: a wrapper if many
	                      * callers use it for many sizes */
	SYM_PASSES_COPY = 4, /* added to the above: it copies an argument into the block */
	SYM_PASSES_ALONE = 8, /* added to the above: it calls nothing else that could build the
	                       * copied text */
	SYM_PASSES_ALL = 15,
};
enum sym_passes sym_call_passes(const struct sym_call *call);

/* Returns the name pattern (* for any text) of wrapper `index` in the user's rules; NULL: there are
 * no more. */
const char *sym_wrapper_rule(const struct sym *sym, size_t index);

/* Summary of the vptrs read from a site's blocks. */
struct sym_reading {
	const struct sym_vtable *vtable; /* NULL: no vptr was seen */
	bool young;       /* some were read while their objects may have been incomplete */
	bool dying;       /* most were read only at the free, after destructors had run */
	bool second_word; /* the vptr was the second word, after an array cookie */
};

/* Combines the type that vptrs give to blocks of these sizes with the type that their site gives.
 * type_combine.c has the table of cases. */
void sym_type_combine(struct sym *sym, const struct sym_type *site,
		      const struct sym_reading *reading, const struct sym_sizes *sizes,
		      struct sym_type *out, struct sym_evidence *evidence);

/* Layout of a type, in order of offset. Members of members have depth > 0. */
enum sym_member_what { SYM_MEMBER, SYM_BASE_CLASS, SYM_VPTR, SYM_HOLE, SYM_PADDING };
struct sym_member {
	const char *name, *type; /* NULL: it has none */
	uint64_t offset, bytes;  /* offset from the start of the whole object; `bytes` is 0 for a
	                          * bit field */
	unsigned depth, bit_offset, bit_size;
	enum sym_member_what what;
};
typedef bool sym_member_fn(void *context, const struct sym_member *member); /* false: stop */
/* Lists the layout of the class `type` (a name as in sym_type); *bytes receives its size. False:
 * the module's debug information doesn't define it. */
bool sym_type_layout(struct sym_module *module, const char *type, uint64_t *bytes,
		     sym_member_fn *each, void *context);

/* Lists the return addresses of the module's calls of malloc, operator new and their like, its own
 * and imported ones. Each comes once, in no order. Use it to compute types ahead of time. */
typedef void sym_call_fn(void *context, uint64_t ret);
void sym_allocation_calls(struct sym_module *module, sym_call_fn *each, void *context);

/* Predicts the type of one call's blocks, assuming the size of the best finding. Computes and
 * caches the answer like sym_site_warm(). */
enum sym_outlook {
	SYM_OUTLOOK_TYPE,    /* `out` has the type; its confidence may be SYM_LABEL */
	SYM_OUTLOOK_WRAPPER, /* the type depends on the callers */
	SYM_OUTLOOK_NONE,
};
enum sym_outlook sym_site_outlook(struct sym *sym, const struct sym_call *call,
				  struct sym_type *out);

/* Inventory of a module's debug information and caches, for people. */
struct sym_inventory {
	bool inside;      /* the file itself holds the debug information */
	bool compressed;  /* the debug information is compressed */
	bool dwz;         /* a file shared with others (dwz) holds parts of it */
	bool minidebug;   /* .gnu_debugdata: function names only */
	const char *dwp;  /* package of split units; NULL: none */
	const char *cache_path; /* cache file of call sites' answers; NULL: none on disk */
	uint64_t cached;        /* answers in the cache */
};
void sym_module_inventory(struct sym_module *module, struct sym_inventory *out);

const char *sym_rule_name(enum sym_rule rule);                /* "constructor" */
const char *sym_form_name(enum sym_form form);                /* "array" */
const char *sym_confidence_name(enum sym_confidence confidence); /* "exact" */

#endif
