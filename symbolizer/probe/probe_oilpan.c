/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_oilpan.c: see probe_oilpan.h.
 *
 * Oilpan is the garbage-collected heap of Blink (and of V8, as cppgc). An object's type is a number
 * of 14 bits in the header before it; the number stands for a GCInfo: {finalizer, trace, name
 * callback, unused}. There are two shapes:
 *
 * Chromium 156: the linker gathers all GCInfos in the section gc_info_section and keeps its name; a
 * type's number is computed from the address of its GCInfo. They are found by sweeping the code for
 * addresses in the section, and walking to the call that gets the number.
 *
 * Before (150, 147, node): a type has a 16-bit variable, initially 0. Code that needs the number
 * loads and tests it, and in the other arm calls a function with the variable's address and the
 * type's functions, which puts them into a table and returns the number. They are found by sweeping
 * for loads of 16 bits from .bss; if the same path registers that variable, it is a type's. Numbers
 * differ from run to run; the variable's address stays the same.
 *
 * So in both shapes calls get a number. Their targets are candidates, and a candidate is believed
 * if its own code stores the argument with the number before the object that it returns
 * (probe_entries.c). This finds exactly the functions that node's symbol table names.
 *
 * Not covered: builds that inline the creation of objects into their callers (@sparticuz/chromium
 * 147: full LTO). There the types are found, and a few functions, which create only some of the
 * objects; the confidence of these is low, so that they aren't patched. Nor builds that call a
 * separate function for the index of each type that registers itself, as gcc -Os does: no Chromium
 * does.
 */
#include "probe_oilpan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/row_order.h"
#include "../flow/patch_recipe.h"
#include "probe_entries.h"
#include "probe_sites.h"
#include "probe_types.h"

/* Limit of Oilpan's classes of space: public Chromium has fewer. Its alignments are larger than
 * this. */
enum { SPACES_MAX = 15, ALIGNMENT_MIN = 16, CODE_MIN = 16 };

/* ---- candidates ---- */

static struct probe_candidate *candidate_of(struct oilpan *o, uint64_t vaddr)
{
	size_t low = lower_bound(o->candidates.count, i, o->candidates.at[i].vaddr < vaddr);
	if (low < o->candidates.count && o->candidates.at[low].vaddr == vaddr)
		return &o->candidates.at[low];
	vec_push(&o->candidates);
	memmove(&o->candidates.at[low + 1], &o->candidates.at[low],
		(o->candidates.count - 1 - low) * sizeof(*o->candidates.at));
	o->candidates.at[low] = (struct probe_candidate){ .vaddr = vaddr };
	return &o->candidates.at[low];
}

ORDER_BY(most_sites_first, struct probe_candidate, ORDER_DOWN(sites) ?: ORDER_UP(vaddr))

static void select_candidates(struct oilpan *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->sites.site_count; i++) {
		const struct probe_site *site = &o->sites.sites[i];
		struct probe_candidate *c = candidate_of(o, site->target);

		c->sites++;
		c->by_index[site->index]++;
		for (unsigned a = 0; a < EVAL_ARGUMENTS; a++) {
			if (!(site->known >> a & 1))
				continue;
			if (!c->known[a]++)
				c->low[a] = c->high[a] = site->value[a];
			c->low[a] = site->value[a] < c->low[a] ? site->value[a] : c->low[a];
			c->high[a] = site->value[a] > c->high[a] ? site->value[a] : c->high[a];
		}
	}
	for (size_t i = 0; i < o->candidates.count; i++) {
		struct probe_candidate *c = &o->candidates.at[i];

		if (!entry_allocates(&o->world, c->vaddr, &c->facts))
			continue;
		c->agreeing = c->by_index[c->facts.index];
		/* a leftover index in another argument's register is no contradiction, if it is
		 * rare */
		if (c->agreeing * 2 > c->sites)
			o->candidates.at[kept++] = *c;
	}
	o->candidates.count = kept;
	if (kept)
		qsort(o->candidates.at, kept, sizeof(*o->candidates.at), most_sites_first);
}

/* ---- entries ---- */

static void copy_code(const struct oilpan *o, struct shiny_probe_entry *entry)
{
	uint64_t room = binary_room(o->world.file, entry->vaddr);
	const uint8_t *code;

	entry->code_bytes = room < SHINY_PROBE_CODE ? (uint8_t)room : SHINY_PROBE_CODE;
	code = binary_at(o->world.file, entry->vaddr, entry->code_bytes);
	if (code)
		memcpy(entry->code, code, entry->code_bytes);
	else
		entry->code_bytes = 0;
}

