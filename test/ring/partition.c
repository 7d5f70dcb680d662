/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.c: the recipe decoder and the attachment to a dispatch chain, on entries assembled
 * here.
 *
 * Runs:      a test program, against interpose/ built with sanitizers.
 *
 * The entries are byte for byte in the shapes of Chromium 150's and 156's, with the slots of each
 * version, in a page of their own next to a table; then each is spoilt in one way, and must be
 * refused with nothing changed. Last they are run, with other tables put in front of ours as
 * Chromium's heap sampler does: the events, which are caught here, must name the program's own
 * calls.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../interpose/patch/slot_code.h"
#include "../../interpose/hook/record_event.h"
#include "../../interpose/chromium/partition_alloc.h"
#include "../../interpose/chromium/partition_evidence.h"
#include "../../interpose/chromium/partition_observe.h"
#include "../unit/check.h"

/* ---- instead of the engine: what the hooks said last ---- */

static struct { uintptr_t site; unsigned api, allocs, frees; } seen;

static struct si_self alive = { .life = SI_ALIVE };
static struct shiny_header header = { .recording = 1 };
struct si_self *si_self = &alive;
struct si_ring si_ring = { .header = &header };
uint32_t si_nursery_used;
bool si_revive_for_event(void) { return true; }

void si_event_alloc_now(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	seen.site = fp[1];
	seen.api = api;
	seen.allocs++;
}

bool si_event_free_now(const uintptr_t *fp, void *block, size_t claimed, enum shiny_api api,
		       si_release_fn *release, bool wanted)
{
	seen.site = fp[1];
	seen.api = api;
	seen.frees++;
	return true;
}

uint64_t si_sample_mean;
__thread struct si_sample si_sample;
struct si_sampled_line *si_sampled;
bool si_sample_drawn(const void *block, size_t size, enum shiny_api api) { return true; }
bool si_sample_find_slow(uint64_t key, bool take) { return true; }

bool si_event_realloc_begin(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	seen.site = fp[1];
	return true;
}

void si_event_realloc_done(const uintptr_t *fp, void *block, size_t size, enum shiny_api api)
{
	seen.allocs++;
}
void si_event_realloc_failed(const uintptr_t *fp) { }
void si_event_map(const uintptr_t *fp, enum shiny_map_call call, const struct shiny_map *map) { }
void si_event_engine_memory(const uintptr_t *fp, void *memory) { }
void si_event_modules_changed(void) { }
void si_event_modules_changing(void) { }
uint32_t si_event_thread_creating(void) { return 0; }
void si_event_thread_start(const uintptr_t *fp, const struct si_thread_birth *birth) { }
void si_event_exiting(void) { }
void si_event_forked_child(void) { }
/* and instead of what only executables with symbols have */
bool si_observers_find(char *const *environment, const struct si_image *image) { return false; }
void si_observers_install(const struct si_image *image, struct si_text *text) { }

/* ---- an executable in memory ---- */

enum { TEXT_BYTES = 8192, DATA_BYTES = 4096, ENTRY_BYTES = 96 };
struct version;
static struct world {
	uint8_t *text;
	uintptr_t *data; /* [0] the head, [8] a second one, [16…] the table */
	struct si_image image;
	struct si_entry entries[SI_ENTRIES_MAX];
	unsigned count, slots;
	const struct version *version;
	char text_out[SHINY_TEXT];
} w;

/* What malloc, nothrow, calloc, memalign, nothrow aligned, realloc, free, sized, aligned, both,
 * usable go through, version by version. */
