/* SPDX-License-Identifier: Apache-2.0 */
#include "check_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"
#include "../base/text.h"
#include "../base/units.h"

enum { FEW = 5, MANY = 20 }; /* rows of evidence on a terminal, and in files */

/* ---- numbers ---- */

static uint64_t whole(double value)
{
	return value < 0 ? 0 : value >= 0x1p63 ? INT64_MAX : (uint64_t)llround(value);
}

static char *value_text(char out[UNITS_TEXT], enum limit_measure measure, double value)
{
	switch (limit_measures[measure].unit) {
	case LIMIT_IN_BYTES: return units_bytes(out, whole(value));
	case LIMIT_IN_TIME: return units_time(out, whole(value));
	default: return units_count(out, whole(value));
	}
}

/* "-1.2 KiB" */
static char *change_text(char out[UNITS_TEXT + 1], enum limit_measure measure, double base,
			 double value)
{
	out[0] = value < base ? '-' : '+';
	value_text(out + 1, measure, fabs(value - base));
	return out;
}

/* "36,185, not <= 35,032 (base 34,685, +4.3 %)"; a new text. */
static char *result_text(const struct limit_rule *rule, const struct limit_result *r)
{
	const char *not = r->state == LIMIT_FAILS ? "not " : "", *op = limit_ops[rule->op];
	char *compared, *text, share[UNITS_TEXT + 8] = "";

	if (r->state == LIMIT_UNKNOWN)
		return mem_format("unknown: %s", r->why);
	if (r->nothing)
		return mem_text("nothing is meant by its selectors");
	if (rule->each && !r->broken)
		return mem_format("each of %s", units_count(UNITS_BUF, r->rows));
	if (rule->relative && r->base)
		snprintf(share, sizeof(share), ", %+.1f %%", (r->value - r->base) / r->base * 100);
	compared = mem_format("%s, %s%s %s", value_text(UNITS_BUF, rule->measure, r->value), not,
			      op, value_text(UNITS_BUF, rule->measure, r->limit));
	text = !rule->relative ? mem_text(compared)
			       : mem_format("%s (base %s%s)", compared,
					    value_text(UNITS_BUF, rule->measure, r->base), share);
	free(compared);
	if (rule->each) {
		compared =
			mem_format("%s of %s; the worst: %s: %s", units_count(UNITS_BUF, r->broken),
				   units_count(UNITS_BUF, r->rows), r->worst, text);
		free(text);
		text = compared;
	}
	return text;
}

/* One row of evidence: "+1,500 (0 -> 1,500)  parse (a.c:12)"; a new text. */
static char *part_text(const struct limit_rule *rule, const struct limit_part *part)
{
	char change[UNITS_TEXT + 1];

	if (!rule->relative)
		return mem_format("%s  %s", value_text(UNITS_BUF, rule->measure, part->value),
				  part->name);
	return mem_format("%s (%s -> %s)  %s",
			  change_text(change, rule->measure, part->base, part->value),
			  value_text(UNITS_BUF, rule->measure, part->base),
			  value_text(UNITS_BUF, rule->measure, part->value), part->name);
}

/* ---- the verdict ---- */

uint64_t verdict_count(const struct verdict *v, enum limit_state state)
{
	uint64_t count = 0;

	for (size_t i = 0; v->limits && i < v->limits->count; i++)
		count += v->limits->at[i].state == state;
	return count;
}

/* Of session 0 (base) or 1: nothing is missing, as far as that is asked for. */
static bool verdict_whole(const struct verdict *v, int side)
{
	return v->limits && v->limits->complete[side] &&
	       (!v->limits->lost[side] || v->loss_allowed);
}

int verdict_status(const struct verdict *v)
{
	if (verdict_count(v, LIMIT_FAILS))
		return 1;
	return verdict_count(v, LIMIT_UNKNOWN) || !verdict_whole(v, 1) ||
			       (v->paths[0] && !verdict_whole(v, 0))
		       ? SHINY_ERR_STRICT
		       : 0;
}

/* Why a session is not whole; a new text. */
static char *loss_text(const struct verdict *v, int side)
{
	char words[LOSS_WORDS];

	if (!v->limits)
		return mem_text(v->unread);
	if (!v->limits->complete[side])
		return mem_text("the recording was not finished");
	return mem_format("lost: %s", loss_words(&v->limits->losses[side], words));
}

