/* SPDX-License-Identifier: Apache-2.0 */
#include "check_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"

enum { FEW = 5, MANY = 20 }; /* most rows of evidence: on a terminal, in files */

/* ---- numbers ---- */

static uint64_t whole(double value)
{
	return value < 0 ? 0 : value >= 0x1p63 ? INT64_MAX : (uint64_t)llround(value);
}

static char *value_text(char out[UNITS_TEXT], enum check_measure measure, double value)
{
	switch (check_measures[measure].unit) {
	case CHECK_IN_BYTES:
		return units_bytes(out, whole(value));
	case CHECK_IN_TIME:
		return units_time(out, whole(value));
	default: return units_count(out, whole(value));
	}
}

/* Formats a change such as "-1.2 KiB". */
static char *change_text(char out[UNITS_TEXT + 1], enum check_measure measure, double base,
			 double value)
{
	out[0] = value < base ? '-' : '+';
	value_text(out + 1, measure, fabs(value - base));
	return out;
}

/* Returns "36,185, not <= 35,032 (base 34,685, +4.3 %)"; the caller frees it. */
static char *result_text(const struct check_result *r)
{
	const struct check_rule *rule = &r->rule;
	const char *not = r->state == CHECK_FAILS ? "not " : "", *op = check_ops[rule->op];
	char *compared, *text, share[UNITS_TEXT + 8] = "";

	if (r->state == CHECK_UNKNOWN)
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
	if (r->divided) {
		compared = mem_format("%s; it lies in %s to %s, so it may be", text,
				      value_text(UNITS_BUF, rule->measure, r->low),
				      value_text(UNITS_BUF, rule->measure, r->high));
		free(text);
		text = compared;
	}
	if (rule->each) {
		compared =
			mem_format("%s of %s; the worst: %s: %s", units_count(UNITS_BUF, r->broken),
				   units_count(UNITS_BUF, r->rows), r->worst, text);
		free(text);
		text = compared;
	}
	return text;
}

/* Returns a row of evidence: "+1,500 (0 -> 1,500) parse (a.c:12)"; the caller frees it. */
static char *part_text(const struct check_rule *rule, const struct check_part *part)
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

uint64_t check_report_count(const struct check_report *v, enum check_state state)
{
	uint64_t count = 0;

	for (size_t i = 0; i < v->results.count; i++)
		count += v->results.at[i].state == state;
	return count;
}

/* True if session `side` (0 base, 1 new) is complete and lost nothing that matters to the rules. */
static bool check_report_whole(const struct check_report *v, int side)
{
	return !v->unread && v->results.complete[side] &&
	       (!v->results.lost[side] || v->loss_allowed);
}

int check_report_status(const struct check_report *v)
{
	if (check_report_count(v, CHECK_FAILS))
		return 1;
	return check_report_count(v, CHECK_UNKNOWN) || !check_report_whole(v, 1) ||
			       (v->pair.paths[0] && !check_report_whole(v, 0))
		       ? SHINY_ERR_STRICT
		       : 0;
}

/* Returns why a session is not whole; the caller frees it. */
static char *loss_text(const struct check_report *v, int side)
{
	char words[LOSS_WORDS];

	if (v->unread)
		return mem_text(v->unread);
	if (!v->results.complete[side])
		return mem_text("the recording was not finished");
	return mem_format("lost: %s", loss_words(&v->results.losses[side], words));
}

/* ---- on a terminal ---- */

