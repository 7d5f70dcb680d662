/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tree.c: `shinyctl tree`: prints one measure as a tree with shares, like a browser's memory
 * page. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/space/memory.h"
#include "../../analysis/attribute/tree.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../dimension.h"
#include "../verb_body.h"

enum { BRANCH = 64 };

static void print_node(const struct style *style, const struct tree_node *node, uint64_t total,
		       bool blocks, const char *branch, const char *below)
{
	char value[UNITS_TEXT], *line;
	double share = total ? (double)node->value * 100 / (double)total : 0;
	size_t used, room;

	units_count(value, node->value);
	used = text_columns(branch) + strlen(value) + (blocks ? 0 : 2) + 14;
	room = !style->width && style->longest ? style->longest
	       : !style->width		       ? 4000
	       : style->width > used + 16      ? style->width - used
					       : 16;
	line = mem_alloc(4 * room + 8);
	text_fit(line, 4 * room + 8, node->name, room, TEXT_CUT_MIDDLE);
	fprintf(style->out, "%s%s%s %s(%05.2f%%)%s %s %s%s%s\n", branch, value, blocks ? "" : " B",
		tint(style, TINT_DIM), share, tint_end(style, TINT_DIM), node->folded ? "++" : "--",
		tint(style, node->folded ? TINT_DIM : TINT_NAME), line,
		tint_end(style, node->folded ? TINT_DIM : TINT_NAME));
	free(line);
	for (size_t i = 0; i < node->count; i++) {
		bool last = i + 1 == node->count;
		char next[BRANCH], after[BRANCH];

		snprintf(next, sizeof(next), "%s%s", below,
			 last ? "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 "
			      : "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 ");
		snprintf(after, sizeof(after), "%s%s", below, last ? "    " : "\xe2\x94\x82   ");
		print_node(style, &node->children[i], total, blocks, next, after);
	}
}

static void json_node(struct json *json, const char *key, const struct tree_node *nodes,
		      size_t count, uint64_t total)
{
	json_array(json, key);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i].count)
			json_object(json, NULL);
		else
			json_object_line(json, NULL);
		json_text(json, "name", nodes[i].name);
		json_number(json, "value", nodes[i].value);
		json_real(json, "share", total ? (double)nodes[i].value / (double)total : 0);
		if (nodes[i].folded)
			json_number(json, "folded", nodes[i].folded);
		if (nodes[i].count)
			json_node(json, "children", nodes[i].children, nodes[i].count, total);
		json_end(json);
	}
	json_end(json);
}

/* Puts the rules by which components own their allocations. */
static void json_components(struct json *json, const struct components *c)
{
	bool *told = mem_zero(c->names.count + 1, sizeof(*told));

	json_array(json, "components");
	for (size_t i = 0; i < c->owner_count; i++) {
		uint32_t name = c->owners[i].name;
		uint64_t value = 0;

		if (told[name])
			continue;
		told[name] = true;
		for (size_t n = i; n < c->owner_count; n++)
			value += c->owners[n].name == name ? c->owners[n].value : 0;
		json_object(json, NULL);
		json_text(json, "name", c->names.at[name]);
		json_number(json, "value", value);
		json_real(json, "share", c->total ? (double)value / (double)c->total : 0);
		json_array(json, "rules");
		for (size_t n = i; n < c->owner_count; n++) {
			const struct component_rule *rule = c->owners[n].rule;

			if (c->owners[n].name != name || !rule)
				continue;
			json_object_line(json, NULL);
			json_text(json, "kind", component_kind_names[rule->kind]);
			json_text(json, "pattern", rule->pattern);
			json_text(json, "file", rule->file);
			json_number(json, "line", rule->line);
			json_number(json, "value", c->owners[n].value);
			json_end(json);
		}
		json_end(json);
		json_end(json);
	}
	json_end(json);
	free(told);
}

