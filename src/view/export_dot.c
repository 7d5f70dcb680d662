/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_dot.c: the tree of `shinyctl tree` in Graphviz's language: a node a line of it, an edge to
 * each child, darker the larger its share.
 *
 * In a label Graphviz expands \N and its like, and HTML's entities: backslashes and ampersands of
 * names are escaped as well as quotation marks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/units.h"
#include "export.h"

struct dot_writer {
	FILE *out;
	uint64_t total, count; /* count: nodes so far */
	bool blocks;           /* values are blocks, not bytes */
};

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

static void put_node(struct dot_writer *w, const struct tree_node *node)
{
	uint64_t id = w->count++;
	double share = w->total ? (double)node->value / (double)w->total : 0;

	fprintf(w->out, "n%" PRIu64 " [label=\"", id);
	put_text(w->out, node->name);
	fprintf(w->out, "\\n%s (%.2f%%)\", tooltip=\"%" PRIu64 " %s\"",
		w->blocks ? units_count(UNITS_BUF, node->value)
			  : units_bytes(UNITS_BUF, node->value),
		share * 100, node->value, w->blocks ? "blocks" : "bytes");
	fprintf(w->out, ", fillcolor=\"0.08 %.3f 1\"];\n", share);
	for (size_t i = 0; i < node->count; i++) {
		fprintf(w->out, "n%" PRIu64 " -> n%" PRIu64 ";\n", id, w->count);
		put_node(w, &node->children[i]);
	}
}

static struct shiny_err *load_components(const struct export_job *job, enum tree_measure measure,
					 struct tree_node *root)
{
	struct component_rules *rules = NULL;
	struct components components = { 0 };
	struct shiny_err *err = component_rules_load(NULL, 0, &rules);

	if (err)
		return err;
	err = tree_load_components(job->sums, job->filter, measure, rules, NULL, job->threshold,
				   job->full_names, root, &components);
	if (!err)
		components_deinit(&components);
	component_rules_free(rules);
	return err;
}

struct shiny_err *export_dot(const struct export_job *job)
{
	/* the peak has no tree: the stacks' own peaks do not add up to a heap that ever existed */
	enum tree_measure measure = job->measure == MEASURE_BYTES    ? TREE_BYTES
				    : job->measure == MEASURE_ALLOCS ? TREE_ALLOCS
								     : TREE_LIVE;
	struct dot_writer w = { .out = job->out, .blocks = measure == TREE_ALLOCS };
	struct tree_node root = { 0 };
	struct shiny_err *err =
		job->by == GROUP_COMPONENT
			? load_components(job, measure, &root)
			: tree_load(job->sums, job->filter, measure, job->by, NULL,
				    job->threshold, job->full_names, &root);

	if (err)
		return err;
	w.total = root.value;
	fprintf(job->out, "// shinyctl " SHINY_VERSION_TEXT "; %s\n", job->loss);
	fputs("digraph heap {\nrankdir=LR;\nnode [shape=box, style=filled, fontname=\"sans\"];\n",
	      job->out);
	fputs("label=\"", job->out);
	put_text(job->out, job->command);
	fputs("\";\n", job->out);
	put_node(&w, &root);
	fputs("}\n", job->out);
	tree_deinit(&root);
	return NULL;
}
