/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c: see demangle.h.
 *
 * C++ is read by __cxa_demangle of the libstdc++ that is linked anyway; names that it doesn't know
 * (generic lambdas, in gcc 12's) by libiberty, which has a later version of the same code. Rust is
 * read by libiberty: its legacy names look like C++ ("_ZN…17h<hash>E"), and only libiberty reads
 * its v0 names ("_R…"). Rust comes first: its test for the legacy hash is exact, and __cxa_demangle
 * would show the hash and the $LT$ escapes. gfortran's names of procedures in modules, and GNAT's,
 * get the form that debuggers show.
 */
#include "demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/* from libstdc++'s C++ ABI, whose header is C++ */
char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

/* A mangled name's text grows with its substitutions. Names longer than this exist only to burn
 * time. */
#define NAME_MAX_BYTES 16384

static char *cxx(const char *name)
{
	int status;
	char *result = __cxa_demangle(name, NULL, NULL, &status);

	return result ? result : cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES);
}

/* Returns `name` up to `mark`, malloc'ed; NULL: there is no mark in it. */
static char *before(const char *name, char mark)
{
	const char *at = strchr(name, mark);

	return at && at != name ? strndup(name, (size_t)(at - name)) : NULL;
}

/* True for a C name with a suffix that gcc appends to parts and copies of functions. */
static bool is_piece(const char *name)
{
	static const char *const suffixes[] = { ".part.", ".cold", ".isra.", ".constprop." };
	const char *dot = strchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (strncmp(dot, suffixes[i], strlen(suffixes[i])) == 0)
			return true;
	return false;
}

/* Turns gfortran's "__kinds_MOD_fill" into "kinds::fill". */
static char *fortran(const char *name)
{
	const char *mark = name[0] == '_' && name[1] == '_' ? strstr(name, "_MOD_") : NULL;
	char *result = mark && mark > name + 2 ? strdup(name + 2) : NULL;

	if (result) {
		char *at = result + (mark - name - 2);

		memcpy(at, "::", 2);
		memmove(at + 2, at + 5, strlen(at + 5) + 1);
	}
	return result;
}

char *demangle_ada(const char *name)
{
	size_t length = strnlen(name, NAME_MAX_BYTES);
	/* suffixes: a task's body; the record of a task or protected type */
	size_t behind = length > 2 && !strcmp(name + length - 2, "TB") ? 2
			: length > 1 && name[length - 1] == 'V'		? 1
									: 0;
	char *plain = strndup(name, length - behind), *result;

	if (!plain || length == NAME_MAX_BYTES) {
		free(plain);
		return NULL;
	}
	result = ada_demangle(plain, 0);
	free(plain);
	/* it puts unreadable names into brackets */
	if (result && *result == '<') {
		free(result);
		result = NULL;
	}
	return result;
}

/* True for names that only GNAT's run time has, and a main program's. */
static bool is_ada(const char *name)
{
	static const char *const units[] = { "ada__", "gnat__", "interfaces__", "system__",
					     "_ada_" };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strncmp(name, units[i], strlen(units[i])))
			return true;
	return false;
}

char *demangle_symbol(const char *name)
{
	char *plain, *result = NULL;

	if (strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return NULL;
	plain = before(name, '@'); /* "name@VERSION", as in .symtab */
	if (plain)
		name = plain;
	if (name[0] == '_' && (name[1] == 'R' || name[1] == 'Z'))
		result = rust_demangle(name, DMGL_PARAMS);
	if (!result && name[0] == '_' && name[1] == 'Z') {
		/* ".part.0", ".cold", ".llvm.123": a piece or a copy of the function, which DWARF
		 * doesn't distinguish either */
		char *whole = before(name, '.');

		result = cxx(whole ? whole : name);
		free(whole);
	}
	if (!result && is_piece(name)) {
		char *whole = before(name, '.');

		free(plain);
		name = plain = whole;
	}
	if (!result && name)
		result = is_ada(name) ? demangle_ada(name) : fortran(name);
	if (!result)
		return plain;
	free(plain);
	return result;
}

char *demangle_type(const char *name)
{
	/* gcc marks names that are compared by address, those of classes with internal linkage */
	if (*name == '*')
		name++;
	for (size_t i = 0; name[i]; i++)
		if (!isgraph((unsigned char)name[i]) || i == NAME_MAX_BYTES)
			return NULL;
	return cxx(name);
}

char *demangle_class(const char *name)
{
	const char *class = *name == '*' ? name + 1 : name;

	/* a class: source name, nested name, std:: substitution or local name; anything else would
	 * be a pointer, a function … */
	return isdigit((unsigned char)*class) || *class == 'N' || *class == 'S' || *class == 'Z'
		       ? demangle_type(name)
		       : NULL;
}
