/* SPDX-License-Identifier: Apache-2.0 */
/* test_sidecar.c: rings made by hand, collected, and the session asked for what was put in. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "../../src/sidecar/ring/ring_file.h"
#include "../../src/sidecar/sidecar.h"
#include "../../src/store/store.h"
#include "ring_writer.h"
#include "check.h"

static char directory[64], session_path[96], ring_path[96];
static int lock_fd = -1; /* that collect() hands over */

static struct shiny_header *begin(uint32_t chunks)
{
	struct shiny_header *h;

	mkdir(directory, 0700);
	unlink(session_path);
	h = ring_make(ring_path, chunks, chunks);
	if (!h)
		exit(1);
	process_make(h, 0, -1, 0);
	return h;
}

static struct shiny_err *collect(struct shiny_header *h, struct sidecar_summary *out)
{
	struct sidecar_options options = { .directory = directory,
					   .out = session_path,
					   .with_events = true,
					   .leftover = true,
					   .launcher_fd = -1,
					   .lock_fd = lock_fd,
					   .guests_fd = -1 };

	if (h)
		munmap(h, h->ring_bytes);
	return sidecar_run(&options, out);
}

static int64_t ask(const char *sql)
{
	struct store *store = NULL;
	struct query *query = NULL;
	bool row = false;
	int64_t value = -1;
	struct shiny_err *err = store_open(session_path, &store);

	if (!err)
		err = store_query(store, sql, &query);
	if (!err)
		err = query_step(query, &row);
	if (!err && row)
		value = query_number(query, 0);
	if (err)
		printf("# %s\n", err->message);
	shiny_err_free(err);
	query_end(query);
	store_close(store);
	return value;
}

/* Returns the sum of a counter. */
static uint64_t counted(const char *name)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT TOTAL(count) FROM counter WHERE name = '%s'", name);
	return (uint64_t)ask(sql);
}

static bool collected(const char *name, struct shiny_header *h, struct sidecar_summary *summary)
{
	struct shiny_err *err = collect(h, summary);

	if (err) {
		check(name, false, err->message);
		shiny_err_free(err);
		return false;
	}
	return true;
}

/* A block freed by one thread and handed out to another: the streams are read in the wrong order,
 * the times say what happened. */
static void threads(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer b = writer_make(h, 0, 0), a = writer_make(h, 1, 0);

	put_event(&a, 100, SHINY_REC_ALLOC, 0x1000, 10, 0, SHINY_API_MALLOC);
	put_event(&b, 200, SHINY_REC_FREE, 0x1000, 0, 0, SHINY_API_FREE);
	put_event(&a, 300, SHINY_REC_ALLOC, 0x1000, 20, 0, SHINY_API_MALLOC);
	put_event(&b, 400, SHINY_REC_FREE, 0x1000, 0, 0, SHINY_API_FREE);
	put_event(&b, 500, SHINY_REC_ALLOC, 0x1000, 30, 0, SHINY_API_MALLOC);
	if (!collected("order/collect", h, &s))
		return;
	number("order/allocs", s.allocs, 3);
	number("order/frees", s.frees, 2);
	number("order/live_bytes", s.live_bytes, 30);
	number("order/lost", s.lost.events, 0);
	number("order/threads", s.threads, 2);
	number("order/directory is gone", access(directory, F_OK) != 0, 1);
}

static void reallocs(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer w = writer_make(h, 0, 0);
	struct shiny_wide wide = { 0x7fff00000004, (uint64_t)1 << 33 };

	put_event(&w, 1, SHINY_REC_ALLOC, 0x1000, 10, 0, SHINY_API_MALLOC);
	put_event(&w, 2, SHINY_REC_REALLOC_BEGIN, 0x1000, 0, 0, SHINY_API_REALLOC);
	put_event(&w, 3, SHINY_REC_REALLOC_DONE, 0x1000, 100, 0, SHINY_API_REALLOC); /* in place */
	put_event(&w, 4, SHINY_REC_REALLOC_BEGIN, 0x1000, 0, 0, SHINY_API_REALLOC);
	put_event(&w, 5, SHINY_REC_REALLOC_FAILED, 0, 0, 0, SHINY_API_REALLOC);
	put_event(&w, 6, SHINY_REC_REALLOC_BEGIN, 0x1000, 0, 0, SHINY_API_REALLOC);
	put_event(&w, 7, SHINY_REC_REALLOC_DONE, 0x2000, 1000, 0, SHINY_API_REALLOC); /* moved */
	put_run(&w, 8, SHINY_REC_ALLOC_WIDE, 0, 0, SHINY_API_MALLOC, &wide, sizeof(wide));
	/* the stream ends in it: it lives */
	put_event(&w, 9, SHINY_REC_REALLOC_BEGIN, 0x2000, 0, 0, SHINY_API_REALLOC);
	if (!collected("realloc/collect", h, &s))
		return;
	number("realloc/allocs", s.allocs, 4);
	number("realloc/frees", s.frees, 2);
	number("realloc/live", s.live, 2);
	number("realloc/live_bytes", s.live_bytes, 1000 + wide.size);
	number("realloc/reallocs", (uint64_t)ask("SELECT SUM(reallocs) FROM stat"), 2);
	number("realloc/balance",
	       (uint64_t)ask("SELECT COUNT(*) FROM stat WHERE allocs + inherited_frees <> frees + "
			     "live + abandoned"),
	       0);
}