enum {
	MALLOC,
	NOTHROW,
	CALLOC,
	ALIGN,
	ALIGN_NOTHROW,
	REALLOC,
	FREE,
	SIZED,
	ALIGNED,
	BOTH,
	USABLE,
	SHAPES
};
struct version {
	const char *name;
	unsigned slots; /* of the table */
	bool self, token;
	unsigned slot[SHAPES];
	const char *empty; /* slots without a function, in Chromium on Linux: "7 8 9" */
};
static const struct version versions[] = {
	{ "80", 13, true, false, { 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 5 }, "6 7 8" },
	{ "92", 14, true, false, { 0, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6 }, "7 8 9" },
	{ "103", 14, true, false, { 0, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6 }, "9" },
	{ "110", 16, true, false, { 0, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6 }, "7 10 11" },
	{ "123", 17, true, false, { 0, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6 }, "7 8 11 12" },
	{ "129", 20, false, false, { 0, 1, 2, 3, 3, 4, 6, 6, 6, 6, 7 }, "8 9 12 13" },
	{ "133", 20, false, false, { 0, 1, 2, 3, 3, 4, 6, 6, 6, 6, 7 }, "" },
	{ "138", 22, false, false, { 0, 1, 2, 3, 3, 4, 6, 6, 6, 6, 10 }, "" },
	{ "143", 23, false, false, { 0, 1, 2, 4, 4, 5, 7, 7, 7, 7, 11 }, "" },
	{ "150", 23, false, true, { 0, 1, 2, 4, 4, 5, 7, 8, 9, 10, 11 }, "" },
	{ "156", 24, false, true, { 0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12 }, "" },
	{ "later", 25, false, true, { 0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 12 }, "" },
};
enum { VERSIONS = sizeof(versions) / sizeof(versions[0]) };
static const struct version *const v156 = &versions[VERSIONS - 2],
				   *const v150 = &versions[VERSIONS - 3], *const v92 = &versions[1];

