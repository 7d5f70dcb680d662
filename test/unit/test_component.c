/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_component.c: rules of components, and whose the stacks of a session are that is written down
 * here. Each case is one stack, spelt innermost first as "module!function source", and the owner
 * that it must have.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/analysis/attribute/component.h"
#include "../../src/analysis/attribute/tree.h"
#include "../../src/base/function_name.h"
#include "check.h"

/* ---- names and patterns ---- */

static void test_names(void)
{
	static const struct { const char *text, *name;
	} cases[] = {
		{ "main", "main" },
		{ "malloc@plt", "malloc" },
		{ "blink::Document::Create(blink::DocumentInit const&)",
		  "blink::Document::Create" },
		{ "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
		  "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>" },
		{ "net::(anonymous namespace)::Job::Run(int)",
		  "net::(anonymous namespace)::Job::Run" },
		{ "(anonymous namespace)::f()", "(anonymous namespace)::f" },
		{ "std::function<void (int)>::operator()(int) const",
		  "std::function<void (int)>::operator()" },
		{ "operator new(unsigned long)", "operator new" },
		{ "v8::internal::operator<<(std::ostream&, int)", "v8::internal::operator<<" },
		{ "cc::Layer::operator->() const", "cc::Layer::operator->" },
		{ "gpu::f()::{lambda(int)#1}::operator()(int) const", "gpu::f" },
		{ "gpu::{lambda(int)#1}::operator()(int) const",
		  "gpu::{lambda(int)#1}::operator()" },
	};
	char label[64], got[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *start = function_name_start(cases[i].text);

		snprintf(label, sizeof(label), "name_%zu", i);
		snprintf(got, sizeof(got), "%.*s", (int)function_name_length(start), start);
		text_is(label, got, cases[i].name);
	}
}

static void test_patterns(void)
{
	/* stars NULL: no match */
	static const struct { const char *pattern, *text, *stars;
	} cases[] = {
		{ "main", "main", "" },
		{ "main", "mainly", NULL },
		{ "main", "mai", NULL },
		{ "f", "f<int>", "" },
		{ "f", "f<", "" },
		{ "blink::*", "blink::Node", "Node" },
		{ "blink::*", "notblink::Node", NULL },
		{ "blink::*", "blink::", "" },
		{ "*::f", "a::b::f", "a::b" },
		{ "*::*", "a::b::c", "a|b::c" },
		{ "*a*", "bab", "b|b" },
		{ "*ab", "aab", "a" },
		{ "**", "xy", "|xy" },
		{ "Sk[A-Z]*", "SkBitmap", "itmap" },
		{ "Sk[A-Z]*", "Skip", NULL },
		{ "icu_[0-9]*::*", "icu_78::Locale", "8|Locale" },
		{ "x[ab-]y", "x-y", "" },
		{ "x[ab-]y", "xcy", NULL },
		{ "operator new[[]]", "operator new[]", "" },
		{ "", "", "" },
		{ "", "a", NULL },
		{ "*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  NULL },
	};
	char label[64], got[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct component_match match = { 0 };
		bool yes = component_pattern_matches(cases[i].pattern, COMPONENT_FUNCTION,
						     cases[i].text, strlen(cases[i].text), &match);
		size_t at = 0, stars = 0;

		for (const char *c = cases[i].pattern; *c; c++)
			stars += *c == '*';
		got[0] = '\0';
		for (size_t n = 0; yes && n < stars; n++)
			at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%.*s", n ? "|" : "",
					       (int)match.stars[n].length, match.stars[n].text);
		snprintf(label, sizeof(label), "pattern_%zu_%s", i, cases[i].pattern);
		text_is(label, yes ? got : NULL, cases[i].stars);
	}
}

static char *write_file(const char *content)
{
	static char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/test_component.rules",
		 getenv("SHINY_TEST_TMP") ? getenv("SHINY_TEST_TMP") : "/tmp");
	file = fopen(path, "we");
	if (!file || fputs(content, file) < 0 || fclose(file) != 0)
		exit(1);
	return path;
}