/* What a thread is at, and what a liar says of it. */
static void tags(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer w = writer_make(h, 0, 0), child = writer_make(h, 1, 1);
	struct {
		struct shiny_tag tag;
		char name[16];
	} load = { { 5, 4, 0 }, "load" }, again = { { 9, 4, 0 }, "load" },
	  own = { { 5, 5, 0 }, "other" };
	struct {
		struct shiny_tag tag;
		char name[16];
	} zero = { { 0, 4, 0 }, "zero" }, holes = { { 6, 4, 0 }, "a\0b" },
	  endless = { { 7, 60, 0 }, "endless" };
	struct { struct shiny_tag tag; char name[16]; } far = { { UINT32_MAX, 3, 0 }, "far" };

	process_make(h, 1, 0, 60);
	put_run(&w, 1, SHINY_REC_TAG_NAME, 0, 0, 0, &load, sizeof(load));
	put_event(&w, 2, SHINY_REC_ALLOC, 0x1000, 1, 0, SHINY_API_MALLOC);
	put_event(&w, 3, SHINY_REC_TAG, 0, 5, 0, 0);
	put_event(&w, 4, SHINY_REC_ALLOC, 0x2000, 2, 0, SHINY_API_MALLOC);
	/* the same name by another index */
	put_run(&w, 5, SHINY_REC_TAG_NAME, 0, 0, 0, &again, sizeof(again));
	put_event(&w, 6, SHINY_REC_TAG, 0, 9, 0, 0);
	put_event(&w, 7, SHINY_REC_ALLOC, 0x3000, 4, 0, SHINY_API_MALLOC);
	put_event(&w, 8, SHINY_REC_TAG, 0, 123456, 0, 0); /* never told */
	put_event(&w, 9, SHINY_REC_ALLOC, 0x4000, 8, 0, SHINY_API_MALLOC);
	put_event(&w, 10, SHINY_REC_TAG, 0, 5, 0, 0);
	put_event(&w, 11, SHINY_REC_REALLOC_BEGIN, 0x1000, 0, 0, SHINY_API_REALLOC);
	put_event(&w, 12, SHINY_REC_REALLOC_DONE, 0x1000, 16, 0, SHINY_API_REALLOC);
	put_run(&w, 13, SHINY_REC_TAG_NAME, 0, 0, 0, &zero, sizeof(zero));
	put_run(&w, 14, SHINY_REC_TAG_NAME, 0, 0, 0, &holes, sizeof(holes));
	put_run(&w, 15, SHINY_REC_TAG_NAME, 0, 0, 0, &endless, sizeof(endless));
	put_run(&w, 16, SHINY_REC_TAG_NAME, 0, 0, 0, &far, sizeof(far));
	put_run(&w, 17, SHINY_REC_MARK, 0, 0, 0, &load, sizeof(load));
	put_run(&w, 18, SHINY_REC_MARK, 0, 0, 0, &holes, sizeof(holes));
	put_event(&w, 50, SHINY_REC_ALLOC, 0x5000, 32, 0, SHINY_API_MALLOC);
	put_event(&child, 100, SHINY_REC_TAG, 0, 5, 0, 0); /* as its parent told */
	put_event(&child, 101, SHINY_REC_ALLOC, 0x6000, 64, 0, SHINY_API_MALLOC);
	/* another from here on, in the child only */
	put_run(&child, 102, SHINY_REC_TAG_NAME, 0, 0, 0, &own, sizeof(own));
	put_event(&child, 103, SHINY_REC_TAG, 0, 5, 0, 0);
	put_event(&child, 104, SHINY_REC_ALLOC, 0x7000, 128, 0, SHINY_API_MALLOC);
	put_event(&w, 105, SHINY_REC_TAG, 0, 5, 0, 0);
	put_event(&w, 106, SHINY_REC_ALLOC, 0x8000, 256, 0, SHINY_API_MALLOC);
	put_event(&w, 107, SHINY_REC_FREE, 0x2000, 0, 0, SHINY_API_FREE);
	if (!collected("tags/collect", h, &s))
		return;
	number("tags/load", (uint64_t)ask("SELECT SUM(bytes) FROM v_tags WHERE tag = 'load'"),
	       2 + 4 + 16 + 32 + 64 + 256);
	number("tags/none", (uint64_t)ask("SELECT SUM(bytes) FROM v_tags WHERE tag = '(no tag)'"),
	       1 + 8);
	number("tags/the child's own",
	       (uint64_t)ask("SELECT bytes FROM v_tags WHERE tag = 'other' AND process = 2"), 128);
	number("tags/freed without a tag",
	       (uint64_t)ask("SELECT SUM(frees) FROM v_tags WHERE tag = 'load' AND process = 1"),
	       1);
	number("tags/inherited",
	       (uint64_t)ask(
		       "SELECT inherited_bytes FROM v_tags WHERE tag = 'load' AND process = 2"),
	       2 + 4 + 16 + 32);
	/* far's index makes no sense, its name does */
	number("tags/names", (uint64_t)ask("SELECT COUNT(*) FROM tag"), 3);
	number("tags/marks",
	       (uint64_t)ask("SELECT COUNT(*) FROM mark WHERE name = 'load' AND process = 1 AND "
			     "thread > 0"),
	       1);
	number("tags/all marks", (uint64_t)ask("SELECT COUNT(*) FROM mark"), 1);
	number("tags/unnamed", counted("UNNAMED_TAGS"), 1);
	number("tags/balance",
	       (uint64_t)ask("SELECT COUNT(*) FROM stat WHERE allocs + inherited_frees <> frees + "
			     "live + abandoned"),
	       0);
}

/* Names a type, as a run time or a liar does. */
static void put_type(struct writer *w, uint64_t n, uint64_t key, uint32_t run_time,
		     const char *name, uint32_t name_bytes)
{
	struct {
		struct shiny_type_name type;
		char name[16];
	} out = { .type = { key, run_time, name_bytes } };

	memcpy(out.name, name, strlen(name));
	put_run(w, n, SHINY_REC_TYPE_NAME, 0, 0, 0, &out, sizeof(out));
}

/* Types that a run time names: of a block by its key, inside of the block, and never of another
 * block. */
