/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_type_name.c: short type names: what a declaration may leave out is left out, what makes a
 * difference stays. The long names are what __cxa_demangle and gcc's and clang's DWARF give for
 * variables that were declared with the short ones.
 */
#include <stdlib.h>

#include "../../src/analysis/query/type_name.h"
#include "check.h"

static void same(const char *name, char *got, const char *want)
{
	text_is(name, got, want);
	free(got);
}

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"

static void test_short(void)
{
	static const struct { const char *name, *from, *to;
	} cases[] = {
		{ "plain", "Widget", "Widget" },
		{ "string", STRING, "std::string" },
		{ "string_blanks",
		  "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		  "std::string" },
		{ "wstring",
		  "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, "
		  "std::allocator<wchar_t>>",
		  "std::wstring" },
		{ "u16string",
		  "std::__cxx11::basic_string<char16_t, std::char_traits<char16_t>, "
		  "std::allocator<char16_t>>",
		  "std::u16string" },
		{ "libcxx_string",
		  "std::__1::basic_string<char, std::__1::char_traits<char>, "
		  "std::__1::allocator<char>>",
		  "std::string" },
		{ "other_traits", "std::basic_string<char, ci_traits, std::allocator<char>>",
		  "std::basic_string<char, ci_traits>" },
		{ "other_allocator", "std::vector<int, pool<int>>", "std::vector<int, pool<int>>" },
		{ "foreign_default", "std::vector<int, std::allocator<long>>",
		  "std::vector<int, std::allocator<long>>" },
		{ "vector", "std::vector<int, std::allocator<int>>", "std::vector<int>" },
		{ "vector_string", "std::vector<" STRING ", std::allocator<" STRING ">>",
		  "std::vector<std::string>" },
		{ "map_east",
		  "std::map<int, " STRING
		  ", std::less<int>, std::allocator<std::pair<int const, " STRING ">>>",
		  "std::map<int, std::string>" },
		{ "map_west",
		  "std::map<int, long, std::less<int>, std::allocator<std::pair<const int, long>>>",
		  "std::map<int, long>" },
		{ "map_greater",
		  "std::map<int, long, std::greater<int>, std::allocator<std::pair<const int, "
		  "long>>>",
		  "std::map<int, long, std::greater<int>>" },
		{ "unordered",
		  "std::unordered_map<" STRING ", int, std::hash<" STRING ">, std::equal_to<" STRING
		  ">, std::allocator<std::pair<" STRING " const, int>>>",
		  "std::unordered_map<std::string, int>" },
		{ "nested",
		  "std::vector<std::map<int, int, std::less<int>, std::allocator<std::pair<int "
		  "const, int> > >, std::allocator<std::map<int, "
		  "int, std::less<int>, std::allocator<std::pair<int const, int> > > > >",
		  "std::vector<std::map<int, int>>" },
		{ "node", "std::_Rb_tree_node<std::pair<int const, " STRING ">>",
		  "std::_Rb_tree_node<std::pair<int const, std::string>>" },
		{ "unique_ptr", "std::unique_ptr<Foo, std::default_delete<Foo>>",
		  "std::unique_ptr<Foo>" },
		{ "unique_array", "std::unique_ptr<Foo[], std::default_delete<Foo[]>>",
		  "std::unique_ptr<Foo[]>" },
		{ "deleter", "std::unique_ptr<Foo, void (*)(Foo*)>",
		  "std::unique_ptr<Foo, void (*)(Foo*)>" },
		{ "function", "std::function<void (std::vector<int, std::allocator<int>>, int)>",
		  "std::function<void (std::vector<int>, int)>" },
		{ "shared",
		  "std::_Sp_counted_ptr_inplace<Foo, std::allocator<void>, "
		  "(__gnu_cxx::_Lock_policy)2>",
		  "std::_Sp_counted_ptr_inplace<Foo>" },
		{ "shared_mutex_policy",
		  "std::_Sp_counted_ptr_inplace<Foo, std::allocator<Foo>, "
		  "(__gnu_cxx::_Lock_policy)1>",
		  "std::_Sp_counted_ptr_inplace<Foo, std::allocator<Foo>, "
		  "(__gnu_cxx::_Lock_policy)1>" },
		{ "stack", "std::stack<int, std::deque<int, std::allocator<int>>>",
		  "std::stack<int>" },
		{ "ostringstream",
		  "std::__cxx11::basic_ostringstream<char, std::char_traits<char>, "
		  "std::allocator<char>>",
		  "std::ostringstream" },
		{ "user_vector", "my::vector<int, std::allocator<int>>",
		  "my::vector<int, std::allocator<int>>" },
		{ "member", "std::vector<int, std::allocator<int>>::iterator",
		  "std::vector<int>::iterator" },
		{ "lambda_demangler", "foo()::{lambda(std::vector<int, std::allocator<int> >)#1}",
		  "foo()::{lambda(std::vector<int>)#1}" },
		{ "lambda_gcc", "foo()::<lambda(int)>", "foo()::<lambda(int)>" },
		{ "operator_less", "operator< <int>(Foo)", "operator< <int>(Foo)" },
		{ "operator_shift", "Foo::operator<<(int)", "Foo::operator<<(int)" },
		{ "operator_call", "Foo::operator()(std::vector<int, std::allocator<int>>)",
		  "Foo::operator()(std::vector<int>)" },
		{ "anonymous", "(anonymous namespace)::Foo<(Kind)3>",
		  "(anonymous namespace)::Foo<(Kind)3>" },
		{ "greater_in_parentheses", "Foo<(3>2), int>", "Foo<(3>2), int>" },
		{ "abi_tag", "std::locale::facet[abi:cxx11]", "std::locale::facet" },
		{ "unbalanced", "std::vector<int", "std::vector<int" },
		{ "stray_bracket", "a > b", "a > b" },
		{ "empty", "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		same(cases[i].name, type_name_short(cases[i].from), cases[i].to);
}

static void test_deep(void)
{
	enum { LEVELS = 5000 };
	char *deep = malloc(LEVELS * 2 + 2), *at = deep, *got;

	for (int i = 0; i < LEVELS; i++)
		at = stpcpy(at, "A<");
	*at = '\0';
	got = type_name_short(deep);
	same("deep", got, deep);
	free(deep);
}

static void test_block(void)
{
	same("block_none", type_name_block(&(struct type_text){.type = NULL}), "(no type)");
	same("block_object",
	     type_name_block(
		     &(struct type_text){ .type = "Foo", .form = "object", .confidence = "exact" }),
	     "Foo");
	same("block_array",
	     type_name_block(
		     &(struct type_text){ .type = "Foo", .form = "array", .confidence = "exact" }),
	     "Foo[]");
	same("block_buffer",
	     type_name_block(
		     &(struct type_text){ .type = "int",
					  .container = "std::vector<int, std::allocator<int>>",
					  .form = "buffer",
					  .confidence = "exact" }),
	     "int[] in std::vector<int>");
	same("block_node",
	     type_name_block(&(struct type_text){
		     .type = "std::_Rb_tree_node<int>",
		     .container = "std::set<int, std::less<int>, std::allocator<int>>",
		     .form = "node",
		     .confidence = "exact" }),
	     "node of std::set<int>");
	same("block_node_full",
	     type_name_block(&(struct type_text){ .type = "std::_Rb_tree_node<int>",
						  .container = "std::set<int>",
						  .form = "node",
						  .confidence = "exact",
						  .full = 1 }),
	     "std::_Rb_tree_node<int> in std::set<int>");
	same("block_full",
	     type_name_block(
		     &(struct type_text){ .type = "int",
					  .container = "std::vector<int, std::allocator<int>>",
					  .form = "buffer",
					  .confidence = "exact",
					  .full = 1 }),
	     "int[] in std::vector<int, std::allocator<int>>");
	same("block_medium",
	     type_name_block(&(struct type_text){
		     .type = "Foo", .form = "object", .confidence = "medium" }),
	     "~Foo");
	same("block_low",
	     type_name_block(&(struct type_text){
		     .type = "Foo", .form = "object", .confidence = "low", .derived = 1 }),
	     "?Foo+");
	same("block_label",
	     type_name_block(
		     &(struct type_text){ .type = "storage of Foo", .confidence = "label" }),
	     "(storage of Foo)");
}

int main(void)
{
	test_short();
	test_deep();
	test_block();
	return failures != 0;
}
