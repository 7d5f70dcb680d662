/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.h: a session that has something of everything, and the lines that read one.
 *
 * Runs: tests. Signals: no. Allocates: as the store and the verbs. Threads: one.
 */
#ifndef SHINY_TEST_CONTENT_H
#define SHINY_TEST_CONTENT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/ctl/verb_table.h"
#include "../../src/store/snapshot_parts.h"
#include "../unit/session_writer.h"
#include "victim.h"

enum { EVENTS = 3000 };

/* ---- a session with something of everything ---- */

/* A session's events: honest ones, or one number in `wild` is what no program makes. */
struct shape {
	uint32_t processes, stacks, events;
	unsigned wild; /* 0: all are honest */
	bool unfinished; /* its sidecar was killed behind a commit: there are no sums */
};

static const struct shape honest = { .processes = 2, .stacks = 10, .events = EVENTS };

static bool runs_wild(const struct shape *shape)
{
	return shape->wild && next_random() % shape->wild == 0;
}

static uint64_t wild_number(void)
{
	switch (next_random() % 4) {
	case 0:
		return UINT64_C(1) << next_random() % 64;
	case 1:
		return -(UINT64_C(1) << next_random() % 64);
	case 2:
		return next_random();
	default:
		return hurtful[next_random() % HURTFUL];
	}
}

static void put_events(struct store *s, const struct shape *shape)
{
	static const uint8_t kinds[] = { EVENT_ALLOC, EVENT_ALLOC, EVENT_FREE,	    EVENT_REALLOC,
					 EVENT_VPTR,  EVENT_MAP,   EVENT_CONSTRUCT, EVENT_DESTROY };
	uint64_t live[64] = { 0 };

	for (uint32_t i = 0; i < shape->events; i++) {
		uint64_t *slot = &live[next_random() % 64];
		struct event e = { .time = 1000 + i * 37,
				   .process = 1 + (uint32_t)(next_random() % shape->processes),
				   .thread = 1 + (i & 1),
				   .stack = 1 + i % (shape->stacks - 1),
				   .kind = kinds[next_random() % sizeof(kinds)],
				   .tag = i % 3,
				   .size = 8 + next_random() % 300 };

		if (e.kind == EVENT_FREE || e.kind == EVENT_VPTR || e.kind == EVENT_REALLOC)
			e.old_address = e.address = *slot ? *slot : 4096;
		else
			e.address = *slot = 0x10000 + next_random() % 4000 * 16;
		if (e.kind == EVENT_VPTR || e.kind == EVENT_CONSTRUCT || e.kind == EVENT_DESTROY)
			e.vtable = 1;
		if (e.kind == EVENT_FREE)
			*slot = 0;
		if (runs_wild(shape))
			e.size = wild_number();
		if (runs_wild(shape))
			e.address = wild_number();
		if (runs_wild(shape))
			e.time = wild_number();
		if (runs_wild(shape))
			e.api = (uint8_t)next_random();
		if (runs_wild(shape))
			e.kind = (uint8_t)next_random();
		if (runs_wild(shape))
			e.process = (uint32_t)(next_random() % 2 ? next_random() % 70000
								 : wild_number());
		if (runs_wild(shape))
			e.stack = e.vtable = e.thread = e.tag =
				(uint32_t)(next_random() % 2 ? next_random() % 70000
							     : wild_number());
		must(store_put_events(s, &e, 1));
	}
}

static uint64_t number_of(const struct shape *shape, uint64_t number)
{
	return runs_wild(shape) ? wild_number() : number;
}

