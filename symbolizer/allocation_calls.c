/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation_calls.c: the calls of allocation functions in a file, found without running it
 * (sym_allocation_calls).
 *
 * There are two encodings of them: E8 with a distance, to a function or a PLT stub, and FF 15 with
 * a distance to a slot that the loader fills (-fno-plt). Any byte of the text may be the start of
 * one, and decoding a hundred megabytes from the first byte on to know for sure would take seconds
 * and still go astray behind data in the text. So every E8 and FF 15 is looked at, and only one
 * whose target is an allocation function counts: five random bytes that mean one of a dozen
 * addresses are not found in practice, and would only cost an answer that nobody asks for. What a
 * target is, is asked once and remembered, since a file has far fewer functions than calls.
 *
 * Wrappers (functions that only jump on to an allocation function) count as one. Callers of
 * functions that allocate and return the block are found when a program runs: their stacks say so.
 */
#include <stdlib.h>
#include <string.h>

#include "flow/flow_calls.h"
#include "flow/flow_code.h"
#include "module.h"

enum callee_answer { UNKNOWN, NO, YES };

/* Invariant: room is 0 or a power of two, and at least twice count. */
struct targets {
	struct target {
		uint64_t vaddr;
		uint8_t answer; /* UNKNOWN: a free slot */
	} *at;
	size_t count, room;
};

static struct target *slot_of(const struct targets *targets, uint64_t vaddr)
{
	size_t at = (size_t)((vaddr * 0x9e3779b97f4a7c15ull) >> 24);

	for (;; at++) {
		struct target *target = &targets->at[at & (targets->room - 1)];

		if (target->answer == UNKNOWN || target->vaddr == vaddr)
			return target;
	}
}

static bool grow(struct targets *targets)
{
	struct targets larger = { .count = targets->count,
				  .room = targets->room ? targets->room * 2 : 1024 };

	larger.at = calloc(larger.room, sizeof(*larger.at));
	if (!larger.at)
		return false;
	for (size_t i = 0; i < targets->room; i++)
		if (targets->at[i].answer != UNKNOWN)
			*slot_of(&larger, targets->at[i].vaddr) = targets->at[i];
	free(targets->at);
	*targets = larger;
	return true;
}

static enum callee_answer is_allocation(const struct flow_code *code, uint64_t vaddr, bool slot)
{
	struct flow_callee callee =
				   slot ? flow_callee_in(code, vaddr) : flow_callee_at(code, vaddr),
			   further;

	if (flow_is_allocation(callee.symbol))
		return YES;
	return callee.vaddr && flow_jumps_to(code, callee.vaddr, &further) &&
			       flow_is_allocation(further.symbol)
		       ? YES
		       : NO;
}

static bool allocates(const struct flow_code *code, struct targets *targets, uint64_t vaddr,
		      bool slot)
{
	struct target *target;

	if (targets->count * 2 >= targets->room && !grow(targets))
		return false;
	target = slot_of(targets, vaddr);
	if (target->answer == UNKNOWN) {
		target->vaddr = vaddr;
		target->answer = is_allocation(code, vaddr, slot);
		targets->count++;
	}
	return target->answer == YES;
}

static int32_t distance_at(const uint8_t *bytes)
{
	int32_t distance;

	memcpy(&distance, bytes, sizeof(distance));
	return distance;
}

void sym_allocation_calls(struct sym_module *module, sym_call_fn *each, void *context)
{
	struct flow_code code = { &module->file, &module->relocs, NULL };
	struct targets targets = { 0 };

	if (module->info.state != SYM_OK)
		return;
	code.symbols = module_symbols(module);
	for (size_t s = 0; s < module->file.segment_count; s++) {
		const Elf64_Phdr *segment = &module->file.segments[s];
		const uint8_t *bytes =
			binary_at(&module->file, segment->p_vaddr, segment->p_filesz);
		uint64_t start = segment->p_vaddr, end = start + segment->p_filesz;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || !bytes)
			continue;
		for (uint64_t i = 0; i + 6 <= segment->p_filesz; i++) {
			bool slot = bytes[i] == 0xff && bytes[i + 1] == 0x15;
			uint64_t ret = start + i + (slot ? 6 : 5), target;

			if (!slot && bytes[i] != 0xe8)
				continue;
			target = ret + (uint64_t)(int64_t)distance_at(bytes + i + (slot ? 2 : 1));
			/* a call into another segment of code would be a rarity, and a slot lies in
			 * data */
			if (slot ? target >= start && target < end
				 : target < start || target >= end)
				continue;
			if (allocates(&code, &targets, target, slot))
				each(context, ret);
		}
	}
	free(targets.at);
}
