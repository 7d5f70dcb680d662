/* SPDX-License-Identifier: Apache-2.0 */
#include "check_rule.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/nearest.h"
#include "../../base/rule_lines.h"
#include "../../base/units.h"

const struct check_measure_spec check_measures[CHECK_MEASURES] = {
#define CHECK_MEASURE(ID, text, quantity, of, words)                                               \
	[CHECK_##ID] = {                                                                           \
		.name = text, .about = words, .unit = CHECK_IN_##quantity, .source = CHECK_OF_##of \
	},
#include "check_measure.def"
#undef CHECK_MEASURE
};

const char *const check_ops[] = {
	[CHECK_LE] = "<=", [CHECK_LT] = "<",  [CHECK_GE] = ">=",
	[CHECK_GT] = ">",  [CHECK_EQ] = "==", [CHECK_NE] = "!=",
};
enum { OPS = sizeof(check_ops) / sizeof(*check_ops) };

struct rule_parser {
	const char *text, *at;
	struct check_rule *rule;
};

static struct shiny_err *wrong(const struct rule_parser *p, const char *at, const char *format, ...)
	SHINY_PRINTF(3, 4);
static struct shiny_err *wrong(const struct rule_parser *p, const char *at, const char *format, ...)
{
	char why[400], where[300] = "";
	unsigned column = 1;
	va_list args;

	for (const char *c = p->text; c < at; c++)
		column += ((unsigned char)*c & 0xc0) != 0x80;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (p->rule->file)
		snprintf(where, sizeof(where), "%s:%u: ", p->rule->file, p->rule->line);
	return shiny_err(SHINY_ERR_USAGE, "%srule '%.120s', column %u: %s", where, p->text, column,
			 why);
}