/* Adds the entry, with its recipe if there is one; else a note. */
static void add_entry(struct oilpan *o, struct shiny_probe_entry *entry)
{
	struct shiny_patch_recipe recipe;
	const char *why;

	if (o->draft->head.entry_count == SHINY_PROBE_ENTRIES)
		return;
	copy_code(o, entry);
	if (entry->code_bytes < CODE_MIN)
		entry->confidence = SHINY_PROBE_LOW;
	o->draft->head.entries[o->draft->head.entry_count++] = *entry;
	why = patch_recipe_make(o->world.file, entry->vaddr, 0, &recipe);
	if (!why)
		probe_draft_recipe(o->draft, &recipe);
	else
		probe_draft_note(o->draft, "entries", SHINY_PROBE_UNKNOWN,
				 "the one at 0x%" PRIx64 " can't be patched: %s", entry->vaddr,
				 why);
}

static bool is_power(uint32_t value)
{
	return value && !(value & (value - 1));
}

/*
 * Assigns the arguments. Index and size are known from the code; the handle comes first in every
 * version. In the public source the alignment precedes the index, and the space follows it;
 * constants that sites pass must not contradict that.
 */
static struct shiny_probe_entry entry_of(const struct probe_candidate *c, uint32_t calls)
{
	struct shiny_probe_entry entry = { .vaddr = c->vaddr,
					   .kind = SHINY_PROBE_ALLOCATE,
					   .confidence = SHINY_PROBE_EXACT,
					   .calls = calls,
					   .sites = c->agreeing,
					   .handle = 0,
					   .size = c->facts.size,
					   .index = c->facts.index,
					   .alignment = SHINY_PROBE_NO_ARGUMENT,
					   .space = SHINY_PROBE_NO_ARGUMENT,
					   .slot = SHINY_PROBE_NO_ARGUMENT,
					   .trace = SHINY_PROBE_NO_ARGUMENT,
					   .finalizer = SHINY_PROBE_NO_ARGUMENT,
					   .name = SHINY_PROBE_NO_ARGUMENT,
					   .info = SHINY_PROBE_NO_ARGUMENT };
	unsigned space = c->facts.index + 1u;

	if (c->facts.size != 1 || c->facts.index < 2 || c->facts.index > 3)
		entry.confidence = SHINY_PROBE_LOW;
	if (c->facts.index == 3) {
		entry.alignment = 2;
		if (c->known[2] &&
		    (c->low[2] < ALIGNMENT_MIN || !is_power(c->low[2]) || !is_power(c->high[2])))
			entry.confidence = SHINY_PROBE_LOW;
	}
	if (space < EVAL_ARGUMENTS && c->facts.used >> space & 1) {
		entry.space = (uint8_t)space;
		if (c->known[space] && c->high[space] > SPACES_MAX)
			entry.confidence = SHINY_PROBE_LOW;
	}
	if (c->agreeing != c->sites && (c->sites - c->agreeing) * 100 > c->sites &&
	    entry.confidence > SHINY_PROBE_HIGH)
		entry.confidence = SHINY_PROBE_HIGH;
	return entry;
}

/* Sets the header's layout, which all of them must write alike. */
static void see_header(struct oilpan *o)
{
	struct shiny_probe_file *head = &o->draft->head;
	const struct entry_allocates *first = &o->candidates.at[0].facts;
	bool same = true;

	for (size_t i = 0; i < o->candidates.count; i++) {
		const struct entry_allocates *facts = &o->candidates.at[i].facts;

		same &= facts->header_at == first->header_at &&
			facts->header_shift == first->header_shift && facts->limit == first->limit;
	}
	if (!same || first->header_shift + 14 > 16) {
		probe_draft_note(o->draft, "header", SHINY_PROBE_UNKNOWN,
				 "the functions that make objects write different headers");
		return;
	}
	head->header_index_at = first->header_at;
	head->header_index_shift = first->header_shift;
	head->header_confidence = SHINY_PROBE_EXACT;
	if (first->limit)
		head->index_limit = first->limit;
	probe_draft_note(o->draft, "header", SHINY_PROBE_EXACT,
			 "the type's index is %u bits up in the 16 bits that are %u in front of "
			 "the object, as all of them store it",
			 first->header_shift, first->header_at);
	probe_draft_note(o->draft, "header", first->limit ? SHINY_PROBE_EXACT : SHINY_PROBE_MEDIUM,
			 "an index is below %u%s", head->index_limit,
			 first->limit ? ", as they check it" : ", as in the public source");
}

