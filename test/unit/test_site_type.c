/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_site_type.c: types of call sites. The choice among candidates, on tables; the file of
 * container rules and its errors; and whole answers about programs that are compiled here by two
 * compilers and say themselves what they allocate.
 */
#include "fixtures/sym_fixture.h"

#include "../../symbolizer/infer/containers.h"
#include "../../symbolizer/dwarf/die_normalize.h"
#include "../../symbolizer/infer/site_choose.h"
#include "../../symbolizer/infer/site_type.h"

enum { MALLOC = 0, NEW = 4, NEW_ARRAY = 5 };

/* ---- choosing ---- */

#define MADE(type_, bytes_, flags_, ...)                                                       \
	{                                                                                      \
		.type = type_, .bytes = bytes_, .rule = SYM_RULE_CONSTRUCTOR, .flags = flags_, \
		.leading = {                                                                   \
			__VA_ARGS__                                                            \
		}                                                                              \
	}
#define HELD(type_, bytes_, ...)                                                          \
	{                                                                                 \
		.type = type_, .bytes = bytes_, .rule = SYM_RULE_VARIABLE, .array = true, \
		__VA_ARGS__                                                               \
	}
#define ELEMENTS(type_, bytes_, ...)                                                       \
	{                                                                                  \
		.type = type_, .bytes = bytes_, .rule = SYM_RULE_ALLOCATOR,                \
		.form = SYM_FORM_BUFFER, .array = true, .flags = SITE_CERTAIN, __VA_ARGS__ \
	}

static const char A[] = "A", B[] = "B", C[] = "char", T[] = "T";

struct choice {
	const char *name;
	struct site_answer answers[3];
	unsigned api;
	struct sym_sizes sizes;
	const char *type; /* NULL: none */
	enum sym_confidence confidence;
	enum sym_form form;
	unsigned climbed;
};