static void put_row(struct store *s, const struct shape *shape, uint32_t i)
{
	must(store_put_thread(s, &(struct store_thread){
					 .id = i, .process = i, .tid = 100 + i, .name = "main" }));
	must(store_put_tag(s, i, i == 1 ? "load" : "show"));
	must(store_put_mark(s, &(struct store_mark){ .process = 1,
						     .thread = 1,
						     .time = number_of(shape, i * 40000),
						     .name = i == 1 ? "begin" : "end" }));
	must(store_put_sample_rate(
		s, &(struct store_sample_rate){ .time = number_of(shape, i * 10000),
						.mean = number_of(shape, UINT64_C(65536) << i) }));
	must(store_put_mapping(s, &(struct store_mapping){ .process = i,
							   .module = 1,
							   .start = number_of(shape, 0x400000),
							   .end = number_of(shape, 0x500000) }));
	must(store_put_memory(s, &(struct store_memory){ .process = i,
							 .time = number_of(shape, 50000 * i),
							 .rss = number_of(shape, 1 << 20) }));
	must(store_put_segment(s, &(struct store_segment){ .id = i,
							   .process = i,
							   .origin = i,
							   .start = number_of(shape, i << 20),
							   .end = number_of(shape, (i + 1) << 20),
							   .source = "mmap",
							   .owner = "malloc",
							   .detail = "ring" }));
	must(store_put_residency(s, &(struct store_residency){ .segment = i,
							       .malloc = true,
							       .time = number_of(shape, 50000),
							       .committed = number_of(shape, 8192),
							       .rss = 4096 }));
	must(store_put_page(s,
			    &(struct store_page){ .process = i,
						  .page = number_of(shape, 16 + i),
						  .blocks = 3,
						  .live_bytes = (uint32_t)number_of(shape, 300) }));
	must(store_put_bucket(s, &(struct store_bucket){ .process = i,
							 .start = number_of(shape, 0),
							 .length = number_of(shape, 100000),
							 .allocs = 10,
							 .alloc_bytes = number_of(shape, 1000),
							 .live_bytes = number_of(shape, 500) }));
}

static void put_sums(struct store *s, const struct shape *shape, uint32_t i)
{
	must(store_put_stat(s, &(struct store_stat){ .process = 1 + i % 2,
						     .stack = i,
						     .vtable = i == 1,
						     .tag = i % 3,
						     .allocs = number_of(shape, 50 * i),
						     .frees = number_of(shape, 40 * i),
						     .live = number_of(shape, 10 * i),
						     .bytes = number_of(shape, 5000),
						     .live_bytes = number_of(shape, 1000),
						     .max_size = number_of(shape, 300),
						     .min_size = number_of(shape, 8),
						     .type = 1 + i % 2 }));
	must(store_put_lifetime(s, &(struct store_lifetime){ .process = 1,
							     .stack = i,
							     .type = 1,
							     .bin = (uint8_t)number_of(shape, i),
							     .count = number_of(shape, i),
							     .bytes = 10 }));
	must(store_put_peak(s, &(struct store_peak){ .process = 1,
						     .stack = i,
						     .peak_blocks = number_of(shape, 5),
						     .peak_bytes = number_of(shape, 500),
						     .peak_time = number_of(shape, 3000) }));
}

/* Two heap snapshots: blocks in a row that point to others and are pointed to by roots. */
static void put_snapshot(struct store *s, const struct shape *shape, uint32_t id)
{
	static const char *const kinds[] = { "variable", "stack", "mapping", "wrapper" };
	enum { BLOCKS = 300, ROOTS = 4 };
	struct snapshot_packer packed = { 0 };
	uint64_t address = 0x10000;
	uint32_t source = 1;

	for (uint32_t i = 1; i <= BLOCKS; i++) {
		struct snapshot_block block = { .address = number_of(shape, address),
						.size = number_of(shape, 16 + i % 5 * 8),
						.stack = 1 + i % (shape->stacks - 1),
						.vtable = i & 1 };

		address += 64;
		if (runs_wild(shape))
			block.stack = block.vtable = (uint32_t)wild_number();
		snapshot_pack_block(&packed, &block);
	}
	for (; source <= BLOCKS + ROOTS; source += (uint32_t)(next_random() & 1)) {
		struct snapshot_edge edge = { .source = source,
					      .target = 1 + (uint32_t)(next_random() % BLOCKS),
					      .at = number_of(shape, next_random() % 5 * 8),
					      .into = number_of(shape, next_random() % 16) };

		if (runs_wild(shape))
			edge.source = (uint32_t)wild_number();
		if (runs_wild(shape))
			edge.target = (uint32_t)wild_number();
		snapshot_pack_edge(&packed, &edge);
	}
	snapshot_pack_end(&packed);
	for (uint32_t i = 1; i <= ROOTS; i++)
		must(store_put_root(s, &(struct store_root){ .snapshot = id,
							     .id = i,
							     .kind = kinds[i % 4],
							     .module = 1,
							     .vaddr = number_of(shape, 0x4000),
							     .tid = 7,
							     .name = "g_cache+8" }));
	must(store_put_snapshot(s, &(struct store_snapshot){ .id = id,
							     .process = 1,
							     .time = number_of(shape, 1000 * id),
							     .cause = "asked",
							     .blocks = BLOCKS,
							     .bytes = number_of(shape, 9000),
							     .roots = ROOTS,
							     .edges = packed.edges,
							     .unread = number_of(shape, 0) }));
	must(snapshot_put_parts(s, id, &packed));
	snapshot_packer_deinit(&packed);
}

