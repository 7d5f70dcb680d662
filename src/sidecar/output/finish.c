/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.c: see finish.h.
 *
 * During the recording, new rows are written without names (frames) and classes (vtables), so that
 * a sidecar that dies leaves ids that mean something. At the end each module's file is opened once
 * and every distinct frame and vtable is named once; then block_types.c finds the types of the
 * blocks.
 */
#define _GNU_SOURCE
#include "finish.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../../symbolizer/sym.h"
#include "../../base/progress.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "../access/accesses.h"
#include "../process/settle.h"
#include "../ring/spill.h"
#include "../vm/mappings.h"
#include "block_types.h"
#include "called_names.h"
#include "counter_rows.h"
#include "resolve_ahead.h"
#include "unseen_heaps.h"
#include "wrappers.h"

enum { LINES = 64 };

static void build_id_text(const struct id_module *m, char *out)
{
	out[0] = '\0';
	for (uint32_t i = 0; i < m->build_id_bytes; i++)
		sprintf(out + 2 * i, "%02x", m->build_id[i]);
}

static void put_module(struct output *output, uint32_t id, const struct sym_module *module)
{
	const struct sym_module_info *info = module ? sym_module_info(module) : NULL;
	const struct id_module *m = &output->ids.modules.at[id - 1];
	char build_id[2 * SHINY_BUILD_ID_MAX + 1];
	struct store_module row = {
		.id = id, .path = m->path, .build_id = build_id, .symbols = "none", .note = ""
	};

	build_id_text(m, build_id);
	if (info) {
		row.symbols = info->state == SYM_MISSING   ? "missing"
			      : info->state == SYM_CHANGED ? "changed"
							   : sym_names_from(info);
		row.debug_file = info->debug_file;
		row.note = info->note;
		row.places = sym_module_places(module);
	}
	OUTPUT_PUT(output, store_put_module, &row);
}

/* Class rows have their names from the start. */
static void write_new_classes(struct output *output)
{
	for (; output->written.classes < output->classes.list.count; output->written.classes++) {
		const struct class *c = &output->classes.list.at[output->written.classes];
		struct store_class row = { .id = (uint32_t)output->written.classes + 1,
					   .module = c->module,
					   .name = c->name,
					   .bytes = c->of.bytes,
					   .constructors = c->of.constructors,
					   .destructors = c->of.destructors,
					   .unpatched = c->of.unpatched,
					   .inlined = c->of.inlined == UINT32_MAX
							      ? -1
							      : (int64_t)c->of.inlined };

		OUTPUT_PUT(output, store_put_class, &row);
	}
}

/* Returns what is known of the place before names are looked up. */
static struct sym_vtable known_type(const struct ids *ids, const struct id_place *place)
{
	const struct id_given *given;

	if (!place->given)
		return (struct sym_vtable){ .source = place->kind ? SYM_VTABLE_KIND
								  : SYM_VTABLE_NONE };
	given = &ids->given.at[place->vaddr];
	return (struct sym_vtable){ .source = given->source,
				    .type = given->name,
				    .class_named = true };
}

void finish_write_new(struct output *output)
{
	struct ids *ids = &output->ids;

	for (; output->written.modules < ids->modules.count; output->written.modules++)
		put_module(output, (uint32_t)output->written.modules + 1, NULL);
	for (; output->written.frames < ids->frames.count; output->written.frames++) {
		const struct id_place *f = &ids->frames.at[output->written.frames];

		OUTPUT_PUT(output, store_put_frame, (uint32_t)output->written.frames + 1, f->module,
			   f->vaddr, NULL, 0);
	}
	for (; output->written.stacks < ids->stacks.count; output->written.stacks++) {
		const struct id_stack *s = &ids->stacks.at[output->written.stacks];

		OUTPUT_PUT(output, store_put_stack, (uint32_t)output->written.stacks + 1,
			   &ids->stack_frames.at[s->first], s->count);
	}
	for (; output->written.vtables < ids->vtables.count; output->written.vtables++) {
		const struct id_place *v = &ids->vtables.at[output->written.vtables];
		struct store_vtable row = { .id = (uint32_t)output->written.vtables + 1,
					    .module = v->module,
					    .vaddr = v->vaddr };
		struct sym_vtable vtable = known_type(ids, v);

		row.source = sym_vtable_source_name(vtable.source);
		row.type = vtable.type;
		OUTPUT_PUT(output, store_put_vtable, &row);
	}
	for (; output->written.tags < output->tags.count; output->written.tags++)
		OUTPUT_PUT(output, store_put_tag, (uint32_t)output->written.tags + 1,
			   output->tags.at[output->written.tags]);
	write_new_classes(output);
}