static void run_times(void)
{
	enum { KEY = 0x555555001230, OTHER = 48 };
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer w = writer_make(h, 0, 0), child = writer_make(h, 1, 1);

	process_make(h, 1, 0, 60);
	put_type(&w, 1, KEY, SHINY_RUN_TIME_GOBJECT, "First", 5);
	put_event(&w, 2, SHINY_REC_ALLOC, 0x1000, 64, 0, SHINY_API_MALLOC);
	put_typed(&w, 0x1000, KEY);
	put_event(&w, 3, SHINY_REC_ALLOC, 0x2000, 64, 0, SHINY_API_MALLOC);
	put_typed(&w, 0x2030, KEY); /* private data before the object */
	put_event(&w, 4, SHINY_REC_ALLOC, 0x3000, 64, 0, SHINY_API_MALLOC);
	put_typed(&w, 0x3040, KEY); /* behind the block */
	put_typed(&w, 0x3000, OTHER); /* a key without a name */
	put_event(&w, 5, SHINY_REC_ALLOC, 0x4000, 64, 0, SHINY_API_MALLOC);
	put_type(&w, 6, KEY, SHINY_RUN_TIME_PYTHON, "Second", 6);
	put_typed(&w, 0x4000, KEY); /* the latest name */
	put_event(&w, 6, SHINY_REC_ALLOC, 0x6000, 32, 0, SHINY_API_PYTHON_OBJECT);
	put_vptr(&w, 0x6000, KEY, SHINY_VPTR_FREE | SHINY_VPTR_TYPE_OBJECT);
	put_vptr(&w, 0x6000, OTHER, SHINY_VPTR_SETTLED | SHINY_VPTR_TYPE_OBJECT); /* nobody's */
	put_type(&w, 7, KEY, SHINY_RUN_TIME_PYTHON, "a\0b", 3);
	put_type(&w, 8, KEY, SHINY_RUN_TIME_PYTHON, "endless", 60);
	put_type(&w, 9, KEY, SHINY_RUN_TIMES, "nobody's", 8);
	put_event(&w, 10, SHINY_REC_REALLOC_BEGIN, 0x1000, 0, 0, SHINY_API_REALLOC);
	put_event(&w, 11, SHINY_REC_REALLOC_DONE, 0x1800, 128, 0, SHINY_API_REALLOC);
	/* memory of an engine: its first free is that, the second is wrong */
	put_event(&w, 12, SHINY_REC_ENGINE_MEMORY, 0x9000, 0, 0, SHINY_API_MALLOC);
	put_event(&w, 13, SHINY_REC_FREE, 0x9000, 0, 0, SHINY_API_FREE);
	put_event(&w, 14, SHINY_REC_FREE, 0x9000, 0, 0, SHINY_API_FREE);
	put_event(&w, 15, SHINY_REC_ENGINE_MEMORY, 0x9000, 0, 0, SHINY_API_MALLOC);
	put_event(&child, 100, SHINY_REC_ALLOC, 0x5000, 64, 0, SHINY_API_MALLOC);
	put_typed(&child, 0x5010, KEY); /* as its parent told */
	put_event(&child, 101, SHINY_REC_FREE, 0x9000, 0, 0, SHINY_API_FREE);
	if (!collected("run times/collect", h, &s))
		return;
	number("run times/first",
	       (uint64_t)ask("SELECT SUM(allocs) FROM v_types WHERE type = 'First' AND "
			     "rule = 'run_time' AND source = 'g_type' AND confidence = 'exact'"),
	       3);
	number("run times/second",
	       (uint64_t)ask("SELECT SUM(allocs) FROM v_types WHERE type = 'Second' AND "
			     "source = 'ob_type'"),
	       3);
	number("run times/no other", (uint64_t)ask("SELECT COUNT(*) FROM vtable"), 2);
	number("run times/unmatched", counted("UNMATCHED_TYPES"), 2);
	number("run times/bad", counted("BAD_RECORDS"), 3);
	number("run times/wrong frees", counted("UNKNOWN_FREES"), 1);
}

/* Objects in pools lie in blocks, with whose addresses and sums they are never mixed. */
static void pools(void)
{
	const unsigned made = SHINY_POOL_NEW | SHINY_POOL_PARENT, api = SHINY_API_POOL;
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer w = writer_make(h, 0, 0), child = writer_make(h, 1, 1);

	process_make(h, 1, 0, 60);
	put_event(&w, 1, SHINY_REC_ALLOC, 0x8000, 4096, 0, SHINY_API_MALLOC);
	put_pool(&w, 2, &(struct shiny_pool){ .pool = 0x1000, .changes = made }, "outer", 5);
	put_pool(&w, 3, &(struct shiny_pool){ .pool = 0x2000, .parent = 0x1000, .changes = made },
		 "inner", 5);
	put_event(&w, 4, SHINY_REC_POOL, 0x1000, 0, 0, api);
	put_event(&w, 4, SHINY_REC_ALLOC, 0x8000, 32, 0, api);
	put_event(&w, 5, SHINY_REC_POOL, 0x2000, 0, 0, api);
	put_event(&w, 5, SHINY_REC_ALLOC, 0x8040, 48, 0, api);
	put_event(&w, 6, SHINY_REC_ALLOC, 0x8080, 16, 0, api);
	put_event(&w, 7, SHINY_REC_FREE, 0x8080, 0, 0, api);
	put_event(&w, 8, SHINY_REC_REALLOC_BEGIN, 0x8040, 0, 0, api);
	put_event(&w, 9, SHINY_REC_REALLOC_DONE, 0x80c0, 64, 0, api);
	put_event(&w, 10, SHINY_REC_POOL, 0x7000, 0, 0, api); /* a pool without a name */
	put_event(&w, 10, SHINY_REC_ALLOC, 0x9000, 8, 0, api);
	put_event(&w, 10, SHINY_REC_ALLOC, 0x9100, 0, 0, api);
	put_event(&w, 10, SHINY_REC_ALLOC, 0x9100, 24, 0, api); /* in the same place */
	put_event(&w, 11, SHINY_REC_POOL_ENDS, 0x1000, SHINY_POOL_OBJECTS, 0, api);
	put_event(&w, 12, SHINY_REC_POOL_ENDS, 0x7770, SHINY_POOL_ENDS_MAX, 0, api);
	put_pool(&w, 13, &(struct shiny_pool){ .changes = made }, "nowhere", 7);
	put_pool(&w, 14, &(struct shiny_pool){ .pool = 0x2000 }, "endless", 60);
	put_event(&w, 15, SHINY_REC_POOL_ENDS, 0x2000, SHINY_POOL_ENDS_MAX, 0, SHINY_API_MALLOC);
	put_event(&child, 100, SHINY_REC_POOL_ENDS, 0x7000, SHINY_POOL_ENDS_MAX, 0, api);
	if (!collected("pools/collect", h, &s))
		return;
#define HELD(level, tag)                                                                         \
	(uint64_t)ask("SELECT SUM(s.live_bytes + s.abandoned_bytes) FROM stat s JOIN process p " \
		      "ON p.id = s.process LEFT JOIN tag t ON t.id = s.tag WHERE " level         \
		      " p.within AND COALESCE(t.name, '') = '" tag "'")
	number("pools/first level", HELD("NOT", ""), 4096);
	number("pools/moved", HELD("", "inner"), 64);
	number("pools/without a name", HELD("", ""), 32);
	number("pools/no loss", counted("REUSED"), 0);
	number("pools/ended", HELD("", "outer"), 0);
	number("pools/child",
	       (uint64_t)ask("SELECT SUM(10 * inherited + inherited_frees) FROM stat s "
			     "JOIN process p ON p.id = s.process WHERE p.within"), 32);
	number("pools/bad", counted("BAD_RECORDS"), 3);
	number("pools/blocks are not counted twice", s.allocs, 1);
}

