/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: the session file, written by the sidecar and read by everything else. Only this room
 * uses SQLite; the schema and the public views are in schema.sql, the packing of events in block.h.
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

#include "../base/cleanup.h"
#include "../base/err.h"
#include "event.h"
#include "sum_list.h"

/* A session of another version is refused with one line; there is no other rule for older ones. */
#define STORE_SCHEMA_VERSION 26

struct store;

/* A condition on table events: readers replay these blocks. */
#define STORE_EVENTS_READ                                                                  \
	"checkpoint IN (0, COALESCE((SELECT value FROM session WHERE key = 'kept_checkpoint'), " \
	"0))"

/* A sum of unchecked counts: SUM would end the query on overflow. */
#define STORE_SUM(column) "CAST(min(total(" column "), 9e18) AS INTEGER)"

/* ---- writing ---- */

/* Creates `path`; refuses an existing one unless `force`. The file is in WAL mode while recording;
 * store_finish makes it one file. */
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
enum { STORE_BLOCK_PAGES = 1 << 18 }; /* most rows of table page for one block */

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
/* for a frame that was put without lines */
SHINY_MUST_CHECK struct shiny_err *store_put_lines(struct store *store, uint32_t frame,
						   const struct store_frame_line *lines,
						   size_t count);
/* Makes functions of this name boring, beside those of boring.rules: they are no call sites. */
SHINY_MUST_CHECK struct shiny_err *store_put_boring(struct store *store, const char *pattern);
/* Marks a frame as part of an allocation wrapper: it is no call site. */
SHINY_MUST_CHECK struct shiny_err *store_put_wrapper(struct store *store, uint32_t frame);
/* Names the function that the frame's call calls: a site without a name may be named after it. */
SHINY_MUST_CHECK struct shiny_err *store_put_called(struct store *store, uint32_t frame,
						    const char *function);
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
SHINY_MUST_CHECK struct shiny_err *store_put_sample_rate(struct store *store,
							 const struct store_sample_rate *row);
SHINY_MUST_CHECK struct shiny_err *store_put_unrecorded(struct store *store,
							const struct store_unrecorded *row);
SHINY_MUST_CHECK struct shiny_err *store_put_type(struct store *store,
						  const struct store_type *row);
/*
 * The first row of statistics (stat, lifetime, peak) finds the call sites; all stacks, wrappers and
 * lines of frames must be put before: later ones are refused.
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
/* Only for snapshot_parts.h, which packs the parts. */
SHINY_MUST_CHECK struct shiny_err *store_put_snapshot_part(struct store *store, uint32_t snapshot,
							   uint32_t part, uint32_t kind,
							   uint32_t rows, const void *data,
							   size_t bytes);
/* Puts the highest live bytes of the session on level 1 or 2, with the blocks and the time (ns),
 * and when running processes held most (ns). */
SHINY_MUST_CHECK struct shiny_err *store_put_session_peak(struct store *store, unsigned level,
							  uint64_t blocks, uint64_t bytes,
							  uint64_t time, uint64_t running_time);
/* `weight`: "loss": data is missing; "note": nothing is. `process` 0: the whole session. */
SHINY_MUST_CHECK struct shiny_err *store_put_counter(struct store *store, uint32_t process,
						     const char *name, const char *weight,
						     uint64_t count, const char *text);
SHINY_MUST_CHECK struct shiny_err *store_put_note(struct store *store, uint32_t process,
						  const char *text);

/*
 * Returns the place for the next events, in the order in which they are applied: at most *room,
 * valid until some are taken or the store commits. Writes blocks that are packed. *out is NULL if
 * the session stores no events.
 */
SHINY_MUST_CHECK struct shiny_err *store_event_room(struct store *store, struct event **out,
						    size_t *room);
/* Adds the first `count` events of that place. */
void store_take_events(struct store *store, size_t count);
/* Adds events from other memory, by copying. */
SHINY_MUST_CHECK struct shiny_err *store_put_events(struct store *store, const struct event *events,
						    size_t count);
/*
 * A checkpoint of a recording that keeps its last events only (SHINY_KEEP): its first event block,
 * and when it was. Events that are put after store_put_checkpoint are its live blocks; with 0, they
 * are what happens next. *block: the block of the next event.
 */
struct store_checkpoint {
	uint64_t number, block, time;
};
SHINY_MUST_CHECK struct shiny_err *store_put_checkpoint(struct store *store, uint64_t number,
							uint64_t *block);
/* Adds the sums of a process at the checkpoint; process 0: those of the session. */
SHINY_MUST_CHECK struct shiny_err *store_put_kept(struct store *store, uint64_t checkpoint,
						  uint32_t process, const void *data, size_t bytes);
/* Drops everything that only events before `base` need: readers begin with it. */
SHINY_MUST_CHECK struct shiny_err *store_keep_from(struct store *store,
						   const struct store_checkpoint *base);

/*
 * Called when a write of a session file has failed with `error` (ENOSPC, EDQUOT, EIO); true: it is
 * repeated. The function may wait, and must not touch the store. Without one, as at first, no write
 * is repeated. After an error the transaction is lost (SQLite rolls it back).
 */
typedef bool store_patience_fn(void *context, int error);
void store_be_patient(store_patience_fn *fn, void *context);
/* a crash loses everything since the last commit */
SHINY_MUST_CHECK struct shiny_err *store_commit(struct store *store);
/* store_finish completes the file and frees the store, also on failure. `totals` may be NULL. */
struct store_totals {
	uint64_t sites, types; /* distinct ones with blocks */
	bool log_left;         /* part of it is in the log beside the file: the disk was full */
};
SHINY_MUST_CHECK struct shiny_err *store_finish(struct store *store, struct store_totals *totals);
/* frees without completing; accepts NULL */
void store_abandon(struct store *store);
/* Removes a useless file that this process has created, with its companions. */
void store_remove(const char *path);

