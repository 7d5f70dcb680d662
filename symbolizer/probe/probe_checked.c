/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_checked.c: see probe_checked.h.
 *
 * Classes that are declared with ADVANCED_MEMORY_SAFETY_CHECKS() (base/memory/safety_checks.h) have
 * operators of their own, which call HandleMemorySafetyCheckedOperatorNew and …Delete. Those
 * allocate from malloc's partition, bypassing the dispatch chain and PartitionAlloc's hooks. In the
 * public source they are few but large: views, frames, profiles. In the browser process of Chromium
 * 156 with a page open they had 818 live blocks, and 821 KB, 5 % of malloc's bytes
 * (test/e2e/memory_infra_test fails without them). The two functions look like this in the files of
 * versions 150 and 156:
 *
 *   new:     push %rbp; mov %rsp,%rbp; push %rbx; push %rax
 *            mov %rdi,%rbx
 *            xor %edi,%edi; call root
 *            mov %rax,%rdi; mov %rbx,%rsi; xor %edx,%edx
 *            …; jmp PartitionRoot::Alloc
 *   delete:  the same up to mov %rbx,%rsi; …; jmp PartitionRoot::Free
 *
 * They are found without symbols of their own. The first table of the dispatch chain
 * (probe_partition.c) is in the file, and is PartitionAlloc's own; its function for unchecked
 * allocation, itself or through a second table, loads the variable with malloc's root and jumps to
 * the same PartitionRoot::Alloc. Near it is the one function that returns that variable. Few
 * functions of the file call that one (9 in 156). One of these passes the result and its own first
 * argument to that Alloc, and one passes them to another function. Anything else than exactly one
 * of each is refused.
 */
#include "probe_checked.h"

#include <inttypes.h>
#include <string.h>

#include "../flow/patch_recipe.h"
#include "probe_eval.h"
#include "probe_sweep.h"

enum {
	/* index in the table, in all known layouts (interpose/chromium/partition_alloc.c) */
	UNCHECKED_SLOT = 1,
	TABLES = 3,            /* most tables to follow */
	NEAR = 1 << 15,        /* bytes around the allocating function that are searched for the
	                        * root's function */
	ALIGNMENT = 16,        /* of functions */
	STEPS = 24,
	CALLS = 64,            /* most callers of the root's function */
	BEFORE = 32,           /* most bytes from a function's start to such a call */
};
enum { RAX = 0 };

struct checked {
	uint64_t allocate, release;             /* block = allocate(size); release(block) */
	uint32_t allocate_calls, release_calls; /* direct calls and jumps to them in the whole
	                                         * file */
};

struct checked_callers {
	uint64_t calls[SWEEP_WORKERS][CALLS];
	unsigned count[SWEEP_WORKERS];
};

struct checked_counts {
	uint64_t allocate;
	uint32_t allocates[SWEEP_WORKERS], releases[SWEEP_WORKERS];
};

static bool is_padding(const struct binary *file, uint64_t vaddr)
{
	const uint8_t *byte = binary_at(file, vaddr, 1);

	return byte && (*byte == 0xcc || *byte == 0xc3 || *byte == 0x90);
}

static bool is_address(const struct eval_value *value, enum eval_kind kind, uint64_t at)
{
	return value->kind == kind && value->at == at && !value->add && !value->shift &&
	       value->other == 0xff;
}

/*
 * Runs straight on from `vaddr`, past branches and calls, to a jump or a return. False: neither is
 * reached. `jump` is the target of a direct jump; 0: it is indirect, or a return.
 */
static bool run_to_end(const struct eval_world *world, struct eval *eval, uint64_t vaddr,
		       struct flow_instruction *last, uint64_t *jump)
{
	struct flow_code code = { .file = world->file };

