/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_types.c: the type that a call site gives its blocks: combines the cached answers of return
 * addresses along a stack.
 *
 * An answer (site_answer.h) belongs to one return address of one file. It stays valid while three
 * things stay the same: the file, by its build-id; the rules, in files or in code; and the names
 * and debug information, which may be installed later or stripped. The cache's key has all three:
 * the running program's build-id stands for its code; names and debug information are identified by
 * their kinds, and by the path, size and time of the file that has them. The key does not cover
 * .dwo and .dwp files that come or go while the file that names them stays the same.
 *
 * A stack is examined from the inside outwards, as long as an answer says that its function returns
 * the pointer unchanged to its caller (malloc wrappers), SYM_CLIMB_MAX return addresses at most.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "module.h"
#include "infer/evidence.h"
#include "infer/site_choose.h"
#include "infer/site_fold.h"
#include "infer/site_type.h"

/* ---- answers ---- */

static uint64_t rules_hash(struct sym *sym)
{
	struct binary self;

	if (sym->rules_hash)
		return sym->rules_hash;
	sym->rules_hash = container_rules_hash(sym->rules);
	if (binary_open(&self, "/proc/self/exe") == BINARY_OK) {
		sym->rules_hash ^= XXH3_64bits(self.build_id, self.build_id_bytes);
		binary_close(&self);
	}
	sym->rules_hash |= 1;
	return sym->rules_hash;
}

static uint64_t key_of(struct sym_module *module)
{
	struct {
		uint64_t rules, bytes, seconds, nanoseconds, has;
	} key = { .rules = rules_hash(module->sym),
		  .has = (module->info.dwarf && !module->sym->no_dwarf) | module->info.symtab << 1 |
			 module->info.dynsym << 2 };
	uint64_t path = 0;
	struct stat st;

	if (module->info.debug_file && !stat(module->info.debug_file, &st)) {
		path = XXH3_64bits(module->info.debug_file, strlen(module->info.debug_file));
		key.bytes = (uint64_t)st.st_size;
		key.seconds = (uint64_t)st.st_mtim.tv_sec;
		key.nanoseconds = (uint64_t)st.st_mtim.tv_nsec;
	}
	return XXH3_64bits_withSeed(&key, sizeof(key), path);
}

struct type_cache *module_types(struct sym_module *module)
{
	struct sym *sym = module->sym;

	sym_module_settle(module);
	if (!module->types)
		module->types = type_cache_open(sym->cache_dir, module->file.build_id,
						sym->no_cache ? 0 : module->file.build_id_bytes,
						key_of(module), &sym->names);
	return module->types;
}

/* Applies the rule about the whole file: it says more than the code around the call. */
static void label_by_rule(struct sym_module *module, uint64_t ret, struct site_answer *out,
			  struct sym_evidence *evidence)
{
	const char *label = module_label(module, ret - 1);

	if (!label)
		return;
	evidence_say(evidence, 1, "label: %s, by a rule about its function", label);
	out->label = label;
	out->label_unit = 0;
}

/* Computes an answer. `fold` 0: for the function at the address; else for the fold'th other
 * function with the same code. False: there is no such function. */
static bool work_out(struct sym_module *module, uint64_t ret, bool innermost, unsigned fold,
		     struct site_answer *out, struct sym_evidence *evidence)
{
	struct debug_twin folds[SITE_FOLDS];
	struct site_reader reader = { .code = { &module->file, &module->relocs,
						module_symbols(module) },
				      .units = module_units(module),
				      .names = &module->sym->names,
				      .rules = module->sym->rules,
				      .innermost = innermost };

	*out = (struct site_answer){ .count = 0 };
	if (fold) {
		if (reader.units) /* until the answer is complete */
			debug_units_hold(reader.units, true);
		if (site_folds(&reader, ret - 1, folds, SITE_FOLDS) < fold) {
			if (reader.units)
				debug_units_hold(reader.units, false);
			return false;
		}
	}
	reader.fold = fold ? &folds[fold - 1] : NULL;
	site_type_read(&reader, ret, out, evidence);
	if (!out->count && ret)
		label_by_rule(module, ret, out, evidence);
	return true;
}

/* Returns the cache key of an answer about another function with the same code. No file is so large
 * that an address uses these bits. */
static uint64_t key_of_fold(uint64_t ret, unsigned fold)
{
	return ret ^ (uint64_t)fold << 56;
}