/* ---- names ---- */

struct frame_order {
	uint32_t index, module;
	uint64_t vaddr;
};

ORDER_BY(by_place, struct frame_order, ORDER_UP(module) ?: ORDER_UP(vaddr))

/*
 * Names the frames in the order of their addresses: neighbours share a compilation unit, and only a
 * few units stay loaded (a program with 24 units of 13 MB of DWARF each: 11 s for 4,000 frames by
 * address, 44 s in the order of their ids). For the same reason the immediate callers of
 * allocations are typed here, while their unit is loaded; sym caches the answers.
 */
static void name_frames(struct session *session, struct sym *sym, struct sym_module **modules)
{
	struct output *output = &session->output;
	bool *innermost = types_innermost(&session->people, output, session->options);
	struct frame_order *order = mem_zero(output->ids.frames.count + 1, sizeof(*order));
	struct sym_frame frames[LINES];
	struct store_frame_line lines[LINES];
	struct progress progress;

	for (size_t i = 0; i < output->ids.frames.count; i++)
		order[i] = (struct frame_order){ (uint32_t)i, output->ids.frames.at[i].module,
						 output->ids.frames.at[i].vaddr };
	qsort(order, output->ids.frames.count, sizeof(*order), by_place);
	progress_begin(&progress, "resolving call sites", session->options->progress);
	for (size_t done = 0; done < output->ids.frames.count; done++) {
		size_t i = order[done].index;
		const struct id_place *f = &output->ids.frames.at[i];
		size_t count =
			f->module ? sym_frames(modules[f->module], f->vaddr - 1, frames, LINES) : 0;

		for (size_t k = 0; k < count && k < LINES; k++)
			lines[k] = (struct store_frame_line){ frames[k].function, frames[k].file,
							      frames[k].line, frames[k].inlined };
		if (count)
			OUTPUT_PUT(output, store_put_lines, (uint32_t)i + 1, lines,
				   count < LINES ? count : LINES);
		if (f->module && innermost[i])
			sym_site_warm(sym, &(struct sym_call){ modules[f->module], f->vaddr });
		progress_set(&progress, done, output->ids.frames.count);
	}
	progress_end(&progress);
	free(order);
	free(innermost);
}

/* Names the vtables, into vtables[id]. */
static void name_vtables(struct session *session, struct sym_module **modules,
			 struct sym_vtable *vtables)
{
	struct progress progress;

	progress_begin(&progress, "naming vtables", session->options->progress);
	for (size_t i = 0; i < session->output.ids.vtables.count; i++) {
		const struct id_place *v = &session->output.ids.vtables.at[i];
		struct sym_vtable *vtable = &vtables[i + 1];
		struct store_vtable row = { .id = (uint32_t)i + 1,
					    .module = v->module,
					    .vaddr = v->vaddr };

		if (v->given)
			*vtable = known_type(&session->output.ids, v);
		/* a damaged file may have a vtable outside any module; it stays nameless */
		else if (v->kind && v->module)
			sym_object_kind(modules[v->module], v->vaddr, vtable);
		else if (v->module)
			sym_vtable(modules[v->module], v->vaddr, vtable);
		row.source = sym_vtable_source_name(vtable->source);
		if (vtable->source != SYM_VTABLE_NONE) {
			row.type = vtable->type;
			row.class_bytes = vtable->class_bytes;
		}
		OUTPUT_PUT(&session->output, store_put_vtable, &row);
		progress_set(&progress, i, session->output.ids.vtables.count);
	}
	progress_end(&progress);
}

/* Writes the rows of variables that are roots of heap snapshots again, with names. */
static void name_roots(struct output *output, struct sym_module **modules)
{
	for (size_t i = 0; i < output->variables.count; i++) {
		struct store_root row = output->variables.at[i];
		uint64_t offset = 0;
		const char *symbol = sym_variable(modules[row.module], row.vaddr, &offset);
		char *name;

		if (!symbol)
			continue;
		name = offset ? mem_format("%s+0x%" PRIx64, symbol, offset) : mem_text(symbol);
		row.name = name;
		OUTPUT_PUT(output, store_put_root, &row);
		free(name);
	}
}

