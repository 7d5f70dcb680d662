/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_name.h: shortens type names to the form in which people write them.
 *
 * Runs: CLI. Signals: no. Allocates: yes (mem.h). Threads: any.
 *
 * A session keeps names in full, because only those are unique: std::__cxx11::basic_string<char,
 * std::char_traits<char>, std::allocator<char>>. A short name leaves out what a declaration may
 * leave out: template arguments that are the default for those in front of them, inline namespaces
 * of the C++ libraries, and the long forms of std::string and its like. An argument that differs
 * from its default stays, so that two different types never get one short name by it.
 */
#ifndef SHINY_TYPE_NAME_H
#define SHINY_TYPE_NAME_H

/* Returns a short name, which the caller frees; a malformed name is copied unchanged. */
char *type_name_short(const char *name);

/* Returns a function's short name, without its return type, and without unnamed namespaces, which
 * no caller can write; of "prog+0x12fe ← ns::f(int)" the caller's. */
char *type_name_function(const char *name);

/*
 * Describes a block in one line: "int[] in std::vector<int>". `type` NULL: "(no type)"; `container`
 * NULL: none; `form` as in sym_form_name(). `derived`: may be a derived type. A label is shown in
 * parentheses. `full`: names are not shortened; otherwise a container's node is only called so:
 * "node of std::set<int>".
 */
struct type_text {
	const char *type, *container, *form, *confidence;
	int derived, full;
};
char *type_name_block(const struct type_text *what);

/* Returns the sign before a guessed name: "~" medium, "?" low, else "". */
const char *type_name_mark(const char *confidence);

#endif