/* Counts the calls of the functions found, and adds the entries, most sites first. */
static void see_entries(struct oilpan *o)
{
	size_t count = o->candidates.count, registrars = o->registrar_count;
	struct probe_target *targets = mem_zero(count + registrars + 1, sizeof(*targets));
	uint64_t calls = 0, sites = 0;

	/* sorted by address: few, so by insertion */
	for (size_t i = 0; i < count + registrars; i++) {
		struct probe_target target = { .vaddr = i < count
								? o->candidates.at[i].vaddr
								: o->registrars[i - count].vaddr };
		size_t at = i;

		if (i >= count) {
			const struct entry_registers *facts = &o->registrars[i - count].facts;

			target.registers =
				2u + (facts->finalizer != ENTRY_NONE) + (facts->name != ENTRY_NONE);
		}
		for (; at && targets[at - 1].vaddr > target.vaddr; at--)
			targets[at] = targets[at - 1];
		targets[at] = target;
	}
	probe_sites_count(&o->world, targets, count + registrars, &o->registrations,
			  &o->registration_count);
	for (size_t i = 0; i < count + registrars; i++)
		for (size_t k = 0; k < registrars; k++)
			if (o->registrars[k].vaddr == targets[i].vaddr)
				o->registrars[k].calls = targets[i].calls;
	for (size_t i = 0; i < count; i++) {
		struct shiny_probe_entry entry;

		for (size_t k = 0; k < count + registrars; k++)
			if (targets[k].vaddr == o->candidates.at[i].vaddr)
				entry = entry_of(&o->candidates.at[i], targets[k].calls);
		calls += entry.calls;
		sites += entry.sites;
		add_entry(o, &entry);
	}
	if (count)
		probe_draft_note(o->draft, "entries", SHINY_PROBE_EXACT,
				 "%zu functions make objects: %" PRIu64
				 " direct calls, of which %" PRIu64 " show the type that they pass",
				 count, calls, sites);
	free(targets);
}

/* ---- the two shapes ---- */

/* Returns the function's address in the word at `vaddr`; 0: none. */
static uint64_t function_at(struct oilpan *o, uint64_t vaddr)
{
	struct word word = reloc_word(o->relocs, vaddr);

	if ((word.kind != WORD_ADDRESS && word.kind != WORD_PLAIN) || !word.value)
		return 0;
	return binary_flags(o->world.file, word.value) & PF_X ? word.value : 0;
}

static void section_types(struct oilpan *o)
{
	struct shiny_probe_file *head = &o->draft->head;
	size_t finalized = 0, traced = 0;

	for (uint32_t i = 0; i < head->info_count; i++) {
		uint64_t info = head->info_vaddr + (uint64_t)i * head->info_bytes;
		struct shiny_probe_type type = { .info = info,
						 .index = (uint16_t)(i + 1),
						 .finalizer =
							 function_at(o, info + head->finalizer_at),
						 .trace = function_at(o, info + head->trace_at),
						 .callback = function_at(o, info + head->name_at) };

		finalized += type.finalizer != 0;
		traced += type.trace != 0;
		*vec_push(&o->draft->types) = type;
	}
	probe_draft_note(o->draft, "types",
			 traced == head->info_count ? SHINY_PROBE_EXACT : SHINY_PROBE_LOW,
			 "%zu of %u have a trace function, %zu a finalizer", traced,
			 head->info_count, finalized);
	oilpan_name_types(o);
}

