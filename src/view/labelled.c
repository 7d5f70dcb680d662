/* SPDX-License-Identifier: Apache-2.0 */
#include "labelled.h"

#include <stdlib.h>
#include <string.h>

#include "../analysis/totals/process_names.h"
#include "../base/cleanup.h"
#include "../base/row_order.h"

const char *const label_keys[LABEL_KINDS] = { "process", "type", "component", "tag" };
const struct value_name value_names[HEAP_VALUES] = { { "alloc_objects", "count" },
							  { "alloc_space", "bytes" },
							  { "inuse_objects", "count" },
							  { "inuse_space", "bytes" } };
#define OTHER "(other)"

/* The names that labels come from. */
struct label_names {
	const struct profile *profile;
	unsigned kinds;
	struct process_names processes;
	struct groups components;
	char **tags; /* by id */
	size_t tag_limit;
};

static void names_deinit(struct label_names *names)
{
	process_names_deinit(&names->processes);
	groups_deinit(&names->components);
	for (size_t i = 0; i < names->tag_limit; i++)
		free(names->tags[i]);
	free(names->tags);
}

static struct shiny_err *load_tags(struct store *store, struct label_names *names)
{
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(store, "SELECT id, name FROM tag", &q);

	names->tag_limit = store_ids(store, "tag");
	names->tags = mem_zero(names->tag_limit, sizeof(*names->tags));
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, names->tag_limit);

		if (id && !names->tags[id])
			names->tags[id] = query_copy(q, 1);
	}
	return err;
}

static struct shiny_err *load_names(struct store *store, struct label_names *names)
{
	if (names->kinds & 1 << LABEL_PROCESS)
		SHINY_TRY(process_names_load(store, &names->processes));
	if (names->kinds & 1 << LABEL_COMPONENT)
		SHINY_TRY(groups_load(store, GROUP_COMPONENT, false, &names->components));
	return load_tags(store, names);
}

/* Returns a sample's label; NULL: it has none. */
static const char *label_of(const struct label_names *names, const struct profile_sample *sample,
			    enum label_kind kind)
{
	const struct profile *p = names->profile;

	if (!(names->kinds & 1u << kind))
		return NULL;
	switch (kind) {
	case LABEL_PROCESS:
		return sample->process < names->processes.count
			       ? names->processes.of[sample->process].name
			       : NULL;
	case LABEL_TYPE: return profile_text(p, p->types[sample->type]);
	case LABEL_COMPONENT:
		return names->components.names[groups_find_ids(&names->components, sample->type,
							       sample->stack)];
	default: return sample->tag < names->tag_limit ? names->tags[sample->tag] : NULL;
	}
}

static const char *keep_text(struct labelled *to, const char *text)
{
	uint32_t number;

	if (!text)
		return NULL;
	number = texts_put(&to->texts, text); /* it moves `at` */
	return to->texts.at[number];
}

/* Returns the index of a set of labels. */
static uint32_t put_set(struct labelled *to, const struct label_set *set)
{
	AUTO_FREE char *key = NULL;
	struct label_set *kept;
	size_t bytes;
	FILE *text = mem_stream_open(&key, &bytes);
	uint32_t index;

	fprintf(text, "%u", set->pid);
	for (size_t k = 0; k < LABEL_KINDS; k++)
		fprintf(text, "\n%c%s", set->text[k] ? '=' : '-', set->text[k] ?: "");
	mem_stream_close(text);
	index = texts_put(&to->keys, key);
	if (index < to->set_count)
		return index;
	kept = rows_push(&to->sets, &to->set_count, &to->set_room, sizeof(*kept));
	kept->pid = set->pid;
	for (size_t k = 0; k < LABEL_KINDS; k++)
		kept->text[k] = keep_text(to, set->text[k]);
	return index;
}

static void add_sample(struct labelled *to, const struct label_names *names,
		       const struct profile_sample *sample)
{
	struct labelled_sample *added;
	struct label_set set = { .pid = 0 };

	if (!sample->sums.allocs && !sample->sums.bytes && !sample->sums.live)
		return;
	for (size_t k = 0; k < LABEL_KINDS; k++)
		set.text[k] = label_of(names, sample, k);
	if (set.text[LABEL_PROCESS])
		set.pid = names->processes.of[sample->process].pid;
	added = rows_push(&to->samples, &to->count, &to->room, sizeof(*added));
	added->stack = sample->stack;
	added->set = put_set(to, &set);
	added->values[HEAP_ALLOCS] = sample->sums.allocs;
	added->values[HEAP_BYTES] = sample->sums.bytes;
	added->values[HEAP_LIVE] = sample->sums.live;
	added->values[HEAP_LIVE_BYTES] = sample->sums.live_bytes;
	to->sets[added->set].bytes += sample->sums.bytes + sample->sums.live_bytes;
}

struct ranked {
	uint64_t bytes;
	uint32_t set;
};
ORDER_BY(by_rank, struct ranked, ORDER_DOWN(bytes) ?: ORDER_UP(set))

/* Replaces the sets of the fewest bytes, so that no more than `most` remain in use. One in place of
 * those of a process is one of them. */
static void limit_sets(struct labelled *to, size_t most, size_t processes)
{
	size_t count = to->set_count, kept = most > processes ? most - processes : 0;
	struct ranked *order;
	uint32_t *now;

	if (!most || count <= most)
		return;
	order = mem_zero(count, sizeof(*order));
	now = mem_zero(count, sizeof(*now));
	for (uint32_t i = 0; i < count; i++)
		order[i] = (struct ranked){ to->sets[i].bytes, i };
	qsort(order, count, sizeof(*order), by_rank);
	for (size_t i = 0; i < count; i++) {
		struct label_set set = to->sets[order[i].set];

		for (size_t k = 0; i >= kept && k < LABEL_KINDS; k++)
			if (k != LABEL_PROCESS && set.text[k])
				set.text[k] = k == LABEL_TAG ? NULL : OTHER;
		now[order[i].set] = put_set(to, &set);
	}
	for (size_t i = 0; i < to->count; i++)
		to->samples[i].set = now[to->samples[i].set];
	free(order);
	free(now);
}

ORDER_BY(by_stack, struct labelled_sample, ORDER_UP(stack) ?: ORDER_UP(set))

static void merge_samples(struct labelled *to)
{
	size_t kept = 0;

	if (to->count)
		qsort(to->samples, to->count, sizeof(*to->samples), by_stack);
	for (size_t i = 0; i < to->count; i++) {
		struct labelled_sample *last = kept ? &to->samples[kept - 1] : NULL;

		if (!last || by_stack(last, &to->samples[i]) != 0) {
			to->samples[kept++] = to->samples[i];
			continue;
		}
		for (size_t v = 0; v < HEAP_VALUES; v++)
			last->values[v] += to->samples[i].values[v];
	}
	to->count = kept;
}

struct shiny_err *labelled_load(struct store *store, const struct profile *profile,
				struct label_choice choice, struct labelled *out)
{
	SHINY_CLEANUP(names_deinit)
	struct label_names names = { .profile = profile, .kinds = choice.kinds };

	SHINY_TRY(load_names(store, &names));
	for (size_t i = 0; i < profile->sample_count; i++)
		add_sample(out, &names, &profile->samples[i]);
	limit_sets(out, choice.sets, names.processes.count);
	merge_samples(out);
	return NULL;
}

void labelled_deinit(struct labelled *labelled)
{
	free(labelled->samples);
	free(labelled->sets);
	texts_deinit(&labelled->texts);
	texts_deinit(&labelled->keys);
	*labelled = (struct labelled){ 0 };
}
