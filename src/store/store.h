/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: the session file, written by the sidecar and read by everything else. The only room that
 * knows SQLite; the schema and the public views are in schema.sql, the packing of events in
 * block.h.
 *
 * Runs: sidecar (writer), CLI (reader). Signals: no. Allocates: yes. Threads: one a store.
 *
 * Times are ns since the session's start; sizes are bytes; ids start at 1 and 0 means none. Strings
 * are copied. NULL text is stored as NULL.
 */
#ifndef SHINY_STORE_H
#define SHINY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/err.h"
#include "event.h"

#define STORE_SCHEMA_VERSION 9

struct store;

/* ---- writing ---- */

/* Makes `path`; refuses an existing one unless `force`. WAL while recording; store_finish makes it
 * one file. */
SHINY_MUST_CHECK struct shiny_err *store_create(const char *path, bool force, bool with_events,
						struct store **out);

struct store_process {
	uint32_t id, parent; /* parent: id of the process it was forked from or exec'd by, 0
	                      * unknown */
	uint32_t pid;        /* as the sidecar's namespace sees it; 0 unknown */
	uint32_t namespace_pid;
	const char *name, *role, *executable, *command; /* role: "browser", "renderer", …; "" for
	                                                 * other programs */
	uint64_t start, end; /* end 0: still running when the session ended */
	const char *ending;  /* "exited", "killed", "replaced" (by exec), "unknown", "running" */
	const char *attach;  /* "symbols", "partition_alloc", "entries", "none" */
	const char *attach_text;
	uint64_t events; /* records decoded from it */
	uint64_t forked; /* what its parent held then, it inherited; 0: it was not forked */
	const char *purpose; /* what its command line says beyond the role */
	int status;          /* exit status, or the signal that killed it; -1 unknown */
	bool early;          /* what it held when it ended is not live at the session's end, but
	                      * gone */
};
struct store_thread {
	uint32_t id, process, tid, creator;
	const char *name;
	uint64_t start, end;
	bool nested; /* the stream of signal handlers that interrupted a record */
};
struct store_module {
	uint32_t id;
	const char *path, *build_id; /* build-id in hex, "" none */
	const char *symbols;         /* "dwarf", "symtab", "dynsym", "none", "missing", "changed" */
	const char *debug_file, *note;
};
struct store_mapping { /* a module in a process's address space */
	uint32_t process, module;
	uint64_t start, end, bias; /* addresses */
	uint64_t loaded, unloaded; /* times; unloaded 0: until the end */
};
struct store_frame_line { /* one function of a frame: depth 0 is the innermost inline function */
	const char *function, *file;
	uint32_t line;
	bool inlined;
};
struct store_vtable {
	uint32_t id, module;
	uint64_t vaddr;
	const char *source; /* "symbol", "rtti", "label", "building", "none" */
	const char *type;   /* class name or label; NULL when source is "none" */
	uint64_t class_bytes;
};
struct store_class { /* whose constructors and destructors are recorded */
	uint32_t id, module;
	const char *name;
	uint64_t bytes; /* 0 unknown */
	uint32_t constructors, destructors, unpatched;
	int64_t inlined; /* -1 not known */
};
struct store_mark { /* a moment that the program gave a name */
	uint32_t process, thread; /* 0: set from outside */
	uint64_t time;
	const char *name;
};
struct store_unrecorded { /* a program that was started and is not recorded */
	uint32_t parent; /* process that started it, or became it; 0 unknown */
	uint32_t pid;    /* as it saw itself, 0 unknown */
	const char *name, *executable;
	const char *reason, *text; /* a word of unrecorded_reason.def; and in words */
	bool choice;               /* somebody asked for it */
	uint64_t time;             /* ns, 0 unknown */
};
struct store_type {
	uint32_t id;
	const char *name, *container; /* container NULL: none */
	const char *form, *rule, *confidence; /* as sym_form_name() and its like spell them */
	const char *source; /* "site", or the vtable's source */
	uint64_t bytes;     /* sizeof(name), 0 unknown */
	bool or_derived;
};
/* What happened to the blocks of one (process, stack, vtable, tag): every block that began is
 * counted in exactly one such row. */
