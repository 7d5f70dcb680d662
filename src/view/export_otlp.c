/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_otlp.c: OpenTelemetry's ExportProfilesServiceRequest, as one POSTs it to an OTLP receiver
 * (https://github.com/open-telemetry/opentelemetry-proto, v1development of 1.9 to 1.11).
 *
 * A profile there has one value a sample, so that there are four, of the samples and names of
 * pprof's (export_pprof.c). Entry 0 of each table of the dictionary is empty, as the schema asks.
 * Addresses are those in the module's file.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/text.h"
#include "export.h"
#include "proto.h"

/* Field numbers of the messages. */
enum { REQUEST_RESOURCES = 1, REQUEST_DICTIONARY };
enum { RESOURCES_RESOURCE = 1, RESOURCES_SCOPES };
enum { RESOURCE_ATTRIBUTE = 1, ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { ANY_TEXT = 1, ANY_NUMBER = 3 };
enum { SCOPES_SCOPE = 1, SCOPES_PROFILE, SCOPE_NAME = 1, SCOPE_VERSION };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_TIME, PROFILE_DURATION };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_VALUES = 4 };
enum { TABLE_MAPPING = 1, TABLE_LOCATION, TABLE_FUNCTION, TABLE_LINK, TABLE_STRING };
enum { TABLE_ATTRIBUTE = 6, TABLE_STACK };
enum { MAPPING_FILE = 4, STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINE, LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_NAME = 1, FUNCTION_FILE = 3 };

struct otlp_writer {
	const struct export_job *job;
	struct labelled labelled;
	struct texts strings;	    /* [0] is "" */
	struct texts functions;	    /* "name\nfile": its index + 1 is the function's */
	struct proto tables;	    /* the dictionary */
	struct proto message, inner, packed;
	uint32_t *stacks;     /* stack id → index in the table; 0: not in it yet */
	uint32_t stack_count; /* in the table, with the empty one */
	uint32_t *sets;	      /* index of labelled.sets → the first of its attributes */
	uint32_t attributes;  /* in the table, with the empty one */
};

static void add_string(struct otlp_writer *w, unsigned field, const char *text)
{
	proto_number(&w->message, field, texts_put(&w->strings, text));
}

/* Adds `message` to a message, and empties it. */
static void move_to(struct otlp_writer *w, struct proto *to, unsigned field)
{
	proto_message(to, field, &w->message);
	w->message.count = 0;
}

/* ---- the dictionary ---- */

static void add_value(struct otlp_writer *w, unsigned field, const char *text, uint64_t number)
{
	w->inner.count = 0;
	if (text)
		proto_text(&w->inner, ANY_TEXT, text);
	else
		proto_number(&w->inner, ANY_NUMBER, number);
	proto_message(&w->message, field, &w->inner);
}

static void add_attribute(struct otlp_writer *w, const char *key, const char *text,
			  uint64_t number)
{
	add_string(w, ATTRIBUTE_KEY, key);
	add_value(w, ATTRIBUTE_VALUE, text, number);
	move_to(w, &w->tables, TABLE_ATTRIBUTE);
	w->attributes++;
}

/* Adds the attributes of each set, one behind the other. */
static void add_sets(struct otlp_writer *w)
{
	move_to(w, &w->tables, TABLE_ATTRIBUTE);
	w->attributes = 1;
	w->sets = mem_zero(w->labelled.set_count + 1, sizeof(*w->sets));
	for (size_t i = 0; i < w->labelled.set_count; i++) {
		const struct label_set *set = &w->labelled.sets[i];

		w->sets[i] = w->attributes;
		for (size_t k = 0; k < LABEL_KINDS; k++)
			if (set->text[k])
				add_attribute(w, label_keys[k], set->text[k], 0);
		if (set->text[LABEL_PROCESS])
			add_attribute(w, LABEL_PID, NULL, set->pid);
	}
	w->sets[w->labelled.set_count] = w->attributes;
}

/* Returns the index of a sample's stack; the location behind the last frame's stands for none. */
static uint32_t stack_index(struct otlp_writer *w, uint32_t id)
{
	const struct stack_paths *code = &w->job->profile->code;
	const struct path_stack *stack = &code->stacks[id];

	if (w->stacks[id])
		return w->stacks[id];
	w->packed.count = 0;
	for (uint32_t i = 0; i < stack->count; i++)
		proto_packed(&w->packed, code->path.at[stack->first + i]);
	if (!stack->count)
		proto_packed(&w->packed, code->frame_limit);
	proto_message(&w->message, STACK_LOCATIONS, &w->packed);
	move_to(w, &w->tables, TABLE_STACK);
	return w->stacks[id] = w->stack_count++;
}

static void add_line(struct otlp_writer *w, const char *name, const char *file, uint32_t line)
{
	AUTO_FREE char *key = mem_format("%s\n%s", name, file);

	w->inner.count = 0;
	proto_number(&w->inner, LINE_FUNCTION, texts_put(&w->functions, key) + UINT64_C(1));
	proto_number(&w->inner, LINE_LINE, line);
	proto_message(&w->message, LOCATION_LINE, &w->inner);
}

static void add_locations(struct otlp_writer *w)
{
	const struct profile *p = w->job->profile;

	move_to(w, &w->tables, TABLE_LOCATION);
	for (size_t id = 1; id < p->code.frame_limit; id++) {
		const struct path_frame *frame = &p->code.frames[id];

		if (frame->count) {
			proto_number(&w->message, LOCATION_MAPPING, frame->module);
			proto_number(&w->message, LOCATION_ADDRESS, frame->vaddr);
		}
		for (uint32_t k = 0; k < frame->count; k++) {
			const struct path_function *line = &p->code.functions.at[frame->first + k];

			add_line(w, profile_text(p, line->name), profile_text(p, line->file),
				 line->line);
		}
		move_to(w, &w->tables, TABLE_LOCATION);
	}
	add_line(w, "(no stack)", "", 0);
	move_to(w, &w->tables, TABLE_LOCATION);
}