/* "LINE: what" of a wrong line, with the status of a usage error. */
static void test_errors(void)
{
	static const struct { const char *content, *line, *word; } cases[] = {
		{"function a::* b\nfunktion a::* b\n", ":2:", "'funktion'"},
		{"# nothing\n\nfunction a::*\n", ":3:", "'a::*'"},
		{"function\n", ":1:", "'function'"},
		{"module *.so {2}\n", ":1:", "'{2}'"},
		{"module *.so {x}\n", ":1:", "'{x}'"},
		{"module *.so a}\n", ":1:", "'a}'"},
		{"module a[ b\n", ":1:", "'a['"},
		{"module a[] b\n", ":1:", "'a[]'"},
		{"module a b strong\n", ":1:", "'strong'"},
		{"module a b weak stop more\n", ":1:", "'more'"},
	};
	char label[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *path = write_file(cases[i].content);
		struct component_rules *rules = NULL;
		struct shiny_err *err = component_rules_load(&path, 1, &rules);
		bool good = err && err->code == SHINY_ERR_USAGE &&
			    strstr(err->message, cases[i].line) &&
			    strstr(err->message, cases[i].word) &&
			    strncmp(err->message, path, strlen(path)) == 0 && !rules;

		snprintf(label, sizeof(label), "error_%zu", i);
		if (!good)
			printf("# %s\n", err ? err->message : "no error");
		number(label, good, 1);
		shiny_err_free(err);
		component_rules_free(rules);
	}
}

/* ---- stacks ---- */

#define SIX "x!std::a|x!std::b|x!std::c|x!std::d|x!std::e|x!std::f|"
static const struct { const char *name, *stack, *type, *owner;
} stacks[] = {
	{ "innermost", "chrome!SkPath::grow|chrome!cc::Layer::Draw|chrome!blink::Paint", NULL,
	  "skia" },
	{ "boring",
	  "chrome!operator new|chrome!std::vector<net::X>::push_back|chrome!net::Job::Run", NULL,
	  "net" },
	{ "weak", "chrome!base::Value::Set|chrome!content::Host::Start|chrome!base::RunLoop::Run",
	  NULL, "content" },
	{ "weak_alone", "chrome!base::Value::Set|chrome!operator new", NULL, "base" },
	{ "stop",
	  "chrome!base::Queue::Push|chrome!base::TaskAnnotator::RunTaskImpl|chrome!content::"
	  "ContentMain",
	  NULL, "base" },
	{ "stop_inner",
	  "chrome!viz::Draw|chrome!base::TaskAnnotator::RunTaskImpl|chrome!content::ContentMain",
	  NULL, "viz" },
	{ "first_weak", "chrome!absl::flat_hash_map<int>::insert|chrome!base::Value::Set", NULL,
	  "absl" },
	{ "caller_of_nameless", "chrome!read_row|chrome!blink::ImageDecoder::Decode", NULL,
	  "blink" },
	{ "caller_of_unnamed_namespace",
	  "chrome!(anonymous namespace)::Help|chrome!gfx::Image::Make", NULL, "ui" },
	{ "source",
	  "chrome!(anonymous namespace)::Help "
	  "../../third_party/skia/src/core/x.cpp|chrome!gfx::Image::Make",
	  NULL, "skia" },
	{ "third_party",
	  "chrome!do_work /build/../../third_party/zlib/deflate.c|chrome!net::Job::Run", NULL,
	  "zlib" },
	{ "devtools", "chrome!blink::InspectorNetworkAgent::Will|chrome!blink::X", NULL,
	  "devtools" },
	{ "library", "libfoo-2.so.0!|chrome!blink::X", NULL, "libfoo-2" },
	{ "library_known", "libglib-2.0.so.0!g_hash_table_insert|prog!main", NULL, "glib" },
	{ "through_libc", "libc.so.6!strdup|libc.so.6!|libfoo.so!foo", NULL, "libfoo" },
	{ "only_libc", "libc.so.6!|ld-linux-x86-64.so.2!", NULL, "libc" },
	{ "stripped", "chromium!|chromium!|libc.so.6!", NULL, "chromium" },
	{ "stripped_other", "server!|server!", NULL, "server" },
	{ "callback", "prog!on_click|libglib-2.0.so.0!g_main_dispatch|prog!main", NULL, "prog" },
	{ "callback_of_chrome", "chrome!helper|libglib-2.0.so.0!g_main_dispatch|chrome!blink::Run",
	  NULL, "chromium" },
	{ "weak_then_library", "chrome!base::Value::Set|libfoo.so!foo|chrome!blink::Run", NULL,
	  "libfoo" },
	{ "no_module", "!|!", NULL, "(no module)" },
	{ "generated_code", "!|node!v8::internal::Run", NULL, "v8" },
	{ "long", SIX SIX SIX "x!viz::Frame::Make|x!cc::A", NULL, "viz" },
	{ "class", "chromium!|chromium!", "blink::LayoutBlockFlow", "blink" },
	{ "class_boring", "chromium!|chromium!", "std::vector<blink::X>", "chromium" },
	{ "class_not_asked", "chrome!net::Job::Run", "blink::LayoutBlockFlow", "net" },
	{ "no_stack", NULL, NULL, "(no stack)" },
	/* other by the user's rules */
	{ "user_source", "db!alloc_page /src/storage/innobase/buf/buf.cc|db!sql::Run", NULL,
	  "innobase" },
	{ "user_over_builtin", "db!net::Job::Run", NULL, "mine" },
	{ "user_over_boring", "db!xmalloc|db!main", NULL, "wrappers" },
	{ "user_nobody", "db!viz::Frame::Make|db!cc::A", NULL, "viz" },
	{ "user_module", "plugin.so!base::Foo|plugin.so!blink::Bar|db!main", NULL, "plugin" },
	{ "user_module_class", "plugin.so!f", "blink::LayoutBlockFlow", "blink" },
};
static const char *const user_rules =
	"source   */storage/*/*  {2}   # by directory\n"
	"function net::*         mine\n"
	"function xmalloc        wrappers\n"
	"function viz::*         -\n"
	"module   plugin.so      plugins\n";