struct store_stat {
	uint32_t process, stack, vtable; /* vtable 0: no vptr was seen */
	uint32_t tag;                    /* 0 none */
	uint8_t reading;                 /* the best shiny_vptr_api seen for them, 0 with vtable
	                                  * 0 */
	uint64_t allocs;   /* blocks that began: allocations and successful reallocs */
	uint64_t reallocs; /* of these, by realloc */
	uint64_t frees;    /* blocks that ended: freed, given to a successful realloc, or in one of
	                    * these two ways: */
	uint64_t reused, released; /* nobody freed it: another one has its place, or its memory was
	                            * given back */
	uint64_t bytes;    /* requested, over allocs */
	uint64_t live, live_bytes;           /* at the session's end */
	uint64_t gone, gone_bytes;           /* that nobody freed, of a process that had ended
	                                      * before: store_process.early */
	uint64_t inherited, inherited_bytes; /* blocks that a fork brought along; in nothing else
	                                      * but frees */
	uint64_t inherited_frees;            /* of frees; allocs + inherited_frees = frees + live +
	                                      * gone */
	uint64_t max_size, min_size, size_step; /* size_step: every size is min_size + k *
	                                         * size_step; 0: all are the same */
	uint8_t api;       /* enum shiny_api of one of them */
	uint32_t type;     /* id of a store_type, 0 unknown */
};
enum { STORE_LIFETIME_BINS = 64 };
/* kept a site, not a stack. bin b: 2^b <= lifetime in ns < 2^(b+1); bin 0 also holds 0 */
struct store_lifetime {
	uint32_t process, stack, type;
	uint8_t bin;
	bool censored; /* still alive when the recording ended: the true lifetime is longer */
	uint64_t count, bytes;
};
struct store_peak { /* added up a site */
	uint32_t process, stack, tag;
	uint64_t peak_blocks, peak_bytes, peak_time;
};
struct store_bucket { /* the timeline */
	uint32_t process;
	uint64_t start, length;
	/* live: at the bucket's end */
	uint64_t allocs, frees, alloc_bytes, free_bytes, live_blocks, live_bytes;
	uint64_t most_bytes; /* live at any moment in it */
};
/* a range of a process's address space, for as long as its bounds were the same */
struct store_segment {
	uint32_t id, process, origin;
	uint64_t start, end;   /* addresses */
	uint64_t born, ended;  /* times; ended 0: there until its process ended */
	const char *source;    /* "mmap", "mremap", "brk": calls; "list": found in /proc; "fork":
	                        * came along */
	uint32_t stack;        /* of the call */
	uint32_t prot, flags;
	bool shared;
	const char *file, *name;
	uint64_t offset;
	const char *owner, *detail; /* owners.def */
};
/* of a segment, or the part of it in which blocks of malloc lie; from this time on */
struct store_residency {
	uint32_t segment;
	bool malloc;
	uint64_t time, committed, rss, pss, private_bytes, swap;
	uint64_t live_blocks, live_bytes;
};
struct store_memory { /* one look at a process */
	uint32_t process;
	uint64_t time, areas, rss, pss, private_bytes, swap, live_blocks, live_bytes;
	uint64_t cost; /* ns of the sidecar's processor */
};
/* at the end; page = address / 4096 */
struct store_page { uint32_t process; uint64_t page; uint32_t blocks, live_bytes; };
enum { STORE_BLOCK_PAGES = 1 << 18 }; /* table page has a row for so many pages of a block */

/* table session */
SHINY_MUST_CHECK struct shiny_err *store_put_text(struct store *store, const char *key,
						  const char *value);
