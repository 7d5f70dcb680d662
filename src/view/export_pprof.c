/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_pprof.c: pprof's profile.proto
 * (https://github.com/google/pprof/blob/main/proto/profile.proto), not compressed.
 *
 * A sample is a stack and its labels (labelled.h); its values are allocated objects and bytes and
 * those live at the end, under the names that Go's heap profiles have. "pid" is a number. The file
 * has names, so that pprof looks for no symbols; addresses are those in the module's file, plus the
 * module's number << MODULE_SHIFT, as one session has many address spaces. Functions have no system
 * name: pprof would demangle names equal to it, and remove parameters and template arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "export.h"
#include "proto.h"

/* Field numbers of the messages. */
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION };
enum { PROFILE_STRING = 6, PROFILE_TIME = 9, PROFILE_DURATION };
enum { PROFILE_COMMENT = 13, PROFILE_DEFAULT };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STRING, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_FILE = 5, MAPPING_BUILD_ID };
enum { MAPPING_FUNCTIONS = 7, MAPPING_FILES, MAPPING_LINES, MAPPING_INLINE };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

enum { MODULE_SHIFT = 44 }; /* addresses in a file are below 1 << 44 */

struct pprof_writer {
	const struct export_job *job;
	struct texts strings;	/* [0] is "" */
	struct texts functions; /* "name\nfile": its index + 1 is the function's id */
	struct proto message, inner, packed;
};

static void put(struct pprof_writer *w, unsigned field)
{
	struct proto whole = { 0 };

	proto_message(&whole, field, &w->message);
	proto_flush(&whole, w->job->out);
	free(whole.at);
	w->message.count = 0;
}

static void number(struct pprof_writer *w, unsigned field, const char *text)
{
	proto_number(&w->message, field, texts_put(&w->strings, text));
}

static void put_value_type(struct pprof_writer *w, const char *type, const char *unit)
{
	number(w, VALUE_TYPE, type);
	number(w, VALUE_UNIT, unit);
	put(w, PROFILE_TYPE);
}

static void put_label(struct pprof_writer *w, const char *key, const char *text, uint64_t value)
{
	w->inner.count = 0;
	proto_number(&w->inner, LABEL_KEY, texts_put(&w->strings, key));
	if (text)
		proto_number(&w->inner, LABEL_STRING, texts_put(&w->strings, text));
	proto_number(&w->inner, LABEL_NUMBER, value);
	proto_message(&w->message, SAMPLE_LABEL, &w->inner);
}

static void put_sample(struct pprof_writer *w, const struct labelled *labelled,
		       const struct labelled_sample *sample)
{
	const struct profile *p = w->job->profile;
	const struct path_stack *stack = &p->code.stacks[sample->stack];
	const struct label_set *set = &labelled->sets[sample->set];

	w->packed.count = 0;
	for (uint32_t i = 0; i < stack->count; i++)
		proto_packed(&w->packed, p->code.path.at[stack->first + i]);
	if (!stack->count)
		proto_packed(&w->packed, p->code.frame_limit); /* stands for no stack */
	proto_message(&w->message, SAMPLE_LOCATION, &w->packed);
	w->packed.count = 0;
	for (size_t v = 0; v < HEAP_VALUES; v++)
		proto_packed(&w->packed, sample->values[v]);
	proto_message(&w->message, SAMPLE_VALUE, &w->packed);
	for (size_t k = 0; k < LABEL_KINDS; k++)
		if (set->text[k])
			put_label(w, label_keys[k], set->text[k], 0);
	if (set->text[LABEL_PROCESS])
		put_label(w, LABEL_PID, NULL, set->pid);
	put(w, PROFILE_SAMPLE);
}

static struct shiny_err *put_samples(struct pprof_writer *w)
{
	SHINY_CLEANUP(labelled_deinit) struct labelled labelled = { 0 };

	SHINY_TRY(labelled_load(w->job->store, w->job->profile, w->job->labels, &labelled));
	for (size_t i = 0; i < labelled.count; i++)
		put_sample(w, &labelled, &labelled.samples[i]);
	return NULL;
}