	*jump = 0;
	for (unsigned step = 0; step < STEPS && flow_decode(&code, vaddr, last);
	     step++, vaddr = last->next) {
		if (last->decoded.meta.category == ZYDIS_CATEGORY_RET)
			return true;
		if (last->decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
			if (last->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
				flow_address(last, &last->operands[0], jump);
			return true;
		}
		if (last->decoded.meta.category != ZYDIS_CATEGORY_COND_BR)
			eval_step(eval, last);
	}
	return false;
}

/* Finds PartitionRoot::Alloc: the target to which the function at `vaddr` jumps with the root as
 * its first argument and its own first argument as the second. */
static bool find_alloc(const struct eval_world *world, uint64_t vaddr, uint64_t *root,
		       uint64_t *alloc)
{
	struct flow_instruction last;
	struct eval_value first, second;
	struct eval eval;

	eval_init(&eval, world, true);
	if (!run_to_end(world, &eval, vaddr, &last, alloc) || !*alloc)
		return false;
	first = eval_argument(&eval, 0);
	second = eval_argument(&eval, 1);
	*root = first.at;
	return is_address(&first, EVAL_LOADED, first.at) && is_address(&second, EVAL_ARGUMENT, 0);
}

/* Finds the variable with the next table, if the function at `vaddr` only jumps through one. */
static bool next_table(const struct eval_world *world, uint64_t vaddr, uint64_t *variable)
{
	struct flow_code code = { .file = world->file };
	struct flow_instruction in;
	bool found = false;

	for (unsigned step = 0; step < STEPS && flow_decode(&code, vaddr, &in);
	     step++, vaddr = in.next) {
		if (in.decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			return found && in.operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
		if (in.decoded.meta.category == ZYDIS_CATEGORY_CALL ||
		    in.decoded.meta.category == ZYDIS_CATEGORY_RET)
			return false;
		if (in.decoded.mnemonic == ZYDIS_MNEMONIC_MOV &&
		    in.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    in.operands[1].mem.base == ZYDIS_REGISTER_RIP && !found)
			found = flow_address(&in, &in.operands[1], variable);
	}
	return false;
}

/* Finds the one function near `vaddr` that returns the root. */
static bool find_getter(const struct eval_world *world, uint64_t vaddr, uint64_t root,
			uint64_t *getter)
{
	uint64_t from = vaddr > NEAR ? (vaddr - NEAR) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
	unsigned found = 0;

	for (uint64_t at = from; at < vaddr + NEAR; at += ALIGNMENT) {
		struct flow_instruction last;
		struct eval_value result;
		struct eval eval;
		uint64_t jump;

		if (!is_padding(world->file, at - 1))
			continue;
		eval_init(&eval, world, true);
		if (!run_to_end(world, &eval, at, &last, &jump) ||
		    last.decoded.meta.category != ZYDIS_CATEGORY_RET)
			continue;
		result = eval.reg[RAX];
		if (!is_address(&result, EVAL_LOADED, root))
			continue;
		*getter = at;
		found++;
	}
	return found == 1;
}

static bool note_caller(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct checked_callers *callers = context;

	(void)address;
	if (callers->count[worker] < CALLS)
		callers->calls[worker][callers->count[worker]++] = vaddr;
	return callers->count[worker] < CALLS;
}

static bool count_call(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct checked_counts *counts = context;

	(void)vaddr;
	++*(address == counts->allocate ? &counts->allocates[worker] : &counts->releases[worker]);
	return true;
}

/* Returns the start of the function that contains the call at `call`, if it passes on the call's
 * result and its own first argument, and sets *target to their receiver. 0: it doesn't. */
static uint64_t passes_on(const struct eval_world *world, uint64_t call, uint64_t *target)
{
	for (uint64_t at = call / ALIGNMENT * ALIGNMENT; at + BEFORE > call; at -= ALIGNMENT) {
		struct flow_code code = { .file = world->file };
		struct flow_instruction in;
		struct eval_value first, second;
		struct eval eval;
		uint64_t next = at;

		if (!is_padding(world->file, at - 1))
			continue;
		eval_init(&eval, world, true);
		while (next < call && flow_decode(&code, next, &in) &&
		       in.decoded.meta.category != ZYDIS_CATEGORY_CALL &&
		       in.decoded.meta.category != ZYDIS_CATEGORY_COND_BR &&
		       in.decoded.meta.category != ZYDIS_CATEGORY_UNCOND_BR) {
			eval_step(&eval, &in);
			next = in.next;
		}
		if (next != call || !run_to_end(world, &eval, call, &in, target) || !*target)
			return 0;
		first = eval_argument(&eval, 0);
		second = eval_argument(&eval, 1);
		return is_address(&first, EVAL_UNKNOWN, call) &&
				       is_address(&second, EVAL_ARGUMENT, 0)
			       ? at
			       : 0;
	}
	return 0;
}

static const char *choose(const struct eval_world *world, const struct checked_callers *callers,
			  uint64_t alloc, struct checked *out)
{
	unsigned allocates = 0, releases = 0;

	for (unsigned w = 0; w < SWEEP_WORKERS; w++)
		for (unsigned i = 0; i < callers->count[w]; i++) {
			uint64_t target, function = passes_on(world, callers->calls[w][i], &target);

			if (!function)
				continue;
			*(target == alloc ? &out->allocate : &out->release) = function;
			++*(target == alloc ? &allocates : &releases);
		}
	return allocates == 1 && releases == 1 ? NULL
					       : "not one function each allocates and frees with "
						 "the root of malloc's partition";
}

/* Follows the chain's head to the function for unchecked allocation, malloc's root, and
 * PartitionRoot::Alloc. */
static bool follow(const struct eval_world *world, struct reloc_index *relocs, uint64_t variable,
		   uint64_t *function, uint64_t *root, uint64_t *alloc)
{
	for (unsigned i = 0; i < TABLES; i++) {
		struct word table = reloc_word(relocs, variable), slot;

		if (table.kind != WORD_ADDRESS)
			return false;
		slot = reloc_word(relocs, table.value + UNCHECKED_SLOT * sizeof(uint64_t));
		if (slot.kind != WORD_ADDRESS)
			return false;
		*function = slot.value;
		if (find_alloc(world, slot.value, root, alloc))
			return true;
		if (!next_table(world, slot.value, &variable))
			return false;
	}
	return false;
}

static const char *find(const struct eval_world *world, struct reloc_index *relocs,
			uint64_t chain_head, struct checked *out)
{
	struct checked_callers callers = { 0 };
	struct checked_counts counts = { 0 };
	uint64_t function, root, alloc, getter, both[2];
	const char *why;

	if (!follow(world, relocs, chain_head, &function, &root, &alloc))
		return "the dispatch chain doesn't lead to a function that allocates with a root "
		       "in a variable";
	if (!find_getter(world, function, root, &getter))
		return "not one function returns the root of malloc's partition";
	if (!sweep_code(&(struct probe_sweep){ .file = world->file,
					       .form = SWEEP_CALL,
					       .low = getter,
					       .high = getter + 1,
					       .place = note_caller,
					       .context = &callers }))
		return "too many functions ask for the root of malloc's partition";
	why = choose(world, &callers, alloc, out);
	if (why)
		return why;
	counts.allocate = out->allocate;
	both[0] = out->allocate < out->release ? out->allocate : out->release;
	both[1] = out->allocate < out->release ? out->release : out->allocate;
	sweep_code(&(struct probe_sweep){ .file = world->file,
					  .form = SWEEP_CALL,
					  .low = both[0],
					  .high = both[1] + 1,
					  .only = both,
					  .only_count = 2,
					  .place = count_call,
					  .context = &counts });
	for (unsigned w = 0; w < SWEEP_WORKERS; w++) {
		out->allocate_calls += counts.allocates[w];
		out->release_calls += counts.releases[w];
	}
	return NULL;
}

/* False: the function can't be patched, and a note says why. */
static bool add_entry(const struct binary *file, struct probe_draft *draft,
		      enum shiny_probe_kind kind, uint64_t vaddr, uint32_t calls)
{
	struct shiny_probe_entry entry = {
		.vaddr = vaddr,
		.kind = kind,
		.confidence = SHINY_PROBE_EXACT,
		.calls = calls,
		.handle = kind == SHINY_PROBE_DELETE ? 0 : SHINY_PROBE_NO_ARGUMENT,
		.size = kind == SHINY_PROBE_NEW ? 0 : SHINY_PROBE_NO_ARGUMENT,
		.alignment = SHINY_PROBE_NO_ARGUMENT,
		.index = SHINY_PROBE_NO_ARGUMENT,
		.space = SHINY_PROBE_NO_ARGUMENT,
		.slot = SHINY_PROBE_NO_ARGUMENT,
		.trace = SHINY_PROBE_NO_ARGUMENT,
		.finalizer = SHINY_PROBE_NO_ARGUMENT,
		.name = SHINY_PROBE_NO_ARGUMENT,
		.code_bytes = SHINY_PROBE_CODE
	};
	struct shiny_patch_recipe recipe;
	const void *code = binary_at(file, vaddr, SHINY_PROBE_CODE);
	const char *why =
		code ? patch_recipe_make(file, vaddr, 0, &recipe) : "its code isn't in the file";

	if (why || draft->head.entry_count == SHINY_PROBE_ENTRIES) {
		probe_draft_note(draft, "checked classes", SHINY_PROBE_UNKNOWN,
				 "the function at 0x%" PRIx64 " can't be patched: %s", vaddr,
				 why ? why : "there are too many others");
		return false;
	}
	memcpy(entry.code, code, SHINY_PROBE_CODE);
	draft->head.entries[draft->head.entry_count++] = entry;
	probe_draft_recipe(draft, &recipe);
	return true;
}

void probe_checked(const struct binary *file, struct reloc_index *relocs, struct probe_draft *draft)
{
	struct eval_world world = { .file = file };
	struct checked found = { 0 };
	const char *why;

	if (!draft->head.chain_head || draft->head.chain_confidence < SHINY_PROBE_HIGH)
		return;
	why = find(&world, relocs, draft->head.chain_head, &found);
	if (why) {
		probe_draft_note(draft, "checked classes", SHINY_PROBE_UNKNOWN, "%s", why);
		return;
	}
	if (add_entry(file, draft, SHINY_PROBE_NEW, found.allocate, found.allocate_calls) &&
	    add_entry(file, draft, SHINY_PROBE_DELETE, found.release, found.release_calls))
		probe_draft_note(draft, "checked classes", SHINY_PROBE_EXACT,
				 "%" PRIu32 " places allocate objects of classes with memory "
					    "safety checks, past the dispatch chain",
				 found.allocate_calls);
}
