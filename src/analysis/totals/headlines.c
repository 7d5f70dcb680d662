/* SPDX-License-Identifier: Apache-2.0 */
/* headlines.c: see headlines.h. */
#define _GNU_SOURCE
#include "headlines.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../../store/contents.h"

enum { NAMED = 3 }; /* most programs named in a line of the front page */

/* ---- programs that are not recorded ---- */

/* Replaces control characters in a program's name by '?'. Takes `text`. */
static char *printable(char *text)
{
	size_t length = strlen(text), room = 4 * length + 8;
	char *shown = mem_alloc(room);

	text_fit(shown, room, text, 2 * length + 8, TEXT_CUT_END);
	free(text);
	return shown;
}

struct shiny_err *unrecorded_load(struct store *store, struct unrecorded *out)
{
	SHINY_CLEANUP(unrecorded_deinit) struct unrecorded found = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store,
		"SELECT u.name, MIN(u.executable), COALESCE(p.name, ''), u.reason, u.text, "
		"MIN(u.pid), MIN(u.parent), "
		"COALESCE(MIN(p.pid), 0), COUNT(*), MIN(u.ns), u.choice FROM unrecorded u LEFT "
		"JOIN process p ON p.id = u.parent "
		"GROUP BY u.choice, u.name, p.name, u.reason, u.text ORDER BY u.choice, MIN(u.id)",
		&q);

	QUERY_EACH (q, err) {
		struct unrecorded_row *r =
			rows_push(&found.rows, &found.count, &found.room, sizeof(*r));

		r->name = mem_text(query_text(q, 0));
		r->executable = mem_text(query_text(q, 1));
		r->parent_name = mem_text(query_text(q, 2));
		r->reason = mem_text(query_text(q, 3));
		r->text = mem_text(query_text(q, 4));
		r->pid = (uint32_t)query_number(q, 5);
		r->parent = (uint32_t)query_number(q, 6);
		r->parent_pid = (uint32_t)query_number(q, 7);
		r->count = (uint64_t)query_number(q, 8);
		r->time = (uint64_t)query_number(q, 9);
		r->choice = query_number(q, 10) != 0;
		*(r->choice ? &found.chosen : &found.missed) += r->count;
	}
	if (err)
		return err;
	*out = shiny_steal(found);
	return NULL;
}

void unrecorded_deinit(struct unrecorded *unrecorded)
{
	for (size_t i = 0; i < unrecorded->count; i++) {
		struct unrecorded_row *r = &unrecorded->rows[i];

		free(r->name);
		free(r->executable);
		free(r->parent_name);
		free(r->reason);
		free(r->text);
	}
	free(unrecorded->rows);
	*unrecorded = (struct unrecorded){ 0 };
}

static char *who(const struct unrecorded_row *r)
{
	char many[UNITS_TEXT] = "", pid[32] = "";

	if (r->count > 1)
		snprintf(many, sizeof(many), "%" PRIu64 "\xc3\x97 ", r->count);
	if (r->parent_pid)
		snprintf(pid, sizeof(pid), " (pid %" PRIu32 ")", r->parent_pid);
	return mem_format("%s%s%s%s%s", many, r->name, *r->parent_name ? ", exec'd by " : "",
			  r->parent_name, *r->parent_name ? pid : "");
}

char *unrecorded_line(const struct unrecorded_row *r)
{
	char *name = who(r), *line = mem_format("%s: %s", name, r->text);

	free(name);
	return printable(line);
}

/* ---- headlines ---- */

static void add(struct headlines *h, const char *kind, const char *verb, char *text)
{
	struct headline *row = rows_push(&h->rows, &h->count, &h->room, sizeof(*row));

	*row = (struct headline){ kind, printable(text), verb };
}