static const struct { const char *name, *owner;
} with_user_rules[] = {
	{ "user_source", "innobase" }, { "user_over_builtin", "mine" },
	{ "boring", "mine" },	       { "user_over_boring", "wrappers" },
	{ "user_nobody", "cc" },       { "long", "cc" },
	{ "user_module", "plugins" },  { "user_module_class", "plugins" },
	{ "innermost", "skia" },
};
enum { STACKS = sizeof(stacks) / sizeof(*stacks) };

static uint32_t module_id(struct store *s, const char *name, size_t length)
{
	static char *known[64];
	uint32_t id = 0;

	if (!length)
		return 0;
	while (known[id] && (strlen(known[id]) != length || strncmp(known[id], name, length) != 0))
		id++;
	if (!known[id]) {
		char path[200];

		known[id] = strndup(name, length);
		snprintf(path, sizeof(path), "/usr/lib/%s", known[id]);
		must(store_put_module(s, &(struct store_module){ .id = id + 1,
								 .path = path,
								 .build_id = "",
								 .symbols = "none",
								 .note = "" }));
	}
	return id + 1;
}

/* Stack number i + 1 has value i + 1: so every value in the result says which stacks it is of. */
static void make_session(const char *path)
{
	uint32_t frame = 0;
	struct store *s;

	must(store_create(path, true, false, &s));
	must(store_put_process(s, &(struct store_process){ .id = 1,
							   .pid = 7,
							   .name = "prog",
							   .role = "",
							   .executable = "",
							   .command = "",
							   .ending = "exited",
							   .attach = "symbols",
							   .attach_text = "" }));
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t frames[64];
		size_t count = 0;
		char *copy = strdup(stacks[i].stack ? stacks[i].stack : ""), *rest = NULL;

		for (char *one = strtok_r(copy, "|", &rest); one;
		     one = strtok_r(NULL, "|", &rest)) {
			char *function = strchr(one, '!') + 1, *source = strstr(function, " ../");
			uint32_t module = module_id(s, one, (size_t)(function - one) - 1);

			source = source ? source : strstr(function, " /");
			if (source)
				*source++ = '\0';
			frame++;
			must(store_put_frame(s, frame, module, frame,
					     &(struct store_frame_line){ *function ? function
										   : NULL,
									 source, 1, false },
					     *function ? 1 : 0));
			frames[count++] = frame;
		}
		free(copy);
		if (count)
			must(store_put_stack(s, i + 1, frames, count));
		if (stacks[i].type)
			must(store_put_type(s, &(struct store_type){ .id = i + 1,
								     .name = stacks[i].type,
								     .form = "object",
								     .rule = "vptr",
								     .confidence = "exact",
								     .source = "symbol" }));
	}
	for (uint32_t i = 0; i < STACKS; i++)
		must(store_put_stat(s, &(struct store_stat){ .process = 1,
							     .stack = stacks[i].stack ? i + 1 : 0,
							     .allocs = i + 1,
							     .bytes = UINT64_C(1) << i,
							     .live = i + 1,
							     .live_bytes = UINT64_C(1) << i,
							     .type = stacks[i].type ? i + 1 : 0 }));
	must(store_finish(s, NULL));
}

/* The component that has the value of this stack, which is one bit. */
static const char *owner_in(const struct components *c, size_t stack)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].value >> stack & 1)
			return c->names.at[c->rows[i].name];
	return NULL;
}