static const struct choice choices[] = {
	{ "nothing", { { .count = 0 } }, NEW, { 8, 8, 0 }, NULL, SYM_LABEL, SYM_FORM_OBJECT, 0 },
	{ "a label", { { .label = T } }, NEW, { 8, 8, 0 }, T, SYM_LABEL, SYM_FORM_OBJECT, 0 },
	{ "a label of a unit",
	  { { .label = T, .label_unit = 24 } },
	  NEW,
	  { 24, 72, 24 },
	  T,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a label of another unit",
	  { { .label = T, .label_unit = 24 } },
	  NEW,
	  { 24, 60, 12 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a constructor",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN) }, .count = 1 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_EXACT,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a constructor of another size",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN) }, .count = 1 } },
	  NEW,
	  { 32, 32, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a constructor on some paths",
	  { { .candidates = { MADE(A, 24, 0) }, .count = 1 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a constructor in the line",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_LINE) }, .count = 1 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_HIGH,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a constructor by its symbol",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_SYMBOL) }, .count = 1 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "sizes that vary",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN) }, .count = 1 } },
	  NEW,
	  { 24, 48, 24 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a base class's too",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN), MADE(B, 24, SITE_CERTAIN, A) },
	      .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  B,
	  SYM_EXACT,
	  SYM_FORM_OBJECT,
	  0 },
	{ "two that contradict",
	  { { .candidates = { MADE(A, 24, 0), MADE(B, 24, 0) }, .count = 2, .ambiguous = true } },
	  NEW,
	  { 24, 24, 0 },
	  "A | B",
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "two, the size tells",
	  { { .candidates = { MADE(A, 24, 0), MADE(B, 32, 0) }, .count = 2 } },
	  NEW,
	  { 32, 32, 0 },
	  B,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a temporary in the line",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_LINE), MADE(B, 24, SITE_CERTAIN) },
	      .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  B,
	  SYM_EXACT,
	  SYM_FORM_OBJECT,
	  0 },
	{ "two in the line, a variable tells",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_LINE),
			      MADE(B, 24, SITE_CERTAIN | SITE_LINE), HELD(B, 24) },
	      .count = 3 } },
	  NEW,
	  { 24, 24, 0 },
	  B,
	  SYM_HIGH,
	  SYM_FORM_OBJECT,
	  0 },
	{ "two in the line, nothing tells",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_LINE),
			      MADE(B, 24, SITE_CERTAIN | SITE_LINE) },
	      .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "two arms, a variable of one",
	  { { .candidates = { MADE(A, 24, SITE_LINE), MADE(B, 24, SITE_LINE), HELD(B, 24) },
	      .count = 3 } },
	  NEW,
	  { 24, 24, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "two objects made, a variable of one",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN), MADE(B, 24, SITE_CERTAIN), HELD(B, 24) },
	      .count = 3 } },
	  NEW,
	  { 24, 24, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "one code of two classes",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_FOLDED),
			      MADE(B, 24, SITE_CERTAIN | SITE_FOLDED) },
	      .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  "A | B",
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "one code of two classes, a variable of one",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_FOLDED),
			      MADE(B, 24, SITE_CERTAIN | SITE_FOLDED), HELD(B, 24) },
	      .count = 3 } },
	  NEW,
	  { 24, 24, 0 },
	  B,
	  SYM_HIGH,
	  SYM_FORM_OBJECT,
	  0 },
	{ "the first member's",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN), HELD(B, 24, .leading = { A }) },
	      .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  B,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a variable confirms",
	  { { .candidates = { MADE(A, 24, 0), HELD(A, 24) }, .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_HIGH,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a base class's variable",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN, B), HELD(B, 8) }, .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_EXACT,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a variable contradicts",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN), HELD(B, 24) }, .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a variable contradicts the line",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN | SITE_LINE), HELD(B, 24) }, .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  B,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "an array behind its cookie",
	  { { .candidates = { { .type = A,
				.bytes = 24,
				.header = 8,
				.rule = SYM_RULE_CONSTRUCTOR,
				.flags = SITE_CERTAIN } },
	      .count = 1 } },
	  NEW_ARRAY,
	  { 80, 80, 0 },
	  A,
	  SYM_HIGH,
	  SYM_FORM_ARRAY,
	  0 },
	{ "a member's constructor",
	  { { .candidates = { { .type = A,
				.bytes = 24,
				.header = 8,
				.rule = SYM_RULE_CONSTRUCTOR,
				.flags = SITE_CERTAIN } },
	      .count = 1 } },
	  NEW,
	  { 32, 32, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "an object in a buffer",
	  { { .candidates = { MADE(A, 24, SITE_CERTAIN), HELD(C, 1) }, .count = 2 } },
	  NEW_ARRAY,
	  { 240, 240, 0 },
	  C,
	  SYM_MEDIUM,
	  SYM_FORM_ARRAY,
	  0 },
	{ "bytes are no object",
	  { { .candidates = { HELD(C, 1) }, .count = 1 } },
	  NEW,
	  { 24, 24, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "bytes of malloc",
	  { { .candidates = { HELD(C, 1) }, .count = 1 } },
	  MALLOC,
	  { 1, 24, 1 },
	  C,
	  SYM_MEDIUM,
	  SYM_FORM_ARRAY,
	  0 },
	{ "bytes give way",
	  { { .candidates = { HELD(C, 1), HELD(A, 24) }, .count = 2 } },
	  MALLOC,
	  { 24, 24, 0 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "elements of malloc",
	  { { .candidates = { HELD(A, 24) }, .count = 1 } },
	  MALLOC,
	  { 24, 240, 24 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_ARRAY,
	  0 },
	{ "no elements of new",
	  { { .candidates = { HELD(A, 24) }, .count = 1 } },
	  NEW,
	  { 48, 48, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a trailing array",
	  { { .candidates = { HELD(A, 24, .trailing = true, .header = 20) }, .count = 1 } },
	  MALLOC,
	  { 21, 99, 1 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_OBJECT,
	  0 },
	{ "too short for its array",
	  { { .candidates = { HELD(A, 24, .trailing = true, .header = 20) }, .count = 1 } },
	  MALLOC,
	  { 8, 8, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a polymorphic variable",
	  { { .candidates = { HELD(A, 24, .or_derived = true, .flags = SITE_POLYMORPHIC) },
	      .count = 1 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_LOW,
	  SYM_FORM_OBJECT,
	  0 },
	{ "no parameter for arrays",
	  { { .candidates = { HELD(A, 24, .flags = SITE_PARAMETER) }, .count = 1 } },
	  NEW_ARRAY,
	  { 24, 24, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a buffer",
	  { { .candidates = { ELEMENTS(A, 24) }, .count = 1 } },
	  NEW,
	  { 24, 240, 24 },
	  A,
	  SYM_EXACT,
	  SYM_FORM_BUFFER,
	  0 },
	{ "a buffer that doesn't divide",
	  { { .candidates = { ELEMENTS(A, 24) }, .count = 1 } },
	  NEW,
	  { 24, 240, 8 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a buffer of unknown elements",
	  { { .candidates = { ELEMENTS(A, 0) }, .count = 1 } },
	  NEW,
	  { 24, 240, 8 },
	  A,
	  SYM_HIGH,
	  SYM_FORM_BUFFER,
	  0 },
	{ "an allocator wins",
	  { { .candidates = { ELEMENTS(A, 24), MADE(B, 24, SITE_CERTAIN) }, .count = 2 } },
	  NEW,
	  { 24, 24, 0 },
	  A,
	  SYM_EXACT,
	  SYM_FORM_BUFFER,
	  0 },
	{ "a wrapper's caller",
	  { { .climbs = true, .label = T },
	    { .candidates = { MADE(A, 24, SITE_CERTAIN) }, .count = 1 } },
	  MALLOC,
	  { 24, 24, 0 },
	  A,
	  SYM_EXACT,
	  SYM_FORM_OBJECT,
	  1 },
	{ "a function that may return nothing, in one that makes a node",
	  { { .climbs = true, .guessed = true }, { .candidates = { ELEMENTS(A, 0) }, .count = 1 } },
	  NEW,
	  { 104, 104, 0 },
	  A,
	  SYM_MEDIUM,
	  SYM_FORM_BUFFER,
	  1 },
	{ "a wrapper in one that makes a node",
	  { { .climbs = true }, { .candidates = { ELEMENTS(A, 0) }, .count = 1 } },
	  NEW,
	  { 104, 104, 0 },
	  A,
	  SYM_HIGH,
	  SYM_FORM_BUFFER,
	  1 },
	{ "not a caller's",
	  { { .label = T }, { .candidates = { MADE(A, 24, SITE_CERTAIN) }, .count = 1 } },
	  MALLOC,
	  { 24, 24, 0 },
	  T,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "behind unknown code only functions",
	  { { .climbs = true, .opaque = true },
	    { .candidates = { MADE(A, 24, SITE_CERTAIN) }, .count = 1 } },
	  MALLOC,
	  { 24, 24, 0 },
	  NULL,
	  SYM_LABEL,
	  SYM_FORM_OBJECT,
	  0 },
	{ "a function behind unknown code",
	  { { .climbs = true, .opaque = true },
	    { .candidates = { { .type = C, .bytes = 1, .array = true, .rule = SYM_RULE_FUNCTION } },
	      .count = 1 } },
	  MALLOC,
	  { 24, 24, 0 },
	  C,
	  SYM_HIGH,
	  SYM_FORM_ARRAY,
	  1 },
};

static void choosing(void)
{
	struct names names = { 0 };

	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		const struct choice *c = &choices[i];
		const struct site_answer *answers[] = { &c->answers[0], &c->answers[1],
							&c->answers[2] };
		struct sym_type got;

		site_choose(answers, 3, c->api, &c->sizes, &names, &got, NULL);
		fixture_result((c->type ? got.type && !strcmp(got.type, c->type) : !got.type) &&
				       got.confidence == c->confidence && got.form == c->form &&
				       got.climbed == c->climbed,
			       c->name, "%s %s %s, %u up", got.type ? got.type : "-",
			       sym_confidence_name(got.confidence), sym_form_name(got.form),
			       got.climbed);
	}
	names_deinit(&names);
}

/* ---- container rules ---- */

static void rules_of(const char *name, const char *text, const char *path, enum container_what what,
		     const char *element, unsigned header)
{
	struct container_rules *rules = NULL;
	const struct container_rule *rule;
	char file[128];
	struct shiny_err *err;
	FILE *out;

	snprintf(file, sizeof(file), "%s/rules", fixture_dir);
	out = fopen(file, "w");
	if (!out || fputs(text, out) < 0 || fclose(out))
		exit(1);
	err = container_rules_load(file, &rules);
	rule = err ? NULL : container_rules_find(rules, path);
	fixture_result(rule && rule->what == what && rule->header == header &&
			       (element ? rule->element && !strcmp(rule->element, element)
					: !rule->element),
		       name, "%s: %s", err ? err->message : "no error",
		       rule && rule->element ? rule->element : "no rule, or no element");
	shiny_err_free(err);
	container_rules_free(rules);
}

static void bad_rules(const char *text, const char *says)
{
	struct container_rules *rules = NULL;
	char file[128];
	struct shiny_err *err;
	FILE *out;

	snprintf(file, sizeof(file), "%s/rules", fixture_dir);
	out = fopen(file, "w");
	if (!out || fputs(text, out) < 0 || fclose(out))
		exit(1);
	err = container_rules_load(file, &rules);
	fixture_result(err && strstr(err->message, says), says, "%s",
		       err ? err->message : "no error");
	shiny_err_free(err);
	container_rules_free(rules);
}

static void rule_files(void)
{
	struct container_rules *rules = NULL, *more = NULL;
	struct shiny_err *err = container_rules_load(NULL, &rules);

	fixture_result(!err, "built-in rules", "%s", err ? err->message : "");
	rules_of("a rule of the table", "# nothing\n\n", "std::vector::push_back",
		 CONTAINER_CONTAINER, "{0}", 0);
	rules_of("a user's rule goes first", "container std::vector::* {1} loose header=16\n",
		 "std::vector::push_back", CONTAINER_CONTAINER, "{1}", 16);
	rules_of("a star in the middle", "wrapper my_*_alloc -\n", "my_own_alloc",
		 CONTAINER_WRAPPER, NULL, 0);
	rules_of("an element with a blank", "allocator pool::take unsigned long # comment\n",
		 "pool::take", CONTAINER_ALLOCATOR, "unsigned long", 0);
	rules_of("no line end", "maker make_it {f0}", "make_it", CONTAINER_MAKER, "{f0}", 0);
	rules_of("a name isn't a container's rule",
		 "name pool::* std::vector<{0}, int>\ncontainer pool::* {1}\n", "pool::add",
		 CONTAINER_CONTAINER, "{1}", 0);
	bad_rules("name a::b\n", "rules:1: three words");
	bad_rules("\n\nalocator a::b {0}\n", "rules:3: not allocator");
	bad_rules("allocator a::b\n", "rules:1: three words");
	bad_rules("allocator a::b {0\n", "rules:1: braces");
	bad_rules("allocator a::b {0 }\n", "rules:1: braces");
	bad_rules("allocator a::b -\n", "rules:1: an element is needed");
	bad_rules("container a::b {0} mnay\n", "rules:1: not one, node");
	bad_rules("container a::b {0} header=x\n",
		  "not one, node, many, loose or header=BYTES: 'header=x'");
	shiny_err_free(err);
	err = container_rules_load("/nowhere/rules", &more);
	fixture_result(err && strstr(err->message, "/nowhere/rules"), "a file that isn't there",
		       "%s", err ? err->message : "no error");
	shiny_err_free(err);
	container_rules_free(rules);
}

/* ---- programs ---- */

static bool same_type(struct names *names, const char *got, const char *truth)
{
	char text[300];
	size_t length = strlen(truth);
	const char *tidy;

	if (truth[length - 1] == '~')
		return !strncmp(got, truth, length - 1);
	snprintf(text, sizeof(text), "%s", truth);
	tidy = die_normalize(names, text);
	return tidy && !strcmp(got, tidy);
}

/*
 * Every answer of a confidence that says so must be right; the program's blocks must be typed but
 * for `unknown` of them. `symbols`: the program has no debug information, and little is known.
 */
static void program(const char *name, const char *compiler, const char *flags, unsigned unknown)
{
	const struct sym_options options = { .no_cache = true };
	struct names names = { 0 };
	char path[300], line[1000], wrong[600] = "", missing[600] = "";
	unsigned blocks = 0, wrongs = 0, none = 0;
	struct sym *sym;
	struct sym_module *module;
	FILE *truth;

	if (!fixture_have(compiler)) {
		fixture_skip(name, compiler);
		return;
	}
	if (!fixture_run("%s -std=c++17 %s -fno-omit-frame-pointer -fno-optimize-sibling-calls "
			 "\"$OLDPWD\"/%s/site_types.cc -o program && "
			 "./program > truth",
			 compiler, flags, fixture_source())) {
		fixture_result(false, name, "can't be built, or run");
		return;
	}
	sym = fixture_sym(&options);
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	module = fixture_open(sym, path);
	snprintf(path, sizeof(path), "%s/truth", fixture_dir);
	truth = fopen(path, "r");
	while (truth && fgets(line, sizeof(line), truth)) {
		struct sym_call calls[4];
		struct sym_sizes sizes = { 0 };
		struct sym_type got;
		unsigned api;
		unsigned long size;
		char idiom[60], type[200], *rest, *next;
		size_t count = 0;
		bool right;

		if (sscanf(line, "%u %lu %59[^|]|%199[^|]|", &api, &size, idiom, type) != 4 ||
		    !(rest = strrchr(line, '|')))
			break;
		for (rest++; count < 4; rest = next) {
			uint64_t vaddr = strtoull(rest, &next, 16);

			if (next == rest)
				break;
			calls[count++] = (struct sym_call){ module, vaddr };
		}
		sizes.min = sizes.max = size;
		sym_site_type(sym, calls, count, api, &sizes, &got, NULL);
		blocks++;
		right = got.type && got.confidence > SYM_LABEL && same_type(&names, got.type, type);
		if (got.confidence >= SYM_HIGH && !right) {
			wrongs++;
			snprintf(wrong + strlen(wrong), sizeof(wrong) - strlen(wrong),
				 " %s: %s (%s, %s) is %s;", idiom, got.type,
				 sym_rule_name(got.rule), sym_confidence_name(got.confidence),
				 type);
		} else if (!right && strcmp(type, "-")) {
			none++;
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing),
				 " %s: %s;", idiom, got.type ? got.type : "-");
		}
	}
	if (truth)
		fclose(truth);
	printf("# %s: %u blocks, %u wrong, %u without a type\n", name, blocks, wrongs, none);
	snprintf(line, sizeof(line), "%s: nothing wrong", name);
	fixture_result(blocks == 36 && !wrongs, line, "%u of %u blocks:%s", wrongs, blocks, wrong);
	snprintf(line, sizeof(line), "%s: typed", name);
	fixture_result(none <= unknown, line, "%u without a type:%s", none, missing);
	names_deinit(&names);
	sym_destroy(sym);
}

static void note_call(void *context, uint64_t ret)
{
	struct { uint64_t ret; unsigned count; } *calls = context;

	calls->ret = ret;
	calls->count++;
}

/*
 * The attribute that says what a call allocates. No compiler here writes it, so the assembler text
 * of one that has the same offsets all over (a DW_FORM_ref4) is changed: the call's origin becomes
 * it, and refers to the only class that there is. `flags`, `link`: how it is built.
 */
static void attribute(const char *name, const char *flags, const char *link, bool patched)
{
	static const char source[] = "struct thing { long a, b, c; } *keep;\nvoid *hidden;\n"
				     "__attribute__((noinline)) void make() { hidden = ::operator "
				     "new(24); }\nint main() { make(); return !hidden; }\n";
	static const char patch[] =
		"off=$(sed -n 's/.*Abbrev .* \\(0x[0-9a-f]*\\):.* DW_TAG_structure_type.*/\\1/p' "
		"plain.s) && "
		"sed -e '/\\.byte.*DW_AT_[a-z]*_origin/s/.*/.byte 0x8a, 0x7c/' "
		"-e \"/\\.long.*DW_AT_[a-z]*_origin/s/.*/.long $off/\" plain.s > made.s && "
		"! cmp plain.s made.s";
	const struct sym_options options = { .no_cache = true };
	const struct sym_sizes sizes = { 24, 24, 0 };
	struct { uint64_t ret; unsigned count; } calls = { 0 };
	struct sym_type got = { 0 };
	struct sym *sym;
	struct sym_module *module;
	char path[300];
	FILE *file;
	bool right;

	if (!fixture_have("clang++") || !fixture_have("objcopy")) {
		fixture_skip(name, "clang++, objcopy");
		return;
	}
	snprintf(path, sizeof(path), "%s/thing.cc", fixture_dir);
	file = fopen(path, "w");
	if (!file || fputs(source, file) < 0 || fclose(file) ||
	    !fixture_run("rm -f program made.* && clang++ -O1 -g %s -S thing.cc -o plain.s && %s "
			 "&& clang++ -c made.s && %s",
			 flags, patched ? patch : "cp plain.s made.s", link)) {
		fixture_result(false, name, "can't be built");
		return;
	}
	sym = fixture_sym(&options);
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	module = fixture_open(sym, path);
	sym_allocation_calls(module, note_call, &calls);
	sym_site_type(sym, &(struct sym_call){ module, calls.ret }, 1, NEW, &sizes, &got, NULL);
	right = patched ? got.type && !strcmp(got.type, "thing") &&
				  got.rule == SYM_RULE_ALLOC_TYPE && got.confidence == SYM_EXACT
			: got.rule != SYM_RULE_ALLOC_TYPE && got.confidence < SYM_MEDIUM;
	fixture_result(calls.count == 1 && right, name, "%u calls; %s (%s, %s)", calls.count,
		       got.type ? got.type : "-", sym_rule_name(got.rule),
		       sym_confidence_name(got.confidence));
	sym_destroy(sym);
}

struct seen {
	struct sym *sym;
	struct sym_module *module;
	const char *wanted[8];
	bool found[8];
	const char *raw; /* a container by an implementation's name */
};

static void note_container(void *context, uint64_t ret)
{
	struct seen *seen = context;

	for (uint64_t size = 8; size <= 128; size += 8) {
		const struct sym_sizes sizes = { size, size, 0 };
		struct sym_type got;

		sym_site_type(seen->sym, &(struct sym_call){ seen->module, ret }, 1, NEW, &sizes,
			      &got, NULL);
		if (got.confidence == SYM_LABEL || !got.container)
			continue;
		for (unsigned i = 0; i < 8 && seen->wanted[i]; i++)
			seen->found[i] |=
				!strncmp(got.container, seen->wanted[i], strlen(seen->wanted[i]));
		if (strstr(got.container, "::_") && !strstr(got.container, "::__cxx11") &&
		    !strstr(got.container, "::__1"))
			seen->raw = got.container;
	}
}

/* Containers go by the names that a program's author wrote. */
static void container_names(const char *name, const char *compiler, const char *inner)
{
	static const char source[] =
		"#include <map>\n#include <set>\n#include <unordered_map>\n#include "
		"<unordered_set>\n"
		"std::unordered_map<int, long> a; std::unordered_set<long> b; "
		"std::unordered_multimap<short, int> c; std::map<char, long> d;\n"
		"std::multiset<int> e;\n"
		"int main() { a[1] = 2; b.insert(3); c.insert({ 4, 5 }); d[6] = 7; e.insert(8); "
		"return 0; }\n";
	static const char *const classes[] = { "unordered_map<int, long, ", "unordered_set<long, ",
					       "unordered_multimap<short, int, ",
					       "map<char, long, ", "multiset<int, " };
	const struct sym_options options = { .no_cache = true };
	struct seen seen = { 0 };
	char path[300], names[5][60];
	unsigned found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/names.cc", fixture_dir);
	file = fopen(path, "w");
	if (!file || fputs(source, file) < 0 || fclose(file) ||
	    !fixture_run("%s -O2 -g names.cc -o program 2>/dev/null", compiler)) {
		fixture_skip(name, compiler);
		return;
	}
	seen.sym = fixture_sym(&options);
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	seen.module = fixture_open(seen.sym, path);
	for (unsigned i = 0; i < 5; i++) {
		snprintf(names[i], sizeof(names[i]), "%s%s", inner, classes[i]);
		seen.wanted[i] = names[i];
	}
	sym_allocation_calls(seen.module, note_container, &seen);
	for (unsigned i = 0; i < 5; i++)
		found += seen.found[i];
	fixture_result(found == 5 && !seen.raw, name, "%u of 5; %s", found,
		       seen.raw ? seen.raw : "no other");
	sym_destroy(seen.sym);
}

/* Addresses that are no return addresses, files that are no code: nothing must come of them. */
static void nonsense(void)
{
	const struct sym_options options = { .no_cache = true };
	const struct sym_sizes sizes = { 32, 32, 0 };
	struct sym *sym = fixture_sym(&options);
	struct sym_module *module;
	struct sym_type got;
	char path[300];
	unsigned high = 0;

	if (!fixture_run("gcc -O2 -g -x c++ \"$OLDPWD\"/%s/site_types.cc -o program -lstdc++",
			 fixture_source())) {
		fixture_skip("addresses between calls", "gcc");
		sym_destroy(sym);
		return;
	}
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	module = fixture_open(sym, path);
	for (uint64_t vaddr = 0; vaddr < 0x6000; vaddr += 7) {
		struct sym_call call = { module, vaddr };

		sym_site_type(sym, &call, 1, NEW, &sizes, &got, NULL);
		high += got.confidence == SYM_EXACT;
	}
	for (unsigned bit = 0; bit < 64; bit++) {
		struct sym_call call = { module, UINT64_C(1) << bit };

		sym_site_type(sym, &call, 1, NEW, &sizes, &got, NULL);
		high += got.confidence == SYM_EXACT;
	}
	fixture_result(high < 30, "addresses between calls", "%u exact answers", high);
	sym_destroy(sym);
}

int main(void)
{
	fixture_begin();
	choosing();
	rule_files();
	program("gcc -O2", "g++", "-O2 -g", 0);
	program("gcc -O2 -flto", "g++", "-O2 -g -flto", 1);
	program("clang -O2", "clang++", "-O2 -g", 0);
	program("gcc without debug information", "g++", "-O2", 36);
	attribute("an allocation without the attribute", "-gdwarf-5", "clang++ made.o -o program",
		  false);
	attribute("the attribute on a call", "-gdwarf-5", "clang++ made.o -o program", true);
	attribute("the attribute in a split unit", "-gdwarf-5 -gsplit-dwarf",
		  "objcopy --extract-dwo made.o thing.dwo && objcopy --strip-dwo made.o && clang++ "
		  "made.o -o program",
		  true);
	container_names("containers of libstdc++, gcc", "g++", "std::");
	container_names("containers of libc++", "clang++ -stdlib=libc++", "std::__1::");
	nonsense();
	if (fixture_is_long()) {
		program("gcc -O0", "g++", "-O0 -g", 0);
		program("gcc -g1", "g++", "-O2 -g1", 36);
		program("clang -O0", "clang++", "-O0 -g", 0);
		program("clang without debug information", "clang++", "-O2", 36);
		attribute("the attribute in DWARF 4", "-gdwarf-4", "clang++ made.o -o program",
			  true);
		container_names("containers of libstdc++, clang", "clang++", "std::");
	}
	return fixture_end();
}