/* The parent frees after the fork, before the child is noticed: the child still has the block. */
static void forks(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer parent = writer_make(h, 0, 0), child = writer_make(h, 1, 1);

	process_make(h, 1, 0, 250);
	put_event(&parent, 100, SHINY_REC_ALLOC, 0x1000, 1, 0, SHINY_API_MALLOC);
	put_event(&parent, 200, SHINY_REC_ALLOC, 0x2000, 2, 0, SHINY_API_MALLOC);
	put_event(&parent, 250, SHINY_REC_ALLOC, 0x3000, 4, 0, SHINY_API_MALLOC);
	put_event(&parent, 300, SHINY_REC_FREE, 0x1000, 0, 0, SHINY_API_FREE);
	put_event(&parent, 310, SHINY_REC_ALLOC, 0x4000, 8, 0, SHINY_API_MALLOC);
	put_event(&child, 400, SHINY_REC_FREE, 0x2000, 0, 0, SHINY_API_FREE);
	put_event(&child, 410, SHINY_REC_ALLOC, 0x4000, 16, 0, SHINY_API_MALLOC);
	if (!collected("fork/collect", h, &s))
		return;
	number("fork/processes", s.processes, 2);
	number("fork/parent live",
	       (uint64_t)ask("SELECT SUM(live_bytes) FROM stat WHERE process = 1"), 2 + 4 + 8);
	number("fork/child live",
	       (uint64_t)ask("SELECT SUM(live_bytes) FROM stat WHERE process = 2"), 16);
	number("fork/child frees what it inherited",
	       (uint64_t)ask("SELECT SUM(inherited_frees) FROM stat WHERE process = 2"), 1);
	number("fork/inherited", (uint64_t)ask("SELECT SUM(inherited) FROM stat WHERE process = 2"),
	       3);
	number("fork/child allocs", (uint64_t)ask("SELECT SUM(allocs) FROM stat WHERE process = 2"),
	       1);
	number("fork/parent of", (uint64_t)ask("SELECT parent FROM process WHERE id = 2"), 1);
}

/*
 * An image that exec replaced, and the one that came after it under the same pid: what the first
 * had left is gone, and not live; of the second it is live.
 */
static void replaced(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(8), *other;
	struct writer w = writer_make(h, 0, 0);
	char path[128];

	put_event(&w, 100, SHINY_REC_ALLOC, 0x1000, 10, 0, SHINY_API_MALLOC);
	put_event(&w, 200, SHINY_REC_ALLOC, 0x2000, 20, 0, SHINY_API_MALLOC);
	put_event(&w, 300, SHINY_REC_FREE, 0x1000, 0, 0, SHINY_API_FREE);
	snprintf(path, sizeof(path), "%s/ring.1.1", directory);
	other = ring_make(path, 8, 8);
	if (!other)
		exit(1);
	other->start_ticks = h->start_ticks + 1000;
	process_make(other, 0, -1, 0);
	w = writer_make(other, 0, 0);
	put_event(&w, 100, SHINY_REC_ALLOC, 0x1000, 40, 0, SHINY_API_MALLOC);
	munmap(other, other->ring_bytes);
	if (!collected("replaced/collect", h, &s))
		return;
	number("replaced/known",
	       (uint64_t)ask("SELECT COUNT(*) FROM process WHERE id = 1 AND ending = 'replaced'"),
	       1);
	number("replaced/live", s.live, 1);
	number("replaced/live_bytes", s.live_bytes, 40);
	number("replaced/gone",
	       (uint64_t)ask(
		       "SELECT SUM(abandoned) * 1000 + SUM(abandoned_bytes) FROM v_processes WHERE "
		       "process = 1"),
	       1020);
	number("replaced/none live",
	       (uint64_t)ask("SELECT SUM(live) + SUM(live_bytes) FROM v_types WHERE abandoned"),
	       40 + 1);
	number("replaced/sites",
	       (uint64_t)ask("SELECT SUM(live_bytes) * 100 + SUM(abandoned_bytes) FROM v_sites"),
	       4020);
	number("replaced/pages", (uint64_t)ask("SELECT COUNT(*) FROM page WHERE process = 1"), 0);
	number("replaced/balance",
	       (uint64_t)ask("SELECT COUNT(*) FROM stat WHERE allocs + inherited_frees <> frees + "
			     "live + abandoned"),
	       0);
}