static uint64_t sum(const struct components *c)
{
	uint64_t rows = 0, owners = 0;

	for (size_t i = 0; i < c->count; i++)
		rows += c->rows[i].value;
	for (size_t i = 0; i < c->owner_count; i++)
		owners += c->owners[i].value;
	return rows == owners && rows == c->total ? rows : 0;
}

static void test_stacks(struct store *s)
{
	struct component_rules *rules;
	struct components c;
	struct filter all;
	char label[80];

	must(filter_resolve(s, NULL, &all));
	must(component_rules_load(NULL, 0, &rules));
	must(components_load(s, &all, rules, "live_bytes", &c));
	for (size_t i = 0; i < STACKS; i++) {
		snprintf(label, sizeof(label), "builtin_%s", stacks[i].name);
		text_is(label, owner_in(&c, i),
			strncmp(stacks[i].name, "user_", 5) != 0	   ? stacks[i].owner
			: strcmp(stacks[i].name, "user_source") == 0	   ? "storage"
			: strcmp(stacks[i].name, "user_over_builtin") == 0 ? "net"
			: strcmp(stacks[i].name, "user_over_boring") == 0  ? "db"
			: strcmp(stacks[i].name, "user_module") == 0	   ? "blink"
			: strcmp(stacks[i].name, "user_nobody") == 0	   ? "viz"
									   : stacks[i].owner);
	}
	number("total", sum(&c), (UINT64_C(1) << STACKS) - 1);
	for (size_t i = 0; i < c.owner_count; i++)
		if (strcmp(c.names.at[c.owners[i].name], "skia") == 0 &&
		    c.owners[i].rule->kind == COMPONENT_FUNCTION)
			text_is("rule", c.owners[i].rule->pattern, "Sk[A-Z]*");
	components_deinit(&c);
	component_rules_free(rules);

	must(component_rules_load(&(const char *){write_file(user_rules)}, 1, &rules));
	must(components_load(s, &all, rules, "live_bytes", &c));
	for (size_t i = 0; i < sizeof(with_user_rules) / sizeof(*with_user_rules); i++) {
		size_t stack = 0;

		while (strcmp(stacks[stack].name, with_user_rules[i].name) != 0)
			stack++;
		snprintf(label, sizeof(label), "user_rules_%s", with_user_rules[i].name);
		text_is(label, owner_in(&c, stack), with_user_rules[i].owner);
	}
	number("user_total", sum(&c), (UINT64_C(1) << STACKS) - 1);
	components_deinit(&c);
	component_rules_free(rules);
	filter_deinit(&all);
}

/* Every measure adds up to what the tree by type has. */
static void test_tree(struct store *s)
{
	static const enum tree_measure measures[] = {TREE_LIVE, TREE_BYTES, TREE_ALLOCS};
	struct component_rules *rules;
	struct components components;
	struct tree_node by_type, by_component;
	struct filter all;

	must(filter_resolve(s, NULL, &all));
	must(component_rules_load(NULL, 0, &rules));
	for (size_t i = 0; i < 3; i++) {
		char label[32];

		must(tree_load(s, &all, measures[i], GROUP_TYPE, NULL, 0, false, &by_type));
		must(tree_load_components(s, &all, measures[i], rules, NULL, 0, false,
					  &by_component, &components));
		snprintf(label, sizeof(label), "tree_%zu", i);
		number(label, by_component.value, by_type.value);
		snprintf(label, sizeof(label), "tree_%zu_processes", i);
		number(label, by_component.count, by_type.count);
		tree_deinit(&by_type);
		tree_deinit(&by_component);
		components_deinit(&components);
	}
	must(tree_load_components(s, &all, TREE_LIVE, rules, "libfoo*", 0, false, &by_component,
				  &components));
	number("tree_match", by_component.children[0].count, 2); /* libfoo-2, libfoo */
	tree_deinit(&by_component);
	components_deinit(&components);
	component_rules_free(rules);
	filter_deinit(&all);
}

int main(void)
{
	char *file = NULL;
	struct store *s;

	if (asprintf(&file, "%s/component.shiny",
		     getenv("SHINY_TEST_TMP") ? getenv("SHINY_TEST_TMP") : "/tmp") < 0)
		return 1;
	test_names();
	test_patterns();
	test_errors();
	make_session(file);
	must(store_open(file, &s));
	test_stacks(s);
	test_tree(s);
	store_close(s);
	unlink(file);
	free(file);
	return failures != 0;
}