static void probe_section(struct oilpan *o, const Elf64_Shdr *section)
{
	struct shiny_probe_file *head = &o->draft->head;
	unsigned shift = o->sites.info_shift;
	uint64_t count = shift ? section->sh_size >> shift : 0;

	select_candidates(o);
	if (!o->candidates.count || shift < 5 || !count || count >= 1 << 14 ||
	    section->sh_size & ((UINT64_C(1) << shift) - 1)) {
		probe_draft_note(o->draft, "shape", SHINY_PROBE_UNKNOWN,
				 "there is a section " SHINY_PROBE_SECTION_NAME
				 ", but no code that makes objects with its entries");
		return;
	}
	head->shape = SHINY_PROBE_SECTION;
	head->shape_confidence = SHINY_PROBE_EXACT;
	head->info_vaddr = section->sh_addr;
	head->info_bytes = 1u << shift;
	head->info_count = (uint32_t)count;
	head->finalizer_at = 0;
	head->trace_at = 8;
	head->name_at = 16;
	probe_draft_note(o->draft, "shape", SHINY_PROBE_EXACT,
			 "the section " SHINY_PROBE_SECTION_NAME " at 0x%" PRIx64
			 " holds %u GCInfos of %u bytes",
			 head->info_vaddr, head->info_count, head->info_bytes);
	probe_draft_note(o->draft, "index", SHINY_PROBE_EXACT,
			 "((GCInfo - 0x%" PRIx64 ") >> %u) + 1, as all sites compute it",
			 head->info_vaddr, shift);
	see_header(o);
	see_entries(o);
	section_types(o);
	oilpan_join_sites(o);
}

/* Selects the functions that registrations call and whose own code registers types. */
static void select_registrars(struct oilpan *o)
{
	uint64_t last = 0;

	for (size_t i = 0; i < o->sites.registration_count; i++) {
		const struct probe_registration *r = &o->sites.registrations[i];
		struct registrar registrar = { .vaddr = r->target };
		bool known = r->target == last;

		for (size_t k = 0; k < o->registrar_count && !known; k++)
			known = o->registrars[k].vaddr == r->target;
		if (known || !r->loaded || o->registrar_count == OILPAN_REGISTRARS)
			continue;
		last = r->target; /* most other targets come in sequence */
		if (entry_registers(&o->world, r->target, &registrar.facts) &&
		    registrar.facts.slot == 0 && registrar.facts.trace == 1)
			o->registrars[o->registrar_count++] = registrar;
	}
}

static const struct registrar *registrar_of(const struct oilpan *o, uint64_t vaddr)
{
	for (size_t i = 0; i < o->registrar_count; i++)
		if (o->registrars[i].vaddr == vaddr)
			return &o->registrars[i];
	return NULL;
}

/* Adds the entry to patch: the one function to which all registrars pass their GCInfo. */
static void see_registration(struct oilpan *o)
{
	struct shiny_probe_file *head = &o->draft->head;
	const struct entry_registers *first = &o->registrars[0].facts;
	struct shiny_probe_entry entry = { .vaddr = first->inner,
					   .kind = SHINY_PROBE_REGISTER,
					   .confidence = SHINY_PROBE_EXACT,
					   .slot = 1,
					   .info = 2,
					   .handle = SHINY_PROBE_NO_ARGUMENT,
					   .size = SHINY_PROBE_NO_ARGUMENT,
					   .alignment = SHINY_PROBE_NO_ARGUMENT,
					   .index = SHINY_PROBE_NO_ARGUMENT,
					   .space = SHINY_PROBE_NO_ARGUMENT,
					   .trace = SHINY_PROBE_NO_ARGUMENT,
					   .finalizer = SHINY_PROBE_NO_ARGUMENT,
					   .name = SHINY_PROBE_NO_ARGUMENT };
	struct entry_table table;
	uint64_t calls = 0;

	for (size_t i = 0; i < o->registrar_count; i++) {
		if (o->registrars[i].facts.inner != first->inner ||
		    o->registrars[i].facts.global != first->global)
			entry.confidence = SHINY_PROBE_LOW;
		calls += o->registrars[i].calls;
	}
	entry.calls = (uint32_t)o->registrar_count; /* at least: each registrar calls it */
	entry.sites = (uint32_t)o->registration_count;
	head->info_vaddr = first->global;
	head->finalizer_at = first->finalizer_at;
	head->trace_at = first->trace_at;
	head->name_at = first->name_at;
	probe_draft_note(o->draft, "registration", (enum shiny_probe_confidence)entry.confidence,
			 "%" PRIu64
			 " calls of %zu functions register a type with the one at 0x%" PRIx64,
			 calls, o->registrar_count, first->inner);
	if (entry_table(&o->world, first->inner, &table)) {
		head->info_indirect = table.array_at;
		head->info_bytes = table.info_bytes;
		if (table.limit && !o->candidates.at[0].facts.limit)
			head->index_limit = table.limit;
		probe_draft_note(o->draft, "registration", SHINY_PROBE_HIGH,
				 "its table of GCInfos of %u bytes is at *(*0x%" PRIx64 " + %u)",
				 table.info_bytes, first->global, table.array_at);
	}
	add_entry(o, &entry);
}

