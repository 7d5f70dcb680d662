/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observer_variables.c: see observer_variables.h.
 *
 * PartitionAlloc calls its hooks by four small functions, which the public source has in this
 * order: AllocationObserverHookIfEnabled, AllocationOverrideHookIfEnabled,
 * FreeObserverHookIfEnabled, FreeOverrideHookIfEnabled (base/allocator/partition_allocator/
 * partition_alloc_hooks.cc, Chromium 74 to 102). Each jumps to where a variable points, if it
 * points anywhere; the second and the fourth return false else. The variables lie side by side, and
 * with them hooks_enabled_: the one byte there that SetObserverHooks writes, or, where that is
 * missing, that code reads before it comes to a hook.
 *
 * SetObserverHooks stands before them, or is missing: QtWebEngine 5.15 has PartitionAlloc twice,
 * and the linker has left out PDFium's, as nothing calls it. What it writes to the two observers,
 * nothing else may write, as in observer_patch.c: else the file is left alone, as its own hooks
 * could meet ours.
 *
 * The code is searched byte by byte, once, and three times for each PartitionAlloc: 103 MiB take
 * 0.9 s, once for each build. Seen with code of gcc only.
 */
#define _GNU_SOURCE
#include "observer_variables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"
#include "../flow/flow_code.h"

enum { HOOKS = 4, NEAR = 256, BEFORE = 512, BESIDE = 16, REACH = 2 * BESIDE + 64, SOON = 1024 };

struct hook_call { /* one of the small functions */
	uint64_t vaddr, variable;
	bool gives_false;
};
typedef VEC(struct hook_call) hook_calls_t;

struct hook_group {
	uint64_t first, end; /* of its variables, and BESIDE bytes around them */
	uint64_t function, hooks[HOOKS];
	uint64_t writes, writes_end; /* of the code that may write to an observer; 0: none does */
	uint64_t set;        /* the function that does; 0: none */
	uint64_t set_byte;   /* the byte that it writes; 0: none; UINT64_MAX: several */
	struct {
		uint64_t read; /* where, outside of these functions; 0: nowhere */
		bool is_written, leads_to_hook;
	} bytes[REACH]; /* by their place from `first` on */
};

typedef void code_fn(void *context, const struct binary *file, const uint8_t *code, uint64_t vaddr,
		     uint64_t bytes);

static void each_code(const struct binary *file, code_fn *look, void *context)
{
	for (size_t s = 0; s < file->segment_count; s++) {
		const Elf64_Phdr *p = &file->segments[s];
		const uint8_t *code = p->p_type == PT_LOAD && p->p_flags & PF_X
					      ? binary_at(file, p->p_vaddr, p->p_filesz)
					      : NULL;

		if (code)
			look(context, file, code, p->p_vaddr, p->p_filesz);
	}
}

/* Returns the address that the four bytes at `code` name by its distance from what follows them. */
static uint64_t named_at(const uint8_t *code, uint64_t vaddr)
{
	int32_t distance;

	memcpy(&distance, code, sizeof(distance));
	return vaddr + 4 + (uint64_t)(int64_t)distance;
}

/* Collects code that is: mov variable,%rax; test %rax,%rax; je 1f; jmp *%rax; 1: [xor %eax,%eax;]
 * ret. */
static void find_calls(void *context, const struct binary *file, const uint8_t *code,
		       uint64_t vaddr, uint64_t bytes)
{
	enum { AT = 3, TEST = 7, SKIP = 11, JUMP = 12, MOST = 32 };
	hook_calls_t *calls = context;
	const uint8_t *at = code;

	while ((at = memmem(at, bytes - (size_t)(at - code), "\x48\x8b\x05", 3)) &&
	       at + MOST < code + bytes) {
		const uint8_t *end = at + JUMP + at[SKIP];
		struct hook_call call = { .vaddr = vaddr + (uint64_t)(at - code) };

		if (!memcmp(at + TEST, "\x48\x85\xc0\x74", 4) &&
		    !memcmp(at + JUMP, "\xff\xe0", 2) && at[SKIP] < MOST - JUMP - 3) {
			call.variable = named_at(at + AT, call.vaddr + AT);
			call.gives_false = !memcmp(end, "\x31\xc0\xc3", 3);
			if ((call.gives_false || *end == 0xc3) && call.variable % 8 == 0 &&
			    binary_flags(file, call.variable) & PF_W)
				*vec_push(calls) = call;
		}
		at++;
	}
}