static bool is_crash(int number)
{
	static const int numbers[] = { SIGSEGV, SIGABRT, SIGBUS,  SIGILL, SIGFPE,
				       SIGTRAP, SIGSYS,	 SIGXFSZ, SIGXCPU };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* Adds one line for each program and signal. */
static struct shiny_err *add_endings(struct store *store, struct headlines *h)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store,
					    "SELECT name, status, COUNT(*), MIN(pid), MIN(end_ns), "
					    "MIN(id) = 1 FROM process WHERE ending = 'killed' "
					    "AND NOT within "
					    "GROUP BY name, status ORDER BY MIN(id) <> 1, MIN(id)",
					    &q);

	QUERY_EACH (q, err) {
		int number = (int)query_number(q, 1);
		const char *name = number > 0 && number < NSIG ? sigabbrev_np(number) : NULL;
		bool crash = is_crash(number);
		uint64_t count = (uint64_t)query_number(q, 2);
		char many[64];

		if (!crash && number != SIGKILL && !query_number(q, 5))
			continue;
		if (count > 1)
			snprintf(many, sizeof(many),
				 "%" PRIu64 " processes, the first with pid %" PRIu32, count,
				 (uint32_t)query_number(q, 3));
		else
			snprintf(many, sizeof(many), "pid %" PRIu32, (uint32_t)query_number(q, 3));
		add(h, crash ? "crashed" : "killed", "info --processes",
		    mem_format("%s: %s (%s) by SIG%s after %s", crash ? "crashed" : "killed",
			       query_text(q, 0), many, name ? name : "?",
			       units_time(UNITS_BUF, (uint64_t)query_number(q, 4))));
	}
	return err;
}

/* Adds the counters of wrong frees; if events were lost, the loss may be their cause. */
static struct shiny_err *add_frees(struct store *store, struct headlines *h)
{
	static const struct { const char *name, *one, *many;
	} kinds[] = {
		{ "DOUBLE_FREES", "double free", "double frees" },
		{ "WRONG_FREES", "free by a function of another family",
		  "frees by functions of another family" },
		{ "WRONG_SIZES", "sized delete of the wrong size",
		  "sized deletes of the wrong size" },
	};
	char *text = mem_text(""), *more;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct query *q = NULL;
		bool row = false;
		struct shiny_err *err = store_query(
			store,
			"SELECT " STORE_SUM("c.count") " FROM counter c WHERE c.name = ? "
			"AND NOT EXISTS (SELECT 1 FROM counter l WHERE l.process = c.process AND "
			"l.weight = 'loss')",
			&q);

		if (!err) {
			query_bind_text(q, 1, kinds[i].name);
			err = query_step(q, &row);
		}
		if (!err && row && query_number(q, 0) > 0) {
			uint64_t count = (uint64_t)query_number(q, 0);

			more = mem_format("%s%s%s %s", text, *text ? ", " : "",
					  units_count(UNITS_BUF, count),
					  count == 1 ? kinds[i].one : kinds[i].many);
			free(text);
			text = more;
		}
		query_end(q);
		if (err) {
			free(text);
			return err;
		}
	}
	if (*text)
		add(h, "frees", "mismatches", mem_format("wrong frees: %s", text));
	free(text);
	return NULL;
}

static struct shiny_err *add_unrecorded(struct store *store, struct headlines *h)
{
	struct unrecorded u;
	struct shiny_err *err = unrecorded_load(store, &u);
	uint64_t shown = 0;

	if (err)
		return err;
	for (size_t i = 0; i < u.count && i < NAMED && !u.rows[i].choice; i++) {
		char *line = unrecorded_line(&u.rows[i]);

		add(h, "not_recorded", "info --processes", mem_format("not recorded: %s", line));
		shown += u.rows[i].count;
		free(line);
	}
	if (shown < u.missed)
		add(h, "not_recorded", "info --processes",
		    mem_format("not recorded: %s, of %s that were started in this session",
			       units_noun(UNITS_NOUN_BUF, u.missed - shown, "more program"),
			       units_count(UNITS_BUF, u.missed)));
	if (u.chosen)
		add(h, "narrowed", "info --processes",
		    mem_format("left out by SHINY_FOLLOW: %s",
			       units_noun(UNITS_NOUN_BUF, u.chosen, "program")));
	unrecorded_deinit(&u);
	return NULL;
}

/* Adds programs with allocators that are not hooked: they are listed without blocks. */
static struct shiny_err *add_unhooked(struct store *store, struct headlines *h)
{
	AUTO_QUERY struct query *q = NULL;
	uint64_t shown = 0, more = 0;
	struct shiny_err *err =
		store_query(store,
			    "SELECT name, MIN(pid), COUNT(*) FROM process WHERE attach = 'none' "
			    "AND NOT within "
			    "GROUP BY name ORDER BY MIN(id)",
			    &q);