/* True if the session at `path` is being written, by its lock; false if there is no such file. */
bool store_is_written(const char *path);

/*
 * Opens a finished session to add a browser's own data; afterwards call store_commit, which adds
 * all or nothing, and store_abandon. pid and boottime (ns, CLOCK_BOOTTIME) are converted to the
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
 * Opens a session read-only. A file that is not a session of this format, table for table and view
 * for view, is refused with one clear line; a session may still hold any rows (guard.h): only
 * query_id returns ids that are safe as indices.
 */
SHINY_MUST_CHECK struct shiny_err *store_open(const char *path, struct store **out);
/* Opens the session of `store` once more, with separate temporary tables. */
SHINY_MUST_CHECK struct shiny_err *store_open_again(const struct store *store, struct store **out);
bool store_complete(const struct store *store); /* false: its recording did not finish: it has the
                                                 * rows of the last commit, without sites */
/* the table's highest id when it was opened, plus 1: the `limit` of query_id; of table stack also
 * of stacks that are still in stack_waiting */
size_t store_ids(const struct store *store, const char *table);
/*
 * Counts dangling references, which were read as none: the file is damaged. Counts those in all
 * tables and in the events read so far, but only if this reader has met one or `look` is set; else
 * 0. Also 0 for a session that is still written, as its rows arrive while it is read.
 */
SHINY_MUST_CHECK struct shiny_err *store_astray(struct store *store, bool look, uint64_t *count);
/*
 * Returns the most items of any kind that a reader may derive from a session: `least`, plus
 * `a_byte` for each byte of its file. Beyond that it returns store_too_much. UINT64_MAX for a
 * session that this process writes.
 */
uint64_t store_bound(const struct store *store, uint64_t least, uint64_t a_byte);
SHINY_MUST_CHECK struct shiny_err *store_too_much(const struct store *store);
void store_close(struct store *store);          /* accepts NULL */
/*
 * Per-store cache of derived data: several analyses of one command need the same names. Returns the
 * value of `key`, an address unique to its owner; NULL: there is none.
 */
void *store_kept(const struct store *store, const void *key);
/* Adds a value, which the store frees when it is closed. False: the session is still being written,
 * so it may change; the caller keeps the value. */
bool store_keep(struct store *store, const void *key, void *value, void (*destroy)(void *));

/* One SELECT, row by row. Text is valid until the next step. */
struct query;
SHINY_MUST_CHECK struct shiny_err *store_query(struct store *store, const char *sql,
					       struct query **out);
void query_bind_number(struct query *query, int index, int64_t value); /* index from 1 */
void query_bind_text(struct query *query, int index, const char *value);
SHINY_MUST_CHECK struct shiny_err *query_step(struct query *query, bool *row);
/* A loop over the remaining rows, while `err` is NULL. `query` is a name, not an expression. */
#define QUERY_EACH(query, err)                                                                     \
	for (bool row_of_##query = false;                                                          \
	     !(err) && !((err) = query_step(query, &row_of_##query)) && row_of_##query;)
/* Returns a number; column from 0. For columns of references.def 0 if the row that it names did not
 * exist when the session was opened. */
int64_t query_number(const struct query *query, int column);
/* Returns an id of 1 to limit - 1; 0 for any other value. */
uint32_t query_id(const struct query *query, int column, size_t limit);
/*
 * query_text returns text that can be printed anywhere: without control characters, characters that
 * turn a line's direction and malformed UTF-8 (text_plain). query_verbatim returns it as stored, to
 * open a file of that name or to store it again. "" for NULL.
 */
const char *query_text(const struct query *query, int column);
const char *query_verbatim(const struct query *query, int column);
/* Valid until the next step; NULL: there is none. */
const void *query_blob(const struct query *query, int column, size_t *bytes);
bool query_is_null(const struct query *query, int column);
void query_end(struct query *query); /* accepts NULL */
static inline void query_cleanup(struct query **query)
{
	query_end(*query);
}
#define AUTO_QUERY SHINY_CLEANUP(query_cleanup) /* struct query *: NULL at first */

/*
 * Between the two calls, all queries see one moment of a session that is being written, so that
 * references are valid. The writer cannot empty its log meanwhile: use it for short queries.
 */
SHINY_MUST_CHECK struct shiny_err *store_hold(struct store *store);
SHINY_MUST_CHECK struct shiny_err *store_release(struct store *store);

/* Replays events in stored order; `process` 0 and [from, to] = [0, UINT64_MAX] for all. Stops early
 * when `each` returns false. */
typedef bool store_each_fn(void *context, const struct event *event);
SHINY_MUST_CHECK struct shiny_err *store_each_event(struct store *store, uint32_t process,
						    uint64_t from, uint64_t to, store_each_fn *each,
						    void *context);
/* Replays events of the blocks after `after` (0: from the first) up to `last`
 * (contents_last_block): for commands that follow a recording. */
SHINY_MUST_CHECK struct shiny_err *store_each_event_between(struct store *store, uint64_t after,
							    uint64_t last, store_each_fn *each,
							    void *context);
/* Replays all events in stored order, in batches: for analyses that look up much for each event,
 * and look ahead. */
typedef bool store_batch_fn(void *context, const struct event *events, size_t count);
SHINY_MUST_CHECK struct shiny_err *store_each_batch(struct store *store, store_batch_fn *each,
						    void *context);

#endif