/* True if the four functions from `calls` on are PartitionAllocHooks's. */
static bool is_group(const struct hook_call *calls, struct hook_group *out)
{
	*out = (struct hook_group){ .first = UINT64_MAX, .function = calls[0].vaddr };
	for (unsigned i = 0; i < HOOKS; i++) {
		uint64_t variable = out->hooks[i] = calls[i].variable;

		for (unsigned k = 0; k < i; k++)
			if (out->hooks[k] == variable)
				return false;
		if (calls[i].gives_false != i % 2 || calls[i].vaddr - calls[0].vaddr > NEAR)
			return false;
		out->first = variable < out->first ? variable : out->first;
		out->end = variable + 8 > out->end ? variable + 8 : out->end;
	}
	out->first -= BESIDE;
	out->end += BESIDE;
	return out->end - out->first <= REACH;
}

/* Finds what may write to an observer. */
static void find_writes(void *context, const struct binary *file, const uint8_t *code,
			uint64_t vaddr, uint64_t bytes)
{
	enum { MOV = 0x89, XCHG = 0x87, LEA = 0x8d, MOV_CONSTANT = 0xc7 };
	struct hook_group *g = context;

	(void)file;
	for (uint64_t i = 2; i + 8 <= bytes; i++) {
		uint8_t op = code[i - 2];
		uint64_t named = named_at(code + i, vaddr + i) + (op == MOV_CONSTANT ? 4 : 0);

		if ((named != g->hooks[0] && named != g->hooks[2]) || (code[i - 1] & 0xc7) != 5 ||
		    (op != MOV && op != XCHG && op != LEA && op != MOV_CONSTANT))
			continue;
		if (!g->writes)
			g->writes = vaddr + i;
		g->writes_end = vaddr + i;
	}
}

/* Finds the last function before these writes that code calls. */
static void find_set(void *context, const struct binary *file, const uint8_t *code, uint64_t vaddr,
		     uint64_t bytes)
{
	struct hook_group *g = context;

	(void)file;
	for (uint64_t i = 1; i + 4 <= bytes; i++) {
		uint64_t named = named_at(code + i, vaddr + i);

		if (code[i - 1] == 0xe8 && g->writes - named < BEFORE && named > g->set)
			g->set = named;
	}
}

/* True if the code from `set` on comes to the first write without an end of a function. */
static bool leads_to_write(const struct binary *file, const struct hook_group *g)
{
	struct flow_code code = { .file = file };
	struct flow_stream stream;
	ZydisDecodedInstruction instruction;

	if (!g->set || !flow_stream_open(&stream, &code, g->set))
		return false;
	while (stream.vaddr <= g->writes) {
		if (!flow_stream_next(&stream, &instruction) ||
		    instruction.meta.category == ZYDIS_CATEGORY_RET ||
		    instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    instruction.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
		    instruction.mnemonic == ZYDIS_MNEMONIC_UD2)
			return false;
	}
	return true;
}

/* Finds the function that sets the observers, if there is one. False: something else may, too. */
static bool see_set(const struct binary *file, struct hook_group *g)
{
	each_code(file, find_writes, g);
	if (!g->writes)
		return true;
	each_code(file, find_set, g);
	return leads_to_write(file, g) && g->writes_end < g->function &&
	       g->function - g->set < BEFORE && g->function - g->set >= SHINY_OBSERVERS_CODE;
}

/* Notes that code at `at` comes to a hook: the bytes that it read shortly before lead there. */
static void note_hook(struct hook_group *g, uint64_t at)
{
	for (unsigned i = 0; i < REACH; i++)
		g->bytes[i].leads_to_hook |=
			g->bytes[i].read && at - g->bytes[i].read < SOON;
}