/* ---- on a terminal ---- */

static void print_parts(struct ctl *ctl, const struct limit_rule *rule,
			const struct limit_result *r)
{
	size_t most = ctl->options.given[OPT_LIMIT] ? (size_t)ctl->options.number[OPT_LIMIT] : FEW;
	size_t shown = most && most < r->part_count ? most : r->part_count;

	for (size_t i = 0; i < shown; i++) {
		char *text = part_text(rule, &r->parts[i]), *fitted;
		size_t columns = ctl->style.width > 20 ? ctl->style.width - 8
				 : ctl->style.longest  ? ctl->style.longest
						       : 4000;

		fitted = mem_alloc(4 * columns + 8);
		text_fit(fitted, 4 * columns + 8, text, columns, TEXT_CUT_MIDDLE);
		fprintf(stdout, "        %s\n", fitted);
		free(fitted);
		free(text);
	}
	if (shown < r->part_total)
		fprintf(stdout, "        %s\xe2\x80\xa6 and %s more%s\n",
			tint(&ctl->style, TINT_DIM), units_count(UNITS_BUF, r->part_total - shown),
			tint_end(&ctl->style, TINT_DIM));
}

void verdict_print(struct ctl *ctl, const struct verdict *v)
{
	static const struct { const char *word; enum tint tint;
	} words[] = {
		[LIMIT_HOLDS] = { "holds", TINT_GOOD },
		[LIMIT_FAILS] = { "FAILS", TINT_BAD },
		[LIMIT_UNKNOWN] = { "?    ", TINT_WARN },
	};
	uint64_t failed = verdict_count(v, LIMIT_FAILS), open = verdict_count(v, LIMIT_UNKNOWN),
		 held = verdict_count(v, LIMIT_HOLDS);

	for (size_t i = 0; i < v->limits->count; i++) {
		const struct limit_rule *rule = &v->rules->at[i];
		const struct limit_result *r = &v->limits->at[i];
		char *text = result_text(rule, r);

		fprintf(stdout, "%s%s%s  %s%s%s  %s\n", tint(&ctl->style, words[r->state].tint),
			words[r->state].word, tint_end(&ctl->style, words[r->state].tint),
			tint(&ctl->style, TINT_BOLD), rule->text, tint_end(&ctl->style, TINT_BOLD),
			text);
		free(text);
		if (r->state == LIMIT_FAILS)
			print_parts(ctl, rule, r);
	}
	fprintf(stdout, "\n%s of %s %s", units_count(UNITS_BUF, held),
		units_noun(UNITS_NOUN_BUF, v->limits->count, "rule"),
		units_form(held, "holds", "hold"));
	if (failed)
		fprintf(stdout, ", %s%s %s%s", tint(&ctl->style, TINT_BAD),
			units_count(UNITS_BUF, failed), units_form(failed, "fails", "fail"),
			tint_end(&ctl->style, TINT_BAD));
	if (open)
		fprintf(stdout, ", %s cannot be told", units_count(UNITS_BUF, open));
	putc('\n', stdout);
}

/* ---- JSON ---- */

