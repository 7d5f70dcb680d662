/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sites.c: see probe_sites.h.
 *
 * A path starts at an instruction that names a GCInfo, or loads a 16-bit variable, and goes
 * straight on to the call that gets the index: five to ten instructions later, in nearly all of
 * 20,000 cases. At a branch on an index (is the type registered yet?) the other arm is walked, too:
 * it has the registration, with the variable's address and the type's functions.
 *
 * A likely site doesn't make its target an allocation function: the caller checks the target's own
 * code.
 */
#include "probe_sites.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"
#include "probe_sweep.h"

enum { PATH_STEPS = 64, ARMS = 4, BACK = 72, JUMPS = 4, SHORTEST_CALL = 5 };

typedef VEC(struct probe_site) site_vec;
typedef VEC(struct probe_registration) registration_vec;

struct sites_finder {
	const struct eval_world *world;
	struct flow_code code;
	site_vec sites[SWEEP_WORKERS];
	registration_vec registrations[SWEEP_WORKERS];
	uint64_t shifts[SWEEP_WORKERS]; /* bit n: a distance was shifted by n */
};

/* The other arm of a branch, to be walked later. */
struct arm {
	uint64_t vaddr;
	struct eval eval;
};
struct path {
	struct sites_finder *finder;
	unsigned worker, steps, jumps;
	uint64_t loaded[ARMS]; /* variables that the path loaded */
	unsigned loaded_count;
	struct arm arms[ARMS];
	unsigned arm_count;
};

static bool is_code(const struct eval_world *world, uint64_t vaddr)
{
	return binary_flags(world->file, vaddr) & PF_X && binary_room(world->file, vaddr);
}

static bool is_slot(const struct eval_world *world, uint64_t vaddr)
{
	return vaddr - world->slots < world->slots_end - world->slots && vaddr % 2 == 0;
}

/* Adds a site if an argument of the call is an index. False: none is. Only the first one counts. */
static bool see_site(struct path *path, const struct eval *eval, const struct flow_instruction *in,
		     uint64_t target)
{
	struct probe_site site = { .call = in->vaddr, .target = target, .index = 0xff };

	for (unsigned i = 0; i < EVAL_ARGUMENTS; i++) {
		struct eval_value value = eval_argument(eval, i);

		if (value.kind == EVAL_INDEX && !value.shift && site.index == 0xff) {
			site.index = (uint8_t)i;
			site.info = value.at;
		} else if (value.kind == EVAL_CONST && value.at <= UINT32_MAX) {
			site.known |= (uint8_t)(1u << i);
			site.value[i] = (uint32_t)value.at;
		}
	}
	if (site.index == 0xff)
		return false;
	*vec_push(&path->finder->sites[path->worker]) = site;
	if (eval->shift)
		path->finder->shifts[path->worker] |= UINT64_C(1) << eval->shift;
	return true;
}

/* True if the call registers a type. The variable's address comes first, then the trace function,
 * then other functions. */
static bool see_registration(const struct eval_world *world, const struct eval *eval, uint64_t call,
			     uint64_t target, unsigned arguments, struct probe_registration *out)
{
	struct eval_value slot = eval_argument(eval, 0);

	if (slot.kind != EVAL_CONST || !is_slot(world, slot.at))
		return false;
	*out = (struct probe_registration){
		.call = call, .target = target, .slot = slot.at, .argument = { slot.at }
	};
	for (unsigned i = 1; i < 4; i++) {
		struct eval_value value = eval_argument(eval, i);

		if (value.kind == EVAL_CONST && is_code(world, value.at))
			out->argument[i] = value.at;
		else if (i < arguments)
			return false;
	}
	return out->argument[1] != 0;
}

