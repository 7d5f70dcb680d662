/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c: the text that people read and write: units, names cut to fit, nearest names,
 * JSON. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "../../src/base/json.h"
#include "../../src/base/nearest.h"
#include "../../src/base/text.h"
#include "../../src/base/units.h"
#include "check.h"

static void bytes(const char *text, bool good, uint64_t want)
{
	uint64_t got = 12345;
	char name[80];

	snprintf(name, sizeof(name), "bytes_%s", text);
	number(name, units_parse_bytes(text, &got), good);
	if (good)
		number(name, got, want);
	else
		number(name, got, 12345); /* untouched on failure */
}

static void test_parse(void)
{
	uint64_t n = 0;
	double share = 0;

	bytes("0", true, 0);
	bytes("64k", true, 65536);
	bytes("64K", true, 65536);
	bytes("64 KiB", true, 65536);
	bytes("1.5m", true, 1572864);
	bytes("1g", true, 1073741824);
	bytes("18446744073709551615", true, UINT64_MAX);
	bytes("18446744073709551616", false, 0);
	bytes("16777216t", false, 0);
	bytes("", false, 0);
	bytes("k", false, 0);
	bytes("-1", false, 0);
	bytes("1.", false, 0);
	bytes("64kk", false, 0);
	bytes("64 k x", false, 0);
	number("time_10s", units_parse_time("10s", &n) ? n : 0, 10000000000);
	number("time_plain", units_parse_time("2", &n) ? n : 0, 2000000000);
	number("time_ms", units_parse_time("1.5ms", &n) ? n : 0, 1500000);
	number("time_bad", units_parse_time("10x", &n), 0);
	number("count", units_parse_count("1,234", &n) ? n : 0, 1234);
	number("count_k", units_parse_count("10k", &n) ? n : 0, 10000);
	number("count_fraction", units_parse_count("1.5", &n), 0);
	number("share_percent",
	       units_parse_share("5%", &share) ? (uint64_t)(share * 1000 + 0.5) : 0, 50);
	number("share_plain",
	       units_parse_share("0.25", &share) ? (uint64_t)(share * 1000 + 0.5) : 0, 250);
	number("share_over", units_parse_share("101%", &share), 0);
	number("share_bad", units_parse_share("5%%", &share), 0);
}

static void test_write(void)
{
	text_is("count_0", units_count(UNITS_BUF, 0), "0");
	text_is("count_999", units_count(UNITS_BUF, 999), "999");
	text_is("count_1000", units_count(UNITS_BUF, 1000), "1,000");
	text_is("noun_0", units_noun(UNITS_NOUN_BUF, 0, "page"), "0 pages");
	text_is("noun_1", units_noun(UNITS_NOUN_BUF, 1, "page"), "1 page");
	text_is("noun_1000", units_noun(UNITS_NOUN_BUF, 1000, "page"), "1,000 pages");
	text_is("noun_process", units_noun(UNITS_NOUN_BUF, 2, "process"), "2 processes");
	text_is("noun_1_process", units_noun(UNITS_NOUN_BUF, 1, "process"), "1 process");
	text_is("noun_entry", units_noun(UNITS_NOUN_BUF, 2, "entry"), "2 entries");
	text_is("noun_1_entry", units_noun(UNITS_NOUN_BUF, 1, "entry"), "1 entry");
	text_is("noun_array", units_noun(UNITS_NOUN_BUF, 2, "array"), "2 arrays");
	text_is("noun_branch", units_noun(UNITS_NOUN_BUF, 2, "branch"), "2 branches");
	text_is("noun_call site", units_noun(UNITS_NOUN_BUF, 2, "call site"), "2 call sites");
	text_is("noun_max", units_noun(UNITS_NOUN_BUF, UINT64_MAX, "garbage-collected object"),
		"18,446,744,073,709,551,615 garbage-collected objects");
	text_is("form", units_form(1, "is", "are"), "is");
	text_is("forms", units_form(0, "is", "are"), "are");
	text_is("count_max", units_count(UNITS_BUF, UINT64_MAX), "18,446,744,073,709,551,615");
	text_is("bytes_0", units_bytes(UNITS_BUF, 0), "0 B");
	text_is("bytes_1023", units_bytes(UNITS_BUF, 1023), "1023 B");
	text_is("bytes_1024", units_bytes(UNITS_BUF, 1024), "1.00 KiB");
	text_is("bytes_64k", units_bytes(UNITS_BUF, 65536), "64.0 KiB");
	text_is("bytes_almost_mib", units_bytes(UNITS_BUF, 1048575), "1.00 MiB");
	text_is("bytes_max", units_bytes(UNITS_BUF, UINT64_MAX), "16.0 EiB");
	text_is("time_ns", units_time(UNITS_BUF, 999), "999 ns");
	text_is("time_us", units_time(UNITS_BUF, 1500), "1.50 µs");
	text_is("time_ms", units_time(UNITS_BUF, 45600000), "45.6 ms");
	text_is("time_s", units_time(UNITS_BUF, 3210000000), "3.21 s");
	text_is("time_min", units_time(UNITS_BUF, 125000000000), "2 min 05 s");
	text_is("time_h", units_time(UNITS_BUF, 11220000000000), "3 h 07 min");
	text_is("share", units_share(UNITS_BUF, 1, 8), "12.5 %");
	text_is("share_none", units_share(UNITS_BUF, 1, 0), "");
	text_is("share_tiny", units_share(UNITS_BUF, 1, 100000), "<0.1 %");
}

