/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_types.c: see probe_types.h.
 *
 * A type has one of three kinds of name. Most have their own in their callback. The callback of the
 * others asks the object, by a virtual function; but a type's objects are created at sites, a
 * site's code stores the object's vtable, and the function in that vtable mostly returns a
 * constant. In Chromium 156 that leaves 22 of 8,021 types without a name.
 */
#include "probe_types.h"
#include "../../src/base/row_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_names.h"
#include "probe_vtables.h"

/* Returns the believed candidate at `vaddr`; NULL: none. */
static const struct probe_candidate *oilpan_candidate(const struct oilpan *o, uint64_t vaddr)
{
	for (size_t i = 0; i < o->candidates.count; i++)
		if (o->candidates.at[i].vaddr == vaddr)
			return &o->candidates.at[i];
	return NULL;
}

struct name_counts {
	uint32_t by_naming[SHINY_PROBE_NAME_VIRTUAL + 1];
	uint32_t slots[2]; /* vtable slots: the first seen, and how many types have another */
	const char *hidden;
};

static void name_type(struct oilpan *o, struct shiny_probe_type *type, struct name_counts *counts)
{
	struct callback_name name = type->callback ? callback_name(&o->world, type->callback)
						   : (struct callback_name){ .name = NULL };
	char label[64];

	type->naming = (uint8_t)name.naming;
	type->confidence =
		name.naming == SHINY_PROBE_NAME_NONE ? SHINY_PROBE_UNKNOWN : SHINY_PROBE_EXACT;
	type->vptr_at = name.vptr_at;
	type->vtable_slot = name.vtable_slot;
	counts->by_naming[name.naming]++;
	if (name.hidden)
		counts->hidden = name.hidden;
	if (name.naming == SHINY_PROBE_NAME_VIRTUAL && !counts->slots[0])
		counts->slots[0] = name.vtable_slot;
	counts->slots[1] +=
		name.naming == SHINY_PROBE_NAME_VIRTUAL && name.vtable_slot != counts->slots[0];
	if (name.naming == SHINY_PROBE_NAME_STATIC) {
		type->name = probe_draft_text(o->draft, name.name);
		return;
	}
	/* a name in parentheses is no type's, but stays the same for a build */
	if (type->index)
		snprintf(label, sizeof(label), "(GCInfo %u)", type->index);
	else
		snprintf(label, sizeof(label), "(GCInfo of 0x%" PRIx64 ")", type->info);
	type->name = probe_draft_text(o->draft, label);
}

int oilpan_by_info(const void *a, const void *b)
{
	const struct shiny_probe_type *x = a, *y = b;

	return x->info < y->info ? -1 : x->info > y->info;
}

static struct shiny_probe_type *type_of(struct oilpan *o, uint64_t info)
{
	const struct shiny_probe_type key = { .info = info };

	return o->draft->types.count ? bsearch(&key, o->draft->types.at, o->draft->types.count,
					       sizeof(key), oilpan_by_info)
				     : NULL;
}

/* ---- classes ---- */

/* A type whose callback asks the object: the answer of the class at one of its sites. */
struct asked {
	uint64_t vtable;   /* of the last site that showed a new one */
	const char *name;
	unsigned sites;    /* sites examined */
	bool different;    /* classes at two sites give different answers */
	bool borrowed;     /* the name comes from the common function, not the class's own */
};
enum { SITES_ASKED = 4 };

static void ask_site(struct oilpan *o, const struct probe_site *site,
		     const struct shiny_probe_type *type, struct asked *asked)
{
	struct flow_code code = { .file = o->world.file };
	struct flow_instruction call;
	const char *name;
	uint64_t vtable;

	if (asked->sites >= SITES_ASKED || !flow_decode(&code, site->call, &call) ||
	    call.decoded.meta.category != ZYDIS_CATEGORY_CALL)
		return;
	asked->sites++;
	vtable = site_vtable(&o->world, call.next, type->vptr_at, o->draft->head.header_index_at);
	if (!vtable || vtable == asked->vtable)
		return;
	asked->vtable = vtable;
	name = vtable_name(&o->world, o->relocs, vtable, type->vtable_slot);
	asked->different |= name && asked->name && strcmp(name, asked->name) != 0;
	if (name)
		asked->name = name;
}

/* The name that a class answers with, and the function that returns it. */
struct probe_answer {
	uint64_t function;
	const char *name;
};

ORDER_BY(by_function, struct probe_answer, ORDER_UP(function))

/*
 * Returns the function that most classes answer with, of those that return different names for
 * different classes; 0: there is none. An element of the DOM has a function of its own, which
 * composes a text with its tag; but a base class of it has the common one, too, and that one's
 * answer would be the name of its interface: HTMLDivElement.
 */
static uint64_t common_function(struct oilpan *o, const struct asked *asked)
{
	size_t count = 0, most = 0;
	struct probe_answer *answers = mem_zero(o->draft->types.count + 1, sizeof(*answers));
	uint64_t best = 0;

	for (size_t i = 0; i < o->draft->types.count; i++)
		if (asked[i].name)
			answers[count++] = (struct probe_answer){
				reloc_word(o->relocs,
					   asked[i].vtable + o->draft->types.at[i].vtable_slot)
					.value,
				asked[i].name
			};
	if (count)
		qsort(answers, count, sizeof(*answers), by_function);
	for (size_t i = 0, first; i < count;) {
		bool differ = false;

		for (first = i; i < count && answers[i].function == answers[first].function; i++)
			differ |= strcmp(answers[i].name, answers[first].name) != 0;
		if (differ && i - first > most) {
			most = i - first;
			best = answers[first].function;
		}
	}
	free(answers);
	return best;
}

