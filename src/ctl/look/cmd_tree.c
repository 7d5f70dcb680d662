/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_tree.c: `shinyctl tree`: prints one measure as a tree with shares, like a browser's memory
 * page. */
#include <stdlib.h>
#include <string.h>

#include "../../analysis/attribute/tree.h"
#include "../../analysis/space/memory.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../dimension.h"
#include "../verb_body.h"

enum { BRANCH = 64 };

static void print_node(const struct style *style, const struct tree_node *node, bool blocks,
		       const char *branch, const char *below)
{
	char value[UNITS_TEXT], margin[ESTIMATED_MARGIN], *line;
	size_t used, room;

	units_count(value, node->value);
	estimated_margin_of(margin, node->value, node->variance,
			    blocks ? units_count : units_bytes);
	used = text_columns(branch) + strlen(value) + (blocks ? 0 : 2) + text_columns(margin) + 14;
	room = !style->width && style->longest ? style->longest
	       : !style->width		       ? 4000
	       : style->width > used + 16      ? style->width - used
					       : 16;
	line = mem_alloc(4 * room + 8);
	text_fit(line, 4 * room + 8, node->name, room, TEXT_CUT_MIDDLE);
	fprintf(style->out, "%s%s%s%s%s (%05.2f%%)%s %s %s%s%s\n", branch, value,
		blocks ? "" : " B", tint(style, TINT_DIM), margin, 100 * node->share,
		tint_end(style, TINT_DIM),
		node->folded ? "++" : "--", tint(style, node->folded ? TINT_DIM : TINT_NAME), line,
		tint_end(style, node->folded ? TINT_DIM : TINT_NAME));
	free(line);
	for (size_t i = 0; i < node->count; i++) {
		bool last = i + 1 == node->count;
		char next[BRANCH], after[BRANCH];

		snprintf(next, sizeof(next), "%s%s", below,
			 last ? "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 "
			      : "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 ");
		snprintf(after, sizeof(after), "%s%s", below, last ? "    " : "\xe2\x94\x82   ");
		print_node(style, &node->children[i], blocks, next, after);
	}
}

/* A component, and the rules by which it owns its allocations. */
struct tree_rule {
	struct component_rule rule;
	uint64_t value;
};
struct tree_component {
	struct tree_node sum; /* without children; the name is that of `components` */
	VEC(struct tree_rule) rules;
};

struct tree_answer {
	enum tree_measure measure;
	const char *word; /* of --measure */
	struct tree_node root;
	struct component_rules *rules; /* of --components */
	bool by_component;
	struct components components;
	struct tree_component *owners;
	size_t owner_count;
};

/* Makes a row of each component, in the order of its largest owner. */
static void add_owners(struct tree_answer *to)
{
	const struct components *c = &to->components;
	size_t *place = mem_zero(c->names.count + 1, sizeof(*place)); /* 0: it has no row */

	to->owners = mem_zero(c->owner_count + 1, sizeof(*to->owners));
	for (size_t i = 0; i < c->owner_count; i++) {
		const struct component_owner *owner = &c->owners[i];
		struct tree_component *row;

		if (!place[owner->name])
			place[owner->name] = ++to->owner_count;
		row = &to->owners[place[owner->name] - 1];
		row->sum.name = c->names.at[owner->name];
		row->sum.value += owner->value;
		row->sum.variance += (double)owner->variance * tree_variance_unit(to->measure);
		row->sum.share = c->total ? (double)row->sum.value / (double)c->total : 0;
		if (owner->rule)
			*vec_push(&row->rules) = (struct tree_rule){ *owner->rule, owner->value };
	}
	free(place);
}

static void deinit_tree(void *result)
{
	struct tree_answer *tree = result;

	for (size_t i = 0; i < tree->owner_count; i++)
		free(tree->owners[i].rules.at);
	free(tree->owners);
	tree_deinit(&tree->root);
	components_deinit(&tree->components);
	component_rules_free(tree->rules);
}

static enum group_by by_of(const struct ctl *ctl)
{
	return dimension_group(ctl->options.by);
}

static struct shiny_err *check_options(const struct ctl *ctl, enum tree_measure measure)
{
	const char *word = ctl->options.text[OPT_BY];
	bool given = ctl->options.given[OPT_BY];

	if (measure == TREE_PEAK && given && by_of(ctl) != GROUP_SITE)
		return shiny_err(SHINY_ERR_USAGE,
				 "tree: --measure peak: peaks are known by site, "
				 "not by %s; use --by site",
				 word);
	if (measure == TREE_RESIDENT && given && by_of(ctl) != GROUP_TYPE)
		return shiny_err(SHINY_ERR_USAGE,
				 "tree: --measure resident: what was live then is "
				 "known by type, not by %s",
				 word);
	if (ctl->options.component_count && by_of(ctl) != GROUP_COMPONENT)
		return shiny_err(SHINY_ERR_USAGE, "tree: --components is for --by component");
	return NULL;
}

static struct shiny_err *load_nodes(const struct ctl *ctl, struct store *store,
				    const struct filter *filter, struct tree_answer *out)
{
	const char *match = ctl->options.text[OPT_MATCH];
	double threshold = (double)ctl->options.number[OPT_THRESHOLD] / 1e6;
	bool full = ctl->options.given[OPT_FULL_NAMES];

	if (out->measure == TREE_RESIDENT) {
		SHINY_CLEANUP(memory_deinit) struct memory_history memory = { 0 };

		SHINY_TRY(memory_load(store, filter, MEMORY_LAST, 0, &memory));
		return memory_tree(store, &memory, match, threshold, full, &out->root);
	}
	if (!out->by_component)
		return tree_load(store, filter, out->measure, by_of(ctl), match, threshold, full,
				 &out->root);
	SHINY_TRY(component_rules_load(ctl->options.components, ctl->options.component_count,
				       &out->rules));
	return tree_load_components(store, filter, out->measure, out->rules, match, threshold, full,
				    &out->root, &out->components);
}

