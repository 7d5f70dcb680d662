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

/* A session of another version is refused with one line: this is the only rule for older ones. */
#define STORE_SCHEMA_VERSION 19

struct store;

/* A sum of counts that nobody vouches for: SUM ends the query where it overflows. */
#define STORE_SUM(column) "CAST(min(total(" column "), 9e18) AS INTEGER)"

/* ---- writing ---- */

/* Makes `path`; refuses an existing one unless `force`. WAL while recording; store_finish makes it
 * one file. */
SHINY_MUST_CHECK struct shiny_err *store_create(const char *path, bool force, bool with_events,
						struct store **out);

/* struct store_process, store_thread, …: a row of each table of store_rows.def. */
#define ROW(name, NAME, how)		 struct store_##name {
#define NUMBER(type, field, column)	 type field;
#define SIGNED(type, field, column)	 type field;
#define STATUS(type, field, column)	 type field;
#define REFERENCE(type, field, column)	 type field;
#define TEXT(field, column)		 const char *field;
#define BY_STACK(type, field, column, s) type field;
#define END(name) \
	}         \
	;
#include "store_rows.def"

struct store_frame_line { /* one function of a frame: depth 0 is the innermost inline function */
	const char *function, *file;
	uint32_t line;
	bool inlined;
};
enum { STORE_LIFETIME_BINS = 64 };
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
						   const struct store_frame_line *lines,
						   size_t line_count);
/* of a frame that was put without lines */
SHINY_MUST_CHECK struct shiny_err *store_put_lines(struct store *store, uint32_t frame,
						   const struct store_frame_line *lines,
						   size_t count);
/* Functions of this name are nobody's call site, beside those of boring.rules. */
SHINY_MUST_CHECK struct shiny_err *store_put_boring(struct store *store, const char *pattern);
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
/*
 * The first row of statistics (stat, lifetime, peak) makes the call sites, for which all stacks and
 * wrappers and the lines of all frames have to be there: those that come later are refused.
 */
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
SHINY_MUST_CHECK struct shiny_err *store_put_snapshot(struct store *store,
						      const struct store_snapshot *row);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_root(struct store *store,
						  const struct store_root *row);
SHINY_MUST_CHECK struct shiny_err *store_put_member(struct store *store,
						    const struct store_member *row);
/* again: replaces */
SHINY_MUST_CHECK struct shiny_err *store_put_access(struct store *store,
						    const struct store_access *row);
SHINY_MUST_CHECK struct shiny_err *store_put_page_use(struct store *store,
						      const struct store_page_use *row);
/* For snapshot_parts.h, which packs them. */
SHINY_MUST_CHECK struct shiny_err *store_put_snapshot_part(struct store *store, uint32_t snapshot,
							   uint32_t part, uint32_t kind,
							   uint32_t rows, const void *data,
							   size_t bytes);
/* The most that was live at once, and when. */
SHINY_MUST_CHECK struct shiny_err *store_put_session_peak(struct store *store, uint64_t blocks,
							  uint64_t bytes, uint64_t time);
/* weight "loss": events are missing; "note": nothing is. `process` 0: the whole session. */
SHINY_MUST_CHECK struct shiny_err *store_put_counter(struct store *store, uint32_t process,
						     const char *name, const char *weight,
						     uint64_t count, const char *text);
SHINY_MUST_CHECK struct shiny_err *store_put_note(struct store *store, uint32_t process,
						  const char *text);

/*
 * Where the next events go, in the order in which they are applied: `*room` of them at most, until
 * some are taken or the store commits. Packed blocks are written when enough have come. `*out` is
 * NULL where the session keeps no events.
 */
SHINY_MUST_CHECK struct shiny_err *store_event_room(struct store *store, struct event **out,
						    size_t *room);
/* The first `count` events of that room are there. */
void store_take_events(struct store *store, size_t count);
/* The same for events that lie elsewhere. */
SHINY_MUST_CHECK struct shiny_err *store_put_events(struct store *store, const struct event *events,
						    size_t count);

/*
 * Asked when the disk has refused what a session file needs, for `error` (ENOSPC, EDQUOT, EIO):
 * true, it is tried again. It may wait, and must not touch the store. NULL, as at first: it is not
 * tried again. After an error the transaction is lost (SQLite rolls it back).
 */
typedef bool store_patience_fn(void *context, int error);
void store_be_patient(store_patience_fn *fn, void *context);
/* a crash loses what came after the last one */
SHINY_MUST_CHECK struct shiny_err *store_commit(struct store *store);
/* One complete file; frees the store, also on failure. `totals` may be NULL. */
struct store_totals {
	uint64_t sites, types; /* different ones with blocks */
	bool log_left;         /* part of it is in the log beside the file: the disk was full */
};
SHINY_MUST_CHECK struct shiny_err *store_finish(struct store *store, struct store_totals *totals);
/* frees without completing; accepts NULL */
void store_abandon(struct store *store);
/* A file of no use, which this process has made, with its companions. */
void store_remove(const char *path);

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
SHINY_MUST_CHECK struct shiny_err *store_put_browser_sample(struct store *store, uint32_t id,
							    bool snapshot, uint32_t pid,
							    uint64_t boottime, const char *title);
