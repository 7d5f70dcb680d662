/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_session.h: a session of two processes with rows in most tables, for what reads it back.
 *
 * Runs: tests. Signals: no. Allocates: the store does. Threads: one.
 */
#ifndef SHINY_TEST_STORE_SESSION_H
#define SHINY_TEST_STORE_SESSION_H

#include "../../src/store/store.h"
#include "check.h"

#define EACH(element, array) \
	for (size_t element = 0; element < sizeof(array) / sizeof(*(array)); element++)

/* clang-format off */
static const struct store_module recorded_modules[] = {
	{ .id = 1, .path = "/bin/prog", .build_id = "abcd", .symbols = "dwarf" },
	{ .id = 2, .path = "/usr/lib/libc.so.6", .symbols = "dynsym" },
	{ .id = 3, .path = "/lib/stripped.so", .symbols = "none", .note = "no names" },
};
/* a vector's growth inlined into push */
static const struct store_frame_line recorded_growth[] = {
	{ .function = "void std::vector<int, A<int> >::grow<int>(int&&)",
	  .file = "vector", .line = 9, .inlined = true },
	{ .function = "push(std::vector<int>&)", .file = "a.cc", .line = 12 },
};
/* Frames from id 2 on: strdup in libc; a function without a name; two lines of one function. */
static const struct {
	uint32_t module;
	uint64_t vaddr;
	struct store_frame_line line;
} recorded_frames[] = {
	{ 2, 0x200, { .function = "strdup" } },
	{ 3, 0x1234, { 0 } },
	{ 1, 0x400, { .function = "main", .file = "a.cc", .line = 40 } },
	{ 1, 0x500, { .function = "main", .file = "a.cc", .line = 50 } },
	{ 1, 0x600, { .function = "mallocator(int)", .file = "a.cc", .line = 60 } },
};
/* Stacks from id 1 on: their frames. */
static const uint32_t recorded_stacks[][4] = {
	{ 1, 4 }, { 2, 3, 4 }, { 2, 4 }, { 4 }, { 5 }, { 2 }, { 6, 5 },
};
/* Frames and stacks from id 20 on. Wrappers around malloc, from many programs, and what only looks
 * like one; all called by main in line 50. */
static const char *const recorded_wrappers[] = {
	"xmalloc",
	"xrealloc",
	"sh_xmalloc",
	"g_malloc0_n",
	"CRYPTO_zalloc",
	"uv__realloc",
	"PyMem_RawMalloc",
	"llvm::User::operator new(unsigned long, unsigned int)",
	"llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long)",
	"v8::internal::AllocAtLeastWithRetry(unsigned long)",
	"my::Thing::operator new[](unsigned long)",
	"my::operator newish(int)", /* from here on they are sites */
	"malloc_stats",
	"xml_parse",
	"call(my::operator new_tag)",
	"safe_mallocator",
};
/* Likewise from id 40 on: by name, and one that was found. */
static const char *const recorded_more[] = {
	"luaC_newobj",
	"os::malloc(unsigned long, MEMFLAGS)",
	"alloc::raw_vec::finish_grow",
	"ngx_palloc_large",
	"__rust_alloc",
	"my_own",
};
static const struct store_vtable recorded_vtables[] = {
	{ 1, .module = 1, .vaddr = 16, .source = "symbol", .type = "Shape", .class_bytes = 24 },
	{ 2, .module = 3, .vaddr = 32, .source = "label", .type = "stripped.so!vtable+0x20" },
};
static const struct store_type recorded_types[] = {
	{ .id = 1, .name = "Shape", .form = "object", .rule = "vptr", .confidence = "exact",
	  .source = "symbol", .bytes = 24 },
	{ .id = 2, .name = "stripped.so!vtable+0x20", .form = "object", .rule = "vptr",
	  .confidence = "label", .source = "label" },
	{ .id = 3, .name = "int", .container = "std::vector<int, std::allocator<int>>",
	  .form = "buffer", .rule = "allocator", .confidence = "exact",
	  .source = "site", .bytes = 4 },
};
/* Stacks 3 and 4 are of one site; bin 13 is theirs together, alive and dead apart. */
static const struct store_lifetime recorded_lifetimes[] = {
	{ .process = 1, .stack = 1, .bin = 12, .count = 3, .bytes = 30, .type = 1 },
	{ .process = 1, .stack = 3, .bin = 13, .count = 3, .bytes = 10 },
	{ .process = 1, .stack = 4, .bin = 13, .count = 4, .bytes = 10 },
	{ .process = 1, .stack = 3, .bin = 13, .count = 100, .bytes = 1, .censored = true },
	{ .process = 1, .stack = 0, .bin = 13, .count = 200, .bytes = 1 },
};
static const struct store_peak recorded_peaks[] = {
	{ .process = 1, .stack = 4, .peak_blocks = 2, .peak_bytes = 50, .peak_time = 9 },
	{ .process = 1, .stack = 3, .peak_blocks = 2, .peak_bytes = 70, .peak_time = 9 },
};
/* clang-format on */

