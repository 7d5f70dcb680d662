/* SPDX-License-Identifier: Apache-2.0 */
#include "type_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/function_name.h"
#include "../../base/mem.h"
#include "../../base/text.h"

enum { ARGUMENTS = 64, DEEPEST = 64 };

/*
 * Default template arguments of a template, from argument number `first` on. $0 and $1 are the
 * arguments before; '|' separates spellings of one default, since gcc, clang and the demangler put
 * const on different sides.
 */
#define PAIR_ALLOCATOR \
	"std::allocator<std::pair<$0 const, $1>>|std::allocator<std::pair<const $0, $1>>"
#define ABSL_HASH                                                                              \
	"absl::container_internal::hash_default_hash<$0>|absl::hash_internal::Hash<$0>|absl::" \
	"container_internal::StringHash"
#define ABSL_EQUAL                                                                         \
	"absl::container_internal::hash_default_eq<$0>|std::equal_to<$0>|absl::container_" \
	"internal::StringHashEq::Eq|"                                                      \
	"absl::container_internal::StringEq"
static const struct {
	const char *name;
	int first;
	const char *defaults[4];
} rules[] = {
	{ "std::basic_string", 1, { "std::char_traits<$0>", "std::allocator<$0>" } },
	{ "std::basic_string_view", 1, { "std::char_traits<$0>" } },
	{ "std::basic_ios", 1, { "std::char_traits<$0>" } },
	{ "std::basic_istream", 1, { "std::char_traits<$0>" } },
	{ "std::basic_ostream", 1, { "std::char_traits<$0>" } },
	{ "std::basic_iostream", 1, { "std::char_traits<$0>" } },
	{ "std::basic_streambuf", 1, { "std::char_traits<$0>" } },
	{ "std::basic_filebuf", 1, { "std::char_traits<$0>" } },
	{ "std::basic_ifstream", 1, { "std::char_traits<$0>" } },
	{ "std::basic_ofstream", 1, { "std::char_traits<$0>" } },
	{ "std::basic_fstream", 1, { "std::char_traits<$0>" } },
	{ "std::basic_stringbuf", 1, { "std::char_traits<$0>", "std::allocator<$0>" } },
	{ "std::basic_istringstream", 1, { "std::char_traits<$0>", "std::allocator<$0>" } },
	{ "std::basic_ostringstream", 1, { "std::char_traits<$0>", "std::allocator<$0>" } },
	{ "std::basic_stringstream", 1, { "std::char_traits<$0>", "std::allocator<$0>" } },
	{ "std::istreambuf_iterator", 1, { "std::char_traits<$0>" } },
	{ "std::ostreambuf_iterator", 1, { "std::char_traits<$0>" } },
	{ "alloc::vec::Vec", 1, { "alloc::alloc::Global" } },
	{ "alloc::collections::vec_deque::VecDeque", 1, { "alloc::alloc::Global" } },
	{ "alloc::boxed::Box", 1, { "alloc::alloc::Global" } },
	{ "alloc::rc::Rc", 1, { "alloc::alloc::Global" } },
	{ "alloc::sync::Arc", 1, { "alloc::alloc::Global" } },
	{ "alloc::collections::btree::map::BTreeMap", 2, { "alloc::alloc::Global" } },
	{ "hashbrown::raw::RawTable", 1, { "alloc::alloc::Global" } },
	{ "std::collections::hash::map::HashMap", 2, { "std::hash::random::RandomState",
						       "alloc::alloc::Global" } },
	{ "hashbrown::map::HashMap", 2, { "std::hash::random::RandomState",
					  "alloc::alloc::Global" } },
	{ "std::vector", 1, { "std::allocator<$0>" } },
	{ "std::list", 1, { "std::allocator<$0>" } },
	{ "std::forward_list", 1, { "std::allocator<$0>" } },
	{ "std::deque", 1, { "std::allocator<$0>" } },
	{ "std::stack", 1, { "std::deque<$0>" } },
	{ "std::queue", 1, { "std::deque<$0>" } },
	{ "std::priority_queue", 1, { "std::vector<$0>", "std::less<$0>" } },
	{ "std::set", 1, { "std::less<$0>", "std::allocator<$0>" } },
	{ "std::multiset", 1, { "std::less<$0>", "std::allocator<$0>" } },
	{ "std::map", 2, { "std::less<$0>", PAIR_ALLOCATOR } },
	{ "std::multimap", 2, { "std::less<$0>", PAIR_ALLOCATOR } },
	{ "std::unordered_set", 1, { "std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>" } },
	{ "std::unordered_multiset",
	  1,
	  { "std::hash<$0>", "std::equal_to<$0>", "std::allocator<$0>" } },
	{ "std::unordered_map", 2, { "std::hash<$0>", "std::equal_to<$0>", PAIR_ALLOCATOR } },
	{ "std::unordered_multimap", 2, { "std::hash<$0>", "std::equal_to<$0>", PAIR_ALLOCATOR } },
	{ "std::unique_ptr", 1, { "std::default_delete<$0>" } },
	{ "std::__shared_ptr", 1, { "(__gnu_cxx::_Lock_policy)2" } },
	{ "std::_Sp_counted_ptr", 1, { "(__gnu_cxx::_Lock_policy)2" } },
	{ "std::_Sp_counted_ptr_inplace",
	  1,
	  { "std::allocator<$0>|std::allocator<void>", "(__gnu_cxx::_Lock_policy)2" } },
	{ "absl::flat_hash_set", 1, { ABSL_HASH, ABSL_EQUAL, "std::allocator<$0>" } },
	{ "absl::node_hash_set", 1, { ABSL_HASH, ABSL_EQUAL, "std::allocator<$0>" } },
	{ "absl::flat_hash_map", 2, { ABSL_HASH, ABSL_EQUAL, PAIR_ALLOCATOR } },
	{ "absl::node_hash_map", 2, { ABSL_HASH, ABSL_EQUAL, PAIR_ALLOCATOR } },
	{ "absl::btree_set", 1, { "std::less<$0>", "std::allocator<$0>" } },
	{ "absl::btree_map", 2, { "std::less<$0>", PAIR_ALLOCATOR } },
	{ "absl::InlinedVector", 2, { "std::allocator<$0>" } },
};
/* Streams and strings of char, and those of wchar_t, have names of their own by one pattern. */
static const char *const families[] = { "string",	 "string_view",	  "ios",
					"istream",	 "ostream",	  "iostream",
					"streambuf",	 "filebuf",	  "ifstream",
					"ofstream",	 "fstream",	  "stringbuf",
					"istringstream", "ostringstream", "stringstream" };