	QUERY_EACH (q, err) {
		uint64_t count = (uint64_t)query_number(q, 2);
		char many[UNITS_TEXT] = "";

		if (shown++ >= NAMED) {
			more += count;
			continue;
		}
		if (count > 1)
			snprintf(many, sizeof(many), "%" PRIu64 "\xc3\x97 ", count);
		add(h, "not_recorded", "info --processes",
		    mem_format("not recorded: %s%s (pid %" PRIu32 "): its allocator is left alone",
			       many, query_text(q, 0), (uint32_t)query_number(q, 1)));
	}
	if (!err && more)
		add(h, "not_recorded", "info --processes",
		    mem_format("not recorded: %s whose allocators are left alone",
			       units_noun(UNITS_NOUN_BUF, more, "more process")));
	return err;
}

/* Adds a line for each kind of objects in pools: they are in no sum, as they lie in blocks. */
static struct shiny_err *add_second(struct store *store, struct headlines *h)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store,
		"SELECT MIN(p.name), p.heap, SUM(s.allocs), SUM(s.live + s.abandoned), "
		"SUM(s.live_bytes + s.abandoned_bytes), COUNT(DISTINCT NULLIF(s.tag, 0)) "
		"FROM process p JOIN site_stat s ON s.process = p.id WHERE p.within "
		"GROUP BY p.heap ORDER BY p.heap",
		&q);

	QUERY_EACH (q, err) {
		const char *heap = query_text(q, 1);

		add(h, "second_level", NULL,
		    mem_format("second level: %s of %s in blocks of %s: at the end %s in %s, under "
			       "%s; --heap %s shows them",
			       units_noun(UNITS_NOUN_BUF, (uint64_t)query_number(q, 2), "object"),
			       heap, query_text(q, 0),
			       units_bytes(UNITS_BUF, (uint64_t)query_number(q, 4)),
			       units_noun(UNITS_NOUN_BUF, (uint64_t)query_number(q, 3), "object"),
			       units_noun(UNITS_NOUN_BUF, (uint64_t)query_number(q, 5),
					  "pool name"),
			       heap));
	}
	return err;
}

/* Adds headlines from the session's own facts. */
static struct shiny_err *add_facts(struct store *store, struct headlines *h)
{
	static const struct { const char *sql, *kind, *verb, *text;
	} facts[] = {
		{ "SELECT NOT EXISTS (SELECT 1 FROM session WHERE key = 'complete' AND value <> 0)",
		  "not_finished", NULL,
		  "not finished: this is what was recorded until the last commit" },
		{ "SELECT EXISTS (SELECT 1 FROM session WHERE key = 'paused' AND value <> 0)",
		  "narrowed", NULL,
		  "recording was off for a part of the time (SHINY_START, shinyctl tell PID off): "
		  "what began then is not here" },
		{ "SELECT EXISTS (SELECT 1 FROM session WHERE key = 'leftover' AND value <> 0)",
		  "narrowed", NULL,
		  "collected from rings that were left behind: how processes ended is what they "
		  "said themselves" },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		struct query *q = NULL;
		bool row = false;
		struct shiny_err *err = store_query(store, facts[i].sql, &q);

		if (!err && !(err = query_step(q, &row)) && row && query_number(q, 0))
			add(h, facts[i].kind, facts[i].verb, mem_text(facts[i].text));
		query_end(q);
		if (err)
			return err;
	}
	return NULL;
}

struct shiny_err *headlines_load(struct store *store, unsigned level, struct headlines *out)
{
	SHINY_CLEANUP(headlines_deinit) struct headlines found = { 0 };
	uint64_t sample, changes, from, duration;

	SHINY_TRY(contents_kept(store, &from, &duration));
	if (from)
		add(&found, "kept", NULL,
		    mem_format("kept: the last %s of %s; older is in sums",
			       units_time(UNITS_BUF, duration - from),
			       units_time(UNITS_BUF, duration)));
	SHINY_TRY(contents_sample(store, &sample, &changes));
	if (sample)
		add(&found, "sample", NULL,
		    mem_format("a sample: one block in %s%s on average; counts and bytes are "
			       "estimates",
			       units_bytes(UNITS_BUF, sample), changes ? " or less" : ""));
	SHINY_TRY(add_endings(store, &found));
	if (!sample) /* it does not have all frees */
		SHINY_TRY(add_frees(store, &found));
	SHINY_TRY(add_facts(store, &found));
	SHINY_TRY(add_unrecorded(store, &found));
	SHINY_TRY(add_unhooked(store, &found));
	if (level == 1)
		SHINY_TRY(add_second(store, &found));
	*out = shiny_steal(found);
	return NULL;
}

void headlines_deinit(struct headlines *headlines)
{
	rows_free(headlines->rows, headlines->count, text);
	*headlines = (struct headlines){ 0 };
}