static struct shiny_err *load_tree(struct ctl *ctl, struct store *store,
				   const struct filter *filter, void *result)
{
	struct tree_answer *out = result;
	struct shiny_err *err;

	out->measure = (enum tree_measure)ctl->options.number[OPT_MEASURE];
	out->word = ctl->options.text[OPT_MEASURE];
	out->by_component = by_of(ctl) == GROUP_COMPONENT;
	SHINY_TRY(check_options(ctl, out->measure));
	err = load_nodes(ctl, store, filter, out);
	if (err)
		deinit_tree(out);
	else
		add_owners(out);
	return err;
}

static struct shiny_err *print_tree(struct ctl *ctl, const struct answer *answer)
{
	static const char *const titles[] = {
		[TREE_LIVE] = "bytes live at the end",
		[TREE_BYTES] = "bytes requested in all",
		[TREE_ALLOCS] = "allocations",
		[TREE_PEAK] = "peak bytes (sum of the peaks of single stacks: an upper bound)",
		[TREE_RESIDENT] = "bytes resident when each process was last looked at",
	};
	const struct tree_answer *tree = answer->result;

	fprintf(ctl->style.out, "%s\n", titles[tree->measure]);
	print_node(&ctl->style, &tree->root, tree->measure == TREE_ALLOCS, "", "");
	return NULL;
}

static const char *next_of_tree(const struct ctl *ctl)
{
	enum group_by by = by_of(ctl);

	return by == GROUP_TYPE || by == GROUP_TAG ? "tree --by component"
	       : by == GROUP_COMPONENT	       ? "tree --by site"
						       : "sites";
}

FIELD_GETTER(get_unit, struct tree_answer, text, r->measure == TREE_ALLOCS ? "blocks" : "bytes")
FIELD_SKIP(is_leaf, struct tree_node, !r->count)
FIELD_SKIP(has_no_components, struct tree_answer, !r->by_component)

/* clang-format off */
static const struct field node_fields[6];
static const struct field children_fields[] = {
	{ FIELD_ROWS("children", struct tree_node, children, count, node_fields),
	  .again = true, .help = "the parts of the node: name, value, share, folded, children" },
	FIELD_LAST
};
static const struct field node_fields[6] = {
	{ FIELD_TEXT("name", struct tree_node, name), .help = "a process, module, component, tag, "
	  "type or call site" },
	{ FIELD_COUNT("value", struct tree_node, value), .help = "what it has of the measure" },
	{ FIELD_SAME(tree_value_bounds) },
	{ FIELD_SAME(tree_share_fields) },
	{ FIELD_SAME(children_fields), .skip = is_leaf, .spread = true },
	FIELD_LAST
};
static const struct field rule_fields[] = {
	{ FIELD_WORD("kind", struct tree_rule, rule.kind, component_kind_names),
	  .help = "function, source or module" },
	{ FIELD_TEXT("pattern", struct tree_rule, rule.pattern), .help = "what it matches" },
	{ FIELD_TEXT("file", struct tree_rule, rule.file), .help = "the file that it is from" },
	{ FIELD_ID("line", struct tree_rule, rule.line), .help = "its line there" },
	{ FIELD_COUNT("value", struct tree_rule, value), .help = "what it gave to the component" },
	FIELD_LAST
};
static const struct field component_fields[] = {
	{ FIELD_TEXT("name", struct tree_component, sum.name), .help = "the component" },
	{ FIELD_COUNT("value", struct tree_component, sum.value),
	  .help = "what it has of the measure" },
	{ FIELD_GROUP(struct tree_component, sum, tree_value_bounds) },
	{ FIELD_REAL("share", struct tree_component, sum.share), .help = "its share of all" },
	{ FIELD_ROWS("rules", struct tree_component, rules.at, rules.count, rule_fields),
	  .help = "a rule that gave it something" },
	FIELD_LAST
};
static const struct field components_fields[] = {
	{ FIELD_ROWS("components", struct tree_answer, owners, owner_count, component_fields),
	  .spread = true,
	  .help = "with --by component, over all processes, whatever --match says" },
	FIELD_LAST
};
static const struct field tree_fields[] = {
	{ FIELD_TEXT("measure", struct tree_answer, word), .help = "the word of --measure" },
	{ FIELD_WORKED_OUT("unit", TEXT, get_unit), .help = "bytes or blocks" },
	{ FIELD_COUNT("total", struct tree_answer, root.value), .help = "the measure of all" },
	{ FIELD_GROUP(struct tree_answer, root, tree_total_bounds) },
	{ FIELD_ROWS("children", struct tree_answer, root.children, root.count, node_fields),
	  .help = "a part of the tree, largest first" },
	{ FIELD_SAME(components_fields), .skip = has_no_components },
	FIELD_LAST
};
/* clang-format on */

const struct verb_body verb_tree = {
	.fields = tree_fields,
	.size = sizeof(struct tree_answer),
	.load = load_tree,
	.deinit = deinit_tree,
	.print = print_tree,
	.next_of = next_of_tree,
};