static void stacks_and_losses(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(16);
	struct writer w = writer_make(h, 0, 0);
	uint64_t frames[3] = { 0x500010, 0x500020, 0x900000 };

	put_module(&w, 1, 0x500000, 0x600000, "/nowhere/synthetic");
	put_stack(&w, 2, 7, frames, 3);
	put_event(&w, 3, SHINY_REC_ALLOC, 0x1000, 16, 7, SHINY_API_NEW);
	put_event(&w, 4, SHINY_REC_ALLOC, 0x2000, 16, 7, SHINY_API_NEW);
	put_event(&w, 5, SHINY_REC_ALLOC, 0x2000, 16, 9, SHINY_API_NEW); /* reused; no such stack */
	writer_seal(&w);
	w.sequence++; /* a chunk that never comes */
	put_event(&w, 6, SHINY_REC_FREE, 0x9000, 0, 0, SHINY_API_FREE);
	{ /* a record that breaks the format, and one behind it that must not be read */
		struct shiny_record *r = writer_room(&w, h->start_ticks + 7, 1);

		shiny_publish(r, 0, 63);
	}
	put_event(&w, 8, SHINY_REC_ALLOC, 0x7000, 16, 7, SHINY_API_NEW);
	if (!collected("losses/collect", h, &s))
		return;
	number("losses/allocs", s.allocs, 3);
	number("losses/lost chunk", counted("LOST_CHUNKS"), 1);
	number("losses/bad record", counted("BAD_RECORDS"), 1);
	number("losses/reused", counted("REUSED"), 1);
	number("losses/void stack", counted("VOID_STACKS"), 1);
	number("losses/unknown free", counted("UNKNOWN_FREES"), 1);
	number("stacks/one", (uint64_t)ask("SELECT COUNT(*) FROM stack"), 1);
	number("stacks/frames",
	       (uint64_t)ask("SELECT COUNT(*) FROM frame WHERE module IS NOT NULL AND module > 0"),
	       2);
}

static void put_like(struct writer *w, uint64_t n, uint32_t id, uint64_t aux, uint64_t fresh)
{
	const uint64_t frames[2] = { fresh };

	put_run(w, n, SHINY_REC_STACK_LIKE, aux, id, 0, frames, sizeof(frames));
	put_event(w, n + 1, SHINY_REC_ALLOC, 0x1000 * (uint64_t)id, 16, id, SHINY_API_NEW);
}

/* Of stack `id`: each frame's place in its module, times its level from 1 on. */
static uint64_t places_of(int id)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "SELECT SUM((s.level + 1) * f.vaddr) FROM v_stack_frames s JOIN frame f ON f.id = "
		 "s.frame WHERE s.stack = %d",
		 id);
	return (uint64_t)ask(sql);
}

/* Definitions that lean on the one before them; between two of them the map changes. */
static void stacks_like(void)
{
	const uint64_t base = 0x500000, frames[] = { base + 0x110, base + 0x220, base + 0x330 };
	struct sidecar_summary s;
	struct shiny_header *h = begin(16);
	struct writer w = writer_make(h, 0, 0);

	put_module(&w, 1, base, base + 0x10000, "/nowhere/first");
	put_stack(&w, 2, 1, frames, 3);
	put_event(&w, 3, SHINY_REC_ALLOC, 0x1000, 16, 1, SHINY_API_NEW);
	put_like(&w, 4, 2, SHINY_LIKE(3, 1, 1, 2), base + 0x440);
	put_like(&w, 6, 3, SHINY_LIKE(2, 0, 1, 1), base + 0x550);
	put_module(&w, 8, base, base + 0x10000, "/nowhere/second");
	put_like(&w, 9, 4, SHINY_LIKE(3, 1, 0, 2), base + 0x660);
	if (!collected("like/collect", h, &s))
		return;
	number("like/whole", places_of(1), 0x110 + 2 * 0x220 + 3 * 0x330);
	number("like/inner", places_of(2), 0x440 + 2 * 0x220 + 3 * 0x330);
	number("like/outer", places_of(3), 0x220 + 2 * 0x550);
	number("like/another map", places_of(4), 0x660 + 2 * 0x220 + 3 * 0x550);
	number("like/another module",
	       (uint64_t)ask("SELECT COUNT(*) FROM v_stack_frames WHERE stack = 4 AND path = "
			     "'/nowhere/second'"),
	       3);
}

static void sizes(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(16);
	struct writer w = writer_make(h, 0, 0);
	uint64_t frames[1] = { 0x900000 }, n = 2;

	for (uint32_t stack = 1; stack <= 3; stack++) {
		frames[0] += 16;
		put_stack(&w, n++, stack, frames, 1);
		for (uint64_t k = 0; k < 20; k++, n++) {
			static const uint64_t irregular[20] = { 100, 160, 100, 130, 100, 190, 190 };
			uint64_t bytes = stack == 1   ? 32
					 : stack == 2 ? 48 + 24 * (k * 7 % 20)
					 : k < 7      ? irregular[k]
						      : 160;

			put_event(&w, n, SHINY_REC_ALLOC, n << 12, bytes, stack,
				  stack == 2 ? SHINY_API_NEW_ARRAY : SHINY_API_CALLOC);
		}
	}
	if (!collected("sizes/collect", h, &s))
		return;
	number("sizes/all the same",
	       (uint64_t)ask("SELECT SUM(size_step) * 1000 + SUM(min_size) FROM stat WHERE "
			     "max_size = 32"),
	       32);
	number("sizes/step", (uint64_t)ask("SELECT size_step FROM stat WHERE min_size = 48"), 24);
	number("sizes/largest", (uint64_t)ask("SELECT max_size FROM stat WHERE min_size = 48"),
	       48 + 24 * 19);
	number("sizes/step that is no power of two of a few",
	       (uint64_t)ask("SELECT size_step FROM stat WHERE min_size = 100"), 30);
	number("sizes/api", (uint64_t)ask("SELECT api FROM stat WHERE min_size = 48"),
	       SHINY_API_NEW_ARRAY);
	number("sizes/unknown types", (uint64_t)ask("SELECT COUNT(*) FROM stat WHERE type <> 0"),
	       0);
}

