/* SPDX-License-Identifier: Apache-2.0 */
/* test_glob.c: patterns, and the lines of files of rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/base/glob.h"
#include "../../src/base/rule_lines.h"
#include "check.h"

static void test_whole(void)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} cases[] = {
		{ "", "", true },	   { "", "a", false },
		{ "abc", "abc", true },	   { "abc", "abcd", false },
		{ "abc", "ab", false },	   { "a*c", "abbc", true },
		{ "a*c", "abbd", false },  { "*", "", true },
		{ "**", "ab", true },	   { "a?c", "abc", true },
		{ "a?c", "ac", false },	   { "?", "", false },
		{ "*.pfa", "x.pfa", true }, { "[heap]", "[heap]", true },
		{ "[v*", "[vdso]", true }, { "int[]", "int[]", true },
		{ "*ab?", "aababc", true }, { "*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaa", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		checkf("whole", glob_matches(cases[i].pattern, cases[i].text) == cases[i].fits,
		       "'%s' and '%s'", cases[i].pattern, cases[i].text);
}

static void test_parts(void)
{
	const struct glob function = { .pattern = "std::*::at", .ends = "(<" };
	const struct glob set = { .pattern = "x[a-c_]*", .sets = true };
	struct glob_star star = { NULL, 0 };

	number("ends", glob_match(&function, "std::map::at(int)", 17, &star, 1), 1);
	number("star", star.length == 3 && strncmp(star.text, "map", 3) == 0, 1);
	number("ends_elsewhere", glob_match(&function, "std::map::at_(int)", 18, NULL, 0), 0);
	number("length", glob_match(&function, "std::map::atx", 12, NULL, 0), 1);
	number("set", glob_match(&set, "xb1", 3, &star, 1), 1);
	number("set_star", star.length, 1);
	number("set_not", glob_match(&set, "xd1", 3, NULL, 0), 0);
}

static void test_lines(void)
{
	char path[] = "/tmp/test_glob.XXXXXX", want[200];
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	struct rule_lines lines;
	struct shiny_err *err;

	fputs("# a comment\n\n  one rule \t\r\n\t# another\nlast#", file);
	fclose(file);
	err = rule_lines_open(path, "rules", &lines);
	text_is("read", err ? err->message : NULL, NULL);
	text_is("first", rule_lines_next(&lines), "one rule");
	number("first_line", lines.number, 3);
	text_is("second", rule_lines_next(&lines), "last#");
	err = rule_lines_wrong(&lines, "not '%s'", "good");
	snprintf(want, sizeof(want), "%s:5: not 'good'", path);
	text_is("wrong", err->message, want);
	number("wrong_code", err->code, SHINY_ERR_USAGE);
	shiny_err_free(err);
	text_is("end", rule_lines_next(&lines), NULL);
	text_is("end_again", rule_lines_next(&lines), NULL);
	free(lines.text);

	file = fopen(path, "w");
	fwrite("a\0b\n", 1, 4, file);
	fclose(file);
	err = rule_lines_open(path, "rules", &lines);
	snprintf(want, sizeof(want), "rules %s: not a text of at most 4 MB", path);
	text_is("no_text", err ? err->message : NULL, want);
	shiny_err_free(err);
	unlink(path);
	err = rule_lines_open(path, "rules", &lines);
	snprintf(want, sizeof(want), "cannot read the rules %s: No such file or directory", path);
	text_is("missing", err ? err->message : NULL, want);
	shiny_err_free(err);
}

int main(void)
{
	test_whole();
	test_parts();
	test_lines();
	return failures != 0;
}
