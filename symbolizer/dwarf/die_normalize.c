/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die_normalize.c: see die_normalize.h.
 *
 * The demangler, gcc's DW_AT_name and clang's DW_AT_name mean the same type and spell it in three
 * ways:
 *
 *   demangler   X<unsigned long, char const*, (char)65, 3ul, std::vector<int, std::allocator<int> >
 *               >, void (int), int [3]
 *   gcc         X<long unsigned int, const char*, 'A', 3, std::vector<int, std::allocator<int> > >,
 *               void(int), int [3], {anonymous}::Y
 *   clang       X<unsigned long, const char *, 'A', 3UL, std::vector<int, std::allocator<int>>>,
 *               void (int), int[3]
 *
 * One pass over the tokens writes: no blank except between two words, after a comma, and between
 * "*" or ")" and a word; const and volatile before the name that they qualify; the shortest name of
 * an integer type; numbers without suffixes and without casts to built-in types (a cast to an
 * enumeration stays); "(anonymous namespace)"; no ABI tags; unnamed things in braces, with the
 * file's base name and the line that the compiler gave. Text that the pass doesn't understand is
 * copied: it may leave two spellings of one name, never produce a wrong one.
 */
#define _GNU_SOURCE /* memrchr */

#include "die_normalize.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/mem.h"

#define NEST_MAX 64

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The words of an integer type, which may come in any order. */
struct integer_words {
	unsigned longs;
	bool any, is_short, is_unsigned, is_signed, is_char, is_double, is_128;
};

static bool integer_word(struct integer_words *integer, const char *word, size_t length)
{
	static const char *const words[] = { "long", "short",  "unsigned", "signed",
					     "char", "double", "__int128", "int" };
	size_t at = 0;

	while (at < sizeof(words) / sizeof(*words) &&
	       (strlen(words[at]) != length || memcmp(words[at], word, length)))
		at++;
	switch (at) {
	case 0: integer->longs++; break;
	case 1: integer->is_short = true; break;
	case 2: integer->is_unsigned = true; break;
	case 3: integer->is_signed = true; break;
	case 4: integer->is_char = true; break;
	case 5: integer->is_double = true; break;
	case 6: integer->is_128 = true; break;
	case 7: break;
	default: return false;
	}
	integer->any = true;
	return true;
}

static const char *integer_text(const struct integer_words *integer)
{
	if (integer->is_double)
		return integer->longs ? "long double" : "double";
	if (integer->is_char)
		return integer->is_unsigned ? "unsigned char"
		       : integer->is_signed ? "signed char"
					    : "char";
	if (integer->is_128)
		return integer->is_unsigned ? "unsigned __int128" : "__int128";
	if (integer->is_short)
		return integer->is_unsigned ? "unsigned short" : "short";
	if (integer->longs > 1)
		return integer->is_unsigned ? "unsigned long long" : "long long";
	if (integer->longs)
		return integer->is_unsigned ? "unsigned long" : "long";
	return integer->is_unsigned ? "unsigned int" : "int";
}

/* State of the pass. Invariant: the current declaration specifier begins at `start` of `out`;
 * `named`: its name was written, and no declarator. */
struct normalize_pass {
	const char *at;
	struct name_text *out;
	struct integer_words integer;
	size_t start, depth;
	bool named;
	struct {
		size_t start;
		char open, close;
	} nest[NEST_MAX];
};

static char last(const struct normalize_pass *pass)
{
	return pass->out->used ? pass->out->at[pass->out->used - 1] : 0;
}

/* Writes a blank if one is needed before a word. */
static void space(struct normalize_pass *pass)
{
	char c = last(pass);

	if (pass->out->used > pass->start && (is_word(c) || strchr("*&)>]}", c)))
		name_text_put(pass->out, " ");
}

static void flush(struct normalize_pass *pass)
{
	if (!pass->integer.any)
		return;
	space(pass);
	name_text_put(pass->out, integer_text(&pass->integer));
	pass->integer = (struct integer_words){ 0 };
	pass->named = true;
}