static struct shiny_err *load_tree(struct ctl *ctl, struct store *store,
				   const struct component_rules *rules, struct tree_node *root,
				   struct components *components)
{
	enum tree_measure measure = (enum tree_measure)ctl->options.number[OPT_MEASURE];
	enum group_by by = dimension_group(ctl->options.by);
	const char *match = ctl->options.text[OPT_MATCH];
	double threshold = (double)ctl->options.number[OPT_THRESHOLD] / 1e6;
	bool full = ctl->options.given[OPT_FULL_NAMES];
	struct filter filter = { 0 };
	struct shiny_err *err = ctl_filter(ctl, store, &filter);

	if (!err && measure == TREE_RESIDENT) {
		struct memory_history memory = { 0 };

		err = memory_load(store, &filter, MEMORY_LAST, 0, &memory);
		if (!err)
			err = memory_tree(store, &memory, match, threshold, full, root);
		memory_deinit(&memory);
	} else if (!err && by == GROUP_COMPONENT) {
		err = tree_load_components(store, &filter, measure, rules, match, threshold, full,
					   root, components);
	} else if (!err) {
		err = tree_load(store, &filter, measure, by, match, threshold, full, root);
	}
	filter_deinit(&filter);
	return err;
}

static struct shiny_err *cmd_tree(struct ctl *ctl)
{
	static const char *const titles[] = {
		[TREE_LIVE] = "bytes live at the end",
		[TREE_BYTES] = "bytes requested in all",
		[TREE_ALLOCS] = "allocations",
		[TREE_PEAK] = "peak bytes (sum of the peaks of single stacks: an upper bound)",
		[TREE_RESIDENT] = "bytes resident when each process was last looked at",
	};
	/* options.def lists them in the order of the enum */
	enum tree_measure measure = (enum tree_measure)ctl->options.number[OPT_MEASURE];
	enum group_by by = dimension_group(ctl->options.by);
	struct component_rules *rules = NULL;
	struct components components = { 0 };
	struct store *store;
	struct tree_node root = { 0 };
	struct shiny_err *err = NULL;

	if (measure == TREE_PEAK && ctl->options.given[OPT_BY] && by != GROUP_SITE)
		return shiny_err(
			SHINY_ERR_USAGE,
			"tree: --measure peak: peaks are known by site, not by %s; use --by site",
			ctl->options.text[OPT_BY]);
	if (measure == TREE_RESIDENT && ctl->options.given[OPT_BY] && by != GROUP_TYPE)
		return shiny_err(
			SHINY_ERR_USAGE,
			"tree: --measure resident: what was live then is known by type, not by %s",
			ctl->options.text[OPT_BY]);
	if (ctl->options.component_count && by != GROUP_COMPONENT)
		return shiny_err(SHINY_ERR_USAGE, "tree: --components is for --by component");
	if (by == GROUP_COMPONENT)
		err = component_rules_load(ctl->options.components, ctl->options.component_count,
					   &rules);
	if (err)
		return err;
	err = store_open(ctl->options.operands[0], &store);
	if (err) {
		component_rules_free(rules);
		return err;
	}
	err = load_tree(ctl, store, rules, &root, &components);
	if (err) {
		component_rules_free(rules);
		store_close(store);
		return err;
	}
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_text(&ctl->json, "measure", ctl->options.text[OPT_MEASURE]);
		json_text(&ctl->json, "unit", measure == TREE_ALLOCS ? "blocks" : "bytes");
		json_number(&ctl->json, "total", root.value);
		json_node(&ctl->json, "children", root.children, root.count, root.value);
		if (by == GROUP_COMPONENT)
			json_components(&ctl->json, &components);
	} else {
		fprintf(ctl->style.out, "%s\n", titles[measure]);
		print_node(&ctl->style, &root, root.value, measure == TREE_ALLOCS, "", "");
	}
	tree_deinit(&root);
	components_deinit(&components);
	component_rules_free(rules);
	return ctl_end(ctl, store,
		       by == GROUP_TYPE || by == GROUP_TAG ? "tree --by component"
		       : by == GROUP_COMPONENT		   ? "tree --by site"
							   : "sites");
}

const struct verb_body verb_tree = { .run = cmd_tree };
