/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_writer.h: sessions that a test writes down. What it does not say is that of a plain
 * program that ran to its end.
 *
 * Runs: tests. Signals: no. Allocates: the store does. Threads: one.
 */
#ifndef SHINY_TEST_SESSION_WRITER_H
#define SHINY_TEST_SESSION_WRITER_H

#include <unistd.h>

#include "../../src/store/store.h"
#include "check.h"

/* In place of what is at `path`. */
static inline struct store *session_begin(const char *path, uint64_t duration_ns)
{
	struct store *s;

	unlink(path);
	must(store_create(path, true, true, &s));
	must(store_put_number(s, "duration_ns", duration_ns));
	return s;
}

static inline void put_process(struct store *s, struct store_process p)
{
	p.pid = p.pid ? p.pid : 100 + p.id;
	p.name = p.name ? p.name : "prog";
	p.role = p.role ? p.role : "";
	p.executable = p.executable ? p.executable : "/bin/prog";
	p.command = p.command ? p.command : "";
	p.ending = p.ending ? p.ending : "exited";
	p.attach = p.attach ? p.attach : "symbols";
	p.attach_text = p.attach_text ? p.attach_text : "";
	must(store_put_process(s, &p));
}

/* Module 1, that of all sites. */
static inline void put_program(struct store *s)
{
	must(store_put_module(s, &(struct store_module){ .id = 1,
							 .path = "/bin/prog",
							 .build_id = "",
							 .symbols = "dwarf",
							 .note = "" }));
}

/* A frame, and a stack of it alone, both numbered `id`: line 10 * id of /src/a.c. */
static inline void put_site(struct store *s, uint32_t id, const char *function)
{
	struct store_frame_line line = { function, "/src/a.c", 10 * id, false };

	must(store_put_frame(s, id, 1, 0x1000 * id, &line, 1));
	must(store_put_stack(s, id, &id, 1));
}

static inline void put_type(struct store *s, struct store_type t)
{
	t.form = t.form ? t.form : "object";
	t.rule = t.rule ? t.rule : "variable";
	t.confidence = t.confidence ? t.confidence : "high";
	t.source = t.source ? t.source : "site";
	must(store_put_type(s, &t));
}

/* Threads and vtables that events name: readers take an id beyond its table for none. */
static inline void put_thread(struct store *s, uint32_t id)
{
	must(store_put_thread(s, &(struct store_thread){
					 .id = id, .process = 1, .tid = 100 + id, .name = "" }));
}

static inline void put_vtable(struct store *s, uint32_t id)
{
	must(store_put_vtable(s, &(struct store_vtable){ .id = id,
							 .module = 1,
							 .vaddr = 0x100000 + id,
							 .source = "symbol",
							 .type = "T" }));
}

static inline void put_event(struct store *s, struct event e)
{
	must(store_put_events(s, &e, 1));
}

#endif
