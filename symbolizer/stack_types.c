/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_types.c: the type that a call site gives its blocks: cached answers of return addresses,
 * put together along a stack.
 *
 * An answer (site_answer.h) belongs to one return address of one file. It stays valid while three
 * things stay the same: the file, by its build-id; the rules, written down or in code; and the
 * names and debug information, which may be installed later or stripped. The cache's key has all
 * three: code counts by the build-id of the running program, names and debug information by what
 * there is, and by the path, size and time of the file that has them.
 * Not covered: .dwo and .dwp files that come or go while the file that names them stays the same.
 *
 * A stack is asked from the inside outwards, as long as an answer says that its function hands the
 * pointer to its caller unchanged (malloc wrappers), SYM_CLIMB_MAX callers at most.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "module.h"
#include "infer/evidence.h"
#include "infer/site_choose.h"
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

/* A rule about the whole file says more than the code around the call. */
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

static void work_out(struct sym_module *module, uint64_t ret, bool innermost,
		     struct site_answer *out, struct sym_evidence *evidence)
{
	struct site_reader reader = { .code = { &module->file, &module->relocs,
						module_symbols(module) },
				      .units = module_units(module),
				      .names = &module->sym->names,
				      .rules = module->sym->rules,
				      .innermost = innermost };

	*out = (struct site_answer){ .count = 0 };
	site_type_read(&reader, ret, out, evidence);
	if (!out->count && ret)
		label_by_rule(module, ret, out, evidence);
}

/* NULL: nothing is known of the place, or there is no memory. An answer may have been asked for
 * where a stack goes on before it was where one begins. */
static const struct site_answer *answer_of(const struct sym_call *call, bool innermost)
{
	struct type_cache *cache;
	const struct site_answer *answer;
	struct site_answer fresh;

	if (!call->module || call->module->info.state != SYM_OK)
		return NULL;
	cache = module_types(call->module);
	answer = cache ? type_cache_get(cache, call->vaddr) : NULL;
	if (!cache || (answer && !(answer->unasked && innermost)))
		return answer;
	work_out(call->module, call->vaddr, innermost, &fresh, NULL);
	return type_cache_put(cache, call->vaddr, &fresh);
}

bool sym_site_warm(struct sym *sym, const struct sym_call *call)
{
	const struct site_answer *answer = answer_of(call, false);

	return answer && answer->climbs;
}

/* ---- stacks ---- */

static const struct site_answer *explain(const struct sym_call *call, bool innermost,
					 struct site_answer *room, struct sym_evidence *evidence)
{
	char text[512];

	if (!call->module || call->module->info.state != SYM_OK) {
		evidence->line(evidence->context, 0, "the caller is in no file that can be read");
		return NULL;
	}
	snprintf(text, sizeof(text), "%s+0x%" PRIx64, call->module->label, call->vaddr);
	evidence->line(evidence->context, 0, text);
	work_out(call->module, call->vaddr, innermost, room, evidence);
	return room;
}

void sym_site_type(struct sym *sym, const struct sym_call *calls, size_t count, unsigned api,
		   const struct sym_sizes *sizes, struct sym_type *out,
		   struct sym_evidence *evidence)
{
	const struct site_answer *answers[SYM_CLIMB_MAX];
	struct site_answer room[SYM_CLIMB_MAX];
	size_t n = 0;

	*out = (struct sym_type){ .type = NULL };
	for (; n < count && n < SYM_CLIMB_MAX; n++) {
		answers[n] =
			evidence ? explain(&calls[n], !n, &room[n], evidence)
				 : answer_of(&calls[n], !n);
		if (!answers[n])
			break;
		if (!answers[n]->climbs && !answers[n]->returned) {
			n++;
			break;
		}
	}
	if (n)
		site_choose(answers, n, api, sizes, out, evidence);
}