static void put_members(struct store *s, const struct shape *shape)
{
	for (uint32_t at = 0; at < 16; at += 8)
		must(store_put_member(s, &(struct store_member){
						 .type = 1,
						 /* wild or not, two have two places */
						 .at = at ? (uint32_t)number_of(shape, at) | 8 : 0,
						 .bytes = (uint32_t)number_of(shape, 8),
						 .holds = at ? "pointer" : "nothing",
						 .name = at ? "next_" : NULL,
						 .of = "std::map<int, Shape>" }));
}

/* Some parts long. */
static void put_deep_stack(struct store *s, uint32_t id, uint32_t frames)
{
	uint32_t stack[20];

	for (uint32_t i = 0; i < 20; i++)
		stack[i] = 1 + i % frames;
	must(store_put_stack(s, id, stack, 20));
}

static void make_session(const char *path, const struct shape *shape)
{
	struct store *s = session_begin(path, number_of(shape, 200000));

	put_process(s, (struct store_process){
			       .id = 1, .command = "prog x", .end = number_of(shape, 200000) });
	for (uint32_t i = 2; i <= shape->processes; i++)
		put_process(s, (struct store_process){ .id = i,
						       .parent = runs_wild(shape) ? i - 1 : 1,
						       .forked = number_of(shape, 5000),
						       .role = "renderer",
						       .start = number_of(shape, 0),
						       .end = number_of(shape, 150000) });
	for (uint32_t i = 1; i < 3; i++)
		put_row(s, shape, i);
	put_program(s);
	must(store_put_vtable(s, &(struct store_vtable){ .id = 1,
							 .module = 1,
							 .vaddr = 0x100,
							 .source = "rtti",
							 .type = "Shape",
							 .class_bytes = 16 }));
	must(store_put_class(s, &(struct store_class){ .id = 1,
						       .module = 1,
						       .name = "Shape",
						       .bytes = 16,
						       .constructors = 1,
						       .destructors = 1 }));
	put_type(s, (struct store_type){
			    .id = 1, .name = "Shape", .rule = "constructor", .bytes = 16 });
	put_type(s,
		 (struct store_type){
			 .id = 2, .name = "char", .container = "std::string", .form = "buffer" });
	for (uint32_t i = 1; i < shape->stacks; i++)
		put_site(s, i, i & 1 ? "work(int)" : "std::vector<int>::push_back");
	put_deep_stack(s, shape->stacks, shape->stacks - 1);
	for (uint32_t i = 1; i < shape->stacks && !shape->unfinished; i++)
		put_sums(s, shape, i);
	must(store_put_counter(s, 1, "LOST", "loss", 1, "it was lost"));
	must(store_put_note(s, 1, "a note"));
	for (uint32_t id = 1; id < 3; id++)
		put_snapshot(s, shape, id);
	put_members(s, shape);
	put_events(s, shape);
	if (shape->unfinished) {
		must(store_commit(s));
		store_abandon(s);
	} else {
		must(store_finish(s, NULL));
	}
}

/* ---- running the verbs ---- */

