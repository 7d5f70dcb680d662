/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_massif.c: the file of massif (valgrind), which ms_print and massif-visualizer show: live
 * bytes over time, and at the session's peak the tree of callers.
 *
 * A snapshot stands for the end of an interval of `shinyctl activity`; the peak's own snapshot,
 * with its time, comes before that of its interval. Stacks are sorted, so a node of the tree is a
 * run of them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../analysis/time/activity.h"
#include "../base/row_order.h"
#include "../base/text.h"
#include "export.h"

#define MASSIF_THRESHOLD 0.01
enum { MASSIF_DEPTH = 60 };

struct massif_leaf { /* a stack that was live at the peak */
	const uint32_t *walk;
	size_t count;
	uint64_t bytes;
};
struct massif_node { /* a range of children */
	size_t first, last; /* leaves */
	uint64_t bytes;
};
struct massif_tree {
	const struct profile *profile;
	FILE *out;
	struct massif_leaf *leaves;
	size_t count;
	struct path_walk walks; /* the stacks of all leaves, one after the other */
};

static int by_walk(const void *left, const void *right)
{
	const struct massif_leaf *a = left, *b = right;

	for (size_t i = 0; i < a->count && i < b->count; i++)
		if (a->walk[i] != b->walk[i])
			return a->walk[i] < b->walk[i] ? -1 : 1;
	return (a->count > b->count) - (a->count < b->count);
}

ORDER_BY(by_node_bytes, struct massif_node, ORDER_DOWN(bytes) ?: ORDER_UP(first))

/* Writes a name with @ for #, which begins a comment, as in main()::{lambda()#1}. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++)
		putc_unlocked(*text == '#' ? '@' : *text, out);
}

static void put_label(struct massif_tree *t, const struct massif_leaf *leaf, size_t depth)
{
	const struct profile *p = t->profile;
	const struct path_function *line;

	if (!depth) {
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", t->out);
		return;
	}
	line = &p->code.functions.at[leaf->walk[depth - 1]];
	fprintf(t->out, "0x%" PRIX64 ": ", p->code.frames[line->frame].vaddr);
	put_text(t->out, profile_text(p, line->name));
	if (*profile_text(p, line->file)) {
		fputs(" (", t->out);
		put_text(t->out, text_base(profile_text(p, line->file)));
		fprintf(t->out, ":%" PRIu32 ")\n", line->line);
	} else {
		fputs(" (in ?)\n", t->out);
	}
}

/* Writes a node: the leaves from `first` on that share `depth` functions. */
static void put_node(struct massif_tree *t, size_t first, size_t last, size_t depth, uint64_t bytes,
		     uint64_t all)
{
	VEC(struct massif_node) nodes = { 0 };
	size_t shown = 0;
	uint64_t small = 0;

	for (size_t i = first; i < last && depth < MASSIF_DEPTH;) {
		struct massif_node node = { .first = i };

		if (t->leaves[i].count <= depth) { /* the stack ends here */
			i++;
			continue;
		}
		for (; i < last && t->leaves[i].walk[depth] == t->leaves[node.first].walk[depth];
		     i++)
			node.bytes += t->leaves[i].bytes;
		node.last = i;
		*vec_push(&nodes) = node;
	}
	if (nodes.count)
		qsort(nodes.at, nodes.count, sizeof(*nodes.at), by_node_bytes);
	while (shown < nodes.count &&
	       (double)nodes.at[shown].bytes >= MASSIF_THRESHOLD * (double)all)
		shown++;
	for (size_t i = shown; i < nodes.count; i++)
		small += nodes.at[i].bytes;
	fprintf(t->out, "%*sn%zu: %" PRIu64 " ", (int)depth, "",
		shown + (shown < nodes.count), bytes);
	put_label(t, first < last ? &t->leaves[first] : NULL, depth);
	for (size_t i = 0; i < shown; i++)
		put_node(t, nodes.at[i].first, nodes.at[i].last, depth + 1, nodes.at[i].bytes, all);
	if (shown < nodes.count)
		fprintf(t->out, "%*sn0: %" PRIu64 " in %zu place%s, %sbelow massif's threshold "
				"(%.2f%%)\n",
			(int)depth + 1, "", small, nodes.count - shown,
			nodes.count - shown == 1 ? "" : "s",
			nodes.count - shown == 1 ? "" : "all ", MASSIF_THRESHOLD * 100);
	free(nodes.at);
}

static void put_tree(const struct export_job *job)
{
	const struct profile *p = job->profile;
	struct massif_tree t = { .profile = p, .out = job->out };
	struct path_walk walk = { 0 };
	size_t used = 0;

	t.leaves = mem_zero(p->sample_count + 1, sizeof(*t.leaves));
	for (size_t i = 0; i < p->sample_count; i++) {
		if (!p->samples[i].peak_bytes)
			continue;
		stack_paths_walk(&p->code, p->samples[i].stack, &walk);
		for (size_t k = 0; k < walk.count; k++)
			*vec_push(&t.walks) = walk.at[k];
		t.leaves[t.count].count = walk.count;
		t.leaves[t.count++].bytes = p->samples[i].peak_bytes;
	}
	for (size_t i = 0; i < t.count; used += t.leaves[i++].count)
		t.leaves[i].walk = t.walks.at + used;
	if (t.count)
		qsort(t.leaves, t.count, sizeof(*t.leaves), by_walk);
	put_node(&t, 0, t.count, 0, p->at_peak.bytes, p->at_peak.bytes);
	free(walk.at);
	free(t.walks.at);
	free(t.leaves);
}

static void put_snapshot(const struct export_job *job, size_t number, uint64_t ns, uint64_t bytes,
			 bool peak)
{
	fprintf(job->out,
		"#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		number, ns / 1000000, bytes, peak ? "peak" : "empty");
	if (peak)
		put_tree(job);
}

struct shiny_err *export_massif(const struct export_job *job)
{
	const struct profile *p = job->profile;
	struct activity activity;
	size_t number = 0;
	bool peak = false;
	unsigned flags = ACTIVITY_NO_PAGES | ACTIVITY_NO_TYPES |
			 (job->progress ? ACTIVITY_PROGRESS : 0);
	struct shiny_err *err = activity_load(job->store, job->filter, 0, flags, &activity);

	if (err)
		return err;
	fprintf(job->out, "desc: shinyctl " SHINY_VERSION_TEXT "; %s\ncmd: ", job->loss);
	put_text(job->out, job->command);
	fputs("\ntime_unit: ms\n", job->out);
	put_snapshot(job, number++, 0, 0, false);
	for (size_t i = 0; i < activity.total.count; i++) {
		uint64_t end = (activity.total.first + i + 1) * activity.interval;
		bool last = i + 1 == activity.total.count;

		if (p->at_peak.bytes && !peak && (p->peak_time < end || last)) {
			put_snapshot(job, number++, p->peak_time, p->at_peak.bytes, true);
			peak = true;
		}
		put_snapshot(job, number++, end < activity.duration ? end : activity.duration,
			     activity.total.points[i].live.bytes, false);
	}
	activity_deinit(&activity);
	return NULL;
}