static void qualifier(struct normalize_pass *pass, const char *word)
{
	struct name_text *out = pass->out;
	bool is_const = *word == 'c';

	flush(pass);
	if (!pass->named) {
		if (is_const && out->used == pass->start + 8 &&
		    !strcmp(out->at + pass->start, "volatile")) {
			name_text_insert(out, pass->start, "const ");
			return;
		}
		space(pass);
		name_text_put(out, word);
		return;
	}

	const char *from = out->at + pass->start;
	bool has_const = !strncmp(from, "const ", 6);

	if (!strncmp(from + (has_const ? 6 : 0), "volatile ", 9) ? !is_const || has_const
								 : is_const && has_const)
		return;
	name_text_insert(out, pass->start + (!is_const && has_const ? 6 : 0),
			 is_const ? "const " : "volatile ");
}

static void push(struct normalize_pass *pass, char open, char close, const char *shown)
{
	name_text_put(pass->out, shown);
	if (pass->depth < NEST_MAX) {
		pass->nest[pass->depth].start = pass->start;
		pass->nest[pass->depth].open = open;
		pass->nest[pass->depth].close = close;
	}
	pass->depth++;
	pass->start = pass->out->used;
	pass->named = false;
}

/* Writes a closing bracket; one that fits no opening one is copied. */
static void pop(struct normalize_pass *pass, char c)
{
	char shown[2] = { c, 0 };

	flush(pass);
	if (pass->depth && pass->depth <= NEST_MAX) {
		bool braces = pass->nest[pass->depth - 1].close == '}';

		if ((c == '>') == (pass->nest[pass->depth - 1].open == '<')) {
			pass->depth--;
			pass->start = pass->nest[pass->depth].start;
			shown[0] = braces ? '}' : c;
		}
	} else if (pass->depth) {
		pass->depth--;
	}
	name_text_put(pass->out, shown);
	pass->named = shown[0] == '>' || shown[0] == '}';
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Writes "(lambda at /src/a.cc:3:5)", "(unnamed struct at a.c:1:9)", "(anonymous class)" in braces.
 * Returns its end; NULL: it is none of these. */
static const char *unnamed_in_parentheses(struct normalize_pass *pass)
{
	static const char *const kinds[] = { "lambda", "unnamed ", "anonymous " };
	const char *text = pass->at + 1, *end = strchr(text, ')'), *at = strstr(text, " at "),
		   *slash, *line;
	size_t i = 0;

	while (i < 3 && !starts(text, kinds[i]))
		i++;
	if (i == 3 || !end)
		return NULL;
	name_text_put(pass->out, i ? "{unnamed " : "{lambda");
	if (!at || at > end) {
		at = end;
		name_text_add(pass->out, text + strlen(kinds[i]),
			      (size_t)(at - text) - strlen(kinds[i]));
	} else {
		name_text_add(pass->out, text + strlen(kinds[i]),
			      (size_t)(at - text) - strlen(kinds[i]));
		at += 4;
		slash = memrchr(at, '/', (size_t)(end - at));
		at = slash ? slash + 1 : at;
		line = memrchr(at, ':', (size_t)(end - at)); /* before the column */
		line = line && memchr(at, ':', (size_t)(line - at)) ? line : end;
		name_text_put(pass->out, " at ");
		name_text_add(pass->out, at, (size_t)(line - at));
	}
	name_text_put(pass->out, "}");
	pass->named = true;
	return end + 1;
}

static void write_number(struct name_text *out, int value)
{
	char number[16];

	name_text_add(out, number, (size_t)snprintf(number, sizeof(number), "%d", value));
}

/* Gets the number of 'A', '\n', '\101', '\x41'. Returns its end; NULL: it isn't one. */
static const char *character(const char *at, int *value)
{
	static const char named[] = "n\nt\tr\rb\bf\fv\va\a0\0\\\\''\"\"";

	at++;
	if (*at != '\\') {
		*value = (signed char)*at;
		return *at && at[1] == '\'' ? at + 2 : NULL;
	}
	at++;
	if (*at == 'x' || (isdigit((unsigned char)*at) && at[1] != '\'')) {
		char *end;

		*value = (signed char)strtol(at + (*at == 'x'), &end, *at == 'x' ? 16 : 8);
		return *end == '\'' ? end + 1 : NULL;
	}
	for (size_t i = 0; i + 1 < sizeof(named); i += 2)
		if (*at && named[i] == *at && at[1] == '\'') {
			*value = named[i + 1];
			return at + 2;
		}
	return NULL;
}

/* Drops the cast of "(char)65" to a built-in type; returns the cast's end; NULL: it isn't one. A
 * cast to another type is copied with its number. */
static const char *cast(struct normalize_pass *pass)
{
	const char *text = pass->at + 1, *end = text, *word;
	struct integer_words ignored = { 0 };
	bool builtin = true;

	for (; *end && *end != ')'; end++) {
		/* no other parentheses may be in here: that bounds the recursion below */
		if (starts(end, "(anonymous namespace)"))
			end += strlen("(anonymous namespace)") - 1;
		else if (!is_word(*end) && !strchr(": <>,", *end))
			return NULL;
	}
	if (!*end || end == text ||
	    (!isdigit((unsigned char)end[1]) &&
	     !(end[1] == '-' && isdigit((unsigned char)end[2])) && end[1] != '\''))
		return NULL;
	for (word = text; builtin && word < end;) {
		size_t length = 0;

		while (is_word(word[length]))
			length++;
		builtin = integer_word(&ignored, word, length) ||
			  (length == 7 && !memcmp(word, "wchar_t", 7)) ||
			  (length == 8 &&
			   (!memcmp(word, "char16_t", 8) || !memcmp(word, "char32_t", 8))) ||
			  (length == 7 && !memcmp(word, "char8_t", 7));
		word += length;
		while (*word == ' ')
			word++;
	}
	if (end[1] == '\'') { /* clang: (unsigned char)'\xc8' */
		int value;
		const char *behind = character(end + 1, &value);

		if (!builtin || !behind)
			return NULL;
		write_number(pass->out, ignored.is_unsigned ? value & 0xff : value);
		return behind;
	}
	if (!builtin) {
		struct name_text type = { 0 };
		char *copy = mem_format("%.*s", (int)(end - text), text);

		die_normalize_text(copy, &type);
		free(copy);
		name_text_put(pass->out, "(");
		name_text_put(pass->out, name_text_string(&type));
		name_text_put(pass->out, ")");
		name_text_free(&type);
	}
	return end + 1;
}

size_t die_operator_length(const char *at)
{
	static const char *const symbols[] = { "<<=", ">>=", "<=>", "->*", "()", "[]", "<<",
					       ">>",  "<=",  ">=",  "->",  "==", "!=", "&&",
					       "||",  "++",  "--",  "+=",  "-=", "*=", "/=",
					       "%=",  "^=",  "&=",  "|=" };

	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (starts(at, symbols[i]))
			return strlen(symbols[i]);
	return *at && strchr("+-*/%^&|~!=<>,", *at) ? 1 : 0;
}

static bool elaborate(const char *word, size_t length)
{
	return (length == 6 && !memcmp(word, "struct", 6)) ||
	       (length == 5 && !memcmp(word, "class", 5)) ||
	       (length == 4 && !memcmp(word, "enum", 4)) ||
	       (length == 5 && !memcmp(word, "union", 5));
}

/* Writes a word or number. Returns its end. */
static const char *word(struct normalize_pass *pass)
{
	const char *at = pass->at;
	size_t length = 0;
	bool braces =
		pass->depth && pass->depth <= NEST_MAX && pass->nest[pass->depth - 1].close == '}';

	while (is_word(at[length]))
		length++;
	if (isdigit((unsigned char)*at)) {
		size_t digits = strspn(at, "0123456789"), suffix = strspn(at + digits, "uUlL");

		flush(pass);
		name_text_add(pass->out, at, digits + suffix == length ? digits : length);
		return at + length;
	}
	if ((length == 5 && !memcmp(at, "const", 5)) ||
	    (length == 8 && !memcmp(at, "volatile", 8))) {
		qualifier(pass, *at == 'c' ? "const" : "volatile");
		return at + length;
	}
	if (elaborate(at, length) && at[length] == ' ' &&
	    (is_word(at[length + 1]) || at[length + 1] == '(') && !braces)
		return at + length + 1;
	if (!braces && integer_word(&pass->integer, at, length))
		return at + length;
	flush(pass);
	space(pass);
	name_text_add(pass->out, at, length);
	pass->named = true;
	if (length == 8 && !memcmp(at, "operator", 8)) {
		size_t symbol = die_operator_length(at + length);

		name_text_add(pass->out, at + length, symbol);
		length += symbol;
	} else if (length == 9 && !memcmp(at, "nullptr_t", 9)) {
		size_t scope = pass->out->used >= pass->start + 14 ? 14 : 9;

		if (!memcmp(pass->out->at + pass->out->used - scope,
			    scope == 14 ? "std::nullptr_t" : "nullptr_t", scope)) {
			pass->out->used -= scope;
			name_text_put(pass->out, "decltype(nullptr)");
		}
	}
	return at + length;
}

/* Writes anything that isn't a word. Returns its end. */
static const char *symbol(struct normalize_pass *pass)
{
	static const char *const anonymous[] = { "(anonymous namespace)", "{anonymous}",
						 "<unnamed>", "`anonymous namespace'" };
	const char *at = pass->at, *end;
	char shown[2] = { *at, 0 };
	int value;

	for (size_t i = 0; i < 4; i++)
		if (starts(at, anonymous[i])) {
			flush(pass);
			space(pass);
			name_text_put(pass->out, anonymous[0]);
			pass->named = true;
			return at + strlen(anonymous[i]);
		}
	switch (*at) {
	case '(':
		flush(pass);
		end = unnamed_in_parentheses(pass);
		if (!end && pass->out->used == pass->start)
			end = cast(pass);
		if (end)
			return end;
		push(pass, '(', ')', "(");
		return at + 1;
	case '<':
		flush(pass);
		if (pass->out->used == pass->start ||
		    !(is_word(last(pass)) || strchr("<>-=!+*/%^&|~,)]}", last(pass)))) {
			push(pass, '<', '}', "{"); /* gcc's <lambda(int)>, <unnamed struct> */
			return at + 1;
		}
		push(pass, '<', '>', "<");
		return at + 1;
	case '{':
		flush(pass);
		space(pass);
		push(pass, '{', '}', "{");
		return at + 1;
	case '>':
	case ')':
	case '}':
		if (*at == '>' && (!pass->depth || pass->depth > NEST_MAX ||
				   pass->nest[pass->depth - 1].open != '<'))
			break;
		pop(pass, *at);
		return at + 1;
	case ',':
		flush(pass);
		name_text_put(pass->out, ", ");
		pass->start = pass->out->used;
		pass->named = false;
		return at + 1;
	case ':':
		flush(pass);
		if (at[1] != ':')
			break;
		name_text_put(pass->out, "::");
		pass->named = true;
		return at + 2;
	case '[':
		end = starts(at, "[abi:") ? strchr(at, ']') : NULL;
		if (end)
			return end + 1;
		break;
	case '\'':
		end = character(at, &value);
		if (!end)
			break;
		flush(pass);
		write_number(pass->out, value);
		return end;
	}
	flush(pass);
	name_text_put(pass->out, shown);
	pass->named = false;
	return at + 1;
}

void die_normalize_text(const char *name, struct name_text *out)
{
	struct normalize_pass pass = { .at = name, .out = out, .start = out->used };

	while (*pass.at) {
		if (*pass.at == ' ' || *pass.at == '\t')
			pass.at++;
		else
			pass.at = is_word(*pass.at) ? word(&pass) : symbol(&pass);
	}
	flush(&pass);
}

const char *die_normalize(struct names *names, const char *name)
{
	struct name_text text = { 0 };
	const char *result;

	die_normalize_text(name, &text);
	result = names_text(names, name_text_string(&text));
	name_text_free(&text);
	return result;
}

size_t die_bare_length(const char *name)
{
	const char *at = name;

	if (!strncmp(name, "operator", 8)) {
		if (name[8] == ' ')
			return strlen(name); /* a conversion to a type; new, delete */
		at += 8 + die_operator_length(name + 8);
	}
	at = *at ? strchr(at, '<') : NULL;
	while (at && at > name && at[-1] == ' ')
		at--;
	return at && at != name ? (size_t)(at - name) : strlen(name);
}

/* Returns the end of the unnamed thing that begins at `at`: "{…}" or clang 14's "$_0"; NULL: there
 * is none. */
static const char *behind_unnamed(const char *at)
{
	unsigned depth = 0;

	if (at[0] == '$' && at[1] == '_' && isdigit((unsigned char)at[2])) {
		for (at += 2; isdigit((unsigned char)*at); at++)
			;
		return at;
	}
	if (*at != '{')
		return NULL;
	for (; *at; at++) {
		depth += *at == '{';
		depth -= *at == '}';
		if (!depth)
			return at + 1;
	}
	return NULL;
}

bool die_normalize_alike(const char *a, const char *b)
{
	while (*a && *b) {
		const char *next_a = behind_unnamed(a), *next_b = behind_unnamed(b);

		if (next_a && next_b) {
			a = next_a;
			b = next_b;
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}