static const struct { const char *element, *prefix; } characters[] = {
	{"char", ""}, {"wchar_t", "w"}, {"char16_t", "u16"}, {"char32_t", "u32"}, {"char8_t", "u8"},
};
static const char *const inline_namespaces[] = {"__cxx11::", "__1::", "__Cr::", "__ndk1::"};

typedef VEC(char) text_t;

struct type_name_parser {
	const char *at;
	int depth;
	bool bad;
};

enum stop { STOP_END, STOP_ARGUMENT, STOP_PARENTHESIS };

static void put(text_t *text, const char *s, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		*vec_push(text) = s[i];
}

static char *finish(text_t *text)
{
	while (text->count && text->at[text->count - 1] == ' ')
		text->count--;
	*vec_push(text) = '\0';
	return text->at;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* True if the text ends with this word, and not with a longer one that ends like it. */
static bool ends_with(const text_t *text, const char *word)
{
	size_t bytes = strlen(word);

	return text->count >= bytes && memcmp(text->at + text->count - bytes, word, bytes) == 0 &&
	       (text->count == bytes || !word_char(text->at[text->count - bytes - 1]));
}

static void drop_inline_namespace(text_t *text)
{
	for (size_t i = 0; i < sizeof(inline_namespaces) / sizeof(*inline_namespaces); i++) {
		char whole[32];

		snprintf(whole, sizeof(whole), "std::%s", inline_namespaces[i]);
		if (ends_with(text, whole))
			text->count -= strlen(inline_namespaces[i]);
	}
}

/* True if `argument` is the default of `pattern`, given the arguments before it. */
static bool is_default(const char *argument, const char *pattern, char *const *arguments)
{
	while (*pattern) {
		size_t length = strcspn(pattern, "|");
		const char *a = argument;
		bool same = true;

		for (size_t i = 0; i < length && same; i++) {
			const char *part = &pattern[i];
			size_t bytes = 1;

			if (pattern[i] == '$') {
				part = arguments[pattern[++i] - '0'];
				bytes = strlen(part);
			}
			same = strncmp(a, part, bytes) == 0;
			a += same ? bytes : 0;
		}
		if (same && !*a)
			return true;
		pattern += length + (pattern[length] == '|');
	}
	return false;
}

/* Returns where the template's name begins, at the end of `text`. */
static size_t name_start(const text_t *text)
{
	size_t start = text->count;

	while (start && (word_char(text->at[start - 1]) || text->at[start - 1] == ':'))
		start--;
	return start;
}

static bool named(const text_t *text, size_t start, const char *name)
{
	return text->count - start == strlen(name) &&
	       memcmp(text->at + start, name, text->count - start) == 0;
}

/* Writes the shorter name of std::basic_X<C>, if it has one, over the text from `start` on. */
static bool take_family(text_t *text, size_t start, const char *element)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
		char name[64];

		snprintf(name, sizeof(name), "std::basic_%s", families[f]);
		if (!named(text, start, name))
			continue;
		for (size_t c = 0; c < sizeof(characters) / sizeof(*characters); c++) {
			if (strcmp(characters[c].element, element) != 0 || (c > 1 && f > 1))
				continue;
			snprintf(name, sizeof(name), "std::%s%s", characters[c].prefix,
				 families[f]);
			text->count = start;
			put(text, name, strlen(name));
			return true;
		}
	}
	return false;
}