static const char *const lines[] = {
	/* the file goes behind */
	"report",
	"types",
	"types --members Shape",
	"types --by module",
	"sites",
	"sites --by tag --stacks",
	"sites --callers --threshold 0%",
	"sites --callees --by line --wrappers",
	"export --to folded",
	"activity",
	"peak",
	"lifetimes",
	"lifetimes --by site",
	"objects",
	"sizes",
	"sizes --pooling",
	"diagnose",
	"paper",
	"growth",
	"activity --marks",
	"growth --edges 1,2",
	"retained --unreachable",
	"retained --unreachable --by type --snapshot 1",
	"retained",
	"retained --by member",
	"retained --by root",
	"retainers FILE Shape",
	"retainers FILE 0x10040",
	"mismatches",
	"leaks",
	"leaks --by site",
	"leaks --cold",
	"leaks --cold --by site --within 10s",
	"pages",
	"info --processes",
	"tree",
	"tree --by component",
	"tree --by site",
	"memory",
	"memory --details",
	"browser",
	"info",
	"info --modules",
	"info --schema",
	"doctor",
	"symbols",
	"report --tag load",
	"report --between begin..end",
	"report --process renderer",
	"types --process id:2",
	"activity --interval 1us",
	"explain FILE #1",
	"explain FILE 0x10010",
	"diff FILE",
	"check FILE live_bytes<=1k",
	"check FILE peak_bytes<=1 mismatches==0 leaks==0 leaked_bytes<=0",
	"retained --owners RULES",
	"export --to pprof",
	"export --to otlp",
	"export --to speedscope",
	"export --to dhat",
	"export --to massif",
	"export --to heaptrack",
	"export --to callgrind",
	"export --to firefox",
	"export --to trace",
	"export --to dot",
	"export --to csv",
	"export --to jsonl --table events",
	"html FILE OUT --force",
	"live FILE --once",
	"collect FILE --force --out OUT",
};
enum { LINES = sizeof(lines) / sizeof(*lines) };

/* Returns the name of a file of rules for owners, which lies in memory. */
static char *owner_rules(void)
{
	static const char rules[] = "each type *\n";
	static char name[40];

	if (!*name) {
		int file = memfd_create("rules", 0);

		if (file < 0 || write(file, rules, sizeof(rules) - 1) < 0)
			must(shiny_err(SHINY_ERR_OTHER, "cannot write a file of rules"));
		snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	}
	return name;
}

/* The words of the line, FILE among them or at the end; "diff FILE" has it twice. OUT is a file
 * beside it, RULES one of owner_rules(). */
static int words_of(char *line, char *path, bool json, char **words)
{
	static char out[200];
	bool twice = strncmp(line, "diff", 4) == 0, given = false;
	int count = 0;

	snprintf(out, sizeof(out), "%s.out", path);
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) {
		given |= strcmp(word, "FILE") == 0;
		words[count++] = strcmp(word, "FILE") == 0    ? path
				 : strcmp(word, "OUT") == 0   ? out
				 : strcmp(word, "RULES") == 0 ? owner_rules()
							      : word;
	}
	if (!given || twice)
		words[count++] = path;
	if (json)
		words[count++] = "--json";
	words[count] = NULL;
	return count;
}

static char run_message[300]; /* of the last line that failed */

static int run_words(int count, char **words)
{
	struct ctl ctl = { 0 };
	struct shiny_err *err;
	enum verb_id verb;
	int status;

	err = verb_find(words[0], &verb);
	if (!err)
		err = verb == VERB_COUNT
			      ? shiny_err(SHINY_ERR_USAGE, "no such verb")
			      : options_parse(verb, count - 1, words + 1, &ctl.options);
	if (!err) {
		style_init(&ctl.style, stdout, STDOUT_FILENO, false);
		err = verb_table_run(&ctl);
	}
	status = err ? (int)err->code : ctl.status;
	if (err)
		printf("%s\n%s\n", err->message, err->advice ? err->advice : "");
	snprintf(run_message, sizeof(run_message), "%s", err ? err->message : "");
	shiny_err_free(err);
	fflush(stdout);
	return status;
}

#endif