SHINY_MUST_CHECK struct shiny_err *store_put_number(struct store *store, const char *key,
						    uint64_t value);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_process(struct store *store,
						     const struct store_process *row);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_thread(struct store *store,
						    const struct store_thread *row);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_module(struct store *store,
						    const struct store_module *row);
SHINY_MUST_CHECK struct shiny_err *store_put_mapping(struct store *store,
						     const struct store_mapping *row);
SHINY_MUST_CHECK struct shiny_err *store_put_frame(struct store *store, uint32_t id,
						   uint32_t module, uint64_t vaddr,
						   /* again: replaces */
						   const struct store_frame_line *lines,
						   size_t line_count);
/* The frame lies in an allocation wrapper: it is nobody's call site. */
SHINY_MUST_CHECK struct shiny_err *store_put_wrapper(struct store *store, uint32_t frame);
SHINY_MUST_CHECK struct shiny_err *store_put_stack(struct store *store, uint32_t id,
						   const uint32_t *frames, size_t count);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_vtable(struct store *store,
						    const struct store_vtable *row);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_class(struct store *store,
						   const struct store_class *row);
SHINY_MUST_CHECK struct shiny_err *store_put_tag(struct store *store, uint32_t id,
						 const char *name);
SHINY_MUST_CHECK struct shiny_err *store_put_mark(struct store *store,
						  const struct store_mark *row);
SHINY_MUST_CHECK struct shiny_err *store_put_unrecorded(struct store *store,
							const struct store_unrecorded *row);
SHINY_MUST_CHECK struct shiny_err *store_put_type(struct store *store,
						  const struct store_type *row);
SHINY_MUST_CHECK struct shiny_err *store_put_stat(struct store *store,
						  const struct store_stat *row);
SHINY_MUST_CHECK struct shiny_err *store_put_lifetime(struct store *store,
						      const struct store_lifetime *row);
SHINY_MUST_CHECK struct shiny_err *store_put_peak(struct store *store,
						  const struct store_peak *row);
SHINY_MUST_CHECK struct shiny_err *store_put_bucket(struct store *store,
						    const struct store_bucket *row);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_segment(struct store *store,
						     const struct store_segment *row);
SHINY_MUST_CHECK struct shiny_err *store_put_residency(struct store *store,
						       const struct store_residency *row);
SHINY_MUST_CHECK struct shiny_err *store_put_memory(struct store *store,
						    const struct store_memory *row);
SHINY_MUST_CHECK struct shiny_err *store_put_page(struct store *store,
						  const struct store_page *row);
SHINY_MUST_CHECK struct shiny_err *store_drop_pages(struct store *store, uint32_t process);
/* The most that was live at once, and when. */
SHINY_MUST_CHECK struct shiny_err *store_put_session_peak(struct store *store, uint64_t blocks,
							  uint64_t bytes, uint64_t time);
/* weight "loss": events are missing; "note": nothing is. `process` 0: the whole session. */
SHINY_MUST_CHECK struct shiny_err *store_put_counter(struct store *store, uint32_t process,
						     const char *name, const char *weight,
						     uint64_t count, const char *text);
SHINY_MUST_CHECK struct shiny_err *store_put_note(struct store *store, uint32_t process,
						  const char *text);

/* Appends events, in the order in which they were applied; packs and writes a block when enough
 * have come. */
SHINY_MUST_CHECK struct shiny_err *store_put_events(struct store *store, const struct event *events,
						    size_t count);

/* a crash loses what came after the last one */
SHINY_MUST_CHECK struct shiny_err *store_commit(struct store *store);
/* One complete file; frees the store, also on failure. `totals` may be NULL. */
struct store_totals { uint64_t sites, types; }; /* different ones with blocks */
SHINY_MUST_CHECK struct shiny_err *store_finish(struct store *store, struct store_totals *totals);
/* frees without completing; accepts NULL */
void store_abandon(struct store *store);

/* Somebody writes the session at `path` now. A lock tells; false where there is no such file. */
bool store_is_written(const char *path);