static inline void put_processes(struct store *store)
{
	for (uint32_t id = 1; id <= 2; id++) {
		struct store_process p = { .id = id,
					   .parent = id - 1,
					   .pid = 100 + id,
					   .name = "prog",
					   .role = id == 2 ? "renderer" : "",
					   .executable = "/bin/prog",
					   .command = "prog -x",
					   .start = id,
					   .end = 1000,
					   .ending = "exited",
					   .attach = "symbols",
					   .events = 5 };
		struct store_thread t = {
			.id = id, .process = id, .tid = 100 + id, .name = "main"
		};

		must(store_put_process(store, &p));
		must(store_put_thread(store, &t));
	}
}

/* Deep stacks: 8 has 40 frames, 9 another innermost one and then the same, 10 only boring ones but
 * for the 14th; 11 has none. */
static inline void put_deep_stacks(struct store *store)
{
	uint32_t deep[40];

	for (uint32_t i = 0; i < 40; i++)
		deep[i] = 1 + i * 7 % 6;
	must(store_put_stack(store, 8, deep, 40));
	deep[0] = 6;
	must(store_put_stack(store, 9, deep, 40));
	for (uint32_t i = 0; i < 13; i++)
		deep[i] = 2;
	deep[13] = 5;
	must(store_put_stack(store, 10, deep, 40));
	must(store_put_stack(store, 11, NULL, 0));
}

/* Puts a function of module 1 with its frame and stack `id`, called by main in line 50. */
static inline void put_called(struct store *store, uint32_t id, uint64_t vaddr, const char *name,
			      uint32_t line)
{
	struct store_frame_line at = { .function = name, .file = "b.cc", .line = line };

	must(store_put_frame(store, id, 1, vaddr, &at, 1));
	must(store_put_stack(store, id, (uint32_t[]){ id, 5 }, 2));
}

static inline void put_stacks(struct store *store)
{
	must(store_put_frame(store, 1, 1, 0x100, NULL, 0));
	must(store_put_lines(store, 1, recorded_growth, 2)); /* named later */
	EACH(i, recorded_frames)
		must(store_put_frame(store, (uint32_t)i + 2, recorded_frames[i].module,
				     recorded_frames[i].vaddr, &recorded_frames[i].line,
				     recorded_frames[i].line.function != NULL));
	EACH(i, recorded_stacks) {
		size_t count = 0;

		while (count < 4 && recorded_stacks[i][count])
			count++;
		must(store_put_stack(store, (uint32_t)i + 1, recorded_stacks[i], count));
	}
	put_deep_stacks(store);
	must(store_put_frame(store, 7, 3, 0x1500, &(struct store_frame_line){ .file = "x/y.cc" },
			     1));
	must(store_put_stack(store, 12, (uint32_t[]){ 3, 7, 2 }, 3));
	EACH(i, recorded_wrappers)
		put_called(store, 20 + (uint32_t)i, 0x2000 + i, recorded_wrappers[i], (uint32_t)i);
	EACH(i, recorded_more)
		put_called(store, 40 + (uint32_t)i, 0x3000 + i, recorded_more[i], (uint32_t)i);
	must(store_put_wrapper(store, 45));
}

static inline void put_recorded(struct store *store)
{
	must(store_put_text(store, "host", "here"));
	must(store_put_number(store, "size", 7));
	must(store_put_number(store, "size", 8));
	put_processes(store);
	EACH(i, recorded_modules)
		must(store_put_module(store, &recorded_modules[i]));
	must(store_put_mapping(
		store,
		&(struct store_mapping){
			.process = 1, .module = 1, .start = 4096, .end = 8192, .loaded = 1 }));
	put_stacks(store);
	EACH(i, recorded_vtables)
		must(store_put_vtable(store, &recorded_vtables[i]));
	EACH(i, recorded_types)
		must(store_put_type(store, &recorded_types[i]));
}

static inline void put_sums(struct store *store)
{
	for (uint32_t stack = 1; stack <= 7; stack++)
		for (uint32_t process = 1; process <= 2; process++)
			must(store_put_stat(store, &(struct store_stat){
							   .process = process,
							   .stack = stack,
							   .vtable = stack % 3,
							   .reading = stack == 4 ? 3 : 0,
							   .size_step = 4,
							   .api = 4,
							   .type = stack == 6 ? 3 : stack % 3,
							   .allocs = 10 * stack,
							   .frees = 4 * stack,
							   .bytes = 100 * stack,
							   .live = 6 * stack,
							   .live_bytes = 60 * stack,
							   .max_size = 20,
							   .min_size = stack }));
	must(store_put_stat(store, &(struct store_stat){ .process = 1,
							 .allocs = 1,
							 .bytes = UINT32_MAX,
							 .live = 1,
							 .live_bytes = UINT32_MAX }));
	EACH(i, recorded_lifetimes)
		must(store_put_lifetime(store, &recorded_lifetimes[i]));
	EACH(i, recorded_peaks)
		must(store_put_peak(store, &recorded_peaks[i]));
	must(store_put_bucket(
		store,
		&(struct store_bucket){
			.process = 1, .start = 0, .length = 100, .allocs = 5, .live_bytes = 77 }));
	must(store_put_page(store,
			    &(struct store_page){
				    .process = 1, .page = 16, .blocks = 3, .live_bytes = 1024 }));
	must(store_put_counter(store, 1, "DROPPED", "loss", 3, "why"));
	must(store_put_counter(store, 1, "WAITED", "note", 4, "waits"));
	must(store_put_note(store, 0, "hello"));
}

#endif
