/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_name.h: type names as a person would write them.
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

/* A new text; a name that is not well formed comes back as it is. */
char *type_name_short(const char *name);

/* The same of a function: also without its return type, and without unnamed namespaces, which no
 * caller can write. */
char *type_name_function(const char *name);

/* "prog+0x12fe in net/http/": an address with its place. Takes `label`; one that is no address's
 * comes back as it is. `file` NULL or "": no place is known. */
char *type_name_placed(char *label, const char *file);

/*
 * What a block is, in one line: "int[] in std::vector<int>". `type` NULL: "(no type)"; `container`
 * NULL none; `form` as in sym_form_name(). `derived`: or what is derived from it. A label is shown
 * in parentheses. `full`: names are not shortened; otherwise a container's node is only called so:
 * "node of std::set<int>".
 */
struct type_text {
	const char *type, *container, *form, *confidence;
	int derived, full;
};
char *type_name_block(const struct type_text *what);

/* The sign in front of a name that is a guess: "~" medium, "?" low, else "". */
const char *type_name_mark(const char *confidence);

#endif