static void put_names(struct session *session, struct sym *sym, struct sym_module **modules,
		      struct sym_vtable *vtables)
{
	name_frames(session, sym, modules);
	name_vtables(session, modules, vtables);
	name_roots(&session->output, modules);
}

/* ---- aggregates ---- */

static void put_lifetimes(struct output *output, const struct store_lifetime *key,
			  const struct bins *bins)
{
	struct store_lifetime row = *key;

	for (unsigned i = 0; i < bins->count; i++) {
		if (!bins->at[i].count)
			continue;
		row.bin = (uint8_t)(bins->first + i);
		row.count = bins->at[i].count;
		row.bytes = bins->at[i].bytes;
		OUTPUT_PUT(output, store_put_lifetime, &row);
	}
}

static void put_tally(struct output *output, const struct process *p, const struct site_stats *site,
		      const struct tally *s, struct sidecar_summary *out)
{
	bool early = process_early(p);
	const struct tally_rare *rare = tally_rare(s);
	bool at_peak = tally_at_peak(s, p->stats.total) && (int64_t)s->at_peak_bytes >= 0;
#define IF_RARE(name, kind, how, ...) SUM_##how(.name = rare->name, )
	struct store_stat row = {
		.process = p->id,
		.stack = site->stack,
		.vtable = s->vtable,
		.tag = site->tag,
		.reading =
			(uint8_t)(stats_reading(s) | (s->second_word ? SHINY_VPTR_SECOND_WORD : 0)),
		.allocs = s->allocs,
		.frees = tally_frees(s),
		.reused = rare->reused,
		.released = rare->released,
		.bytes = s->bytes,
		.live = early ? 0 : rare->live,
		.live_bytes = early ? 0 : rare->live_bytes,
		.abandoned = early ? rare->live : 0,
		.abandoned_bytes = early ? rare->live_bytes : 0,
		.at_peak = at_peak ? s->at_peak : 0,
		.at_peak_bytes = at_peak ? s->at_peak_bytes : 0,
		.max_size = s->max_size,
		.min_size = s->min_size,
		.size_step = s->size_step,
		.api = (uint8_t)site->api,
		.type = s->type,
		SUMS_EACH(IF_RARE, IF_RARE)
	};
#undef IF_RARE
	struct store_lifetime key = { .process = p->id, .stack = site->stack, .type = s->type };

	if (!at_peak)
		row.at_peak_variance = row.at_peak_bytes_variance = 0;
	if (early) {
		row.abandoned_variance = row.live_variance;
		row.abandoned_bytes_variance = row.live_bytes_variance;
		row.live_variance = row.live_bytes_variance = 0;
	}
	OUTPUT_PUT(output, store_put_stat, &row);
	put_lifetimes(output, &key, &s->ended);
	key.censored = true;
	put_lifetimes(output, &key, &rare->living);
	if (p->within)
		return;
	out->live += row.live;
	out->live_bytes += row.live_bytes;
	out->abandoned += row.abandoned;
	out->abandoned_bytes += row.abandoned_bytes;
}

static void put_site(struct output *output, const struct process *p, const struct site_stats *site,
		     struct sidecar_summary *out)
{
	for (const struct tally *s = site->stats; s; s = s->next)
		put_tally(output, p, site, s, out);
	if (site->peak_blocks) {
		struct store_peak row = { p->id,
					  site->stack,
					  site->tag,
					  site->peak_blocks,
					  site->peak_bytes,
					  ticks_ns(&output->ticks, site->peak_time) };

		OUTPUT_PUT(output, store_put_peak, &row);
	}
}

struct site_order {
	uint32_t stack, site;
};
ORDER_BY(by_stack, struct site_order, ORDER_UP(stack))

/* Writes the rows by stack, as the table is sorted: SQLite then appends them, and fills its
 * pages. */
static void put_stats(struct output *output, const struct process *p, struct sidecar_summary *out)
{
	const struct stats *stats = &p->stats;
	struct site_order *order = mem_alloc(stats->sites.count * sizeof(*order));
	size_t count = 0;

	for (uint32_t i = 0; i < stats->sites.count; i++)
		if (!stats->sites.at[i].tag)
			order[count++] = (struct site_order){ stats->sites.at[i].stack, i };
	if (count)
		qsort(order, count, sizeof(*order), by_stack);
	for (size_t i = 0; i < count; i++)
		for (const struct site_stats *site = &stats->sites.at[order[i].site]; site;
		     site = site->next ? &stats->sites.at[site->next] : NULL)
			put_site(output, p, site, out);
	free(order);
}

