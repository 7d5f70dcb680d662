/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_places.c: see source_places.h.
 *
 * A place is given only if it can hardly be another one. A function that names a file lies in it.
 * Any other lies where its neighbours lie, if the linker kept the order (source_order.c), unless it
 * is shared: then it lies by chance where the first object file that has it lies
 * (source_callers.c). Functions of headers lie between two functions of one file, too: one that
 * other files call is only placed in that file's directory.
 */
#include "source_places.h"

#include <stdlib.h>

#include "../../src/base/cleanup.h"
#include "source_file.h"
#include "source_names.h"
#include "source_titles.h"

struct source_places {
	const struct binary *file;
	struct source_functions functions;
	struct source_order order;
	struct source_callees callees;
	struct code_labels labels;
	bool cached, doubtful;
};

/* False: the file is larger than any program, or made to look so. */
static bool find(struct source_places *places, const struct flow_code *code, const char *cache)
{
	struct source_texts texts;
	bool whole;

	if (cache && source_file_read(cache, code->file, &places->functions, &places->callees,
				      &places->labels)) {
		places->cached = true;
		return source_order_find(code->file, &places->functions, &places->order);
	}
	source_texts_find(code->file, &texts);
	whole = source_functions_find(code, &texts, &places->functions) &&
		source_titles_find(code, &places->functions) &&
		source_order_find(code->file, &places->functions, &places->order) &&
		source_callees_find(code->file, &places->order, &places->callees);
	source_texts_deinit(&texts);
	code_labels_find(code, &places->labels);
	if (whole && cache)
		source_file_write(cache, code->file, &places->functions, &places->callees,
				  &places->labels);
	return whole;
}

struct source_places *source_places_open(const struct flow_code *code, const char *cache_dir,
					 bool no_cache)
{
	AUTO_FREE char *cache = no_cache ? NULL : source_file_path(code->file, cache_dir);
	struct source_places *places = mem_zero(1, sizeof(*places));

	places->file = code->file;
	if (find(places, code, cache) &&
	    (places->functions.all.count || places->functions.titles.count ||
	     places->labels.all.count)) {
		places->doubtful = source_functions_mixed(&places->functions);
		return places;
	}
	source_places_close(places);
	return NULL;
}

void source_places_close(struct source_places *places)
{
	if (!places)
		return;
	source_functions_deinit(&places->functions);
	source_order_deinit(&places->order);
	source_callees_deinit(&places->callees);
	code_labels_deinit(&places->labels);
	free(places);
}

static const char *place_of_neighbours(const struct source_places *places,
				       const struct flow_code *code, uint64_t vaddr)
{
	const struct source_node *nodes = places->order.tree.nodes.at;
	uint32_t node, flags;
	size_t span;

	if (!source_order_at(&places->order, vaddr, &span))
		return NULL;
	node = places->order.spans.at[span].node;
	if (!node || !source_callees_flags(&places->callees, code, vaddr, &flags) ||
	    flags & SOURCE_SHARED)
		return NULL;
	if (flags & SOURCE_OUTSIDE && nodes[node].is_file)
		node = nodes[node].parent;
	return nodes[node].component ? nodes[node].text : NULL;
}

const char *source_places_at(const struct source_places *places, const struct flow_code *code,
			     uint64_t vaddr)
{
	const struct source_function *function = source_functions_at(&places->functions, vaddr);

	if (function && function->name == SOURCE_UNSURE && !places->order.holds)
		return NULL;
	if (function)
		return function->path ? binary_string(places->file, function->path,
						      SOURCE_TEXT_MAX)
				      : NULL;
	return place_of_neighbours(places, code, vaddr);
}

bool source_places_doubtful(const struct source_places *places)
{
	return places->doubtful;
}

const char *source_places_name(const struct source_places *places, uint64_t vaddr, size_t *length,
			       bool *sure)
{
	const struct source_function *function = source_functions_at(&places->functions, vaddr),
				     *title = source_titles_at(&places->functions, vaddr);
	const char *text;

	*sure = true;
	if (function && function->name && function->name != SOURCE_UNSURE) {
		text = binary_string(places->file, function->name, SOURCE_TEXT_MAX);
		return text ? source_name_in(text, length) : NULL;
	}
	text = title && title->name ? binary_string(places->file, title->name, SOURCE_TEXT_MAX)
				    : NULL;
	text = text ? source_title_in(text, length, sure) : NULL;
	return *sure && function && places->functions.inlined ? NULL : text;
}

const char *source_places_label(const struct source_places *places, uint64_t vaddr,
				size_t *length)
{
	return code_labels_at(&places->labels, vaddr, length);
}

void source_places_info(const struct source_places *places, struct source_places_info *out)
{
	*out = (struct source_places_info){ .evidence = places->order.evidence,
					    .neighbours = places->order.holds,
					    .cached = places->cached };
	for (size_t i = 0; i < places->functions.all.count; i++)
		out->named += places->functions.all.at[i].name &&
			      places->functions.all.at[i].name != SOURCE_UNSURE;
	for (size_t i = 0; i < places->functions.titles.count; i++)
		out->titled += places->functions.titles.at[i].name != 0;
}
