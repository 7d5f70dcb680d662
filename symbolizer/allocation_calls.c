/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation_calls.c: finds the calls of allocation functions in a file without running it
 * (sym_allocation_calls), and the function that a call calls (sym_call_target).
 *
 * Such a call has two encodings: E8 with a distance to a function or a PLT stub, and FF 15 with a
 * distance to a slot that the loader fills (-fno-plt). Any byte of the text may start one. Decoding
 * a hundred megabytes from the first byte on takes seconds, and goes wrong after data in the text.
 * So this examines every E8 and FF 15, and reports those whose target is an allocation function.
 * Five random bytes hardly ever encode one of a dozen addresses, and such a find costs only an
 * answer that is never used. The answer for a target is cached: a file has far fewer functions than
 * calls.
 *
 * Wrappers that only jump on to an allocation function count as one. Callers of functions that
 * allocate and return the block are found at run time, from their stacks.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/base/hash.h"
#include "../src/base/hash_table.h"
#include "../src/base/mem.h"
#include "flow/flow_calls.h"
#include "flow/flow_code.h"
#include "module.h"

/* A target of calls, with the cached answer. */
struct call_target {
	uint64_t vaddr;
	bool allocates;
};
struct call_targets {
	VEC(struct call_target) all;
	struct hash_table table; /* by vaddr */
};

static bool is_allocation(const struct flow_code *code, uint64_t vaddr, bool slot)
{
	struct flow_callee callee =
				   slot ? flow_callee_in(code, vaddr) : flow_callee_at(code, vaddr),
			   further;

	return flow_is_allocation(callee.symbol) ||
	       (callee.vaddr && flow_jumps_to(code, callee.vaddr, &further) &&
		flow_is_allocation(further.symbol));
}

static bool allocates(const struct flow_code *code, struct call_targets *targets, uint64_t vaddr,
		      bool slot)
{
	uint64_t hash = hash_key(vaddr);
	uint32_t at = hash_table_find(&targets->table, hash, i, targets->all.at[i].vaddr == vaddr);
	bool answer;

	if (at != HASH_NONE)
		return targets->all.at[at].allocates;
	answer = is_allocation(code, vaddr, slot);
	hash_table_add(&targets->table, hash, (uint32_t)targets->all.count);
	*vec_push(&targets->all) = (struct call_target){ vaddr, answer };
	return answer;
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
	struct call_targets targets = { 0 };

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
			/* node's PLT is a segment of its own; a slot lies in data */
			if (slot ? target >= start && target < end
				 : (target < start || target >= end) &&
					   !(binary_flags(&module->file, target) & PF_X))
				continue;
			if (allocates(&code, &targets, target, slot))
				each(context, ret);
		}
	}
	free(targets.all.at);
	hash_table_deinit(&targets.table);
}

const char *sym_call_target(const struct sym_call *call)
{
	struct sym_module *module = call->module;
	struct flow_callee callee;
	uint64_t vaddr;

	if (!module || module->info.state != SYM_OK)
		return NULL;

	struct flow_code code = { &module->file, &module->relocs, module_symbols(module) };

	return flow_may_call_named(&code, call->vaddr) &&
			       flow_call_before(&code, 0, call->vaddr, &vaddr, &callee)
		       ? names_demangled(&module->sym->names, callee.symbol)
		       : NULL;
}
