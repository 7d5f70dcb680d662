/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inventory.c: the inventory of a module, and predictions for its call sites (sym_module_inventory,
 * sym_site_outlook).
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "module.h"
#include "infer/site_choose.h"
#include "infer/type_cache.h"

static bool has(const struct binary *file, const char *name, bool packed)
{
	Elf64_Shdr section;

	return file->data && binary_section_named(file, name, &section) &&
	       section.sh_type != SHT_NOBITS && (!packed || (section.sh_flags & SHF_COMPRESSED));
}

void sym_module_inventory(struct sym_module *module, struct sym_inventory *out)
{
	const struct binary *files[] = { &module->file, &module->debug };
	struct type_cache *cache;

	*out = (struct sym_inventory){ .inside = false };
	if (module->info.state != SYM_OK)
		return;
	for (size_t i = 0; i < 2; i++) {
		const char *path = i ? module->debug_path : module->path;
		char dwp[4096];

		out->compressed = out->compressed || has(files[i], ".debug_info", true) ||
				  has(files[i], ".zdebug_info", false);
		out->dwz = out->dwz || has(files[i], ".gnu_debugaltlink", false);
		if (files[i]->data && path &&
		    (size_t)snprintf(dwp, sizeof(dwp), "%s.dwp", path) < sizeof(dwp) &&
		    access(dwp, R_OK) == 0)
			out->dwp = names_text(&module->sym->names, dwp);
	}
	out->inside = has(&module->file, ".debug_info", false) ||
		      has(&module->file, ".zdebug_info", false);
	out->minidebug = has(&module->file, ".gnu_debugdata", false);
	cache = module_types(module);
	if (cache) {
		struct type_cache_info info;

		type_cache_info(cache, &info);
		out->cache_path = info.path ? names_text(&module->sym->names, info.path) : NULL;
		out->cached = info.stored + info.added;
	}
}

/* Returns the API, and sets the sizes, that a call's blocks would have if its best finding is
 * right, or else its label. */
static unsigned expected(const struct site_answer *answer, struct sym_sizes *sizes)
{
	const struct site_candidate none = { .bytes = 0 };
	const struct site_candidate *best = answer->count ? answer->candidates : &none;
	uint64_t bytes = best->bytes	      ? best->bytes
			 : answer->label_unit ? answer->label_unit
					      : 1;
	const char *callee = answer->callee ? answer->callee : "";

	*sizes = (struct sym_sizes){ best->header + bytes, best->header + bytes, 0 };
	if (best->array || best->form == SYM_FORM_BUFFER || best->form == SYM_FORM_ARRAY) {
		sizes->max += bytes;
		sizes->step = bytes;
	}
	return strncmp(callee, "operator new[]", 14) == 0 ? SHINY_API_NEW_ARRAY
	       : strncmp(callee, "operator new", 12) == 0 ? SHINY_API_NEW
	       : strcmp(callee, "calloc") == 0		  ? SHINY_API_CALLOC
	       : strcmp(callee, "realloc") == 0		  ? SHINY_API_REALLOC
							  : SHINY_API_MALLOC;
}

enum sym_outlook sym_site_outlook(struct sym *sym, const struct sym_call *call,
				  struct sym_type *out)
{
	const struct site_answer *answer = NULL;
	struct sym_sizes sizes;
	unsigned api;

	*out = (struct sym_type){ .type = NULL };
	sym_site_warm(sym, call);
	if (call->module && call->module->types)
		answer = type_cache_get(call->module->types, call->vaddr);
	if (!answer)
		return SYM_OUTLOOK_NONE;
	api = expected(answer, &sizes);
	site_choose(&answer, 1, api, &sizes, &sym->names, out, NULL);
	if (out->type && out->confidence != SYM_LABEL)
		return SYM_OUTLOOK_TYPE;
	return answer->climbs && !answer->opaque ? SYM_OUTLOOK_WRAPPER
	       : out->type			 ? SYM_OUTLOOK_TYPE
						 : SYM_OUTLOOK_NONE;
}