static void parse(struct type_name_parser *p, text_t *out, enum stop stop);

/* Parses arguments and their '>'; p->at is after the '<'. */
static void parse_arguments(struct type_name_parser *p, text_t *out)
{
	char *arguments[ARGUMENTS];
	size_t count = 0, all, start = name_start(out);

	while (!p->bad && count < ARGUMENTS) {
		text_t argument = { 0 };

		parse(p, &argument, STOP_ARGUMENT);
		arguments[count++] = finish(&argument);
		if (*p->at != ',')
			break;
		p->at++;
	}
	if (*p->at != '>')
		p->bad = true;
	else
		p->at++;
	all = count;
	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules) && !p->bad; r++) {
		if (!named(out, start, rules[r].name))
			continue;
		while (count > (size_t)rules[r].first && count - (size_t)rules[r].first <= 4 &&
		       rules[r].defaults[count - 1 - (size_t)rules[r].first] &&
		       is_default(arguments[count - 1],
				  rules[r].defaults[count - 1 - (size_t)rules[r].first], arguments))
			count--;
		break;
	}
	if (!(count == 1 && take_family(out, start, arguments[0]))) {
		put(out, "<", 1);
		for (size_t i = 0; i < count; i++) {
			put(out, ", ", i ? 2 : 0);
			put(out, arguments[i], strlen(arguments[i]));
		}
		put(out, ">", 1);
	}
	for (size_t i = 0; i < all; i++)
		free(arguments[i]);
}

/* Copies the sign after the word "operator", which may look like a bracket. */
static void copy_operator(struct type_name_parser *p, text_t *out)
{
	size_t bytes = strncmp(p->at, "()", 2) == 0 || strncmp(p->at, "[]", 2) == 0
			       ? 2
			       : strspn(p->at, "<>=!+-*/%&|^~,");

	put(out, p->at, bytes);
	p->at += bytes;
}