static void fit(const char *name, const char *s, size_t columns, enum text_cut cut,
		const char *want)
{
	char out[512];
	size_t used = text_fit(out, sizeof(out), s, columns, cut);

	text_is(name, out, want);
	if (used > columns || used != text_columns(out))
		checkf(name, false, "%zu columns reported, %zu used, %zu allowed", used,
		       text_columns(out), columns);
}

static void test_fit(void)
{
	fit("fits", "abc", 3, TEXT_CUT_END, "abc");
	fit("end", "abcdef", 4, TEXT_CUT_END, "abc…");
	fit("start", "abcdef", 4, TEXT_CUT_START, "…def");
	fit("middle", "abcdefgh", 5, TEXT_CUT_MIDDLE, "ab…gh");
	fit("wide", "日本語テキスト", 7, TEXT_CUT_END, "日本語…");
	fit("wide_half", "日本語", 4, TEXT_CUT_END, "日…");
	fit("control", "a\033[1mb\n", 10, TEXT_CUT_END, "a?[1mb?");
	fit("malformed", "a\xff\xc3", 10, TEXT_CUT_END, "a??");
	fit("overlong", "\xc0\xaf", 10, TEXT_CUT_END, "??");
	fit("one_column", "abc", 1, TEXT_CUT_MIDDLE, "…");
	fit("template_inner", "std::map<int, std::vector<std::string>>", 34, TEXT_CUT_MIDDLE,
	    "std::map<int, std::vector<…>>");
	fit("template_outer", "std::map<int, std::vector<std::string>>", 14, TEXT_CUT_MIDDLE,
	    "std::map<…>");
	fit("arguments", "a::f<int>(long, char const*)", 12, TEXT_CUT_MIDDLE, "a::f<…>(…)");
	fit("arguments_in_parentheses", "(in a::f(long, char const*))", 16, TEXT_CUT_MIDDLE,
	    "(in a::f(…))");
	fit("anonymous", "(anonymous namespace)::f(int, int, int)", 30, TEXT_CUT_MIDDLE,
	    "(anonymous namespace)::f(…)");
	fit("operator_less", "operator<(int, int)", 12, TEXT_CUT_MIDDLE, "operator<(…)");
	/* of a call site the name stays, then the module, then the rest */
	fit("caller", "libhwy.so.1+0x6553 ← hwy::platform::Timer()", 40, TEXT_CUT_MIDDLE,
	    "libhwy.so.1… ← hwy::platform::Timer()");
	fit("caller_module", "libhwy.so.1+0x6553 ← hwy::platform::Timer()", 30, TEXT_CUT_MIDDLE,
	    "libhw… ← hwy::platform::Timer…");
	fit("caller_alone", "libhwy.so.1+0x6553 ← hwy::platform::Timer()", 24, TEXT_CUT_MIDDLE,
	    "…hwy::platform::Timer()");
	fit("caller_scope", "libhwy.so.1+0x6553 ← hwy::platform::Timer()", 18, TEXT_CUT_MIDDLE,
	    "…platform::Timer()");
	fit("caller_long", "lib.so+0x12 ← timer_resolution_of_platform", 12, TEXT_CUT_MIDDLE,
	    "timer_…tform");
	fit("source", "libxul.so+0x123456 in dom/base/Element.cpp", 30, TEXT_CUT_MIDDLE,
	    "libxu… in dom/base/Element.cpp");
	fit("source_narrow", "libxul.so+0x123456 in dom/base/Element.cpp", 14, TEXT_CUT_MIDDLE,
	    "…Element.cpp");
	fit("place", "print_receipt(Order const&) (orders.cc:53)", 20, TEXT_CUT_MIDDLE,
	    "print_receipt(…) (o…");
	fit("function", "app::cache::Store::find_or_make(int) const", 24, TEXT_CUT_MIDDLE,
	    "…Store::find_or_make(…)…");
	fit("named_caller", "copy_of_text ← app::read(int)", 20, TEXT_CUT_MIDDLE,
	    "copy_of_text ← app:…");
	fit("local_type", "app::main(int)::Local_type_of", 16, TEXT_CUT_MIDDLE, "app::mai…type_of");
	number("combining", text_columns("e\xcc\x81"), 1);
}

