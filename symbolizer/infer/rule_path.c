/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_path.c: splits demangled names, for code without debug information; finds symbols at an
 * address.
 *
 * With debug information no name is parsed. Without it only the name of a function is known:
 * "std::_Vector_base<Foo, std::allocator<Foo> >::_M_allocate(unsigned long)" tells what it
 * allocates.
 */
#include <stdio.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../dwarf/die_path.h"
#include "rule.h"

/* Returns the end of the bracket that opens at `c`; NULL: it isn't closed. */
static const char *behind(const char *c)
{
	unsigned depth = 0;

	for (; *c; c++) {
		if (*c == '<' || *c == '(' || *c == '[' || *c == '{') {
			depth++;
		} else if (*c == '>' || *c == ')' || *c == ']' || *c == '}') {
			if (*c == '>' && c[-1] == '-') /* "->" in a decltype */
				continue;
			if (!depth || !--depth)
				return c + 1;
		}
	}
	return NULL;
}

static bool put(char *out, size_t room, size_t *used, const char *text, size_t bytes)
{
	if (*used + bytes + 1 > room)
		return false;
	memcpy(out + *used, text, bytes);
	*used += bytes;
	out[*used] = 0;
	return true;
}

/* Copies a Rust name without its outer brackets: "<a::Vec<u8>>::f" is f of the class in the
 * brackets. False: it is too long, or of a trait's implementation ("<a::B as c::D>::f"). */
static bool without_brackets(const char *name, char *out, size_t room)
{
	const char *end = behind(name);
	size_t inside = end ? (size_t)(end - name) - 2 : 0;

	if (!end || strncmp(end, "::", 2) != 0 || strlen(name) >= room)
		return false;
	memcpy(out, name + 1, inside);
	strcpy(out + inside, end);
	for (const char *c = out; c < out + inside;) {
		if (!strncmp(c, " as ", 4))
			return false;
		c = *c == '<' ? behind(c) : c + 1;
		if (!c)
			return false;
	}
	return true;
}

/* Returns the start of the name: an instance of a template has its return type first, and its name
 * starts after the last blank outside of brackets. NULL: a bracket isn't closed. */
static const char *name_start(const char *demangled)
{
	const char *name = demangled;

	for (const char *c = demangled; *c; c++) {
		if (!strncmp(c, "operator", 8) || !strncmp(c, "(anonymous namespace)", 21)) {
			if (*c == 'o')
				break;
			c += 20;
		} else if (*c == '<' || *c == '[' || *c == '{') {
			c = behind(c);
			if (!c)
				return NULL;
			c--;
		} else if (*c == '(') {
			break;
		} else if (*c == ' ') {
			name = c + 1;
		}
	}
	return name;
}

bool rule_path_of(const char *demangled, struct rule_path *out)
{
	char plain[sizeof(out->class)];
	const char *part, *name, *c;
	size_t path = 0, class = 0;

	memset(out, 0, sizeof(*out));
	if (!demangled || !*demangled)
		return false;
	if (*demangled == '<') {
		if (!without_brackets(demangled, plain, sizeof(plain)))
			return false;
		demangled = plain;
	}
	name = name_start(demangled);
	if (!name)
		return false;
	for (part = c = name;; ) {
		if (!strncmp(c, "operator", 8)) {
			/* the rest is one name: operator new, operator<<, operator T* */
			const char *end = c + 8;

			end += strspn(end, "<>=-+*/%&|^!~ ");
			end += strcspn(end, "(<");
			if (!put(out->path, sizeof(out->path), &path, c, (size_t)(end - c)))
				return false;
			break;
		}
		if (!strncmp(c, "(anonymous namespace)", 21)) {
			if (!put(out->path, sizeof(out->path), &path, c, 21))
				return false;
			c += 21;
		} else if (*c == '<') {
			const char *end = behind(c);

			if (!end)
				return false;
			snprintf(out->own, sizeof(out->own), "%.*s",
				 end - c < (long)sizeof(out->own) ? (int)(end - c) : 0, c);
			c = end;
		} else if (!strncmp(c, "::<", 3)) { /* Rust: f::<u8>() */
			c += 2;
		} else if (!strncmp(c, "::", 2)) {
			*out->own = 0;
			class = (size_t)(c - name);
			if (!put(out->path, sizeof(out->path), &path, c, 2))
				return false;
			c += 2;
			part = c;
		} else if (*c == '{' || *c == '[') { /* {lambda(int)#1}, [abi:cxx11] */
			const char *end = behind(c);

			if (!end || (*c == '{' && !put(out->path, sizeof(out->path), &path, c,
						       (size_t)(end - c))))
				return false;
			c = end;
		} else if (!*c || *c == '(' || *c == ' ') {
			break;
		} else if (!put(out->path, sizeof(out->path), &path, c++, 1)) {
			return false;
		}
	}
	if (class >= sizeof(out->class))
		return false;
	memcpy(out->class, name, class);
	out->class[class] = 0;
	return path && part;
}