static void add_functions(struct otlp_writer *w)
{
	move_to(w, &w->tables, TABLE_FUNCTION);
	for (size_t i = 0; i < w->functions.count; i++) {
		char *name = w->functions.at[i], *file = strchr(name, '\n');

		*file = '\0';
		add_string(w, FUNCTION_NAME, name);
		add_string(w, FUNCTION_FILE, file + 1);
		*file = '\n';
		move_to(w, &w->tables, TABLE_FUNCTION);
	}
}

static struct shiny_err *add_mappings(struct otlp_writer *w)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		store_query(w->job->store, "SELECT id, path FROM module ORDER BY id", &q);
	uint32_t next = 0;

	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, store_ids(w->job->store, "module"));

		for (; next < id; next++)
			move_to(w, &w->tables, TABLE_MAPPING);
		if (!id || id != next)
			continue;
		add_string(w, MAPPING_FILE, query_text(q, 1));
		move_to(w, &w->tables, TABLE_MAPPING);
		next++;
	}
	if (!next)
		move_to(w, &w->tables, TABLE_MAPPING);
	return err;
}

/* ---- profiles ---- */

static void add_samples(struct otlp_writer *w, size_t value, struct proto *profile)
{
	for (size_t i = 0; i < w->labelled.count; i++) {
		const struct labelled_sample *sample = &w->labelled.samples[i];

		if (!sample->values[value])
			continue;
		w->packed.count = 0;
		for (uint32_t a = w->sets[sample->set]; a < w->sets[sample->set + 1]; a++)
			proto_packed(&w->packed, a);
		proto_number(&w->message, SAMPLE_STACK, w->stacks[sample->stack]);
		proto_message(&w->message, SAMPLE_ATTRIBUTES, &w->packed);
		w->packed.count = 0;
		proto_packed(&w->packed, sample->values[value]);
		proto_message(&w->message, SAMPLE_VALUES, &w->packed);
		move_to(w, profile, PROFILE_SAMPLE);
	}
}

static void add_profiles(struct otlp_writer *w, struct proto *scopes)
{
	const struct profile *p = w->job->profile;
	struct proto profile = { 0 };

	for (size_t v = 0; v < HEAP_VALUES; v++) {
		add_string(w, TYPE_NAME, value_names[v].name);
		add_string(w, TYPE_UNIT, value_names[v].unit);
		move_to(w, &profile, PROFILE_TYPE);
		add_samples(w, v, &profile);
		proto_fixed(&profile, PROFILE_TIME, p->time);
		proto_number(&profile, PROFILE_DURATION, p->duration);
		proto_message(scopes, SCOPES_PROFILE, &profile);
		profile.count = 0;
	}
	free(profile.at);
}

static void add_resource_attribute(struct otlp_writer *w, struct proto *resource, const char *key,
				   const char *text, uint64_t number)
{
	proto_text(&w->message, ATTRIBUTE_KEY, key);
	add_value(w, ATTRIBUTE_VALUE, text, number);
	move_to(w, resource, RESOURCE_ATTRIBUTE);
}

static void add_resource(struct otlp_writer *w, struct proto *resources)
{
	AUTO_FREE char *program = profile_service(w->job->command);
	struct proto resource = { 0 }, scopes = { 0 };

	add_resource_attribute(w, &resource, "service.name",
			       w->job->service ?: program, 0);
	add_resource_attribute(w, &resource, "process.pid", NULL, w->job->pid);
	proto_message(resources, RESOURCES_RESOURCE, &resource);
	proto_text(&w->message, SCOPE_NAME, "shiny");
	proto_text(&w->message, SCOPE_VERSION, SHINY_VERSION_TEXT);
	move_to(w, &scopes, SCOPES_SCOPE);
	add_profiles(w, &scopes);
	proto_message(resources, RESOURCES_SCOPES, &scopes);
	free(resource.at);
	free(scopes.at);
}

static struct shiny_err *write_request(struct otlp_writer *w)
{
	struct proto resources = { 0 };

	texts_put(&w->strings, "");
	SHINY_TRY(labelled_load(w->job->store, w->job->profile, w->job->labels, &w->labelled));
	w->stacks = mem_zero(w->job->profile->code.stack_limit + 1, sizeof(*w->stacks));
	SHINY_TRY(add_mappings(w));
	add_locations(w);
	add_functions(w);
	move_to(w, &w->tables, TABLE_LINK);
	add_sets(w);
	move_to(w, &w->tables, TABLE_STACK);
	w->stack_count = 1;
	for (size_t i = 0; i < w->labelled.count; i++)
		stack_index(w, w->labelled.samples[i].stack);
	add_resource(w, &resources);
	for (size_t i = 0; i < w->strings.count; i++)
		proto_text(&w->tables, TABLE_STRING, w->strings.at[i]);
	proto_message(&w->message, REQUEST_RESOURCES, &resources);
	proto_message(&w->message, REQUEST_DICTIONARY, &w->tables);
	proto_flush(&w->message, w->job->out);
	free(resources.at);
	return NULL;
}

struct shiny_err *export_otlp(const struct export_job *job)
{
	struct otlp_writer w = { .job = job };
	struct shiny_err *err = write_request(&w);

	labelled_deinit(&w.labelled);
	texts_deinit(&w.strings);
	texts_deinit(&w.functions);
	free(w.tables.at);
	free(w.message.at);
	free(w.inner.at);
	free(w.packed.at);
	free(w.stacks);
	free(w.sets);
	return err;
}