/* Words of the forms that shells quote; those that know no $'…' see a quoted word behind a $. */
static void test_shell(void)
{
	static const struct {
		const char *word, *want;
	} words[] = {
		{ "plain-1.0/a_b", "plain-1.0/a_b" },
		{ "", "''" },
		{ "it's", "'it'\\''s'" },
		{ "$(x) `y` \\", "'$(x) `y` \\'" },
		{ "\033[1m\n", "$'\\033[1m\\012'" },
		{ "\033'; touch x #\\", "$'\\033\\047; touch x #\\\\'" },
		{ "\377'\\''$(x)", "$'\\377\\047\\\\\\047\\047$(x)'" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *got = text_word(words[i].word);

		text_is("word for a shell", got, words[i].want);
		free(got);
	}
}

static void test_match(void)
{
	number("match_part", text_matches("Lay", "blink::LayoutBox"), 1);
	number("match_part_not", text_matches("lay", "blink::LayoutBox"), 0);
	number("match_star", text_matches("blink::*Box", "blink::LayoutBox"), 1);
	number("match_whole", text_matches("Lay*", "blink::LayoutBox"), 0);
	number("match_backtrack", text_matches("*ab*abc", "xxabyyababc"), 1);
	number("match_question", text_matches("a?c", "abc"), 1);
	number("match_bracket", text_matches("int[]", "new int[]"), 1);
}

static void test_nearest(void)
{
	static const char *const names[] = {"report", "types", "sites", "processes"};

	number("distance_swap", nearest_distance("reprot", "report"), 1);
	number("distance_empty", nearest_distance("", "abc"), 3);
	number("distance_same", nearest_distance("abc", "ABC"), 0);
	text_is("nearest", nearest_name("reprot", names, 4), "report");
	text_is("nearest_prefix", nearest_name("proc", names, 4), "processes");
	text_is("nearest_none", nearest_name("xyzzy", names, 4) ? "something" : "nothing",
		"nothing");
	text_is("nearest_of_none", nearest_name("x", names, 0) ? "something" : "nothing",
		"nothing");
}

static void test_json(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json json;

	json_init(&json, out);
	json_object(&json, NULL);
	json_text(&json, "s", "a\"b\\c\n\t\x01\xff\xc3\xa4");
	json_number(&json, "n", UINT64_MAX);
	json_signed(&json, "i", -1);
	json_real(&json, "r", 0.5);
	json_real(&json, "nan", __builtin_nan(""));
	json_text(&json, "none", NULL);
	json_address(&json, "at", 0x7f00);
	json_array(&json, "rows");
	json_object_line(&json, NULL);
	json_bool(&json, "a", true);
	json_array_line(&json, "b");
	json_number(&json, NULL, 1);
	json_number(&json, NULL, 2);
	json_end(&json);
	json_end(&json);
	json_object_line(&json, NULL);
	json_end(&json);
	json_end(&json);
	json_array(&json, "empty");
	json_end(&json);
	json_end(&json);
	fclose(out);
	text_is("json", text,
		"{\n  \"s\": \"a\\\"b\\\\c\\n\\t\\u0001\\ufffdä\",\n  \"n\": "
		"18446744073709551615,\n  \"i\": -1,\n  \"r\": 0.5,\n  \"nan\": null,\n"
		"  \"none\": null,\n  \"at\": \"0x7f00\",\n  \"rows\": [\n    {\"a\": true, \"b\": "
		"[1, 2]},\n    {}\n  ],\n  \"empty\": []\n}\n");
	free(text);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take the lines before it along */
	test_parse();
	test_write();
	test_fit();
	test_shell();
	test_match();
	test_nearest();
	test_json();
	return failures != 0;
}