/* Where in the C++ library the vptrs of a class of its own point to, and its path; 0: nowhere. */
static uint64_t library_vptr(const char *symbol, const char **path)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	const char *vtable = library ? dlsym(library, symbol) : NULL;
	Dl_info info;

	if (!vtable || !dladdr(vtable, &info)) {
		check("learning/library", false, symbol);
		return 0;
	}
	*path = info.dli_fname;
	return (uint64_t)(vtable + 16 - (const char *)info.dli_fbase);
}

/* Blocks of one stack, of a class of the C++ library's: eleven live and were read, three died too
 * soon, two more of another size. */
static void learning(void)
{
	struct sidecar_summary s;
	const char *path;
	uint64_t vptr = library_vptr("_ZTVSt13runtime_error", &path);
	uint64_t frames[1] = { 0x900000 }, n = 3, at = 0x500000000000;
	struct shiny_header *h;
	struct writer w;

	if (!vptr)
		return;
	h = begin(16);
	w = writer_make(h, 0, 0);
	put_module(&w, 1, at, at + (32 << 20), path);
	put_stack(&w, 2, 1, frames, 1);
	for (; n < 19; n++)
		put_event(&w, n, SHINY_REC_ALLOC, n << 12, n < 17 ? 16 : 40, 1, SHINY_API_NEW);
	for (uint64_t k = 3; k < 14; k++)
		put_vptr(&w, k << 12, at + vptr, SHINY_VPTR_SETTLED);
	for (uint64_t k = 14; k < 19; k++)
		put_event(&w, n++, SHINY_REC_FREE, k << 12, 0, 0, SHINY_API_FREE);
	if (!collected("learning/collect", h, &s))
		return;
	number("learning/read",
	       (uint64_t)ask("SELECT allocs FROM v_types WHERE rule = 'vptr' AND type = "
			     "'std::runtime_error'"),
	       11);
	/* those that died are one row of two sizes: nothing is learned for it */
	number("learning/not of other sizes",
	       (uint64_t)ask("SELECT COUNT(*) FROM v_types WHERE rule = 'learned'"), 0);

	h = begin(16);
	w = writer_make(h, 0, 0);
	put_module(&w, 1, at, at + (32 << 20), path);
	put_stack(&w, 2, 1, frames, 1);
	for (n = 3; n < 17; n++)
		put_event(&w, n, SHINY_REC_ALLOC, n << 12, 16, 1, SHINY_API_NEW);
	for (uint64_t k = 3; k < 14; k++)
		put_vptr(&w, k << 12, at + vptr, SHINY_VPTR_SETTLED);
	for (uint64_t k = 14; k < 17; k++)
		put_event(&w, n++, SHINY_REC_FREE, k << 12, 0, 0, SHINY_API_FREE);
	if (!collected("learning/collect again", h, &s))
		return;
	number("learning/learned",
	       (uint64_t)ask("SELECT allocs FROM v_types WHERE rule = 'learned' AND type = "
			     "'std::runtime_error' AND "
			     "confidence = 'medium' AND source IN ('symbol', 'rtti')"),
	       3);
	number("learning/lifetimes",
	       (uint64_t)ask("SELECT SUM(count) FROM v_lifetimes WHERE type = 'std::runtime_error' "
			     "AND NOT censored"),
	       3);
}

/* Blocks of which no vptr was seen by chance, beside others of their stack whose vptrs were read at
 * their frees: fewer than those, as many, beside two classes, and fewer in an array's cells. */
static void learning_by_chance(void)
{
	enum { ERROR, LOGIC, UNREAD };
	static const struct {
		unsigned count[3];
		bool array;
		int64_t learned;
	} stacks[] = { { { 4, 0, 3 }, false, 3 },
		       { { 3, 0, 3 }, false, 0 },
		       { { 4, 4, 1 }, false, 0 },
		       { { 4, 0, 1 }, true, 1 } };
	const char *path;
	uint64_t vptrs[] = { library_vptr("_ZTVSt13runtime_error", &path),
			     library_vptr("_ZTVSt11logic_error", &path) };
	uint64_t frames[1] = { 0x900000 }, n = 3, at = 0x500000000000;
	struct sidecar_summary s;
	struct shiny_header *h;
	struct writer w;

	if (!vptrs[ERROR] || !vptrs[LOGIC])
		return;
	h = begin(16);
	w = writer_make(h, 0, 0);
	put_module(&w, 1, at, at + (32 << 20), path);
	for (uint32_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		bool array = stacks[i].array;

		frames[0] += 16;
		put_stack(&w, n++, i + 1, frames, 1);
		for (unsigned what = ERROR; what <= UNREAD; what++)
			for (unsigned k = 0; k < stacks[i].count[what]; k++, n++) {
				put_event(&w, n, SHINY_REC_ALLOC, 0x1000, array ? 40 : 16, i + 1,
					  array ? SHINY_API_NEW_ARRAY : SHINY_API_NEW);
				if (what != UNREAD)
					put_vptr(&w, 0x1000, at + vptrs[what],
						 SHINY_VPTR_FREE |
							 (array ? SHINY_VPTR_SECOND_WORD : 0));
				put_event(&w, ++n, SHINY_REC_FREE, 0x1000, 0, 0, SHINY_API_FREE);
			}
	}
	if (!collected("learning by chance/collect", h, &s))
		return;
	for (uint32_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		char name[64], sql[256];

		snprintf(name, sizeof(name), "learning by chance/%u", i);
		snprintf(sql, sizeof(sql),
			 "SELECT COALESCE(SUM(s.allocs), 0) FROM stat s JOIN type t ON t.id = "
			 "s.type WHERE s.stack = %u AND t.rule = 'learned' AND t.name = "
			 "'std::runtime_error' AND t.confidence = 'low' AND t.or_derived AND "
			 "t.form = '%s'",
			 i + 1, stacks[i].array ? "array" : "object");
		number(name, (uint64_t)ask(sql), (uint64_t)stacks[i].learned);
	}
}

/* Garbage-collected objects: their ends are of three sorts, and their types are those of their
 * kinds. */