bool rule_argument(const char *text, unsigned index, char *out, size_t room)
{
	const char *open = NULL, *from, *c;
	size_t bytes;

	/* the last bracket at the top level: that of the class itself, not of its scopes */
	for (c = text; *c; c++)
		if (*c == '<') {
			open = c;
			c = behind(c);
			if (!c)
				return false;
			c--;
		} else if (*c == ':' && open) {
			open = NULL;
		}
	if (!open)
		return false;
	for (from = c = open + 1;; c++) {
		if (!*c)
			return false;
		if (*c == '<' || *c == '(' || *c == '[' || *c == '{') {
			c = behind(c);
			if (!c)
				return false;
			c--;
		} else if (*c == ',' || *c == '>') {
			if (!index--)
				break;
			if (*c == '>')
				return false;
			from = c + 1;
		}
	}
	from += strspn(from, " ");
	while (c > from && c[-1] == ' ')
		c--;
	bytes = (size_t)(c - from);
	if (!bytes || bytes >= room)
		return false;
	memmove(out, from, bytes);
	out[bytes] = 0;
	return true;
}

const char *rule_symbol(struct rule_work *work, uint64_t vaddr, bool *folded)
{
	const struct symbols *functions = &work->reader->code.symbols->functions;
	const struct symbol *best = symbols_find(functions, vaddr);
	size_t low;
	const char *readable;

	*folded = false;
	if (!best)
		return NULL;
	low = lower_bound(functions->count, i, functions->at[i].value < best->value);
	/* aliases are the same function: complete and base constructor, or C names; two C++ names
	 * at one place are two that were folded */
	readable = names_demangled(work->reader->names, best->name);
	for (; low < functions->count && functions->at[low].value == best->value; low++) {
		const char *name = functions->at[low].name;

		if (strncmp(name, "_Z", 2) || strncmp(best->name, "_Z", 2))
			continue;
		if (names_demangled(work->reader->names, name) != readable)
			*folded = true;
	}
	return best->name;
}

bool rule_names_any(const char *path)
{
	size_t length = strlen(path);

	return length >= 3 && !strcmp(path + length - 3, "::*");
}

bool rule_in_destructor(struct rule_work *work, uint64_t vaddr)
{
	struct debug_scope scopes[RULE_SCOPES];
	size_t count = work->reader->units
			       ? debug_scopes_at(work->reader->units, vaddr, scopes, RULE_SCOPES)
			       : 0;

	for (size_t i = 0; i < count; i++) {
		const char *path = scopes[i].inlined
					   ? die_function_path(work->reader->units, &scopes[i].die)
					   : NULL;
		const char *last = path ? strrchr(path, ':') : NULL;

		if (last && last[1] == '~')
			return true;
	}
	return false;
}