/* Writes the buckets with events: each of thousands of sleeping processes has two thousand empty
 * ones. */
static void put_buckets(struct output *output, const struct process *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->stats.bucket_count; i++) {
		const struct bucket *b = &p->stats.buckets[i];
		struct store_bucket row = { .process = p->id,
					    .start = (p->stats.bucket_first + i) *
						     p->stats.bucket_ns,
					    .length = p->stats.bucket_ns,
					    .allocs = b->allocs,
					    .frees = b->frees,
					    .alloc_bytes = b->alloc_bytes,
					    .free_bytes = b->free_bytes,
					    .live_blocks = b->live_blocks,
					    .live_bytes = b->live_bytes };

		if (!b->touched)
			continue;
		row.most_bytes = b->most_bytes > bytes ? b->most_bytes : bytes;
		bytes = b->live_bytes;
		OUTPUT_PUT(output, store_put_bucket, &row);
	}
}

/* Writes the peak of level 1 or 2. */
static void put_peak(struct output *output, unsigned level, const struct total *total)
{
	struct total_peak peak = total_highest(total);

	OUTPUT_PUT(output, store_put_session_peak, level, peak.blocks, peak.bytes,
		   ticks_ns(&output->ticks, peak.time),
		   ticks_ns(&output->ticks, total->peak.time));
}

static void put_mappings(struct output *output, const struct process *p)
{
	size_t past = p->space.past.count;

	for (size_t i = 0; i < past + p->space.live.count; i++) {
		const struct mapping *m =
			i < past ? &p->space.past.at[i] : &p->space.live.at[i - past];
		struct store_mapping row = { p->id,
					     m->module,
					     m->start,
					     m->end,
					     m->bias,
					     ticks_ns(&output->ticks, m->loaded),
					     m->unloaded ? ticks_ns(&output->ticks, m->unloaded)
							 : 0 };

		OUTPUT_PUT(output, store_put_mapping, &row);
	}
}

/* Writes the library's notes, one a line. */
static void put_notes(struct output *output, uint32_t process, const char *notes)
{
	char text[SHINY_TEXT], *save = NULL;

	snprintf(text, sizeof(text), "%s", notes);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		OUTPUT_PUT(output, store_put_note, process, line);
}