static void json_result(struct json *json, const struct limit_rule *rule,
			const struct limit_result *r)
{
	bool told = r->state != LIMIT_UNKNOWN && !r->nothing && !(rule->each && !r->broken);

	json_object_line(json, NULL);
	json_text(json, "rule", rule->text);
	if (rule->file)
		json_text(json, "file", rule->file);
	if (rule->file)
		json_number(json, "line", rule->line);
	json_text(json, "state", limit_states[r->state]);
	json_text(json, "measure", limit_measures[rule->measure].name);
	json_text(json, "op", limit_ops[rule->op]);
	if (told) {
		json_signed(json, "value", (int64_t)r->value);
		json_signed(json, "limit", (int64_t)r->limit);
		if (rule->relative)
			json_signed(json, "base", (int64_t)r->base);
	}
	if (rule->each) {
		json_number(json, "rows", r->rows);
		json_number(json, "broken", r->broken);
		json_text(json, "worst", r->worst);
	}
	json_bool(json, "nothing", r->nothing);
	if (r->why)
		json_text(json, "why", r->why);
	json_array(json, "evidence");
	for (size_t i = 0; r->state == LIMIT_FAILS && i < r->part_count; i++) {
		json_object(json, NULL);
		json_text(json, "name", r->parts[i].name);
		if (rule->relative)
			json_signed(json, "base", (int64_t)r->parts[i].base);
		json_signed(json, "value", (int64_t)r->parts[i].value);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

void verdict_json(struct json *json, const struct verdict *v)
{
	json_number(json, "status", (uint64_t)verdict_status(v));
	json_number(json, "holds", verdict_count(v, LIMIT_HOLDS));
	json_number(json, "fails", verdict_count(v, LIMIT_FAILS));
	json_number(json, "unknown", verdict_count(v, LIMIT_UNKNOWN));
	json_array(json, "rules");
	for (size_t i = 0; i < v->limits->count; i++)
		json_result(json, &v->rules->at[i], &v->limits->at[i]);
	json_end(json);
}

/* ---- JUnit ---- */

/* Text in XML 1.0, where control characters and malformed bytes cannot stand at all, and others had
 * better not. */
static void put_xml(FILE *out, const char *text)
{
	while (*text) {
		uint32_t point;
		size_t bytes = text_decode(text, &point);

		if (point == '<')
			fputs("&lt;", out);
		else if (point == '>')
			fputs("&gt;", out);
		else if (point == '&')
			fputs("&amp;", out);
		else if (point == '"')
			fputs("&quot;", out);
		else if (point == '\n' || point == '\t')
			fprintf(out, "&#%" PRIu32 ";", point);
		else if (text_stand_in(point))
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(text, 1, bytes, out);
		text += bytes;
	}
}

static void begin_case(FILE *out, const char *name, const char *class)
{
	fputs("    <testcase name=\"", out);
	put_xml(out, name);
	fprintf(out, "\" classname=\"shiny.%s\" time=\"0\"", class);
}

static void end_case(FILE *out, const char *kind, const char *type, const char *message)
{
	fprintf(out, ">\n      <%s type=\"%s\" message=\"", kind, type);
	put_xml(out, message);
	fputs("\">", out);
}

static void junit_session(FILE *out, const struct verdict *v, int side)
{
	char *name = mem_format("%s is whole", side ? "the session" : "the base"), *why;

	begin_case(out, name, "session");
	free(name);
	if (verdict_whole(v, side)) {
		fputs("/>\n", out);
		return;
	}
	why = loss_text(v, side);
	end_case(out, "error", "incomplete", why);
	free(why);
	fputs("</error>\n    </testcase>\n", out);
}

static void junit_rule(FILE *out, const struct limit_rule *rule, const struct limit_result *r)
{
	char *text;

	begin_case(out, rule->text, limit_measures[rule->measure].name);
	if (r->state == LIMIT_HOLDS) {
		fputs("/>\n", out);
		return;
	}
	text = result_text(rule, r);
	end_case(out, r->state == LIMIT_FAILS ? "failure" : "error",
		 r->state == LIMIT_FAILS ? "limit" : "unknown", text);
	free(text);
	for (size_t i = 0; r->state == LIMIT_FAILS && i < r->part_count && i < MANY; i++) {
		text = part_text(rule, &r->parts[i]);
		put_xml(out, text);
		putc('\n', out);
		free(text);
	}
	fprintf(out, "</%s>\n    </testcase>\n", r->state == LIMIT_FAILS ? "failure" : "error");
}

void verdict_junit(FILE *out, const struct verdict *v)
{
	bool with_base = v->paths[0] && v->limits;
	uint64_t failed = verdict_count(v, LIMIT_FAILS);
	uint64_t errors = verdict_count(v, LIMIT_UNKNOWN) + !verdict_whole(v, 1) +
			  (with_base && !verdict_whole(v, 0));
	uint64_t tests = (v->limits ? v->limits->count : 0) + 1 + with_base;
	char *counts = mem_format("tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
				  "\" skipped=\"0\" time=\"0\"",
				  tests, failed, errors);

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"shinyctl check\" "
		"%s>\n  <testsuite name=\"",
		counts);
	put_xml(out, text_base(v->paths[1]));
	fprintf(out, "\" %s>\n    <properties>\n", counts);
	free(counts);
	for (int side = 0; side < 2; side++) {
		if (!v->paths[side])
			continue;
		fprintf(out, "      <property name=\"%s\" value=\"", side ? "new" : "base");
		put_xml(out, v->paths[side]);
		fputs("\"/>\n", out);
	}
	fputs("    </properties>\n", out);
	if (with_base)
		junit_session(out, v, 0);
	junit_session(out, v, 1);
	for (size_t i = 0; v->limits && i < v->limits->count; i++)
		junit_rule(out, &v->rules->at[i], &v->limits->at[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
}

/* ---- Markdown ---- */

/* Code between backquotes, in a table: a backquote and a bar would end them. */
static void put_code(FILE *out, const char *text)
{
	char *plain = text_plain(text);

	putc('`', out);
	for (const char *s = plain; *s; s++)
		if (*s == '|')
			fputs("\\|", out);
		else
			putc(*s == '`' ? '\'' : *s, out);
	putc('`', out);
	free(plain);
}

static void put_cell(FILE *out, const char *text)
{
	char *plain = text_plain(text);

	for (const char *s = plain; *s; s++) {
		if (strchr("\\`*_{}[]<>#|~", *s))
			putc('\\', out);
		putc(*s, out);
	}
	free(plain);
}

static void markdown_parts(FILE *out, const struct limit_rule *rule, const struct limit_result *r)
{
	char change[UNITS_TEXT + 1];

	fputs("\n<details><summary>", out);
	put_xml(out, rule->text);
	fprintf(out, "</summary>\n\n| %s | |\n|--:|---|\n",
		rule->relative ? "change | base | new" : "value");
	for (size_t i = 0; i < r->part_count && i < MANY; i++) {
		const struct limit_part *part = &r->parts[i];

		if (rule->relative)
			fprintf(out, "| %s | %s ",
				change_text(change, rule->measure, part->base, part->value),
				value_text(UNITS_BUF, rule->measure, part->base));
		fprintf(out, "| %s | ", value_text(UNITS_BUF, rule->measure, part->value));
		put_code(out, part->name);
		fputs(" |\n", out);
	}
	if (r->part_total > MANY)
		fprintf(out, "\n\xe2\x80\xa6 and %s more\n",
			units_count(UNITS_BUF, r->part_total - MANY));
	fputs("\n</details>\n", out);
}

void verdict_markdown(FILE *out, const struct verdict *v)
{
	static const char *const marks[] = { [LIMIT_HOLDS] = "\xe2\x9c\x85",
					     [LIMIT_FAILS] = "\xe2\x9d\x8c",
					     [LIMIT_UNKNOWN] = "\xe2\x9d\x94" };
	uint64_t failed = verdict_count(v, LIMIT_FAILS);

	fputs("### Heap limits: ", out);
	if (!v->limits)
		fputs("not known", out);
	else
		fprintf(out, "%s of %s hold", units_count(UNITS_BUF, verdict_count(v, LIMIT_HOLDS)),
			units_count(UNITS_BUF, v->limits->count));
	fputs("\n\n", out);
	put_code(out, v->paths[1]);
	if (v->paths[0]) {
		fputs(" against ", out);
		put_code(out, v->paths[0]);
	}
	fputs("\n", out);
	for (int side = 0; side < 2; side++) {
		char *why = v->paths[side] && !verdict_whole(v, side) && (side || v->limits)
				    ? loss_text(v, side)
				    : NULL;

		if (why) {
			fprintf(out, "\n**The %s is not whole:** ", side ? "session" : "base");
			put_cell(out, why);
			fputs("\n", out);
		}
		free(why);
	}
	if (!v->limits)
		return;
	fputs("\n| | rule | |\n|---|---|---|\n", out);
	for (size_t i = 0; i < v->limits->count; i++) {
		char *text = result_text(&v->rules->at[i], &v->limits->at[i]);

		fprintf(out, "| %s | ", marks[v->limits->at[i].state]);
		put_code(out, v->rules->at[i].text);
		fputs(" | ", out);
		put_cell(out, text);
		fputs(" |\n", out);
		free(text);
	}
	for (size_t i = 0; failed && i < v->limits->count; i++)
		if (v->limits->at[i].state == LIMIT_FAILS && v->limits->at[i].part_count)
			markdown_parts(out, &v->rules->at[i], &v->limits->at[i]);
}