static void skip_space(struct rule_parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static size_t word_length(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

/* ---- selectors ---- */

/* The selectors: first those of blocks, by dimension, then those that narrow the session. */
enum { TAG = BREAKDOWN_DIMENSIONS, BETWEEN, SELECTORS };

static const char *selector_name(int selector)
{
	return selector == TAG	     ? "tag"
	       : selector == BETWEEN ? "between"
				     : breakdown_names[selector];
}

bool check_of_subset(enum check_measure measure, bool tags, bool between)
{
	switch (measure) {
	case CHECK_LOST:
	case CHECK_PROCESSES:
		return !tags && !between;
	case CHECK_UNKNOWN_FREES: /* the tag of a freed unknown block is unknown */
	case CHECK_DURATION:
		return !tags;
	default: return true;
	}
}

/* Parses a pattern up to the closing parenthesis; p->at is behind the opening one of `selector`. */
static struct shiny_err *parse_pattern(struct rule_parser *p, const char *selector, char **out)
{
	const char *start = p->at, *end;
	unsigned depth = 1;

	if (*start == '"') {
		end = strchr(++start, '"');
		if (!end)
			return wrong(p, p->at, "the text has no second \"");
		p->at = end + 1;
		skip_space(p);
		if (*p->at != ')')
			return wrong(p, p->at, "')' is missing behind the text");
	} else {
		for (end = start; *end && (depth += (*end == '(') - (*end == ')')); end++)
			;
		if (!*end)
			return wrong(p, start - 1,
				     "this parenthesis is not closed; a text whose parentheses do "
				     "not pair stands in \"\"");
		p->at = end;
	}
	p->at++;
	if (end == start)
		return wrong(p, start, "%s() means nothing%s", selector,
			     strcmp(selector, "between") == 0 ? "" : "; * means all");
	*out = mem_format("%.*s", (int)(end - start), start);
	return NULL;
}

static struct shiny_err *unknown_word(const struct rule_parser *p, const char *at, size_t length,
				      bool selector)
{
	const char *names[SELECTORS + CHECK_MEASURES], *near;
	size_t count = 0;
	char word[80];

	snprintf(word, sizeof(word), "%.*s", (int)length, at);
	for (int i = 0; selector && i < SELECTORS; i++)
		names[count++] = selector_name(i);
	for (int i = 0; !selector && i < CHECK_MEASURES; i++)
		names[count++] = check_measures[i].name;
	near = nearest_name(word, names, count);
	if (near)
		return wrong(p, at, "there is no %s '%s'; the nearest is %s",
			     selector ? "selector" : "measure", word, near);
	if (selector)
		return wrong(p, at,
			     "there is no selector '%s'; there are type(), site(), component(), "
			     "role(), tag() and between()",
			     word);
	return wrong(p, at, "there is no measure '%s'; `shinyctl help check` lists them", word);
}

static struct shiny_err *parse_selector(struct rule_parser *p, size_t length)
{
	struct check_rule *rule = p->rule;
	struct check_selector *selector = &rule->selectors[rule->selector_count];
	const char *start = p->at;
	char **narrower;
	int by = 0;

	while (by < SELECTORS && (strlen(selector_name(by)) != length ||
				  strncmp(selector_name(by), start, length) != 0))
		by++;
	if (by == SELECTORS)
		return unknown_word(p, start, length, true);
	p->at += length + 1;
	if (by < BREAKDOWN_DIMENSIONS) {
		if (rule->selector_count == CHECK_SELECTORS)
			return wrong(p, start, "more than %d selectors", CHECK_SELECTORS);
		selector->by = (enum breakdown_by)by;
		SHINY_TRY(parse_pattern(p, selector_name(by), &selector->pattern));
		rule->selector_count++;
	} else {
		narrower = by == TAG ? &rule->tags : &rule->between;
		if (*narrower)
			return wrong(p, start, "a second %s()", selector_name(by));
		start = p->at;
		SHINY_TRY(parse_pattern(p, selector_name(by), narrower));
		if (by == BETWEEN && !strstr(rule->between, ".."))
			return wrong(p, start,
				     "between() takes FROM..TO, each the name of a mark or a time, "
				     "such as load..idle");
	}
	if (*p->at != '.')
		return wrong(p, p->at,
			     "a '.' and a measure, or a further selector, come behind %s()",
			     selector_name(by));
	p->at++;
	return NULL;
}

/* ---- measure and comparison ---- */

static struct shiny_err *parse_measure(struct rule_parser *p, size_t length)
{
	struct check_rule *rule = p->rule;
	const char *start = p->at;
	int m = 0;

	if (!length)
		return wrong(p, start,
			     *start ? "a measure comes here, such as live_bytes"
				    : "the measure is missing, such as live_bytes");
	while (m < CHECK_MEASURES && (strlen(check_measures[m].name) != length ||
				      strncmp(check_measures[m].name, start, length) != 0))
		m++;
	if (m == CHECK_MEASURES)
		return unknown_word(p, start, length, false);
	if (check_measures[m].source == CHECK_OF_SESSION && rule->selector_count)
		return wrong(p, start,
			     "%s is of the whole session: no selector can stand in front of it",
			     check_measures[m].name);
	if (!check_of_subset((enum check_measure)m, rule->tags, rule->between))
		return wrong(p, start,
			     "%s is of the whole session: no %s() can stand in front of it",
			     check_measures[m].name,
			     check_of_subset((enum check_measure)m, rule->tags, false) ? "between"
										       : "tag");
	if (rule->each && !rule->selector_count)
		return wrong(p, start, "'each' needs a selector, such as each type(*).%s",
			     check_measures[m].name);
	rule->measure = (enum check_measure)m;
	p->at += length;
	return NULL;
}

static size_t number_length(const char *text)
{
	size_t n = 0;

	while (text[n] && (isalnum((unsigned char)text[n]) || text[n] == '.' || text[n] == ',' ||
			   (text[n] & 0x80)))
		n++;
	return n;
}

/* Parses a number with the measure's unit. */
static struct shiny_err *parse_amount(struct rule_parser *p, double *amount)
{
	static const char *const examples[] = { [CHECK_IN_COUNT] = "a number such as 1500 or 2k",
						[CHECK_IN_BYTES] = "a size such as 24MB",
						[CHECK_IN_TIME] = "a time such as 10ms" };
	enum check_unit unit = check_measures[p->rule->measure].unit;
	size_t length = number_length(p->at);
	char text[80];
	uint64_t value = 0;
	bool good;

	snprintf(text, sizeof(text), "%.*s", (int)length, p->at);
	good = length < sizeof(text) && (unit == CHECK_IN_BYTES	 ? units_parse_bytes(text, &value)
					 : unit == CHECK_IN_TIME ? units_parse_time(text, &value)
								 : units_parse_count(text, &value));
	if (!good)
		return wrong(p, p->at, "%s takes %s here", check_measures[p->rule->measure].name,
			     examples[unit]);
	*amount = (double)value;
	p->at += length;
	return NULL;
}

/* Parses a change such as "+5%+64KB". */
static struct shiny_err *parse_change(struct rule_parser *p)
{
	struct check_rule *rule = p->rule;

	rule->relative = true;
	while (*p->at == '+' || *p->at == '-') {
		double sign = *p->at++ == '-' ? -1 : 1, amount;
		size_t length;

		skip_space(p);
		length = strspn(p->at, "0123456789.");
		if (length && p->at[length] == '%') {
			char *end;

			amount = strtod(p->at, &end);
			if (end != p->at + length)
				return wrong(p, p->at, "no percentage");
			rule->share += sign * amount / 100;
			p->at += length + 1;
		} else {
			SHINY_TRY(parse_amount(p, &amount));
			rule->amount += sign * amount;
		}
		skip_space(p);
	}
	return NULL;
}

static struct shiny_err *parse_comparison(struct rule_parser *p)
{
	struct check_rule *rule = p->rule;
	const char *start = p->at;
	int op = OPS;

	for (int i = 0; i < OPS; i++) /* the longest that matches: "<=" before "<" */
		if (strncmp(start, check_ops[i], strlen(check_ops[i])) == 0 &&
		    (op == OPS || strlen(check_ops[i]) > strlen(check_ops[op])))
			op = i;
	if (op < OPS) {
		rule->op = (enum check_op)op;
		p->at += strlen(check_ops[op]);
		skip_space(p);
	} else if (*start != '+' && *start != '-') {
		return wrong(p, start, "%s",
			     *start == '=' ? "a comparison is one of <= < >= > == !="
			     : *start ? "a comparison comes here: <= < >= > == != and a value, or "
					"a change against the base such as +5%"
				      : "the comparison is missing, such as <=24MB, or +5% against "
					"a base");
	}
	if (*p->at == '+' || *p->at == '-')
		return parse_change(p);
	return parse_amount(p, &rule->amount);
}

static struct shiny_err *parse(struct rule_parser *p)
{
	size_t length;

	skip_space(p);
	if (strncmp(p->at, "each", 4) == 0 && (p->at[4] == ' ' || p->at[4] == '\t')) {
		p->rule->each = true;
		p->at += 4;
		skip_space(p);
	}
	for (length = word_length(p->at); p->at[length] == '('; length = word_length(p->at))
		SHINY_TRY(parse_selector(p, length));
	SHINY_TRY(parse_measure(p, length));
	skip_space(p);
	SHINY_TRY(parse_comparison(p));
	skip_space(p);
	if (*p->at)
		return wrong(p, p->at, "'%.40s' is too much", p->at);
	return NULL;
}

/* ---- rules ---- */

static void rule_deinit(struct check_rule *rule)
{
	for (size_t i = 0; i < CHECK_SELECTORS; i++)
		free(rule->selectors[i].pattern);
	free(rule->tags);
	free(rule->between);
	free(rule->text);
	free(rule->file);
}

static struct shiny_err *add(struct check_rules *rules, const char *text, const char *file,
			     unsigned line)
{
	struct check_rule rule = { .text = mem_text(text),
				   .file = file ? mem_text(file) : NULL,
				   .line = line };
	struct rule_parser parser = { .text = rule.text, .at = rule.text, .rule = &rule };
	struct shiny_err *err = parse(&parser);

	if (err) {
		rule_deinit(&rule);
		return err;
	}
	*vec_push(rules) = rule;
	return NULL;
}

struct shiny_err *check_rules_add(struct check_rules *rules, const char *text)
{
	return add(rules, text, NULL, 0);
}

struct shiny_err *check_rules_read(struct check_rules *rules, const char *path)
{
	AUTO_ERR struct shiny_err *unread = NULL;
	struct rule_lines lines;
	struct shiny_err *err = NULL;

	unread = rule_lines_open(path, "rules", &lines);
	if (unread)
		return shiny_err_advise(shiny_err(SHINY_ERR_USAGE, "%s", unread->message),
					"--rules takes a file with a rule a line");
	for (char *line; !err && (line = rule_lines_next(&lines));)
		err = add(rules, line, path, lines.number);
	free(lines.text);
	return err;
}

void check_rules_deinit(struct check_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		rule_deinit(&rules->at[i]);
	free(rules->at);
	*rules = (struct check_rules){ 0 };
}

double check_limit(const struct check_rule *rule, double base)
{
	/* rounded: 5 % of 60 is 3, not 3.0000000000000004 */
	double limit = rule->relative ? base + round(rule->share * base * 1e6) / 1e6 + rule->amount
				      : rule->amount;

	switch (rule->op) {
	case CHECK_LE:
	case CHECK_GT:
		return floor(limit);
	case CHECK_LT:
	case CHECK_GE:
		return ceil(limit);
	default: return round(limit);
	}
}

bool check_holds(const struct check_rule *rule, double value, double base)
{
	double limit = check_limit(rule, base);

	switch (rule->op) {
	case CHECK_LE:
		return value <= limit;
	case CHECK_LT:
		return value < limit;
	case CHECK_GE:
		return value >= limit;
	case CHECK_GT:
		return value > limit;
	case CHECK_EQ:
		return value == limit;
	default: return value != limit;
	}
}