static void name_classes(struct oilpan *o)
{
	size_t count = o->draft->types.count;
	struct asked *asked = mem_zero(count + 1, sizeof(*asked));
	uint64_t common;
	uint32_t own = 0, borrowed = 0;

	for (size_t i = 0; i < o->sites.site_count; i++) {
		const struct probe_candidate *c = oilpan_candidate(o, o->sites.sites[i].target);
		const struct shiny_probe_type *type = c && o->sites.sites[i].index == c->facts.index
							      ? type_of(o, o->sites.sites[i].info)
							      : NULL;

		if (type && type->naming == SHINY_PROBE_NAME_VIRTUAL)
			ask_site(o, &o->sites.sites[i], type, &asked[type - o->draft->types.at]);
	}
	common = common_function(o, asked);
	for (size_t i = 0; i < count; i++) {
		struct shiny_probe_type *type = &o->draft->types.at[i];

		if (common && asked[i].vtable && !asked[i].name) {
			asked[i].name =
				vtable_name_by(&o->world, o->relocs, asked[i].vtable, common);
			asked[i].borrowed = true;
		}
		if (!asked[i].name || asked[i].different)
			continue;
		type->naming = SHINY_PROBE_NAME_CLASS;
		type->confidence = asked[i].borrowed ? SHINY_PROBE_MEDIUM : SHINY_PROBE_HIGH;
		type->name = probe_draft_text(o->draft, asked[i].name);
		*(asked[i].borrowed ? &borrowed : &own) += 1;
	}
	if (own)
		probe_draft_note(
			o->draft, "names", SHINY_PROBE_HIGH,
			"%u of these answer a constant, as the vtables say that their sites store",
			own);
	if (borrowed)
		probe_draft_note(o->draft, "names", SHINY_PROBE_MEDIUM,
				 "%u make up their answer, but have the name of an interface",
				 borrowed);
	free(asked);
}

static void note_names(struct oilpan *o, const struct name_counts *counts)
{
	size_t all = o->draft->types.count, stat = counts->by_naming[SHINY_PROBE_NAME_STATIC];

	probe_draft_note(o->draft, "names",
			 all && stat * 10 >= all * 5 ? SHINY_PROBE_EXACT : SHINY_PROBE_HIGH,
			 "%zu of %zu types have their C++ name in their callback%s%s%s", stat, all,
			 counts->hidden ? ", next to \"" : "", counts->hidden ? counts->hidden : "",
			 counts->hidden ? "\"" : "");
	if (counts->by_naming[SHINY_PROBE_NAME_VIRTUAL]) {
		probe_draft_note(o->draft, "names", SHINY_PROBE_EXACT,
				 "%u ask their objects, by the function at %u in the vtable%s",
				 counts->by_naming[SHINY_PROBE_NAME_VIRTUAL], counts->slots[0],
				 counts->slots[1] ? " or another one" : "");
		name_classes(o);
	}
	if (counts->by_naming[SHINY_PROBE_NAME_NONE])
		probe_draft_note(o->draft, "names", SHINY_PROBE_UNKNOWN, "%u have none",
				 counts->by_naming[SHINY_PROBE_NAME_NONE]);
}

void oilpan_name_types(struct oilpan *o)
{
	struct name_counts counts = { .hidden = NULL };

	for (size_t i = 0; i < o->draft->types.count; i++)
		name_type(o, &o->draft->types.at[i], &counts);
	note_names(o, &counts);
}

/* Adds the sites' information to the types, which are sorted by info. Returns how many types have a
 * site. */
static size_t join_sites(struct oilpan *o)
{
	size_t strangers = 0, with = 0;

	for (size_t i = 0; i < o->sites.site_count; i++) {
		const struct probe_site *site = &o->sites.sites[i];
		const struct probe_candidate *c = oilpan_candidate(o, site->target);
		struct shiny_probe_type *type =
			c && site->index == c->facts.index ? type_of(o, site->info) : NULL;
		uint32_t size;

		if (!c || site->index != c->facts.index)
			continue;
		if (!type) {
			strangers++;
			continue;
		}
		size = site->known >> c->facts.size & 1 ? site->value[c->facts.size] : 0;
		type->size = !type->sites || type->size == size ? size : 0;
		type->sites++;
	}
	for (size_t i = 0; i < o->draft->types.count; i++)
		with += o->draft->types.at[i].sites != 0;
	if (strangers)
		probe_draft_note(o->draft, "types", SHINY_PROBE_LOW,
				 "%zu sites pass an index that belongs to no type", strangers);
	return with;
}

/* Lowers the entries' confidence if most types have no site: then their objects are created
 * otherwise, and would not be seen. */
static void judge_coverage(struct oilpan *o, size_t with)
{
	size_t all = o->draft->types.count;

	probe_draft_note(o->draft, "types", with * 2 >= all ? SHINY_PROBE_EXACT : SHINY_PROBE_LOW,
			 "%zu of %zu types are made by a site that was seen", with, all);
	if (!all || with * 2 >= all)
		return;
	for (uint32_t i = 0; i < o->draft->head.entry_count; i++)
		o->draft->head.entries[i].confidence = SHINY_PROBE_LOW;
	probe_draft_note(
		o->draft, "entries", SHINY_PROBE_LOW,
		"most objects are made by code inlined into their callers: not to be patched");
}

void oilpan_join_sites(struct oilpan *o)
{
	judge_coverage(o, join_sites(o));
}