static void put_machine(struct output *output)
{
	char line[512], *value;
	struct utsname kernel;
	FILE *file = fopen("/proc/cpuinfo", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "model name", 10) || !(value = strstr(line, ": ")))
			continue;
		value[strcspn(value, "\n")] = '\0';
		OUTPUT_PUT(output, store_put_text, "cpu", value + 2);
		break;
	}
	if (file)
		fclose(file);
	if (!uname(&kernel)) {
		OUTPUT_PUT(output, store_put_text, "host", kernel.nodename);
		OUTPUT_PUT(output, store_put_text, "kernel", kernel.release);
	}
	OUTPUT_PUT(output, store_put_number, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static void put_session(struct session *session, struct sidecar_summary *out)
{
	struct output *output = &session->output;
	const struct process *first = session->people.all.count ? session->people.all.at[0] : NULL;
	OUTPUT_PUT(output, store_put_text, "version", SHINY_VERSION_TEXT);
	OUTPUT_PUT(output, store_put_number, "started_ns", output->start_realtime);
	OUTPUT_PUT(output, store_put_number, "started_boottime_ns", output->ticks.read_boottime);
	OUTPUT_PUT(output, store_put_number, "duration_ns", out->duration);
	OUTPUT_PUT(output, store_put_number, "rings", session->rings.all.count);
	OUTPUT_PUT(output, store_put_number, "ring_bytes", session->rings.all.at[0]->bytes);
	OUTPUT_PUT(output, store_put_number, "ticks_per_second", ticks_per_second(&output->ticks));
	OUTPUT_PUT(output, store_put_number, "leftover", session->options->leftover);
	OUTPUT_PUT(output, store_put_number, "spilled_bytes", spill_bytes(session->rings.spill));
	OUTPUT_PUT(output, store_put_number, "paused", session->rings.paused);
	OUTPUT_PUT(output, store_put_number, "rebooted", output->ticks.foreign);
	OUTPUT_PUT(output, store_put_number, "records", output->total_events);
	if (first) {
		OUTPUT_PUT(output, store_put_text, "executable", first->executable);
		OUTPUT_PUT(output, store_put_text, "command", first->command);
		OUTPUT_PUT(output, store_put_number, "depth", first->ring->depth);
	}
	put_machine(output);
}

/* Returns a new symbolizer; NULL: output.err says why. Without container rules, if they
 * are wrong: they cost types only. */
static struct sym *make_symbolizer(struct session *session)
{
	struct sym *sym = NULL;
	struct shiny_err *err = sym_create(&session->symbols, &sym);

	if (err && session->symbols.type_rules) {
		OUTPUT_PUT(&session->output, store_put_note, 0, err->message);
		shiny_err_free(err);
		session->symbols.type_rules = NULL;
		err = sym_create(&session->symbols, &sym);
	}
	if (err)
		output_fail(&session->output, err);
	return sym;
}

static void told_by_launcher(const struct people *people)
{
	struct process *p =
		roster_before(&people->roster, (uint32_t)people->launched.pid, UINT64_MAX, NULL);

	if (p && p->told < 0 && !p->replaced)
		p->told = people->launched.status;
}

void finish_session(struct session *session, struct sidecar_summary *out)
{
	struct output *output = &session->output;
	struct people *people = &session->people;
	size_t module_count = output->ids.modules.count;
	struct sym_module **modules = mem_zero(module_count + 1, sizeof(struct sym_module *));
	struct sym_vtable *vtables = mem_zero(output->ids.vtables.count + 1, sizeof(*vtables));
	struct sym *sym = resolve_ahead_take(session->ahead, modules, module_count + 1,
					     session->options->progress);

	session->ahead = NULL;
	total_until(&output->total, UINT64_MAX);
	total_until(&output->second, UINT64_MAX);
	for (size_t i = 0; i < people->all.count; i++) {
		struct process *p = people->all.at[i];
		uint64_t end = ticks_ns(&output->ticks, p->end ? p->end : p->last);

		process_settle(output, p);
		if (process_early(p))
			OUTPUT_PUT(output, store_drop_pages, p->id);
		if (end > out->duration)
			out->duration = end;
	}
	finish_write_new(output);
	if (!sym)
		sym = make_symbolizer(session);
	for (size_t i = 0; sym && i < module_count; i++) {
		const struct id_module *m = &output->ids.modules.at[i];
		char path[ID_MODULE_PATH];

		if (!modules[i + 1])
			output_fail(output, sym_module_open(sym, id_module_path(m, path), m->path,
							    m->build_id_bytes ? m->build_id : NULL,
							    m->build_id_bytes, &modules[i + 1]));
		if (!output->err)
			put_module(output, (uint32_t)i + 1, modules[i + 1]);
	}
	if (!output->err) {
		put_names(session, sym, modules, vtables);
		mappings_finish(people, output, modules);
		types_conclude(people, output, session->options,
			       &(struct types_names){ sym, modules, vtables });
		wrappers_find(people, output, sym, modules);
		called_names_find(output, modules);
		accesses_put_types(session->accesses, output);
	}
	/* naming may have found more debug files, and notes about missing ones: write the modules
	 * again */
	for (size_t i = 0; !output->err && i < module_count; i++)
		put_module(output, (uint32_t)i + 1, modules[i + 1]);
	told_by_launcher(people);
	for (size_t i = 0; i < people->all.count; i++) {
		struct process *p = people->all.at[i];

		process_read_status(p);
		put_stats(output, p, out);
		put_buckets(output, p);
		put_mappings(output, p);
		if (!p->forked && !p->within)
			put_notes(output, p->id, p->ring->notes);
		output_put_process(output, p);
		out->processes += !p->within;
	}
	put_peak(output, 1, &output->total);
	if (output->second.peak.bytes)
		put_peak(output, 2, &output->second);
	unseen_heaps_find(&session->rings, output);
	counter_rows_finish(&session->rings, people, output, out);
	out->unprobed = !session->symbols.no_cache && unseen_heaps_probe(&session->rings, output);
	out->threads = session->rings.threads;
	out->events = output->total_events;
	out->allocs = output->allocs;
	out->frees = output->frees;
	put_session(session, out);
	sym_destroy(sym);
	free(modules);
	free(vtables);
}