static void print_parts(struct ctl *ctl, const struct check_result *r)
{
	size_t most = ctl->options.given[OPT_LIMIT] ? (size_t)ctl->options.number[OPT_LIMIT] : FEW;
	size_t shown = most && most < r->part_count ? most : r->part_count;

	for (size_t i = 0; i < shown; i++) {
		char *text = part_text(&r->rule, &r->parts[i]), *fitted;
		size_t columns = ctl->style.width > 20 ? ctl->style.width - 8
				 : ctl->style.longest  ? ctl->style.longest
						       : 4000;

		fitted = mem_alloc(4 * columns + 8);
		text_fit(fitted, 4 * columns + 8, text, columns, TEXT_CUT_MIDDLE);
		fprintf(ctl->style.out, "        %s\n", fitted);
		free(fitted);
		free(text);
	}
	if (shown < r->part_total)
		fprintf(ctl->style.out, "        %s\xe2\x80\xa6 and %s more%s\n",
			tint(&ctl->style, TINT_DIM), units_count(UNITS_BUF, r->part_total - shown),
			tint_end(&ctl->style, TINT_DIM));
}

void check_report_print(struct ctl *ctl, const struct check_report *v)
{
	static const struct { const char *word; enum tint tint;
	} words[] = {
		[CHECK_HOLDS] = { "holds", TINT_GOOD },
		[CHECK_FAILS] = { "FAILS", TINT_BAD },
		[CHECK_UNKNOWN] = { "?    ", TINT_WARN },
	};
	uint64_t failed = check_report_count(v, CHECK_FAILS),
		 open = check_report_count(v, CHECK_UNKNOWN),
		 held = check_report_count(v, CHECK_HOLDS);

	for (size_t i = 0; i < v->results.count; i++) {
		const struct check_result *r = &v->results.at[i];
		char *text = result_text(r);

		fprintf(ctl->style.out, "%s%s%s  %s%s%s  %s\n",
			tint(&ctl->style, words[r->state].tint), words[r->state].word,
			tint_end(&ctl->style, words[r->state].tint), tint(&ctl->style, TINT_BOLD),
			r->rule.text, tint_end(&ctl->style, TINT_BOLD), text);
		free(text);
		if (r->state == CHECK_FAILS)
			print_parts(ctl, r);
	}
	fprintf(ctl->style.out, "\n%s of %s %s", units_count(UNITS_BUF, held),
		units_noun(UNITS_NOUN_BUF, v->results.count, "rule"),
		units_form(held, "holds", "hold"));
	if (failed)
		fprintf(ctl->style.out, ", %s%s %s%s", tint(&ctl->style, TINT_BAD),
			units_count(UNITS_BUF, failed), units_form(failed, "fails", "fail"),
			tint_end(&ctl->style, TINT_BAD));
	if (open)
		fprintf(ctl->style.out, ", %s cannot be told", units_count(UNITS_BUF, open));
	putc('\n', ctl->style.out);
}

/* ---- JUnit ---- */

/* Writes text for XML 1.0, which allows no control characters or malformed bytes. */
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

static void junit_session(FILE *out, const struct check_report *v, int side)
{
	char *name = mem_format("%s is whole", side ? "the session" : "the base"), *why;

	begin_case(out, name, "session");
	free(name);
	if (check_report_whole(v, side)) {
		fputs("/>\n", out);
		return;
	}
	why = loss_text(v, side);
	end_case(out, "error", "incomplete", why);
	free(why);
	fputs("</error>\n    </testcase>\n", out);
}

static void junit_rule(FILE *out, const struct check_result *r)
{
	const struct check_rule *rule = &r->rule;
	char *text;

	begin_case(out, rule->text, check_measures[rule->measure].name);
	if (r->state == CHECK_HOLDS) {
		fputs("/>\n", out);
		return;
	}
	text = result_text(r);
	end_case(out, r->state == CHECK_FAILS ? "failure" : "error",
		 r->state == CHECK_FAILS ? "limit" : "unknown", text);
	free(text);
	for (size_t i = 0; r->state == CHECK_FAILS && i < r->part_count && i < MANY; i++) {
		text = part_text(rule, &r->parts[i]);
		put_xml(out, text);
		putc('\n', out);
		free(text);
	}
	fprintf(out, "</%s>\n    </testcase>\n", r->state == CHECK_FAILS ? "failure" : "error");
}