static void note_load(struct path *path, const struct eval *eval, const struct flow_instruction *in)
{
	struct eval_value value = { .kind = EVAL_UNKNOWN };

	if (in->decoded.operand_count_visible > 1 &&
	    in->operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		value = eval_operand(eval, in, &in->operands[1]);
	if (value.kind == EVAL_INDEX && path->loaded_count < ARMS)
		path->loaded[path->loaded_count++] = value.at;
}

static bool was_loaded(const struct path *path, uint64_t slot)
{
	for (unsigned i = 0; i < path->loaded_count; i++)
		if (path->loaded[i] == slot)
			return true;
	return false;
}

/* True for a test of an index: `test %dx,%dx`, `cmp $0,…`. */
static bool tests_index(const struct eval *eval, const struct flow_instruction *in)
{
	return (in->decoded.mnemonic == ZYDIS_MNEMONIC_TEST ||
		in->decoded.mnemonic == ZYDIS_MNEMONIC_CMP) &&
	       eval_operand(eval, in, &in->operands[0]).kind == EVAL_INDEX;
}

/* Handles a call; `target` 0: an indirect one. True: it is the path's site. */
static bool see_call(struct path *path, struct eval *eval, const struct flow_instruction *in,
		     uint64_t target)
{
	struct probe_registration registration;
	const struct eval_world *world = path->finder->world;

	/* registrations first: after a failed test the register that was loaded still holds the
	 * index, 0 */
	if (target && see_registration(world, eval, in->vaddr, target, 2, &registration)) {
		registration.loaded = was_loaded(path, registration.slot);
		*vec_push(&path->finder->registrations[path->worker]) = registration;
		eval_step(eval, in);
		/* rax: the function returns the index */
		eval->reg[0] = (struct eval_value){ .kind = EVAL_INDEX,
						    .at = registration.slot,
						    .other = 0xff };
		return false;
	}
	if (target && see_site(path, eval, in, target))
		return true;
	eval_step(eval, in);
	return false;
}

/* Walks on from `vaddr` until the first call with an index. */
static void walk(struct path *path, uint64_t vaddr, struct eval *eval)
{
	struct flow_instruction in;
	bool tested = false;
	uint64_t target;

	for (; path->steps < PATH_STEPS && flow_decode(&path->finder->code, vaddr, &in);
	     path->steps++) {
		bool direct = in.decoded.operand_count_visible &&
			      in.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			      flow_address(&in, &in.operands[0], &target);

		switch (in.decoded.meta.category) {
		case ZYDIS_CATEGORY_CALL:
			if (see_call(path, eval, &in, direct ? target : 0))
				return;
			break;
		case ZYDIS_CATEGORY_COND_BR:
			if (direct && path->arm_count < ARMS && (tested || eval_has_index(eval)))
				path->arms[path->arm_count++] = (struct arm){ target, *eval };
			break;
		case ZYDIS_CATEGORY_UNCOND_BR:
			/* a jump to another part of the function, or a tail call: the target's code
			 * will tell */
			if (!direct || path->jumps++ >= JUMPS)
				return;
			see_site(path, eval, &in, target);
			vaddr = target;
			tested = false;
			continue;
		case ZYDIS_CATEGORY_RET:
		case ZYDIS_CATEGORY_INTERRUPT:
			return;
		default:
			if (in.decoded.mnemonic == ZYDIS_MNEMONIC_UD2)
				return;
			note_load(path, eval, &in);
			tested = tests_index(eval, &in) ||
				 (tested && in.decoded.mnemonic == ZYDIS_MNEMONIC_MOV);
			eval_step(eval, &in);
		}
		vaddr = in.next;
	}
}

static bool at_place(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct path path = { .finder = context, .worker = worker };
	struct eval eval;

	eval_init(&eval, path.finder->world, false);
	walk(&path, vaddr, &eval);
	for (unsigned i = 0; i < path.arm_count; i++) {
		path.steps = 0;
		walk(&path, path.arms[i].vaddr, &path.arms[i].eval);
	}
	return true;
}

/* The path that knows more comes first of two to one call: it started earlier. */
ORDER_BY(compare_sites, struct probe_site,
	 ORDER_UP(call) ?: ORDER_UP(info) ?:
	 __builtin_popcount(b->known) - __builtin_popcount(a->known))

ORDER_BY(compare_registrations, struct probe_registration,
	 ORDER_UP(call) ?: ORDER_UP(slot) ?: ORDER_DOWN(loaded))

/* Merges the workers' finds into one array, sorted, without duplicates. */
static void gather_sites(struct sites_finder *finder, struct probe_sites *out)
{
	site_vec all = finder->sites[0];
	size_t kept = 0;

	for (unsigned w = 1; w < SWEEP_WORKERS; w++) {
		for (size_t i = 0; i < finder->sites[w].count; i++)
			*vec_push(&all) = finder->sites[w].at[i];
		free(finder->sites[w].at);
	}
	if (all.count)
		qsort(all.at, all.count, sizeof(*all.at), compare_sites);
	for (size_t i = 0; i < all.count; i++)
		if (!kept || all.at[kept - 1].call != all.at[i].call ||
		    all.at[kept - 1].info != all.at[i].info)
			all.at[kept++] = all.at[i];
	out->sites = all.at;
	out->site_count = kept;
}

static void gather_registrations(struct sites_finder *finder, struct probe_registration **out,
				 size_t *count)
{
	registration_vec all = finder->registrations[0];
	size_t kept = 0;

	for (unsigned w = 1; w < SWEEP_WORKERS; w++) {
		for (size_t i = 0; i < finder->registrations[w].count; i++)
			*vec_push(&all) = finder->registrations[w].at[i];
		free(finder->registrations[w].at);
	}
	if (all.count)
		qsort(all.at, all.count, sizeof(*all.at), compare_registrations);
	for (size_t i = 0; i < all.count; i++)
		if (!kept || all.at[kept - 1].call != all.at[i].call ||
		    all.at[kept - 1].slot != all.at[i].slot)
			all.at[kept++] = all.at[i];
	*out = all.at;
	*count = kept;
}

void probe_sites_find(const struct eval_world *world, struct probe_sites *out)
{
	struct sites_finder finder = { .world = world, .code = { .file = world->file } };
	bool section = world->infos_end > world->infos;
	struct probe_sweep sweep = { .file = world->file,
				     .form = section ? SWEEP_ADDRESS : SWEEP_LOAD16,
				     .low = section ? world->infos : world->slots,
				     .high = section ? world->infos_end : world->slots_end,
				     .place = at_place,
				     .context = &finder };
	uint64_t shifts = 0;

	memset(out, 0, sizeof(*out));
	sweep_code(&sweep);
	gather_sites(&finder, out);
	gather_registrations(&finder, &out->registrations, &out->registration_count);
	for (unsigned w = 0; w < SWEEP_WORKERS; w++)
		shifts |= finder.shifts[w];
	if (shifts && !(shifts & (shifts - 1)))
		out->info_shift = (unsigned)__builtin_ctzll(shifts);
}

void probe_sites_deinit(struct probe_sites *sites)
{
	free(sites->sites);
	free(sites->registrations);
	memset(sites, 0, sizeof(*sites));
}

/* ---- the second sweep ---- */

struct sites_counter {
	struct sites_finder finder;
	struct probe_target *targets;
	uint32_t (*calls)[SWEEP_WORKERS];
	size_t count;
};

/* True if an instruction that puts a constant into a register may start here. */
static bool may_begin(const uint8_t *code)
{
	if (code[0] == 0x48 && code[1] == 0x8d && (code[2] & 0xc7) == 0x05)
		return true;
	return (code[0] >= 0xb8 && code[0] <= 0xbf) || (code[0] == 0x48 && code[1] == 0xc7);
}

/*
 * Reads the constants in the argument registers of the call at `call`. Code can't be decoded
 * backwards; so every place before it where such an instruction may start is tried, the farthest
 * first, until one leads to the call with all its arguments known.
 */
static bool read_registration(const struct sites_finder *finder, uint64_t call,
			      const struct probe_target *target, struct probe_registration *out)
{
	struct flow_instruction in;
	struct eval eval;

	for (uint64_t back = BACK; back > SHORTEST_CALL; back--) {
		uint64_t at = call - back;
		const uint8_t *code = binary_at(finder->world->file, at, back);

		if (!code || !may_begin(code))
			continue;
		eval_init(&eval, finder->world, false);
		while (at < call && flow_decode(&finder->code, at, &in)) {
			eval_step(&eval, &in);
			at = in.next;
		}
		if (at == call && see_registration(finder->world, &eval, call, target->vaddr,
						   target->registers, out))
			return true;
	}
	return false;
}

static bool at_call(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct sites_counter *counter = context;
	struct probe_registration registration;

	for (size_t i = 0; i < counter->count; i++) {
		if (counter->targets[i].vaddr != address)
			continue;
		counter->calls[i][worker]++;
		if (counter->targets[i].registers &&
		    read_registration(&counter->finder, vaddr, &counter->targets[i], &registration))
			*vec_push(&counter->finder.registrations[worker]) = registration;
	}
	return true;
}

void probe_sites_count(const struct eval_world *world, struct probe_target *targets, size_t count,
		       struct probe_registration **out, size_t *out_count)
{
	struct sites_counter counter = { .finder = { .world = world,
						     .code = { .file = world->file } },
					 .targets = targets,
					 .count = count,
					 .calls = mem_zero(count + 1, sizeof(*counter.calls)) };
	uint64_t *only = mem_zero(count + 1, sizeof(*only));

	for (size_t i = 0; i < count; i++)
		only[i] = targets[i].vaddr;
	if (count) {
		struct probe_sweep sweep = { .file = world->file,
					     .form = SWEEP_CALL,
					     .low = only[0],
					     .high = only[count - 1] + 1,
					     .only = only,
					     .only_count = count,
					     .place = at_call,
					     .context = &counter };

		sweep_code(&sweep);
	}
	for (size_t i = 0; i < count; i++) {
		targets[i].calls = 0;
		for (unsigned w = 0; w < SWEEP_WORKERS; w++)
			targets[i].calls += counter.calls[i][w];
	}
	gather_registrations(&counter.finder, out, out_count);
	free(counter.calls);
	free(only);
}