static struct shiny_err *put_mappings(struct pprof_writer *w)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err =
		store_query(w->job->store, "SELECT id, path, build_id FROM module", &q);

	QUERY_EACH (q, err) {
		uint64_t id = query_id(q, 0, store_ids(w->job->store, "module"));

		if (!id)
			continue;
		proto_number(&w->message, MAPPING_ID, id);
		proto_number(&w->message, MAPPING_START, id << MODULE_SHIFT);
		proto_number(&w->message, MAPPING_LIMIT, (id + 1) << MODULE_SHIFT);
		number(w, MAPPING_FILE, query_text(q, 1));
		number(w, MAPPING_BUILD_ID, query_text(q, 2));
		for (unsigned field = MAPPING_FUNCTIONS; field <= MAPPING_INLINE; field++)
			proto_number(&w->message, field, 1);
		put(w, PROFILE_MAPPING);
	}
	return err;
}

/* Returns the function's id. */
static uint64_t function_of(struct pprof_writer *w, const char *name, const char *file)
{
	char *key = mem_format("%s\n%s", name, file);
	uint64_t id = texts_put(&w->functions, key) + UINT64_C(1);

	free(key);
	return id;
}

static void add_line(struct pprof_writer *w, uint64_t function, uint32_t line)
{
	w->inner.count = 0;
	proto_number(&w->inner, LINE_FUNCTION, function);
	proto_number(&w->inner, LINE_LINE, line);
	proto_message(&w->message, LOCATION_LINE, &w->inner);
}

static uint64_t address_of(const struct path_frame *frame)
{
	const uint64_t inside = (UINT64_C(1) << MODULE_SHIFT) - 1;

	return frame->module ? (uint64_t)frame->module << MODULE_SHIFT | (frame->vaddr & inside)
			     : frame->vaddr;
}

static void put_locations(struct pprof_writer *w)
{
	const struct profile *p = w->job->profile;

	for (size_t id = 1; id < p->code.frame_limit; id++) {
		const struct path_frame *frame = &p->code.frames[id];

		if (!frame->count)
			continue;
		proto_number(&w->message, LOCATION_ID, id);
		proto_number(&w->message, LOCATION_MAPPING, frame->module);
		proto_number(&w->message, LOCATION_ADDRESS, address_of(frame));
		for (uint32_t k = 0; k < frame->count; k++) {
			const struct path_function *line = &p->code.functions.at[frame->first + k];

			add_line(w,
				 function_of(w, profile_text(p, line->name),
					     profile_text(p, line->file)),
				 line->line);
		}
		put(w, PROFILE_LOCATION);
	}
	proto_number(&w->message, LOCATION_ID, p->code.frame_limit);
	add_line(w, function_of(w, "(no stack)", ""), 0);
	put(w, PROFILE_LOCATION);
}

static void put_functions(struct pprof_writer *w)
{
	for (size_t i = 0; i < w->functions.count; i++) {
		char *name = w->functions.at[i], *file = strchr(name, '\n');

		*file = '\0';
		proto_number(&w->message, FUNCTION_ID, i + 1);
		number(w, FUNCTION_NAME, name);
		number(w, FUNCTION_FILE, file + 1);
		*file = '\n';
		put(w, PROFILE_FUNCTION);
	}
}

struct shiny_err *export_pprof(const struct export_job *job)
{
	struct pprof_writer w = { .job = job };
	struct shiny_err *err;

	texts_put(&w.strings, "");
	for (size_t v = 0; v < HEAP_VALUES; v++)
		put_value_type(&w, value_names[v].name, value_names[v].unit);
	err = put_samples(&w);
	if (!err)
		err = put_mappings(&w);
	if (!err) {
		put_locations(&w);
		put_functions(&w);
		proto_number(&w.message, PROFILE_TIME, job->profile->time);
		proto_number(&w.message, PROFILE_DURATION, job->profile->duration);
		number(&w, PROFILE_COMMENT, job->loss);
		number(&w, PROFILE_DEFAULT, value_names[HEAP_LIVE_BYTES].name);
		for (size_t i = 0; i < w.strings.count; i++)
			proto_text(&w.message, PROFILE_STRING, w.strings.at[i]);
		proto_flush(&w.message, job->out);
	}
	texts_deinit(&w.strings);
	texts_deinit(&w.functions);
	free(w.message.at);
	free(w.inner.at);
	free(w.packed.at);
	return err;
}