static void parse(struct type_name_parser *p, text_t *out, enum stop stop)
{
	if (++p->depth > DEEPEST)
		p->bad = true;
	while (*p->at == ' ')
		p->at++;
	while (*p->at && !p->bad) {
		char c = *p->at;

		if ((stop == STOP_ARGUMENT && (c == ',' || c == '>')) ||
		    (stop == STOP_PARENTHESIS && c == ')'))
			break;
		if (c == '<') {
			p->at++;
			parse_arguments(p, out);
			continue;
		}
		if (strncmp(p->at, "[abi:", 5) == 0) {
			p->at += strcspn(p->at, "]");
			p->at += *p->at == ']';
			continue;
		}
		if (c == ' ' && stop == STOP_ARGUMENT && (p->at[1] == '>' || p->at[1] == ',')) {
			p->at++;
			continue;
		}
		put(out, p->at, c == '-' && p->at[1] == '>' ? 2 : 1);
		p->at += c == '-' && p->at[1] == '>' ? 2 : 1;
		if (c == '(') {
			parse(p, out, STOP_PARENTHESIS);
			if (*p->at != ')') {
				p->bad = true;
			} else {
				put(out, ")", 1);
				p->at++;
			}
		} else if (c == ':') {
			drop_inline_namespace(out);
		} else if (c == 'r' && !word_char(*p->at) && ends_with(out, "operator")) {
			copy_operator(p, out);
		}
	}
	p->depth--;
}

char *type_name_short(const char *name)
{
	struct type_name_parser p = { .at = name };
	text_t out = { 0 };

	parse(&p, &out, STOP_END);
	if (p.bad || *p.at) {
		free(out.at);
		return mem_text(name);
	}
	return finish(&out);
}

char *type_name_function(const char *name)
{
	static const char nameless[] = "(anonymous namespace)::", arrow[] = " \xe2\x86\x90 ";
	char *text, *at;

	if (strstr(name, "+0x")) { /* an address, perhaps with its file, or a caller */
		const char *above = strstr(name, arrow);
		AUTO_FREE char *caller = above ? type_name_function(above + strlen(arrow)) : NULL;

		return above ? mem_format("%.*s%s%s", (int)(above - name), name, arrow, caller)
			     : mem_text(name);
	}
	at = text = type_name_short(function_name_start(name));

	while ((at = strstr(at, nameless)) != NULL)
		memmove(at, at + strlen(nameless), strlen(at + strlen(nameless)) + 1);
	return text;
}

const char *type_name_mark(const char *confidence)
{
	return !confidence			   ? ""
	       : strcmp(confidence, "medium") == 0 ? "~"
	       : strcmp(confidence, "low") == 0	   ? "?"
						   : "";
}

char *type_name_block(const struct type_text *what)
{
	bool label = what->confidence && strcmp(what->confidence, "label") == 0;
	bool node = what->form && strcmp(what->form, "node") == 0 && what->container && !what->full;
	bool many = what->form &&
		    (strcmp(what->form, "array") == 0 || strcmp(what->form, "buffer") == 0);
	char *type, *container, *text;

	if (!what->type && !what->container)
		return mem_text("(no type)");
	/* a node's own type is an internal of the library, and repeats the container's arguments */
	type = node	     ? mem_text("node")
	       : !what->type ? mem_text("storage")
	       : what->full  ? mem_text(what->type)
			     : type_name_short(what->type);
	container = !what->container ? NULL
		    : what->full     ? mem_text(what->container)
				     : type_name_short(what->container);
	text = mem_format("%s%s%s%s%s%s%s", label ? "(" : type_name_mark(what->confidence), type,
			  many ? "[]" : "", what->derived ? "+" : "",
			  !container ? ""
			  : node     ? " of "
				     : " in ",
			  container ? container : "", label ? ")" : "");
	free(type);
	free(container);
	return text;
}