SHINY_MUST_CHECK struct shiny_err *store_put_browser_allocator(struct store *store, uint32_t sample,
							       uint32_t name, uint64_t bytes,
							       uint64_t effective,
							       uint64_t objects);
SHINY_MUST_CHECK struct shiny_err *store_put_browser_objects(struct store *store, uint32_t sample,
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
/* one more than the table's highest id when it was opened: what query_id wants; of table stack also
 * when it is still in stack_waiting */
size_t store_ids(const struct store *store, const char *table);
/*
 * References to rows that are not there, which were read as none: the file is damaged. Those in all
 * tables, if this reader has come upon one or `look` says so, and those in the events that it has
 * read. 0 of a session that somebody writes, whose rows come while it is read.
 */
SHINY_MUST_CHECK struct shiny_err *store_astray(struct store *store, bool look, uint64_t *count);
/*
 * What a reader makes of a session may take so many of anything: `least`, and so many a byte of its
 * file. Beyond that it says store_too_much. No bound on a session that this process writes.
 */
uint64_t store_bound(const struct store *store, uint64_t least, uint64_t a_byte);
SHINY_MUST_CHECK struct shiny_err *store_too_much(const struct store *store);
void store_close(struct store *store);          /* accepts NULL */
/*
 * What a reader works out of a session, for the next one that needs it: several analyses of one
 * command want the same names. `key`: an address that nobody else uses. NULL: there is nothing.
 */
void *store_kept(const struct store *store, const void *key);
/* The store frees the value when it is closed. False: a session that somebody still writes is
 * another one the next time, so nothing is kept of it, and the value stays the caller's. */
bool store_keep(struct store *store, const void *key, void *value, void (*destroy)(void *));

/* One SELECT, row by row. Text is valid until the next step. */
struct query;
SHINY_MUST_CHECK struct shiny_err *store_query(struct store *store, const char *sql,
					       struct query **out);
void query_bind_number(struct query *query, int index, int64_t value); /* index from 1 */
void query_bind_text(struct query *query, int index, const char *value);
SHINY_MUST_CHECK struct shiny_err *query_step(struct query *query, bool *row);
/* A loop over the rows that remain, while `err` is NULL. `query` is a name, not an expression. */
#define QUERY_EACH(query, err)                                                                     \
	for (bool row_of_##query = false;                                                          \
	     !(err) && !((err) = query_step(query, &row_of_##query)) && row_of_##query;)
/* column from 0. Of a column of references.def: 0 where the row that it names was not there when
 * the session was opened. */
int64_t query_number(const struct query *query, int column);
/* 0 where it is not 1 to limit - 1 */
uint32_t query_id(const struct query *query, int column, size_t limit);
/*
 * "" for NULL. No control character, nothing that turns a line's direction and no malformed UTF-8
 * is in it (text_plain): whatever a name is, it can be printed anywhere. query_verbatim: as it is
 * stored, to open a file of that name or to write it down again.
 */
const char *query_text(const struct query *query, int column);
const char *query_verbatim(const struct query *query, int column);
/* Valid until the next step; NULL where there is none. */
const void *query_blob(const struct query *query, int column, size_t *bytes);
bool query_is_null(const struct query *query, int column);
void query_end(struct query *query); /* accepts NULL */

/*
 * Between the two, all queries see one moment of a session that somebody writes: what a row refers
 * to is there. The writer cannot empty its log meanwhile, so it is for short questions.
 */
SHINY_MUST_CHECK struct shiny_err *store_hold(struct store *store);
SHINY_MUST_CHECK struct shiny_err *store_release(struct store *store);

/* Replays events in stored order; `process` 0 and [from, to] = [0, UINT64_MAX] for all. Stops early
 * when `each` returns false. */
typedef bool store_each_fn(void *context, const struct event *event);
SHINY_MUST_CHECK struct shiny_err *store_each_event(struct store *store, uint32_t process,
						    uint64_t from, uint64_t to, store_each_fn *each,
						    void *context);
/* Those of the blocks after `after` (0: the first) and up to `last` (contents_last_block): for who
 * reads a session again and again while it is recorded. */
SHINY_MUST_CHECK struct shiny_err *store_each_event_between(struct store *store, uint64_t after,
							    uint64_t last, store_each_fn *each,
							    void *context);
/* All events in stored order, a few hundred at a time: for those who look up much for each, and can
 * look ahead. */
typedef bool store_batch_fn(void *context, const struct event *events, size_t count);
SHINY_MUST_CHECK struct shiny_err *store_each_batch(struct store *store, store_batch_fn *each,
						    void *context);

#endif