static void registered_types(struct oilpan *o)
{
	size_t kept = 0, different = 0, registrations = o->registration_count;

	for (size_t i = 0; i < registrations; i++) {
		const struct probe_registration *r = &o->registrations[i];
		const struct registrar *registrar = registrar_of(o, r->target);

		if (registrar)
			*vec_push(&o->draft->types) = (struct shiny_probe_type){
				.info = r->slot,
				.trace = r->argument[1],
				.finalizer = registrar->facts.finalizer < 4
						     ? r->argument[registrar->facts.finalizer]
						     : 0,
				.callback = registrar->facts.name < 4
						    ? r->argument[registrar->facts.name]
						    : 0,
			};
	}
	if (o->draft->types.count)
		qsort(o->draft->types.at, o->draft->types.count, sizeof(*o->draft->types.at),
		      oilpan_by_info);
	for (size_t i = 0; i < o->draft->types.count; i++) {
		struct shiny_probe_type *type = &o->draft->types.at[i],
					*last = kept ? &o->draft->types.at[kept - 1] : NULL;

		if (!last || last->info != type->info)
			o->draft->types.at[kept++] = *type;
		else
			different += last->trace != type->trace ||
				     last->callback != type->callback ||
				     last->finalizer != type->finalizer;
	}
	o->draft->types.count = kept;
	probe_draft_note(o->draft, "types", different ? SHINY_PROBE_LOW : SHINY_PROBE_EXACT,
			 "%zu types register themselves, at %zu places%s", kept, registrations,
			 different ? "; some of them in different ways" : "");
	oilpan_name_types(o);
}

static void probe_registered(struct oilpan *o)
{
	struct shiny_probe_file *head = &o->draft->head;

	select_registrars(o);
	if (!o->registrar_count) {
		probe_draft_note(o->draft, "shape", SHINY_PROBE_UNKNOWN,
				 "no section " SHINY_PROBE_SECTION_NAME
				 ", and no code that registers types of Oilpan");
		return;
	}
	select_candidates(o);
	if (!o->candidates.count) {
		probe_draft_note(o->draft, "shape", SHINY_PROBE_UNKNOWN,
				 "types of Oilpan register themselves, but no function makes "
				 "objects of them");
		return;
	}
	head->shape = SHINY_PROBE_REGISTERED;
	head->shape_confidence = SHINY_PROBE_EXACT;
	probe_draft_note(
		o->draft, "shape", SHINY_PROBE_EXACT,
		"types register themselves at their first use and keep their index in a variable");
	see_header(o);
	see_entries(o);
	see_registration(o);
	registered_types(o);
	oilpan_join_sites(o);
}

/* Finds the largest part of memory that is writable and not in the file. */
static void find_slots(const struct binary *file, struct eval_world *world)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *s = &file->segments[i];

		if (s->p_type == PT_LOAD && s->p_flags & PF_W && s->p_memsz > s->p_filesz &&
		    s->p_memsz - s->p_filesz > world->slots_end - world->slots &&
		    s->p_vaddr + s->p_memsz > s->p_vaddr) {
			world->slots = s->p_vaddr + s->p_filesz;
			world->slots_end = s->p_vaddr + s->p_memsz;
		}
	}
}

void probe_oilpan(const struct binary *file, struct reloc_index *relocs, struct probe_draft *draft)
{
	struct oilpan o = { .draft = draft, .relocs = relocs, .world = { .file = file } };
	Elf64_Shdr section;
	bool sectioned = binary_section_named(file, SHINY_PROBE_SECTION_NAME, &section) &&
			 section.sh_size && binary_at(file, section.sh_addr, section.sh_size);

	if (sectioned) {
		o.world.infos = section.sh_addr;
		o.world.infos_end = section.sh_addr + section.sh_size;
	} else {
		find_slots(file, &o.world);
	}
	probe_sites_find(&o.world, &o.sites);
	if (sectioned)
		probe_section(&o, &section);
	else
		probe_registered(&o);
	probe_sites_deinit(&o.sites);
	free(o.candidates.at);
	free(o.registrations);
}