static void objects(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(16);
	struct writer w = writer_make(h, 0, 0), child;
	const uint64_t module = 0x555500000000, heap = 0x7e0000000000;
	const uint64_t frames[] = { module + 0x1234 };
	const struct shiny_object_kinds kinds = {
		.place = module + 0x8000, .first = 1, .count = 10, .step = 32
	};
	const struct shiny_wide large = { heap + 0x20000 + 8,
					  100000 | UINT64_C(3) << SHINY_OBJECT_WIDE_SHIFT };
	const struct shiny_map unmap = { .address = heap + 0x20000, .bytes = 0x20000 };

	put_module(&w, 1, module, module + 0x10000, "/nowhere/browser");
	put_run(&w, 2, SHINY_REC_OBJECT_KINDS, 0, 0, 0, &kinds, sizeof(kinds));
	put_stack(&w, 3, 1, frames, 1);
	for (unsigned i = 0; i < 4; i++) /* in a row: headers between them */
		put_object(&w, 10 + i, heap + 8 + i * 32, 24, 1, 1);
	put_event(&w, 20, SHINY_REC_FINALIZED, heap + 8, 0, 0, SHINY_API_COLLECTED);
	/* buries the second, and by its tail the third */
	put_object(&w, 30, heap + 8 + 32, 40, 1, 2);
	put_object(&w, 31, heap + 0x60000 + 8, 200, 1, 4);
	/* has the rest of it, which it gave away */
	put_object(&w, 32, heap + 0x60000 + 8 + 64, 16, 1, 5);
	put_run(&w, 40, SHINY_REC_OBJECT_WIDE, 0, 1, 0, &large, sizeof(large));
	process_make(h, 1, 0, 45);
	child = writer_make(h, 1, 1);
	/* the child buries the fourth: its parent's lives on */
	put_object(&child, 46, heap + 8 + 96, 8, 0, 7);
	put_run(&w, 50, SHINY_REC_MAP, 0, 0, SHINY_MAP_MUNMAP, &unmap, sizeof(unmap));
	put_object(&w, 60, heap + 0x40000 + 8, 16, 0, 99); /* nobody said what this kind is */
	for (unsigned i = 0; i < 5; i++)
		put_object(&w, 70 + i, heap + 0x80000 + 8 + i * 32, 24, 1, 6);
	/* the sweeper: the second and the third are dead, and the fifth has given away its end */
	put_event(&w, 80, SHINY_REC_SWEPT, heap + 0x80000 + 32, 64, 0, SHINY_API_COLLECTED);
	put_event(&w, 81, SHINY_REC_SWEPT, heap + 0x80000 + 8 + 4 * 32 + 8, 16, 0,
		  SHINY_API_COLLECTED);
	if (!collected("objects/collect", h, &s))
		return;
	number("objects/allocs", s.allocs, 15);
	number("objects/lost", s.lost.events, 0);
	number("objects/frees", (uint64_t)ask("SELECT SUM(frees) FROM stat WHERE process = 1"), 6);
	number("objects/reused", (uint64_t)ask("SELECT SUM(reused) FROM stat WHERE process = 1"),
	       2);
	number("objects/released",
	       (uint64_t)ask("SELECT SUM(released) FROM stat WHERE process = 1"), 3);
	number("objects/live", (uint64_t)ask("SELECT SUM(live_bytes) FROM stat WHERE process = 1"),
	       24 + 40 + 16 + 56 + 16 + 24 + 24 + 8);
	/* the child's copy stands apart */
	number("objects/cut",
	       (uint64_t)ask("SELECT live_bytes FROM v_types WHERE type = 'browser!kind+0x8060'"),
	       56);
	number("objects/child", (uint64_t)ask("SELECT SUM(inherited) FROM stat WHERE process = 2"),
	       5);
	number("objects/child buries",
	       (uint64_t)ask("SELECT SUM(reused) FROM stat WHERE process = 2"), 1);
	number("objects/balance",
	       (uint64_t)ask("SELECT COUNT(*) FROM stat WHERE allocs + inherited_frees <> frees + "
			     "live + abandoned"),
	       0);
	number("objects/kinds",
	       (uint64_t)ask("SELECT allocs FROM v_types WHERE type = 'browser!kind+0x8000' AND "
			     "rule = 'kind' AND source = 'kind' "
			     "AND confidence = 'label'"),
	       4);
	number("objects/another kind",
	       (uint64_t)ask("SELECT max_size FROM v_types WHERE type = 'browser!kind+0x8040'"),
	       100000);
	number("objects/without a kind",
	       (uint64_t)ask("SELECT SUM(allocs) FROM v_types WHERE type IS NULL"), 1);
}

/* A collection that compacts, and objects that are resized in place: they are the ones that they
 * were. */