/*
 * Opens a finished session to add what a browser said of itself; then store_commit, which adds all
 * or nothing, and store_abandon. pid and boottime (ns, CLOCK_BOOTTIME) are turned into the
 * session's process and time.
 */
SHINY_MUST_CHECK struct shiny_err *store_append(const char *path, struct store **out);
SHINY_MUST_CHECK struct shiny_err *store_put_browser_name(struct store *store, uint32_t id,
							  const char *name);
SHINY_MUST_CHECK struct shiny_err *store_put_browser_look(struct store *store, uint32_t id,
							  bool snapshot, uint32_t pid,
							  uint64_t boottime, const char *title);
SHINY_MUST_CHECK struct shiny_err *store_put_browser_allocator(struct store *store, uint32_t look,
							       uint32_t name, uint64_t bytes,
							       uint64_t effective,
							       uint64_t objects);
SHINY_MUST_CHECK struct shiny_err *store_put_browser_objects(struct store *store, uint32_t look,
							     uint32_t kind, uint32_t name,
							     uint64_t objects,
							     uint64_t bytes); /* again: added up */

/* ---- reading ---- */

/*
 * Opens a session read-only. What is not a session of this format, table for table and view for
 * view, is refused with one clear line; what is one may still hold any rows (guard.h): an id is an
 * index only as query_id gives it.
 */
SHINY_MUST_CHECK struct shiny_err *store_open(const char *path, struct store **out);
/* The session of `store`, in a connection with temporary tables of its own. */
SHINY_MUST_CHECK struct shiny_err *store_open_again(const struct store *store, struct store **out);
bool store_complete(const struct store *store); /* false: its recording did not finish; what was
                                                 * committed last is there, sites are not */
/* one more than the table's highest id when it was opened: what query_id wants */
size_t store_ids(const struct store *store, const char *table);
/*
 * What a reader makes of a session may take so many of anything: `least`, and so many a byte of its
 * file. Beyond that it says store_too_much. No bound on a session that this process writes.
 */
uint64_t store_bound(const struct store *store, uint64_t least, uint64_t a_byte);
SHINY_MUST_CHECK struct shiny_err *store_too_much(const struct store *store);
void store_close(struct store *store);          /* accepts NULL */

/* One SELECT, row by row. Text is valid until the next step. */
struct query;
SHINY_MUST_CHECK struct shiny_err *store_query(struct store *store, const char *sql,
					       struct query **out);
void query_bind_number(struct query *query, int index, int64_t value); /* index from 1 */
void query_bind_text(struct query *query, int index, const char *value);
SHINY_MUST_CHECK struct shiny_err *query_step(struct query *query, bool *row);
int64_t query_number(const struct query *query, int column); /* column from 0 */
/* 0 where it is not 1 to limit - 1 */
uint32_t query_id(const struct query *query, int column, size_t limit);
/*
 * "" for NULL. No control character, nothing that turns a line's direction and no malformed UTF-8
 * is in it (text_plain): whatever a name is, it can be printed anywhere. query_verbatim: as it is
 * stored, to open a file of that name or to write it down again.
 */
const char *query_text(const struct query *query, int column);
const char *query_verbatim(const struct query *query, int column);
bool query_is_null(const struct query *query, int column);
void query_end(struct query *query); /* accepts NULL */

/* Replays events in stored order; `process` 0 and [from, to] = [0, UINT64_MAX] for all. Stops early
 * when `each` returns false. */
typedef bool store_each_fn(void *context, const struct event *event);
SHINY_MUST_CHECK struct shiny_err *store_each_event(struct store *store, uint32_t process,
						    uint64_t from, uint64_t to, store_each_fn *each,
						    void *context);
/* All events in stored order, a few hundred at a time: for those who look up much for each, and can
 * look ahead. */
typedef bool store_batch_fn(void *context, const struct event *events, size_t count);
SHINY_MUST_CHECK struct shiny_err *store_each_batch(struct store *store, store_batch_fn *each,
						    void *context);

#endif