void check_report_junit(FILE *out, const struct check_report *v)
{
	bool with_base = v->pair.paths[0] && !v->unread;
	uint64_t failed = check_report_count(v, CHECK_FAILS);
	uint64_t errors = check_report_count(v, CHECK_UNKNOWN) + !check_report_whole(v, 1) +
			  (with_base && !check_report_whole(v, 0));
	uint64_t tests = v->results.count + 1 + with_base;
	char *counts = mem_format("tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64
				  "\" skipped=\"0\" time=\"0\"",
				  tests, failed, errors);

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"shinyctl check\" "
		"%s>\n  <testsuite name=\"",
		counts);
	put_xml(out, text_base(v->pair.paths[1]));
	fprintf(out, "\" %s>\n    <properties>\n", counts);
	free(counts);
	for (int side = 0; side < 2; side++) {
		if (!v->pair.paths[side])
			continue;
		fprintf(out, "      <property name=\"%s\" value=\"", side ? "new" : "base");
		put_xml(out, v->pair.paths[side]);
		fputs("\"/>\n", out);
	}
	fputs("    </properties>\n", out);
	if (with_base)
		junit_session(out, v, 0);
	junit_session(out, v, 1);
	for (size_t i = 0; i < v->results.count; i++)
		junit_rule(out, &v->results.at[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
}

/* ---- Markdown ---- */

/* Writes code between backquotes in a table, where a backquote and a bar would end it. */
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

static void markdown_parts(FILE *out, const struct check_result *r)
{
	const struct check_rule *rule = &r->rule;
	char change[UNITS_TEXT + 1];

	fputs("\n<details><summary>", out);
	put_xml(out, rule->text);
	fprintf(out, "</summary>\n\n| %s | |\n|--:|---|\n",
		rule->relative ? "change | base | new" : "value");
	for (size_t i = 0; i < r->part_count && i < MANY; i++) {
		const struct check_part *part = &r->parts[i];

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

void check_report_markdown(FILE *out, const struct check_report *v)
{
	static const char *const marks[] = { [CHECK_HOLDS] = "\xe2\x9c\x85",
					     [CHECK_FAILS] = "\xe2\x9d\x8c",
					     [CHECK_UNKNOWN] = "\xe2\x9d\x94" };
	uint64_t failed = check_report_count(v, CHECK_FAILS);

	fputs("### Heap limits: ", out);
	if (v->unread)
		fputs("not known", out);
	else
		fprintf(out, "%s of %s hold",
			units_count(UNITS_BUF, check_report_count(v, CHECK_HOLDS)),
			units_count(UNITS_BUF, v->results.count));
	fputs("\n\n", out);
	put_code(out, v->pair.paths[1]);
	if (v->pair.paths[0]) {
		fputs(" against ", out);
		put_code(out, v->pair.paths[0]);
	}
	fputs("\n", out);
	for (int side = 0; side < 2; side++) {
		char *why = NULL;

		if (v->pair.paths[side] && !check_report_whole(v, side) && (side || !v->unread))
			why = loss_text(v, side);
		if (why) {
			fprintf(out, "\n**The %s is not whole:** ", side ? "session" : "base");
			put_cell(out, why);
			fputs("\n", out);
		}
		free(why);
	}
	if (v->unread)
		return;
	fputs("\n| | rule | |\n|---|---|---|\n", out);
	for (size_t i = 0; i < v->results.count; i++) {
		char *text = result_text(&v->results.at[i]);

		fprintf(out, "| %s | ", marks[v->results.at[i].state]);
		put_code(out, v->results.at[i].rule.text);
		fputs(" | ", out);
		put_cell(out, text);
		fputs(" |\n", out);
		free(text);
	}
	for (size_t i = 0; failed && i < v->results.count; i++)
		if (v->results.at[i].state == CHECK_FAILS && v->results.at[i].part_count)
			markdown_parts(out, &v->results.at[i]);
}