static void moves(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(16);
	struct writer w = writer_make(h, 0, 0);
	const uint64_t module = 0x555500000000, heap = 0x7e0000000000;
	const uint64_t frames[] = { module + 0x1234 };
	const struct shiny_object_kinds kinds = {
		.place = module + 0x8000, .first = 1, .count = 10, .step = 32
	};
	/* the third takes the first one's place and more, by which it overlaps itself; the fourth
	 * follows it; then one that nobody knows */
	const struct shiny_wide third = { heap + 8 + 2 * 32, heap + 8 + 32 + 8 },
				fourth = { heap + 8 + 3 * 32, heap + 8 + 64 + 8 };
	const struct shiny_wide unknown = { heap + 0x5008, heap + 0x6008 },
				wild = { heap + 8 + 4 * 32, UINT64_MAX - 7 };
	const struct shiny_wide large = { heap + 0x20000 + 8, 3 << 20 };

	put_module(&w, 1, module, module + 0x10000, "/nowhere/browser");
	put_run(&w, 2, SHINY_REC_OBJECT_KINDS, 0, 0, 0, &kinds, sizeof(kinds));
	put_stack(&w, 3, 1, frames, 1);
	for (unsigned i = 0; i < 5; i++)
		put_object(&w, 10 + i, heap + 8 + i * 32, 24, 1, 1 + i);
	put_run(&w, 20, SHINY_REC_MOVED, SHINY_API_COLLECTED, 0, 0, &third, sizeof(third));
	put_run(&w, 21, SHINY_REC_MOVED, SHINY_API_COLLECTED, 0, 0, &fourth, sizeof(fourth));
	put_run(&w, 22, SHINY_REC_MOVED, SHINY_API_COLLECTED, 0, 0, &unknown, sizeof(unknown));
	put_run(&w, 23, SHINY_REC_MOVED, SHINY_API_COLLECTED, 0, 0, &wild, sizeof(wild));
	/* the fourth, where it lies now */
	put_event(&w, 30, SHINY_REC_FINALIZED, heap + 8 + 64 + 8, 0, 0, SHINY_API_COLLECTED);
	put_object(&w, 40, heap + 0x20000 + 8, 16, 1, 6);
	put_event(&w, 41, SHINY_REC_RESIZED, heap + 0x20000 + 8, 4000, 0, SHINY_API_COLLECTED);
	put_object(&w, 42, heap + 0x20000 + 8 + 4008, 8, 1, 7); /* behind its new end: both live */
	put_event(&w, 43, SHINY_REC_RESIZED, heap + 0x20000 + 8, 100, 0, SHINY_API_COLLECTED);
	put_object(&w, 44, heap + 0x20000 + 8 + 112, 8, 1, 8);
	/* nobody knows it */
	put_event(&w, 45, SHINY_REC_RESIZED, heap + 0x30008, 8, 0, SHINY_API_COLLECTED);
	/* that buries both */
	put_run(&w, 46, SHINY_REC_RESIZED_WIDE, SHINY_API_COLLECTED, 0, 0, &large, sizeof(large));
	if (!collected("moves/collect", h, &s))
		return;
	number("moves/allocs", s.allocs, 8);
	number("moves/refused", s.lost.events, 1);
	number("moves/moved over", (uint64_t)ask("SELECT SUM(released) FROM stat"), 1);
	number("moves/grown over", (uint64_t)ask("SELECT SUM(reused) FROM stat"), 2);
	number("moves/finalized",
	       (uint64_t)ask("SELECT frees FROM v_types WHERE type = 'browser!kind+0x8060'"), 1);
	number("moves/live", (uint64_t)ask("SELECT SUM(live) FROM stat"), 4);
	number("moves/bytes", (uint64_t)ask("SELECT SUM(live_bytes) FROM stat"),
	       3 * 24 + (3 << 20));
	number("moves/type kept",
	       (uint64_t)ask("SELECT live FROM v_types WHERE type = 'browser!kind+0x8040'"), 1);
	number("moves/unknown", counted("UNKNOWN_FREES"), 2);
	number("moves/balance",
	       (uint64_t)ask("SELECT COUNT(*) FROM stat WHERE allocs + inherited_frees <> frees + "
			     "live + abandoned"),
	       0);
}

static void refused(const char *name, const char *needs)
{
	struct sidecar_summary s;
	struct shiny_err *err = collect(NULL, &s);

	check(name, err && strstr(err->message, needs), err ? err->message : "it was accepted");
	shiny_err_free(err);
	check(name, access(session_path, F_OK) != 0 && access(ring_path, F_OK) == 0,
	      "the session was written, or the ring deleted");
}

/* Its size may be asked for before its maker has given it the last one: then it is being made. */
static void patient(void)
{
	struct ring_file *ring = NULL;
	struct shiny_err *err = ring_open(ring_path, true, &ring);

	check("patient/another size", !err && !ring, err ? err->message : "it was opened");
	shiny_err_free(err);
	ring_close(ring);
}

/* A launcher without standard input gets 0 as its lock's descriptor. */
static void lock_at_zero(void)
{
	struct sidecar_summary s;
	struct shiny_header *h = begin(8);
	struct writer w = writer_make(h, 0, 0);
	int input = dup(0);
	struct shiny_err *err;

	put_event(&w, 1, SHINY_REC_ALLOC, 0x1000, 1, 0, SHINY_API_MALLOC);
	close(0);
	err = sidecar_lock(directory, &lock_fd);
	check("lock/at descriptor 0", !err && lock_fd == 0, "another descriptor");
	shiny_err_free(err);
	if (collected("lock/handed over at 0", h, &s))
		number("lock/allocations", s.allocs, 1);
	close(lock_fd);
	lock_fd = -1;
	if (input >= 0)
		dup2(input, 0);
	close(input);
}

static void refusals(void)
{
	struct shiny_header *h = begin(4);

	h->version = 10;
	munmap(h, h->ring_bytes);
	refused("refuse/version", "version 10; this shinyctl reads version 9");
	h = begin(4);
	h->magic = 0x0a21656d2065736f;
	munmap(h, h->ring_bytes);
	refused("refuse/magic", "not a ring");
	h = begin(4);
	h->states_at = 1;
	munmap(h, h->ring_bytes);
	refused("refuse/offsets", "damaged header");
	h = begin(4);
	munmap(h, h->ring_bytes);
	if (truncate(ring_path, 100000))
		exit(1);
	refused("refuse/truncated", "the file has 100000 bytes");
	patient();
	if (truncate(ring_path, 100))
		exit(1);
	refused("refuse/short", "100 bytes");
	unlink(ring_path);
}

int main(void)
{
	snprintf(directory, sizeof(directory), "/tmp/shiny-test-%d", (int)getpid());
	snprintf(session_path, sizeof(session_path), "%s.shiny", directory);
	snprintf(ring_path, sizeof(ring_path), "%s/ring.1.0", directory);
	threads();
	reallocs();
	tags();
	run_times();
	pools();
	forks();
	replaced();
	stacks_and_losses();
	stacks_like();
	sizes();
	learning();
	learning_by_chance();
	objects();
	moves();
	lock_at_zero();
	refusals();
	unlink(session_path);
	{
		char lock[128];

		snprintf(lock, sizeof(lock), "%s/%s", directory, SHINY_SIDECAR_LOCK);
		unlink(lock);
		unlink(ring_path);
		rmdir(directory);
	}
	return failures != 0;
}