static unsigned shape_of(const char *symbol)
{
	static const struct { const char *symbol; unsigned shape;
	} exact[] = {
		{ "calloc", CALLOC },
		{ "realloc", REALLOC },
		{ "free", FREE },
		{ "cfree", FREE },
		{ "malloc", MALLOC },
		{ "__libc_calloc", CALLOC },
		{ "__libc_realloc", REALLOC },
		{ "__libc_free", FREE },
		{ "__libc_malloc", MALLOC },
		{ "malloc_usable_size", USABLE },
		{ "_ZdlPvm", SIZED },
		{ "_ZdaPvm", SIZED },
		{ "_ZnwmRKSt9nothrow_t", NOTHROW },
		{ "_ZnamRKSt9nothrow_t", NOTHROW },
		{ "_Znwm", MALLOC },
		{ "_Znam", MALLOC },
		{ "_ZnwmSt11align_val_tRKSt9nothrow_t", ALIGN_NOTHROW },
		{ "_ZnamSt11align_val_tRKSt9nothrow_t", ALIGN_NOTHROW },
		{ "_ZdlPvmSt11align_val_t", BOTH },
		{ "_ZdaPvmSt11align_val_t", BOTH },
	};

	for (unsigned i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (!strcmp(symbol, exact[i].symbol))
			return exact[i].shape;
	if (!strncmp(symbol, "_Zd", 3))
		return strstr(symbol, "align") ? ALIGNED : FREE;
	return ALIGN;
}

static size_t put(uint8_t *at, const char *hex)
{
	size_t n = 0;
	unsigned byte;

	for (; *hex; hex += 2 + (hex[2] == ' '), n++) {
		if (sscanf(hex, "%2x", &byte) != 1)
			break;
		at[n] = (uint8_t)byte;
	}
	return n;
}

/* mov head(%rip),%reg: `opcode` is "4c8b3d" for r15, "488b05" for rax */
static size_t put_load(uint8_t *at, const char *opcode, const void *head)
{
	size_t n = put(at, opcode);
	int32_t distance = (int32_t)((intptr_t)head - (intptr_t)(at + n + 4));

	memcpy(at + n, &distance, 4);
	return n + 4;
}

/* The moves that put the function's own arguments where the slot wants them. */
static const char *order_of(const char *symbol)
{
	if (strstr(symbol, "align_val") && !strncmp(symbol, "_Zn", 3))
		return "4889f8 4889f7 4889c6"; /* size and alignment change places */
	if (!strcmp(symbol, "posix_memalign"))
		return "4889f7 4889d6";
	if (strstr(symbol, "valloc"))
		return "4889fe bf00100000";
	return "";
}

/* An entry that allocates: calls; one that frees or may fail: jumps. */
static size_t assemble(uint8_t *at, const char *symbol, const struct version *v, unsigned slot,
		       const void *head)
{
	static const char *const zero[] = { "31ff", "31f6", "31d2", "31c9", "4531c0", "4531c9" };
	unsigned shape = shape_of(symbol), wide = shape >= CALLOC && shape <= REALLOC ? 2 : 1;
	bool calls = shape == MALLOC || shape == CALLOC || shape == ALIGN || shape == REALLOC,
	     r12 = shape == ALIGN;
	bool allocates = shape <= REALLOC;
	size_t n = put(at, calls ? "55 4889e5 4157 4156 53 50 4889f3 4989fe" : "55 4889e5");

	if (shape == SIZED || shape == ALIGNED || shape == BOTH)
		wide = slot == v->slot[FREE] ? 1 : shape == BOTH ? 3 : 2;
	if (calls)
		n += put_load(at + n, r12 ? "4c8b25" : "4c8b3d", head);
	n += put(at + n, order_of(symbol));
	if (v->self)
		n += put(at + n, wide == 1 ? "4889fe" : "4889f2 4889fe");
	if (calls && v->self)
		n += put(at + n, r12 ? "4c89e7" : "4c89ff");
	if (!calls) {
		n += put_load(at + n, v->self ? "488b3d" : "488b05", head);
		n += put(at + n, v->self ? "488b47" : "488b40"), at[n++] = (uint8_t)(slot * 8);
	}
	for (unsigned i = 0; i < 1u + (v->token && allocates); i++)
		n += put(at + n, zero[v->self + wide + i]);
	if (!calls)
		return n + put(at + n, "5d ffe0");
	if (r12) /* call *d8(%r12): needs a SIB byte */
		n += put(at + n, "41ff5424"), at[n++] = (uint8_t)(slot * 8);
	else if (slot == 0)
		n += put(at + n, "41ff17");
	else
		n += put(at + n, "41ff57"), at[n++] = (uint8_t)(slot * 8);
	return n + put(at + n, "4885c0 7501 90 4883c408 5b 415e 415f 5d c3");
}

static void build(const struct version *v)
{
	const char *empty = v->empty;
	char *end;

	memset(w.text, 0xcc, TEXT_BYTES);
	memset(w.data, 0, DATA_BYTES);
	w.version = v;
	w.slots = v->slots;
	w.data[0] = (uintptr_t)&w.data[16];
	w.data[8] = (uintptr_t)&w.data[16];
	for (unsigned i = 0; i + 1 < v->slots; i++)
		w.data[16 + i] = (uintptr_t)w.text + 4096 + i; /* only ever looked at */
	for (unsigned long slot; slot = strtoul(empty, &end, 10), end != empty; empty = end)
		w.data[16 + slot] = 0;
	w.data[16 + v->slots] = 7; /* what lies behind is nothing of the table's */
	for (w.count = 0; w.count < si_entry_count; w.count++) {
		struct si_entry *e = &w.entries[w.count];

		e->symbol = si_entry_rows[w.count].symbol;
		e->at = (uintptr_t)w.text + (size_t)w.count * ENTRY_BYTES;
		e->size = assemble((uint8_t *)e->at, e->symbol, v, v->slot[shape_of(e->symbol)],
				   &w.data[0]);
	}
	w.image = (struct si_image){ .segments = 2 };
	w.image.segment[0] = (struct si_segment){ (uintptr_t)w.text, (uintptr_t)w.text + TEXT_BYTES,
						  true, false };
	w.image.segment[1] = (struct si_segment){ (uintptr_t)w.data, (uintptr_t)w.data + DATA_BYTES,
						  false, true };
}

static struct si_entry *entry(const char *symbol)
{
	for (unsigned i = 0; i < w.count; i++)
		if (!strcmp(w.entries[i].symbol, symbol))
			return &w.entries[i];
	return NULL;
}

static bool attach(void)
{
	memset(w.text_out, 0, sizeof(w.text_out));
	return si_partition_hook(&w.image, w.entries, false, w.text_out, sizeof(w.text_out));
}

static void accepts(const char *name, const struct version *v)
{
	uintptr_t *ours;

	build(v);
	check(name, attach(), w.text_out);
	ours = (uintptr_t *)w.data[0];
	check(name, ours != &w.data[16] && ours[v->slots - 1] == (uintptr_t)&w.data[16],
	      "the old head is not our next");
	check(name,
	      ours[v->slot[MALLOC]] != w.data[16] &&
		      ours[v->slot[FREE]] != w.data[16 + v->slot[FREE]] &&
		      ours[v->slot[USABLE]] == w.data[16 + v->slot[USABLE]],
	      "the wrong slots are ours");
}

/* After something was spoilt: refused, `words` named, nothing changed. */
static void refuses(const char *name, const char *words)
{
	bool hooked = attach();

	check(name, !hooked && w.data[0] == (uintptr_t)&w.data[16] && strstr(w.text_out, words),
	      hooked ? "it was hooked" : w.text_out);
}

static void hostile(const struct version *v)
{
	struct si_entry *e;
	uint8_t *code;
	bool whole = false;

	build(v);
	e = entry("free");
	e->size = assemble((uint8_t *)e->at, e->symbol, v, v->slot[FREE], &w.data[8]);
	refuses("another head", "free");

	build(v);
	e = entry("_ZdlPvm");
	e->size = assemble((uint8_t *)e->at, e->symbol, v, 3, &w.data[0]);
	refuses("a slot of no layout", "0x18");

	build(v);
	e = entry("realloc");
	e->size = assemble((uint8_t *)e->at, e->symbol, v, 100 / 8, &w.data[0]);
	refuses("realloc in a free's slot", "realloc");

	build(v);
	((uint8_t *)entry("calloc")->at)[8] = 0xf4; /* hlt */
	refuses("an unknown instruction", "calloc");

	build(v);
	for (size_t size = 0; size < 26; size++) { /* the bytes up to and with the call */
		entry("malloc")->size = size;
		whole |= attach();
	}
	check("truncated", !whole && w.data[0] == (uintptr_t)&w.data[16], "it was hooked");

	build(v);
	((uint8_t *)entry("free")->at)[0] = 0x90;
	refuses("no frame", "push %rbp");

	build(v);
	code = (uint8_t *)entry("free")->at;
	code[entry("free")->size - 3] = 0x90; /* instead of pop %rbp */
	refuses("a tail jump with its frame still there", "frame");

	build(v);
	code = (uint8_t *)entry("free")->at;
	put(code + 4, "eb00 9090 9090 90"); /* jmp: not on the recipe */
	refuses("a direct jump", "not in the recipe");

	build(v);
	code = (uint8_t *)entry("free")->at;
	put(code + 11, "4889f8 90"); /* mov %rdi,%rax: the target is the caller's */
	refuses("a target from an argument", "slot");

	build(v);
	put((uint8_t *)entry("malloc")->at + 11, "75f0"); /* backwards */
	refuses("a branch backwards", "branch");

	build(v);
	entry("malloc")->at = 0;
	refuses("no malloc", "malloc");

	build(v);
	entry("malloc")->at = (uintptr_t)w.data;
	refuses("an entry in data", "outside its code");

	build(v);
	w.image.segment[1].writable = false;
	refuses("a read-only head", "writable");

	build(v);
	w.data[16 + v->slot[USABLE]] = 0;
	refuses("a slot without a function", "no function in slot");

	build(v);
	w.data[16 + v->slots - 1] = (uintptr_t)w.text;
	refuses("a table that is longer", "no next table");

	build(v);
	w.data[0] = (uintptr_t)w.data + DATA_BYTES - 8;
	check("a table beyond the data",
	      !attach() && w.data[0] == (uintptr_t)w.data + DATA_BYTES - 8, w.text_out);
}

/* An allocator below that has none of what could tell 14, 16 and 17 slots apart, and zeros behind
 * the table. */
static void ambiguous(void)
{
	build(v92);
	for (unsigned i = 7; i <= 24; i++)
		w.data[16 + i] = 0;
	refuses("a table of two versions",
		"could be that of Chromium 86 to 107 and that of Chromium 109 to 117");
	/* not code: the next thing in memory is no function of a table with more slots */
	w.data[16 + 14] = 1;
	check("the same before something else", attach(), w.text_out);
}

/* No input may make the decoder read outside, or loop: every byte of an entry, spoilt in every
 * way. */
static void noise(const struct version *v)
{
	struct si_recipe recipe;
	struct si_decode_error error;
	unsigned accepted = 0;

	build(v);
	for (unsigned i = 0; i < w.count; i++) {
		uint8_t copy[ENTRY_BYTES];
		size_t size = w.entries[i].size;

		memcpy(copy, (void *)w.entries[i].at, size);
		for (size_t at = 0; at < size; at++)
			for (unsigned value = 0; value < 256; value++) {
				uint8_t before = copy[at];

				copy[at] = (uint8_t)value;
				accepted += si_decode_dispatch(copy, size, w.entries[i].at, &recipe,
							       &error);
				copy[at] = before;
			}
	}
	check("noise", accepted > w.count, "nothing was decoded at all");
}

/* ---- other tables in front of ours, and the program running ---- */

/* Where things lie in the text behind the entries, and in the data behind the table. */
enum {
	ALLOCATOR = 6144,
	PROGRAM = 6400,
	SAMPLER = 6656,
	SAMPLER_2 = 7424,
	FRONT = 128,
	FRONT_2 = 192,
	FUNCTION = 64
};
static char block[64];

/* mov $target,%rax */
static size_t put_address(uint8_t *at, const void *target)
{
	memcpy(at + put(at, "48b8"), &target, 8);
	return 10;
}

/* A function of the allocator's own table: returns a block. */
static void bottom(unsigned slot)
{
	uint8_t *at = w.text + ALLOCATOR;

	put(at + put_address(at, block), "c3");
	w.data[16 + slot] = (uintptr_t)at;
}

/* The program: calls an entry. `calls_slot` >= 0: goes through the head itself, as code inside the
 * executable does. */
static uintptr_t program(const char *symbol, int calls_slot)
{
	uint8_t *at = w.text + PROGRAM;
	size_t n = put(at, "55 4889e5");
	uintptr_t site;

	if (calls_slot < 0) {
		n += put_address(at + n, (const void *)entry(symbol)->at);
		n += put(at + n, "ffd0");
	} else {
		n += put_load(at + n, "488b05", &w.data[0]);
		n += put(at + n, "ff50");
		at[n++] = (uint8_t)(calls_slot * 8);
	}
	site = (uintptr_t)at + n;
	put(at + n, "5d c3");
	return site;
}

enum style { CALLS, JUMPS, FRAMELESS };

/* A sampler's function for `slot`: goes on into the next of the table at data[table]. */
static void sampler(unsigned place, unsigned table, unsigned slot, enum style style)
{
	uint8_t *at = w.text + place;
	size_t n = put(at, style == FRAMELESS ? "55 90 90 90 53 50" : "55 4889e5 53 50");

	n += put_load(at + n, "488b05", &w.data[table + w.slots - 1]);
	n += put(at + n, style == JUMPS ? "488b40" : "ff50");
	at[n++] = (uint8_t)(slot * 8);
	n += put(at + n, "4883c408 5b 5d");
	put(at + n, style == JUMPS ? "ffe0" : "c3");
	w.data[table + slot] = (uintptr_t)at;
}

/* Puts the table at data[table] in front; its other slots as those of the head. */
static void put_table(unsigned table)
{
	memcpy(&w.data[table], (const void *)w.data[0], (w.slots - 1) * sizeof(uintptr_t));
	w.data[table + w.slots - 1] = w.data[0];
}

static void run(void)
{
	memset(&seen, 0, sizeof(seen));
	((void (*)(void *, size_t))(w.text + PROGRAM))(block, 24);
}

/* The program runs; the event's call site and api must be these. */
static void sees(const char *name, uintptr_t site, unsigned api)
{
	char why[128];

	run();
	snprintf(why, sizeof(why), "site %#lx, api %u; the program's call is %#lx, api %u",
		 (unsigned long)seen.site, seen.api, (unsigned long)site, api);
	check(name, seen.allocs + seen.frees == 1 && seen.site == site && seen.api == api, why);
}

static void attach_to(const struct version *v, unsigned slot)
{
	build(v);
	bottom(slot);
	check("attached", attach(), w.text_out);
}

static void front(const struct version *v)
{
	unsigned malloc_slot = v->slot[MALLOC], free_slot = v->slot[FREE],
		 size_slot = v->slot[SIZED];
	uintptr_t ours;

	attach_to(v, malloc_slot);
	sees("no table in front: malloc", program("malloc", -1), SHINY_API_MALLOC);
	put_table(FRONT);
	sampler(SAMPLER, FRONT, malloc_slot, CALLS);
	ours = w.data[0];
	w.data[0] = (uintptr_t)&w.data[FRONT];
	sees("sampler: malloc", program("malloc", -1), SHINY_API_MALLOC);
	sees("sampler: new", program("_Znwm", -1), SHINY_API_NEW);
	sees("sampler: the executable's own call", program(NULL, (int)malloc_slot),
	     SHINY_API_EITHER_ALLOC);
	put_table(FRONT_2);
	sampler(SAMPLER_2, FRONT_2, malloc_slot, CALLS);
	w.data[0] = (uintptr_t)&w.data[FRONT_2];
	sees("two samplers: malloc", program("malloc", -1), SHINY_API_MALLOC);
	sampler(SAMPLER, FRONT, malloc_slot, JUMPS);
	sees("two samplers, one jumps", program("malloc", -1), SHINY_API_MALLOC);
	w.data[0] = ours;
	sees("sampler gone", program("malloc", -1), SHINY_API_MALLOC);

	for (unsigned style = CALLS; style <= JUMPS; style++) {
		attach_to(v, free_slot);
		put_table(FRONT);
		sampler(SAMPLER, FRONT, free_slot, (enum style)style);
		w.data[0] = (uintptr_t)&w.data[FRONT];
		sees(style == CALLS ? "sampler that calls: free" : "sampler that jumps: free",
		     program("free", -1), SHINY_API_EITHER_FREE);
	}
	attach_to(v, size_slot);
	put_table(FRONT);
	sampler(SAMPLER, FRONT, size_slot, CALLS);
	w.data[0] = (uintptr_t)&w.data[FRONT];
	sees("sampler that calls: sized delete", program("_ZdlPvm", -1), SHINY_API_EITHER_FREE);

	attach_to(v, malloc_slot);
	put_table(FRONT);
	sampler(SAMPLER, FRONT, free_slot, CALLS);
	w.data[0] = (uintptr_t)&w.data[FRONT];
	sees("a table with others' slots", program("malloc", -1), SHINY_API_MALLOC);
}

/* Tables in front that are not what they should be: nothing is followed outside, nothing runs for
 * ever, the program goes on. */
static void bad_front(const struct version *v)
{
	unsigned slot = v->slot[MALLOC];
	uintptr_t outside[64], ours;

	attach_to(v, slot);
	put_table(FRONT);
	sampler(SAMPLER, FRONT, slot, FRAMELESS);
	w.data[0] = (uintptr_t)&w.data[FRONT];
	program("malloc", -1);
	run();
	check("function without a frame",
	      seen.allocs == 1 && seen.site - (uintptr_t)w.text - SAMPLER < FUNCTION,
	      "its frame was stepped over");

	attach_to(v, slot);
	put_table(FRONT);
	sampler(SAMPLER, FRONT, slot, CALLS);
	memcpy(outside, &w.data[FRONT], sizeof(outside));
	w.data[0] = (uintptr_t)outside;
	program("malloc", -1);
	run();
	check("table outside the executable", seen.allocs == 1, "no event");

	attach_to(v, slot);
	ours = w.data[0];
	memcpy(&w.data[FRONT_2], (const void *)ours, (v->slots - 1) * sizeof(uintptr_t));
	w.data[FRONT_2 + v->slots - 1] = (uintptr_t)&w.data[FRONT_2]; /* for ever */
	w.data[0] = (uintptr_t)&w.data[FRONT_2];
	sees("table that is its own next", program("malloc", -1), SHINY_API_MALLOC);

	for (unsigned n = 0; n < 40; n++) {
		w.data[0] = ours;
		put_table(FRONT + n % 2 * (FRONT_2 - FRONT));
		sampler(SAMPLER, FRONT + n % 2 * (FRONT_2 - FRONT), slot, CALLS);
		w.data[0] = (uintptr_t)&w.data[FRONT + n % 2 * (FRONT_2 - FRONT)];
		run();
	}
	check("a head that changes all the time", seen.allocs == 1, "no event");
}

int main(void)
{
	uint8_t *room = mmap(NULL, TEXT_BYTES + DATA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		return 77;
	w.text = room;
	w.data = (uintptr_t *)(room + TEXT_BYTES);
	for (unsigned i = 0; i < VERSIONS; i++)
		accepts(versions[i].name, &versions[i]);
	hostile(v156);
	hostile(v150);
	ambiguous();
	noise(v156);
	noise(v92);
	for (unsigned i = 0; i < VERSIONS; i++)
		front(&versions[i]);
	bad_front(v156);
	bad_front(v92);
	return failures != 0;
}