/* Returns the cached or a new answer; NULL: nothing is known. Computes an answer anew if it was
 * first computed for a caller (`unasked`) and the address is now innermost. */
static const struct site_answer *answer_of(const struct sym_call *call, bool innermost,
					   unsigned fold)
{
	struct type_cache *cache;
	const struct site_answer *answer;
	struct site_answer fresh;

	if (!call->module || call->module->info.state != SYM_OK)
		return NULL;
	cache = module_types(call->module);
	answer = cache ? type_cache_get(cache, key_of_fold(call->vaddr, fold)) : NULL;
	if (!cache || (answer && !(answer->unasked && innermost)))
		return answer;
	if (!work_out(call->module, call->vaddr, innermost, fold, &fresh, NULL))
		return NULL;
	return type_cache_put(cache, key_of_fold(call->vaddr, fold), &fresh);
}

bool sym_site_warm(struct sym *sym, const struct sym_call *call)
{
	const struct site_answer *answer = answer_of(call, false, 0);

	return answer && answer->climbs;
}

/* ---- stacks ---- */

enum { FOLDED_PATHS = 256, FOLDED_TYPES = 8 };

/* One return address, with an answer for each function that has its code. */
struct stack_level {
	const struct site_answer *answers[1 + SITE_FOLDS];
	unsigned count, others; /* `others`: such functions without an answer */
};
struct stack_question {
	struct sym *sym;
	const struct sym_call *calls;
	unsigned api;
	const struct sym_sizes *sizes;
	struct sym_evidence *evidence;
	struct stack_level levels[SYM_CLIMB_MAX];
	size_t count;
	struct site_answer *room; /* holds the answers if there is `evidence` */
	/* types that the functions give, each once */
	struct sym_type types[FOLDED_TYPES];
	size_t type_count;
	unsigned paths, untyped; /* combinations of functions; those that give no type */
	bool told; /* a caller says which function it calls */
	bool more; /* there are more types than room */
};

static const struct site_answer *explain(struct stack_question *q, size_t level, unsigned fold,
					 struct site_answer *room)
{
	const struct sym_call *call = &q->calls[level];

	if (!call->module || call->module->info.state != SYM_OK) {
		evidence_say(q->evidence, 0, "the caller is in no file that can be read");
		return NULL;
	}
	if (!fold)
		evidence_say(q->evidence, 0, "%s+0x%" PRIx64, call->module->label, call->vaddr);
	else
		evidence_say(q->evidence, 0, "%s+0x%" PRIx64 ", another function with this code",
			     call->module->label, call->vaddr);
	return work_out(call->module, call->vaddr, !level, fold, room, q->evidence) ? room : NULL;
}

static const struct site_answer *ask(struct stack_question *q, size_t level, unsigned fold)
{
	struct site_answer *room;

	if (!q->evidence)
		return answer_of(&q->calls[level], !level, fold);
	room = &q->room[level * (1 + SITE_FOLDS) + fold];
	return explain(q, level, fold, room);
}

/* Gets the answers of a level's functions. False: there is none. */
static bool ask_level(struct stack_question *q, size_t at)
{
	struct stack_level *level = &q->levels[at];
	unsigned folds;

	level->answers[0] = ask(q, at, 0);
	level->count = level->answers[0] != NULL;
	if (!level->count)
		return false;
	folds = level->answers[0]->folds < SITE_FOLDS ? level->answers[0]->folds : SITE_FOLDS;
	for (unsigned i = 1; i <= folds; i++) {
		level->answers[level->count] = ask(q, at, i);
		level->count += level->answers[level->count] != NULL;
	}
	level->others = level->answers[0]->folds - (level->count - 1);
	return true;
}

static bool goes_on(const struct stack_level *level)
{
	for (unsigned i = 0; i < level->count; i++)
		if (level->answers[i]->climbs || level->answers[i]->returned)
			return true;
	return false;
}

/* True if `origin`, the callee that the caller's debug information names, is one of the level's
 * functions. */
static bool names_one(const struct stack_level *level, const char *origin)
{
	for (unsigned i = 0; origin && i < level->count; i++)
		if (level->answers[i]->function == origin)
			return true;
	return false;
}