/* Notes what the instruction whose distance stands at `code` does to the variables. */
static void note_use(struct hook_group *g, const uint8_t *code, uint64_t vaddr, uint64_t named)
{
	enum { LOAD = 0x8b, MOV_BYTE = 0x88, XCHG_BYTE = 0x86, MOV_BYTE_CONSTANT = 0xc6,
	       COMPARE_BYTE = 0x80 };
	uint8_t op = code[-2];
	uint64_t at = named + (op == MOV_BYTE_CONSTANT || op == COMPARE_BYTE) - g->first;
	bool own = vaddr - g->function < NEAR;
	bool set = g->set && vaddr - g->set < g->function - g->set;
	bool writes = op == MOV_BYTE || op == XCHG_BYTE || op == MOV_BYTE_CONSTANT;

	if ((code[-1] & 0xc7) != 5 || at >= g->end - g->first || own)
		return;
	if (set && writes)
		g->set_byte = !g->set_byte || g->set_byte == g->first + at ? g->first + at
									    : UINT64_MAX;
	if (set)
		return;
	if ((op == 0xb6 && code[-3] == 0x0f) || (op == COMPARE_BYTE && code[-1] == 0x3d))
		g->bytes[at].read = vaddr;
	g->bytes[at].is_written |= writes;
	for (unsigned i = 0; i < HOOKS && op == LOAD; i++)
		if (g->first + at == g->hooks[i])
			note_hook(g, vaddr);
}

static void find_uses(void *context, const struct binary *file, const uint8_t *code, uint64_t vaddr,
		      uint64_t bytes)
{
	struct hook_group *g = context;

	(void)file;
	for (uint64_t i = 3; i + 8 <= bytes; i++) {
		uint64_t named = named_at(code + i, vaddr + i);

		if (named + 1 - g->first < g->end - g->first + 1)
			note_use(g, code + i, vaddr + i, named);
		else if (code[i - 1] == 0xe8 && named - g->function < NEAR)
			note_hook(g, vaddr + i);
	}
}

/* Returns the address of hooks_enabled_; 0: it is not found, or may be several bytes, or something
 * else writes to it. */
static uint64_t enabled_of(const struct hook_group *g)
{
	uint64_t found = g->set ? g->set_byte : 0;

	for (unsigned at = 0; !g->set && at < g->end - g->first; at++) {
		if (!g->bytes[at].leads_to_hook)
			continue;
		if (found)
			return 0;
		found = g->first + at;
	}
	for (unsigned i = 0; i < HOOKS; i++)
		if (found - g->hooks[i] < 8)
			return 0;
	return found - g->first < g->end - g->first && !g->bytes[found - g->first].is_written
		       ? found
		       : 0;
}

/* Fills in what is stored where. False: not all of it is found, or it may not be used. */
static bool see_group(const struct binary *file, struct hook_group *g,
		      struct shiny_observers_stored *out)
{
	const void *code = binary_at(file, g->function, SHINY_OBSERVERS_CODE), *set;
	uint64_t enabled;

	if (!code || !see_set(file, g))
		return false;
	each_code(file, find_uses, g);
	enabled = enabled_of(g);
	set = g->set ? binary_at(file, g->set, SHINY_OBSERVERS_CODE) : code;
	if (!enabled || !set)
		return false;
	*out = (struct shiny_observers_stored){ .function = g->function,
						.allocated = g->hooks[0],
						.freed = g->hooks[2],
						.enabled = enabled,
						.set = g->set };
	memcpy(out->code, code, SHINY_OBSERVERS_CODE);
	memcpy(out->set_code, set, SHINY_OBSERVERS_CODE);
	return true;
}

unsigned observer_variables(const struct binary *file, struct shiny_observers_file *out)
{
	hook_calls_t calls = { 0 };
	struct hook_group g;
	unsigned count = 0;

	each_code(file, find_calls, &calls);
	for (size_t i = 0; i + HOOKS <= calls.count && count < SHINY_OBSERVERS_STORES; i++)
		if (is_group(&calls.at[i], &g))
			count += see_group(file, &g, &out->stored[count]);
	free(calls.at);
	return count;
}