static void add_type(struct stack_question *q, const struct sym_type *type)
{
	q->paths++;
	if (!type->type || type->confidence == SYM_LABEL) {
		q->untyped++;
		return;
	}
	for (size_t i = 0; i < q->type_count; i++)
		if (q->types[i].type == type->type && q->types[i].container == type->container) {
			if (type->confidence < q->types[i].confidence)
				q->types[i].confidence = type->confidence;
			return;
		}
	if (q->type_count < FOLDED_TYPES)
		q->types[q->type_count++] = *type;
	else
		q->more = true;
}

/* Tries each function of level `at` and of the levels inside it, given the caller's choice. A
 * caller that names its callee leaves no choice. */
static void choose_functions(struct stack_question *q, const struct site_answer **chosen, size_t at)
{
	const struct stack_level *level = &q->levels[at];
	const char *origin = at + 1 < q->count ? chosen[at + 1]->origin : NULL;
	bool told = level->count > 1 && names_one(level, origin);
	struct sym_type type;
	size_t count = 1;

	if (told && !q->told)
		evidence_say(q->evidence, 0, "the caller's debug information says that it calls %s",
			     origin);
	q->told |= told;
	for (unsigned i = 0; i < level->count && q->paths < FOLDED_PATHS; i++) {
		if (told && level->answers[i]->function != origin)
			continue;
		chosen[at] = level->answers[i];
		if (at) {
			choose_functions(q, chosen, at - 1);
			continue;
		}
		while (count < q->count &&
		       (chosen[count - 1]->climbs || chosen[count - 1]->returned))
			count++;
		site_choose(chosen, count, q->api, q->sizes, &q->sym->names, &type, q->evidence);
		add_type(q, &type);
		if (q->paths == 1 && (!type.type || type.confidence == SYM_LABEL))
			q->types[0] = type; /* a label, unless another function gives more */
	}
}

/* Combines all functions' types: the only type, or one text of all that it may be. */
static void put_together(struct stack_question *q, struct sym_type *out)
{
	const char *types[FOLDED_TYPES], *containers[FOLDED_TYPES];
	size_t contained = 0;
	bool others = q->untyped || q->more || q->paths >= FOLDED_PATHS;

	for (size_t i = 0; i < q->count; i++)
		others |= q->levels[i].others != 0;
	*out = q->types[0];
	if (q->told && out->confidence > SYM_HIGH)
		out->confidence = SYM_HIGH;
	if (!q->type_count || (q->type_count == 1 && !others))
		return;
	for (size_t i = 0; i < q->type_count; i++) {
		const struct sym_type *type = &q->types[i];

		types[i] = type->type;
		if (type->container)
			containers[contained++] = type->container;
		if (type->confidence < out->confidence)
			out->confidence = type->confidence;
		if (type->bytes != out->bytes)
			out->bytes = 0;
		if (type->form != out->form)
			out->form = SYM_FORM_OBJECT;
		out->or_derived |= type->or_derived;
	}
	out->type = site_fold_text(&q->sym->names, types, q->type_count,
				   others ? SITE_FOLD_OTHERS : 0);
	out->container = contained == q->type_count
				 ? site_fold_text(&q->sym->names, containers, contained, 0)
				 : NULL;
	out->one_of = true;
	out->leading_count = 0;
	if (out->confidence > SYM_MEDIUM)
		out->confidence = SYM_MEDIUM;
	evidence_say(q->evidence, 0,
		     "functions with equal code were folded into one: it is one of %s", out->type);
}

void sym_site_type(struct sym *sym, const struct sym_call *calls, size_t count, unsigned api,
		   const struct sym_sizes *sizes, struct sym_type *out,
		   struct sym_evidence *evidence)
{
	struct stack_question q = {
		.sym = sym, .calls = calls, .api = api, .sizes = sizes, .evidence = evidence
	};
	const struct site_answer *chosen[SYM_CLIMB_MAX];

	*out = (struct sym_type){ .type = NULL };
	if (evidence)
		q.room = mem_zero(SYM_CLIMB_MAX * (1 + SITE_FOLDS), sizeof(*q.room));
	while (q.count < count && q.count < SYM_CLIMB_MAX && ask_level(&q, q.count)) {
		const struct stack_level *level = &q.levels[q.count++];

		/* with several functions, the caller may name the one it calls */
		if (!goes_on(level) && level->count == 1)
			break;
	}
	if (q.count) {
		choose_functions(&q, chosen, q.count - 1);
		put_together(&q, out);
	}
	free(q.room);
}
